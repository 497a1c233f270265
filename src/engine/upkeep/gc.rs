//! Garbage collection: thins history by a policy, and rewrites the log without the records that no kept commit needs.
//!
//! The rewrite writes the new log next to the old one while readers and writers continue. The rewrite takes the lock
//! only at its start, and to publish the new log. If a commit made meanwhile needs a record that the new log lacks, the
//! rewrite runs once more, under the lock. Threads that commit through the same handle wait until the handle has read
//! the new log.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - GC-1: a new log is published only if it contains every record that the commits made since its start need.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::error::{ErrorKind, Result};
use crate::log::{Batch, CompactionLock, Position, Rewrite, Rewritten, Seal};
use crate::object::Time;
use crate::store::{self, Erasure, KeptLines, Live, Plan, REMOTE, Sink, Store};

use super::{Retention, checkpoint_if_due, end_background};
use crate::engine::inner::Inner;
use crate::engine::memory::Memory;
use crate::engine::opened::done_anyway;
use crate::engine::settings::{CLOCK_OFF_MICROS_MAX, Settings};
use crate::engine::trace::{self, Timer};
use crate::engine::write::{LogHandle, body_bytes};

/// The number of segments that a log may have beyond twice the number that its bytes need. Above this limit, the
/// segments are merged. Each doubling of a log leaves 11 extra segments, and each recovery adds one segment.
const SEGMENTS_SMALL_MAX: u64 = 64;

/// The commits of a dropped fork stay for this time.
const DROPPED_MICROS: i64 = 7 * 24 * 3_600_000_000;

/// The result of a garbage collection, or of its preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct GcReport {
    /// The number of kept commits.
    pub kept: u64,
    /// The number of commits that this collection thinned.
    pub thinned: u64,
    /// The number of versions of objects in history before the collection.
    pub versions_before: u64,
    /// The number of versions of objects in history after the collection.
    pub versions: u64,
    /// The size of the log's batches in bytes before the collection.
    pub bytes_before: u64,
    /// The size of the log's batches in bytes after the collection.
    pub bytes: u64,
}

/// The log at the time when its rewrite began.
pub(crate) struct Cut {
    pub(crate) store: Arc<Store>,
    pub(crate) position: Position,
    /// The number of kept commits.
    pub(crate) commits: usize,
    pub(crate) bytes: u64,
}

/// The commits that a rewrite keeps.
#[derive(Default)]
pub(crate) struct Kept {
    /// The indexes of those of the main line, in rising order.
    pub(crate) commits: Vec<usize>,
    pub(crate) lines: KeptLines,
}

/// Chooses the commits to keep among those up to the cut.
pub(super) type Choose<'a> = dyn Fn(&Cut) -> Result<Kept> + 'a;

/// A new log that is not yet published, its report, the commits that it keeps, and the records that it contains.
type NewLog = (Rewritten, GcReport, Kept, Live);

impl Inner {
    /// Returns the report of a rewrite that keeps these commits. Writes nothing.
    pub(crate) fn preview(&self, cut: &Cut, kept: &Kept) -> Result<GcReport> {
        let (_, report) = self.write_kept(cut, kept, &mut |_, _| Ok(()))?;
        Ok(report)
    }

    /// Passes to `sink` the batches of a new log that keeps these commits.
    fn write_kept(&self, cut: &Cut, kept: &Kept, sink: &mut Sink<'_>) -> Result<(Live, GcReport)> {
        let live = self.mark(cut, &kept.commits, &kept.lines)?;
        let report = self.write_live(cut, &kept.commits, (&live, &kept.lines), sink)?;
        Ok((live, report))
    }

    /// Passes to `sink` the batches up to the cut of a new log that keeps these commits. Only the first `count` of the
    /// kept commits are before the cut, and the log after the cut stays.
    pub(super) fn write_first(
        &self,
        cut: &Cut,
        kept: &[usize],
        count: usize,
        sink: &mut Sink<'_>,
    ) -> Result<GcReport> {
        // The batches of a line behind the cut stay, so every line stays.
        let lines = cut.store.all_lines();
        let live = self.mark(cut, kept, &lines)?;
        self.write_live(cut, kept.get(..count).unwrap_or(kept), (&live, &lines), sink)
    }

    fn mark(&self, cut: &Cut, kept: &[usize], lines: &KeptLines) -> Result<Live> {
        let (mut done, total) = (0, cut.store.records.versions());
        let mut step = || {
            done += 1;
            self.settings().step("mark", done.min(total), total)
        };
        let mut live = cut.store.mark(kept, &mut step)?;
        cut.store.mark_lines(&mut live, lines, &mut step)?;
        live.keep_for_later(cut.position.batch);
        Ok(live)
    }

    /// Chooses the commits to keep: of the main line, and of each fork by itself.
    pub(crate) fn choose(&self, retention: &Retention, cut: &Cut, now: Time) -> Result<Kept> {
        let store = &cut.store;
        let mut lines = self.lines_to_keep(store, Some(now))?;
        store.thin_lines(&mut lines, cut.position.batch, &|line, commits, needed| {
            retention.choose(line, commits, now, needed)
        })?;
        let needed = store.needed_by_lines(&lines)?;
        let commits = retention.choose(store, 0..cut.commits, now, needed)?;
        Ok(Kept { commits, lines })
    }

    /// Returns the lines that a rewrite keeps. The commits of a fork go with a collection a week after it was dropped.
    pub(super) fn lines_to_keep(&self, store: &Arc<Store>, now: Option<Time>) -> Result<KeptLines> {
        let now = self.retention_time(store, now)?;
        store.lines_to_keep(Time::from_micros(now.as_micros().saturating_sub(DROPPED_MICROS)))
    }

    fn write_live(
        &self,
        cut: &Cut,
        kept: &[usize],
        (live, lines): (&Live, &KeptLines),
        sink: &mut Sink<'_>,
    ) -> Result<GcReport> {
        let plan = Plan {
            kept,
            live,
            erasure: &Erasure::default(),
            lines,
        };
        let (of_lines, thinned) = lines.counts();
        Ok(GcReport {
            kept: kept.len() as u64 + of_lines,
            thinned: (cut.commits - kept.len()) as u64 + thinned,
            versions_before: cut.store.records.versions(),
            versions: live.versions(),
            bytes_before: cut.bytes,
            bytes: self.copy(cut, &plan, sink)?,
        })
    }

    /// Passes to `sink` the batches that the plan keeps. Returns their size in bytes.
    pub(crate) fn copy(&self, cut: &Cut, plan: &Plan<'_>, sink: &mut Sink<'_>) -> Result<u64> {
        let (mut done, total) = (0, cut.bytes);
        cut.store.rewrite(plan, &cut.position, &mut |batch, commit| {
            done += batch.encoded_bytes();
            self.settings().step("rewrite", done.min(total), total)?;
            sink(batch, commit)
        })?;
        Ok(done)
    }
}

impl Cut {
    /// Passes to `visit` every batch up to the cut. `doing` is the name of the work, for reports of its progress.
    pub(crate) fn read(
        &self,
        settings: &Settings,
        doing: &'static str,
        visit: &mut dyn FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        let (mut done, total) = (0, self.bytes);
        self.store.read_log(self.position.batch, &mut |batch| {
            done += body_bytes(batch);
            settings.step(doing, done.min(total), total)?;
            visit(batch)
        })
    }
}

impl Inner {
    /// Returns the time relative to which commits have an age: `now` with the limit of [`Memory::gc`].
    pub(crate) fn retention_time(&self, store: &Store, now: Option<Time>) -> Result<Time> {
        if let Some(now) = now {
            return Ok(now);
        }
        let newest = newest_of(&times_of_forks(store)).max(store.head()?.commit.time.as_micros());
        let latest = Time::from_micros(newest.saturating_add(CLOCK_OFF_MICROS_MAX));
        Ok(self.settings().clock.now().min(latest))
    }

    /// Returns the time for an automatic collection. If the commits of the last day follow a gap of more than a day, a
    /// wrong clock may have dated these commits. In that case, the returned time is at most one day after the commit
    /// before the gap.
    fn proven_time(&self, store: &Store) -> Result<Time> {
        let time_of = |index: usize| -> Result<Option<i64>> {
            let commit = store.commit_at(index)?;
            Ok(commit.map(|commit| commit.commit.time.as_micros()))
        };
        let lines = times_of_forks(store);
        let newest = newest_of(&lines).max(store.head()?.commit.time.as_micros());
        // Later commits have later times (CMT-3), so a binary search finds the first commit of the last day.
        let day_ago = newest.saturating_sub(CLOCK_OFF_MICROS_MAX);
        let first = store.first_where(|entry| entry.commit.time.as_micros() > day_ago)?;
        let (old, recent): (Vec<_>, Vec<_>) = lines.into_iter().partition(|time| *time <= day_ago);
        let before = first.checked_sub(1).map_or(Ok(None), time_of)?;
        let now = self.retention_time(store, None)?;
        let Some(before) = before.into_iter().chain(old).max() else {
            return Ok(now);
        };
        let first = time_of(first)?.into_iter().chain(recent).min();
        if first.is_none_or(|first| first.saturating_sub(before) <= CLOCK_OFF_MICROS_MAX) {
            return Ok(now);
        }
        Ok(now.min(Time::from_micros(before.saturating_add(CLOCK_OFF_MICROS_MAX))))
    }

    pub(crate) fn cut(&self, writing: &LogHandle) -> Cut {
        let store = self.store();
        Cut {
            position: writing.log.position(),
            commits: store.kept(),
            bytes: writing.log.batch_bytes(),
            store,
        }
    }

    /// Rewrites the log with the commits that `choose` keeps. If another process rewrites the log, waits at most
    /// `wait`. With [`Seal::WhenPublished`], other writers wait until the rewrite is published, and it needs less room.
    pub(crate) fn rewrite(&self, choose: &Choose<'_>, wait: Duration, seal: Seal) -> Result<GcReport> {
        self.opened().check_writable()?;
        let begin = |writing: &mut LogHandle, alone: CompactionLock, seal: Seal| {
            let rewrite = writing.begin_rewrite(alone, seal)?;
            Ok((self.cut(writing), rewrite))
        };
        // Takes this lock before the mutex, because another rewriting thread may hold this lock and wait for the mutex.
        let alone = CompactionLock::take(self.disk(), wait)?;
        let under_lock = |alone: CompactionLock| {
            self.write(|writing| {
                let (cut, rewrite) = begin(writing, alone, Seal::WhenPublished)?;
                let (new, report, ..) = self.new_log(&cut, rewrite, choose)?;
                self.publish(writing, new).map(|()| report)
            })
        };
        if seal == Seal::WhenPublished {
            return under_lock(alone);
        }
        let (cut, rewrite) = self.write(|writing| begin(writing, alone, seal))?;
        let (new, report, kept, live) = self.new_log(&cut, rewrite, choose)?;
        let is_done = self.write(|writing| {
            if !self.carries(&cut, &kept, live)? {
                return Ok(false);
            }
            self.publish(writing, new).map(|()| true)
        })?;
        if is_done {
            return Ok(report);
        }
        // A commit made meanwhile needs a record that the new log lacks (GC-1), so a second rewrite runs under the
        // lock.
        under_lock(CompactionLock::take(self.disk(), wait)?)
    }

    /// Writes a new log next to the present log.
    fn new_log(&self, cut: &Cut, mut rewrite: Rewrite, choose: &Choose<'_>) -> Result<NewLog> {
        let kept = choose(cut)?;
        let mut sink = |batch, commit| rewrite.push(batch, commit).map(drop);
        let (live, report) = self.write_kept(cut, &kept, &mut sink)?;
        Ok((rewrite.finish()?, report, kept, live))
    }

    /// Replaces the log by the new log. Then reads the new log and writes its checkpoint without the lock.
    ///
    /// # Errors
    /// An error that occurs after the new log is published reports that the change took effect.
    pub(crate) fn publish(&self, writing: &mut LogHandle, rewritten: Rewritten) -> Result<()> {
        // The thread would write files of the old log after the call below.
        drop(end_background(self.opened(), writing));
        writing.publish(rewritten)?;
        // These checkpoints belong to the old log and contain digests of removed records.
        let removed = store::remove_checkpoints(self.disk());
        removed
            .map_err(|error| error.behind_change("old files remain until the next write removes them"))
            .and_then(|_| self.take_up(writing).map_err(done_anyway))
            // Poisons the handle, because its store may still contain positions in the old log, and a checkpoint made
            // from these positions would be wrong.
            .inspect_err(|_| writing.log.poison())
    }

    fn take_up(&self, writing: &mut LogHandle) -> Result<()> {
        writing.release(self.settings().exclusive);
        writing.load(&self.source)?;
        // A fork in use must not keep the old files, which may have what was erased. A dropped one says so when it is used.
        let forks: Vec<_> = self.forks.lock().values().filter_map(Weak::upgrade).collect();
        for fork in &forks {
            drop(fork.renew());
        }
        // A checkpoint covers only durable batches (COV-1). Batches that other processes appended meanwhile are known
        // to be durable only after this handle reads them under the lock.
        match writing.begin(&self.source) {
            // The rewrite is complete. A later call writes the checkpoint of the new log.
            Err(error) if error.kind() == ErrorKind::Busy => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                writing.release(self.settings().exclusive);
                checkpoint_if_due(&self.source, writing, true);
                Ok(())
            }
        }
    }

    /// Returns whether a new log with the commits `kept` and the records `live` contains every record that the commits
    /// after the cut need.
    fn carries(&self, cut: &Cut, kept: &Kept, mut live: Live) -> Result<bool> {
        let store = self.store();
        // A line that grew meanwhile may need what only thinned commits have.
        let is_other = !Arc::ptr_eq(&store, &cut.store) || store.lines_grew(cut.position.batch);
        if is_other || !store.finds_states(&kept.commits, cut.commits)? {
            return Ok(false);
        }
        let lines = &kept.lines;
        let kept: HashSet<usize> = kept.commits.iter().copied().collect();
        let mut named: Vec<_> = store
            .references()
            .kept_commits()
            .map(|(_, commit)| commit)
            .collect();
        let mut newer = vec![cut.commits - 1];
        for index in cut.commits..store.kept() {
            newer.push(index);
            let Some(entry) = store.commit_at(index)? else {
                continue;
            };
            named.extend(entry.commit.target);
            named.extend(entry.commit.parents.iter().skip(1));
        }
        for commit in named {
            if lines.thins(&commit) {
                return Ok(false);
            }
            let Some(entry) = store.by_digest(commit)? else {
                continue;
            };
            let index = store.position(entry.seq())?;
            if !index.is_ok_and(|index| index >= cut.commits || kept.contains(&index)) {
                return Ok(false);
            }
        }
        store.mark_behind(&mut live, &newer, cut.position.batch)
    }
}

/// Returns the times at which forks were made and last changed. The main line may rest while forks are written.
fn times_of_forks(store: &Store) -> Vec<i64> {
    let lines = store.lines();
    let forks = lines.iter().filter(|line| !line.name.starts_with(REMOTE));
    let times = forks.flat_map(|line| [line.created, line.time]);
    times.map(Time::as_micros).collect()
}

fn newest_of(times: &[i64]) -> i64 {
    times.iter().copied().max().unwrap_or(i64::MIN)
}

impl Memory {
    /// Thins history by `retention` and frees the space of records that no kept commit needs. Other processes may read
    /// and write meanwhile, and open views stay readable. Also deletes changes that were kept under `rejected/` for
    /// more than 7 days.
    ///
    /// The age of a commit is the time from the commit to `now`; `None` means the clock's time. `now` is limited to a
    /// day after the newest commit, so a wrong clock cannot thin recent commits.
    ///
    /// # Errors
    /// `Busy` if another process collects or holds the lock. `Corrupt` if kept data is damaged; the log stays
    /// unchanged. `Io` and `Poisoned` if a file cannot be read or written.
    ///
    /// # Durability
    /// After a crash, the store has either the complete old log or the complete new log.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// use treering::upkeep::Retention;
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// for name in ["one", "two", "three"] {
    ///     memory.put(NewObject::new(Id::new(name)?, Kind::new("fact")?), &Writer::user())?;
    /// }
    /// // Keeps the default ages, except that no commit is kept only because it is young.
    /// let mut retention = Retention::default();
    /// retention.all = Duration::ZERO;
    /// let foreseen = memory.gc_preview(&retention, None)?;
    /// let report = memory.gc(&retention, None)?;
    /// assert_eq!(report.kept, foreseen.kept);
    /// assert!(memory.view().contains(&Id::new("one")?)?, "the newest state is whole");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn gc(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        let timer = Timer::start();
        self.inner.check_main()?;
        self.inner.opened().check_writable()?;
        self.inner.refresh()?;
        let time = |store: &Store| self.inner.retention_time(store, now);
        let choose = |cut: &Cut| self.inner.choose(retention, cut, time(&cut.store)?);
        self.inner.with_room(|seal| {
            match self.inner.drop_old_rejected(time(&self.inner.store())?) {
                // The next collection drops them.
                Err(error) if error.is_disk_full() && seal == Seal::WhenPublished => {}
                dropped => dropped?,
            }
            let report = match seal {
                Seal::Now => self.inner.rewrite(&choose, self.inner.settings().wait, seal)?,
                Seal::WhenPublished => self.inner.collect_in_room(&choose)?,
            };
            trace::collected(
                report.kept,
                report.thinned,
                report.bytes_before,
                report.bytes,
                timer,
            );
            Ok(report)
        })
    }

    /// Returns the report that [`Self::gc`] would return. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::gc`].
    pub fn gc_preview(&self, retention: &Retention, now: Option<Time>) -> Result<GcReport> {
        self.inner.check_main()?;
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        let time = self.inner.retention_time(&cut.store, now)?;
        let kept = self.inner.choose(retention, &cut, time)?;
        self.inner.preview(&cut, &kept)
    }

    /// Collects garbage if a collection is due and would free more than half of the log. Merges segments if the log has
    /// far more segments than it needs. A failure only adds a warning, because a failure loses no data. Does nothing
    /// while another process rewrites the log.
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
            opened.warn(format!("cannot collect the garbage of the log: {error}"));
        }
    }

    /// Rewrites the log if recoveries left many small segments, because every handle keeps all segments open. Does
    /// nothing while the disk has less free space than twice the size of the log.
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
            let everything = Retention::everything();
            let all = |cut: &Cut| self.inner.choose(&everything, cut, now);
            self.inner.rewrite(&all, Duration::ZERO, Seal::Now)?;
        }
        Ok(())
    }

    fn collect(&self, retention: &Retention) -> Result<()> {
        let store = self.inner.store();
        let now = self.inner.proven_time(&store)?;
        // Automatic retention keeps every recent commit. So the store has no garbage if the oldest commit is recent.
        let oldest = store.commit_at(0)?;
        if oldest.is_none_or(|oldest| retention.keeps_young(oldest.commit.time, now)) {
            return Ok(());
        }
        let preview = self.gc_preview(retention, Some(now))?;
        if preview.bytes < preview.bytes_before / 2 {
            self.inner.drop_old_rejected(now)?;
            let choose = |cut: &Cut| self.inner.choose(retention, cut, now);
            self.inner.rewrite(&choose, Duration::ZERO, Seal::Now)?;
        }
        Ok(())
    }
}
