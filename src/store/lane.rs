//! Finds the commit that a lane may undo, and the commit that the lane may redo.
//!
//! # Layer
//! Layer 4.

use std::collections::HashSet;
use std::sync::Arc;

use crate::digest::CommitDigest;
use crate::error::Result;
use crate::object::Op;

use super::base::lane_number;
use super::commits::CommitEntry;
use super::rows::Rows as _;
use super::{Below, Store};

impl Store {
    /// Iterates the kept commits of a lane of this line, newest first. Omits the commit that created the store, and those up
    /// to the base of a fork.
    fn of_lane<'a>(&'a self, lane: &'a str) -> impl Iterator<Item = Result<Arc<CommitEntry>>> + 'a {
        let number = lane_number(lane);
        let commit_at = move |index| {
            // The row in the checkpoint shows that the commit belongs to another lane. Skips the commit without reading
            // it.
            if let Some(below) = self.rows().filter(|below| index < below.len())
                && !below.may_be_of_lane(index, number)?
            {
                return Ok(None);
            }
            let entry = self.commit_at(index)?;
            Ok(entry.filter(|entry| entry.commit.lane() == lane && entry.commit.op.as_str() != Op::INIT))
        };
        let first = match &self.below {
            Below::Line(up_to) => up_to.len(),
            _ => 0,
        };
        (first..self.kept())
            .rev()
            .filter_map(move |index| commit_at(index).transpose())
    }

    /// Returns the newest commit of the lane that is not an undo or redo, and was not undone. Skips erasures, because
    /// undo cannot restore erased content.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn to_undo(&self, lane: &str) -> Result<Option<Arc<CommitEntry>>> {
        // The loop visits newer commits first, so it sees an undo or redo before the commit that was undone or redone.
        let (mut undone, mut redone) = (HashSet::new(), HashSet::new());
        for entry in self.of_lane(lane) {
            let entry = entry?;
            match (entry.commit.op.as_str(), entry.commit.target) {
                (Op::UNDO, Some(target)) if !redone.remove(&target) => drop(undone.insert(target)),
                (Op::REDO, Some(target)) => drop(redone.insert(target)),
                (Op::UNDO, Some(_)) | (Op::ERASE, _) => {}
                _ if undone.contains(&entry.digest) => {}
                _ => return Ok(Some(entry)),
            }
        }
        Ok(None)
    }

    /// Returns the lane's newest undo that was not redone, and the commit that it reversed. Returns `None` if the lane has
    /// made another change since.
    ///
    /// # Errors
    /// The errors of [`Self::commit_at`].
    pub(crate) fn to_redo(&self, lane: &str) -> Result<Option<[Arc<CommitEntry>; 2]>> {
        let mut redone: HashSet<CommitDigest> = HashSet::new();
        for entry in self.of_lane(lane) {
            let entry = entry?;
            match (entry.commit.op.as_str(), entry.commit.target) {
                (Op::UNDO, Some(target)) if !redone.remove(&target) => {
                    return Ok(self.by_digest(target)?.map(|target| [entry, target]));
                }
                (Op::REDO, Some(target)) => drop(redone.insert(target)),
                (Op::UNDO, Some(_)) => {}
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}
