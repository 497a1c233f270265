//! Removes leftovers: files in the folder of the log that a crash left and the manifest does not list.
//!
//! Readers ignore leftovers. Leftovers may contain erased content, so the next writer removes these files.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - LEF-1: the writer never removes a segment that may contain a batch newer than all batches of the listed segments,
//!   because the manifest may be outdated.
//! - LEF-2: the writer does not remove the files of a running rewrite.

use std::time::Duration;

use super::files::{cannot_list, open_there};
use super::handle::Log;
use super::lock::{CompactionLock, WriteLock};
use super::reader::SegmentFile;
use super::segment::{FIRST_OFFSET, LOG_FOLDER, is_rewrite_name, parse_segment_name, segment_name};
use crate::error::{OrIo as _, Result};

/// The state of a segment that the manifest does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unlisted {
    /// The segment contains a batch newer than all batches in listed segments, so the manifest is outdated.
    Newer,
    /// A rewrite replaced the segment, or the segment was never part of the log.
    Left,
    /// The file is not a segment of this store.
    Foreign,
}

impl Log {
    /// Returns the state of the unlisted segment `id`. `newest` is the number of the newest batch in the listed
    /// segments.
    pub(super) fn unlisted(&self, id: u64, newest: u64) -> Result<Unlisted> {
        // The log uses each segment number once, in rising order (MAN-3). So a writer removed this segment from the
        // manifest on purpose.
        if id < self.manifest.active().id {
            return Ok(Unlisted::Left);
        }
        let name = segment_name(id);
        let Some(file) = open_there(&*self.disk, &name)? else {
            return Ok(Unlisted::Left);
        };
        let segment = match SegmentFile::with_file(file, false, &name) {
            Ok(segment) if segment.header.instance == self.format.instance => segment,
            Err(error) if !error.is_corruption() => return Err(error),
            _ => return Ok(Unlisted::Foreign),
        };
        // A segment that a crash left unlisted is empty, or contains copies of listed batches.
        let (window, mut survey) = segment.read_to_end(FIRST_OFFSET, self.suite)?;
        survey.add(&window, FIRST_OFFSET);
        let is_newer = survey.batch > newest;
        Ok(if is_newer { Unlisted::Newer } else { Unlisted::Left })
    }

    /// Removes the files that crashes left, also those of a rewrite, so that their space is free. Call
    /// [`Self::prepare`] under this lock first.
    ///
    /// # Errors
    /// `Io` if a file cannot be removed. This handle then refuses further writes with `Poisoned`.
    pub fn tidy(&mut self, lock: &WriteLock, alone: &CompactionLock) -> Result<()> {
        self.check_prepared(lock)?;
        alone.check(&*self.disk)?;
        self.poison_on_error(|log| log.remove_leftovers(Some(alone)))
    }

    /// Removes the files that crashes left. The caller holds the writer's lock, and this handle has read the whole log.
    /// Also removes files of a rewrite if no rewrite runs: either the caller passes the lock for rewrites as `alone`,
    /// or no process holds that lock.
    ///
    /// # Durability
    /// When the call returns, the removal is durable.
    pub(super) fn remove_leftovers(&mut self, alone: Option<&CompactionLock>) -> Result<()> {
        let names = self.disk.list(LOG_FOLDER).map_err(cannot_list)?;
        // INVARIANT LEF-2: a rewrite begins under the writer's lock, so no rewrite can begin now.
        let has_rewrite = alone.is_none() && names.iter().any(|name| is_rewrite_name(name));
        let is_free = has_rewrite.then(|| CompactionLock::take_if_free(&*self.disk, Duration::ZERO));
        let guard = is_free.transpose()?.flatten();
        let mut removed = false;
        for name in &names {
            let is_left = match parse_segment_name(name) {
                Some((id, true)) => {
                    !self.manifest.lists(id)
                        || names.iter().any(|other| name.strip_suffix(".tmp") == Some(other))
                }
                // INVARIANT LEF-1: the writer never removes a segment that may contain a batch newer than all batches
                // of the listed segments, because the manifest may be outdated.
                Some((id, false)) => {
                    !self.manifest.lists(id) && self.unlisted(id, self.cursor.batch)? == Unlisted::Left
                }
                None => is_rewrite_name(name) && (alone.is_some() || guard.is_some()),
            };
            if is_left {
                let name = format!("{LOG_FOLDER}/{name}");
                let gone = self.disk.remove(&name);
                gone.or_io(format_args!("cannot remove {name}, which a crashed process left"))?;
                removed = true;
            }
        }
        if removed {
            let synced = self.disk.sync_dir(LOG_FOLDER);
            synced.or_io("cannot sync the folder of the log")?;
        }
        self.leftovers_removed = true;
        Ok(())
    }
}
