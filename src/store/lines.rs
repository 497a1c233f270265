//! The lines of a store besides the main one: forks. Each has a name, a base, and the places of its batches.
//!
//! The store keeps no commits and no states of a line in memory until somebody uses the line.
//!
//! # Layer
//! Layer 4. Derived: rebuilt from the log at each opening.
//!
//! # Invariants
//! - LNE-1: a line only grows: the first parent of its next commit is its newest commit, or its base.
//! - LNE-2: a name belongs to one live line. A dropped line keeps its batches, under the number of its first batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::{self, DecodeError, Reader};
use crate::digest::{CommitDigest, HashSuite};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Batch, Locator, Record, RecordKind};
use crate::object::{Commit, Origin, Reference, ReferenceClass, ReferenceName, Time};

use super::commits::CommitEntry;
use super::rewritten::{decode_gap, unreadable};

/// The start of the name of a line that came from a remote. No fork has such a name.
pub(crate) const REMOTE: &str = "remote:";

/// Returns the name of the reference in the records of a line: `heads/NAME` for a fork, `remotes/NAME` for `remote:NAME`.
///
/// # Errors
/// `InvalidInput` if the name is too long.
pub(crate) fn reference_of_line(name: &str) -> Result<ReferenceName> {
    match name.strip_prefix(REMOTE) {
        Some(rest) => ReferenceName::of(ReferenceClass::Remotes, rest),
        None => ReferenceName::of(ReferenceClass::Heads, name),
    }
}

/// A line of the store: a chain of commits that leaves another line at a base.
#[derive(Clone)]
pub(crate) struct LineInfo {
    pub(crate) name: Arc<str>,
    /// The number of the batch that created the line.
    pub(crate) first_batch: u64,
    /// The commit at which the line leaves another one.
    pub(crate) base: CommitDigest,
    /// The newest commit; the base if the line has no commit.
    pub(crate) head: CommitDigest,
    /// The most trusted class of what is written through the line.
    pub(crate) cap: Origin,
    /// The time of the record that created the line.
    pub(crate) created: Time,
    /// The time of the newest record of the line.
    pub(crate) time: Time,
    pub(crate) is_dropped: bool,
    /// The batches with the commits of the line: the number and the first record of each.
    pub(super) batches: Arc<Vec<(u64, Locator)>>,
}

impl LineInfo {
    /// Returns a line without commits, which no batch has created yet.
    pub(crate) fn new(name: &str, base: &CommitEntry, cap: Origin) -> Self {
        Self::at(name, (base.digest, base.commit.time), cap)
    }

    /// Returns a line as [`Self::new`] does, by the digest and the time of its base.
    pub(crate) fn at(name: &str, (base, time): (CommitDigest, Time), cap: Origin) -> Self {
        Self {
            name: name.into(),
            first_batch: 0,
            base,
            head: base,
            cap,
            created: time,
            time,
            is_dropped: false,
            batches: Arc::default(),
        }
    }

    /// Returns the bytes of the line in a checkpoint.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128 + 16 * self.batches.len());
        codec::put_sized(&mut bytes, self.name.as_bytes());
        bytes.extend_from_slice(&self.first_batch.to_le_bytes());
        bytes.extend_from_slice(self.base.as_bytes());
        bytes.extend_from_slice(self.head.as_bytes());
        bytes.extend_from_slice(&[self.cap.tag(), u8::from(self.is_dropped)]);
        bytes.extend_from_slice(&self.created.as_micros().to_le_bytes());
        bytes.extend_from_slice(&self.time.as_micros().to_le_bytes());
        for (batch, place) in self.batches.iter() {
            bytes.extend_from_slice(&batch.to_le_bytes());
            bytes.extend_from_slice(&place.to_u64().to_le_bytes());
        }
        bytes
    }

    /// Decodes the line in a checkpoint.
    ///
    /// # Errors
    /// `Corrupt` (code `checkpoint_damaged`) if the bytes are not a line.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        Self::take(bytes).map_err(|error| {
            Error::corrupt(format!("a checkpoint contains a damaged line: {error}"))
                .with_code(ErrorCode::CheckpointDamaged)
        })
    }

    fn take(bytes: &[u8]) -> std::result::Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut line = Self {
            name: reader.text()?.into(),
            first_batch: reader.u64()?,
            base: CommitDigest::from_bytes(reader.array()?),
            head: CommitDigest::from_bytes(reader.array()?),
            cap: Origin::from_tag(reader.u8()?).ok_or(DecodeError::Invalid("an origin is not known"))?,
            is_dropped: reader.u8()? != 0,
            created: Time::from_micros(reader.i64()?),
            time: Time::from_micros(reader.i64()?),
            batches: Arc::default(),
        };
        let (batches, rest) = reader.bytes(reader.left())?.as_chunks::<16>();
        if !rest.is_empty() {
            return Err(DecodeError::Invalid("a line has a part of a batch"));
        }
        let batch = |bytes: &[u8; 16]| {
            let both = u128::from_le_bytes(*bytes);
            (both as u64, Locator::from_u64((both >> 64) as u64))
        };
        line.batches = Arc::new(batches.iter().map(batch).collect());
        Ok(line)
    }

    /// Returns whether a batch has a commit of the line.
    pub(super) fn has_batch(&self, number: u64) -> bool {
        self.batches
            .binary_search_by_key(&number, |(batch, _)| *batch)
            .is_ok()
    }

    /// Returns the number of the newest batch of the line.
    pub(crate) fn newest_batch(&self) -> u64 {
        self.batches.last().map_or(self.first_batch, |(batch, _)| *batch)
    }

    /// Returns the number of kept commits since the base.
    pub(crate) fn commits(&self) -> u64 {
        self.batches.len() as u64
    }
}

/// All lines, by the number of their first batch.
#[derive(Default)]
pub(crate) struct Lines {
    all: BTreeMap<u64, LineInfo>,
    live: BTreeMap<Arc<str>, u64>,
}

impl Lines {
    /// Replaces the lines by those of a checkpoint, or of another store.
    pub(super) fn take_over(&mut self, lines: impl IntoIterator<Item = LineInfo>) {
        *self = Self::default();
        for line in lines {
            if !line.is_dropped {
                self.live.insert(Arc::clone(&line.name), line.first_batch);
            }
            self.all.insert(line.first_batch, line);
        }
    }

    /// Iterates the lines, dropped ones too, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &LineInfo> {
        self.all.values()
    }

    /// Iterates the lines that were not dropped.
    pub(crate) fn live(&self) -> impl Iterator<Item = &LineInfo> {
        self.iter().filter(|line| !line.is_dropped)
    }

    /// Returns the line that has the name now.
    pub(crate) fn named(&self, name: &str) -> Option<&LineInfo> {
        self.all.get(self.live.get(name)?)
    }

    /// Returns the live line whose newest commit this is.
    pub(crate) fn of_commit(&self, newest: &CommitDigest) -> Option<&LineInfo> {
        let mut live = self.live.values().filter_map(|first| self.all.get(first));
        live.find(|line| line.head == *newest && line.head != line.base)
    }

    /// Returns the line that this batch created.
    pub(super) fn of_batch(&self, first_batch: u64) -> Option<&LineInfo> {
        self.all.get(&first_batch)
    }

    /// Checks that a batch continues its line (LNE-1). Returns the first batch of the line if the batch has a commit.
    pub(super) fn check(&self, batch: &Batch, record: &LineRecord) -> Result<Option<u64>> {
        let name = record.name();
        let line = self.named(name);
        let wrong = |rule: &str| {
            let number = batch.number;
            Err(Error::corrupt(format!(
                "batch {number} does not continue the line {name}: {rule}"
            )))
        };
        let (base, cap) = (record.base()?, record.cap()?);
        let Some(line) = line else {
            let creates = record.commit.is_none() && record.reference.commit == Some(base);
            return if creates {
                Ok(None)
            } else {
                wrong("no line has this name")
            };
        };
        if (line.base, line.cap) != (base, cap) {
            return wrong("it names another base or cap");
        }
        match (&record.commit, record.reference.commit) {
            (None, None) => Ok(None),
            (Some((digest, commit, thinned)), named) if named == Some(*digest) => {
                // The store of the line checks the rest, when it is open.
                if commit.parents.first() != Some(thinned.as_ref().unwrap_or(&line.head)) {
                    return wrong("its parent is not the newest commit of the line");
                }
                Ok(Some(line.first_batch))
            }
            _ => wrong("its record names another commit than the batch"),
        }
    }

    /// Notes a checked batch.
    pub(super) fn note(&mut self, batch: &Batch, record: &LineRecord) -> Result<()> {
        let name = record.name();
        let Some(line) = self.live.get(name).and_then(|first| self.all.get_mut(first)) else {
            let name: Arc<str> = name.into();
            // INVARIANT LNE-2: no live line has the name.
            self.live.insert(Arc::clone(&name), batch.number);
            let line = LineInfo {
                name,
                first_batch: batch.number,
                base: record.base()?,
                head: record.base()?,
                cap: record.cap()?,
                created: record.reference.time,
                time: record.reference.time,
                is_dropped: false,
                batches: Arc::default(),
            };
            self.all.insert(batch.number, line);
            return Ok(());
        };
        line.time = record.reference.time;
        match (&record.commit, batch.records.first()) {
            (Some((digest, ..)), Some(first)) => {
                line.head = *digest;
                Arc::make_mut(&mut line.batches).push((batch.number, first.locator));
            }
            _ => {
                line.is_dropped = true;
                self.live.remove(name);
            }
        }
        Ok(())
    }
}

/// The record of a line in a batch, with the commit of the batch.
pub(super) struct LineRecord {
    pub(super) reference: Reference,
    name: String,
    /// The commit, its digest, and the last thinned commit before it.
    pub(super) commit: Option<(CommitDigest, Commit, Option<CommitDigest>)>,
}

impl LineRecord {
    /// Returns the record of a line among the records of a batch. Returns `None` if the batch belongs to the main line.
    pub(super) fn of(records: &[Record], suite: HashSuite) -> Result<Option<Self>> {
        let Some(record) = records.iter().rfind(|record| record.kind == RecordKind::Line) else {
            return Ok(None);
        };
        let decoded = Reference::decode(&record.body).map_err(|error| unreadable(record, &error))?;
        let rest = decoded.name.rest();
        let name = match decoded.name.class() {
            ReferenceClass::Heads => rest.to_owned(),
            ReferenceClass::Remotes if decoded.base.is_some() => format!("{REMOTE}{rest}"),
            _ => return Err(Error::corrupt("the record of a line is not a head")),
        };
        let mut thinned = None;
        for record in records.iter().filter(|record| record.kind == RecordKind::Gap) {
            let (_, digests) = decode_gap(&record.body).map_err(|error| unreadable(record, &error))?;
            thinned = digests.last().copied();
        }
        let commit = records.iter().find(|record| record.kind == RecordKind::Commit);
        let commit = commit.map(|record| {
            let commit = Commit::decode(&record.body).map_err(|error| unreadable(record, &error))?;
            Ok::<_, Error>((Commit::hash(&record.body, suite), commit, thinned))
        });
        Ok(Some(Self {
            name,
            reference: decoded,
            commit: commit.transpose()?,
        }))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the digest of the commit of the batch.
    pub(super) fn digest(&self) -> Option<CommitDigest> {
        self.commit.as_ref().map(|(digest, ..)| *digest)
    }

    pub(super) fn base(&self) -> Result<CommitDigest> {
        let missing = || Error::internal("a head has a base (REF-5)");
        self.reference.base.ok_or_else(missing)
    }

    fn cap(&self) -> Result<Origin> {
        let missing = || Error::internal("a head has a cap (REF-5)");
        self.reference.cap.ok_or_else(missing)
    }
}

/// Returns whether a batch belongs to the main line.
pub(super) fn is_of_main(batch: &Batch) -> bool {
    batch.records.iter().all(|record| record.kind != RecordKind::Line)
}
