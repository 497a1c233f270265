//! The rows of a checkpoint: encodes rows, reads them by index, and finds them by key.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - CKR-1: the rows of a section are in rising order of their keys.
//!
//! # Format
//! docs/format.md, "Checkpoint".

use std::marker::PhantomData;
use std::ops::Range;

use super::blocks::Blocks;
use super::files::damaged;
use super::header::Extent;
use crate::codec::{DecodeError, Reader};
use crate::digest::{CommitDigest, DIGEST_LEN, KeyPath, Root};
use crate::error::{Cause, Error, Result};
use crate::log::{Fixed, Locator, Position, fields, layout, undecodable};
use crate::store::ChangeCounts;
use crate::store::commits::Gap;
use crate::trie::StoredNode;

fields! {
    Prefix: 8, |bytes| Self(u64::from_le_bytes(bytes).swap_bytes()), |prefix| prefix.0.swap_bytes().to_le_bytes();
    Locator: 8, |bytes| Self::from_u64(u64::from_le_bytes(bytes)), |place| place.to_u64().to_le_bytes();
}

layout! {
    Position { segment: u64, offset: u64, batch: u64, digest: [u8; DIGEST_LEN], commit: CommitDigest }
    CommitRow {
        seq: u64, batch: u64, time: i64, digest: CommitDigest, root: Root, place: u64, lane: u64,
        counts: Option<ChangeCounts>, delta: u64
    }
    StateRow { seq: u64, root: Root, count: u64, place: u64, position: Position }
    FirstWritten { key: KeyPath, created: i64 }
    ChildRow { parent: Prefix, child: KeyPath }
    Gap { first: u64, count: u64, place: Locator }
    DigestRow { prefix: Prefix, value: u64 }
    Extent { offset: u64, length: u64, rows: u64 }
}

/// The row of a commit in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitRow {
    pub(crate) seq: u64,
    /// The number of the commit's batch.
    pub(crate) batch: u64,
    /// The time in microseconds, which rises with `seq`.
    pub(crate) time: i64,
    pub(crate) digest: CommitDigest,
    pub(crate) root: Root,
    /// The locator of the commit's record.
    pub(crate) place: u64,
    /// A hash of the name of the commit's lane, which the caller computes.
    pub(crate) lane: u64,
    /// The numbers of changes in the commit, if they are known.
    pub(crate) counts: Option<ChangeCounts>,
    /// The locator of the first base or delta record in the commit's batch; 0 if the batch contains no such record.
    pub(crate) delta: u64,
}

impl CommitRow {
    /// Returns the key of the commit in an index: the root if `by_root` is true, or else the commit's digest.
    pub(crate) fn indexed(&self, by_root: bool) -> &[u8; DIGEST_LEN] {
        if by_root {
            self.root.as_bytes()
        } else {
            self.digest.as_bytes()
        }
    }
}

/// The stored value of an unknown count.
const NOT_COUNTED: u32 = u32::MAX;

impl Fixed for Option<ChangeCounts> {
    const BYTES: usize = 12;

    fn put(&self, out: &mut Vec<u8>) {
        let counts = self.map(|counts| [counts.added, counts.changed, counts.removed]);
        // If a count does not fit in 32 bits, stores all counts as unknown.
        let counts = counts.filter(|counts| counts.iter().all(|count| *count < u64::from(NOT_COUNTED)));
        let counts = counts.map_or([NOT_COUNTED; 3], |counts| counts.map(|count| count as u32));
        out.extend_from_slice(counts.map(u32::to_le_bytes).as_flattened());
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let counts = [reader.u32()?, reader.u32()?, reader.u32()?];
        let [added, changed, removed] = counts.map(u64::from);
        Ok((!counts.contains(&NOT_COUNTED)).then_some(ChangeCounts {
            added,
            changed,
            removed,
        }))
    }
}

/// The row of a state whose nodes are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateRow {
    /// The seq of the state's commit.
    pub(crate) seq: u64,
    pub(crate) root: Root,
    /// The number of ids in the state.
    pub(crate) count: u64,
    /// The place of the state's top node.
    pub(crate) place: u64,
    /// The position in the log after the commit's batch.
    pub(crate) position: Position,
}

impl StateRow {
    /// Returns the top node of the state.
    pub(crate) fn top(&self) -> StoredNode {
        StoredNode {
            digest: *self.root.as_bytes(),
            count: self.count,
            place: self.place,
        }
    }
}

/// The first write time of an id that the newest state lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstWritten {
    pub(crate) key: KeyPath,
    /// The time in microseconds.
    pub(crate) created: i64,
}

/// A pair of parent and child in the newest state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildRow {
    /// The first bytes of the parent's key path.
    pub(crate) parent: Prefix,
    pub(crate) child: KeyPath,
}

/// The first bytes of a digest, with a value: a locator or the index of a row.
///
/// Several digests may have the same first bytes, so the caller must confirm each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DigestRow {
    pub(crate) prefix: Prefix,
    pub(crate) value: u64,
}

/// The first eight bytes of a digest, as a number. These numbers have the same order as the digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix(pub(crate) u64);

pub(crate) fn prefix_of(digest: &[u8; DIGEST_LEN]) -> Prefix {
    let (head, _) = digest.split_first_chunk::<8>().expect("a digest has 32 bytes");
    Prefix(u64::from_le_bytes(*head).swap_bytes())
}

/// The rows of one section of a file.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, R> {
    blocks: &'a Blocks,
    extent: Extent,
    row: PhantomData<R>,
}

impl<'a, R: Fixed> Rows<'a, R> {
    pub(super) fn new(blocks: &'a Blocks, extent: Extent) -> Self {
        Self {
            blocks,
            extent,
            row: PhantomData,
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.extent.rows
    }

    /// Returns the row with this key. Uses binary search, because the keys rise (CKR-1).
    ///
    /// # Errors
    /// `Corrupt` if the block of a row is damaged; `Io`.
    pub(super) fn find<K: Ord>(&self, wanted: &K, key: fn(&R) -> K) -> Result<Option<R>> {
        let first = self.count_before(|row| key(row) < *wanted)?;
        let found = self.iter_from(first).next().transpose()?;
        Ok(found.filter(|row| key(row) == *wanted))
    }

    /// Returns the row with this index.
    ///
    /// # Errors
    /// `Corrupt` if the index is too high, or if the row's block is damaged; `Io`.
    pub(crate) fn row(&self, index: u64) -> Result<R> {
        if index >= self.extent.rows {
            return Err(self.damaged(Cause::RowMissing));
        }
        let offset = self.extent.offset + index * R::BYTES as u64;
        let bytes = self.blocks.bytes(offset, R::BYTES)?;
        R::take(&mut Reader::new(bytes))
            .map_err(|error| damaged(self.blocks.name(), offset, undecodable(&error)))
    }

    /// Returns the error for damage in this section.
    pub(super) fn damaged(&self, cause: Cause) -> Error {
        damaged(self.blocks.name(), self.extent.offset, cause)
    }

    /// Iterates all rows in their order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<R>> + 'a {
        self.iter_from(0)
    }

    /// Iterates the rows from index `first` on.
    pub(super) fn iter_from(self, first: u64) -> impl Iterator<Item = Result<R>> + 'a {
        (first..self.extent.rows).map(move |index| self.row(index))
    }

    /// Returns the number of leading rows for which `before` is true. Uses binary search, because the keys rise
    /// (CKR-1).
    ///
    /// # Errors
    /// The errors of [`Self::row`].
    pub(crate) fn count_before(&self, before: impl Fn(&R) -> bool) -> Result<u64> {
        bisect(0..self.extent.rows, |index| Ok(before(&self.row(index)?)))
    }
}

/// Returns the first number of a range for which `before` is false, by binary search. If `before` is false for a
/// number, it must be false for all later numbers.
///
/// # Errors
/// The errors of `before`.
pub(crate) fn bisect(range: Range<u64>, before: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The number of rows between the guessed row and the first probe, which is usually in the same block.
const NEAR_ROWS: u64 = 64;

impl<'a> Rows<'a, DigestRow> {
    /// Returns the rows whose digest may be between `low` and `high`, in rising order. The caller must confirm each
    /// match, because only the first bytes of the digests are stored.
    ///
    /// # Errors
    /// The errors of [`Self::row`].
    pub(crate) fn between(
        self,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<impl Iterator<Item = Result<DigestRow>> + use<'a>> {
        let first = self.first_from(prefix_of(low))?;
        let last = prefix_of(high);
        let rows = self.iter_from(first);
        Ok(rows.take_while(move |row| row.as_ref().map_or(true, |row| row.prefix <= last)))
    }

    /// Returns the index of the first row whose prefix is `prefix` or higher.
    ///
    /// Digests are distributed nearly evenly. So the search first guesses the row by interpolation, which reads few
    /// blocks. If the row is not near the guess, the search doubles its steps until the row is between two probes, and
    /// then bisects.
    fn first_from(&self, prefix: Prefix) -> Result<u64> {
        let rows = self.extent.rows;
        let before = |row: &DigestRow| row.prefix < prefix;
        let guess = ((u128::from(prefix.0) * u128::from(rows)) >> 64) as u64;
        let (mut low, mut high, mut step) = (guess, guess, NEAR_ROWS);
        while low > 0 && !before(&self.row(low - 1)?) {
            high = low - 1;
            low = low.saturating_sub(step);
            step *= 2;
        }
        if low == guess {
            while high < rows && before(&self.row(high)?) {
                low = high + 1;
                high = (high + step).min(rows);
                step *= 2;
            }
        }
        bisect(low..high, |index| Ok(before(&self.row(index)?)))
    }
}
