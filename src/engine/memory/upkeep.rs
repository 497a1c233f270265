//! Upkeep of a store: garbage collection, erasure, verification, inspection and salvage.
//!
//! # Layer
//! L5.

use super::Memory;
use crate::engine::read::inspect::{self, CheckpointInfo};
use crate::engine::upkeep::salvage;
use crate::log::Inspection;
use crate::store::SalvageReport;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, FileDisk};
use crate::engine::options::Options;
use crate::engine::upkeep::erase::{ErasedReport, Erasing};
use crate::engine::upkeep::gc::GcReport;
use crate::engine::upkeep::retention::Retention;
use crate::engine::upkeep::verify::{VerifyDepth, VerifyReport, examine};
use crate::engine::write::writer::Writer;
use crate::error::Result;
use crate::object::Time;

impl Memory {
    /// Thins history as `retention` says and frees the space of records that no kept commit needs. Others may read and
    /// write meanwhile. Views that are held stay readable. What was refused more than 7 days ago goes too.
    ///
    /// `now` is the moment that ages are judged at: the clock's if `None`, but never more than a day after the newest
    /// commit, so that a clock that is off cannot thin what is young.
    ///
    /// # Errors
    /// `Busy` if another process collects or the lock is not to be had; `Corrupt` if something that is kept is damaged:
    /// nothing is changed then; `Io`, `Poisoned`.
    ///
    /// # Durability
    /// After a crash the log is the old one or the new one, whole.
    pub fn gc(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.gc(retention, now)
    }

    /// As [`Self::gc`], with what somebody else does in between done once the choice is made.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn gc_beside(
        &self,
        retention: &Retention,
        beside: &dyn Fn() -> Result<()>,
    ) -> Result<GcReport> {
        self.inner.gc_beside(retention, beside)
    }

    /// The preview of [`Self::gc`]. Changes nothing.
    ///
    /// # Errors
    /// As [`Self::gc`].
    pub fn gc_preview(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.gc_preview(retention, now)
    }

    /// Erases: what `erasing` names is gone from every file of the store when this returns, and past states have
    /// placeholders in its place. An id that is in the state leaves it. The commit, and its digest in each placeholder,
    /// say who did it, when and why.
    ///
    /// What views of this process and other processes hold open of the old files stays readable for them until they let
    /// go.
    ///
    /// # Errors
    /// `NotFound` if there is nothing of that name, or it was erased before. `InvalidInput`, naming the ids concerned: an
    /// id has children; a version is current and its id was not given; others share a content, or name the id as the
    /// parent of an earlier version, without `everywhere`; a prefix fits several digests. `Denied` (code `less_trusted`): the
    /// writer is of an untrusted class. Else as [`Self::commit`].
    ///
    /// # Durability
    /// After a crash all of it is done, or nothing.
    pub fn erase(&self, erasing: &Erasing, writer: &Writer) -> Result<ErasedReport> {
        self.inner.erase_all(erasing, writer)
    }

    /// The preview of [`Self::erase`]. Changes nothing.
    ///
    /// # Errors
    /// As [`Self::erase`].
    pub fn erase_preview(&self, erasing: &Erasing) -> Result<ErasedReport> {
        self.inner.erase_preview(erasing)
    }

    /// Reads the whole store again and checks it, also against what this handle has read before.
    ///
    /// # Errors
    /// `Io` if the store cannot be read at all; damage is in the report.
    pub fn verify(&self, depth: VerifyDepth) -> Result<VerifyReport> {
        // The files cannot be older than the head that this handle has read.
        let head = self.inner.store().head()?;
        if !self.inner.settings().read_only {
            self.sync()?;
        }
        let report = examine(
            &self.inner.opened().disk,
            self.inner.settings(),
            depth,
            Some(&head),
        )?;
        Ok(report)
    }

    /// Checks the store in the folder `path`, also one that does not open. Writes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no store, `UnsupportedFormat`, `Io`.
    pub(crate) fn verify_store(
        path: impl AsRef<Path>,
        options: &Options,
        depth: VerifyDepth,
    ) -> Result<VerifyReport> {
        let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(path)?);
        examine(&disk, &options.settings, depth, None)
    }

    /// The files of the store in the folder `path`, also of one that does not open. Nothing is read yet.
    ///
    /// # Errors
    /// `NotFound` if there is no such folder; `Io`.
    pub(crate) fn inspection(path: impl AsRef<Path>) -> Result<Inspection> {
        inspect::inspection(path)
    }

    /// The checkpoints of the store in the folder `path`, the newest first, also of one that does not open. Opening reads the
    /// first that can be used.
    ///
    /// # Errors
    /// `NotFound` if there is no such folder; `Io` if it cannot be listed.
    pub(crate) fn checkpoints_in(path: impl AsRef<Path>) -> Result<Vec<CheckpointInfo>> {
        inspect::checkpoints_in(path)
    }

    /// Reads the damaged store in the folder `from` and writes a new one, in the folder `to`, with everything that still
    /// verifies. `from` is not changed. Neither its manifest nor its format file is needed.
    ///
    /// Commits keep their digests where their state can still be told; what is left of the others is in a last commit,
    /// `salvage`. An id that a lost commit changed may have an earlier version there.
    ///
    /// # Errors
    /// `InvalidInput` (code `exists`) if there is something at `to`, or beside it something other than what an earlier
    /// salvage left under the name that the new store has until it is finished; `InvalidInput` if `to` is within `from` or ends with `.salvage`;
    /// `Busy` if another salvage is writing there; `NotFound` if there is no store at `from`; `Corrupt` if nothing can be
    /// had from it; `Io`. Nothing is at `to` then, or, if only making its name durable failed, the whole new store.
    ///
    /// # Durability
    /// After a crash the new store is there whole, or not at all.
    pub(crate) fn salvage_store(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
    ) -> Result<SalvageReport> {
        salvage::salvage_store(from, to, options)
    }
}
