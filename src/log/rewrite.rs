//! Rewrites the log: writes new segments that replace all sealed segments.
//!
//! A rewrite has a *cut*: the last batch in a sealed segment when the rewrite starts. Batches up to the cut do not
//! change any more. So the rewrite writes the new segments without the writer's lock, while other processes append
//! after the cut. [`Log::publish`] then replaces the old segments atomically. If no batch was appended after the cut,
//! the rewrite may end with a new head, and publishing also commits the new head.
//!
//! A rewrite may also keep old segments as they are, so it needs only the room of the segments that it writes anew.
//!
//! # Layer
//! Layer 2. Callers choose the new batches. The log checks that the batches are complete and end with the head at the
//! cut.
//!
//! # Invariants
//! - RWR-2: every published segment was read back from its file without damage.
//! - RWR-3: a rewrite contains at most as many batches as it replaces, so batch numbers after the cut still rise.
//! - RWR-4: an abandoned rewrite leaves no file.
//! - PUB-1: the old log is complete until the new manifest is durable. From then on, the new log is complete.
//! - PUB-2: a segment is removed only after a manifest that does not list it is durable.
//!
//! # After a crash
//! Readers recognise the files of an unpublished rewrite by name, and ignore them. [`Log::begin_rewrite`] and the next
//! writer remove such files. Before the new manifest is durable, the new segments are unlisted. Afterwards the old
//! segments are unlisted. The next writer removes unlisted segments.

use std::sync::Arc;

use super::batch::{BatchBuilder, Continue, HeadMark, encode_group};
use super::commit::not_rewritten;
use super::frame::FrameSeed;
use super::handle::Log;
use super::lock::{CompactionLock, WriteLock};
use super::manifest::SegmentEntry;
use super::reader::SegmentFile;
use super::rotate::{create_segment, new_nonce, rewritten_segment_bytes};
use super::seal::Chain;
use super::segment::{
    FIRST_OFFSET, SEGMENT_BYTES_LIMIT, SegmentEnd, SegmentHeader, rewrite_name, segment_name,
};
use super::walk::{Origin, Windows};
use crate::digest::{CommitDigest, HashSuite};
use crate::disk::{Access, Disk, DiskFile};
use crate::error::{Error, ErrorCode, ErrorKind, OrIo as _, Result};

/// The number of bytes that a rewrite buffers before it writes these bytes to a file.
pub(super) const BUFFER_BYTES: usize = 1 << 20;

/// What a rewrite does with the active segment when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// It continues the log in a new segment. The caller may release the writer's lock while it pushes batches.
    Now,
    /// It replaces the active segment too, so it needs no room for another segment. The caller must not release the
    /// writer's lock before the rewrite is published. Otherwise no rewrite with a later batch can be published.
    WhenPublished,
}

/// A rewrite whose new segments are being written. Dropping it before publication removes its files (RWR-4).
pub struct Rewrite {
    pub(super) epoch: u32,
    /// The segments that the rewrite replaces.
    pub(super) replaced: Vec<SegmentEntry>,
    /// The number of the last batch that the rewrite replaces. This may also be the last number that an earlier rewrite
    /// skipped.
    pub(super) cut: u64,
    /// The head after the last batch of the rewrite. Equals the head at the cut, unless the rewrite moves the head.
    pub(super) head: CommitDigest,
    /// The new head, if the rewrite moves the head.
    moved_to: Option<HeadMark>,
    alone: CompactionLock,
    disk: Arc<dyn Disk>,
    suite: HashSuite,
    instance: [u8; 16],
    process: u32,
    segment_bytes_max: u64,
    pub(super) files: Vec<NewFile>,
    /// The old segments that stay, each with the number of new files before it.
    pub(super) kept: Vec<(usize, SegmentEntry)>,
    /// The number of old segments that the rewrite has kept or written anew.
    pub(super) passed: usize,
    /// The least number of the batch before the next one. It is higher than the chain after a gap in the numbers.
    pub(super) batch_before: u64,
    /// The bytes at the end of the last file that are not written yet.
    buffer: Vec<u8>,
    /// The head after the last batch that was pushed.
    newest: Option<CommitDigest>,
    failed: bool,
    published: bool,
}

/// A file that will become a sealed segment.
pub(super) struct NewFile {
    name: String,
    file: Arc<dyn DiskFile>,
    nonce: [u8; 16],
    /// The entry for the manifest. Publication sets the segment's number.
    pub(super) entry: SegmentEntry,
}

/// A finished rewrite. Its segments are durable and were read back (RWR-2).
pub struct Rewritten(pub(super) Rewrite);

impl Log {
    /// Begins to rewrite all batches up to the newest batch. Call [`Log::prepare`] under this lock first. `seal` tells
    /// whether to seal an active segment that contains a batch. The rewrite holds the lock `alone` until the rewrite is
    /// published or dropped.
    ///
    /// # Errors
    /// The errors of [`Log::append`]. If sealing fails, the handle is poisoned.
    ///
    /// # Durability
    /// The content of the log does not change.
    pub fn begin_rewrite(&mut self, lock: &WriteLock, alone: CompactionLock, seal: Seal) -> Result<Rewrite> {
        self.check_prepared(lock)?;
        alone.check(&*self.disk)?;
        lock.check_file()?;
        self.poison_on_error(|log| {
            log.sync_group()?;
            log.remove_leftovers(Some(&alone))
        })
        .map_err(not_rewritten)?;
        if seal == Seal::Now && self.cursor.offset > FIRST_OFFSET {
            // Nothing is changed if the disk has no room for the segment, so the handle stays usable.
            let next = self.create_next();
            let next = next.inspect_err(|error| self.poisoned |= !error.is_disk_full());
            let next = next.map_err(not_rewritten)?;
            self.poison_on_error(|log| log.switch_to(&next).map(drop))
                .map_err(not_rewritten)?;
        }
        Ok(Rewrite {
            epoch: self.manifest.epoch,
            replaced: self.sealed_at_cursor().0,
            cut: self.manifest.active().batch_before().max(self.cursor.batch),
            head: self.cursor.commit,
            moved_to: None,
            alone,
            disk: Arc::clone(&self.disk),
            suite: self.suite,
            instance: self.format.instance,
            process: self.process,
            segment_bytes_max: rewritten_segment_bytes(&self.options, self.size().1),
            files: Vec::new(),
            kept: Vec::new(),
            passed: 0,
            batch_before: 0,
            buffer: Vec::new(),
            newest: None,
            failed: false,
            published: false,
        })
    }

    /// Replaces the old segments by the segments of the rewrite, and removes the old segments. Batches after the cut
    /// stay. Call [`Log::prepare`] under this lock first. Afterwards this handle is in the same state as after
    /// [`Log::reopen`].
    ///
    /// # Errors
    /// `Internal`, without any change, in three cases: the rewrite belongs to another store; another rewrite was
    /// published since this one began; or batches were appended after the cut of a rewrite that moves the head. After
    /// any other error, the rewrite may or may not be published, and this handle refuses further writes with
    /// `Poisoned`.
    ///
    /// # Durability
    /// When the call returns, the rewrite and the removal of the old segments are durable.
    pub fn publish(&mut self, lock: &WriteLock, rewritten: Rewritten) -> Result<()> {
        self.check_prepared(lock)?;
        let Rewritten(rewrite) = rewritten;
        rewrite.alone.check(&*self.disk)?;
        let (sealed, _) = self.sealed_at_cursor();
        if rewrite.epoch != self.manifest.epoch || !sealed.starts_with(&rewrite.replaced) {
            return Err(Error::internal("the log was rewritten since this rewrite began"));
        }
        let is_behind = sealed.len() > rewrite.replaced.len();
        if rewrite.moved_to.is_some() && is_behind {
            return Err(Error::internal(
                "batches were appended after a rewrite that moves the head",
            ));
        }
        self.poison_on_error(|log| log.publish_files(lock, rewrite))
    }

    fn publish_files(&mut self, lock: &WriteLock, mut rewrite: Rewrite) -> Result<()> {
        lock.check_file()?;
        self.sync_group().map_err(not_rewritten)?;
        let count = rewrite.files.len() as u64;
        let first = self.new_numbers(count + 1)?;
        let mut entries: Vec<SegmentEntry> = rewrite.kept_before(0).collect();
        for ((id, file), number) in (first..).zip(&rewrite.files).zip(1..) {
            let previous = entries.last().map(SegmentEntry::end).unwrap_or_default();
            entries.push(self.name_file(file, id, previous)?);
            entries.extend(rewrite.kept_before(number));
        }
        rewrite.published = true;
        let (sealed, _) = self.sealed_at_cursor();
        entries.extend_from_slice(sealed.get(rewrite.replaced.len()..).unwrap_or_default());
        let previous = entries.last().map(SegmentEntry::end).unwrap_or_default();
        let header = self.new_header(first + count, previous)?;
        // Creating this segment syncs the folder, so the names of the other new segments also become durable.
        create_segment(&*self.disk, &header, &self.options)?;
        let live = self.read_live()?;
        // INVARIANT PUB-1: this call replaces the old log by the new log atomically.
        let active = SegmentEntry::active(header.id, self.cursor.batch + 1);
        self.publish_manifest(self.manifest.epoch + 1, entries, active)
            .map_err(maybe_done)?;
        self.enter_new(header.id).map_err(old_files_left)?;
        let head = rewrite.moved_to;
        let head = head.unwrap_or_else(|| self.head_mark(live, None));
        self.mark_durable(head).map_err(old_files_left)?;
        // INVARIANT PUB-2: the new manifest is durable now, so the old segments can be removed.
        self.remove_leftovers(Some(&rewrite.alone))
            .and_then(|()| self.reopen())
            .map_err(old_files_left)?;
        self.leftovers_removed = true;
        Ok(())
    }

    /// Writes the header of segment `id` to a file of a rewrite, and gives the file the segment's name. The name is
    /// durable after a sync of the folder.
    fn name_file(&self, new: &NewFile, id: u64, previous: SegmentEnd) -> Result<SegmentEntry> {
        let header = SegmentHeader {
            instance: self.format.instance,
            id,
            nonce: new.nonce,
            previous,
        };
        let name = segment_name(id);
        let naming = format!("cannot rename {} to the segment {name}", new.name);
        let file = self.disk.open(&new.name, Access::ReadWrite).or_io(&naming)?;
        let written = file.write_at(0, &header.encode()).and_then(|()| file.sync());
        written.or_io(&naming)?;
        match SegmentFile::with_file(file, true, &new.name) {
            Ok(segment) if segment.header == header => {}
            Err(error) if !error.is_corruption() => return Err(error),
            _ => return Err(not_as_written(&new.name, 0)),
        }
        self.disk.rename_new(&new.name, &name).or_io(&naming)?;
        Ok(SegmentEntry { id, ..new.entry })
    }
}

impl Rewrite {
    /// Adds the next batch. `commit` is the head after that batch.
    ///
    /// # Errors
    /// `InvalidInput` for a batch over a limit, or for more batches than the rewrite replaces (RWR-3). `Io`. After
    /// `Io`, the rewrite is unusable and must be dropped.
    pub fn push(&mut self, batch: BatchBuilder, commit: CommitDigest) -> Result<()> {
        self.check_whole()?;
        batch.check()?;
        let needed = batch.encoded_bytes();
        if needed > SEGMENT_BYTES_LIMIT - FIRST_OFFSET {
            return Err(Error::invalid(format!(
                "a batch of {needed} bytes exceeds the size limit of a segment"
            )));
        }
        if self.chain().batch >= self.cut {
            return Err(Error::invalid(format!(
                "a rewrite that replaces {} batches may not contain more batches",
                self.cut
            )));
        }
        let placed = self.place(batch, commit, needed);
        self.failed = placed.is_err();
        placed
    }

    /// Declares that the last batch moves the head of the log to `head`. Publishing the rewrite commits the new head.
    /// Until then, no process may append batches after the cut.
    pub fn moves_head(&mut self, head: HeadMark) {
        (self.head, self.moved_to) = (head.commit, Some(head));
    }

    /// Makes the new segments durable, and reads all of them back to check them.
    ///
    /// # Errors
    /// `InvalidInput` if no batch was pushed, or if the last batch does not end with the expected head: the head at the
    /// cut, or the head passed to [`Self::moves_head`]. `Io` if writing fails, or if a file differs from the written
    /// bytes.
    pub fn finish(mut self) -> Result<Rewritten> {
        self.check_whole()?;
        if self.newest != Some(self.head) {
            return Err(Error::invalid(
                "a rewrite must end with the head of the log, or with the head that `moves_head` declared",
            ));
        }
        self.write_buffer()?;
        for NewFile { file, name, .. } in &self.files {
            file.sync().or_io(format_args!("cannot sync {name}"))?;
        }
        // INVARIANT RWR-2: every published segment was read back from its file without damage.
        self.read_back()?;
        Ok(Rewritten(self))
    }

    fn check_whole(&self) -> Result<()> {
        if !self.failed && self.disk.process() == self.process {
            return Ok(());
        }
        let message = "an earlier write of this rewrite failed";
        Err(Error::new(ErrorKind::Poisoned, message).with_hint("start the rewrite again"))
    }

    fn place(&mut self, batch: BatchBuilder, commit: CommitDigest, needed: u64) -> Result<()> {
        let chain = self.chain();
        // A batch after a kept segment, or after a gap in the numbers, begins a new file.
        let is_full = |file: &NewFile| {
            file.entry.end_chain() != chain
                || file.entry.length.saturating_add(needed) > self.segment_bytes_max
        };
        if self.files.last().is_none_or(is_full) {
            self.write_buffer()?;
            self.add_file()?;
        }
        let file = self.files.last_mut();
        let file = file.ok_or_else(|| Error::internal("a rewrite has no file"))?;
        let after = Continue {
            segment: 0,
            seed: FrameSeed::new(&self.instance, &file.nonce),
            start: file.entry.length,
            // Declares only the header durable. `finish` syncs the file, so no batch is durable when a later batch is
            // added.
            synced_upto: FIRST_OFFSET,
            chain,
        };
        let (bytes, batches) = encode_group([(batch, commit)], self.suite, after)?;
        for batch in batches {
            (file.entry.last_batch, file.entry.last_digest) = (batch.number, *batch.digest.as_bytes());
        }
        self.newest = Some(commit);
        file.entry.length += bytes.len() as u64;
        self.buffer.extend_from_slice(&bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_buffer()?;
        }
        Ok(())
    }

    pub(super) fn write_buffer(&mut self) -> Result<()> {
        let Some(NewFile {
            file, name, entry, ..
        }) = self.files.last().filter(|_| !self.buffer.is_empty())
        else {
            return Ok(());
        };
        file.write_at(entry.length - self.buffer.len() as u64, &self.buffer)
            .or_io(format_args!("cannot write {name}"))?;
        self.buffer.clear();
        Ok(())
    }

    /// Returns the chain that the next batch continues.
    pub(super) fn chain(&self) -> Chain {
        let count = self.files.len();
        let kept = self.kept.last().filter(|(before, _)| *before == count);
        let last = kept
            .map(|(_, entry)| entry)
            .or_else(|| self.files.last().map(|file| &file.entry));
        let chain = last.map_or(Chain::START, SegmentEntry::end_chain);
        Chain {
            batch: chain.batch.max(self.batch_before),
            ..chain
        }
    }

    fn add_file(&mut self) -> Result<()> {
        let name = rewrite_name(self.files.len() + 1);
        let file = self
            .disk
            .create(&name)
            .or_io(format_args!("cannot create {name}"))?;
        let entry = SegmentEntry {
            length: FIRST_OFFSET,
            ..SegmentEntry::active(0, self.chain().batch + 1)
        };
        self.files.push(NewFile {
            name,
            file,
            nonce: new_nonce(&*self.disk)?,
            entry,
        });
        Ok(())
    }

    /// Opens the files again, and reads every batch back.
    fn read_back(&self) -> Result<()> {
        let mut chain = Chain::START;
        for (index, new) in self.files.iter().enumerate() {
            let NewFile {
                name, nonce, entry, ..
            } = new;
            chain = self
                .kept_before(index)
                .last()
                .map_or(chain, |kept| kept.end_chain());
            chain.batch = chain.batch.max(entry.batch_before());
            let file = self
                .disk
                .open(name, Access::Read)
                .or_io(format_args!("cannot read {name}"))?;
            let length = file.length().or_io(format_args!("cannot read {name}"))?;
            let origin = Origin {
                segment: 0,
                seed: FrameSeed::new(&self.instance, nonce),
                suite: self.suite,
            };
            let between = FIRST_OFFSET..entry.length;
            let window = Windows::new(&*file, name.clone(), origin, between.clone()).here()?;
            let mut walk = window.batches(between, chain);
            let stop = walk.by_ref().find_map(Result::err);
            chain = walk.chain;
            if stop.is_some() || (chain, walk.at, length) != (entry.end_chain(), entry.length, entry.length) {
                return Err(not_as_written(name, stop.map_or(walk.at, |stop| stop.offset)));
            }
        }
        Ok(())
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        // A forked child has the same files open, but the parent owns them. So the child removes no file.
        if self.published || self.disk.process() != self.process {
            return;
        }
        // INVARIANT RWR-4: if a file cannot be removed here, the next writer removes it.
        for file in &self.files {
            drop(self.disk.remove(&file.name));
        }
    }
}

/// Returns the error for a new file that differs from the written bytes. The log itself was not changed.
fn not_as_written(name: &str, offset: u64) -> Error {
    let message = format!("{name} differs at byte {offset} from the written bytes; nothing was changed");
    Error::new(ErrorKind::Io, message)
        .with_code(ErrorCode::NotAsWritten)
        .with_hint("the memory or the disk of this machine may be faulty")
}

/// The hint if old segments were not removed yet. The old segments may contain erased content.
const LEFT: &str = "old files remain until the next write removes them";

/// Returns the error for a failure after the new manifest became durable and before the old segments were removed.
fn old_files_left(error: Error) -> Error {
    error.behind_change(LEFT)
}

/// Returns the error for a failed rename of the manifest, or for a failed sync of the folder after the rename. In both
/// cases, the change may or may not be durable. A path that holds something else was never written.
fn maybe_done(error: Error) -> Error {
    if error.code() == ErrorCode::NotRegularFile {
        return not_rewritten(error);
    }
    error.with_code(ErrorCode::OutcomeUnknown).with_hint(format!(
        "it is unknown whether the change was saved: open the store again and check before you repeat the change; if it was saved, {LEFT}"
    ))
}
