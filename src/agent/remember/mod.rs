//! Stores one item after a comparison with similar items, or many items from lines of JSON in few commits.
//!
//! The review scans every text first. The review refuses a blocked item, and saves a quarantined item under `rejected/`
//! until a person judges it. All other items of a call become one commit. If the new item has no id, the duplicate
//! index finds an existing item with the same text. The answer lists similar items.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - RMB-1: no state contains a text that the review blocked or quarantined, and no error quotes such a text.
//! - RMB-2: a writer replaces, merges with and supersedes only items of the same scope that are no more trusted than
//!   the writer.
//! - RMB-3: `remember` never replaces a session, an object below a session, or a note of a session.

mod duplicate_index;
mod edit;
mod fields;
mod intake;
mod line;
mod lines;
mod near;
#[cfg(test)]
mod tests;

pub(in crate::agent) use super::item::unless_erased;
pub(in crate::agent) use duplicate_index::{Texts, is_known};
pub use edit::edit;
pub use lines::{LineVerdict, LinesOptions, LinesRemembered, RefusedLine, follow_lines};

use schemars::JsonSchema;
use serde::Serialize;

use super::agent::Agent;
use super::blocks::id;
use super::change::ids::{self, IdGenerator};
use super::change::review::{Reviewed, review};
use super::change::{Rule, admit, change};
use super::item::{NewItem, add_new};
use super::stored_text::StoredText;
use super::vocabulary::kind;
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Memory, Staged, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Origin, Scope};
pub use fields::CommitIfAny;
use fields::RememberedFields;
use intake::{Intake, says};
use near::{Near, merged, near};
use treering_text::recall::five_digits;
use treering_text::scan::Verdict;

named! {
    /// The treatment of a new item that almost certainly repeats an existing item of its scope and kind. Less similar
    /// duplicates are only reported.
    #[derive(Default)]
    pub enum OnDuplicate {
        /// Store the new item, and report the duplicate.
        #[default]
        Warn => "warn",
        /// Do not store the new item.
        Skip => "skip",
        /// Merge the new item into the existing item.
        Merge => "merge",
        /// Store the new item, and supersede the existing item.
        Supersede => "supersede",
    }
}

/// The options for remembering an item.
#[derive(Clone, Debug, Default)]
pub struct RememberOptions {
    /// The treatment of near duplicates. An item with an id is always stored under that id.
    pub on_duplicate: OnDuplicate,
    /// The idempotency key, of 1 to 256 bytes. The key determines the id of an item that has no id. A second call with
    /// the same key and text stores nothing new.
    pub key: Option<String>,
    /// The version of the item that the caller expects in the state. If the item has another version, the call fails
    /// with `Conflict`.
    pub expected: Option<ObjectDigest>,
    /// Whether to skip the search for near duplicates and conflicts.
    pub is_quick: bool,
    /// Whether the answer shows the texts of untrusted items that are similar to the new item.
    pub with_untrusted: bool,
    /// Whether the text may be empty, as the text of a file may.
    pub may_be_empty: bool,
}

named! {
    /// The outcome for an item.
    pub enum Status {
        /// The item is stored under a new id.
        Created => "created",
        /// The item is stored as a new version of its id.
        Updated => "updated",
        /// The id already has this content, so no new version was stored.
        Unchanged => "unchanged",
        /// Another item has the same text, so the item was not stored.
        Duplicate => "duplicate",
        /// The item was merged into another item.
        Merged => "merged",
        /// The item is stored and supersedes other items. The other items stay stored.
        Superseded => "superseded",
        /// The item is in quarantine, outside the state.
        Quarantined => "quarantined",
        /// The memory is disabled, so nothing was read or written.
        Disabled => "disabled",
    }
}

/// An existing item of the same scope and kind that is similar to the new item.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Alike {
    /// The id of the similar item.
    pub id: Id,
    /// The similarity of the two texts, 0 to 1.
    #[serde(serialize_with = "five_digits")]
    pub similarity: f32,
    /// The text of the similar item. [`RememberOptions::with_untrusted`] decides whether an untrusted text is withheld.
    #[serde(flatten)]
    pub shown: StoredText,
}

/// The answer to [`Agent::remember`]. The item may be in quarantine: see [`Self::status`].
#[must_use = "the item may be in quarantine; see `status`"]
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(into = "RememberedFields")]
#[schemars(with = "RememberedFields")]
pub struct Remembered {
    /// The id of the stored item. If an existing item was used instead of the new item, the id of the existing item.
    pub id: Id,
    /// The version of [`Self::id`]; `None` if the id is not in the state.
    pub digest: Option<ObjectDigest>,
    /// The commit, or the head if there was nothing to commit.
    pub commit: CommitInfo,
    /// The outcome for the item.
    pub status: Status,
    /// The scope of the item.
    pub scope: Scope,
    /// The text to store, without secrets and invisible characters.
    pub text: String,
    /// The duplicates of the new item, the most similar first.
    pub duplicates: Vec<Alike>,
    /// The items that contradict the new item.
    pub conflicts: Vec<Alike>,
    /// The verdict of the scan.
    pub verdict: Verdict,
    /// The rules of the scan that matched.
    pub rules: Vec<&'static str>,
    /// Whether secrets were redacted.
    pub is_redacted: bool,
    /// The name of the draft that contains the item, if the item is in quarantine.
    pub held_as: Option<String>,
}

/// Returns the digest that `typed` abbreviates: all of its digits, or the first ones of the present version of `id`.
///
/// # Errors
/// `InvalidInput` if the text is no digest; `Conflict` if the present version is another one.
pub fn expected_version(memory: &Memory, id: &Id, typed: &str) -> Result<ObjectDigest> {
    if let Ok(digest) = typed.parse() {
        return Ok(digest);
    }
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if typed.len() < 8 || !typed.bytes().all(is_digit) {
        return Err(Error::invalid(format!("'{typed}' is not a digest"))
            .with_hint("a digest has 64 hexadecimal digits; give all 64 digits, or at least the first 8"));
    }
    let found = memory.view().get(id)?.map(|object| object.digest());
    let found = found.filter(|digest| digest.to_hex().starts_with(typed));
    found.ok_or_else(|| {
        Error::conflict(format!("the current version of '{id}' is not {typed}"))
            .with_ids(vec![id.to_string()])
            .with_hint("read the item again, and repeat the change with the new digest")
    })
}

impl Agent {
    /// Stores an item in one commit of op `remember`. An item without a source gets the source of the writer. An item
    /// that the scan quarantines is not in the state: its status is [`Status::Quarantined`].
    ///
    /// An item without an id is not stored if another live item of its scope and kind has the same text. That existing
    /// item must be at least as trusted as the writer, and not superseded. Two concurrent writers may both store the
    /// text.
    ///
    /// # Errors
    /// `Denied` (code `refused`): the scan blocks the item; (code `less_trusted`): the item would replace a more
    /// trusted object; (code `not_owner`): the item would replace an object of a session. `Conflict`: the version is
    /// not the expected version, the key was used for another text (code `key_taken`), or the id belongs to another
    /// scope (code `other_scope`). `NotFound`: an item in `supersedes` does not exist. `InvalidInput`: the item exceeds
    /// a quota (code `over_limit`) or is invalid. Also the errors of [`Memory::commit`](crate::Memory::commit).
    pub fn remember(&self, item: NewItem, options: &RememberOptions, writer: &Writer) -> Result<Remembered> {
        admit(self, writer, class_given(self, &item)?, item.session.as_deref())?;
        if options
            .key
            .as_ref()
            .is_some_and(|key| key.is_empty() || key.len() > 256)
        {
            return Err(Error::invalid("an idempotency key must have 1 to 256 bytes"));
        }
        let reviewed = reviewed(self, item, options.may_be_empty, writer)?;
        if self.settings().is_disabled {
            return Remembered::disabled(self, &reviewed, options);
        }
        if reviewed.verdict == Verdict::Block {
            return Err(reviewed.refusal());
        }
        // A change with an expected version is not retried after a conflict, because the caller must decide.
        let rule = match options.expected {
            Some(_) => Rule::REMEMBER_ONCE,
            None => Rule::REMEMBER,
        };
        let done = change(self, writer, &rule, |change| {
            stage_item(&mut Intake::new(change), reviewed.clone(), options)
        })?;
        // The answer shows the existing item to the caller, so the item is recorded as used.
        if done.value.status == Status::Duplicate {
            let now = self.memory().view().now();
            self.memory().touch([&done.value.id], now);
        }
        Ok(Remembered {
            commit: done.committed.commit,
            held_as: done.held.into_iter().next(),
            ..done.value
        })
    }
}

/// Returns the class that a caller gives to an item: the class of its speaker or the stated class, and at most the
/// classes of the versions from which it is derived.
fn class_given(agent: &Agent, item: &NewItem) -> Result<Origin> {
    let mut class = item.class();
    for digest in &item.derived_from {
        let source = agent.memory().version(*digest)?;
        class = Origin::least(class, source.map_or(Origin::Import, |source| source.origin()));
    }
    Ok(class)
}

/// Validates and reviews the item of a caller. An item without a source gets the source of the writer.
fn reviewed(agent: &Agent, mut item: NewItem, may_be_empty: bool, writer: &Writer) -> Result<Reviewed> {
    item.source = item.source.or_else(|| writer.source.clone());
    item.check_given()?;
    if item.kind.as_str() == kind::SESSION {
        return Err(Error::invalid("`remember` cannot store a session")
            .with_code(ErrorCode::NotOwner)
            .with_hint("create the session with `session append`"));
    }
    let is_conflict = |id: &Id| id.as_str().split('/').next() == Some(kind::MERGE_CONFLICT);
    if item.kind.as_str() == kind::MERGE_CONFLICT || item.id.as_ref().is_some_and(is_conflict) {
        return Err(Error::invalid("`remember` cannot store a conflict of a merge")
            .with_code(ErrorCode::NotOwner)
            .with_hint("choose another kind and id"));
    }
    if let Some(id) = &item.id
        && agent.settings().quotas.are_ids_strict
        && id::block_id(id.as_str()).is_none()
    {
        let message = format!("the id '{id}' is not valid in this memory: {}", id::GRAMMAR);
        return Err(Error::invalid(message).with_code(ErrorCode::BadId));
    }
    let class = class_now(agent, writer, &item)?;
    let reviewed = review(agent, item, class)?;
    if !may_be_empty && reviewed.item.text.trim().is_empty() {
        return Err(Error::invalid("the text to remember is empty").with_code(ErrorCode::NoText));
    }
    Ok(reviewed)
}

/// Returns the class that an item gets if it is stored now. A session that becomes tainted before the commit changes only
/// the class, which [`Intake::begin`] determines again.
fn class_now(agent: &Agent, writer: &Writer, item: &NewItem) -> Result<Origin> {
    agent
        .memory()
        .class_now(writer, item.session.as_deref(), item.class())
}

/// Stages a reviewed item, unless it repeats an existing item.
fn stage_item(
    intake: &mut Intake<'_, '_>,
    reviewed: Reviewed,
    options: &RememberOptions,
) -> Result<Remembered> {
    let agent = intake.change.agent();
    intake.begin(&reviewed.item)?;
    let is_held = reviewed.verdict == Verdict::Quarantine;
    let is_named = reviewed.item.id.is_some();
    let id = if is_held && options.key.is_none() {
        // The id of a quarantined item is derived from its text, so a repeated item gets the same id. With the prefix
        // of 256 bytes, this key is longer than any key of a caller, so the ids cannot collide.
        let key = format!("{}{}", "held".repeat(64), reviewed.item.text);
        intake.id_of(&reviewed.item, Some(&key))?
    } else {
        intake.id_of(&reviewed.item, options.key.as_deref())?
    };
    let mut answer = Remembered::of(&reviewed, id.clone(), intake.change.base().commit());
    let mut item = reviewed.item;
    if !is_named
        && options.key.is_some()
        && let Some(object) = intake.change.present(&id)?
        && !intake.is_of_outsider(&object)
    {
        if !says(agent, &object, &item.text)? {
            let error = format!("the idempotency key was already used for another text, stored as '{id}'");
            return Err(Error::conflict(error)
                .with_code(ErrorCode::KeyTaken)
                .with_ids(vec![id.to_string()])
                .with_hint("use a new key for a new text"));
        }
        return answer.staged(intake, Status::Unchanged);
    }
    let present = intake.check_replaced(&id, &item)?;
    if options.expected.is_some() {
        intake.change.expect(&id, options.expected);
    }
    if is_held {
        answer.status = Status::Quarantined;
        let class = intake.class();
        intake
            .change
            .put_reviewed(id, Reviewed { item, ..reviewed }, class, |_| {})?;
        return Ok(answer);
    }
    if !is_named && let Some(said) = intake.said_by(&item)? {
        answer.id = said.id().clone();
        answer.duplicates.push(Alike {
            id: answer.id.clone(),
            similarity: 1.0,
            shown: StoredText::start_of(agent, &said, options.with_untrusted),
        });
        return match intake.restate(&said, &item)? {
            Staged::Unchanged => answer.staged(intake, Status::Duplicate),
            _ => answer.staged(intake, Status::Merged),
        };
    }
    intake.check_superseded(&id, &item)?;
    let near = if options.is_quick {
        Near::default()
    } else {
        near(agent, intake, &id, &item, options)?
    };
    answer.duplicates = near.duplicates;
    answer.conflicts = near.conflicts;
    if let Some(other) = near.surest {
        match options.on_duplicate {
            OnDuplicate::Skip if !is_named && intake.is_trusted_enough(&other) => {
                answer.id = other.id().clone();
                return answer.staged(intake, Status::Duplicate);
            }
            OnDuplicate::Merge if !is_named && intake.is_as_trusted(&other) => {
                if let Some((object, reviewed)) = merged(agent, &other, &item, intake.class())? {
                    answer.id = object.id.clone();
                    answer.take(&reviewed);
                    let class = intake.class();
                    let staged = intake.change.say(object, class, Some(&other), &[])?;
                    return answer.staged(intake, status_of(staged, Status::Merged));
                }
            }
            OnDuplicate::Supersede if intake.is_replaceable(&other) && other.id() != id.as_str() => {
                item.supersedes.push(other.id().clone());
            }
            _ => {}
        }
    }
    let status = if item.supersedes.is_empty() {
        Status::Created
    } else {
        Status::Superseded
    };
    let staged = intake.put(id, item, present.as_ref())?;
    answer.staged(intake, status_of(staged, status))
}

/// Returns the outcome for a staged item. Replaces `status` if the item was unchanged or updated an existing item.
fn status_of(staged: Staged, status: Status) -> Status {
    match (staged, status) {
        (Staged::Unchanged, _) => Status::Unchanged,
        (Staged::Updated, Status::Created) => Status::Updated,
        (_, status) => status,
    }
}

impl Remembered {
    fn of(reviewed: &Reviewed, id: Id, head: CommitInfo) -> Self {
        let mut answer = Self {
            id,
            digest: None,
            commit: head,
            status: Status::Created,
            scope: reviewed.item.scope.clone(),
            text: String::new(),
            duplicates: Vec::new(),
            conflicts: Vec::new(),
            verdict: Verdict::Allow,
            rules: Vec::new(),
            is_redacted: false,
            held_as: None,
        };
        answer.take(reviewed);
        answer
    }

    /// Adds the result of a review to the answer.
    fn take(&mut self, reviewed: &Reviewed) {
        self.text.clone_from(&reviewed.item.text);
        self.verdict = self.verdict.max(reviewed.verdict);
        add_new(&mut self.rules, reviewed.rules.iter().copied());
        self.is_redacted |= reviewed.is_redacted;
    }

    /// Sets the status of the answer, and the version that the id of the item has after the staged changes.
    fn staged(mut self, intake: &Intake<'_, '_>, status: Status) -> Result<Self> {
        self.status = status;
        self.digest = intake.change.digest(&self.id)?;
        Ok(self)
    }

    fn disabled(agent: &Agent, reviewed: &Reviewed, options: &RememberOptions) -> Result<Self> {
        let view = agent.memory().view();
        let item = &reviewed.item;
        let id = match (&item.id, options.key.as_deref()) {
            (Some(id), _) => id.clone(),
            (None, Some(key)) => ids::of_key(agent.names_key(), &item.scope, &item.kind, key)?,
            (None, None) => IdGenerator::since(view.now()).new_id(agent.memory(), &item.scope, &item.kind)?,
        };
        let answer = Self::of(reviewed, id, view.commit());
        Ok(Self {
            status: Status::Disabled,
            ..answer
        })
    }
}
