//! Indexes all valid records of a damaged log by digest.
//!
//! # Layer
//! Layer 4. Part of salvage/. Stores locators, and does not load the bodies of records into memory.
//!
//! # Invariants
//! - SVI-1: salvage ignores a record that is older than its erasure.
//! - SVI-3: a commit of a fork is never taken for one of the main line: its batch has the record of a line. In a store with
//!   forks, the commit of a damaged batch counts only if a later commit of the main line, or the noted head, names it.
//! - SVI-2: the seq of an accepted commit is so small that the seqs of later commits cannot overflow.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::codec::DecodeError;
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, ObjectDigest};
use crate::error::{Finding, Result};
use crate::log::{DamagedLog, Locator, Piece, Position, Record, RecordKind};
use crate::object::{Commit, Object, Origin, Reference};
use crate::store::records::{cap_of, digest_of};
use crate::store::rewritten::{Erased, decode_gap};

/// The largest accepted seq (SVI-2).
pub(super) const SEQ_MAX: u64 = u64::MAX / 2;

/// The locator of a record, and the age of the record.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) locator: Locator,
    /// The age of the segment and the number of the batch, which order records by age.
    pub(super) written: (u64, u64),
    /// The most trusted class that readers of the record see (RCS-3).
    limit: Origin,
    /// The chain of the segment: batch numbers can be compared only within one chain.
    chain: u64,
}

impl Place {
    /// Returns this place, marked as older than every other place. Use this for a record of an orphaned segment,
    /// because the batch number of such a record belongs to another log.
    pub(super) fn of_orphaned(self) -> Self {
        let (_, number) = self.written;
        Self {
            written: (0, number),
            ..self
        }
    }

    /// Returns whether the batch number belongs to the valid log.
    fn is_numbered(&self) -> bool {
        self.written.0 > 0
    }
}

/// The intact records of one batch.
pub(super) struct PieceEntry {
    pub(super) number: u64,
    pub(super) whole: bool,
    age: u64,
    pub(super) commit: Option<CommitDigest>,
    pub(super) records: Vec<Locator>,
    /// Whether the batch belongs to a fork.
    pub(super) is_beside: bool,
}

/// All batches of a log, and an index of their records.
#[derive(Default)]
pub(super) struct Index {
    /// The batches, sorted by number. Each number occurs once.
    pub(super) pieces: Vec<PieceEntry>,
    pub(super) objects: HashMap<[u8; DIGEST_LEN], Place>,
    /// The contents and texts, by digest.
    pub(super) texts: HashMap<[u8; DIGEST_LEN], Place>,
    /// The erased digests. Each has a list of the commits that erased it, with the ages of the segments that contain
    /// the markers.
    pub(super) erased: HashMap<[u8; DIGEST_LEN], Vec<(CommitDigest, u64)>>,
    /// The batch number of each commit in each chain. The same commit has different numbers, because a rewrite
    /// renumbers batches.
    pub(super) batches: HashMap<(u64, CommitDigest), u64>,
    pub(super) commits: HashMap<CommitDigest, Commit>,
    /// The thinned commits, by seq.
    pub(super) thinned: BTreeMap<u64, CommitDigest>,
    pub(super) findings: Vec<Finding>,
    /// The commits at which forks begin.
    pub(super) bases: HashSet<CommitDigest>,
    /// The commits of damaged batches.
    unsure: Vec<CommitDigest>,
}

impl Index {
    /// Reads a damaged log. `places` are positions up to which the log was durable.
    pub(super) fn read(
        damaged: &DamagedLog,
        places: &[Position],
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Self> {
        let (mut index, mut orphaned) = (Self::default(), Self::default());
        let findings = damaged.pieces(places, &mut |piece, done| {
            let index = if piece.orphaned { &mut orphaned } else { &mut index };
            index.add(&piece, damaged.suite());
            step(done)
        })?;
        index.findings = findings;
        let noted = damaged.noted_head().map(|(digest, _)| digest);
        let has_lines = !(index.bases.is_empty() && orphaned.bases.is_empty());
        if has_lines {
            index.leave_out_unsure(noted);
            orphaned.leave_out_unsure(noted);
        }
        index.sort_with_orphaned(orphaned, damaged, places);
        index.leave_out_erased();
        Ok(index)
    }

    /// Sorts the batches by number, and retains one copy of each batch: preferably a complete copy, then the newest
    /// copy. Joins the parts of a damaged copy that a hole separates.
    pub(super) fn sort(&mut self) {
        let order = |piece: &PieceEntry| (piece.number, piece.whole, piece.age);
        self.pieces.sort_by_key(|piece| std::cmp::Reverse(order(piece)));
        self.pieces.dedup_by(|piece, retained| {
            let is_same = piece.number == retained.number;
            if is_same && !retained.whole && piece.age == retained.age {
                retained.records.append(&mut piece.records);
                retained.commit = retained.commit.or(piece.commit);
            }
            is_same
        });
        self.pieces.reverse();
    }

    /// Removes the records that are older than their erasure from the index.
    ///
    /// INVARIANT SVI-1: salvage ignores a record that is older than its erasure.
    fn leave_out_erased(&mut self) {
        let (erased, batches) = (&self.erased, &self.batches);
        let is_left = |digest: &[u8; DIGEST_LEN], place: &mut Place| {
            let (age, batch) = place.written;
            let mut erasures = erased.get(digest).into_iter().flatten();
            erasures.all(|(by, said)| match batches.get(&(place.chain, *by)) {
                Some(by) => *by < batch,
                // The commit is unknown in this chain, because it is thinned or lost. Compares the ages of the segments
                // instead.
                None => *said <= age,
            })
        };
        self.objects.retain(is_left);
        self.texts.retain(is_left);
    }

    fn add(&mut self, piece: &Piece, suite: HashSuite) {
        let mut entry = PieceEntry {
            number: piece.number,
            whole: piece.whole,
            age: piece.age,
            commit: None,
            records: Vec::with_capacity(piece.records.len()),
            is_beside: false,
        };
        entry.is_beside = self.note_line(piece);
        for record in &piece.records {
            // SVI-3
            if entry.is_beside && matches!(record.kind, RecordKind::Commit | RecordKind::Gap) {
                entry.records.push(record.locator);
                continue;
            }
            let place = Place {
                locator: record.locator,
                written: (piece.age, piece.number),
                limit: Origin::DirectUser,
                chain: piece.chain,
            };
            if self.add_record(record, place, suite, &mut entry.commit).is_ok() {
                entry.records.push(record.locator);
            }
        }
        self.unsure.extend(entry.commit.filter(|_| !piece.whole));
        if let Some(commit) = entry.commit {
            self.batches.insert((piece.chain, commit), piece.number);
        }
        self.pieces.push(entry);
    }

    /// Notes the line of a batch. Returns whether the batch belongs to another line than the main one.
    fn note_line(&mut self, piece: &Piece) -> bool {
        let Some(record) = piece
            .records
            .iter()
            .find(|record| record.kind == RecordKind::Line)
        else {
            return false;
        };
        if let Ok(head) = Reference::decode(&record.body) {
            self.bases.extend(head.base);
        }
        true
    }

    /// Leaves out the commits of damaged batches that no later commit of the main line names (SVI-3).
    fn leave_out_unsure(&mut self, noted: Option<CommitDigest>) {
        let mut unsure = std::mem::take(&mut self.unsure);
        unsure.sort_by_key(|digest| std::cmp::Reverse(self.commits.get(digest).map(|commit| commit.seq)));
        let sure = self.commits.iter().filter(|(digest, _)| !unsure.contains(digest));
        let parents = sure.filter_map(|(_, commit)| commit.parents.first().copied());
        let mut named: HashSet<CommitDigest> = parents.chain(noted).collect();
        for digest in unsure {
            if named.contains(&digest) {
                let commit = self.commits.get(&digest);
                named.extend(commit.and_then(|commit| commit.parents.first().copied()));
                continue;
            }
            self.commits.remove(&digest);
            let pieces = self
                .pieces
                .iter_mut()
                .filter(|piece| piece.commit == Some(digest));
            pieces.for_each(|piece| piece.commit = None);
        }
    }

    fn add_record(
        &mut self,
        record: &Record,
        place: Place,
        suite: HashSuite,
        commit: &mut Option<CommitDigest>,
    ) -> std::result::Result<(), DecodeError> {
        match record.kind {
            RecordKind::Object => {
                let object = Object::decode(record.body.clone(), suite)?;
                let limit = cap_of(record.flags);
                let place = Place { limit, ..place };
                Self::keep_newest(&mut self.objects, *object.digest().as_bytes(), place);
            }
            RecordKind::Content | RecordKind::Text => {
                Self::keep_newest(&mut self.texts, digest_of(record, suite), place);
            }
            RecordKind::Commit => {
                let decoded = Commit::decode(&record.body)?;
                if decoded.seq > SEQ_MAX {
                    return Err(DecodeError::Invalid("the seq of a commit is out of range"));
                }
                let digest = Commit::hash(&record.body, suite);
                self.commits.insert(digest, decoded);
                *commit = Some(digest);
            }
            RecordKind::Gap => {
                let (first, digests) = decode_gap(&record.body)?;
                if first > SEQ_MAX {
                    return Err(DecodeError::Invalid("the seq of a commit is out of range"));
                }
                self.thinned.extend((first..).zip(digests));
            }
            RecordKind::Erased => {
                let erased = Erased::decode(&record.body)?;
                if !erased.is_lost() {
                    let (age, _) = place.written;
                    self.erased
                        .entry(erased.digest)
                        .or_default()
                        .push((erased.by, age));
                }
            }
            RecordKind::Reference => drop(Reference::decode(&record.body)?),
            _ => {}
        }
        Ok(())
    }

    /// Adds the place of a record, unless a newer record with the same digest is known. A record that limits the class less
    /// counts before any newer one (RCS-3).
    pub(super) fn keep_newest(
        known: &mut HashMap<[u8; DIGEST_LEN], Place>,
        digest: [u8; DIGEST_LEN],
        place: Place,
    ) {
        let known = known.entry(digest).or_insert(place);
        let is_newer = known.limit == place.limit && known.written < place.written;
        if is_newer || place.limit.is_above(known.limit) {
            *known = place;
        }
    }

    /// Returns the object with this digest, without its content.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object's record cannot be read.
    pub(super) fn object(&self, damaged: &DamagedLog, digest: [u8; DIGEST_LEN]) -> Result<Option<Object>> {
        let place = self.objects.get(&digest);
        let record = place.map(|place| damaged.read(place.locator)).transpose()?;
        Ok(record.map(|record| {
            let cap = cap_of(record.flags);
            Object::from_verified(record.body, ObjectDigest::from_bytes(digest)).with_best_origin(cap)
        }))
    }

    /// Returns the commit that erased the record with this digest, if it was erased.
    pub(super) fn erased_by(&self, digest: &[u8; DIGEST_LEN]) -> Option<CommitDigest> {
        self.erased.get(digest)?.last().map(|(by, _)| *by)
    }

    /// Returns the time of the commit that wrote an object. Returns `None` if the commit is unknown.
    pub(super) fn written(&self, object: &[u8; DIGEST_LEN]) -> Option<i64> {
        let place = self.objects.get(object).filter(|place| place.is_numbered())?;
        let (_, batch) = place.written;
        let index = self.pieces.partition_point(|piece| piece.number < batch);
        let piece = self.pieces.get(index).filter(|piece| piece.number == batch)?;
        Some(self.commits.get(&piece.commit?)?.time.as_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orphaned_place_is_older_than_all_others() {
        let place = Place {
            locator: Locator::from_u64(4096),
            written: (3, 9),
            limit: Origin::DirectUser,
            chain: 1,
        };
        assert!(place.is_numbered());
        let orphaned = place.of_orphaned();
        assert_eq!(orphaned.written, (0, 9), "SVR-2");
        assert!(!orphaned.is_numbered());
    }

    /// RCS-3
    #[test]
    fn a_newer_record_with_a_lower_limit_takes_no_place() {
        let place = |number: u64, limit| Place {
            locator: Locator::from_u64(number),
            written: (1, number),
            limit,
            chain: 1,
        };
        let (own, fetched) = (place(1, Origin::DirectUser), place(2, Origin::Import));
        for places in [[own, fetched], [fetched, own]] {
            let mut known = HashMap::new();
            for place in places {
                Index::keep_newest(&mut known, [0; DIGEST_LEN], place);
            }
            assert_eq!(known[&[0; DIGEST_LEN]].locator, own.locator);
        }
    }
}
