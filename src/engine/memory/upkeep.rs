//! Upkeep of a store: garbage collection, erasure, verification, inspection and salvage.
//!
//! # Layer
//! L5.

use super::Memory;
use crate::engine::read::inspect;
use crate::engine::upkeep::salvage;
use crate::log::Inspection;
use crate::store::{CheckpointInfo, SalvageReport};
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
    /// Thins history by `retention` and frees the space of records that no kept commit needs. Other processes may read
    /// and write meanwhile, and open views stay readable. Changes refused more than 7 days ago are deleted too.
    ///
    /// `now` is the time from which ages count; `None` means the clock's. It is limited to a day after the newest
    /// commit, so a wrong clock cannot thin young commits.
    ///
    /// # Errors
    /// `Busy` if another process collects or holds the lock. `Corrupt` if kept data is damaged; then nothing changes.
    /// `Io`, `Poisoned`.
    ///
    /// # Durability
    /// After a crash, the log is whole: the old one or the new one.
    pub fn gc(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.gc(retention, now)
    }

    /// As [`Self::gc`], with a hook that runs after the choice of commits, for concurrent work in tests.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn gc_beside(
        &self,
        retention: &Retention,
        beside: &dyn Fn() -> Result<()>,
    ) -> Result<GcReport> {
        self.inner.gc_beside(retention, beside)
    }

    /// Returns the preview of [`Self::gc`]. Changes nothing.
    ///
    /// # Errors
    /// As [`Self::gc`].
    pub fn gc_preview(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.gc_preview(retention, now)
    }

    /// Erases the records that `erasing` names from every file of the store before it returns; past states get
    /// placeholders. An id in the state is removed from it. The commit names the author, time and reason; its digest is
    /// in each placeholder.
    ///
    /// Views of this process and other processes that have the old files open can still read them until they close.
    ///
    /// # Errors
    /// `NotFound` if nothing has that name, or it was erased before. `InvalidInput`, naming the affected ids: an id has
    /// children; a version is current and its id was not given; without `everywhere`, other objects share a content, or
    /// earlier versions name the id as their parent; a prefix matches several digests. `Denied` (code `less_trusted`):
    /// the writer's class is untrusted. Else as [`Self::commit`].
    ///
    /// # Durability
    /// After a crash, the erasure is done completely or not at all.
    pub fn erase(&self, erasing: &Erasing, writer: &Writer) -> Result<ErasedReport> {
        self.inner.erase_all(erasing, writer)
    }

    /// Returns the preview of [`Self::erase`]. Changes nothing.
    ///
    /// # Errors
    /// As [`Self::erase`].
    pub fn erase_preview(&self, erasing: &Erasing) -> Result<ErasedReport> {
        self.inner.erase_preview(erasing)
    }

    /// Reads the whole store again and checks it, also against the part that this handle has read before.
    ///
    /// # Errors
    /// `Io` if the store cannot be read at all; damage is in the report.
    pub fn verify(&self, depth: VerifyDepth) -> Result<VerifyReport> {
        // The files must be at least as new as the head of this handle.
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

    /// Checks the store in the folder `path`, even if it does not open. Writes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no store; `UnsupportedFormat`; `Io`.
    pub(crate) fn verify_store(
        path: impl AsRef<Path>,
        options: &Options,
        depth: VerifyDepth,
    ) -> Result<VerifyReport> {
        let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(path)?);
        examine(&disk, &options.settings, depth, None)
    }

    /// Returns the files of the store in the folder `path`, even if it does not open. Reads no file yet.
    ///
    /// # Errors
    /// `NotFound` if there is no such folder; `Io`.
    pub(crate) fn inspection(path: impl AsRef<Path>) -> Result<Inspection> {
        inspect::inspection(path)
    }

    /// Returns the checkpoints of the store in the folder `path`, newest first, even if the store does not open.
    /// Opening uses the first usable one.
    ///
    /// # Errors
    /// `NotFound` if there is no such folder; `Io` if it cannot be listed.
    pub(crate) fn checkpoints_in(path: impl AsRef<Path>) -> Result<Vec<CheckpointInfo>> {
        inspect::checkpoints_in(path)
    }

    /// Reads the damaged store in the folder `from` and writes everything that still verifies to a new store in the
    /// folder `to`. Leaves `from` unchanged, and needs neither its manifest nor its format file.
    ///
    /// A commit keeps its digest if its state is still known. A last commit, `salvage`, has the remains of the others.
    /// An id that a lost commit changed may have an earlier version there.
    ///
    /// # Errors
    /// `InvalidInput` (code `exists`) if `to` exists, or if its temporary name is taken by anything but the leftovers
    /// of an earlier salvage. `InvalidInput` if `to` is within `from` or ends with `.salvage`. `Busy` if another
    /// salvage is writing there. `NotFound` if `from` has no store. `Corrupt` if nothing can be salvaged. `Io`. Then
    /// `to` does not exist, or, if only syncing its name failed, it is the whole new store.
    ///
    /// # Durability
    /// After a crash, the new store is whole or does not exist.
    pub(crate) fn salvage_store(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
    ) -> Result<SalvageReport> {
        salvage::salvage_store(from, to, options)
    }
}
