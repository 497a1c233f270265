//! The answers of verbs that store, forget, shorten and promote items, and of `audit`.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use treering::agent::{
    Agent, Decayed, Forgot, Forgotten, Item, LinesRemembered, RecallHit, Restored, StoredText,
};
use treering::inspect::agent::CommitIfAny;
use treering::{CommitDigest, CommitInfo, Id, Object, ObjectDigest, Root, Time, Value};
use treering_text::recall::five_digits;

/// The answer of `remember --jsonl`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemsRemembered {
    #[serde(flatten)]
    pub(crate) lines: LinesRemembered,
    #[serde(flatten)]
    pub(crate) commit: CommitIfAny,
    pub(crate) disabled: bool,
}

impl From<LinesRemembered> for ItemsRemembered {
    fn from(lines: LinesRemembered) -> Self {
        Self {
            commit: (!lines.is_disabled).then_some(&lines.commit).into(),
            disabled: lines.is_disabled,
            lines,
        }
    }
}

/// An item that was forgotten or restored.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemLine {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) scope: String,
    pub(crate) digest: ObjectDigest,
    #[serde(flatten)]
    pub(crate) shown: StoredText,
}

impl ItemLine {
    /// Returns the line of an item. Withholds an untrusted text unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, item: &Item, with_untrusted: bool) -> Self {
        let object = item.object();
        Self {
            id: object.id().to_string(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            digest: object.digest(),
            shown: StoredText::of(agent, object, with_untrusted),
        }
    }

    fn all(agent: &Agent, items: &[Item], with_untrusted: bool) -> Vec<Self> {
        let lines = items.iter();
        lines.map(|item| Self::of(agent, item, with_untrusted)).collect()
    }
}

/// The effect of `forget` or `unforget` on the state. `commit` is null if nothing changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Outcome {
    pub(crate) dry_run: bool,
    pub(crate) commit: Option<CommitDigest>,
    pub(crate) seq: Option<u64>,
    /// The root of the state after the verb.
    pub(crate) root: Root,
}

impl Outcome {
    /// Describes the outcome of a change: its commit, and the root of the current state.
    pub(crate) fn of(agent: &Agent, dry_run: bool, commit: Option<&CommitInfo>) -> Self {
        Self {
            dry_run,
            commit: commit.map(|info| info.digest),
            seq: commit.map(|info| info.commit.seq),
            root: agent.memory().view().root(),
        }
    }
}

/// The answer of `forget`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemsForgotten {
    pub(crate) forgotten: Vec<ItemLine>,
    /// The pinned items, which `forget` did not remove.
    pub(crate) pinned: Vec<Id>,
    /// The items whose ids the caller named, but which do not meet another condition of the call.
    pub(crate) others: Vec<Id>,
    /// The episodes and summaries that may still say what an item said that was learnt from their session.
    pub(crate) still: Vec<Id>,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

impl ItemsForgotten {
    /// Returns the answer for what was forgotten. Withholds untrusted texts unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, forgot: Forgot, dry_run: bool, with_untrusted: bool) -> Self {
        Self {
            forgotten: ItemLine::all(agent, &forgot.items, with_untrusted),
            outcome: Outcome::of(agent, dry_run, forgot.commit.as_ref()),
            pinned: forgot.pinned,
            others: forgot.others,
            still: forgot.still,
        }
    }
}

/// An item that `forget --about` found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemAbout {
    #[serde(flatten)]
    pub(crate) item: ItemLine,
    /// How well the item answers the question, as in `recall`.
    #[serde(serialize_with = "five_digits")]
    pub(crate) score: f32,
    #[serde(skip)]
    pub(crate) is_pinned: bool,
}

impl ItemAbout {
    /// Returns the line of a hit. Withholds an untrusted text unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, object: Object, hit: &RecallHit, with_untrusted: bool) -> Self {
        let item = Item::from(object);
        Self {
            item: ItemLine::of(agent, &item, with_untrusted),
            score: hit.score,
            is_pinned: item.object().attribute("pinned") == Some(Value::Bool(true)),
        }
    }
}

/// The answer of `forget --about`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemsAbout {
    /// The good matches of the question, best first; or, if there are none, the nearest items.
    pub(crate) items: Vec<ItemAbout>,
    /// Whether no item is a good match.
    pub(crate) no_good_match: bool,
    /// The ids of the forgotten items.
    pub(crate) forgotten: Vec<Id>,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// The answer of `unforget`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ItemsRestored {
    pub(crate) restored: Vec<ItemLine>,
    /// The items that need no restore, because the state contains their full text.
    pub(crate) unchanged: Vec<Id>,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

impl ItemsRestored {
    /// Returns the answer for what was restored. Withholds untrusted texts unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, restored: Restored, dry_run: bool, with_untrusted: bool) -> Self {
        Self {
            restored: ItemLine::all(agent, &restored.items, with_untrusted),
            outcome: Outcome::of(agent, dry_run, restored.commit.as_ref()),
            unchanged: restored.unchanged,
        }
    }
}

/// A forgotten item, as a line of `forgotten`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForgottenLine {
    #[serde(flatten)]
    pub(crate) item: ItemLine,
    pub(crate) time: Time,
    pub(crate) op: String,
    pub(crate) actor: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
}

impl ForgottenLine {
    /// Returns the line of a forgotten item. Withholds an untrusted text unless `with_untrusted`.
    pub(crate) fn of(agent: &Agent, one: Forgotten, with_untrusted: bool) -> Self {
        let commit = &one.commit.commit;
        let mut item = ItemLine::of(agent, &one.item, with_untrusted);
        item.digest = one.version;
        Self {
            item,
            time: commit.time,
            op: commit.op.as_str().to_owned(),
            actor: commit.actor.clone(),
            session: commit.session.clone(),
            reason: one.reason,
            commit: one.commit.digest,
            seq: commit.seq,
        }
    }
}

/// The answer of `expire`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Expires {
    pub(crate) id: Id,
    /// The time of expiry. Null if the item never expires.
    pub(crate) expires: Option<Time>,
    pub(crate) changed: bool,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `decay`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DecayPass {
    #[serde(flatten)]
    pub(crate) pass: Decayed,
    pub(crate) dry_run: bool,
    pub(crate) root: Root,
}

/// The answer of `quarantine --release`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldReleased {
    pub(crate) name: String,
    pub(crate) released: bool,
    pub(crate) ids: Vec<Id>,
    #[serde(flatten)]
    pub(crate) commit: CommitInfo,
}

/// The answer of `quarantine --discard`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldDiscarded {
    pub(crate) name: String,
    pub(crate) discarded: bool,
}
