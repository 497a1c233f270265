//! Guarded changes in separate steps, for programs in any language: stage a change under a name, check it, then commit
//! or drop it.
//!
//! A staged change is a saved draft (`drafts/NAME`). It outlives the process that staged it, and does not change the
//! state. A staged change is committed on the newest head. The commit conflicts if another writer changed the same
//! objects.
//!
//! # Layer
//! Layer 7, inside `agent`.

use schemars::JsonSchema;
use serde::Serialize;

use super::checks;
use super::policy::TrustRules;
use super::report::Report;
use super::turn::{ChangedObject, Turn, changes_of};
use super::{Checks, Guarded};
use crate::agent::Agent;
use crate::agent::change::names::{check_names, read_line, redact_error, redact_object, refuse_secret};
use crate::agent::change::{Rule, drafts, retry_on_conflict};
use crate::engine::{Draft, OriginRule, ReferenceInfo, Writer, check_trusted};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::{self, ObjectLine};
use crate::object::{Id, Origin, object_class};
use crate::store::ChangeCounts;

/// The prefix of the names of staged changes.
const CLASS: &str = "drafts/";

/// One line of a change to stage.
#[derive(Clone, Debug, PartialEq)]
pub enum StagedLine {
    /// Replaces the object of an id.
    Put(Box<ObjectLine>),
    /// Removes an object.
    Remove(Id),
}

impl StagedLine {
    /// Parses a line of JSON: an object in the format of `put --jsonl`, or `{"remove": "ID"}`.
    ///
    /// # Errors
    /// `InvalidInput`: the input has neither form.
    pub fn parse(agent: &Agent, line: &[u8]) -> Result<Self> {
        read_line(agent.scanner(), line, |line| {
            let text = std::str::from_utf8(line).map_err(|_| Error::invalid("the line is not UTF-8"))?;
            let line = json::parse(text)?;
            let Some(id) = line.get("remove") else {
                return Ok(Self::Put(Box::new(json::object_from_json(line)?)));
            };
            let is_alone = line.as_object().is_some_and(|map| map.len() == 1);
            let id = id.as_str().filter(|_| is_alone);
            let id = id.ok_or_else(|| Error::invalid("a line with `remove` must be {\"remove\": \"ID\"}"))?;
            Ok(Self::Remove(Id::new(id)?))
        })
    }
}

/// A staged change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StagedChange {
    /// The name of the change, without `drafts/`.
    pub name: String,
    /// The counts of its changes.
    #[serde(flatten)]
    pub counts: ChangeCounts,
}

/// Stages a change under a name, and replaces secrets with markers. An error in a line names the number of the line.
/// Checks the trust rules for this writer now, because another writer may commit the change.
///
/// # Errors
/// `Denied` (code `refused`): this writer may not rewrite an object of the change. `InvalidInput`: a line cannot be
/// staged, another change has this name (code `name_taken`), or the change is empty. Also the errors of
/// [`Memory::commit`](crate::Memory::commit).
pub fn stage(
    agent: &Agent,
    name: &str,
    lines: impl IntoIterator<Item = Result<(u64, StagedLine)>>,
    rules: &TrustRules,
    writer: &Writer,
) -> Result<StagedChange> {
    refuse_secret(agent.scanner(), "the name of the change", name)?;
    let mut draft = drafts::begin(agent, writer)?;
    for line in lines {
        let staged = line.and_then(|(number, line)| {
            stage_line(agent, &mut draft, line).map_err(|error| error.context(format_args!("line {number}")))
        });
        if let Err(error) = staged {
            let error = agent.memory().abandon(draft, error);
            return Err(redact_error(agent.scanner(), error));
        }
    }
    let trust = rules.keep_higher.then(|| checks::trust(&Turn::new(&draft)?));
    if let Some(failure) = trust.transpose()?.flatten() {
        let mut report = Report::default();
        report.add("trust", Some(failure));
        let refusal = Error::denied(
            ErrorCode::Refused,
            format!("the change was refused: {}", report.summary()),
        )
        .with_ids(report.ids())
        .with_hint("nothing was staged; write new objects instead of changing these");
        return Err(agent.memory().abandon(draft, refusal));
    }
    drafts::save(agent, &draft, name)?;
    Ok(StagedChange {
        name: name.to_owned(),
        counts: draft.counts(),
    })
}

/// Returns the changes of a staged change, sorted by id.
///
/// # Errors
/// `NotFound`: no staged change has this name, or the store no longer contains its base. `Corrupt` or `Io`: the change
/// cannot be read.
pub fn staged_changes(agent: &Agent, name: &str) -> Result<Vec<ChangedObject>> {
    changes_of(&staged_draft(agent, name, &Writer::user())?)
}

/// Returns the staged changes, newest first. The returned names omit the prefix `drafts/`.
pub fn staged(agent: &Agent) -> Vec<ReferenceInfo> {
    let references = agent.memory().references().into_iter();
    let own = references.filter_map(|mut reference| {
        reference.name = reference.name.strip_prefix(CLASS)?.to_owned();
        Some(reference)
    });
    own.collect()
}

/// Checks a staged change on the head, as [`commit_staged`] does. Changes nothing.
///
/// # Errors
/// `Conflict`: another writer changed the same ids; the error names these ids. Also the errors of [`staged_changes`]
/// and [`Agent::check`].
pub fn check_staged(agent: &Agent, name: &str, checks: &Checks<'_>, writer: &Writer) -> Result<Report> {
    agent.check(&staged_on_head(agent, name, writer)?, checks)
}

/// Checks a staged change and commits it, after an automatic snapshot. A refused change stays staged.
///
/// # Errors
/// The errors of [`check_staged`] and [`Memory::commit`](crate::Memory::commit).
pub fn commit_staged(agent: &Agent, name: &str, checks: &Checks<'_>, writer: &Writer) -> Result<Guarded<()>> {
    retry_on_conflict(|| try_commit_staged(agent, name, checks, writer))
}

/// Drops a staged change.
///
/// # Errors
/// `NotFound`: no staged change has this name. `Denied` (code `less_trusted`): an untrusted writer would drop the
/// change of a more trusted writer. Also the errors of [`Memory::commit`](crate::Memory::commit).
pub fn drop_staged(agent: &Agent, name: &str, writer: &Writer) -> Result<()> {
    if !writer.trust.is_trusted() {
        let draft = staged_draft(agent, name, writer)?;
        let changes = changes_of(&draft)?;
        let mut versions = changes.iter().filter_map(ChangedObject::object);
        if versions.any(|version| version.origin().is_above(writer.trust)) {
            check_trusted(writer.trust, "drop a change of a more trusted writer")?;
        }
    }
    delete_staged(agent, name, writer)
}

fn try_commit_staged(agent: &Agent, name: &str, checks: &Checks<'_>, writer: &Writer) -> Result<Guarded<()>> {
    let stager = with_stager(agent, name, writer);
    let draft = staged_on_head(agent, name, &stager)?;
    let report = agent.check(&draft, checks)?;
    if !report.is_passed() {
        return agent.refuse(checks, &stager, report, Some(format!("{CLASS}{name}")));
    }
    let committed = drafts::commit(agent, draft, &Rule::GUARD)?;
    match delete_staged(agent, name, writer) {
        // Another writer has already dropped the staged change.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => other.map_err(|error| {
            let hint = "the change is committed, so do not repeat it; `guard drop` removes the staged copy";
            error.with_code(ErrorCode::OutcomeUnknown).with_hint(hint)
        })?,
    }
    Ok(Guarded::Kept {
        value: (),
        committed: Box::new(committed),
        report,
    })
}

fn delete_staged(agent: &Agent, name: &str, writer: &Writer) -> Result<()> {
    let deleted = drafts::delete(agent, &format!("{CLASS}{name}"), writer);
    deleted.map_err(|error| not_staged(name, error))
}

fn stage_line(agent: &Agent, draft: &mut Draft, line: StagedLine) -> Result<()> {
    let mut line = match line {
        StagedLine::Remove(id) if draft.remove(&id)? => return Ok(()),
        StagedLine::Remove(id) => return Err(Error::not_found(format!("there is no object '{id}'"))),
        StagedLine::Put(line) => *line,
    };
    // GRD-4: a name that contains a secret is refused.
    check_names(agent, &line.object)?;
    redact_object(agent.scanner(), &mut line.object);
    if line.past {
        draft.put_past(&line.object, line.origin.unwrap_or(Origin::Import))?;
        return Ok(());
    }
    let class = object_class(&line.object, line.origin);
    draft.stage(line.object, OriginRule::AtMost(class))?;
    Ok(())
}

/// Returns `writer`. If `writer` has neither a session nor an actor, copies both from the writer who staged the change.
fn with_stager(agent: &Agent, name: &str, writer: &Writer) -> Writer {
    let mut writer = writer.clone();
    let is_nameless = writer.session.is_none() && writer.actor.is_none();
    let mut staged = staged(agent).into_iter().filter(|_| is_nameless);
    if let Some(staged) = staged.find(|staged| staged.name == name) {
        (writer.actor, writer.session) = (staged.actor, staged.session);
    }
    writer
}

/// Opens a staged change and rebases it to the head, on which it will be committed (GRD-5).
fn staged_on_head(agent: &Agent, name: &str, writer: &Writer) -> Result<Draft> {
    drop(agent.memory().refresh()?);
    let mut draft = staged_draft(agent, name, writer)?;
    draft.rebase()?;
    Ok(draft)
}

fn staged_draft(agent: &Agent, name: &str, writer: &Writer) -> Result<Draft> {
    let opened = drafts::open(agent, &format!("{CLASS}{name}"), writer);
    opened.map_err(|error| not_staged(name, error))
}

fn not_staged(name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::not_found(format!("no staged change has the name '{name}'"))
            .with_hint("`guard list` shows the staged changes")
    } else {
        error
    }
}
