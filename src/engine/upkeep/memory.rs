//! The methods of [`Memory`] that keep a store in order.
//!
//! # Layer
//! Layer 5.

use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::disk::{Disk, FileDisk};
use crate::engine::memory::Memory;
use crate::engine::options::Options;
use crate::engine::read::View;
use crate::engine::read::derived::{Derived, Keep};
use crate::engine::upkeep::derived_files::{check_name, write_derived};
use crate::engine::upkeep::derived_writer::{CHANGES_MIN, SHARE};
use crate::engine::upkeep::doctor::{
    Problem, ProblemSeverity, Remedy, examine_disk, look_at_folder, look_at_kinds, look_at_lock, of_error,
};
use crate::engine::upkeep::erase::{ErasedReport, Erasing};
use crate::engine::upkeep::gc::{GcReport, SEGMENTS_SMALL_MAX};
use crate::engine::upkeep::salvage::{MARK, begin, exists, take_mark_off, unfinished, write};
use crate::engine::upkeep::verify::VerifyReport;
use crate::engine::upkeep::{Retention, VerifyDepth, examine, not_regular};
use crate::engine::write::{Writer, check_trusted};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{CompactionLock, DamagedLog, RecordKind};
use crate::object::{Op, Time};
use crate::store;
use crate::store::{SalvageReport, Store};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

impl Memory {
    /// Reads and checks the whole store again, and compares it with the part that this handle has read before.
    ///
    /// # Errors
    /// `Io` if the store cannot be read at all; damage is in the report.
    ///
    /// # Example
    /// ```
    /// use treering::upkeep::VerifyDepth;
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// memory.put(NewObject::new(Id::new("tea")?, Kind::new("fact")?), &Writer::user())?;
    /// let report = memory.verify(VerifyDepth::Full)?;
    /// assert!(report.ok && report.damage.is_empty());
    /// assert_eq!(report.versions, 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn verify(&self, depth: VerifyDepth) -> Result<VerifyReport> {
        // The log on disk must contain at least the head that this handle knows.
        let head = self.inner.store().head()?;
        if !self.inner.settings().read_only {
            self.sync()?;
        }
        let (disk, settings) = (&self.inner.opened().disk, self.inner.settings());
        examine(disk, settings, depth, Some(&head))
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
        if let Some(error) = not_regular(&*disk).into_iter().next() {
            return Err(error);
        }
        examine(&disk, &options.settings, depth, None)
    }

    /// Erases the records that `erasing` names from every file of the store before it returns. Past states get
    /// placeholders; the newest state loses the id. The commit names the author, time and reason, and each placeholder
    /// contains its digest.
    ///
    /// Views that still have the old files open, in this or another process, can read the erased records until they
    /// close.
    ///
    /// # Errors
    /// `NotFound` if nothing has that name, or it was erased before. `InvalidInput`, naming the affected ids, in these
    /// cases: an id has children; a version is current and its id was not given; a prefix matches several digests; or,
    /// without `everywhere`, other objects share the content, or earlier versions name the id as their parent. `Denied`
    /// (code `less_trusted`) if the writer's class is untrusted. Else as [`Self::commit`].
    ///
    /// # Durability
    /// After a crash, the erasure is done completely or not at all.
    ///
    /// # Example
    /// ```
    /// use treering::upkeep::Erasing;
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("people/ada")?;
    /// let mut person = NewObject::new(id.clone(), Kind::new("fact")?);
    /// person.content = Some("Ada lives in Porto.".to_owned());
    /// memory.put(person, &Writer::user())?;
    ///
    /// let mut erasing = Erasing::default();
    /// erasing.targets.push(id.to_string());
    /// memory.erase(&erasing, &Writer::person("vera").reason("Ada asked for it"))?;
    /// assert!(!memory.view().contains(&id)?);
    /// assert!(memory.history(&id)?.iter().any(|change| change.erased), "the history names the erased version");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn erase(&self, erasing: &Erasing, writer: &Writer) -> Result<ErasedReport> {
        self.inner.opened().check_writable()?;
        // INVARIANT STN-2: an untrusted writer may not erase, delete the name of a snapshot, or delete a rejected
        // change.
        check_trusted(writer.trust, "erase")?;
        let alone = CompactionLock::take(self.inner.disk(), self.inner.settings().wait)?;
        self.inner.write_as(writer, |writing| {
            let report = self.inner.survey(&self.inner.cut(writing), erasing)?;
            self.inner.erase(writing, report, writer, alone)
        })
    }

    /// Returns the preview of [`Self::erase`]. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::erase`].
    pub fn erase_preview(&self, erasing: &Erasing) -> Result<ErasedReport> {
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        self.inner.survey(&cut, erasing)
    }

    /// Returns the digests of the records that the commit erased. Reads the whole log.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if it cannot be read.
    pub(crate) fn erased_in(&self, commit: CommitDigest) -> Result<Vec<[u8; DIGEST_LEN]>> {
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        let mut digests = BTreeSet::new();
        cut.store.read_log(cut.position.batch, &mut |batch| {
            let records = batch.records.iter();
            let erased = records.filter(|record| record.kind == RecordKind::Erased);
            let marks = erased.filter_map(|record| store::Erased::decode(&record.body).ok());
            digests.extend(marks.filter(|mark| mark.by == commit).map(|mark| mark.digest));
            Ok(())
        })?;
        Ok(digests.into_iter().collect())
    }

    /// Writes `bytes` as the derived file `name`. They must derive from the state `of`, or from it and later states.
    /// Returns false, without writing, if something was erased since that state or another process rewrites the log.
    /// Other processes may commit meanwhile.
    ///
    /// # Errors
    /// As [`Self::derived`]; `Io` with the code `read_only` for a read-only handle.
    ///
    /// # Durability
    /// When the call returns, the bytes are durable. A crash before that leaves the old file, or none.
    pub(crate) fn keep_derived(&self, name: &str, bytes: &[u8], of: &View) -> Result<bool> {
        check_name(name)?;
        self.inner.opened().check_writable()?;
        // INVARIANT DER-2: an erasure holds this lock until its commit can be read.
        let Some(_alone) = CompactionLock::take_if_free(self.inner.disk(), Duration::ZERO)? else {
            return Ok(false);
        };
        self.inner.follow()?;
        self.inner.source.stamps.lock().may_be_behind();
        for commit in self.commits() {
            let commit = commit?.commit;
            if commit.seq <= of.entry.seq() {
                break;
            }
            if commit.op.as_str() == Op::ERASE {
                return Ok(false);
            }
        }
        write_derived(self.inner.opened(), name, bytes)?;
        Ok(true)
    }

    /// Writes a derived value of `view` to its file if enough changed since the last write. Returns whether it wrote.
    ///
    /// # Errors
    /// As [`Self::keep_derived`]; `InvalidInput` if the value is of another state than the view.
    #[cfg(feature = "agent")]
    pub(crate) fn keep<T: Keep>(&self, value: &mut Derived<T>, view: &View) -> Result<bool> {
        if value.root() != view.root() {
            return Err(Error::invalid(
                "the derived value belongs to another state than the view",
            ));
        }
        if value.changes < CHANGES_MIN || value.changes.saturating_mul(SHARE) < value.value().len() {
            return Ok(false);
        }
        let mut bytes = vec![T::VERSION];
        bytes.extend_from_slice(view.entry.digest.as_bytes());
        let bytes = postcard::to_extend(value.value(), bytes).map_err(|error| {
            Error::internal(format!("cannot serialise the derived file {}: {error}", T::NAME))
        })?;
        let kept = self.keep_derived(T::NAME, &bytes, view)?;
        if kept {
            value.changes = 0;
        }
        Ok(kept)
    }

    /// Reads the damaged store in the folder `from`, and writes all data that still verifies to a new store in the
    /// folder `to`. Leaves `from` unchanged. Works without the manifest and the format file of `from`.
    ///
    /// A commit keeps its digest if its state is still known. A last commit, `salvage`, contains the remaining objects
    /// of the other commits. In it, an id that a lost commit changed may have an earlier version.
    ///
    /// # Errors
    /// `InvalidInput` (code `exists`) if `to` exists, or if its temporary name is used by anything but an earlier
    /// salvage. `InvalidInput` if `to` is within `from` or ends with `.salvage`. `Busy` if another salvage writes to
    /// `to`. `NotFound` if `from` has no store. `Corrupt` if nothing can be salvaged. `Io` if a file cannot be read or
    /// written. After an error `to` does not exist, except if only syncing its name failed; then it is the complete new
    /// store.
    ///
    /// # Durability
    /// After a crash, the new store is complete or does not exist.
    pub(crate) fn salvage_store(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        options: &Options,
    ) -> Result<SalvageReport> {
        let to = to.as_ref();
        if to.symlink_metadata().is_ok() {
            return Err(exists(
                to,
                "the target of the salvage already exists:",
                "choose a folder that does not exist yet",
            ));
        }
        let unfinished = unfinished(to)?;
        let source = FileDisk::open(from)?;
        if source.contains(to) {
            let message = format!("{} is inside the damaged store", to.display());
            return Err(
                Error::invalid(message).with_hint("choose a folder outside it: salvage never writes there")
            );
        }
        let damaged = DamagedLog::open(Arc::new(source))?;
        let (disk, mark) = begin(&unfinished)?;
        let written = write(&damaged, &(Arc::clone(&disk) as Arc<dyn Disk>), options).and_then(|report| {
            take_mark_off(&*disk, &unfinished, FileDisk::rename_folder(&unfinished, to))?;
            Ok(report)
        });
        if written.is_err() {
            drop(FileDisk::remove_folder(&unfinished, MARK));
        }
        drop(mark);
        written
    }

    /// Lists the problems of the store in the folder `path`, the worst first. Writes nothing.
    ///
    /// # Errors
    /// `NotFound` (code `no_store`) if there is no store; `Io` if it cannot be read.
    pub(crate) fn examine_store(path: impl AsRef<Path>, options: &Options) -> Result<Vec<Problem>> {
        let disk = match FileDisk::open(path) {
            Err(error) if error.code() == ErrorCode::NetworkFileSystem => {
                return Ok(vec![of_error("network_file_system", &error, Remedy::Move)]);
            }
            other => other?,
        };
        let mut problems = Vec::new();
        look_at_folder(&disk, &mut problems);
        look_at_lock(&disk, &mut problems);
        let disk: Arc<dyn Disk> = Arc::new(disk);
        match examine_disk(&disk, options, &mut problems) {
            Ok(()) => {}
            Err(error) if error.code() == ErrorCode::NotRegularFile => {}
            // A file that belongs to another user may be unreadable.
            Err(error)
                if error.code() != ErrorCode::NoStore
                    && problems.iter().any(|problem| problem.remedy == Remedy::Owner) =>
            {
                problems.push(of_error("unreadable", &error, Remedy::Nothing));
            }
            Err(error) => return Err(error),
        }
        look_at_kinds(&*disk, &mut problems);
        let is_foreign = |problem: &Problem| {
            problem.severity == ProblemSeverity::Damage && problem.file.as_deref() == Some("format")
        };
        if problems.iter().any(is_foreign) {
            // The folder may belong to another program, so no remedy may change its owner or mode.
            problems.retain(|problem| !matches!(problem.remedy, Remedy::Mode | Remedy::Owner));
        }
        problems.sort_by_key(|problem| problem.severity);
        Ok(problems)
    }

    /// Thins history by `retention` and frees the space of records that no kept commit needs. Other processes may read
    /// and write meanwhile, and open views stay readable. Also deletes changes that were refused more than 7 days ago.
    ///
    /// `now` is the time from which ages are counted; `None` means the clock's time. It is limited to a day after the
    /// newest commit, so a wrong clock cannot thin recent commits.
    ///
    /// # Errors
    /// `Busy` if another process collects or holds the lock. `Corrupt` if kept data is damaged; then nothing changes.
    /// `Io`, `Poisoned`.
    ///
    /// # Durability
    /// After a crash, the log is whole: the old one or the new one.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// use treering::{Id, Kind, Memory, NewObject, Retention, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// for name in ["one", "two", "three"] {
    ///     memory.put(NewObject::new(Id::new(name)?, Kind::new("fact")?), &Writer::user())?;
    /// }
    /// // Retains the default ages, but no commit only because it is young.
    /// let mut retention = Retention::default();
    /// retention.all = Duration::ZERO;
    /// let foreseen = memory.gc_preview(&retention, None)?;
    /// let report = memory.gc(&retention, None)?;
    /// assert_eq!(report.kept, foreseen.kept);
    /// assert!(memory.view().contains(&Id::new("one")?)?, "the newest state is whole");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn gc(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.opened().check_writable()?;
        self.inner.refresh()?;
        self.inner
            .drop_old_rejected(self.inner.retention_time(&self.inner.store(), now)?)?;
        let time = |store: &Store| self.inner.retention_time(store, now);
        let choose = |store: &Store, count: usize| retention.choose(store, count, time(store)?);
        self.inner.rewrite(&choose, self.inner.settings().wait)
    }

    /// Returns the preview of [`Self::gc`]. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::gc`].
    pub fn gc_preview(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        let time = self.inner.retention_time(&cut.store, now)?;
        let kept = retention.choose(&cut.store, cut.commits, time)?;
        self.inner.preview(&cut, &kept)
    }

    /// Collects garbage if a collection is due and would free more than half of the log. Merges segments if there are
    /// far more than the log needs. A failure becomes a warning, because nothing is lost. Does nothing while another
    /// process rewrites the log.
    pub(crate) fn collect_if_due(&self) {
        let Some(retention) = self.inner.settings().automatic_gc else {
            return;
        };
        let writing = self.inner.log.try_lock();
        let due = writing.is_some_and(|mut writing| std::mem::take(&mut writing.collect));
        let collected = if due { self.collect(&retention) } else { Ok(()) };
        if let Err(error) = collected.and_then(|()| self.merge_segments())
            && error.kind() != ErrorKind::Busy
        {
            let opened = self.inner.opened();
            opened.warn(format!("cannot rewrite the log without its garbage: {error}"));
        }
    }

    /// Rewrites the log if recoveries left many small segments, because every handle holds all of them open. Postpones
    /// this while the disk has less free space than twice the size of the log.
    fn merge_segments(&self) -> Result<()> {
        let needed = |bytes: u64| bytes / u64::from(self.inner.settings().segment_bytes_max);
        let free = self.inner.disk().free_bytes();
        let is_scattered = self.inner.log.try_lock().is_some_and(|writing| {
            let (segments, bytes) = writing.log.size();
            segments as u64 > SEGMENTS_SMALL_MAX + 2 * needed(bytes)
                && free.is_none_or(|free| free > 2 * bytes)
        });
        if is_scattered {
            let now = self.inner.proven_time(&self.inner.store())?;
            let all = |store: &Store, count: usize| Retention::everything().choose(store, count, now);
            self.inner.rewrite(&all, Duration::ZERO)?;
        }
        Ok(())
    }

    fn collect(&self, retention: &Retention) -> Result<()> {
        let store = self.inner.store();
        let now = self.inner.proven_time(&store)?;
        // All recent commits are kept, whatever their number. So without an old commit there is no garbage.
        let oldest = store.commit_at(0)?;
        if oldest.is_none_or(|oldest| retention.keeps_young(oldest.commit.time, now)) {
            return Ok(());
        }
        let preview = self.gc_preview(retention, Some(now))?;
        if preview.bytes < preview.bytes_before / 2 {
            self.inner.drop_old_rejected(now)?;
            let choose = |store: &Store, count: usize| retention.choose(store, count, now);
            self.inner.rewrite(&choose, Duration::ZERO)?;
        }
        Ok(())
    }
}
