//! Salvage: writes a new store with all undamaged data of a damaged store.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - Salvage reads all segments two or three times, and uses about 1 KB of memory for each version and 2 KB for each
//!   commit. Salvage does not follow symlinks.
//!
//! # Invariants
//! - SLV-1: salvage only reads the damaged store. Salvage verifies the new store before it renames it to its final
//!   name.
//! - SLV-2: salvage removes only the unfinished output of a salvage: a folder with its mark, or an empty folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::disk::{Access, Disk, FileDisk, LockGuard, lock_within};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{BatchBuilder, DamagedLog, Durability, HeadMark, Log, LogOptions, WriteLock};
use crate::store::{self, SalvageReport};

use super::{VerifyDepth, examine};
use crate::engine::options::Options;

/// The file that marks the folder of a running salvage; the salvage keeps the file locked.
const MARK: &str = "salvage.lock";

/// The suffix of the new store's name while salvage writes it.
const UNFINISHED: &str = ".salvage";

/// Returns the temporary path of the new store.
fn unfinished(to: &Path) -> Result<PathBuf> {
    let name = to.file_name();
    let name = name.ok_or_else(|| Error::invalid(format!("{} is not a valid folder name", to.display())))?;
    if name.as_encoded_bytes().ends_with(UNFINISHED.as_bytes()) {
        let message = format!(
            "{} has the suffix {UNFINISHED} of an unfinished salvage",
            to.display()
        );
        return Err(Error::invalid(message)
            .with_hint("choose another name, because a later salvage might remove this folder"));
    }
    let mut unfinished = name.to_owned();
    unfinished.push(UNFINISHED);
    Ok(to.with_file_name(unfinished))
}

fn exists(path: &Path, what: &str, hint: &str) -> Error {
    Error::invalid(format!("{what} {}", path.display()))
        .with_code(ErrorCode::Exists)
        .with_hint(hint)
}

/// Creates the temporary folder of a new store, with its mark. First removes the unfinished output of an interrupted
/// salvage.
fn begin(path: &Path) -> Result<(Arc<FileDisk>, Box<dyn LockGuard>)> {
    let foreign = || {
        let hint = "no salvage created this folder: move it away, or choose another target";
        exists(path, "the temporary folder exists already:", hint)
    };
    if let Ok(found) = path.symlink_metadata() {
        // INVARIANT SLV-2: salvage removes only the unfinished output of a salvage: a folder with its mark, or an empty
        // folder.
        let disk = found.is_dir().then(|| FileDisk::open(path)).transpose()?;
        // An empty folder may come from a salvage that was interrupted before it created its mark.
        let is_empty = |disk: &FileDisk| disk.list("").is_ok_and(|names| names.is_empty());
        let disk = disk.filter(|disk| disk.open(MARK, Access::Read).is_ok() || is_empty(disk));
        let disk = disk.ok_or_else(foreign)?;
        let held = lock_within(&disk, MARK, Duration::ZERO)?;
        if path.symlink_metadata().is_err() {
            // Another salvage finished and renamed the store meanwhile. Taking the lock created the mark in that store
            // again, so this call removes the mark.
            drop(disk.remove(MARK));
        }
        FileDisk::remove_folder(path, MARK)?;
        drop(held);
    }
    let disk = FileDisk::create(path)?;
    let mark = lock_within(&disk, MARK, Duration::ZERO)?;
    let names = disk.list("");
    if names.map_err(|error| Error::io(format!("cannot list {}", path.display()), error))? != [MARK] {
        return Err(foreign());
    }
    Ok((Arc::new(disk), mark))
}

/// Removes the mark from a renamed store, even if syncing the new name failed. `named` is the result of that sync. If
/// the mark stayed, a later salvage might remove the folder.
fn take_mark_off(disk: &dyn Disk, unfinished: &Path, named: Result<()>) -> Result<()> {
    if unfinished.symlink_metadata().is_err() {
        // An error is ignored, because the store is complete even with the mark.
        drop(disk.remove(MARK).and_then(|()| disk.sync_dir("")));
    }
    named
}

/// Writes the new store and verifies it.
pub(crate) fn write(damaged: &DamagedLog, disk: &Arc<dyn Disk>, options: &Options) -> Result<SalvageReport> {
    let options = &options.settings;
    let total = damaged.bytes();
    let mut step = |doing: &'static str, done: u64| {
        options.check_stop()?;
        options.tell(doing, done, total);
        Ok(())
    };
    let log_options = LogOptions {
        segment_bytes_max: u64::from(options.segment_bytes_max),
        ..LogOptions::default()
    };
    let mut target: Option<(Log, WriteLock)> = None;
    let mut put = |batch: BatchBuilder, head: HeadMark| {
        let Some((log, lock)) = &mut target else {
            let hash = damaged.suite().algorithm();
            let mut log = Log::create(Arc::clone(disk), hash, batch, head, log_options)?;
            let lock = log.lock(Duration::ZERO)?;
            log.prepare(&lock, &mut |_| Ok(()))?;
            target = Some((log, lock));
            return Ok(());
        };
        if batch.has_line() {
            log.declare_lines(lock)?;
        }
        log.append(lock, vec![(batch, head)], Durability::Later).map(drop)
    };
    let mut saved = store::salvage(damaged, options.clock.now(), &mut put, &mut step)?;
    let (mut log, lock) = target.ok_or_else(|| Error::internal("salvage wrote nothing"))?;
    log.sync(&lock)?;
    drop((log, lock));
    saved.unsure.extend(damaged.written_meanwhile()?);
    // INVARIANT SLV-1: salvage only reads the damaged store.
    let verified = examine(disk, options, VerifyDepth::Full, None)?;
    match verified.damage.first() {
        None => Ok(saved),
        Some(found) => {
            let message = format!("the salvaged store fails verification: {}", found.damage);
            Err(Error::internal(message))
        }
    }
}

/// Reads the damaged store in the folder `from`, and writes all data that still verifies to a new store in the
/// folder `to`. Leaves `from` unchanged. Works without the manifest and the format file of `from`.
///
/// A commit keeps its digest if its state is still known. A last commit with the operation `salvage` contains the
/// objects that could be saved from the other commits. In the state of that last commit, an id that a lost commit
/// changed may have an earlier version.
///
/// # Errors
/// `InvalidInput` (code `exists`) if `to` exists, or if a file or folder that no salvage created has the temporary name
/// of `to`. `InvalidInput` if `to` is within `from` or ends with `.salvage`. `Busy` if another salvage writes to `to`.
/// `NotFound` if `from` has no store. `Corrupt` if nothing can be salvaged. `Io` if a file cannot be read or written.
/// After an error, `to` does not exist. The only exception is a failed sync of the name `to`: in that case, `to` is the
/// complete new store.
///
/// # Durability
/// After a crash, the new store is complete or does not exist.
pub fn salvage_store(
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
        return Err(Error::invalid(message).with_hint(
            "choose a folder outside the damaged store, because salvage never writes into that store",
        ));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sim_disk::{CrashImage, SimDisk};

    #[test]
    fn the_mark_is_off_for_good_wherever_the_store_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let unfinished = folder.path().join("a.salvage");
        let marked = |named: Result<()>| {
            let disk = SimDisk::new(1);
            disk.create(MARK).unwrap().sync().unwrap();
            disk.sync_dir("").unwrap();
            let told = take_mark_off(&disk, &unfinished, named);
            let files = disk.crash_image(CrashImage::Nothing).files();
            (told.is_err(), files.contains_key(MARK))
        };
        assert_eq!(marked(Ok(())), (false, false));
        assert_eq!(marked(Err(Error::internal("not synced"))), (true, false));
        std::fs::create_dir(&unfinished).unwrap();
        assert_eq!(marked(Err(Error::internal("not renamed"))), (true, true));
    }
}
