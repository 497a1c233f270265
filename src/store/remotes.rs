//! What came from remotes: the lines that have it.
//!
//! # Layer
//! Layer 4.

use std::sync::Arc;

use super::lines::{LineInfo, REMOTE};
use super::{CommitEntry, Store};
use crate::digest::CommitDigest;
use crate::error::{Error, Result};
use crate::object::{Op, Origin};

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

    /// Returns whether what the commit `by` erased may be erased in other places, too (RML-4): a person or a host erased it, or a
    /// remote that may erase here. If the store no longer has the commit, nobody knows.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a line or the commit cannot be read.
    #[cfg(feature = "remote")]
    pub(crate) fn counts_as_eraser(self: &Arc<Self>, by: CommitDigest) -> Result<bool> {
        let Some((_, entry)) = self.commit_of_any(by)? else {
            return Ok(false);
        };
        Ok(self.has_erased(by)? && may_erase(self.records.cap_of_commit(&entry)?))
    }

    /// Returns the commits of remotes that erased something here and were fetched behind batch `after`. Leaves out those of the
    /// remote whose lines have names that begin with `except`, and those that it has, too.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a line cannot be read.
    #[cfg(feature = "remote")]
    pub(crate) fn erasers_of_remotes(
        self: &Arc<Self>,
        except: &str,
        after: u64,
    ) -> Result<Vec<Arc<CommitEntry>>> {
        let is_new = |line: &&LineInfo| line.batches.last().is_some_and(|(batch, _)| *batch > after);
        let (own, others): (Vec<_>, Vec<_>) = {
            let lines = self.lines();
            let all = lines.live().filter(|line| line.name.starts_with(REMOTE));
            all.cloned().partition(|line| line.name.starts_with(except))
        };
        let mut erasers = Vec::new();
        for line in others.iter().filter(is_new).filter(|line| may_erase(line.cap)) {
            let line = self.line_of(line.first_batch)?;
            let commits = line.own_commits().into_iter();
            let new = commits.filter(|commit| commit.batch > after && commit.commit.op.as_str() == Op::ERASE);
            erasers.extend(new);
        }
        for line in own {
            if erasers.is_empty() {
                break;
            }
            let has = self.line_of(line.first_batch)?.own_commits();
            erasers.retain(|eraser| has.iter().all(|own| own.digest != eraser.digest));
        }
        Ok(erasers)
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
