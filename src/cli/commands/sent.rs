//! Lines that are committed in batches: which of them are in when a batch fails.
//!
//! # Layer
//! L9, part of cli.
//!
//! # Invariants
//! - CLI-8: who sends again the lines that an error names has all of the input in the store, and nothing is dropped.

use crate::cli::context::Context;
use crate::cli::human::counted;
#[cfg(feature = "agent")]
use crate::error::Result;
use crate::error::{Error, OUTCOME_UNKNOWN};

/// How far the lines of an input are in.
pub(super) struct SentLines {
    /// How many are in.
    kept: u64,
    /// The number of the first that is not.
    from: u64,
    /// The commit of the newest batch that is in.
    seq: Option<u64>,
    /// The batch that is read or committed.
    batch: Sending,
    /// Whether the input ended.
    has_ended: bool,
}

/// The lines of a batch.
#[derive(Clone, Copy, Default)]
struct Sending {
    count: u64,
    /// The number of the last.
    last: u64,
}

impl SentLines {
    pub(super) fn new() -> Self {
        Self {
            kept: 0,
            from: 1,
            seq: None,
            batch: Sending::default(),
            has_ended: false,
        }
    }

    /// A batch of `count` lines up to the number `last` is about to be committed.
    pub(super) fn begin(&mut self, count: usize, last: u64, is_last: bool) {
        self.batch = Sending {
            count: count as u64,
            last,
        };
        self.has_ended = is_last;
    }

    /// The batch is in, but for the lines `waiting`, which go with the next one.
    pub(super) fn end(&mut self, seq: Option<u64>, waiting: impl ExactSizeIterator<Item = u64>) {
        let Sending { count, last } = std::mem::take(&mut self.batch);
        self.kept += count.saturating_sub(waiting.len() as u64);
        self.from = waiting.min().unwrap_or(last + 1).max(self.from);
        self.seq = seq.or(self.seq);
    }

    /// Follows somebody else who reads line by line and commits `size` of them at a time.
    #[cfg(feature = "agent")]
    pub(super) fn follow(&mut self, size: u64, read: &Result<Option<(u64, &[u8])>>) {
        // Who asks for another line is through with the batch before.
        if self.batch.count == size {
            self.end(None, std::iter::empty());
        }
        match read {
            Ok(Some((number, _))) => {
                self.batch.count += 1;
                self.batch.last = *number;
            }
            Ok(None) => self.has_ended = true,
            // Nothing is kept of a batch that cannot be read.
            Err(_) => self.batch = Sending::default(),
        }
    }

    /// The error with what of the input is in; where that is known, and nothing of the batch is, a note says so.
    pub(super) fn failed(&mut self, context: &mut Context, error: Error) -> Error {
        let Sending { count, last } = self.batch;
        if count > 0 && error.rest_of_change().is_some() {
            self.end(None, std::iter::empty());
        } else if count > 0 && error.code() == OUTCOME_UNKNOWN {
            let hint = self.unknown(last);
            return match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            };
        }
        let (lines, from) = (counted(self.kept, "line"), self.from);
        match error.rest_of_change() {
            Some(_) if self.has_ended => error,
            Some(rest) => error.with_hint(format!(
                "{lines} of the input are in: do not send them again; the rest, if there is more, is not: send the lines from {from} \
                 on again; {rest}"
            )),
            None => {
                if self.kept > 0 {
                    let seq = self.seq.map_or_else(String::new, |seq| format!(", up to seq {seq}"));
                    let told = format!(
                        "kept the batches before it: {lines}{seq}; send the lines from {from} on again"
                    );
                    context.output.note("kept", told);
                }
                error
            }
        }
    }

    /// What to do where the batch that ends with line `last` may be in or not.
    /// Nothing more than the error says itself where that is all of the input.
    fn unknown(&self, last: u64) -> Option<String> {
        let Self { kept, from, .. } = *self;
        if kept == 0 && self.has_ended {
            return None;
        }
        let lines = counted(kept, "line");
        let after = if self.has_ended {
            String::new()
        } else {
            format!("; the rest is not in: send the lines from {} on again", last + 1)
        };
        Some(format!(
            "{lines} of the input are in: do not send them again; those from {from} to {last} are in too, or none of them: the \
             next write settles it, so look at `treering log` after one before you send those again{after}"
        ))
    }
}
