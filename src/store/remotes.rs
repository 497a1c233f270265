//! What came from remotes: the lines that have it.
//!
//! # Layer
//! Layer 4.

use std::sync::Arc;

#[cfg(feature = "remote")]
use super::lines::LineInfo;
use super::lines::REMOTE;
use super::{CommitEntry, Store};
#[cfg(feature = "remote")]
use crate::digest::CommitDigest;
use crate::error::{Error, Result};
use crate::object::Op;
#[cfg(feature = "remote")]
use crate::object::Origin;

/// Returns whether what came with this cap erases here: only a person and a host may (RML-4).
#[cfg(feature = "remote")]
pub(crate) fn may_erase(cap: Origin) -> bool {
    !Origin::Host.is_above(cap)
}

impl Store {
    /// Returns the live line that has a commit in this batch; `None` if none has.
    #[cfg(feature = "remote")]
    pub(super) fn line_of_batch(&self, batch: u64) -> Option<LineInfo> {
        let lines = self.lines();
        lines.live().find(|line| line.has_batch(batch)).cloned()
    }

    /// Returns whether the store has erased what the commit `by` erased: the commit is on the main line, or on a line that may
    /// erase here.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a line cannot be read.
    #[cfg(feature = "remote")]
    pub(crate) fn has_erased(self: &Arc<Self>, by: CommitDigest) -> Result<bool> {
        let found = self.commit_of_any(by)?;
        let lines = self.lines();
        Ok(found.is_some_and(|(line, _)| {
            let own = line.own.as_ref().and_then(|own| lines.of_batch(own.first_batch));
            own.is_none_or(|line| may_erase(line.cap))
        }))
    }

    /// Returns the commits of remotes that erased something here and were fetched behind batch `after`, each with the store of
    /// its line. Leaves out the lines whose name begins with `except`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a line cannot be read.
    #[cfg(feature = "remote")]
    pub(crate) fn erasers_of_remotes(
        self: &Arc<Self>,
        except: &str,
        after: u64,
    ) -> Result<Vec<(Arc<Self>, Arc<CommitEntry>)>> {
        let is_other = |line: &&LineInfo| {
            line.name.starts_with(REMOTE) && !line.name.starts_with(except) && may_erase(line.cap)
        };
        let is_new = |line: &&LineInfo| line.batches.last().is_some_and(|(batch, _)| *batch > after);
        let names: Vec<_> = {
            let lines = self.lines();
            let others = lines.live().filter(is_other).filter(is_new);
            others.map(|line| Arc::clone(&line.name)).collect()
        };
        let mut found = Vec::new();
        for name in names {
            let Some(line) = self.line(&name)? else { continue };
            let commits = line.own_commits().into_iter();
            let erasers =
                commits.filter(|commit| commit.batch > after && commit.commit.op.as_str() == Op::ERASE);
            found.extend(erasers.map(|eraser| (Arc::clone(&line), eraser)));
        }
        Ok(found)
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
