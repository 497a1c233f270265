//! Handles orphaned segments: segments of a rewrite that the manifest does not list. Either the rewrite was
//! interrupted, or the manifest is outdated.
//!
//! The files do not show which of the two happened. A rewrite contains a copy of the log and, for an erasure, one
//! additional commit at the end. If the segments contain more new commits, the rewrite was published.
//!
//! # Layer
//! Layer 4. Part of salvage/.
//!
//! # Invariants
//! - SVR-1: in both cases, salvage uses every commit and record that only the rewrite contains, except for the commit
//!   of an erasure that may be unpublished.
//! - SVR-2: an unpublished rewrite has no effect: salvage ignores its thinning and its erasures.

use std::collections::{HashMap, HashSet};

use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::error::{Cause, Finding, Severity};
use crate::log::{DamagedLog, Position};
use crate::object::Op;

use super::index::{Index, PieceEntry, Place};

impl Index {
    /// Adds the batches of the orphaned segments, and sorts all batches.
    pub(super) fn sort_with_orphaned(&mut self, orphaned: Self, damaged: &DamagedLog, places: &[Position]) {
        let known = self.commits.values().map(|commit| commit.seq);
        let newest = known.chain(damaged.noted_head().map(|(_, seq)| seq)).max();
        let cause = self.treatment(&orphaned, newest, damaged, places);
        let counts = cause == Cause::RewriteCounted;
        let severity = match cause {
            Cause::ErasureUnsure => Severity::Unsure,
            _ => Severity::Derived,
        };
        for (_, name) in damaged.orphaned_segments() {
            if !counts {
                // Drops findings about the files of an unpublished rewrite, because damage there loses no data.
                self.findings.retain(|found| found.damage.file != name);
            }
            self.findings.push(Finding::new(severity, name, 0, cause.clone()));
        }
        if counts {
            self.absorb(orphaned);
            self.sort();
        } else {
            self.sort();
            self.fall_back_on(orphaned, newest);
        }
    }

    /// Decides whether the rewrite is treated as published or as interrupted. Returns the cause for the findings about
    /// the rewrite. `newest` is the seq of the newest known commit of the log.
    fn treatment(
        &self,
        orphaned: &Self,
        newest: Option<u64>,
        damaged: &DamagedLog,
        places: &[Position],
    ) -> Cause {
        let is_placed = |id| places.iter().any(|place| place.segment == id);
        let batches = [self.newest_batch(), damaged.newest_sealed()];
        if damaged.orphaned_segments().any(|(id, _)| is_placed(id))
            || orphaned.newest_batch() > batches.into_iter().max().flatten()
        {
            return Cause::RewriteCounted;
        }
        let ahead = orphaned.commits.values();
        let mut ahead = ahead.filter(|commit| Some(commit.seq) > newest);
        match (ahead.next(), ahead.next()) {
            (None, _) => Cause::RewriteCutOff,
            // It is unknown whether the erasure was published. Treats the rewrite as interrupted, because that loses no
            // data.
            (Some(commit), None) if commit.op.as_str() == Op::ERASE => Cause::ErasureUnsure,
            _ => Cause::RewriteCounted,
        }
    }

    fn newest_batch(&self) -> Option<u64> {
        self.pieces.iter().map(|piece| piece.number).max()
    }

    /// Adds all batches of a published rewrite.
    fn absorb(&mut self, newer: Self) {
        self.pieces.extend(newer.pieces);
        for (known, newer) in [(&mut self.objects, newer.objects), (&mut self.texts, newer.texts)] {
            for (digest, place) in newer {
                Self::keep_newest(known, digest, place);
            }
        }
        for (digest, erasures) in newer.erased {
            self.erased.entry(digest).or_default().extend(erasures);
        }
        self.bases.extend(newer.bases);
        self.batches.extend(newer.batches);
        self.commits.extend(newer.commits);
        self.thinned.extend(newer.thinned);
    }

    /// Adds the records and commits that only an interrupted rewrite contains (SVR-1). Marks the records as older than
    /// all other records (SVR-2). Adds no commit with a seq above `newest`.
    fn fall_back_on(&mut self, orphaned: Self, newest: Option<u64>) {
        let add = |known: &mut HashMap<[u8; DIGEST_LEN], Place>, orphaned| {
            for (digest, place) in orphaned {
                known.entry(digest).or_insert_with(|| Place::of_orphaned(place));
            }
        };
        add(&mut self.objects, orphaned.objects);
        add(&mut self.texts, orphaned.texts);
        let whole = self.pieces.iter().filter(|piece| piece.whole);
        let whole: HashSet<_> = whole.filter_map(|piece| piece.commit).collect();
        for piece in orphaned.pieces {
            let missing = piece.commit.filter(|commit| !whole.contains(commit));
            let commit = missing.and_then(|digest| Some((digest, orphaned.commits.get(&digest)?)));
            if let Some((digest, commit)) = commit.filter(|(_, commit)| Some(commit.seq) <= newest) {
                self.insert(piece, digest, commit.seq);
                self.commits.insert(digest, commit.clone());
            }
        }
    }

    /// Inserts a batch of the rewrite into the batches of the log: after the damaged batch of the same commit, or else
    /// before the first commit with a higher seq.
    fn insert(&mut self, mut piece: PieceEntry, digest: CommitDigest, seq: u64) {
        let of_same = self.pieces.iter().position(|other| other.commit == Some(digest));
        let is_later = |other: &PieceEntry| {
            let commit = other.commit.and_then(|digest| self.commits.get(&digest));
            commit.is_some_and(|commit| commit.seq > seq)
        };
        let place = match of_same {
            Some(broken) => broken + 1,
            None => self.pieces.iter().position(is_later).unwrap_or(self.pieces.len()),
        };
        if let Some(before) = place
            .checked_sub(1)
            .and_then(|before| self.pieces.get_mut(before))
        {
            piece.number = before.number;
            before.commit = before.commit.filter(|commit| *commit != digest);
        }
        self.pieces.insert(place, piece);
    }
}
