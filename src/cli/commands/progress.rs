//! Progress of lines that are committed in batches: which of them are stored when a batch fails.
//!
//! # Layer
//! L10, part of cli.
//!
//! # Invariants
//! - CLI-8: after a failed batch, sending the named lines again stores all of the input exactly once.

use std::fs;
use std::path::Path;

use super::input::Lines;
use crate::cli::context::Context;
use crate::cli::human::counted;
#[cfg(feature = "agent")]
use crate::error::Result;
use crate::error::{Error, ErrorCode};

/// Refused lines that people see.
pub(super) const REFUSED_SHOWN: usize = 20;

/// How many lines of an input are stored.
pub(super) struct BatchProgress {
    /// The lines that are stored.
    kept: Tally,
    /// The number of the first that is not, nor was refused.
    from: u64,
    /// The commit of the newest batch that is in.
    seq: Option<u64>,
    /// The names of quarantined lines.
    held: Vec<String>,
    /// The batch that is read or committed.
    batch: Sending,
    rest: Rest,
}

/// The outcome of lines.
#[derive(Clone, Default)]
struct Tally {
    /// How many are stored, or were there; of a batch that is not in, how many there are.
    count: u64,
    /// How many of those the scan flagged.
    flagged: u64,
    /// Those that are not stored: their numbers, and why.
    refused: Vec<(u64, String)>,
}

/// The lines of a batch.
#[derive(Default)]
struct Sending {
    tally: Tally,
    /// The number of the last.
    last: u64,
}

/// Whether the input has lines behind the batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Ended,
    More,
    Unknown,
}

impl BatchProgress {
    pub(super) fn new() -> Self {
        Self {
            kept: Tally::default(),
            from: 1,
            seq: None,
            held: Vec::new(),
            batch: Sending::default(),
            rest: Rest::Unknown,
        }
    }

    /// A batch of `count` lines up to the number `last` is about to be committed.
    pub(super) fn begin(&mut self, count: usize, last: u64, is_last: bool) {
        self.batch = Sending {
            tally: Tally {
                count: count as u64,
                ..Tally::default()
            },
            last,
        };
        if is_last {
            self.rest = Rest::Ended;
        }
    }

    /// The batch has so many lines that the scan flagged, and these that are not stored, with why.
    #[cfg(feature = "agent")]
    pub(super) fn stage(&mut self, flagged: u64, refused: impl Iterator<Item = (u64, String)>) {
        let tally = &mut self.batch.tally;
        // A retry repeats the whole batch.
        (tally.flagged, tally.refused) = (flagged, refused.collect());
    }

    /// The batch is in, but for the lines `waiting`, which go with the next one.
    pub(super) fn end(&mut self, seq: Option<u64>, waiting: impl ExactSizeIterator<Item = u64>) {
        let Sending { tally, last } = std::mem::take(&mut self.batch);
        let left = waiting.len() + tally.refused.len();
        self.kept.count += tally.count.saturating_sub(left as u64);
        self.kept.flagged += tally.flagged;
        self.kept.refused.extend(tally.refused);
        self.from = waiting.min().unwrap_or(last + 1).max(self.from);
        self.seq = seq.or(self.seq);
    }

    /// A person finds under this name what was held back of the batch.
    #[cfg(feature = "agent")]
    pub(super) fn hold(&mut self, held: Option<&str>) {
        self.held.extend(held.map(str::to_owned));
    }

    /// Follows somebody else who reads the lines of a batch one by one.
    #[cfg(feature = "agent")]
    pub(super) fn follow(&mut self, read: &Result<Option<(u64, &[u8])>>) {
        match read {
            Ok(Some((number, _))) => {
                self.batch.tally.count += 1;
                self.batch.last = *number;
            }
            Ok(None) => self.rest = Rest::Ended,
            // Nothing is kept of a batch that cannot be read.
            Err(_) => self.batch = Sending::default(),
        }
    }

    /// The error with what of the input is in; where that is known, and nothing of the batch is, a note says so. Other notes
    /// name the lines that are not stored and must not be sent again.
    pub(super) fn failed(
        mut self,
        context: &mut Context,
        error: Error,
        (file, lines): (&Path, &mut Lines<'_>),
    ) -> Error {
        let has_batch = self.batch.tally.count > 0;
        let hint = if let Some(rest) = error.rest_of_change() {
            if has_batch {
                self.end(None, std::iter::empty());
            }
            self.look_for_more(file, lines);
            self.done(rest)
        } else if has_batch && error.code() == ErrorCode::OutcomeUnknown {
            self.look_for_more(file, lines);
            // Stored or not, the batch is without them.
            self.kept.refused.append(&mut self.batch.tally.refused);
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

    /// Checks whether a file has more lines. A pipe is not read: that could wait for its writer.
    fn look_for_more(&mut self, file: &Path, lines: &mut Lines<'_>) {
        let is_input = file == Path::new("-");
        let path = if is_input { Path::new("/dev/stdin") } else { file };
        let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        if self.rest == Rest::Unknown && is_file {
            self.rest = match lines.next_bytes() {
                Ok(Some(_)) => Rest::More,
                Ok(None) => Rest::Ended,
                Err(_) => Rest::Unknown,
            };
        }
    }

    /// Says what is in of the batches before the one that is not.
    fn note_kept(&self, context: &mut Context) {
        if self.from == 1 {
            return;
        }
        let seq = self
            .seq
            .map_or_else(String::new, |seq| format!(", up to seq {seq}"));
        let before = match self.kept.count {
            0 => self.before(),
            _ => format!("kept the batches before it: {}{seq}", self.lines("")),
        };
        let text = format!("{before}; send the lines from {} on again", self.from);
        context.output.note("kept", text);
    }

    /// Names the lines that are not stored.
    fn note_refused(&self, context: &mut Context) {
        let refused = &self.kept.refused;
        let most = context.output.shown_of(refused.len(), REFUSED_SHOWN);
        for (line, why) in refused.iter().take(most) {
            context
                .output
                .note("not_stored", format!("line {line} is not stored: {why}"));
        }
        if let Some((last, _)) = refused.get(most..).and_then(<[_]>::last) {
            let more = counted((refused.len() - most) as u64, "line");
            let text = format!("and {more} more, up to line {last}; --json names them all");
            context.output.note("not_stored", text);
        }
        if !self.held.is_empty() {
            let text = format!("kept as {} for a person to look at", self.held.join(", "));
            context.output.note("quarantined", text);
        }
    }

    /// How many lines are in, `of` what.
    fn lines(&self, of: &str) -> String {
        let Tally { count, flagged, .. } = self.kept;
        let flagged = match flagged {
            0 => String::new(),
            flagged => format!(" ({flagged} flagged)"),
        };
        format!("{}{of}{flagged}", counted(count, "line"))
    }

    /// What is done, where that is not all of the input: `rest` is to come of it.
    fn done(&self, rest: &str) -> Option<String> {
        let which = match self.rest {
            // It is of something else if no line is in.
            _ if self.from == 1 => return None,
            Rest::Ended => return None,
            Rest::More => "the rest is not",
            Rest::Unknown => "the rest, if there is more, is not",
        };
        let (before, from) = (self.before(), self.from);
        Some(format!(
            "{before}; {which}: send the lines from {from} on again; {rest}"
        ))
    }

    /// The advice where the batch may be stored or not.
    /// Nothing more than the error says itself where that is all of the input.
    fn unknown(&self) -> Option<String> {
        let (from, last) = (self.from, self.batch.last);
        let which = match (self.from, self.rest) {
            (1, Rest::Ended) => return None,
            (1, _) => format!("the lines from 1 to {last} are in, or none of them"),
            _ => format!(
                "{}; those from {from} to {last} are in too, or none of them",
                self.before()
            ),
        };
        let after = match self.rest {
            Rest::Ended => String::new(),
            Rest::More => format!("; the rest is not in: send the lines from {} on again", last + 1),
            Rest::Unknown => format!(
                "; the rest, if there is more, is not in: send the lines from {} on again",
                last + 1
            ),
        };
        Some(format!(
            "{which}: the next write settles it, so look at `treering log` after one before you send those again{after}"
        ))
    }

    /// The stored lines before [`Self::from`].
    fn before(&self) -> String {
        match self.kept.count {
            0 => format!(
                "none of the lines before line {} is stored, and none is to be sent again",
                self.from
            ),
            _ => format!("{} are in: do not send them again", self.lines(" of the input")),
        }
    }
}
