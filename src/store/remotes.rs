//! What came from remotes: the lines that have it, and the class that it gets at most.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - RCP-1: the history of a clone with a cap counts as a line of a remote: its versions are at most of the class of the cap,
//!   also if their bytes name a more trusted one. The reference `pins/cloned:CLASS` names its newest commit.

use std::sync::Arc;

use super::Store;
use super::commits::CommitEntry;
use super::lines::{LineInfo, REMOTE};
use crate::error::{Error, Result};
use crate::log::Locator;
use crate::object::{Origin, ReferenceClass, ReferenceName};

/// The start of the name of the reference to the newest commit that a clone with a cap got, after its class.
const CLONED: &str = "cloned:";

/// Returns the name of the reference to the newest commit that a clone with this cap got (RCP-1).
///
/// # Errors
/// `Internal`, because the name of every class is valid.
pub(crate) fn clone_cap(cap: Origin) -> Result<ReferenceName> {
    ReferenceName::of(ReferenceClass::Pins, &format!("{CLONED}{}", cap.name()))
}

impl Store {
    /// Returns the line that has a commit in this batch; `None` for the main line.
    pub(super) fn line_of_batch(&self, batch: u64) -> Option<LineInfo> {
        let lines = self.lines();
        let has = |line: &&LineInfo| {
            let batches = &line.batches;
            batches.binary_search_by_key(&batch, |(batch, _)| *batch).is_ok()
        };
        lines.iter().find(has).cloned()
    }

    /// Returns the newest commit that this store got as a clone with a cap, and the cap; `None` if it is no such clone.
    fn cloned(&self) -> Result<Option<(Arc<CommitEntry>, Origin)>> {
        for cap in Origin::ALL {
            let commit = {
                let references = self.references();
                references
                    .get(&clone_cap(cap)?)
                    .and_then(|entry| entry.reference.commit)
            };
            if let Some(commit) = commit.map_or(Ok(None), |commit| self.by_digest(commit))? {
                return Ok(Some((commit, cap)));
            }
        }
        Ok(None)
    }

    /// Returns the most trusted class of a version whose record came from a remote; `None` if it did not.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the record cannot be read.
    pub(crate) fn cap_at(&self, place: Locator) -> Result<Option<Origin>> {
        let cloned = self.cloned()?;
        if cloned.is_none() && !self.has_lines() {
            return Ok(None);
        }
        let batch = self.records.batch_of(place.to_u64())?;
        // INVARIANT RCP-1
        if let Some((newest, cap)) = cloned
            && batch <= newest.batch
        {
            return Ok(Some(cap));
        }
        let line = self.line_of_batch(batch);
        Ok(line.filter(LineInfo::is_of_remote).map(|line| line.cap))
    }

    /// Returns the most trusted class of a version in the history of a clone with a cap; `None` for any other version.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the record cannot be read.
    pub(crate) fn cap_of_clone(&self, digest: crate::digest::ObjectDigest) -> Result<Option<Origin>> {
        let Some((newest, cap)) = self.cloned()? else {
            return Ok(None);
        };
        let place = self.records.find_place(digest)?;
        let batch = place
            .map(|place| self.records.batch_of(place.to_u64()))
            .transpose()?;
        Ok(batch.filter(|batch| *batch <= newest.batch).map(|_| cap))
    }

    /// Returns an error if the state of a commit of this store may have versions that are more trusted than the cap of the
    /// remote from which it came.
    ///
    /// # Errors
    /// `InvalidInput`.
    pub(crate) fn check_not_of_remote(&self, commit: &CommitEntry) -> Result<()> {
        let what = match self.line_name().filter(|name| name.starts_with(REMOTE)) {
            Some(name) => name.to_owned(),
            None => match self.cloned()? {
                Some((newest, cap)) if commit.seq() <= newest.seq() => {
                    let text = format!("the state of seq:{} is from before the clone", commit.seq());
                    let hint = format!(
                        "what came with the clone is at most {cap}: `restore` brings single objects back"
                    );
                    return Err(Error::invalid(text).with_hint(hint));
                }
                _ => return Ok(()),
            },
        };
        let text = format!("the state of {what} is not taken over as it is");
        Err(Error::invalid(text).with_hint("`pull` merges it, and caps the class of what it brings"))
    }
}
