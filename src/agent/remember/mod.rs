//! Remembering: one item with an answer about what is there already, or many lines of JSON in few commits.
//!
//! Every text passes the review first. What the scan blocks is refused, what it holds back is kept under `rejected/`
//! for a person to look at, the rest is stored as one commit. An item that nobody named is looked up by its text first,
//! and items near it are named in the answer with what they say.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - RMB-1: what the review did not let through is in no state, and its text in no answer.
//! - RMB-2: a writer replaces, joins or supersedes nothing that is more trusted than the writer, and nothing in another
//!   scope.
//! - RMB-3: a writer replaces nothing that belongs to a session: a session itself, what is below it, and its notes.

mod intake;
mod known_texts;
mod line;
mod lines;
mod names;
mod near;
#[cfg(test)]
mod tests;

pub(in crate::agent) use known_texts::{KnownTexts, unless_erased};
pub use lines::{LinesOptions, LinesRemembered, RefusedLine};
pub(in crate::agent) use names::Names;

use super::agent::Agent;
use super::blocks::id::BlockId;
use super::item::NewItem;
use super::review::Reviewed;
use super::staging::with_tries;
use super::vocabulary::kind;
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Committed, Staged, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Id, NewObject, Scope};
use crate::scan::{Category, Verdict};
use intake::{Intake, print_of};
use near::Near;

/// What to do with an item that surely says what another of its scope and kind says. Less sure ones are reported only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Store it, and say so.
    #[default]
    Warn,
    /// Store nothing.
    Skip,
    /// Put what it adds into the other one.
    Merge,
    /// Store it in the other one's place.
    Supersede,
}

impl OnDuplicate {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Warn, Self::Skip, Self::Merge, Self::Supersede];

    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Skip => "skip",
            Self::Merge => "merge",
            Self::Supersede => "supersede",
        }
    }

    /// Reads the name that [`Self::name`] writes.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// How an item is to be remembered.
#[derive(Clone, Debug, Default)]
pub struct RememberOptions {
    /// What to do with near duplicates. An item with an id of its own is neither skipped nor merged.
    pub on_duplicate: OnDuplicate,
    /// Makes the id of an item without one, so that the same key again stores nothing new. At most 256 bytes.
    pub key: Option<String>,
    /// Fails with `Conflict` unless the id has this version.
    pub expected: Option<ObjectDigest>,
    /// Does not look for near duplicates and conflicts.
    pub is_quick: bool,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its id is new.
    Created,
    /// Its id has a new version.
    Updated,
    /// Its id had this meaning already.
    Unchanged,
    /// Another item says it already; nothing was written.
    Duplicate,
    /// Another item has a new version that says this too.
    Merged,
    /// It is stored, in the place of others, which are kept.
    Superseded,
    /// It is kept for a person to look at, out of the state.
    Quarantined,
    /// The memory is switched off: nothing was read or written.
    Disabled,
}

impl Status {
    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Duplicate => "duplicate",
            Self::Merged => "merged",
            Self::Superseded => "superseded",
            Self::Quarantined => "quarantined",
            Self::Disabled => "disabled",
        }
    }
}

/// Another item of the scope and kind that is about the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Alike {
    /// Its id.
    pub id: Id,
    /// How alike the two are, 0 to 1.
    pub similarity: f32,
    /// What it says.
    pub text: String,
}

/// The answer to [`Agent::remember`].
#[derive(Clone, Debug)]
pub struct Remembered {
    /// The id that says it now: its own, or that of the item that says it already.
    pub id: Id,
    /// The version of that id; none if it is not in the state.
    pub digest: Option<ObjectDigest>,
    /// The commit, or the head if there was nothing to commit.
    pub commit: CommitInfo,
    /// What became of it.
    pub status: Status,
    /// Where it belongs.
    pub scope: Scope,
    /// The text as it was stored: without secrets and invisible characters.
    pub text: String,
    /// Items that say the same, the likest first.
    pub duplicates: Vec<Alike>,
    /// Items that contradict it.
    pub conflicts: Vec<Alike>,
    /// What the scan says of it.
    pub verdict: Verdict,
    /// The rules that it met.
    pub rules: Vec<&'static str>,
    /// Whether secrets were taken out of it.
    pub is_redacted: bool,
    /// Where it is kept, if it is held back: the name of a draft.
    pub held_as: Option<String>,
}

impl Agent {
    /// Remembers an item as one commit of op `remember`.
    ///
    /// An item without an id whose text another one of its scope and kind has already is not stored again, if that one
    /// has not expired, is not superseded, and is no less trusted than the writer. Two writers at the same moment may
    /// both store it.
    ///
    /// # Errors
    /// `Denied` (code `refused`): the scan blocks it; (code `less_trusted`): it would replace what is more trusted; (code
    /// `not_owner`): it would replace what belongs to a session.
    /// `Conflict`: the version is not the expected one, the key was used for another text (code `key_taken`), the id is
    /// that of another scope (code `other_scope`). `NotFound`: what it supersedes is not there. `InvalidInput`: it is
    /// over a quota (code `over_limit`) or no item. Further as [`Memory::commit`](crate::Memory::commit).
    pub fn remember(&self, item: NewItem, options: &RememberOptions, writer: &Writer) -> Result<Remembered> {
        if options
            .key
            .as_ref()
            .is_some_and(|key| key.is_empty() || key.len() > 256)
        {
            return Err(Error::invalid("an idempotency key has 1 to 256 bytes"));
        }
        let reviewed = self.reviewed(item)?;
        if self.settings().is_disabled {
            return Remembered::disabled(self, &reviewed, options);
        }
        if reviewed.verdict == Verdict::Block {
            return Err(refused(&reviewed));
        }
        if options.expected.is_some() {
            return self.remember_once(&reviewed, options, writer);
        }
        with_tries(|| self.remember_once(&reviewed, options, writer))
    }

    /// The review of an item that a caller gives.
    fn reviewed(&self, item: NewItem) -> Result<Reviewed> {
        self.check_given(&item)?;
        let reviewed = self.review(item)?;
        if reviewed.item.text.trim().is_empty() {
            return Err(Error::invalid("there is no text to remember").with_code(ErrorCode::NoText));
        }
        Ok(reviewed)
    }

    /// Whether a caller may give this item, and the id is one that the quotas allow.
    fn check_given(&self, item: &NewItem) -> Result<()> {
        item.check_given()?;
        if item.kind.as_str() == kind::SESSION {
            return Err(Error::invalid("a session is not remembered")
                .with_code(ErrorCode::NotOwner)
                .with_hint("`session append` makes one"));
        }
        let Some(id) = item.id.as_ref().filter(|_| self.settings().quotas.are_ids_strict) else {
            return Ok(());
        };
        BlockId::new(id.as_str()).map(drop).map_err(|error| {
            Error::invalid(format!("'{id}' is no id here: {error}")).with_code(ErrorCode::BadId)
        })
    }

    fn remember_once(
        &self,
        reviewed: &Reviewed,
        options: &RememberOptions,
        writer: &Writer,
    ) -> Result<Remembered> {
        let mut intake = Intake::new(self, writer)?;
        let mut item = reviewed.item.clone();
        let id = intake.id_of(&item, options.key.as_deref())?;
        let mut answer = Remembered::of(reviewed, id.clone(), intake.head());
        if item.id.is_none()
            && options.key.is_some()
            && let Some(object) = intake.present(&id)?
            && !intake.is_of_outsider(&object)
        {
            if !self.says(&object, &item.text)? {
                return Err(key_taken(&id));
            }
            return Ok(answer.at_rest(Status::Unchanged, object.digest()));
        }
        let present = intake.check_replaced(&id, &item)?;
        if options.expected.is_some() {
            intake.draft.expect(&id, options.expected);
        }
        if reviewed.verdict == Verdict::Quarantine {
            // Nobody asks when it is released.
            if options.expected.is_some() && intake.draft.digest(&id)? != options.expected {
                return Err(
                    Error::conflict(format!("'{id}' has another version than the one expected"))
                        .with_ids(vec![id.to_string()]),
                );
            }
            if options.key.is_none() {
                answer.id = intake.held_id(&item)?;
                intake.check_replaced(&answer.id, &item)?;
            }
            // Of its own: what waits takes no room, and nothing makes room for it.
            let mut held = self.draft(writer)?;
            held.put(item.into_object(answer.id.clone())?)?;
            answer.held_as = self.memory().quarantine(&held, &reviewed.reason())?;
            answer.status = Status::Quarantined;
            return Ok(answer);
        }
        if item.id.is_none()
            && let Some(said) = intake.said_by(&item, print_of(&item))?
        {
            answer.id = Id::new(said.id())?;
            answer.duplicates.push(Alike {
                id: answer.id.clone(),
                similarity: 1.0,
                text: said.content().unwrap_or_default().to_owned(),
            });
            self.memory().touch([&answer.id], intake.view().now());
            return match intake.restate(&said, &item)? {
                Staged::Unchanged => Ok(answer.at_rest(Status::Duplicate, said.digest())),
                _ => answer.commit(intake, Status::Merged),
            };
        }
        intake.check_superseded(&id, &item)?;
        let near = if options.is_quick {
            Near::default()
        } else {
            self.near(&intake, &id, &item)?
        };
        answer.duplicates = near.duplicates;
        answer.conflicts = near.conflicts;
        if let Some(other) = near.surest {
            let is_named = item.id.is_some();
            match options.on_duplicate {
                OnDuplicate::Skip if !is_named && intake.is_trusted_enough(&other) => {
                    answer.id = Id::new(other.id())?;
                    self.memory().touch([&answer.id], intake.view().now());
                    return Ok(answer.at_rest(Status::Duplicate, other.digest()));
                }
                OnDuplicate::Merge if !is_named && intake.is_as_trusted(&other) => {
                    if let Some(merged) = self.merged(&other, &item)? {
                        answer.id = merged.object.id.clone();
                        answer.take(&merged.reviewed);
                        return answer.store(intake, merged.object, Status::Merged);
                    }
                }
                OnDuplicate::Supersede if intake.is_replaceable(&other) && other.id() != id.as_str() => {
                    item.supersedes.push(Id::new(other.id())?);
                }
                _ => {}
            }
        }
        let status = if item.supersedes.is_empty() {
            Status::Created
        } else {
            Status::Superseded
        };
        let object = intake.admit(id, item, present.as_ref())?;
        answer.store(intake, object, status)
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

    /// Says what a review says, beside what was said before.
    fn take(&mut self, reviewed: &Reviewed) {
        self.text.clone_from(&reviewed.item.text);
        self.verdict = self.verdict.max(reviewed.verdict);
        for rule in reviewed.rules() {
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
        let mut found = reviewed.findings.iter();
        self.is_redacted |= found.any(|finding| finding.category == Category::Secret);
    }

    /// Nothing had to be written.
    fn at_rest(self, status: Status, digest: ObjectDigest) -> Self {
        Self {
            digest: Some(digest),
            status,
            ..self
        }
    }

    /// Stages and commits the object; `status` if its id is new or a merged one.
    fn store(self, mut intake: Intake<'_>, object: NewObject, status: Status) -> Result<Self> {
        let present = intake.present(&object.id)?.map(|present| present.origin());
        let status = match (intake.draft.put_said(object, present)?, status) {
            (Staged::Unchanged, _) => Status::Unchanged,
            (Staged::Updated, Status::Created) => Status::Updated,
            (_, status) => status,
        };
        self.commit(intake, status)
    }

    fn commit(mut self, intake: Intake<'_>, status: Status) -> Result<Self> {
        self.status = status;
        self.digest = intake.draft.digest(&self.id)?;
        let Committed { commit, .. } = intake.commit()?;
        self.commit = commit;
        Ok(self)
    }

    fn disabled(agent: &Agent, reviewed: &Reviewed, options: &RememberOptions) -> Result<Self> {
        let view = agent.memory().view();
        let id = Names::since(view.now()).of(agent, &reviewed.item, options.key.as_deref())?;
        let answer = Self::of(reviewed, id, view.commit());
        Ok(Self {
            status: Status::Disabled,
            ..answer
        })
    }
}

fn refused(reviewed: &Reviewed) -> Error {
    // RMB-1: rules are named, never what they were met by.
    Error::new(
        ErrorKind::Denied,
        format!("this is not remembered: {}", reviewed.reason()),
    )
    .with_code(ErrorCode::Refused)
    .with_hint(match reviewed.bad_name {
        Some(_) => "nothing was stored; names stay in the log as they are: give another one",
        None => "nothing was stored; leave out what runs, hides or orders, and say what is to be known",
    })
}

fn key_taken(id: &Id) -> Error {
    Error::conflict(format!("the key was used for another text, which is '{id}'"))
        .with_code(ErrorCode::KeyTaken)
        .with_ids(vec![id.to_string()])
        .with_hint("use a new key for a new text")
}
