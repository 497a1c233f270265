//! The rows of a checkpoint: their bytes, reading one by its index, and searching by key.
//!
//! # Layer
//! L4. Part of checkpoint/.
//!
//! # Invariants
//! - CKR-1: the rows of a section rise by their key.
//!
//! # Format
//! docs/format.md, "Checkpoint".

use std::marker::PhantomData;

use super::blocks::Blocks;
use super::damaged;
use super::header::Extent;
use crate::codec::{DecodeError, Reader};
use crate::digest::{CommitDigest, DIGEST_LEN, KeyPath, Root};
use crate::error::{Cause, Result};
use crate::log::{Position, undecodable};
use crate::store::ChangeCounts;
use crate::trie::StoredNode;

/// Something that always takes the same number of bytes.
pub(crate) trait Row: Copy + 'static {
    /// How many.
    const BYTES: usize;

    fn put(&self, out: &mut Vec<u8>);

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// A commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitRow {
    pub(crate) seq: u64,
    /// The batch that holds it.
    pub(crate) batch: u64,
    /// Microseconds; rises with `seq`.
    pub(crate) time: i64,
    pub(crate) digest: CommitDigest,
    pub(crate) root: Root,
    /// Where its record is.
    pub(crate) place: u64,
    /// Distinguishes lanes; the caller chooses the hash.
    pub(crate) lane: u64,
    /// Its changes, if counted.
    pub(crate) counts: Option<ChangeCounts>,
    /// Where the first base or delta record of its batch is; 0 if there is none.
    pub(crate) delta: u64,
}

/// Stands for a count that is not known.
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
                // A commit of more changes than fit counts as not counted.
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

/// A state whose nodes the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateRow {
    /// The commit that it is the state of.
    pub(crate) seq: u64,
    pub(crate) root: Root,
    /// How many ids it has.
    pub(crate) count: u64,
    /// Where its top node is in the file.
    pub(crate) place: u64,
    /// Where the log goes on after the commit's batch.
    pub(crate) position: Position,
}

impl StateRow {
    /// The top node of the state.
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

/// When an id was first written that the newest state does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FirstWritten {
    pub(crate) key: KeyPath,
    /// Microseconds.
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

/// That an object of the newest state has a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildRow {
    /// The start of the key path of the parent, as [`prefix_of`] gives it.
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

/// A run of commits that are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The number of the first one.
    pub(crate) first: u64,
    /// How many.
    pub(crate) count: u64,
    /// Where the record is that holds their digests.
    pub(crate) place: u64,
}

impl Row for Gap {
    const BYTES: usize = 24;

    fn put(&self, out: &mut Vec<u8>) {
        put_numbers(out, &[self.first, self.count, self.place]);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            first: reader.u64()?,
            count: reader.u64()?,
            place: reader.u64()?,
        })
    }
}

/// The start of a digest with a value: a place, or the index of a row.
///
/// Digests may share their start, so the caller confirms each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DigestRow {
    /// The first eight bytes, as [`prefix_of`] gives them.
    pub(crate) prefix: u64,
    pub(crate) value: u64,
}

/// The first eight bytes of a digest as a number, so that the order of digests is kept.
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

/// Appends numbers.
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

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.extent.rows
    }

    /// The row with this index, if there are so many.
    ///
    /// # Errors
    /// `Corrupt` if the block that holds it is damaged; `Io`.
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

    /// A row that is known to be there.
    fn row(&self, index: u64) -> Result<R> {
        self.get(index)?
            .ok_or_else(|| damaged(self.blocks.name(), self.extent.offset, Cause::RowMissing))
    }

    /// All rows, in their order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<R>> + 'a {
        (0..self.extent.rows).map(move |index| self.row(index))
    }

    /// How many rows come before the first one that is not `before`; CKR-1 makes this a bisection.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn count_before(&self, before: impl Fn(&R) -> bool) -> Result<u64> {
        self.bisect(0, self.extent.rows, before)
    }

    /// The same if the answer is from `low` to `high`.
    fn bisect(&self, mut low: u64, mut high: u64, before: impl Fn(&R) -> bool) -> Result<u64> {
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.row(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// How far from a guess the first look is taken: within the block that was just touched, mostly.
const NEAR_ROWS: u64 = 64;

impl<'a> Rows<'a, DigestRow> {
    /// The values of all digests that start like `digest`: candidates, to be confirmed.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn find(self, digest: &[u8; DIGEST_LEN]) -> Result<impl Iterator<Item = Result<u64>> + 'a> {
        let rows = self.between(digest, digest)?;
        Ok(rows.map(|row| row.map(|row| row.value)))
    }

    /// The rows whose digest may lie from `low` to `high`, in the order of the digests' starts.
    ///
    /// # Errors
    /// As [`Self::get`].
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

    /// The index of the first row whose prefix is not below `prefix`.
    ///
    /// Digests are spread evenly, so the answer is near to where it would be if they were so exactly: few blocks
    /// are touched. If they are not, this doubles its steps and is still a bisection.
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
        self.bisect(low, high, before)
    }
}
