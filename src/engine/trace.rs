//! Emits events of the engine for the crate `tracing`. Without the feature `tracing`, no function does anything.
//!
//! This is the only file that names `tracing`. Events have the target `treering`. docs/guide/tracing.md lists them.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - TRC-1: no event contains an id, a content, an attribute, a reason or a source. Events name sessions, operations,
//!   error codes, numbers, roots and the folder of the store.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::digest::Root;
use crate::error::Error;
use crate::store::{ChangeCounts, CommitEntry};

/// Emits an event. Without the feature, the values are checked by the compiler and not computed.
macro_rules! emit {
    ($level:ident, $message:literal, $($name:ident = $value:expr),+ $(,)?) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "treering", tracing::Level::$level, $($name = $value,)+ $message);
        #[cfg(not(feature = "tracing"))]
        uncalled(|| {
            $(_ = &$value;)+
        });
    };
}

/// Takes the closure that computes the values of an event which is not emitted.
#[cfg(not(feature = "tracing"))]
fn uncalled(_: impl FnOnce()) {}

/// The start of a call.
#[derive(Clone, Copy)]
pub(super) struct Timer(Instant);

impl Timer {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    fn micros(self) -> u64 {
        micros(self.0.elapsed())
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A store was opened or created.
pub(super) fn opened(path: Option<&Path>, mode: &str, seq: u64, objects: u64, timer: Timer) {
    let path = path.map(|path| path.display().to_string());
    emit!(
        INFO,
        "opened",
        path = path.as_deref(),
        mode = mode,
        seq = seq,
        objects = objects,
        micros = timer.micros(),
    );
}

/// The log was read into memory, when the store was opened or after another process rewrote the log. `bytes` is the size
/// of the records that were read, after the newest checkpoint if there is one.
pub(super) fn loaded(head: &CommitEntry, has_checkpoint: bool, bytes: u64, timer: Timer) {
    let from = if has_checkpoint { "checkpoint" } else { "log" };
    emit!(
        DEBUG,
        "loaded",
        from = from,
        seq = head.seq(),
        bytes = bytes,
        micros = timer.micros()
    );
}

/// A commit is as durable as the handle requires. `took` is the time of writing its group to the disk. The counts of a
/// commit that restores a known state are not known, and absent.
pub(super) fn committed(entry: &CommitEntry, counts: &ChangeCounts, took: Duration) {
    let commit = &entry.commit;
    let known = (counts.total() > 0).then_some(counts);
    emit!(
        DEBUG,
        "committed",
        seq = commit.seq,
        op = commit.op.as_str(),
        session = commit.session.as_deref(),
        actor = commit.actor.as_deref(),
        added = known.map(|counts| counts.added),
        changed = known.map(|counts| counts.changed),
        removed = known.map(|counts| counts.removed),
        root = commit.root.to_string().as_str(),
        micros = micros(took),
    );
}

/// A snapshot of the commit with this seq is as durable as a commit.
pub(super) fn snapshot(seq: u64, session: Option<&str>, root: Root) {
    emit!(
        DEBUG,
        "snapshot",
        seq = seq,
        session = session,
        root = root.to_string().as_str(),
    );
}

/// Returns a copy of a session for an event that may follow. Without the feature, copies nothing.
pub(super) fn copied(session: Option<&str>) -> Option<String> {
    session.filter(|_| cfg!(feature = "tracing")).map(str::to_owned)
}

/// A change was refused or failed, and nothing was committed.
pub(super) fn refused(op: &str, session: Option<&str>, error: &Error) {
    emit!(
        INFO,
        "refused",
        op = op,
        session = session,
        code = error.code().as_str()
    );
}

/// A write or a sync failed, so the handle refuses further writes. `batch` is the number of the newest
/// batch that is known to be written.
pub(super) fn poisoned(batch: u64) {
    emit!(ERROR, "poisoned", batch = batch);
}

/// Garbage was collected: the kept and thinned commits, and the bytes of the log before and after.
pub(super) fn collected(kept: u64, thinned: u64, bytes_before: u64, bytes: u64, timer: Timer) {
    emit!(
        INFO,
        "collected",
        kept = kept,
        thinned = thinned,
        bytes_before = bytes_before,
        bytes = bytes,
        micros = timer.micros(),
    );
}

/// A store was verified. `damage` and `derived` are numbers of findings.
pub(super) fn verified(ok: bool, commits: u64, damage: usize, derived: usize, bytes: u64, timer: Timer) {
    emit!(
        INFO,
        "verified",
        ok = ok,
        commits = commits,
        damage = damage,
        derived = derived,
        bytes = bytes,
        micros = timer.micros(),
    );
}
