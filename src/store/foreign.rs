//! Checks the batches of a remote before this store takes them in.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - FOR-1: a batch of a remote is taken in only if STO-1 holds for it, if every version and content that it links is
//!   known, and if its time is not far ahead.
//! - FOR-2: nothing that was erased here comes back: its marker takes the place of the record. A record of a commit that
//!   comes from the erasure was put again afterwards, and stays.
//! - FOR-3: a version that comes from the batch of a line that is not taken in brings the versions from which it is derived. So a
//!   conflict has the versions that it names (CFL-1).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Store;
use super::commits::{CommitEntry, Gap};
use super::decoded::{decode, hashed};
use super::edit::{Edit, Removed};
use super::lines::LineRecord;
use super::past::{check_root, missing_version, unknown_root};
use super::records::{capped, digest_of};
use super::rewritten::{ERASED_IDS, Erased, MapEntry, decode_gap, entries_of, unreadable};
use super::up_to::UpTo;
use super::written::{Times, WRITTEN, Written};
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, ObjectDigest, Root};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Batch, BatchBuilder, Record, RecordKind, UNLINK_BYTES, UNLINKED};
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
/// batch. Each with the time at which it was written, if its batch says it (WRT-1).
#[derive(Default)]
pub(crate) struct Supply(HashMap<[u8; DIGEST_LEN], (Record, Option<Time>)>);

impl Supply {
    /// Adds the versions and contents of a batch, and the markers of erased ones, if `wants` one of their digests.
    ///
    /// # Errors
    /// `Corrupt` if a marker, the commit or a reference cannot be decoded.
    pub(crate) fn add(
        &mut self,
        batch: &Batch,
        suite: HashSuite,
        wants: &dyn Fn(&[u8; DIGEST_LEN]) -> bool,
    ) -> Result<()> {
        let times = Times::of(batch)?;
        for record in &batch.records {
            let digest = match record.kind {
                RecordKind::Object | RecordKind::Content => digest_of(record, suite),
                RecordKind::Erased => {
                    Erased::decode(&record.body)
                        .map_err(|error| unreadable(record, &error))?
                        .digest
                }
                _ => continue,
            };
            if wants(&digest) && (record.kind != RecordKind::Erased || !self.has(&digest)) {
                self.0.insert(digest, (record.clone(), times.of_version(&digest)));
            }
        }
        Ok(())
    }

    /// Adds the wanted versions of an older batch, and their contents. Removes from `wanted` what it found.
    ///
    /// # Errors
    /// `Corrupt` if a marker cannot be decoded.
    pub(crate) fn add_wanted(
        &mut self,
        batch: &Batch,
        suite: HashSuite,
        wanted: &mut HashSet<[u8; DIGEST_LEN]>,
    ) -> Result<()> {
        let objects = batch
            .records
            .iter()
            .filter(|record| record.kind == RecordKind::Object);
        let found = objects.filter(|record| wanted.contains(&digest_of(record, suite)));
        let contents: Vec<_> = found
            .filter_map(|record| Object::content_digest_in(&record.body))
            .map(|(content, _)| *content.as_bytes())
            .collect();
        wanted.extend(contents);
        self.add(batch, suite, &|digest| wanted.contains(digest))?;
        wanted.retain(|digest| !self.has(digest));
        Ok(())
    }

    pub(crate) fn has(&self, digest: &[u8; DIGEST_LEN]) -> bool {
        self.0.contains_key(digest)
    }
}

/// A batch of a remote with its commit, and what it is checked against.
pub(crate) struct Checked<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) commit: &'a ForeignCommit,
    /// The latest time that a commit may have.
    pub(crate) latest: Time,
    pub(crate) supply: &'a Supply,
    /// Returns whether the commit comes from another one.
    pub(crate) comes_from: &'a dyn Fn(CommitDigest) -> Result<bool>,
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
    ///
    /// # Errors
    /// `Corrupt` if the batch does not continue the line, or links what nobody has.
    pub(crate) fn take(&mut self, checked: &Checked<'_>) -> Result<BatchBuilder> {
        let &Checked { batch, commit, .. } = checked;
        let (suite, found) = (self.store.suite, &commit.commit);
        let contents = decode(batch, &hashed(batch, suite)?, suite)?;
        contents.check()?;
        let mut history = self.history_before(commit, &contents.gaps)?;
        check_time(found, checked.latest)?;
        let before = std::mem::take(&mut self.trie);
        self.trie = if contents.changes_state() {
            let edit = Edit {
                nodes: &*self.store,
                first_written: &|_| Ok(None),
                // Nothing is read by this place.
                place: &|digest| {
                    if self.has_version(digest, checked.supply)? {
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
        let built = self.build(checked)?;
        history.append(&commit.digest);
        (self.history, self.head, self.time) = (history, commit.digest, found.time);
        self.root = found.root;
        self.roots.insert(found.root, self.trie.clone());
        Ok(built)
    }

    /// Checks that a commit continues the line behind thinned ones. Returns the history before it.
    fn history_before(
        &self,
        found: &ForeignCommit,
        gaps: &[(Gap, Vec<CommitDigest>)],
    ) -> Result<HistoryTree> {
        let (mut history, mut parent) = (self.history.clone(), self.head);
        let mut is_joined = true;
        for (gap, digests) in gaps {
            is_joined &= gap.first == history.size();
            for digest in digests {
                history.append(digest);
            }
            parent = digests.last().copied().unwrap_or(parent);
        }
        let (digest, commit) = (found.digest, &found.commit);
        let rules = [
            (is_joined, "the gap before it does not continue the line"),
            (
                commit.parents.first() == Some(&parent),
                "its parent is not the commit before it",
            ),
            (
                commit.seq == history.size(),
                "its seq does not follow the seq of its parent",
            ),
            (
                commit.history_root == history.root(),
                "its history root does not match the chain",
            ),
            (
                commit.time > self.time,
                "its time is not after the time of its parent",
            ),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            None => Ok(history),
            Some((_, rule)) => Err(Error::corrupt(format!(
                "commit {digest} of the remote is refused: {rule}"
            ))),
        }
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
        Ok(supply.has(digest.as_bytes()) || self.store.is_stored(digest.as_bytes(), RecordKind::Object)?)
    }

    /// Returns the batch for this log: its own records, after those that it links and this log lacks.
    fn build(&self, checked: &Checked<'_>) -> Result<BatchBuilder> {
        let &Checked { batch, supply, .. } = checked;
        let (mut built, mut written) = (BatchBuilder::new(), Written::default());
        let (mut own, mut brought) = (Supply::default(), HashSet::new());
        let is_map = |record: &Record| matches!(record.kind, RecordKind::Base | RecordKind::Delta);
        if batch.records.iter().any(is_map) {
            // A map also names the versions of its own batch.
            own.add(batch, self.store.suite, &|_| true)?;
        }
        for record in &batch.records {
            for digest in changes_of(record).into_iter().filter_map(|(_, digest)| digest) {
                if own.has(&digest) || self.store.is_stored(&digest, RecordKind::Object)? {
                    continue;
                }
                let Some((version, _)) = supply.0.get(&digest) else {
                    continue;
                };
                // INVARIANT FOR-3
                let sources = match version.kind {
                    RecordKind::Object => Object::derived_from_in(&version.body),
                    _ => &[],
                };
                for needed in sources.iter().chain([&digest]) {
                    if brought.insert(*needed) && !own.has(needed) {
                        self.bring(needed, checked, &mut built, &mut written)?;
                    }
                }
            }
            if record.kind == RecordKind::Object {
                self.add_content_of(record, checked, &mut built)?;
            }
        }
        for record in &batch.records {
            match record.kind {
                // A content was added before the version that names it.
                RecordKind::Content | RecordKind::Reference | RecordKind::Line | RecordKind::Seal => {}
                RecordKind::Ignorable(_) if !matches!(record.kind, WRITTEN | ERASED_IDS) => {}
                _ => self.add(record, record.flags, checked, &mut built)?,
            }
        }
        written.add_to(&mut built);
        Ok(built)
    }

    /// Adds a version that the remote has in another batch, unless this log has it.
    fn bring(
        &self,
        digest: &[u8; DIGEST_LEN],
        checked: &Checked<'_>,
        built: &mut BatchBuilder,
        written: &mut Written,
    ) -> Result<()> {
        let found = checked.supply.0.get(digest);
        let Some((version, time)) = found.filter(|(version, _)| version.kind != RecordKind::Content) else {
            return Ok(());
        };
        if self.store.is_stored(digest, RecordKind::Object)? {
            return Ok(());
        }
        self.add_content_of(version, checked, built)?;
        self.add(version, UNLINKED, checked, built)?;
        // INVARIANT WRT-1
        if let Some(time) = time.filter(|time| *time < checked.commit.commit.time) {
            written.add(*digest, time);
        }
        Ok(())
    }

    /// Adds the content that a version names, unless this log has it.
    fn add_content_of(
        &self,
        version: &Record,
        checked: &Checked<'_>,
        built: &mut BatchBuilder,
    ) -> Result<()> {
        if version.kind != RecordKind::Object {
            return Ok(());
        }
        let Some((digest, _)) = Object::content_digest_in(&version.body) else {
            return Ok(());
        };
        let (key, kind) = (digest.as_bytes(), RecordKind::Content);
        if self.store.records.find(kind, key)?.is_some() {
            return Ok(());
        }
        // A content that was erased here was put again only if it is in this very batch (FOR-2).
        let is_it = |record: &Record| record.kind == kind && digest_of(record, self.store.suite) == *key;
        if self.store.records.erasure(key)?.is_some() && !checked.batch.records.iter().any(is_it) {
            return Ok(());
        }
        let content = checked.supply.0.get(key).map(|(content, _)| content);
        let missing = || {
            Error::corrupt(format!(
                "the content {digest} of a version of the remote is missing"
            ))
        };
        let content = content.ok_or_else(missing)?;
        let flags = if content.kind == RecordKind::Erased {
            UNLINKED
        } else {
            0
        };
        self.add(content, flags, checked, built)
    }

    /// Adds a record with the cap of the line, or its marker if it was erased here (FOR-2).
    fn add(&self, record: &Record, flags: u8, checked: &Checked<'_>, built: &mut BatchBuilder) -> Result<()> {
        if let Some(digest) = self.store.erasable(record)
            && let Some(by) = self.store.records.erasure(&digest)?
            && self.store.records.find(record.kind, &digest)?.is_none()
            && !(checked.comes_from)(by)?
        {
            let erased = Erased::of(record, digest, by, self.store.suite);
            let flags = if erased.key.is_some() { flags } else { UNLINKED };
            built.add(RecordKind::Erased, flags, &erased.encode());
            return Ok(());
        }
        // INVARIANT RCS-3
        let flags = (flags & UNLINKED) | (capped(record, self.cap) & !UNLINKED);
        built.add(record.kind, flags, &record.body);
        Ok(())
    }
}

impl Store {
    /// Returns whether this log has a record, or the marker of its erasure.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn is_stored(&self, digest: &[u8; DIGEST_LEN], kind: RecordKind) -> Result<bool> {
        Ok(self.records.find(kind, digest)?.is_some() || self.records.erasure(digest)?.is_some())
    }

    /// Returns whether this log has a record that an erasure can remove.
    ///
    /// # Errors
    /// The errors of [`Self::is_stored`].
    pub(crate) fn is_found(&self, digest: &[u8; DIGEST_LEN]) -> Result<bool> {
        for kind in [RecordKind::Object, RecordKind::Content, RecordKind::Text] {
            if self.records.find(kind, digest)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
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

/// Returns the references that a batch of a remote has.
///
/// # Errors
/// `Corrupt` if a reference cannot be decoded.
pub(crate) fn references_in(batch: &Batch) -> Result<Vec<Reference>> {
    let records = batch.records.iter();
    let references = records.filter(|record| record.kind == RecordKind::Reference);
    let decoded = references.map(|record| {
        Reference::decode(&record.body)
            .map_err(|error| Error::corrupt(format!("a reference of the remote is damaged: {error}")))
    });
    decoded.collect()
}

/// Returns the thinned commits before the commit of a batch.
///
/// # Errors
/// `Corrupt` if a gap cannot be decoded.
pub(crate) fn gaps_in(batch: &Batch) -> Result<Vec<CommitDigest>> {
    let mut digests = Vec::new();
    for record in batch
        .records
        .iter()
        .filter(|record| record.kind == RecordKind::Gap)
    {
        let (_, gap) = decode_gap(&record.body)
            .map_err(|error| Error::corrupt(format!("a gap of the remote is damaged: {error}")))?;
        digests.extend(gap);
    }
    Ok(digests)
}

/// A change of an id: the key path, and the digest of the version if there is one.
type IdChange = ([u8; DIGEST_LEN], Option<[u8; DIGEST_LEN]>);

/// Returns the changes of ids that a batch links, unlinks or maps.
pub(crate) fn changes_in(batch: &Batch) -> Vec<IdChange> {
    batch.records.iter().flat_map(changes_of).collect()
}

fn changes_of(record: &Record) -> Vec<IdChange> {
    let body = &record.body;
    match record.kind {
        RecordKind::Link => {
            let pairs = body.as_chunks::<DIGEST_LEN>().0.chunks_exact(2);
            pairs.map(|pair| (pair[0], Some(pair[1]))).collect()
        }
        RecordKind::Unlink => {
            let keys = body.as_chunks::<UNLINK_BYTES>().0;
            keys.iter().map(|key| (*key, None)).collect()
        }
        RecordKind::Base | RecordKind::Delta => {
            let digest = |entry: &MapEntry| entry.digest.map(|digest| *digest.as_bytes());
            let entries = entries_of(record);
            entries
                .map(|entry| (*entry.key.as_bytes(), digest(&entry)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the digests of the versions and contents that a batch names.
pub(crate) fn needed_by(batch: &Batch) -> Vec<[u8; DIGEST_LEN]> {
    let linked = changes_in(batch).into_iter().filter_map(|(_, digest)| digest);
    let objects = batch
        .records
        .iter()
        .filter(|record| record.kind == RecordKind::Object);
    let contents = objects.filter_map(|record| Object::content_digest_in(&record.body));
    linked
        .chain(contents.map(|(content, _)| *content.as_bytes()))
        .collect()
}

/// Returns the name of the line of a batch of a remote, in the remote; `None` for the main line.
///
/// # Errors
/// `Corrupt` if a record cannot be decoded.
pub(crate) fn line_of(batch: &Batch, suite: HashSuite) -> Result<Option<String>> {
    let line = LineRecord::of(&batch.records, suite)?;
    Ok(line.map(|line| line.name().to_owned()))
}
