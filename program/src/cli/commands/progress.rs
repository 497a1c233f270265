//! Tracks lines that are committed in batches, to report which lines are stored when a batch fails.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-8: after a failed batch, the message names the lines to send again. Sending them stores all of the input
//!   exactly once.

use crate::cli::agent_context::first_names;
use crate::cli::context::Context;
use crate::cli::human::counted;
use treering::{Error, ErrorCode, Result};

/// The number of refused lines in the output for people.
pub(super) const REFUSED_SHOWN: usize = 20;

/// The progress of an input: the lines stored so far, and the current batch.
#[derive(Default)]
pub(super) struct BatchProgress {
    /// The outcome of the lines in stored batches.
    kept: Tally,
    /// The largest line number up to which all lines are stored or refused. 0 before the first such line.
    done: u64,
    /// The commit of the newest stored batch.
    seq: Option<u64>,
    /// The names under which quarantined lines are stored.
    held: Vec<String>,
    /// The batch that is being read or committed.
    batch: Tally,
    /// The number of the last line of the batch.
    last: u64,
    /// Whether the input ends with the batch. If not, the input may contain more lines.
    has_ended: bool,
}

/// The outcome of storing a group of lines.
#[derive(Clone, Default)]
struct Tally {
    /// The number of lines that are stored or were already present. For an uncommitted batch, the number of all its
    /// lines.
    count: u64,
    /// The number of lines, among the lines of `count`, that the scan flagged.
    flagged: u64,
    /// The lines that are not stored: their numbers and the reasons.
    refused: Vec<(u64, String)>,
}

impl BatchProgress {
    /// Starts a batch of `count` lines that ends at line `last`.
    pub(super) fn begin(&mut self, count: usize, last: u64, is_last: bool) {
        self.batch = Tally {
            count: count as u64,
            ..Tally::default()
        };
        self.last = last;
        self.has_ended |= is_last;
    }

    /// Records the number of flagged lines in the batch, and the refused lines with their reasons.
    pub(super) fn stage(&mut self, flagged: u64, refused: impl Iterator<Item = (u64, String)>) {
        // A retry stages the whole batch again, so the new values replace the old values.
        (self.batch.flagged, self.batch.refused) = (flagged, refused.collect());
    }

    /// Records the batch as stored, except the lines `waiting`, which belong to the next batch.
    pub(super) fn end(&mut self, seq: Option<u64>, waiting: impl ExactSizeIterator<Item = u64>) {
        let tally = std::mem::take(&mut self.batch);
        let left = waiting.len() + tally.refused.len();
        self.kept.count += tally.count.saturating_sub(left as u64);
        self.kept.flagged += tally.flagged;
        self.kept.refused.extend(tally.refused);
        let last = waiting.min().map_or(self.last, |first| first - 1);
        self.done = last.max(self.done);
        self.seq = seq.or(self.seq);
    }

    /// Records the names under which the batch's quarantined lines are stored.
    pub(super) fn hold(&mut self, held: &[String]) {
        self.held.extend_from_slice(held);
    }

    /// Records the result of reading a line. For a verb that does not call [`Self::begin`].
    pub(super) fn follow(&mut self, read: &Result<Option<(u64, &[u8])>>) {
        match read {
            Ok(Some((number, _))) => {
                self.batch.count += 1;
                self.last = *number;
            }
            Ok(None) => self.has_ended = true,
            // An unreadable line drops its whole batch.
            Err(_) => self.batch = Tally::default(),
        }
    }

    /// Adds a hint about the stored lines to the error of a batch. If the failed batch certainly stored no line, prints
    /// a note about the stored lines instead. Further notes list the refused lines, which the user must not send again.
    pub(super) fn failed(&mut self, context: &mut Context, error: Error) -> Error {
        let has_batch = self.batch.count > 0;
        let hint = if let Some(rest) = error.rest_of_change() {
            if has_batch {
                self.end(None, std::iter::empty());
            }
            self.done(rest)
        } else if has_batch && error.code() == ErrorCode::OutcomeUnknown {
            // The refused lines are not part of the commit, so they are missing even if the batch is stored.
            self.kept.refused.append(&mut self.batch.refused);
            self.unknown()
        } else {
            self.note_kept(context);
            None
        };
        self.note_refused(context);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    /// Prints a note about the stored batches before the failed batch.
    fn note_kept(&self, context: &mut Context) {
        if self.done == 0 {
            return;
        }
        let seq = self.seq.map(|seq| format!(", up to seq {seq}"));
        let seq = seq.unwrap_or_default();
        let before = match self.kept.count {
            0 => self.before(),
            _ => format!("the earlier batches are stored: {}{seq}", self.lines("")),
        };
        let text = format!("{before}; send line {} and all later lines again", self.done + 1);
        context.output.note("kept", text);
    }

    /// Prints notes about the refused and the quarantined lines.
    fn note_refused(&self, context: &mut Context) {
        let refused = &self.kept.refused;
        let most = context.output.shown_of(refused.len(), REFUSED_SHOWN);
        for (line, why) in refused.iter().take(most) {
            let text = format!("line {line} is not stored: {why}");
            context.output.note("not_stored", text);
        }
        if let Some((last, _)) = refused.get(most..).and_then(<[_]>::last) {
            let more = counted((refused.len() - most) as u64, "line");
            let text =
                format!("and {more} more, up to line {last}, are not stored; --json lists all such lines");
            context.output.note("not_stored", text);
        }
        if !self.held.is_empty() {
            let text = format!(
                "quarantined as {} for a person to review",
                first_names(&self.held)
            );
            context.output.note("quarantined", text);
        }
    }

    /// Formats the number of stored lines. `of` follows the number, such as ` of the input`.
    fn lines(&self, of: &str) -> String {
        let Tally { count, flagged, .. } = self.kept;
        let flagged = match flagged {
            0 => String::new(),
            flagged => format!(" ({flagged} flagged)"),
        };
        format!("{}{of}{flagged}", counted(count, "line"))
    }

    /// Returns a hint about the stored lines if the input has unsent lines. `rest` is the text of
    /// [`Error::rest_of_change`].
    fn done(&self, rest: &str) -> Option<String> {
        // If no line is stored or refused, the committed change in the error contains no line of this input.
        let has_rest = self.done > 0 && !self.has_ended;
        has_rest.then(|| format!("{}{}; {rest}", self.before(), self.more_from(self.done + 1)))
    }

    /// Returns a hint for a batch with an unknown outcome. Returns `None` if the batch is the whole input, because then
    /// the hint of the error suffices.
    fn unknown(&self) -> Option<String> {
        let (from, last) = (self.done + 1, self.last);
        let which = match from {
            1 if self.has_ended => return None,
            1 => String::new(),
            _ => format!("{}; ", self.before()),
        };
        let after = self.more_from(last + 1);
        Some(format!(
            "{which}lines {from} to {last} are either all stored or all missing: \
             the next write decides. After that write, check `treering log` before you send these lines again{after}"
        ))
    }

    /// Returns the instruction to send the lines from number `line` on, or an empty text if the input has ended.
    fn more_from(&self, line: u64) -> String {
        if self.has_ended {
            return String::new();
        }
        format!("; if the input has more lines, send line {line} and all later lines again")
    }

    /// Describes the stored lines up to [`Self::done`].
    fn before(&self) -> String {
        match self.kept.count {
            0 => format!(
                "the lines before line {} were refused: do not send them again",
                self.done + 1
            ),
            _ => format!(
                "{} are stored: do not send them again",
                self.lines(" of the input")
            ),
        }
    }
}
