//! Checkpoints: decides when to write a checkpoint, and opens a store from the newest checkpoint.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - A writer writes a checkpoint when the commits since the newest checkpoint exceed three limits: 131,072 versions
//!   (each commit counts as eight versions more), twice the objects of the state, and an eighth of all commits.
//! - Two checkpoints use about 116 bytes for each object, and more if snapshots of large states differ much. To build a
//!   state that no checkpoint contains, the store reads a part of the log.
//!
//! # Invariants
//! - COV-1: a checkpoint covers only durable batches, and only a writable handle writes one.
//! - COV-2: a writer keeps the states of a limited number of its commits in memory. At the limit, it writes a
//!   checkpoint and reads the states from the checkpoint.

use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, ErrorCode, Result};
use crate::log::{DurablePlaces, Log, LogOptions, Mode};
use crate::store::{self, Checkpoint, LogId, Reread, Store};

use crate::engine::opened::Opened;
use crate::engine::read::Source;
use crate::engine::write::LogHandle;

/// A commit writes a checkpoint if at least this many bytes of records were written since the newest checkpoint.
const DUE_BYTES: u64 = 4 << 20;
/// A closing handle writes a checkpoint if at least this many bytes of records were written since the newest
/// checkpoint.
const DUE_AT_CLOSE_BYTES: u64 = 256 << 10;

/// The minimal size of the log in bytes for an automatic search for garbage.
const COLLECT_FROM_BYTES: u64 = 8 << 20;

/// Returns a function that lists the positions up to which the checkpoints prove a log durable. A log uses the function
/// even if the store is not opened from a checkpoint.
pub(crate) fn places_of(disk: &Arc<dyn Disk>) -> Arc<DurablePlaces> {
    let disk = Arc::clone(disk);
    Arc::new(move |log| store::checkpoint_positions(&*disk, LogId::of(log), log.reads_only()))
}

/// Opens a log that treats the positions of its checkpoints as durable.
pub(crate) fn open_log(disk: &Arc<dyn Disk>, mode: Mode, options: LogOptions) -> Result<Log> {
    let mut log = Log::open(Arc::clone(disk), mode, options)?;
    log.ask_places(places_of(disk));
    Ok(log)
}

/// Opens a store from the newest checkpoint, and positions `log` after the checkpoint. Returns an empty store if there
/// is no checkpoint.
pub(crate) fn newest_store(opened: &Opened, log: &mut Log) -> Result<Store> {
    let suite = opened.store().suite;
    // A checkpoint cannot contain the collisions of a test's hash suite.
    if !opened.settings.checkpoints || opened.settings.suite.is_some() {
        return Ok(Store::new(suite, log.reader()));
    }
    let (found, _) = store::open_newest(&*opened.disk, LogId::of(log), opened.settings.map)?;
    // Reads the log instead of a checkpoint with places that a recovery made invalid. Damage of the checkpoint itself is
    // found later, and `Base` rebuilds it.
    let is_valid = |found: &Checkpoint| !store::starts_outside(found, log).unwrap_or(false);
    let Some(checkpoint) = found.filter(is_valid) else {
        return Ok(Store::new(suite, log.reader()));
    };
    let (reread, position) = (reread(opened, log), checkpoint.position());
    let started = log
        .start_at(&position)
        .and_then(|()| Store::with_checkpoint(suite, log.reader(), checkpoint, reread));
    match started {
        // The log is undamaged. A recovery, which did not know this checkpoint, moved the end of the log. So the store
        // ignores the checkpoint.
        Err(error) if error.is_corruption() && log.holds(&position)? => {
            log.reopen()?;
            Ok(Store::new(suite, log.reader()))
        }
        Err(error) if opened.settings.degraded && error.code() != ErrorCode::Rewritten => {
            opened.warn(format!("the newest checkpoint and the log disagree: {error}"));
            drop(opened.damage.set(error.to_string()));
            log.reopen()?;
            Ok(Store::new(suite, log.reader()))
        }
        other => other,
    }
}

/// Returns a function that builds a store from the log if the checkpoint is damaged.
fn reread(opened: &Opened, log: &Log) -> Reread {
    let disk = Arc::clone(&opened.disk);
    let (suite, epoch) = (opened.store().suite, log.epoch());
    let options = LogOptions {
        map: opened.settings.map,
        ..LogOptions::default()
    };
    Box::new(move |upto| {
        let mut log = open_log(&disk, Mode::ReadOnly, options)?;
        if log.epoch() != epoch {
            let message = "a checkpoint is damaged, and the log was rewritten after the checkpoint was made";
            return Err(Error::conflict(message)
                .with_code(ErrorCode::Rewritten)
                .with_hint("open the store again"));
        }
        let store = Store::new(suite, log.reader());
        log.catch_up(&mut |batch| {
            if batch.number > upto {
                return Ok(());
            }
            store.apply(&batch, None).map(drop)
        })?;
        Ok(store)
    })
}

/// Writes a checkpoint if enough was committed since the newest checkpoint. A failure is only a warning, because a
/// checkpoint only saves time.
pub(crate) fn checkpoint_if_due(source: &Source, writing: &mut LogHandle, closing: bool) {
    let opened = &source.opened;
    if !opened.settings.checkpoints {
        return;
    }
    let (tail, all) = (writing.tail_bytes, writing.log.batch_bytes());
    let covered = all.saturating_sub(tail);
    // COV-2 does not apply to a closing handle, because closing drops all states.
    let settings = &opened.settings;
    let is_heavy = || opened.store().is_heavy(settings.checkpoint_heavy_versions);
    let heavy = !closing && tail >= settings.checkpoint_heavy_bytes && is_heavy().unwrap_or_default();
    let due = if closing {
        tail >= DUE_AT_CLOSE_BYTES.max(covered / 16)
    } else {
        tail >= DUE_BYTES.max(covered)
    };
    if !(due || heavy) {
        return;
    }
    let made = match checkpoint(opened, writing) {
        Ok(true) if heavy => rest(source, writing),
        other => other.map(drop),
    };
    if let Err(error) = made {
        opened.warn(format!("cannot write a checkpoint: {error}"));
        // Resets the count after a failure, so that not every later commit tries again.
        writing.tail_bytes = 0;
    }
}

/// Removes the checkpoints that an interrupted rewrite left, because they contain digests of erased records. The caller
/// holds the lock and has read the newest log, which does not need these checkpoints.
pub(crate) fn remove_outdated(opened: &Opened, writing: &mut LogHandle) {
    if writing.is_tidy {
        return;
    }
    match store::remove_outdated_checkpoints(&*opened.disk, LogId::of(&writing.log)) {
        Ok(_) => writing.is_tidy = true,
        Err(error) => opened.warn(format!(
            "cannot remove old checkpoints, which may contain digests of erased content: {error}"
        )),
    }
}

/// Replaces the store in memory by a store that reads its states from the new checkpoint (COV-2). Open views keep their
/// states.
fn rest(source: &Source, writing: &LogHandle) -> Result<()> {
    let (log, store) = (&writing.log, source.opened.store());
    let (found, _) = store::open_newest(&*source.opened.disk, LogId::of(log), source.opened.settings.map)?;
    // Ignores a newer checkpoint of another process, because it contains commits that this process has not read yet.
    let Some(checkpoint) = found.filter(|found| found.position() == log.position()) else {
        return Ok(());
    };
    let resting = Store::with_checkpoint(store.suite, log.reader(), checkpoint, reread(&source.opened, log))?;
    source.opened.replace(resting);
    // Clears the caches, because they keep the previous store in memory.
    source.clear();
    Ok(())
}

/// Writes a checkpoint if every commit in memory is durable. Returns whether the call wrote a checkpoint.
pub(crate) fn checkpoint(opened: &Opened, writing: &mut LogHandle) -> Result<bool> {
    // INVARIANT COV-1: a checkpoint covers only durable batches, and only a writable handle writes one.
    if opened.settings.read_only || opened.settings.suite.is_some() || !writing.is_proven() {
        return Ok(false);
    }
    let all = writing.log.batch_bytes();
    let mut done = 0;
    let mut step = |bytes: u64| {
        done += bytes;
        opened.settings.tell("checkpoint", done, all);
        Ok(())
    };
    // Requests one search for garbage for each doubling of the log.
    let before = std::mem::replace(&mut writing.looked_at_bytes, all);
    writing.collect |= all >= COLLECT_FROM_BYTES && all.ilog2() > before.max(1).ilog2();
    let (log, position) = (LogId::of(&writing.log), writing.log.position());
    opened
        .store()
        .write_checkpoint(&*opened.disk, log, position, &mut step)?;
    writing.tail_bytes = 0;
    Ok(true)
}
