//! What came from remotes: the lines that have it.
//!
//! # Layer
//! Layer 4.

use super::Store;
#[cfg(feature = "remote")]
use super::lines::LineInfo;
use super::lines::REMOTE;
use crate::error::{Error, Result};

impl Store {
    /// Returns the live line that has a commit in this batch; `None` if none has.
    #[cfg(feature = "remote")]
    pub(super) fn line_of_batch(&self, batch: u64) -> Option<LineInfo> {
        let lines = self.lines();
        let has = |line: &&LineInfo| {
            let batches = &line.batches;
            batches.binary_search_by_key(&batch, |(batch, _)| *batch).is_ok()
        };
        lines.live().find(has).cloned()
    }

    /// Returns an error if this is the store of a line of a remote: the write policy sees what `pull` merges, but no state
    /// that is taken over whole.
    ///
    /// # Errors
    /// `InvalidInput`.
    pub(crate) fn check_not_of_remote(&self) -> Result<()> {
        match self.line_name().filter(|name| name.starts_with(REMOTE)) {
            None => Ok(()),
            Some(name) => {
                let text = format!("the state of {name} is not taken over as it is");
                Err(Error::invalid(text)
                    .with_hint("`pull` merges it, and the write policy reviews what it brings"))
            }
        }
    }
}
