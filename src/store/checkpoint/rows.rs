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
use crate::error::{Cause, Result};
use crate::log::Locator;
use crate::log::{Position, undecodable};
use crate::store::ChangeCounts;
use crate::store::commits::Gap;
use crate::trie::StoredNode;

/// A row with a fixed number of bytes.
pub(crate) trait Row: Copy + 'static {
    /// The number of bytes in a row.
    const BYTES: usize;

    fn put(&self, out: &mut Vec<u8>);

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
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

/// The value that means that a count is unknown.
const NOT_COUNTED: u32 = u32::MAX;

impl Row for CommitRow {
    const BYTES: usize = 124;

    fn put(&self, out: &mut Vec<u8>) {
        put_numbers(out, &[self.seq, self.batch]);
        out.extend_from_slice(&self.time.to_le_bytes());
        out.extend_from_slice(self.digest.as_bytes());
        out.extend_from_slice(self.root.as_bytes());
        put_numbers(out, &[self.place, self.lane]);
        let counts = self
            .counts
            .map(|counts| [counts.added, counts.changed, counts.removed])
            .and_then(|counts| {
                // A count that is too large is stored as unknown.
                let fits = counts.iter().all(|count| *count < u64::from(NOT_COUNTED));
                fits.then(|| counts.map(|count| count as u32))
            });
        for count in counts.unwrap_or([NOT_COUNTED; 3]) {
            out.extend_from_slice(&count.to_le_bytes());
        }
        put_numbers(out, &[self.delta]);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            seq: reader.u64()?,
            batch: reader.u64()?,
            time: reader.i64()?,
            digest: CommitDigest::from_bytes(reader.array()?),
            root: Root::from_bytes(reader.array()?),
            place: reader.u64()?,
            lane: reader.u64()?,
            counts: take_counts(reader)?,
            delta: reader.u64()?,
        })
    }
}

fn take_counts(reader: &mut Reader<'_>) -> Result<Option<ChangeCounts>, DecodeError> {
    let counts = [reader.u32()?, reader.u32()?, reader.u32()?];
    let [added, changed, removed] = counts.map(u64::from);
    Ok((!counts.contains(&NOT_COUNTED)).then_some(ChangeCounts {
        added,
        changed,
        removed,
    }))
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

impl Row for StateRow {
    const BYTES: usize = 56 + Position::BYTES;

    fn put(&self, out: &mut Vec<u8>) {
        put_numbers(out, &[self.seq]);
        out.extend_from_slice(self.root.as_bytes());
        put_numbers(out, &[self.count, self.place]);
        self.position.put(out);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            seq: reader.u64()?,
            root: Root::from_bytes(reader.array()?),
            count: reader.u64()?,
            place: reader.u64()?,
            position: Position::take(reader)?,
        })
    }
}

/// The time at which an id that the newest state lacks was first written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstWritten {
    pub(crate) key: KeyPath,
    /// The time in microseconds.
    pub(crate) created: i64,
}

impl Row for FirstWritten {
    const BYTES: usize = 40;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_bytes());
        out.extend_from_slice(&self.created.to_le_bytes());
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            key: KeyPath::from_bytes(reader.array()?),
            created: reader.i64()?,
        })
    }
}

/// The parent of an object in the newest state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildRow {
    /// The start of the key path of the parent, from [`prefix_of`].
    pub(crate) parent: u64,
    pub(crate) child: KeyPath,
}

impl Row for ChildRow {
    const BYTES: usize = 40;

    fn put(&self, out: &mut Vec<u8>) {
        put_numbers(out, &[self.parent.swap_bytes()]);
        out.extend_from_slice(self.child.as_bytes());
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            parent: reader.u64()?.swap_bytes(),
            child: KeyPath::from_bytes(reader.array()?),
        })
    }
}

impl Row for Gap {
    const BYTES: usize = 24;

    fn put(&self, out: &mut Vec<u8>) {
        put_numbers(out, &[self.first, self.count, self.place.to_u64()]);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            first: reader.u64()?,
            count: reader.u64()?,
            place: Locator::from_u64(reader.u64()?),
        })
    }
}

/// The start of a digest with a value, which is a place or the index of a row.
///
/// Several digests may have the same start, so the caller must confirm each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DigestRow {
    /// The first eight bytes of the digest, from [`prefix_of`].
    pub(crate) prefix: u64,
    pub(crate) value: u64,
}

/// Returns the first eight bytes of a digest as a number. The numbers sort as the digests do.
pub(crate) fn prefix_of(digest: &[u8; DIGEST_LEN]) -> u64 {
    let (head, _) = digest.split_first_chunk::<8>().expect("a digest has 32 bytes");
    u64::from_le_bytes(*head).swap_bytes()
}

impl Row for DigestRow {
    const BYTES: usize = 16;

    fn put(&self, out: &mut Vec<u8>) {
        put_numbers(out, &[self.prefix.swap_bytes(), self.value]);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            prefix: reader.u64()?.swap_bytes(),
            value: reader.u64()?,
        })
    }
}

/// Appends the bytes of several numbers.
pub(super) fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// The rows of one section.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, R> {
    blocks: &'a Blocks,
    extent: Extent,
    row: PhantomData<R>,
}

impl<'a, R: Row> Rows<'a, R> {
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

    /// Returns the row with this index; `None` if there are fewer rows.
    ///
    /// # Errors
    /// `Corrupt` if the row's block is damaged; `Io`.
    pub(crate) fn get(&self, index: u64) -> Result<Option<R>> {
        if index >= self.extent.rows {
            return Ok(None);
        }
        let offset = self.extent.offset + index * R::BYTES as u64;
        let bytes = self.blocks.bytes(offset, R::BYTES)?;
        R::take(&mut Reader::new(&bytes))
            .map(Some)
            .map_err(|error| damaged(self.blocks.name(), offset, undecodable(&error)))
    }

    /// Reads the row with this index, which must be below the number of rows.
    fn row(&self, index: u64) -> Result<R> {
        self.get(index)?
            .ok_or_else(|| damaged(self.blocks.name(), self.extent.offset, Cause::RowMissing))
    }

    /// Iterates all rows in their order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<R>> + 'a {
        (0..self.extent.rows).map(move |index| self.row(index))
    }

    /// Returns the number of leading rows for which `before` is true. The keys rise (CKR-1), so a bisection finds it.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
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
    let Range {
        start: mut low,
        end: mut high,
    } = range;
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
    /// Returns the values of all digests that start as `digest` does. The caller must confirm each match.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn find(self, digest: &[u8; DIGEST_LEN]) -> Result<impl Iterator<Item = Result<u64>> + 'a> {
        let rows = self.between(digest, digest)?;
        Ok(rows.map(|row| row.map(|row| row.value)))
    }

    /// Returns the rows whose digest may be between `low` and `high`, sorted by the start of the digest.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn between(
        self,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<impl Iterator<Item = Result<DigestRow>> + 'a> {
        let first = self.first_from(prefix_of(low))?;
        let last = prefix_of(high);
        let rows = (first..self.extent.rows).map(move |index| self.row(index));
        Ok(rows.take_while(move |row| row.as_ref().map_or(true, |row| row.prefix <= last)))
    }

    /// Returns the index of the first row whose prefix is `prefix` or higher.
    ///
    /// Digests are spread nearly evenly. So the search starts where the row would be if they were spread exactly
    /// evenly, and reads few blocks. If the row is not near, the search doubles its steps until it can bisect.
    fn first_from(&self, prefix: u64) -> Result<u64> {
        let rows = self.extent.rows;
        let before = |row: &DigestRow| row.prefix < prefix;
        let guess = ((u128::from(prefix) * u128::from(rows)) >> 64) as u64;
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
