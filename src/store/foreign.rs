//! Checks the batches of a remote before this store takes them in.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - FOR-1: a batch of a remote is taken in only if STO-1 holds for it, if every version and content that it links is
//!   known, and if its time is not far ahead.
//! - FOR-2: nothing that was erased here comes back: its marker takes the place of the record.

use std::collections::HashMap;
use std::sync::Arc;

use super::Store;
use super::commits::CommitEntry;
use super::decoded::{decode, hashed};
use super::edit::{Edit, Removed};
use super::lines::LineRecord;
use super::past::{check_root, missing_version, unknown_root};
use super::records::{capped, digest_of};
use super::rewritten::Erased;
use super::up_to::UpTo;
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, ObjectDigest, Root};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Batch, BatchBuilder, LINK_BYTES, Record, RecordKind, UNLINKED};
use crate::object::{Commit, HistoryTree, Object, Origin, Reference, Time};
use crate::trie::{Shape, Trie};

/// A commit of a remote, with the line of the remote to which it belongs.
pub(crate) struct ForeignCommit {
    pub(crate) digest: CommitDigest,
    pub(crate) commit: Commit,
    /// The side line and its base; `None` for the main line of the remote.
    pub(crate) line: Option<(String, CommitDigest)>,
}

impl ForeignCommit {
    /// Returns the commit of a batch of a remote; `None` if it has only references.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded.
    pub(crate) fn of(batch: &Batch, suite: HashSuite) -> Result<Option<Self>> {
        let line = LineRecord::of(&batch.records, suite)?;
        let record = batch
            .records
            .iter()
            .find(|record| record.kind == RecordKind::Commit);
        let Some(record) = record else { return Ok(None) };
        let commit = Commit::decode(&record.body)
            .map_err(|error| Error::corrupt(format!("a commit of the remote is damaged: {error}")))?;
        let digest = Commit::hash(&record.body, suite);
        let line = line.map(|line| Ok::<_, Error>((line.name().to_owned(), line.base()?)));
        Ok(Some(Self {
            digest,
            commit,
            line: line.transpose()?,
        }))
    }
}

/// The records of a remote by their digests: those of batches that are not taken in yet, or that the store has in another
/// batch.
#[derive(Default)]
pub(crate) struct Supply(HashMap<[u8; DIGEST_LEN], Record>);

impl Supply {
    /// Adds the versions and contents of a batch.
    pub(crate) fn add(&mut self, batch: &Batch, suite: HashSuite) {
        let kinds = [RecordKind::Object, RecordKind::Content];
        for record in batch.records.iter().filter(|record| kinds.contains(&record.kind)) {
            self.0.insert(digest_of(record, suite), record.clone());
        }
    }
}

/// A line of a remote that is being checked, as it is after the batches checked so far.
pub(crate) struct ForeignLine {
    store: Arc<Store>,
    pub(crate) head: CommitDigest,
    pub(crate) time: Time,
    history: HistoryTree,
    trie: Trie,
    root: Root,
    roots: HashMap<Root, Trie>,
    /// The most trusted class of its versions here.
    cap: Origin,
}

impl ForeignLine {
    /// Returns the line behind a commit of `store`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the commit or its state cannot be read.
    pub(crate) fn behind(store: &Arc<Store>, entry: &CommitEntry, cap: Origin) -> Result<Self> {
        let up_to = UpTo::of(store, entry.digest)?;
        let up_to = up_to.ok_or_else(|| Error::internal("a commit is not in its line"))?;
        let trie = store.state(entry)?;
        Ok(Self {
            store: Arc::clone(store),
            head: entry.digest,
            time: entry.commit.time,
            history: up_to.history()?,
            root: entry.commit.root,
            roots: HashMap::from([(entry.commit.root, trie.clone())]),
            trie,
            cap,
        })
    }

    /// Returns the line as it is now, for another line that begins here.
    pub(crate) fn mark(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            history: self.history.clone(),
            trie: self.trie.clone(),
            roots: HashMap::from([(self.root, self.trie.clone())]),
            ..*self
        }
    }

    /// Checks the next batch of the line (FOR-1), and returns it as a batch for this log, without the record of the line.
    /// Notes what the batch brings in `supply`.
    ///
    /// # Errors
    /// `Corrupt` if the batch does not continue the line, or links what nobody has.
    pub(crate) fn take(
        &mut self,
        batch: &Batch,
        commit: &ForeignCommit,
        latest: Time,
        supply: &mut Supply,
    ) -> Result<BatchBuilder> {
        let suite = self.store.suite;
        let wrong = |rule: &str| {
            let digest = commit.digest;
            Err(Error::corrupt(format!(
                "commit {digest} of the remote is refused: {rule}"
            )))
        };
        let mut contents = decode(batch, &hashed(batch, suite)?, suite)?;
        contents.check()?;
        supply.add(batch, suite);
        let (mut history, mut parent) = (self.history.clone(), self.head);
        for (gap, digests) in &contents.gaps {
            if gap.first != history.size() {
                return wrong("the gap before it does not continue the line");
            }
            for digest in digests {
                history.append(digest);
            }
            parent = digests.last().copied().unwrap_or(parent);
        }
        let found = &commit.commit;
        let rule = if found.parents.first() != Some(&parent) {
            "its parent is not the commit before it"
        } else if found.seq != history.size() {
            "its seq does not follow the seq of its parent"
        } else if found.history_root != history.root() {
            "its history root does not match the chain"
        } else if found.time <= self.time {
            "its time is not after the time of its parent"
        } else {
            ""
        };
        if !rule.is_empty() {
            return wrong(rule);
        }
        check_time(found, latest)?;
        let before = std::mem::take(&mut self.trie);
        self.trie = if contents.changes_state() {
            let known = |digest: ObjectDigest| self.has_version(digest, supply);
            let edit = Edit {
                nodes: &*self.store,
                first_written: &|_| Ok(None),
                // Nothing is read by this place.
                place: &|digest| {
                    if known(digest)? {
                        Ok(0)
                    } else {
                        Err(missing_version(digest))
                    }
                },
                time: found.time.as_micros(),
            };
            contents.edit(before, &edit, &mut Removed::new())?
        } else {
            self.reused(found.root, found.seq)?
        };
        check_root(found, self.trie.root(suite, Shape::State, &*self.store)?)?;
        contents.commit = None;
        let built = self.build(batch, supply)?;
        history.append(&commit.digest);
        (self.history, self.head, self.time) = (history, commit.digest, found.time);
        self.root = found.root;
        self.roots.insert(found.root, self.trie.clone());
        Ok(built)
    }

    /// Returns the state that a batch without changes takes over.
    fn reused(&self, root: Root, seq: u64) -> Result<Trie> {
        if let Some(known) = self.roots.get(&root) {
            return Ok(known.clone());
        }
        let older = self.store.by_root(root)?.filter(|older| older.seq() < seq);
        let older = older.ok_or_else(|| unknown_root(root, seq))?;
        self.store.state(&older)
    }

    fn has_version(&self, digest: ObjectDigest, supply: &Supply) -> Result<bool> {
        Ok(supply.0.contains_key(digest.as_bytes())
            || self.is_stored(digest.as_bytes(), RecordKind::Object)?)
    }

    /// Returns whether this log has a record, or the marker of its erasure.
    fn is_stored(&self, digest: &[u8; DIGEST_LEN], kind: RecordKind) -> Result<bool> {
        let records = &self.store.records;
        Ok(records.find(kind, digest)?.is_some() || records.erasure(digest)?.is_some())
    }

    /// Returns the batch for this log: its own records, after those that it links and this log lacks.
    fn build(&self, batch: &Batch, supply: &Supply) -> Result<BatchBuilder> {
        let mut built = BatchBuilder::new();
        for record in &batch.records {
            match record.kind {
                RecordKind::Link => {
                    for pair in record.body.as_chunks::<LINK_BYTES>().0 {
                        let digest = pair.last_chunk::<DIGEST_LEN>().copied().unwrap_or_default();
                        if !self.is_stored(&digest, RecordKind::Object)?
                            && let Some(version) = supply.0.get(&digest)
                        {
                            self.add_content_of(version, supply, &mut built)?;
                            self.add(version, UNLINKED, &mut built)?;
                        }
                    }
                }
                RecordKind::Object => self.add_content_of(record, supply, &mut built)?,
                _ => {}
            }
        }
        for record in &batch.records {
            match record.kind {
                // A content was added before the version that names it.
                RecordKind::Content
                | RecordKind::Reference
                | RecordKind::Line
                | RecordKind::Seal
                | RecordKind::Ignorable(_) => {}
                _ => self.add(record, record.flags, &mut built)?,
            }
        }
        Ok(built)
    }

    /// Adds the content that a version names, unless this log has it.
    fn add_content_of(&self, version: &Record, supply: &Supply, built: &mut BatchBuilder) -> Result<()> {
        let Some((digest, _)) = Object::content_digest_in(&version.body) else {
            return Ok(());
        };
        if self.is_stored(digest.as_bytes(), RecordKind::Content)? {
            return Ok(());
        }
        let content = supply.0.get(digest.as_bytes());
        let missing = || {
            Error::corrupt(format!(
                "the content {digest} of a version of the remote is missing"
            ))
        };
        self.add(content.ok_or_else(missing)?, 0, built)
    }

    /// Adds a record with the cap of the line, or its marker if it was erased here (FOR-2).
    fn add(&self, record: &Record, flags: u8, built: &mut BatchBuilder) -> Result<()> {
        let suite = self.store.suite;
        if let Some(digest) = self.store.erasable(record)
            && let Some(by) = self.store.records.erasure(&digest)?
            && self.store.records.find(record.kind, &digest)?.is_none()
        {
            let is_object = record.kind == RecordKind::Object;
            let key = is_object.then(|| suite.key_path(super::object_of(record, suite).id().as_str()));
            let erased = Erased { key, digest, by };
            built.add(
                RecordKind::Erased,
                if is_object { flags } else { UNLINKED },
                &erased.encode(),
            );
            return Ok(());
        }
        // INVARIANT RCS-3
        let flags = (flags & UNLINKED) | (capped(record, self.cap) & !UNLINKED);
        built.add(record.kind, flags, &record.body);
        Ok(())
    }
}

/// Returns an error if a commit of a remote is later than `latest`.
///
/// # Errors
/// `Corrupt` (code `clock_ahead`).
pub(crate) fn check_time(commit: &Commit, latest: Time) -> Result<()> {
    if commit.time <= latest {
        return Ok(());
    }
    let text = "a commit of the remote is more than a day ahead of the clock of this machine";
    let error = Error::corrupt(text).with_code(ErrorCode::ClockAhead);
    Err(error.with_hint(
        "set the clock of this machine; if it is right, the one of the machine that pushed was wrong",
    ))
}

/// Returns the taints of sessions that a batch of a remote has.
///
/// # Errors
/// `Corrupt` if a reference cannot be decoded.
pub(crate) fn taints_in(batch: &Batch) -> Result<Vec<Reference>> {
    let mut taints = Vec::new();
    for record in batch
        .records
        .iter()
        .filter(|record| record.kind == RecordKind::Reference)
    {
        let reference = Reference::decode(&record.body)
            .map_err(|error| Error::corrupt(format!("a reference of the remote is damaged: {error}")))?;
        taints.extend(
            Some(reference).filter(|reference| reference.name.is_taint() && reference.commit.is_some()),
        );
    }
    Ok(taints)
}
