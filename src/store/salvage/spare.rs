//! Orphaned segments: written by a rewrite, but absent from the manifest. The rewrite was interrupted, or the manifest
//! is too old.
//!
//! Both cases leave the same files. A rewrite holds the content of the log and at most the commit of an erasure after
//! it. Further commits show that the rewrite was published.
//!
//! # Layer
//! L4. Part of salvage/.
//!
//! # Invariants
//! - SVR-1: every commit and record that only the rewrite has is used, published or not. The exception is an erasure
//!   without evidence that it happened.
//! - SVR-2: an unpublished rewrite thins and erases nothing.

use std::collections::{HashMap, HashSet};

use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::log::{Finding, Position, Severity, Wreck};
use crate::object::Op;

use super::index::{Index, PieceEntry, Place};

/// The known outcome of a rewrite.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Published; the manifest is older.
    Counted,
    CutOff,
    /// Ends with an erasure. Salvage treats it as interrupted, because that loses nothing.
    Unsure,
}

impl Fate {
    fn said(self) -> (Severity, &'static str) {
        match self {
            Self::Counted => (
                Severity::Derived,
                "the manifest does not list it, and is older than it; it was read as the newer one",
            ),
            Self::CutOff => (
                Severity::Derived,
                "a rewrite wrote it that was cut off before it counted; what it would have replaced was read",
            ),
            Self::Unsure => (
                Severity::Unsure,
                "an erasure wrote it that was cut off before it counted, or the manifest is older than it; it was taken to be cut \
                 off, and what it would have erased was read",
            ),
        }
    }
}

impl Index {
    /// Adds the orphaned pieces, and sorts all pieces.
    pub(super) fn sort_with_spare(&mut self, spare: Self, wreck: &Wreck, places: &[Position]) {
        let known = self.commits.values().map(|commit| commit.seq);
        let newest = known.chain(wreck.noted_head().map(|(_, seq)| seq)).max();
        let fate = self.fate(&spare, newest, wreck, places);
        let (severity, what) = fate.said();
        for (_, name) in wreck.spare_segments() {
            if fate != Fate::Counted {
                // Damage in such a file costs nothing.
                self.findings.retain(|found| found.file != name);
            }
            self.findings.push(Finding::new(severity, name, 0, what));
        }
        if fate == Fate::Counted {
            self.absorb(spare);
            self.sort();
        } else {
            self.sort();
            self.fall_back_on(spare, newest);
        }
    }

    /// Returns the outcome of a rewrite, beside the log whose newest known commit is `newest`.
    fn fate(&self, spare: &Self, newest: Option<u64>, wreck: &Wreck, places: &[Position]) -> Fate {
        let is_placed = |id| places.iter().any(|place| place.segment == id);
        let batches = [self.newest_batch(), wreck.newest_sealed()];
        if wreck.spare_segments().any(|(id, _)| is_placed(id))
            || spare.newest_batch() > batches.into_iter().max().flatten()
        {
            return Fate::Counted;
        }
        let mut ahead = spare.commits.values().filter(|commit| Some(commit.seq) > newest);
        match (ahead.next(), ahead.next()) {
            (None, _) => Fate::CutOff,
            (Some(commit), None) if commit.op.as_str() == Op::ERASE => Fate::Unsure,
            _ => Fate::Counted,
        }
    }

    fn newest_batch(&self) -> Option<u64> {
        self.pieces.iter().map(|piece| piece.number).max()
    }

    /// Adds all pieces.
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
        self.batches.extend(newer.batches);
        self.commits.extend(newer.commits);
        self.thinned.extend(newer.thinned);
    }

    /// Adds the records and commits that exist only there (SVR-1), as older than all others (SVR-2). Its commits are at
    /// most as new as `newest`.
    fn fall_back_on(&mut self, spare: Self, newest: Option<u64>) {
        let add = |known: &mut HashMap<[u8; DIGEST_LEN], Place>, spare| {
            for (digest, place) in spare {
                known.entry(digest).or_insert_with(|| Place::of_spare(place));
            }
        };
        add(&mut self.objects, spare.objects);
        add(&mut self.texts, spare.texts);
        let whole = self.pieces.iter().filter(|piece| piece.whole);
        let whole: HashSet<_> = whole.filter_map(|piece| piece.commit).collect();
        for piece in spare.pieces {
            let missing = piece.commit.filter(|commit| !whole.contains(commit));
            let commit = missing.and_then(|digest| Some((digest, spare.commits.get(&digest)?)));
            if let Some((digest, commit)) = commit.filter(|(_, commit)| Some(commit.seq) <= newest) {
                self.insert(piece, digest, commit.seq);
                self.commits.insert(digest, commit.clone());
            }
        }
    }

    /// Inserts a piece of another log after the pieces of the same commit, or before the first piece of a higher
    /// number.
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
