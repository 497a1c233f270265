//! Checkpoints: decides when to write a checkpoint, and opens a store from the newest checkpoint.
//!
//! A checkpoint grows by files that contain what is new. A thread of the handle writes them
//! ([`Background`](super::background::Background)), so no commit waits. A handle that is being closed writes the last one
//! itself.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - A writer reads its states from the newest checkpoint instead of memory when the commits since the checkpoint in use
//!   exceed three limits: 131,072 versions (each commit counts as eight versions more), twice the objects of the state,
//!   and an eighth of all commits.
//! - A checkpoint uses 120 to 240 bytes for each object, and more if snapshots of large states differ much. To build a
//!   state that no checkpoint contains, the store reads a part of the log.
//!
//! # Invariants
//! - COV-1: a checkpoint covers only durable batches, and only a writable handle writes one.
//! - COV-2: a writer keeps the states of a limited number of its commits in memory. At the limit, it reads the states
//!   from the newest checkpoint.
//! - COV-3: the newest checkpoint lacks at most 320 MiB of records and one group, unless writing it fails: 256 MiB, and
//!   what is written until the next request is due.

use std::any::Any;
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, ErrorCode, Result};
use crate::log::{DurablePlaces, Log, LogOptions, Mode};
use crate::store::{self, Checkpoint, Cut, LogId, Reread, Store, Work};

use super::background::{Background, Finished, Job};
use crate::engine::opened::Opened;
use crate::engine::read::Source;
use crate::engine::write::LogHandle;

/// A commit asks for a checkpoint if at least this many bytes of records were written since the last request, and at least
/// this part of the log. With smaller parts, the thread would spend more time than it saves after a crash. A part is
/// never larger than the maximum, because a closing handle writes the last part itself.
const DUE_BYTES: u64 = 32 << 20;
const DUE_PART: u64 = 8;
const DUE_MAX_BYTES: u64 = 64 << 20;
/// A commit writes a checkpoint itself if the newest one lacks this many bytes of records, because the thread is too slow.
/// So the log that is read after a crash is bounded (COV-3).
const BEHIND_MAX_BYTES: u64 = 256 << 20;
/// A closing handle writes a checkpoint if at least this many bytes of records were written since the newest
/// checkpoint. Reading them when the store is opened takes about as long as the rest of the opening.
const DUE_AT_CLOSE_BYTES: u64 = 16 << 10;
/// The maximal size of the files that a closing handle absorbs, in bytes.
const ABSORBED_AT_CLOSE_BYTES: u64 = 2 << 20;

/// The minimal size of the log in bytes for an automatic search for garbage.
const COLLECT_FROM_BYTES: u64 = 8 << 20;

/// The state of the checkpoints of a handle. All sizes are values of `LogHandle::tail_bytes`, which
/// counts from the loading of the log.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// The newest checkpoint that this handle opened or wrote.
    known: Option<Checkpoint>,
    /// The size up to which `known` covers the log.
    covered_bytes: u64,
    /// The size up to which a checkpoint was requested.
    requested_bytes: u64,
    /// The size up to which the checkpoint of the store in memory covers the log.
    base_bytes: u64,
    /// The thread that writes checkpoints, from the first request on.
    background: Option<Background>,
}

impl Checkpoints {
    /// Drops a value in the thread, if there is one.
    fn drop_later(&self, unused: impl Any + Send) {
        if let Some(thread) = &self.background {
            thread.drop_later(unused);
        }
    }

    /// Starts again with the store that was loaded. The store has read nothing of the log but what follows its checkpoint.
    pub(crate) fn of(store: &Store) -> Self {
        Self {
            known: store.checkpoint(),
            ..Self::default()
        }
    }
}

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
    let (suite, sizes) = (opened.store().suite, opened.settings.sizes);
    let empty = |log: &Log| opened.settings.empty_store(log.reader());
    if !opened.settings.has_checkpoints() {
        return Ok(empty(log));
    }
    let (found, _) = store::open_newest(&*opened.disk, LogId::of(log), opened.settings.map)?;
    // Reads the log instead of a checkpoint with places that a recovery made invalid. Damage of the checkpoint itself is
    // found later, and `Base` rebuilds it.
    let is_valid = |found: &Checkpoint| !store::starts_outside(found, log).unwrap_or(false);
    let Some(checkpoint) = found.filter(is_valid) else {
        return Ok(empty(log));
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
            Ok(empty(log))
        }
        Err(error) if opened.settings.degraded && error.code() != ErrorCode::Rewritten => {
            opened.warn(format!("the newest checkpoint and the log disagree: {error}"));
            drop(opened.damage.set(error.to_string()));
            log.reopen()?;
            Ok(empty(log))
        }
        other => {
            let store = other?.with_sizes(sizes);
            store.keep_order();
            Ok(store)
        }
    }
}

/// Returns a function that makes a checkpoint from the log if the one in the files is damaged.
fn reread(opened: &Opened, log: &Log) -> Reread {
    let disk = Arc::clone(&opened.disk);
    let (suite, sizes, epoch) = (opened.store().suite, opened.settings.sizes, log.epoch());
    let options = LogOptions {
        map: opened.settings.map,
        ..LogOptions::default()
    };
    Box::new(move |id, position| {
        let mut log = open_log(&disk, Mode::ReadOnly, options)?;
        if log.epoch() != epoch {
            let message = "a checkpoint is damaged, and the log was rewritten after the checkpoint was made";
            return Err(Error::conflict(message)
                .with_code(ErrorCode::Rewritten)
                .with_hint("open the store again"));
        }
        let store = Store::new(suite, log.reader()).with_sizes(sizes);
        log.catch_up(&mut |batch| {
            if batch.number > position.batch {
                return Ok(());
            }
            store.apply(&batch, None).map(drop)
        })?;
        store.checkpoint_in_memory(id, position)
    })
}

/// Writes a checkpoint, or asks the thread to write one, if enough was committed since the newest one. A failure is only a
/// warning, because a checkpoint only saves time.
pub(crate) fn checkpoint_if_due(source: &Source, writing: &mut LogHandle, closing: bool) {
    let opened = &source.opened;
    if !opened.settings.checkpoints {
        return;
    }
    let made = if closing {
        checkpoint_at_close(source, writing)
    } else {
        checkpoint_after_commit(source, writing)
    };
    if let Err(error) = made {
        opened.warn(format!("cannot write a checkpoint: {error}"));
    }
}

fn checkpoint_at_close(source: &Source, writing: &mut LogHandle) -> Result<()> {
    let ended = end_background(&source.opened, writing);
    let due = writing.tail_bytes - writing.checkpoints.covered_bytes >= DUE_AT_CLOSE_BYTES;
    if due && can_cover(&source.opened, writing) {
        checkpoint(&source.opened, writing, ABSORBED_AT_CLOSE_BYTES)?;
    }
    ended
}

fn checkpoint_after_commit(source: &Source, writing: &mut LogHandle) -> Result<()> {
    let (opened, tail) = (&source.opened, writing.tail_bytes);
    let settings = &opened.settings;
    let finished = writing.checkpoints.background.as_ref().map(Background::finished);
    let taken = take_finished(opened, writing, finished.unwrap_or_default());
    let checkpoints = &writing.checkpoints;
    // COV-2 does not apply to a closing handle, because closing drops all states.
    let is_large = tail - checkpoints.base_bytes >= settings.checkpoint_heavy_bytes;
    let is_heavy = is_large && opened.store().is_heavy(settings.checkpoint_heavy_versions)?;
    let is_ahead = checkpoints.covered_bytes > checkpoints.base_bytes;
    if is_heavy && is_ahead {
        rest(source, writing)?;
    }
    let due = due_bytes(writing.log.batch_bytes());
    let is_due = tail - writing.checkpoints.requested_bytes >= due || (is_heavy && !is_ahead);
    if is_due && can_cover(opened, writing) {
        // After a failure, a later commit tries again.
        writing.checkpoints.requested_bytes = tail;
        if settings.has_background && !is_behind(tail, writing.checkpoints.covered_bytes) {
            request(source, writing)?;
        } else {
            // INVARIANT COV-3: the thread would be even more behind after another request.
            end_background(opened, writing)?;
            checkpoint(opened, writing, u64::MAX)?;
            if is_heavy {
                rest(source, writing)?;
            }
        }
    }
    taken
}

/// Returns how many bytes of records a commit lets be written between two requests, for a log with this many bytes.
fn due_bytes(log: u64) -> u64 {
    (log / DUE_PART).clamp(DUE_BYTES, DUE_MAX_BYTES)
}

/// Returns whether so much of the log is uncovered that a commit must wait for a checkpoint.
fn is_behind(tail: u64, covered: u64) -> bool {
    tail.saturating_sub(covered) >= BEHIND_MAX_BYTES
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

/// Replaces the store in memory by a store that reads its states from the newest checkpoint (COV-2). Open views keep their
/// states.
fn rest(source: &Source, writing: &mut LogHandle) -> Result<()> {
    let store = source.opened.store();
    let checkpoints = &mut writing.checkpoints;
    // Ignores a newer checkpoint of another process, because it contains commits that this process has not read yet.
    let read = writing.log.position().batch;
    let known = checkpoints.known.clone();
    let Some(checkpoint) = known.filter(|known| known.position().batch <= read) else {
        return Ok(());
    };
    let resting = store.on_checkpoint(checkpoint, reread(&source.opened, &writing.log))?;
    checkpoints.base_bytes = checkpoints.covered_bytes;
    source.opened.replace(resting);
    // Clears the caches, because they keep the previous store in memory.
    source.clear();
    writing.checkpoints.drop_later(store);
    Ok(())
}

/// Returns whether a checkpoint may cover every commit in memory.
fn can_cover(opened: &Opened, writing: &LogHandle) -> bool {
    // INVARIANT COV-1: a checkpoint covers only durable batches, and only a writable handle writes one.
    !opened.settings.read_only && opened.settings.suite.is_none() && writing.is_proven()
}

/// Returns the present end of the log, for a checkpoint up to it.
fn cut(opened: &Opened, writing: &mut LogHandle) -> Result<Cut> {
    // Requests one search for garbage for each doubling of the log.
    let all = writing.log.batch_bytes();
    let before = std::mem::replace(&mut writing.looked_at_bytes, all);
    writing.collect |= all >= COLLECT_FROM_BYTES && all.ilog2() > before.max(1).ilog2();
    let (log, position) = (LogId::of(&writing.log), writing.log.position());
    opened.store().cut(log, position)
}

/// Writes a checkpoint if every commit in memory is durable. The new file absorbs at most `limit` bytes. Returns whether
/// the call wrote a checkpoint.
pub(crate) fn checkpoint(opened: &Opened, writing: &mut LogHandle, limit: u64) -> Result<bool> {
    if !can_cover(opened, writing) {
        return Ok(false);
    }
    let cut = cut(opened, writing)?;
    let (all, tail) = (writing.log.batch_bytes(), writing.tail_bytes);
    let mut done = 0;
    let mut step = |bytes: u64| {
        done += bytes;
        opened.settings.tell("checkpoint", done, all);
        Ok(())
    };
    let checkpoints = &mut writing.checkpoints;
    let work = Work {
        disk: &*opened.disk,
        map: opened.settings.map,
        tail_bytes: tail - checkpoints.covered_bytes,
        limit,
        floor: 0,
        busy: None,
    };
    let store = opened.store();
    let written = store.write_checkpoint(&cut, checkpoints.known.take(), &work, &mut step)?;
    covered(&store, checkpoints, written, tail);
    checkpoints.requested_bytes = tail;
    Ok(true)
}

/// Asks the thread for a checkpoint up to the present end of the log.
fn request(source: &Source, writing: &mut LogHandle) -> Result<()> {
    let opened = &source.opened;
    let job = Job {
        store: opened.store(),
        cut: cut(opened, writing)?,
        disk: Arc::clone(&opened.disk),
        map: opened.settings.map,
        bytes: writing.tail_bytes,
    };
    let checkpoints = &mut writing.checkpoints;
    let thread = match checkpoints.background.take() {
        Some(thread) => thread,
        None => Background::start(checkpoints.known.clone(), checkpoints.covered_bytes)?,
    };
    thread.ask(job);
    checkpoints.background = Some(thread);
    Ok(())
}

/// Ends the thread that writes checkpoints, and takes over what it finished. Returns its newest failure.
pub(crate) fn end_background(opened: &Opened, writing: &mut LogHandle) -> Result<()> {
    let thread = writing.checkpoints.background.take();
    take_finished(opened, writing, thread.map(Background::end).unwrap_or_default())
}

fn take_finished(opened: &Opened, writing: &mut LogHandle, finished: Vec<Finished>) -> Result<()> {
    let mut newest = Ok(());
    for Finished { outcome, bytes } in finished {
        match outcome {
            Ok(checkpoint) => {
                covered(&opened.store(), &mut writing.checkpoints, checkpoint, bytes);
                newest = Ok(());
            }
            Err(error) => newest = Err(error),
        }
    }
    newest
}

/// Notes that a checkpoint covers the log up to a size.
fn covered(store: &Store, checkpoints: &mut Checkpoints, checkpoint: Checkpoint, bytes: u64) {
    store.forget_covered(&checkpoint);
    let before = checkpoints.known.replace(checkpoint);
    checkpoints.drop_later(before);
    checkpoints.covered_bytes = bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_due_after_an_eighth_of_the_log_within_limits() {
        let due = |log: u64| due_bytes(log << 20) >> 20;
        assert_eq!(
            [0, 100, 256, 400, 512, 1 << 20].map(due),
            [32, 32, 32, 50, 64, 64]
        );
    }

    /// INVARIANT COV-3: a commit waits for a checkpoint before the next request would leave too much uncovered.
    #[test]
    fn cov_3_a_commit_waits_if_too_much_is_uncovered() {
        let mib = 1 << 20;
        assert!(!is_behind(1_000 * mib, 800 * mib));
        assert!(is_behind(1_000 * mib, 744 * mib));
        const { assert!(DUE_MAX_BYTES < BEHIND_MAX_BYTES) };
    }
}
