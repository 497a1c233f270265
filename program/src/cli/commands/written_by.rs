//! The filter of `--actor`, `--session` and `--source` for the verbs that list by writer.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::nearest::nearest;
use treering::revert::Selection;

impl Context {
    /// Returns the filter that the user typed. The defaults of a shell select a lane, and filter nothing.
    pub(super) fn written_by(&self) -> Selection {
        let (lane, mut by) = (self.options.lane.clone(), Selection::default());
        by.actors.extend(lane.actor);
        by.sessions.extend(lane.session);
        by.sources.extend(self.options.source.clone());
        by
    }

    /// Writes the rows as [`Self::rows`] does. If the stream is empty, ends as [`Self::nothing_by`] does.
    pub(super) fn rows_by<R: Serialize>(
        &mut self,
        memory: &Memory,
        by: &Selection,
        rows: impl IntoIterator<Item = Result<R>>,
        columns: impl Fn(&R, &Self) -> Columns,
    ) -> Done {
        if self.write_rows(rows, columns)? == 0 {
            self.nothing_by(memory, by)?;
        }
        Ok(DONE)
    }

    /// Ends an empty answer with a note for people.
    ///
    /// # Errors
    /// `NotFound` if the store does not know a writer of the filter.
    pub(super) fn nothing_by(&mut self, memory: &Memory, by: &Selection) -> Result<()> {
        check_known(memory, by)?;
        self.output.nothing_found();
        Ok(())
    }
}

/// Fails if the store does not know a writer of the filter. Reads every commit, so callers check only an empty answer.
pub(super) fn check_known(memory: &Memory, by: &Selection) -> Result<()> {
    let Some(unknown) = by.unknown(memory)? else {
        return Ok(());
    };
    let what = unknown.what;
    let hint = match (unknown.other, nearest(&unknown.name, unknown.known)) {
        (Some(other), _) => format!("the name belongs to {other}s: use --{other}"),
        (None, Some(names)) => format!("the nearest names are {names}"),
        (None, None) => {
            format!("the {what}s of commits are in treering log --json; treering lanes lists the lanes")
        }
    };
    let name = cut(&one_line(&unknown.name), 100);
    Err(Error::not_found(format!("nothing was written by the {what} '{name}'")).with_hint(hint))
}
