//! Stores many items from lines of JSON, in few commits.
//!
//! A refused line does not affect other lines, and the answer lists its number. Up to 4,096 lines at a time are read,
//! and all processors scan them. Only one batch of lines is in memory.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::intake::Intake;
use super::{RememberOptions, Status, line, stage_item};
use crate::agent::agent::Agent;
use crate::agent::change::names::{read_line, redact_error, refuse_secret};
use crate::agent::change::review::Reviewed;
use crate::agent::change::{Change, Rule, change_once};
use crate::agent::item::known_kind;
use crate::agent::scope::Place;
use crate::agent::vocabulary::kind;
use crate::engine::{CommitInfo, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Kind, Origin, Scope};
use crate::threads::in_parallel;
use treering_text::scan::Verdict;

/// The default number of lines in a commit.
const BATCH_LINES: usize = 10_000;
/// The number of lines after which the lines that were read so far are scanned.
const READ_LINES: usize = 4_096;
/// The number of bytes after which the lines that were read so far are scanned.
const READ_BYTES: usize = 8 << 20;
/// The maximum number of unknown fields that an answer lists.
const UNKNOWN_MAX: usize = 100;
/// The defaults for fields that a line omits, and the number of lines in a commit.
#[derive(Clone, Debug)]
pub struct LinesOptions {
    /// The current project, session and agent, to which the scope words `project`, `session` and `agent` refer.
    pub place: Place,
    /// The scope of lines without the field `scope`.
    pub scope: Scope,
    /// The kind of lines without the field `kind`.
    pub kind: Kind,
    /// The session of lines without the field `session`.
    pub session: Option<String>,
    /// The number of lines per commit, at least 1.
    pub batch_lines: usize,
}

impl Default for LinesOptions {
    fn default() -> Self {
        Self {
            place: Place::default(),
            scope: Scope::default(),
            kind: known_kind(kind::FACT),
            session: None,
            batch_lines: BATCH_LINES,
        }
    }
}

named! {
    /// The reason why a line was not stored.
    pub enum LineVerdict {
        /// The scan blocks the text.
        Block => "block",
        /// The scan quarantines the text.
        Quarantine => "quarantine",
        /// The writer may not store the item.
        Denied => "denied",
        /// The line is not a valid item.
        Invalid => "invalid",
    }
}

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// The id in the line, if it can be read.
    pub id: Option<String>,
    /// The verdict.
    pub verdict: LineVerdict,
    /// The reason, without the text of the line.
    pub reason: String,
}

/// The answer to [`Agent::remember_lines`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinesRemembered {
    /// The number of lines that stored a new id or a new version.
    pub stored: u64,
    /// The number of lines that changed nothing, including [`Self::duplicates`].
    pub unchanged: u64,
    /// The number of lines without an id that repeat the text of another item.
    pub duplicates: u64,
    /// The lines that were not stored.
    pub refused: Vec<RefusedLine>,
    /// The number of lines stored with the attribute `flags`.
    pub flagged: u64,
    /// The names of unknown fields, which were stored as attributes. At most 100 names.
    #[schemars(with = "Vec<String>")]
    pub unknown: BTreeSet<String>,
    /// The names of the drafts under `rejected/` that contain the quarantined lines.
    #[serde(skip)]
    pub held: Vec<String>,
    /// The last commit, or the head if there was nothing to commit.
    #[serde(skip)]
    pub commit: CommitInfo,
    /// Whether the memory is disabled, so that nothing was read or written.
    #[serde(skip)]
    pub is_disabled: bool,
}

/// The progress of a batch ([`follow_lines`]).
pub struct LinesBatch<'a> {
    /// The refused lines of the batch.
    pub refused: &'a [RefusedLine],
    /// The number of lines of the batch that were stored with the attribute `flags`.
    pub flagged: u64,
    /// The names of the drafts under `rejected/`, one for each quarantined line.
    pub held: &'a [String],
    /// The commit of the batch; `None` before the commit is made.
    pub commit: Option<&'a CommitInfo>,
}

/// A line and its number.
type Line = (u64, Vec<u8>);

/// A line that was read and reviewed.
struct Looked {
    line: u64,
    id: Option<String>,
    unknown: Vec<String>,
    /// The class and the session that the line states, even if the line is refused.
    stated: (Origin, Option<String>),
    /// Whether the line is a JSON object, so that it can state its class.
    is_object: bool,
    reviewed: Result<Reviewed>,
}

/// Stores items as [`Agent::remember_lines`] does. Calls `progress` before and after the commit of each batch.
///
/// # Errors
/// The errors of [`Agent::remember_lines`], and those of `progress`.
pub fn follow_lines(
    agent: &Agent,
    lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
    options: &LinesOptions,
    writer: &Writer,
    mut progress: impl FnMut(&LinesBatch<'_>),
) -> Result<LinesRemembered> {
    let mut answer = LinesRemembered {
        stored: 0,
        unchanged: 0,
        duplicates: 0,
        refused: Vec::new(),
        flagged: 0,
        unknown: BTreeSet::new(),
        held: Vec::new(),
        commit: agent.memory().view().commit(),
        is_disabled: agent.settings().is_disabled,
    };
    if answer.is_disabled {
        return Ok(answer);
    }
    let mut lines = lines.into_iter();
    let mut classes = Classes {
        least: writer.trust,
        is_unsure: false,
    };
    loop {
        let (refused_before, flagged_before) = (answer.refused.len(), answer.flagged);
        let mut report = |answer: &LinesRemembered, held: &[String], commit: Option<&CommitInfo>| {
            progress(&LinesBatch {
                refused: &answer.refused[refused_before..],
                flagged: answer.flagged - flagged_before,
                held,
                commit,
            });
        };
        let stage = |change: &mut Change<'_>| {
            let mut intake = Intake::new(change);
            let mut left = options.batch_lines.max(1);
            let mut is_last = false;
            while left > 0 && !is_last {
                let read = read_some(&mut lines, left)?;
                left -= read.len();
                is_last = read.is_empty();
                for looked in in_parallel(read, &|line| look(agent, &line, options, writer)) {
                    classes.note(&looked);
                    answer.take(&mut intake, looked)?;
                }
                classes.admit(intake.change, options)?;
            }
            report(&answer, &[], None);
            Ok(is_last)
        };
        let (is_last, committed, held) = change_once(agent, writer, &Rule::REMEMBER_ONCE, stage)?;
        if committed.changed || held.is_ok() {
            answer.commit = committed.commit;
            let held = held.as_deref().unwrap_or_default();
            report(&answer, held, Some(&answer.commit));
        }
        answer.held.extend(held?);
        if is_last {
            return Ok(answer);
        }
    }
}

/// Reads and reviews a line.
fn look(agent: &Agent, (line, bytes): &Line, options: &LinesOptions, writer: &Writer) -> Looked {
    let scanner = agent.scanner();
    let (item, unknown) = match read_line(scanner, bytes, |bytes| line::item_of(bytes, options)) {
        Ok((item, unknown)) => (Ok(item), unknown),
        Err(error) => (Err(error), Vec::new()),
    };
    let id = match &item {
        Ok(item) => item.id.as_ref().map(|id| id.as_str().to_owned()),
        Err(_) => line::id_of(bytes),
    };
    let stated = match &item {
        Ok(item) => (item.class(), item.session.clone()),
        Err(_) => line::class_of(bytes, options),
    };
    let is_object = item.is_ok() || line::is_object(bytes);
    let reviewed = item.and_then(|item| super::reviewed(agent, item, false, writer));
    let clean = |text: String| scanner.redact(&text).into_owned();
    Looked {
        line: *line,
        is_object,
        id: id.filter(|id| refuse_secret(scanner, "the id", id).is_ok()),
        unknown: unknown.into_iter().map(clean).collect(),
        stated,
        reviewed: reviewed.map_err(|error| redact_error(scanner, error)),
    }
}

fn read_some(lines: &mut impl Iterator<Item = Result<Line>>, most: usize) -> Result<Vec<Line>> {
    let mut read = Vec::new();
    let mut bytes = 0;
    while read.len() < most.min(READ_LINES) && bytes < READ_BYTES {
        let Some(line) = lines.next() else { break };
        let line = line?;
        bytes += line.1.len();
        read.push(line);
    }
    Ok(read)
}

/// The classes of the lines that were read so far.
struct Classes {
    /// The least trusted class of a line, or of the writer.
    least: Origin,
    /// Whether a line cannot be read, so its class is unknown.
    is_unsure: bool,
}

impl Classes {
    fn note(&mut self, looked: &Looked) {
        self.least = Origin::least(self.least, looked.stated.0);
        self.is_unsure |= !looked.is_object;
    }

    /// Taints the session if a line that cannot be read may be of an untrusted class, as other lines of the call are
    /// (TNT-4). Otherwise the author of that line could decide whether the session stays trusted.
    fn admit(&self, change: &mut Change<'_>, options: &LinesOptions) -> Result<()> {
        if self.is_unsure {
            change.admit(self.least, options.session.as_deref())?;
        }
        Ok(())
    }
}

impl LinesRemembered {
    /// Stages a line, or adds it to the refused lines.
    fn take(&mut self, intake: &mut Intake<'_, '_>, looked: Looked) -> Result<()> {
        for name in looked.unknown {
            if self.unknown.len() < UNKNOWN_MAX {
                self.unknown.insert(name);
            }
        }
        // `remember_lines` does not search for near duplicates.
        let quick = RememberOptions {
            is_quick: true,
            ..RememberOptions::default()
        };
        // INVARIANT TNT-4: a session is tainted when a line gives an untrusted class, even if the line is refused.
        let (class, session) = looked.stated;
        intake.change.admit(class, session.as_deref())?;
        let staged = looked.reviewed.and_then(|reviewed| {
            let (verdict, reason) = (reviewed.verdict, reviewed.reason());
            let is_blocked = verdict == Verdict::Block;
            let staged = (!is_blocked).then(|| stage_item(intake, reviewed, &quick));
            Ok((staged.transpose()?.map(|stored| stored.status), verdict, reason))
        });
        let (verdict, reason) = match staged {
            Err(error) => (verdict_of(&error)?, error.message().to_owned()),
            Ok((None, _, reason)) => (LineVerdict::Block, reason),
            Ok((Some(Status::Quarantined), _, reason)) => (LineVerdict::Quarantine, reason),
            Ok((Some(status), verdict, _)) => {
                match status {
                    Status::Unchanged => self.unchanged += 1,
                    Status::Duplicate => {
                        self.unchanged += 1;
                        self.duplicates += 1;
                    }
                    _ => {
                        self.stored += 1;
                        self.flagged += u64::from(verdict == Verdict::Flag);
                    }
                }
                return Ok(());
            }
        };
        self.refused.push(RefusedLine {
            line: looked.line,
            id: looked.id,
            verdict,
            reason,
        });
        Ok(())
    }
}

/// Returns the verdict of a refused line. Returns `error` if the store failed, because then the whole call fails.
fn verdict_of(error: &Error) -> Result<LineVerdict> {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::Conflict => Ok(LineVerdict::Invalid),
        ErrorKind::Denied => Ok(LineVerdict::Denied),
        _ => Err(error.clone()),
    }
}
