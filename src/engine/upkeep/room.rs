//! Room on a full disk: a rewrite gives up the files that Treering can rebuild, rather than fail.
//!
//! A user with a full disk must still be able to erase a secret and to collect garbage. Both write a second log, and only
//! checkpoints and derived files can make room for it.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - FUL-1: on a full disk, a rewrite removes checkpoints and derived files, and nothing else, before it fails.
//! - FUL-2: on a nearly full disk, a rewrite creates no segment before it publishes the new log. A refused one leaves no
//!   file.

use std::io;

use crate::disk::if_there;
use crate::error::{Error, OrIo as _, Result};
use crate::log::Seal;
use crate::store;

use super::derived_files::FOLDER;
use super::last_access::{USES, USES_NEW};
use crate::engine::inner::Inner;

/// The free space in bytes that a rewrite needs in addition to the size of the log: small segments, and small files.
const SPARE_BYTES: u64 = 256 << 10;
/// The bytes of the small segments, the headers and the manifest of a rewritten log of few segments.
pub(crate) const SEGMENTS_BYTES: u64 = 48 << 10;

impl Inner {
    /// Runs a rewrite of the log. If the disk has no room for a second log, first removes the files that Treering can
    /// rebuild, and adds a warning. `run` gets what the rewrite does with the active segment: on a nearly full disk, it
    /// must not create a segment before the old segments are removed.
    ///
    /// # Errors
    /// The errors of `run`; `Io` if a file cannot be removed.
    pub(crate) fn with_room<T>(&self, run: impl Fn(Seal) -> Result<T>) -> Result<T> {
        let needed = self.log.lock().log.batch_bytes().saturating_add(SPARE_BYTES);
        let is_short = self.disk().free_bytes().is_some_and(|free| free < needed);
        if is_short && !self.settings().read_only {
            self.make_room()?;
            return run(Seal::WhenPublished);
        }
        match run(Seal::Now) {
            // The free space was unknown, or a quota is exceeded. A poisoned handle cannot write again.
            Err(error) if error.is_disk_full() && self.log.lock().log.is_usable() => {
                self.make_room()?;
                run(Seal::WhenPublished)
            }
            done => done,
        }
    }

    /// Refuses a rewrite that copies this number of bytes if the disk has no room for them.
    ///
    /// # Errors
    /// `Io`, as for a full disk.
    pub(crate) fn check_room(&self, copied: u64) -> Result<()> {
        let needed = copied.saturating_add(SEGMENTS_BYTES);
        let Some(free) = self.disk().free_bytes().filter(|free| *free < needed) else {
            return Ok(());
        };
        let message = format!("the new log needs {needed} bytes, and {free} bytes of the disk are free");
        Err(Error::io(message, io::ErrorKind::StorageFull.into()).with_hint(
            "nothing was changed; free some space, or thin the history with `treering gc --newest 1 --keep-all 0s --yes`, then try again",
        ))
    }

    /// Removes the checkpoints, and the derived files except the last-access times, which nothing can rebuild.
    /// Removes nothing if the log is damaged, because salvage may need the checkpoints.
    fn make_room(&self) -> Result<()> {
        let mut writing = self.log.lock();
        if !writing.log.holds(&writing.log.position())? {
            return Ok(());
        }
        drop(super::end_background(self.opened(), &mut writing));
        // INVARIANT FUL-1: removes checkpoints and derived files, and nothing else.
        let mut count = store::remove_checkpoints(self.disk())?;
        let names = if_there(self.disk().list(FOLDER)).or_io(format_args!("cannot list {FOLDER}"))?;
        let names = names.unwrap_or_default().into_iter();
        for name in names.filter(|name| ![USES, USES_NEW].contains(&name.as_str())) {
            // Another process may have removed the file.
            let removed = if_there(self.disk().remove(&format!("{FOLDER}/{name}")));
            removed.or_io(format_args!("cannot remove {FOLDER}/{name}"))?;
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        // The store in memory has a checkpoint open, and an open file keeps its space.
        writing.load(&self.source)?;
        self.opened().warn(format!(
            "the disk is nearly full: removed {count} files in checkpoint/ and {FOLDER}/, which Treering rebuilds"
        ));
        Ok(())
    }
}
