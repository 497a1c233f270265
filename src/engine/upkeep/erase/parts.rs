//! The segments that an erasure writes anew, and the parts in which it erases when the disk has too little room.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - ERA-3: an erasure that keeps segments writes anew each segment that contains an erased record, or bytes after its last
//!   batch.
//! - ERA-4: an erasure in parts erases the current versions, and what only they need, in the last part. So every part
//!   leaves a complete state.

use std::collections::{BTreeMap, BTreeSet};

use crate::digest::DIGEST_LEN;
use crate::error::{Error, Result};
use crate::log::{BatchBuilder, OldSegment, Rewrite};
use crate::store::Erasure;

use super::ErasedReport;
use crate::engine::inner::Inner;
use crate::engine::upkeep::{Cut, room::SEGMENTS_BYTES};
use crate::engine::write::LogHandle;

type Digest = [u8; DIGEST_LEN];

/// The segments of the log, and those that contain the records to erase.
pub(super) struct Places {
    segments: Vec<OldSegment>,
    /// The segments that contain each digest.
    by_digest: BTreeMap<Digest, BTreeSet<u64>>,
    /// The segments with bytes after their last batch, which may be copies of erased records.
    tails: BTreeSet<u64>,
}

impl Places {
    /// Returns the number of bytes that an erasure of all these records copies at most.
    fn bytes(&self) -> u64 {
        self.bytes_of(&self.anew())
    }

    fn anew(&self) -> BTreeSet<u64> {
        let holders = self.by_digest.values().flatten();
        holders.chain(&self.tails).copied().collect()
    }

    fn bytes_of(&self, ids: &BTreeSet<u64>) -> u64 {
        let anew = self.segments.iter().filter(|segment| ids.contains(&segment.id));
        anew.map(|segment| segment.bytes).sum()
    }

    /// Returns the digests that can be erased with a copy of at most `room` bytes. Omits the digests in `last`.
    fn within(&self, room: u64, last: &BTreeSet<Digest>) -> BTreeSet<Digest> {
        let (mut anew, mut chosen) = (self.tails.clone(), BTreeSet::new());
        // Digests of one segment are neighbours in this order, so a part fills as few segments as possible.
        let mut order: Vec<_> = self
            .by_digest
            .iter()
            .filter(|(digest, _)| !last.contains(*digest))
            .collect();
        order.sort_by_key(|(_, ids)| ids.iter().next().copied());
        for (digest, ids) in order {
            let with: BTreeSet<u64> = anew.union(ids).copied().collect();
            if self.bytes_of(&with) <= room {
                anew = with;
                chosen.insert(*digest);
            }
        }
        chosen
    }
}

impl Inner {
    /// Finds the segments of the records to erase. Reads the whole log, because the log may contain copies.
    fn places(&self, writing: &LogHandle, report: &ErasedReport) -> Result<Places> {
        let wanted: BTreeSet<Digest> = report.records.iter().map(|record| record.digest).collect();
        let cut = self.cut(writing);
        let mut by_digest: BTreeMap<Digest, BTreeSet<u64>> = BTreeMap::new();
        cut.read(self.settings(), "search", &mut |batch| {
            for record in &batch.records {
                if let Some(digest) = cut
                    .store
                    .erasable(record)
                    .filter(|digest| wanted.contains(digest))
                {
                    by_digest
                        .entry(digest)
                        .or_default()
                        .insert(record.locator.segment());
                }
            }
            Ok(())
        })?;
        let segments = writing.log.old_segments();
        let mut tails = BTreeSet::new();
        for segment in &segments {
            if writing.log.has_tail(segment)? {
                tails.insert(segment.id);
            }
        }
        Ok(Places {
            segments,
            by_digest,
            tails,
        })
    }

    /// Reduces the erasure to the records that the disk has room for. Returns the segments to write anew, or `None` for
    /// the whole log, and whether the erasure is complete.
    ///
    /// # Errors
    /// `Io`, as for a full disk, if there is room for none of the records.
    pub(super) fn as_room_allows(
        &self,
        writing: &LogHandle,
        mut report: ErasedReport,
    ) -> Result<(ErasedReport, Option<Places>, bool)> {
        let whole = writing.log.batch_bytes().saturating_sub(report.bytes());
        let room = self
            .disk()
            .free_bytes()
            .map(|free| free.saturating_sub(SEGMENTS_BYTES));
        let Some(room) = room.filter(|room| *room < whole) else {
            return Ok((report, None, true));
        };
        let mut places = self.places(writing, &report)?;
        if room >= places.bytes() {
            return Ok((report, Some(places), true));
        }
        // INVARIANT ERA-4: the current versions are erased last.
        let part = places.within(room, &report.current);
        if part.is_empty() {
            self.check_room(places.bytes())?;
        }
        report.records.retain(|record| part.contains(&record.digest));
        report.unlinked.clear();
        report.ids.clear();
        places.by_digest.retain(|digest, _| part.contains(digest));
        Ok((report, Some(places), false))
    }

    /// Passes to `rewrite` the log without the erased records. Leaves out the last segment, which contains an empty batch.
    pub(super) fn copy_without(
        &self,
        cut: &Cut,
        erasure: &Erasure,
        places: &Places,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let anew = places.anew();
        let mut old = places.segments.iter();
        let mut current: Option<&OldSegment> = None;
        cut.read(self.settings(), "rewrite", &mut |batch| {
            while current.is_none_or(|segment| segment.last_batch < batch.number) {
                let Some(segment) = old.next() else {
                    // The empty batch that the commit of the erasure replaces.
                    return Ok(());
                };
                current = Some(segment);
                // INVARIANT ERA-3: a segment with an erased record is written anew.
                if anew.contains(&segment.id) {
                    rewrite.replace()?;
                } else {
                    rewrite.keep()?;
                }
            }
            if current.is_some_and(|segment| anew.contains(&segment.id)) {
                let mut builder = BatchBuilder::new();
                for record in &batch.records {
                    let marker = cut.store.erasure_marker(record, erasure);
                    let record = marker.as_ref().unwrap_or(record);
                    builder.add(record.kind, record.flags, &record.body);
                }
                rewrite.push(builder, batch.commit)?;
            }
            Ok(())
        })?;
        if old.next().is_some() {
            return Err(Error::internal("a segment of the log contains no batch"));
        }
        // The segment of the empty batch.
        rewrite.replace()
    }
}
