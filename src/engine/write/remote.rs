//! The remotes of a store: how far each was read and pushed.
//!
//! What was fetched stands in this log as lines of its own, named `remote:NAME/LINE`, which nobody writes to. A reference
//! `remotes/NAME/main` names the newest commit of the remote that is known here, and how far the remote was read.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - RML-3: a push never changes what the remote has: commits on its main line are continued, or stay and get one commit more
//!   that has both sides as parents.

use super::fork::line_record;
use super::{LogHandle, Writer, body_bytes};
use crate::digest::CommitDigest;
use crate::engine::inner::Inner;
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Batch, BatchBuilder, RecordKind};
use crate::object::{Origin, Reference, ReferenceClass, ReferenceName, Time};
use crate::store::{LineInfo, REMOTE, ReferenceEntry, references_in};

/// The main line of a remote.
pub(crate) const MAIN: &str = "main";
/// The start of the name of a side line.
pub(crate) const SIDE: &str = "at-";
/// The name of the reference that stands in the log behind all references that were sent. A rewrite keeps their order.
const SENT: &str = "sent";
/// The most bytes of batches that are written at once.
const WRITTEN_TOGETHER: u64 = 8 << 20;

/// How far a remote was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The instance of the remote.
    pub(crate) instance: [u8; 16],
    pub(crate) generation: u64,
    /// The number of the newest batch.
    pub(crate) batch: u64,
    /// The newest commit of the main line of the remote.
    pub(crate) head: CommitDigest,
    /// Whether the remote has a signature of that commit, as far as this store knows. Nobody has checked it.
    pub(crate) is_signed: bool,
}

/// The newest reference that a push looked at: the number of its batch, and that of the rewrites of the log.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) epoch: u32,
    pub(super) batch: u64,
}

/// A remote as the store knows it.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) name: &'a str,
    /// The most trusted class of what comes from it.
    pub(crate) cap: Origin,
}

impl<'a> Known<'a> {
    /// Returns the remote of this name, from which nothing is taken in.
    pub(crate) fn named(name: &'a str) -> Self {
        let cap = Origin::Import;
        Self { name, cap }
    }
}

impl Known<'_> {
    /// Returns the name of a line of the remote in this store.
    pub(crate) fn line(&self, line: &str) -> String {
        format!("{REMOTE}{}/{line}", self.name)
    }

    /// Returns a batch that notes how far the remote was read.
    ///
    /// # Errors
    /// `InvalidInput` if the name is too long.
    pub(crate) fn seen_at(self, seen: Seen, time: Time) -> Result<BatchBuilder> {
        self.note(MAIN, seen.head, Some(seen), time)
    }

    fn note(self, line: &str, head: CommitDigest, seen: Option<Seen>, time: Time) -> Result<BatchBuilder> {
        let mut reference = Reference::new(self.reference(line)?, Some(head), time);
        if let Some(seen) = seen {
            reference.reserved.insert(Reference::SEEN, seen.to_bytes());
        }
        let mut batch = BatchBuilder::new();
        batch.add(RecordKind::Reference, 0, &reference.encode()?);
        Ok(batch)
    }

    /// Returns the name of the reference to a line of the remote.
    fn reference(&self, line: &str) -> Result<ReferenceName> {
        ReferenceName::of(ReferenceClass::Remotes, &format!("{}/{line}", self.name))
    }
}

impl Seen {
    fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.generation.to_le_bytes(), self.batch.to_le_bytes()];
        [
            &self.instance[..],
            numbers.as_flattened(),
            &[u8::from(self.is_signed)],
        ]
        .concat()
    }

    fn of(reference: &Reference) -> Option<Self> {
        let bytes = reference.reserved.get(&Reference::SEEN)?;
        let (instance, rest) = bytes.split_first_chunk::<16>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (batch, rest) = rest.split_first_chunk::<8>()?;
        Some(Self {
            instance: *instance,
            generation: u64::from_le_bytes(*generation),
            batch: u64::from_le_bytes(*batch),
            head: reference.commit?,
            // Older builds noted no signature.
            is_signed: rest.first().is_some_and(|known| *known > 0),
        })
    }
}

/// Returns whether a batch of a remote has a signature of this newest commit of its main line.
///
/// # Errors
/// `Corrupt` if a reference cannot be decoded.
pub(crate) fn has_signature(batch: &Batch, head: CommitDigest) -> Result<bool> {
    let is_of_main = |name: &ReferenceName| {
        name.class() == ReferenceClass::Signatures
            && name.rest().split_once('/').is_some_and(|(line, _)| line == MAIN)
    };
    let references = references_in(batch)?;
    Ok(references
        .iter()
        .any(|own| own.commit == Some(head) && is_of_main(&own.name)))
}

/// Makes an error about a remote that has less than this store has seen of it.
pub(crate) fn went_back(what: &str) -> Error {
    Error::corrupt(format!("the remote went back: {what}"))
        .with_code(ErrorCode::RemoteWentBack)
        .with_hint("an older copy of it was restored, or somebody else replaced it: `remote remove` and `remote add --trust-cap CLASS` accept it as it is; nothing was changed")
}

impl Inner {
    /// Returns how far a remote was read; `None` if it never was.
    pub(crate) fn seen(&self, known: Known<'_>) -> Result<Option<Seen>> {
        let (store, name) = (self.main().store(), known.reference(MAIN)?);
        let references = store.references();
        Ok(references.get(&name).and_then(|entry| Seen::of(&entry.reference)))
    }

    /// Returns whether this store has both commits, and the seq of one is not above that of the other.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    pub(crate) fn is_before(&self, one: CommitDigest, other: CommitDigest) -> Result<bool> {
        let store = self.main().store();
        let both = store.commit_of_any(one)?.zip(store.commit_of_any(other)?);
        Ok(both.is_some_and(|((_, one), (_, other))| one.seq() <= other.seq()))
    }

    /// Returns the number of the batch before which all references were sent to a remote.
    pub(super) fn sent_before(&self, known: Known<'_>) -> Result<u64> {
        let (store, name) = (self.main().store(), known.reference(SENT)?);
        let references = store.references();
        Ok(references.get(&name).map_or(0, |entry| entry.batch))
    }

    /// Returns the batch that notes that all references up to `until` were sent to a remote; `None` if others came meanwhile,
    /// or a rewrite moved them. Then they are sent once more.
    pub(super) fn note_sent(
        &self,
        known: Known<'_>,
        head: CommitDigest,
        until: Position,
        epoch: u32,
    ) -> Result<Option<BatchBuilder>> {
        let is_newer = |entry: &ReferenceEntry| {
            entry.batch > until.batch && entry.reference.name.class() != ReferenceClass::Remotes
        };
        if epoch != until.epoch || self.main().store().references().iter().any(is_newer) {
            return Ok(None);
        }
        self.note_seen(known, SENT, head, None).map(Some)
    }

    /// Returns a batch with the reference to a line of a remote.
    pub(super) fn note_seen(
        &self,
        known: Known<'_>,
        line: &str,
        head: CommitDigest,
        seen: Option<Seen>,
    ) -> Result<BatchBuilder> {
        known.note(line, head, seen, self.settings().clock.now())
    }

    /// Writes batches that leave the head of the main line as it is.
    pub(super) fn write_remote(&self, writing: &mut LogHandle, group: Vec<BatchBuilder>) -> Result<()> {
        if group.iter().any(BatchBuilder::has_line) {
            writing.declare_lines()?;
        }
        let store = self.main().store();
        let mark = store.head()?.mark();
        let mut left = group.into_iter().peekable();
        while left.peek().is_some() {
            let (mut part, mut bytes) = (Vec::new(), 0);
            while let Some(batch) =
                left.next_if(|batch| part.is_empty() || bytes + batch.encoded_bytes() <= WRITTEN_TOGETHER)
            {
                bytes += batch.encoded_bytes();
                part.push((batch, mark));
            }
            let written = writing.append(part, self.settings().durability)?;
            for batch in &written {
                writing.tail_bytes += body_bytes(batch);
                // After a failed `apply`, the log contains a batch that the store in memory lacks.
                store.apply(batch, None).inspect_err(|_| writing.log.poison())?;
            }
        }
        Ok(())
    }

    /// Forgets a remote: drops its lines and references. What was merged stays.
    ///
    /// # Errors
    /// The errors of a write.
    pub(crate) fn forget_remote(&self, known: Known<'_>, writer: &Writer) -> Result<()> {
        self.main().write_as(writer, |writing| {
            let (store, start) = (self.main().store(), known.line(""));
            let lines: Vec<LineInfo> = {
                let lines = store.lines();
                let own = lines.live().filter(|line| line.name.starts_with(&start));
                own.cloned().collect()
            };
            let names: Vec<ReferenceName> = {
                let (references, start) = (store.references(), format!("{}/", known.name));
                let own = references.iter().map(|entry| &entry.reference.name);
                let snapshot = format!("{REMOTE}{start}");
                own.filter(|name| match name.class() {
                    ReferenceClass::Remotes => name.rest().starts_with(&start),
                    ReferenceClass::Snapshots => name.rest().starts_with(&snapshot),
                    _ => false,
                })
                .cloned()
                .collect()
            };
            let mut group = Vec::new();
            for name in names {
                let mut batch = BatchBuilder::new();
                let gone = Reference::new(name, None, self.settings().clock.now());
                batch.add(RecordKind::Reference, 0, &gone.encode()?);
                group.push(batch);
            }
            for line in lines {
                group.push(of_line(
                    BatchBuilder::new(),
                    &line,
                    None,
                    self.time_after(line.time),
                )?);
            }
            self.write_remote(writing, group)
        })
    }
}

/// Adds the record of a line to a batch.
pub(super) fn of_line(
    mut batch: BatchBuilder,
    line: &LineInfo,
    commit: Option<CommitDigest>,
    time: Time,
) -> Result<BatchBuilder> {
    batch.add(RecordKind::Line, 0, &line_record(line, commit, time)?.encode()?);
    Ok(batch)
}
