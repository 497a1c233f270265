//! The rows of a checkpoint: their bytes, reading by index, and searching by key.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - CKR-1: the keys of a section's rows rise.
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

/// The row of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitRow {
    pub(crate) seq: u64,
    /// The number of the commit's batch.
    pub(crate) batch: u64,
    /// The time in microseconds, which rises with `seq`.
    pub(crate) time: i64,
    pub(crate) digest: CommitDigest,
    pub(crate) root: Root,
    /// The place of the commit's record.
    pub(crate) place: u64,
    /// A number for the commit's lane, computed by the caller.
    pub(crate) lane: u64,
    /// The counts of its changes, if they are known.
    pub(crate) counts: Option<ChangeCounts>,
    /// The place of the first base or delta record in its batch; 0 if the batch has none.
    pub(crate) delta: u64,
}

impl CommitRow {
    /// Returns the digest under which an index has the commit: its root, or its own digest.
    pub(crate) fn indexed(&self, by_root: bool) -> &[u8; DIGEST_LEN] {
        if by_root {
            self.root.as_bytes()
        } else {
            self.digest.as_bytes()
        }
    }
}

/// The value that means that a count is unknown.
const NOT_COUNTED: u32 = u32::MAX;

impl Fixed for Option<ChangeCounts> {
    const BYTES: usize = 12;

    fn put(&self, out: &mut Vec<u8>) {
        let counts = self.map(|counts| [counts.added, counts.changed, counts.removed]);
        // A count that is too large is stored as unknown.
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

/// A state whose nodes are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateRow {
    /// The seq of the state's commit.
    pub(crate) seq: u64,
    pub(crate) root: Root,
    /// The number of ids in the state.
    pub(crate) count: u64,
    /// The place of its top node in the file.
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

/// The time at which an id that the newest state lacks was first written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstWritten {
    pub(crate) key: KeyPath,
    /// The time in microseconds.
    pub(crate) created: i64,
}

/// The parent of an object in the newest state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildRow {
    /// The start of the key path of the parent.
    pub(crate) parent: Prefix,
    pub(crate) child: KeyPath,
}

/// The start of a digest with a value, which is a place or the index of a row.
///
/// Several digests may have the same start, so the caller must confirm each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DigestRow {
    pub(crate) prefix: Prefix,
    pub(crate) value: u64,
}

/// The first eight bytes of a digest, as a number. The numbers sort as the digests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix(pub(crate) u64);

pub(crate) fn prefix_of(digest: &[u8; DIGEST_LEN]) -> Prefix {
    let (head, _) = digest.split_first_chunk::<8>().expect("a digest has 32 bytes");
    Prefix(u64::from_le_bytes(*head).swap_bytes())
}

/// The rows of one section.
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

    /// Returns the row with this key. The keys rise (CKR-1).
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
    /// `Corrupt` if there are fewer rows, or the row's block is damaged; `Io`.
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

    /// Iterates the rows from the one with this index on.
    pub(super) fn iter_from(self, first: u64) -> impl Iterator<Item = Result<R>> + 'a {
        (first..self.extent.rows).map(move |index| self.row(index))
    }

    /// Returns the number of leading rows for which `before` is true. The keys rise (CKR-1), so a bisection finds it.
    ///
    /// # Errors
    /// The errors of [`Self::row`].
    pub(crate) fn count_before(&self, before: impl Fn(&R) -> bool) -> Result<u64> {
        bisect(0..self.extent.rows, |index| Ok(before(&self.row(index)?)))
    }
}

/// Returns the first number of a range for which `before` is false. If `before` is false for a number, it must be false
/// for all later ones.
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

/// The distance of the first probe from the guess, which is usually within the same block.
const NEAR_ROWS: u64 = 64;

impl<'a> Rows<'a, DigestRow> {
    /// Returns the rows whose digest may be between `low` and `high`, sorted by the start of the digest. The caller must
    /// confirm each match.
    ///
    /// # Errors
    /// The errors of [`Self::row`].
    pub(crate) fn between(
        self,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<impl Iterator<Item = Result<DigestRow>> + 'a> {
        let first = self.first_from(prefix_of(low))?;
        let last = prefix_of(high);
        let rows = self.iter_from(first);
        Ok(rows.take_while(move |row| row.as_ref().map_or(true, |row| row.prefix <= last)))
    }

    /// Returns the index of the first row whose prefix is `prefix` or higher.
    ///
    /// Digests are spread nearly evenly. So the search starts where the row would be if they were spread exactly
    /// evenly, and reads few blocks. If the row is not near, the search doubles its steps until it can bisect.
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
