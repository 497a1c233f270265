//! Remembers one item, compared with similar items, or many lines of JSON in few commits.
//!
//! Every text is reviewed first. A blocked text is refused, a quarantined one waits under `rejected/` for a person, and
//! the rest becomes one commit. The duplicate index finds an item with the same text if the new item has no id. The
//! answer lists similar items.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - RMB-1: no state and no answer has a text that the review stopped.
//! - RMB-2: a writer replaces, merges with and supersedes only items of the same scope that are no more trusted than the writer.
//! - RMB-3: a writer replaces no session, no object below a session, and no note of a session.

mod duplicate_index;
mod intake;
mod line;
mod lines;
mod near;
#[cfg(test)]
mod tests;

pub(in crate::agent) use super::item::unless_erased;
pub(in crate::agent) use duplicate_index::DuplicateIndex;
pub(crate) use lines::follow_lines;
pub use lines::{LinesOptions, LinesRemembered, RefusedLine};

use schemars::JsonSchema;
use serde::Serialize;

use super::agent::Agent;
use super::blocks::id;
use super::change::ids::{self, IdGenerator};
use super::change::review::{Reviewed, review};
use super::change::{Rule, change};
use super::item::{NewItem, add_new};
use super::vocabulary::kind;
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Staged, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Scope};
use crate::recall::five_digits;
use crate::scan::Verdict;
use intake::{Intake, says};
use near::{Near, merged, near};

named! {
    /// The treatment of an item that certainly repeats another one of its scope and kind. Less certain duplicates are only
    /// reported.
    #[derive(Default)]
    #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
    pub enum OnDuplicate {
        /// Store it, and report the duplicate.
        #[default]
        Warn => "warn",
        /// Store nothing.
        Skip => "skip",
        /// Merge it into the other item.
        Merge => "merge",
        /// Store it, and supersede the other item.
        Supersede => "supersede",
    }
}

/// The options for remembering an item.
#[derive(Clone, Debug, Default)]
pub struct RememberOptions {
    /// The treatment of near duplicates. An item with an id of its own is neither skipped nor merged.
    pub on_duplicate: OnDuplicate,
    /// The key that determines the id of an item without one. A call with the same key stores nothing new. At most 256
    /// bytes.
    pub key: Option<String>,
    /// Fails with `Conflict` unless the id has this version.
    pub expected: Option<ObjectDigest>,
    /// Skips the search for near duplicates and conflicts.
    pub is_quick: bool,
}

named! {
    /// The fate of an item.
    pub enum Status {
        /// Its id is new.
        Created => "created",
        /// Its id has a new version.
        Updated => "updated",
        /// Its id has this content already.
        Unchanged => "unchanged",
        /// Another item has the same text; nothing was written.
        Duplicate => "duplicate",
        /// It was merged into another item.
        Merged => "merged",
        /// It is stored and supersedes other items, which stay stored.
        Superseded => "superseded",
        /// It is in quarantine, outside the state.
        Quarantined => "quarantined",
        /// The memory is switched off: nothing was read or written.
        Disabled => "disabled",
    }
}

/// A similar item of the same scope and kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Alike {
    /// Its id.
    pub id: Id,
    /// The similarity of the two texts, 0 to 1.
    #[serde(serialize_with = "five_digits")]
    pub similarity: f32,
    /// Its text.
    pub text: String,
}

/// The answer to [`Agent::remember`]. The item may be in quarantine: see [`Self::status`].
#[must_use = "the item may be in quarantine; see `status`"]
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Its id, or the id of the item with the same text.
    pub id: Id,
    /// The version of that id; `None` if the id is not in the state.
    pub digest: Option<ObjectDigest>,
    /// The commit, or the head if there was nothing to commit.
    pub commit: CommitInfo,
    /// The fate of the item.
    pub status: Status,
    /// The scope that it belongs to.
    pub scope: Scope,
    /// The text as it was stored: without secrets and invisible characters.
    pub text: String,
    /// Duplicates, the most similar first.
    pub duplicates: Vec<Alike>,
    /// Items that contradict it.
    pub conflicts: Vec<Alike>,
    /// The verdict of the scan.
    pub verdict: Verdict,
    /// The matching rules.
    pub rules: Vec<&'static str>,
    /// Whether secrets were redacted.
    pub is_redacted: bool,
    /// The name of its draft, if it is in quarantine.
    pub held_as: Option<String>,
}

impl Agent {
    /// Remembers an item as one commit of op `remember`. An item without a source gets the writer's. An item that the scan
    /// holds back is not in the state: its status is [`Status::Quarantined`].
    ///
    /// An item without an id is not stored if another live item of its scope and kind has the same text. The other item
    /// must be at least as trusted as the writer, and not superseded. Two concurrent writers may both store it.
    ///
    /// # Errors
    /// `Denied` (code `refused`): the scan blocks the item; (code `less_trusted`): it would replace a more trusted
    /// object; (code `not_owner`): it would replace an object of a session. `Conflict`: the version is not the expected
    /// one, the key was used for another text (code `key_taken`), or the id belongs to another scope (code
    /// `other_scope`). `NotFound`: an item that it supersedes does not exist. `InvalidInput`: it exceeds a quota (code
    /// `over_limit`) or is not a valid item. Also the errors of [`Memory::commit`](crate::Memory::commit).
    pub fn remember(&self, item: NewItem, options: &RememberOptions, writer: &Writer) -> Result<Remembered> {
        if options
            .key
            .as_ref()
            .is_some_and(|key| key.is_empty() || key.len() > 256)
        {
            return Err(Error::invalid("an idempotency key must have 1 to 256 bytes"));
        }
        let reviewed = reviewed(self, item, writer)?;
        if self.settings().is_disabled {
            return Remembered::disabled(self, &reviewed, options);
        }
        if reviewed.verdict == Verdict::Block {
            return Err(reviewed.refusal());
        }
        // A conflict about an expected version is not retried: the caller decides.
        let rule = match options.expected {
            Some(_) => Rule::REMEMBER_ONCE,
            None => Rule::REMEMBER,
        };
        let done = change(self, writer, &rule, |change| {
            stage_item(&mut Intake::new(change), reviewed.clone(), options)
        })?;
        // The caller now knows the other item, so decay counts it as used.
        if done.value.status == Status::Duplicate {
            let now = self.memory().view().now();
            self.memory().touch([&done.value.id], now);
        }
        Ok(Remembered {
            commit: done.committed.commit,
            held_as: done.held,
            ..done.value
        })
    }
}

/// Checks and reviews an item that a caller gives. An item without a source gets the writer's.
fn reviewed(agent: &Agent, mut item: NewItem, writer: &Writer) -> Result<Reviewed> {
    item.source = item.source.or_else(|| writer.source.clone());
    item.check_given()?;
    if item.kind.as_str() == kind::SESSION {
        return Err(Error::invalid("a session cannot be remembered")
            .with_code(ErrorCode::NotOwner)
            .with_hint("`session append` creates a session"));
    }
    if let Some(id) = &item.id
        && agent.settings().quotas.are_ids_strict
        && id::block_id(id.as_str()).is_none()
    {
        let message = format!("'{id}' is not a valid id here: {}", id::GRAMMAR);
        return Err(Error::invalid(message).with_code(ErrorCode::BadId));
    }
    let reviewed = review(agent, item)?;
    if reviewed.item.text.trim().is_empty() {
        return Err(Error::invalid("there is no text to remember").with_code(ErrorCode::NoText));
    }
    Ok(reviewed)
}

/// Stages a reviewed item, unless an existing item counts as the same.
fn stage_item(
    intake: &mut Intake<'_, '_>,
    reviewed: Reviewed,
    options: &RememberOptions,
) -> Result<Remembered> {
    let agent = intake.change.agent();
    let is_held = reviewed.verdict == Verdict::Quarantine;
    let is_named = reviewed.item.id.is_some();
    let id = if is_held && options.key.is_none() {
        // The id of a quarantined item depends on its text, so a repeated item gets the same id. No key of a caller is as
        // long as this prefix, so the ids cannot collide.
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
            let error = format!("the idempotency key was used for another text: '{id}'");
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
        let class = intake.change.class();
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
            text: said.content().unwrap_or_default().to_owned(),
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
        near(agent, intake, &id, &item)?
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
                if let Some((object, reviewed)) = merged(agent, &other, &item)? {
                    answer.id = object.id.clone();
                    answer.take(&reviewed);
                    let staged = intake.change.say(object, Some(&other), &[])?;
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

/// Returns the fate of a staged item: `status`, corrected if the item was unchanged or updated.
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

    /// Adds a review to the answer.
    fn take(&mut self, reviewed: &Reviewed) {
        self.text.clone_from(&reviewed.item.text);
        self.verdict = self.verdict.max(reviewed.verdict);
        add_new(&mut self.rules, reviewed.rules.iter().copied());
        self.is_redacted |= reviewed.is_redacted;
    }

    /// Completes the answer with the version of its id, after the changes that were staged.
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
