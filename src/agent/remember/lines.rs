//! Many items at once: lines of JSON, in few commits.
//!
//! A line that cannot be stored is answered with its number and does not keep the others back. Lines are read and
//! scanned some thousand at a time, on as many threads as there are processors, and memory holds one batch.
//!
//! # Layer
//! L7, inside `agent`.

use std::collections::BTreeSet;

use super::intake::{Intake, print_of};
use super::line;
use crate::agent::agent::Agent;
use crate::agent::item::{NewItem, known_kind};
use crate::agent::review::Reviewed;
use crate::agent::scope::Place;
use crate::agent::staging::not_held;
use crate::agent::vocabulary::kind;
use crate::engine::{CommitInfo, Staged, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Id, Kind, Scope};
use crate::scan::Verdict;
use crate::threads::{beside, processors};

/// Lines of a commit, unless the caller says otherwise.
const BATCH_LINES: usize = 10_000;
/// Lines that are read and scanned at once, and their bytes.
const READ_LINES: usize = 4_096;
const READ_BYTES: usize = 8 << 20;
/// Names of fields that are told.
const UNKNOWN_MAX: usize = 100;
/// Fewer lines than this are not worth a thread.
const THREAD_LINES_MIN: usize = 64;

/// What lines have that do not say it, and how they are committed.
#[derive(Clone, Debug)]
pub struct LinesOptions {
    /// What the words `project`, `session` and `agent` stand for.
    pub place: Place,
    /// The scope of lines that name none.
    pub scope: Scope,
    /// Their kind.
    pub kind: Kind,
    /// Their session.
    pub session: Option<String>,
    /// Their source.
    pub source: Option<String>,
    /// Lines of a commit, at least 1.
    pub batch_lines: usize,
}

impl Default for LinesOptions {
    fn default() -> Self {
        Self {
            place: Place::default(),
            scope: Scope::default(),
            kind: known_kind(kind::FACT),
            session: None,
            source: None,
            batch_lines: BATCH_LINES,
        }
    }
}

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLine {
    /// Its number, from 1.
    pub line: u64,
    /// The id that it gives.
    pub id: Option<String>,
    /// `block`, `quarantine`, `denied` or `invalid`.
    pub verdict: &'static str,
    /// Why, without its text.
    pub reason: String,
}

/// The answer to [`Agent::remember_lines`].
#[derive(Clone, Debug)]
pub struct LinesRemembered {
    /// Lines that made a new id or a new version.
    pub stored: u64,
    /// Lines that were there already, [`Self::duplicates`] among them.
    pub unchanged: u64,
    /// Lines without an id whose text another item has.
    pub duplicates: u64,
    /// Lines that were not stored.
    pub refused: Vec<RefusedLine>,
    /// Lines that were stored with the attribute `flags`.
    pub flagged: u64,
    /// Fields that no item has, which became attributes; at most 100 of them.
    pub unknown: BTreeSet<String>,
    /// Under which names a person finds what was held back.
    pub held: Vec<String>,
    /// The last commit, or the head if there was nothing to commit.
    pub commit: CommitInfo,
    /// The memory is switched off: nothing was read or written.
    pub is_disabled: bool,
}

/// A batch of lines, for who follows it ([`Agent::follow_lines`]).
#[cfg_attr(
    not(feature = "cli"),
    expect(dead_code, reason = "only the program tells of a batch")
)]
pub(crate) struct LinesBatch<'a> {
    /// Those of its lines that were not stored.
    pub(crate) refused: &'a [RefusedLine],
    /// How many were stored with the attribute `flags`.
    pub(crate) flagged: u64,
    /// Under which name a person finds what was held back.
    pub(crate) held: Option<&'a str>,
    /// The commit that it is in; none while that is still to be made.
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
    /// Remembers items that are lines of JSON, one commit of op `remember` for each batch of them.
    ///
    /// Given ids are kept, and each is stored even if its text repeats; a line without an id whose text is there already
    /// counts as unchanged. Near duplicates are not looked for.
    ///
    /// # Errors
    /// Those of `lines`, and as [`Memory::commit`](crate::Memory::commit); what earlier batches stored stays.
    pub fn remember_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
    ) -> Result<LinesRemembered> {
        self.follow_lines(lines, options, writer, |_| ())
    }

    /// As [`Self::remember_lines`]; `told` hears of each batch before its commit is made, and again once it is in.
    pub(crate) fn follow_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
        mut told: impl FnMut(&LinesBatch<'_>),
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
            let mut batch = Batch::new(self, writer, &answer)?;
            let mut left = options.batch_lines.max(1);
            while left > 0 {
                let read = read_some(&mut lines, left)?;
                if read.is_empty() {
                    batch.end(&mut answer, &mut told)?;
                    return Ok(answer);
                }
                left -= read.len();
                for looked in self.look_at(&read, options, processors()) {
                    batch.take(looked, &mut answer)?;
                }
            }
            batch.end(&mut answer, &mut told)?;
        }
    }

    /// Reads and reviews lines, on so many threads.
    fn look_at(&self, lines: &[Line], options: &LinesOptions, threads: usize) -> Vec<Looked> {
        if threads < 2 || lines.len() < 2 * THREAD_LINES_MIN {
            return lines.iter().map(|line| self.look(line, options)).collect();
        }
        let (here, there) = lines.split_at(lines.len() / 2);
        let (mut looked, more) = beside(
            || self.look_at(here, options, threads.div_ceil(2)),
            || self.look_at(there, options, threads / 2),
        );
        looked.extend(more);
        looked
    }

    fn look(&self, (line, bytes): &Line, options: &LinesOptions) -> Looked {
        let (item, unknown) = match line::item_of(bytes, options) {
            Ok((item, unknown)) => (Ok(item), unknown),
            Err(error) => (Err(error), Vec::new()),
        };
        let id = match &item {
            Ok(item) => item.id.as_ref().map(|id| id.as_str().to_owned()),
            Err(_) => line::id_of(bytes),
        };
        let reviewed = item.and_then(|item| self.reviewed(item));
        // What is told of a line names rules, and never the text that met them (RMB-1).
        let clean = |text: String| self.scanner().redact(&text).into_owned();
        let reviewed = reviewed.map_err(|error| {
            let message = clean(error.message().to_owned());
            if message == error.message() {
                error
            } else {
                error.reworded(message)
            }
        });
        Looked {
            line: *line,
            id: id.filter(|id| self.refuse_secret("the id", id).is_ok()),
            unknown: unknown.into_iter().map(clean).collect(),
            reviewed,
        }
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

/// The lines of one commit.
struct Batch<'a> {
    agent: &'a Agent,
    writer: &'a Writer,
    intake: Intake<'a>,
    /// What the scan holds back, and the rules that it met.
    held: Vec<(Id, NewItem)>,
    rules: Vec<&'static str>,
    /// How many lines were refused before it, and how many flagged.
    refused_before: usize,
    flagged_before: u64,
}

impl<'a> Batch<'a> {
    fn new(agent: &'a Agent, writer: &'a Writer, before: &LinesRemembered) -> Result<Self> {
        Ok(Self {
            agent,
            writer,
            intake: Intake::new(agent, writer)?,
            held: Vec::new(),
            rules: Vec::new(),
            refused_before: before.refused.len(),
            flagged_before: before.flagged,
        })
    }

    /// Stages a line, or says why not.
    fn take(&mut self, looked: Looked, answer: &mut LinesRemembered) -> Result<()> {
        let Looked {
            line,
            id,
            unknown,
            reviewed,
        } = looked;
        for name in unknown {
            if answer.unknown.len() < UNKNOWN_MAX {
                answer.unknown.insert(name);
            }
        }
        let mut refuse = |verdict: &'static str, reason: String| {
            let id = id.clone();
            answer.refused.push(RefusedLine {
                line,
                id,
                verdict,
                reason,
            });
        };
        let reviewed = match reviewed {
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
        match self.stage(reviewed) {
            Ok(Done::Held) => refuse(Verdict::Quarantine.name(), reason),
            Ok(Done::Staged(Staged::Unchanged)) => answer.unchanged += 1,
            Ok(Done::Said) => {
                answer.unchanged += 1;
                answer.duplicates += 1;
            }
            Ok(Done::Staged(_)) => {
                answer.stored += 1;
                answer.flagged += u64::from(verdict == Verdict::Flag);
            }
            Err(error) => refuse(verdict_of(&error)?, error.message().to_owned()),
        }
        Ok(())
    }

    fn stage(&mut self, reviewed: Reviewed) -> Result<Done> {
        let Reviewed { item, verdict, .. } = &reviewed;
        let (is_named, is_held) = (item.id.is_some(), *verdict == Verdict::Quarantine);
        let id = self.intake.id_of(item, None)?;
        let present = if is_named {
            self.intake.check_replaced(&id, item)?
        } else {
            // An id that was made is new.
            None
        };
        if is_held {
            let id = self.intake.held_id(item)?;
            self.intake.check_replaced(&id, item)?;
            for rule in reviewed.rules() {
                if !self.rules.contains(&rule) {
                    self.rules.push(rule);
                }
            }
            self.held.push((id, reviewed.item));
            return Ok(Done::Held);
        }
        self.intake.check_superseded(&id, item)?;
        let print = print_of(item);
        if !is_named && let Some(said) = self.intake.said_by(item, print)? {
            return Ok(match self.intake.restate(&said, item)? {
                Staged::Unchanged => Done::Said,
                restated => Done::Staged(restated),
            });
        }
        Ok(Done::Staged(self.intake.put(
            id,
            reviewed.item,
            present.as_ref(),
            print,
        )?))
    }

    /// Commits what is staged, and keeps what is held back.
    fn end(self, answer: &mut LinesRemembered, told: &mut impl FnMut(&LinesBatch<'_>)) -> Result<()> {
        let mut batch = LinesBatch {
            refused: &answer.refused[self.refused_before..],
            flagged: answer.flagged - self.flagged_before,
            held: None,
            commit: None,
        };
        told(&batch);
        let committed = self.intake.commit()?;
        answer.commit = committed.commit.clone();
        let held = hold(self.agent, self.writer, self.held, &self.rules);
        if committed.changed || held.is_ok() {
            batch.held = held.as_ref().ok().and_then(Option::as_deref);
            batch.commit = Some(&answer.commit);
            told(&batch);
        }
        let held = held.map_err(|error| not_held(&committed, error))?;
        answer.held.extend(held);
        Ok(())
    }
}

/// Keeps what is held back for a person, and answers under which name.
fn hold(
    agent: &Agent,
    writer: &Writer,
    items: Vec<(Id, NewItem)>,
    rules: &[&'static str],
) -> Result<Option<String>> {
    if items.is_empty() {
        return Ok(None);
    }
    let mut draft = agent.draft(writer)?;
    for (id, item) in items {
        draft.put(item.into_object(id)?)?;
    }
    let reason = format!("the scan found {}", rules.join(", "));
    agent.memory().quarantine(&draft, &reason)
}

/// What became of a line.
enum Done {
    Staged(Staged),
    /// Another item says it.
    Said,
    /// It waits for a person.
    Held,
}

/// What is said of a line that was refused; what is wrong with the store is an error of the whole.
fn verdict_of(error: &Error) -> Result<&'static str> {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::Conflict => Ok("invalid"),
        ErrorKind::Denied => Ok("denied"),
        _ => Err(error.again()),
    }
}
