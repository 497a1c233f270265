//! Publishes a rewrite: one manifest replaces the old segments by the new ones, and then the old ones are removed.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - PUB-1: until the new manifest is durable, the old log is complete; from then on, the new one is.
//! - PUB-2: no segment is removed before a manifest without it is durable.
//!
//! # After a crash
//! Before the new manifest is durable, the new segments are unlisted files; after it, the old ones are. The next writer
//! removes unlisted files.

use super::commit::not_rewritten;
use super::handle::Log;
use super::lock::WriteLock;
use super::manifest::SegmentEntry;
use super::reader::SegmentFile;
use super::rewrite::{NewFile, Rewrite, Rewritten, not_as_written};
use super::rotate::create_segment;
use super::segment::{FIRST_OFFSET, SegmentEnd, SegmentHeader, segment_name};
use crate::disk::Access;
use crate::error::{Error, ErrorCode, OrIo as _, Result};

impl Log {
    /// Replaces the segments that a rewrite was made from by the new ones, and removes them. [`Log::prepare`] must have
    /// been called under this lock. Batches after the cut stay. Afterwards this handle is as after [`Log::reopen`].
    /// Returns the numbers of the new segments.
    ///
    /// # Errors
    /// `Internal`, without any change, in three cases: the rewrite is of another store; the log was rewritten since the
    /// rewrite began; or batches were appended after a rewrite that moves the head. After any other error, the rewrite
    /// may be published or not, and this handle refuses further writes with `Poisoned`.
    ///
    /// # Durability
    /// When the call returns, the rewrite is durable, and so is the removal of the old segments.
    pub fn publish(&mut self, lock: &WriteLock, rewritten: Rewritten) -> Result<()> {
        self.check_prepared(lock)?;
        let Rewritten(rewrite) = rewritten;
        rewrite.alone.check(&*self.disk)?;
        let sealed = self.manifest.sealed();
        if rewrite.epoch != self.manifest.epoch || !sealed.starts_with(&rewrite.replaced) {
            return Err(Error::internal("the log was rewritten since this rewrite began"));
        }
        let is_behind = sealed.len() > rewrite.replaced.len() || self.cursor.offset > FIRST_OFFSET;
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
        let mut entries: Vec<SegmentEntry> = Vec::new();
        for (id, file) in (first..).zip(&rewrite.files) {
            let previous = entries.last().map(SegmentEntry::end).unwrap_or_default();
            entries.push(self.name_file(file, id, previous)?);
        }
        rewrite.published = true;
        let (sealed, _) = self.sealed_at_cursor();
        entries.extend_from_slice(sealed.get(rewrite.replaced.len()..).unwrap_or_default());
        let previous = entries.last().map(SegmentEntry::end).unwrap_or_default();
        let header = self.new_header(first + count, previous)?;
        // The sync of this segment makes the names of the other new segments durable too.
        create_segment(&*self.disk, &header, &self.options, 0, 0)?;
        let live = self.read_live()?;
        // INVARIANT PUB-1.
        let active = SegmentEntry::active(header.id, self.cursor.batch + 1);
        self.publish_manifest(self.manifest.epoch + 1, entries, active)
            .map_err(maybe_done)?;
        self.enter_new(header.id).map_err(old_files_left)?;
        let head = rewrite.moved_to;
        let head = head.unwrap_or_else(|| self.head_mark(live, None));
        self.mark_durable(head).map_err(old_files_left)?;
        // INVARIANT PUB-2: the new manifest is durable now.
        self.remove_leftovers(Some(&rewrite.alone))
            .and_then(|()| self.reopen())
            .map_err(old_files_left)?;
        self.leftovers_removed = true;
        Ok(())
    }

    /// Renames a file of a rewrite to segment `id`. The name is durable after the folder is synced.
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

/// The hint while old segments, which may contain erased content, were not removed yet.
const LEFT: &str = "old files remain until the next write removes them";

/// Returns the error for a failure after the new manifest is durable and before the old segments are removed.
fn old_files_left(error: Error) -> Error {
    error.behind_change(LEFT)
}

/// Returns the error for a manifest that could not be renamed, or whose name could not be synced.
fn maybe_done(error: Error) -> Error {
    error.with_code(ErrorCode::OutcomeUnknown).with_hint(format!(
        "the change may or may not be done: open the store again and check before you repeat it; if it is done, {LEFT}"
    ))
}
