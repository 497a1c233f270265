//! Encodes and decodes the records that occur only in a rewritten log: gaps, erasure markers, and maps of states with
//! times.
//!
//! # Layer
//! Layer 4. Handles single records, and reads neither the log nor states.
//!
//! # Format
//! docs/format.md, "Rewritten logs".

use crate::codec::{self, DecodeError, Reader};
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, KeyPath, ObjectDigest};
use crate::error::{Damage, Error, Result};
use crate::log::{
    BODY_BYTES_MAX, Batch, BatchBuilder, Fixed, Locator, Record, RecordKind, layout, segment_name,
    undecodable,
};
use crate::object::Time;
use crate::trie::{Entry, NodeSource, Trie};

use super::records::object_of;

/// The length in bytes of an entry of a base or delta record.
pub const MAP_ENTRY_BYTES: usize = MapEntry::BYTES;
/// The maximal length of the entries in one record, in bytes. This length is small, because reading one entry computes
/// the checksum of the whole record.
const PART_BYTES: usize = 204 * MAP_ENTRY_BYTES;

/// The marker that replaces an erased record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Erased {
    /// The key path of the object; `None` if the record was a content or a text.
    pub(crate) key: Option<KeyPath>,
    /// The digest of the erased record.
    pub(crate) digest: [u8; DIGEST_LEN],
    /// The commit that erased the record. The erasing commit contains the author, time and reason.
    /// [`CommitDigest::NOBODY`] if the record was lost in damage.
    pub(crate) by: CommitDigest,
}

impl Erased {
    /// Returns the marker of a record with this digest.
    pub(super) fn of(record: &Record, digest: [u8; DIGEST_LEN], by: CommitDigest, suite: HashSuite) -> Self {
        let of_object = record.kind == RecordKind::Object;
        let key = of_object.then(|| suite.key_path(object_of(record, suite).id().as_str()));
        Self { key, digest, by }
    }

    /// Returns whether the record was lost in damage, and not erased.
    pub(crate) fn is_lost(&self) -> bool {
        self.by == CommitDigest::NOBODY
    }

    pub(crate) fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let erased = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(erased)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(Self::BYTES);
        self.put(&mut body);
        body
    }
}

/// The entry of one id in a base or delta record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapEntry {
    pub(crate) key: KeyPath,
    /// The version of the id. In a delta record, `None` means that the id was removed.
    pub(crate) digest: Option<ObjectDigest>,
    /// The time of the first write of the id, in microseconds.
    pub(crate) created: i64,
    /// The time at which this version of the id was written, in microseconds.
    pub(crate) updated: i64,
}

/// The kind of the records that name erased ids. A program that does not know it skips it.
pub(crate) const ERASED_IDS: RecordKind = RecordKind::Ignorable(0x90);

/// An id of which a commit erased all versions, also those that its store did not have (EID-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErasedId {
    pub(crate) key: KeyPath,
    /// The erasing commit. In another remote, the commit that brought the erasure there (PSH-4).
    pub(crate) by: CommitDigest,
    /// The time of the erasing commit, in microseconds. It stays on the way to another remote.
    pub(crate) time: i64,
}

layout! {
    ErasedId { key: KeyPath, by: CommitDigest, time: i64 }
    Erased { key: Option<KeyPath>, digest: [u8; DIGEST_LEN], by: CommitDigest }
    MapEntry { key: KeyPath, digest: Option<ObjectDigest>, created: i64, updated: i64 }
}

/// The map of a commit, or its changes since the previous kept commit.
#[derive(Debug)]
pub(super) struct MapRecord {
    /// Whether the entries form the whole map.
    pub(super) whole: bool,
    /// The locator of the first record of the map.
    pub(super) place: Locator,
    /// The entries, sorted by key path.
    pub(super) entries: Vec<MapEntry>,
}

impl MapRecord {
    /// Adds the entries of one record to the map of a batch. Creates the map if `record` is its first record.
    pub(super) fn add(map_record: &mut Option<Self>, record: &Record) -> Result<(), DecodeError> {
        let whole = record.kind == RecordKind::Base;
        let map_record = map_record.get_or_insert_with(|| Self {
            whole,
            place: record.locator,
            entries: Vec::new(),
        });
        if map_record.whole != whole {
            return Err(DecodeError::Invalid(
                "a batch contains both a whole map and the changes of a map",
            ));
        }
        for bytes in codec::as_arrays::<MAP_ENTRY_BYTES>(&record.body)? {
            let entry = MapEntry::take(&mut Reader::new(&bytes))?;
            if map_record
                .entries
                .last()
                .is_some_and(|last| last.key >= entry.key)
            {
                return Err(DecodeError::Invalid("the key paths are not in order"));
            }
            if whole && entry.digest.is_none() {
                return Err(DecodeError::Invalid(
                    "a whole map contains an id without a version",
                ));
            }
            map_record.entries.push(entry);
        }
        Ok(())
    }

    /// Finds the entry of `key` in the body of one record.
    pub(super) fn find(body: &[u8], key: &KeyPath) -> Result<Option<MapEntry>, DecodeError> {
        let (entries, rest) = body.as_chunks::<MAP_ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(DecodeError::Invalid("a record of a map ends within an entry"));
        }
        let at = entries.partition_point(|entry| entry[..DIGEST_LEN] < key.as_bytes()[..]);
        let found = entries
            .get(at)
            .filter(|entry| entry[..DIGEST_LEN] == key.as_bytes()[..]);
        found
            .map(|entry| MapEntry::take(&mut Reader::new(entry)))
            .transpose()
    }
}

/// Adds the map records of a commit to `builder`. `now` is the commit's state, and `time` is the commit's time. Adds
/// the changes since `before`, or the whole map if `before` is `None`. `entry_of` returns the map entry of an id.
pub(super) fn put_state(
    builder: &mut BatchBuilder,
    before: Option<&Trie>,
    now: &Trie,
    nodes: &dyn NodeSource,
    time: Time,
    mut entry_of: impl FnMut(&Entry) -> Result<MapEntry>,
) -> Result<()> {
    let kind = match before {
        Some(_) => RecordKind::Delta,
        None => RecordKind::Base,
    };
    let mut bytes = Vec::new();
    for change in before.unwrap_or(&Trie::new()).diff(now, nodes) {
        let change = change?;
        let entry = match (change.new, change.old) {
            (Some(new), _) => entry_of(&new)?,
            (None, Some(old)) => MapEntry {
                key: change.key,
                digest: None,
                created: old.created,
                updated: time.as_micros(),
            },
            (None, None) => return Err(Error::internal("a change contains no entry")),
        };
        entry.put(&mut bytes);
    }
    // If there are no changes, adds an empty record. Without any record, a reader would search for the state by its
    // root.
    let nothing = bytes.is_empty().then_some(&[][..]);
    for part in bytes.chunks(PART_BYTES).chain(nothing) {
        builder.add(kind, 0, part);
    }
    Ok(())
}

/// Adds the digests of thinned commits as a gap record, or as several gap records if one record is too small. `first`
/// is the seq of the first commit.
pub(super) fn put_gap(builder: &mut BatchBuilder, mut first: u64, digests: &[CommitDigest]) {
    for part in digests.chunks(BODY_BYTES_MAX / DIGEST_LEN - 1) {
        builder.add(RecordKind::Gap, 0, &encode_gap(first, part));
        first += part.len() as u64;
    }
}

/// Encodes the body of a gap record.
fn encode_gap(first: u64, digests: &[CommitDigest]) -> Vec<u8> {
    let mut body = first.to_le_bytes().to_vec();
    for digest in digests {
        body.extend_from_slice(digest.as_bytes());
    }
    body
}

/// Decodes the body of a gap record. Returns the seq of the first commit, and the digests of all commits in the gap.
pub(super) fn decode_gap(body: &[u8]) -> Result<(u64, Vec<CommitDigest>), DecodeError> {
    let mut reader = Reader::new(body);
    let first = reader.u64()?;
    let (digests, rest) = reader.bytes(reader.left())?.as_chunks::<DIGEST_LEN>();
    let is_counted = first.checked_add(digests.len() as u64).is_some();
    if digests.is_empty() || !rest.is_empty() || !is_counted {
        return Err(DecodeError::Invalid("a gap is not a list of digests"));
    }
    let digests = digests.iter().copied().map(CommitDigest::from_bytes);
    Ok((first, digests.collect()))
}

/// Returns the markers in a batch.
///
/// # Errors
/// `Corrupt` if one cannot be decoded.
pub(crate) fn markers_in(batch: &Batch) -> Result<Vec<Erased>> {
    let markers = batch
        .records
        .iter()
        .filter(|record| record.kind == RecordKind::Erased);
    let decoded = markers.map(|record| Erased::decode(&record.body));
    let decoded: std::result::Result<_, _> = decoded.collect();
    decoded.map_err(|error| Error::corrupt(format!("a marker of an erasure is damaged: {error}")))
}

/// Returns the ids of which commits erased all versions, as a batch names them.
///
/// # Errors
/// `Corrupt` if one cannot be decoded.
#[cfg(feature = "remote")]
pub(crate) fn erased_ids_in(batch: &Batch) -> Result<Vec<ErasedId>> {
    let mut ids = Vec::new();
    for record in batch.records.iter().filter(|record| record.kind == ERASED_IDS) {
        let entries = codec::as_arrays::<{ ErasedId::BYTES }>(&record.body);
        let entries = entries.map_err(|error| unreadable(record, &error))?;
        for entry in entries {
            let id = ErasedId::take(&mut Reader::new(&entry));
            ids.push(id.map_err(|error| unreadable(record, &error))?);
        }
    }
    Ok(ids)
}

/// Returns whether a batch says that its commit `by` erased something, or took along an erasure from another remote (PSH-4).
///
/// # Errors
/// `Corrupt` if a marker or an erased id cannot be decoded.
#[cfg(feature = "remote")]
pub(crate) fn names_eraser(batch: &Batch, by: CommitDigest) -> Result<bool> {
    Ok(markers_in(batch)?.iter().any(|marker| marker.by == by)
        || erased_ids_in(batch)?.iter().any(|id| id.by == by))
}

/// Returns the entries of a map. One that cannot be decoded is refused when its batch is checked.
pub(super) fn entries_of(record: &Record) -> impl Iterator<Item = MapEntry> {
    let entries = record.body.as_chunks::<MAP_ENTRY_BYTES>().0.iter();
    entries.filter_map(|entry| MapEntry::take(&mut Reader::new(entry)).ok())
}

/// Returns the error for a record that cannot be decoded.
pub(super) fn unreadable(record: &Record, error: &DecodeError) -> Error {
    unreadable_at(record.locator, error)
}

/// Returns the error for a record at `place` that cannot be decoded.
pub(super) fn unreadable_at(place: Locator, error: &DecodeError) -> Error {
    let name = segment_name(place.segment());
    Error::damaged(Damage::new(name, place.offset(), undecodable(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_run_of_whole_digests_with_numbers_that_can_be_counted() {
        let digest = CommitDigest::from_bytes([7; DIGEST_LEN]);
        let body = encode_gap(5, &[digest, digest]);
        assert_eq!(decode_gap(&body).unwrap(), (5, vec![digest, digest]));
        for wrong in [
            &[][..],
            &body[..7],
            &body[..8],
            &body[..body.len() - 1],
            &[&body[..], &[0]].concat(),
            &encode_gap(u64::MAX - 1, &[digest, digest]),
        ] {
            assert!(decode_gap(wrong).is_err(), "{} bytes", wrong.len());
        }
    }
}
