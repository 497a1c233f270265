//! Garbage collection on a nearly full disk: collects the oldest segments first, as many as the disk has room for.
//!
//! A collection writes the log anew, so it needs the room of all that its policy keeps. If the disk lacks that room, this
//! module writes only the oldest segments anew, and leaves later segments as they are. That frees room for the next part.
//! If the policy keeps everything, there is nothing to free, and nothing is written.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - FUL-3: a collection that has no room for its whole new log frees what it can, and reports what frees more. It fails
//!   only if it can free nothing of what its policy drops. A log with forks is only collected as a whole.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::log::{CompactionLock, OldSegment, Position, Rewrite, Seal};
use crate::store::Store;

use super::Cut;
use super::gc::{Choose, GcReport};
use super::room::SEGMENTS_BYTES;
use crate::engine::inner::Inner;
use crate::engine::write::LogHandle;

/// A part that frees fewer bytes is not worth a rewrite.
const FREED_LEAST: u64 = 16 << 10;

/// The oldest segments of a log, and the commits of the log to keep.
struct Part {
    segments: usize,
    cut: Cut,
    /// The indexes of the kept commits. The first `kept_in` of them are in these segments.
    kept: Vec<usize>,
    kept_in: usize,
    report: GcReport,
}

impl Inner {
    /// Collects garbage under the lock, in parts if the disk has no room for the whole new log.
    ///
    /// # Errors
    /// The errors of [`crate::Memory::gc`]. `Io`, as for a full disk, if nothing can be freed although the policy drops
    /// something.
    pub(super) fn collect_in_room(&self, choose: &Choose<'_>) -> Result<GcReport> {
        let before = self.measure(choose)?;
        let policy = before.bytes_before.saturating_sub(before.bytes);
        if self.has_room(before.bytes) {
            return self.rewrite(choose, self.settings().wait, Seal::WhenPublished);
        }
        if policy < FREED_LEAST {
            let text = "the policy keeps all that the log contains, so nothing was freed: a shorter policy, such as `treering gc --newest 1 --keep-all 0s --yes`, may free more";
            self.opened().warn(text.to_owned());
            return Ok(GcReport {
                kept: before.kept + before.thinned,
                thinned: 0,
                versions: before.versions_before,
                bytes: before.bytes_before,
                ..before
            });
        }
        let mut freed = 0;
        while let Some(part) = self.collect_part(choose)? {
            freed += part;
        }
        let rest = self.measure(choose)?;
        let left = rest.bytes_before.saturating_sub(rest.bytes);
        if freed == 0 {
            self.check_room(rest.bytes)?;
        }
        if left >= FREED_LEAST {
            let needed = rest.bytes.saturating_add(SEGMENTS_BYTES);
            self.opened().warn(format!(
                "the disk has no room to collect all: {left} bytes more can be freed when {needed} bytes are free"
            ));
        }
        Ok(GcReport {
            kept: rest.kept + rest.thinned,
            thinned: (before.kept + before.thinned).saturating_sub(rest.kept + rest.thinned),
            versions: rest.versions_before,
            bytes: rest.bytes_before,
            ..before
        })
    }

    fn has_room(&self, bytes: u64) -> bool {
        let free = self.disk().free_bytes();
        free.is_none_or(|free| free >= bytes.saturating_add(SEGMENTS_BYTES))
    }

    /// Returns the report of a collection of the whole log.
    fn measure(&self, choose: &Choose<'_>) -> Result<GcReport> {
        let cut = self.cut(&self.log.lock());
        self.preview(&cut, &choose(&cut)?)
    }

    /// Writes the oldest segments anew. Returns the number of freed bytes, or `None` if no part fits and frees enough.
    fn collect_part(&self, choose: &Choose<'_>) -> Result<Option<u64>> {
        let alone = CompactionLock::take(self.disk(), self.settings().wait)?;
        self.write(|writing| {
            let wanted = choose(&self.cut(writing))?.commits;
            let Some(part) = self.largest_part(writing, &wanted)? else {
                return Ok(None);
            };
            let rewrite = writing.begin_rewrite(alone, Seal::WhenPublished)?;
            let freed = part.report.bytes_before - part.report.bytes;
            self.write_part(writing, &part, rewrite)?;
            Ok(Some(freed))
        })
    }

    fn write_part(&self, writing: &mut LogHandle, part: &Part, mut rewrite: Rewrite) -> Result<()> {
        rewrite.limit(part.segments, part.cut.position.commit)?;
        let mut sink = |batch, commit| rewrite.push(batch, commit).map(drop);
        self.write_first(&part.cut, &part.kept, part.kept_in, &mut sink)?;
        self.publish(writing, rewrite.finish()?)
    }

    /// Returns the part with the most segments whose new log fits on the disk and frees enough.
    fn largest_part(&self, writing: &LogHandle, wanted: &[usize]) -> Result<Option<Part>> {
        let segments = writing.log.old_segments();
        // Batch numbers may be skipped only once, so a part contains all segments of the last rewrite.
        let gap = segments
            .windows(2)
            .rposition(|pair| pair[0].last_batch + 1 != pair[1].first_batch);
        let (mut low, mut high) = (gap.map_or(0, |gap| gap + 1), segments.len());
        let mut best = None;
        while low < high {
            let count = low + (high - low).div_ceil(2);
            let part = self.part(&segments[..count], wanted)?;
            match part.filter(|part| self.has_room(part.report.bytes)) {
                Some(part) => {
                    low = count;
                    best = Some(part);
                }
                None => high = count - 1,
            }
        }
        Ok(best.filter(|part| part.report.bytes + FREED_LEAST <= part.report.bytes_before))
    }

    /// Measures the collection of these segments. Returns `None` if they contain no commit, or if later commits need the
    /// state of a thinned one.
    fn part(&self, segments: &[OldSegment], wanted: &[usize]) -> Result<Option<Part>> {
        let store = self.store();
        // FUL-3: later batches of a line may need any older state.
        let last = segments.last().filter(|_| !store.has_lines());
        let Some(last) = last else {
            return Ok(None);
        };
        let commits = store.first_where(|entry| entry.batch > last.last_batch)?;
        let newest = commits
            .checked_sub(1)
            .map(|index| store.commit_at(index))
            .transpose()?
            .flatten();
        let Some(newest) = newest else {
            return Ok(None);
        };
        let mut kept: BTreeSet<usize> = wanted.iter().copied().chain(commits - 1..store.kept()).collect();
        kept.extend(targets_behind(&store, commits)?);
        let kept: Vec<usize> = kept.into_iter().collect();
        let kept_in = kept.partition_point(|index| *index < commits);
        if !store.finds_states(&kept[..kept_in], commits)? {
            return Ok(None);
        }
        let cut = Cut {
            position: Position {
                segment: last.id,
                offset: last.bytes,
                batch: last.last_batch,
                digest: last.last_digest,
                commit: newest.digest,
            },
            commits,
            bytes: segments.iter().map(OldSegment::batch_bytes).sum(),
            store,
        };
        let report = self.write_first(&cut, &kept, kept_in, &mut |_, _| Ok(()))?;
        Ok(Some(Part {
            segments: segments.len(),
            cut,
            kept,
            kept_in,
            report,
        }))
    }
}

/// Returns the indexes of the commits before `commits` that later commits name as a target.
fn targets_behind(store: &Store, commits: usize) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for index in commits..store.kept() {
        let target = store.commit_at(index)?.and_then(|entry| entry.commit.target);
        let Some(entry) = target
            .map(|target| store.by_digest(target))
            .transpose()?
            .flatten()
        else {
            continue;
        };
        let position = store.position(entry.seq())?;
        found.extend(position.ok().filter(|position| *position < commits));
    }
    Ok(found)
}
