//! Guarded changes in steps, for programs in any language: stage under a name, check, commit or drop.
//!
//! A staged change is a saved draft (`drafts/NAME`): it outlives its process, moves no state, and is committed on whatever
//! the head is then, unless somebody has changed what it changes.
//!
//! # Layer
//! L7, inside `agent`.

use super::checks;
use super::policy::TrustRules;
use super::report::Report;
use super::turn::{Changed, Turn};
use super::{Checks, Guarded};
use crate::agent::Agent;
use crate::agent::remember::unless_erased;
use crate::agent::staging::with_tries;
use crate::agent::vocabulary::op;
use crate::engine::{Authorisation, Draft, ReferenceInfo, Writer, check_trusted};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::{self, ObjectLine};
use crate::object::{Id, Origin};
use crate::store::ChangeCounts;

/// The class of names of staged changes.
const CLASS: &str = "drafts/";

/// One line of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum StagedLine {
    /// An object takes the place of what its id has.
    Put(Box<ObjectLine>),
    /// An object goes.
    Remove(Id),
}

impl StagedLine {
    /// Reads a line of JSON: an object as `put --jsonl` reads it, or `{"remove": "ID"}`.
    ///
    /// # Errors
    /// `InvalidInput`: neither.
    pub fn parse(text: &str) -> Result<Self> {
        let line = json::parse(text)?;
        let Some(id) = line.get("remove") else {
            return Ok(Self::Put(Box::new(json::object_from_json(&line)?)));
        };
        let id = id
            .as_str()
            .filter(|_| line.as_object().is_some_and(|map| map.len() == 1));
        let id =
            id.ok_or_else(|| Error::invalid("a line that removes is {\"remove\": \"ID\"} and no more"))?;
        Ok(Self::Remove(Id::new(id)?))
    }
}

/// What was staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Its name.
    pub name: String,
    /// What it would do.
    pub counts: ChangeCounts,
}

/// A change that waits for its commit.
pub type StagedInfo = ReferenceInfo;

impl Agent {
    /// Stages a change under a name, with markers in the place of secrets. Each line comes with its number, for refusals. Whether the writer may rewrite what is
    /// trusted more is asked now: who commits it later may be somebody else.
    ///
    /// # Errors
    /// `Denied` (code `refused`): it may not be rewritten by this writer.
    /// `InvalidInput`, naming the line: it cannot be staged; code `name_taken`: there is a change of this name; or there is
    /// nothing to stage. As [`Memory::commit`](crate::Memory::commit).
    pub fn stage(
        &self,
        name: &str,
        lines: impl IntoIterator<Item = Result<(u64, StagedLine)>>,
        rules: &TrustRules,
        writer: &Writer,
    ) -> Result<Staged> {
        self.refuse_secret("the name of the change", name)?;
        let mut draft = self.draft(writer)?;
        for line in lines {
            let (number, line) = line?;
            self.stage_line(&mut draft, line)
                .map_err(|error| error.context(format_args!("line {number}")))?;
        }
        let mut report = Report::of(draft.counts());
        checks::trust(&Turn::new(&draft)?, rules, &mut report)?;
        if !report.is_passed() {
            return Err(Error::new(
                ErrorKind::Denied,
                format!("the change was refused: {}", report.told_short()),
            )
            .with_code(ErrorCode::Refused)
            .with_ids(report.ids())
            .with_hint("nothing was staged; write new objects beside these"));
        }
        self.memory().save_draft(&draft, name)?;
        Ok(Staged {
            name: name.to_owned(),
            counts: draft.counts(),
        })
    }

    /// What a staged change would do, sorted by id.
    ///
    /// # Errors
    /// `NotFound`: there is none of this name, or its base is not kept. `Corrupt` or `Io`.
    pub fn staged_changes(&self, name: &str) -> Result<Vec<Changed>> {
        Ok(Turn::new(&self.staged_draft(name, Writer::new())?)?.changes)
    }

    /// The changes that wait, newest first; their names without the class.
    pub fn staged(&self) -> Vec<StagedInfo> {
        let references = self.memory().references().into_iter();
        let own = references.filter_map(|mut reference| {
            reference.name = reference.name.strip_prefix(CLASS)?.to_owned();
            Some(reference)
        });
        own.collect()
    }

    /// Checks a staged change on the head, where its commit would be. Changes nothing.
    ///
    /// # Errors
    /// `Conflict`, naming the ids: somebody else changed what it changes. As [`Self::staged_changes`] and [`Self::check`].
    pub fn check_staged(&self, name: &str, checks: &Checks<'_>, writer: &Writer) -> Result<Report> {
        self.check(&self.staged_on_head(name, writer)?, checks)
    }

    /// Checks a staged change and commits it, with an automatic snapshot of the state before. A change that is refused stays
    /// staged.
    ///
    /// # Errors
    /// As [`Self::check_staged`] and [`Memory::commit`](crate::Memory::commit).
    pub fn commit_staged(&self, name: &str, checks: &Checks<'_>, writer: &Writer) -> Result<Guarded<()>> {
        with_tries(|| self.try_commit_staged(name, checks, writer))
    }

    fn try_commit_staged(&self, name: &str, checks: &Checks<'_>, writer: &Writer) -> Result<Guarded<()>> {
        let mut draft = self.staged_on_head(name, &self.with_stager(name, writer))?;
        let report = self.check(&draft, checks)?;
        if !report.is_passed() {
            return Ok(Guarded::Refused {
                report,
                kept: Some(format!("{CLASS}{name}")),
            });
        }
        draft.snapshot_before(true);
        // The policy decided: its rule `trust.keep_higher` may be off.
        draft.authorise(Authorisation::Decided);
        let committed = self.memory().commit(draft, op::GUARD)?;
        let writer = self.admitted(writer.clone()).map_err(still_staged)?;
        match self.delete_staged(name, &writer) {
            // Somebody else has dropped it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => other.map_err(still_staged)?,
        }
        Ok(Guarded::Kept {
            value: (),
            committed: Box::new(committed),
            report,
        })
    }

    /// Drops a staged change.
    ///
    /// # Errors
    /// `NotFound`: there is none of this name. `Denied` (code `less_trusted`): an untrusted writer drops what somebody trusted
    /// staged. As [`Memory::commit`](crate::Memory::commit).
    pub fn drop_staged(&self, name: &str, writer: &Writer) -> Result<()> {
        let writer = self.admitted(writer.clone())?;
        if !writer.trust.is_trusted() {
            let draft = self.staged_draft(name, writer.clone())?;
            for change in draft.changes() {
                let version = match change.new {
                    Some(_) => draft.get(&change.id)?,
                    None => unless_erased(draft.base().get(&change.id))?,
                };
                if version.is_some_and(|version| version.origin().is_above(writer.trust)) {
                    check_trusted(writer.trust, "drop what somebody more trusted staged")?;
                }
            }
        }
        self.delete_staged(name, &writer)
    }

    fn delete_staged(&self, name: &str, writer: &Writer) -> Result<()> {
        let deleted = self.memory().delete_draft(&format!("{CLASS}{name}"), writer);
        deleted.map_err(|error| not_staged(name, error))
    }

    fn stage_line(&self, draft: &mut Draft, line: StagedLine) -> Result<()> {
        let mut line = match line {
            StagedLine::Remove(id) if draft.remove(&id)? => return Ok(()),
            StagedLine::Remove(id) => return Err(Error::not_found(format!("there is no object '{id}'"))),
            StagedLine::Put(line) => *line,
        };
        // GRD-4
        self.refuse_bad_names(&line.object)?;
        self.redact_object(&mut line.object);
        if line.past {
            draft.put_past(&line.object, line.origin.unwrap_or(Origin::Import))?;
            return Ok(());
        }
        match line.origin {
            Some(origin) => draft.put_at_most(line.object, origin)?,
            None => draft.put(line.object)?,
        };
        Ok(())
    }

    /// The writer, with the session and the actor of who staged the change where there is none: it is their turn.
    fn with_stager(&self, name: &str, writer: &Writer) -> Writer {
        let mut writer = writer.clone();
        if let Some(staged) = self.staged().into_iter().find(|staged| staged.name == name)
            && writer.session.is_none()
            && writer.actor.is_none()
        {
            (writer.actor, writer.session) = (staged.actor, staged.session);
        }
        writer
    }

    /// A staged change on the head: what is checked is what the commit makes (GRD-5).
    fn staged_on_head(&self, name: &str, writer: &Writer) -> Result<Draft> {
        drop(self.memory().refresh()?);
        let mut draft = self.staged_draft(name, writer.clone())?;
        draft.rebase()?;
        Ok(draft)
    }

    fn staged_draft(&self, name: &str, writer: Writer) -> Result<Draft> {
        let opened = self
            .memory()
            .open_draft(&format!("{CLASS}{name}"), self.admitted(writer)?);
        opened.map_err(|error| not_staged(name, error))
    }
}

/// The error of what follows the commit.
fn still_staged(error: Error) -> Error {
    error.with_code(ErrorCode::OutcomeUnknown).with_hint(
        "the change is committed: do not do it again; `guard drop` takes what is still staged away",
    )
}

fn not_staged(name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::not_found(format!("there is no staged change '{name}'"))
            .with_hint("`guard list` shows what is staged")
    } else {
        error
    }
}
