//! Stores many items from lines of JSON, in few commits.
//!
//! A refused line does not stop other lines; the answer has its number. All processors read and scan some thousand
//! lines at a time. Only one batch is in memory.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::intake::Intake;
use super::{OnDuplicate, RememberOptions, Status, line, stage_item};
use crate::agent::agent::Agent;
use crate::agent::change::names::{read_line, redact_error, refuse_secret};
use crate::agent::change::review::Reviewed;
use crate::agent::change::{Change, Rule, change_once};
use crate::agent::item::known_kind;
use crate::agent::scope::Place;
use crate::agent::vocabulary::kind;
use crate::engine::{CommitInfo, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Kind, Scope};
use crate::scan::Verdict;
use crate::threads::{beside, processors};

/// The default number of lines in a commit.
const BATCH_LINES: usize = 10_000;
/// The most lines that are read and scanned at once, and the most bytes.
const READ_LINES: usize = 4_096;
const READ_BYTES: usize = 8 << 20;
/// The most unknown fields that an answer names.
const UNKNOWN_MAX: usize = 100;
/// The fewest lines that are worth a thread.
const THREAD_LINES_MIN: usize = 64;

/// Defaults for fields that a line omits, and the size of commits.
#[derive(Clone, Debug)]
pub struct LinesOptions {
    /// The meaning of the words `project`, `session` and `agent`.
    pub place: Place,
    /// The scope of lines that name no scope.
    pub scope: Scope,
    /// The kind of lines that name no kind.
    pub kind: Kind,
    /// The session of lines that name no session.
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

/// The options for a line, which is not compared with similar items.
const QUICK: RememberOptions = RememberOptions {
    on_duplicate: OnDuplicate::Warn,
    key: None,
    expected: None,
    is_quick: true,
};

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedLine {
    /// Its number, from 1.
    pub line: u64,
    /// The id in the line.
    pub id: Option<String>,
    /// `block`, `quarantine`, `denied` or `invalid`.
    pub verdict: &'static str,
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
    /// The number of lines without an id whose text another item has.
    pub duplicates: u64,
    /// The lines that were not stored.
    pub refused: Vec<RefusedLine>,
    /// The number of lines stored with the attribute `flags`.
    pub flagged: u64,
    /// Unknown fields, which became attributes; at most 100 of them.
    #[schemars(with = "Vec<String>")]
    pub unknown: BTreeSet<String>,
    /// The names under `rejected/` of the quarantined lines.
    #[serde(skip)]
    pub held: Vec<String>,
    /// The last commit, or the head if there was nothing to commit.
    #[serde(skip)]
    pub commit: CommitInfo,
    /// Whether the memory is switched off, so that nothing was read or written.
    #[serde(skip)]
    pub is_disabled: bool,
}

/// The progress of a batch ([`Agent::follow_lines`]).
#[cfg_attr(
    not(feature = "cli"),
    expect(dead_code, reason = "only the program reports the progress of a batch")
)]
pub(crate) struct LinesBatch<'a> {
    /// Its refused lines.
    pub(crate) refused: &'a [RefusedLine],
    /// The number of its lines stored with the attribute `flags`.
    pub(crate) flagged: u64,
    /// The name under `rejected/` of the quarantined lines.
    pub(crate) held: Option<&'a str>,
    /// Its commit; `None` before the commit is made.
    pub(crate) commit: Option<&'a CommitInfo>,
}

/// A line and its number.
type Line = (u64, Vec<u8>);

/// A line after the review.
struct Looked {
    line: u64,
    id: Option<String>,
    unknown: Vec<String>,
    reviewed: Result<Reviewed>,
}

impl Agent {
    /// Remembers items from lines of JSON, with one commit of op `remember` for each batch.
    ///
    /// A line with an id is always stored. A line without an id whose text exists counts as unchanged. There is no search for near
    /// duplicates.
    ///
    /// # Errors
    /// The errors of `lines`, and of [`Memory::commit`](crate::Memory::commit). Earlier batches stay stored.
    pub fn remember_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
    ) -> Result<LinesRemembered> {
        self.follow_lines(lines, options, writer, |_| ())
    }

    /// Remembers items as [`Self::remember_lines`] does. `progress` is called before and after the commit of each
    /// batch.
    pub(crate) fn follow_lines(
        &self,
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
            commit: self.memory().view().commit(),
            is_disabled: self.settings().is_disabled,
        };
        if answer.is_disabled {
            return Ok(answer);
        }
        let mut lines = lines.into_iter();
        loop {
            let (refused_before, flagged_before) = (answer.refused.len(), answer.flagged);
            let mut report = |answer: &LinesRemembered, held: Option<&str>, commit: Option<&CommitInfo>| {
                progress(&LinesBatch {
                    refused: &answer.refused[refused_before..],
                    flagged: answer.flagged - flagged_before,
                    held,
                    commit,
                });
            };
            let stage = |change: &mut Change<'_>| {
                let is_last = answer.stage(self, change, &mut lines, (options, writer))?;
                report(&answer, None, None);
                Ok(is_last)
            };
            let (is_last, committed, held) = change_once(self, writer, &Rule::REMEMBER_ONCE, stage)?;
            if committed.changed || held.is_ok() {
                answer.commit = committed.commit;
                let held = held.as_ref().ok().and_then(Option::as_deref);
                report(&answer, held, Some(&answer.commit));
            }
            answer.held.extend(held?);
            if is_last {
                return Ok(answer);
            }
        }
    }
}

/// Reads and reviews lines on `threads` threads.
fn look_at(
    agent: &Agent,
    lines: &[Line],
    options: &LinesOptions,
    writer: &Writer,
    threads: usize,
) -> Vec<Looked> {
    if threads < 2 || lines.len() < 2 * THREAD_LINES_MIN {
        return lines
            .iter()
            .map(|line| look(agent, line, options, writer))
            .collect();
    }
    let (here, there) = lines.split_at(lines.len() / 2);
    let (mut looked, more) = beside(
        || look_at(agent, here, options, writer, threads.div_ceil(2)),
        || look_at(agent, there, options, writer, threads / 2),
    );
    looked.extend(more);
    looked
}

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
    let reviewed = item.and_then(|item| super::reviewed(agent, item, writer));
    let clean = |text: String| scanner.redact(&text).into_owned();
    Looked {
        line: *line,
        id: id.filter(|id| refuse_secret(scanner, "the id", id).is_ok()),
        unknown: unknown.into_iter().map(clean).collect(),
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

impl LinesRemembered {
    /// Stages the lines of a commit. Returns whether all lines have been read.
    fn stage(
        &mut self,
        agent: &Agent,
        change: &mut Change<'_>,
        lines: &mut impl Iterator<Item = Result<Line>>,
        (options, writer): (&LinesOptions, &Writer),
    ) -> Result<bool> {
        let mut intake = Intake::new(change);
        let mut left = options.batch_lines.max(1);
        while left > 0 {
            let read = read_some(lines, left)?;
            if read.is_empty() {
                return Ok(true);
            }
            left -= read.len();
            for looked in look_at(agent, &read, options, writer, processors()) {
                self.take(&mut intake, looked)?;
            }
        }
        Ok(false)
    }

    /// Stages a line, or adds it to the refused lines.
    fn take(&mut self, intake: &mut Intake<'_, '_>, looked: Looked) -> Result<()> {
        for name in looked.unknown {
            if self.unknown.len() < UNKNOWN_MAX {
                self.unknown.insert(name);
            }
        }
        let mut refuse = |verdict: &'static str, reason: String| {
            self.refused.push(RefusedLine {
                line: looked.line,
                id: looked.id.clone(),
                verdict,
                reason,
            });
        };
        let reviewed = match looked.reviewed {
            Ok(reviewed) if reviewed.verdict == Verdict::Block => {
                refuse(Verdict::Block.name(), reviewed.reason());
                return Ok(());
            }
            Ok(reviewed) => reviewed,
            Err(error) => {
                refuse(verdict_of(&error)?, error.message().to_owned());
                return Ok(());
            }
        };
        let (verdict, reason) = (reviewed.verdict, reviewed.reason());
        match stage_item(intake, reviewed, &QUICK).map(|remembered| remembered.status) {
            Ok(Status::Quarantined) => refuse(Verdict::Quarantine.name(), reason),
            Ok(Status::Unchanged) => self.unchanged += 1,
            Ok(Status::Duplicate) => {
                self.unchanged += 1;
                self.duplicates += 1;
            }
            Ok(_) => {
                self.stored += 1;
                self.flagged += u64::from(verdict == Verdict::Flag);
            }
            Err(error) => refuse(verdict_of(&error)?, error.message().to_owned()),
        }
        Ok(())
    }
}

/// Returns the verdict of a refused line. A fault of the store fails the whole call.
fn verdict_of(error: &Error) -> Result<&'static str> {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::Conflict => Ok("invalid"),
        ErrorKind::Denied => Ok("denied"),
        _ => Err(error.clone()),
    }
}
