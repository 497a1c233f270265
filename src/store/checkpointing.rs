//! Collects the content of a checkpoint from the store, and decides which states it contains.
//!
//! # Layer
//! Layer 4.

use std::collections::HashSet;
use std::sync::Arc;

use crate::digest::{HashSuite, ObjectDigest};
use crate::disk::Disk;
use crate::error::{ErrorCode, Result};
use crate::log::{Locator, Position, RecordKind};
use crate::object::{HistoryTree, Object};
use crate::trie::{Entry, NodeSource, StoredNode, Trie};

use super::base::row_of;
use super::catalog::since;
use super::checkpoint::{
    self, Around, Checkpoint, CheckpointFile, ChildRow, Contents, LogId, Progress, State,
};
use super::lines::LineInfo;
use super::references::{References, decode_reference};
use super::{CommitEntry, Store};

/// The maximal number of past states in a checkpoint, in addition to the head's state. The past states are spread over
/// the history, so that every commit is near a stored state.
const PAST_STATES: u64 = 24;
/// The number of entries of a state whose size in a checkpoint equals the size of one commit of one object in the log.
const ENTRIES_A_COMMIT: u64 = 8;
/// The maximal number of additional past states, for the newest commits that references name.
const NAMED_STATES: usize = 24;

/// The number of indexed versions that use as much memory as one commit. A commit uses more memory, because its trie
/// has separate copies of the top branches.
const VERSIONS_A_COMMIT: usize = 8;

/// The estimated number of bytes that a byte of records needs in a checkpoint file.
const BYTES_A_BYTE: u64 = 2;

/// A position of the log with the parts of the store that later batches replace. Everything else that a checkpoint up to
/// this position needs is in the store, because a store only grows.
pub(crate) struct Cut {
    pub(crate) log: LogId,
    pub(crate) position: Position,
    head: Arc<CommitEntry>,
    /// The state of `head`.
    state: Trie,
    history: HistoryTree,
    versions: u64,
    erased: u64,
    /// All lines besides the main one.
    lines: Vec<LineInfo>,
    /// The rollbacks whose removed ids the store does not know yet.
    left: Vec<(Arc<CommitEntry>, Arc<CommitEntry>)>,
}

/// How a checkpoint is written.
pub(crate) struct Work<'a> {
    pub(crate) disk: &'a dyn Disk,
    /// Whether to map files for reading.
    pub(crate) map: bool,
    /// The size of the records since the newest checkpoint in bytes.
    pub(crate) tail_bytes: u64,
    /// The maximal size of the absorbed files together in bytes.
    pub(crate) limit: u64,
    /// The number of the oldest files of the checkpoint that stay in any case.
    pub(crate) floor: usize,
    /// The unfinished file that another writer of this process is writing.
    pub(crate) busy: Option<u64>,
}

impl Work<'_> {
    fn write(
        &self,
        contents: Contents<'_>,
        nodes: &dyn NodeSource,
        busy: Option<u64>,
        started: &mut dyn FnMut(u64),
        progress: &mut Progress<'_>,
    ) -> Result<CheckpointFile> {
        let log = contents.log;
        let mut around = Around {
            busy,
            started,
            is_current: &|| log.is_in(self.disk),
        };
        checkpoint::write(self.disk, contents, nodes, &mut around, progress)
    }
}

/// The nodes of a checkpoint and of a store.
struct Both<'a>(Option<&'a Checkpoint>, &'a Store);

impl NodeSource for Both<'_> {
    fn load(&self, stored: &StoredNode) -> Result<Vec<u8>> {
        match self.0.filter(|checkpoint| checkpoint.has_node(stored)) {
            Some(checkpoint) => checkpoint.load(stored),
            None => self.1.load(stored),
        }
    }

    fn suite(&self) -> HashSuite {
        self.1.suite
    }
}

impl Store {
    /// Returns the present state of the store, up to `position`, for a checkpoint. The store must have applied all batches
    /// up to `position` and no later ones, and the log must be durable up to `position`.
    ///
    /// # Errors
    /// `Corrupt` if the log contains no commit.
    pub(crate) fn cut(&self, log: LogId, position: Position) -> Result<Cut> {
        let head = self.head()?;
        let state = self.state(&head)?;
        let catalog = self.catalog.read_recursive();
        Ok(Cut {
            log,
            position,
            head,
            state,
            history: catalog.history.clone(),
            versions: self.records.versions(),
            erased: self.records.erased(),
            lines: self.lines().iter().cloned().collect(),
            left: catalog.left.clone(),
        })
    }

    /// Writes a checkpoint up to `cut`. `known` is the newest checkpoint as far as the caller knows. Returns the new
    /// checkpoint, or `known` or the newest one if it already covers the cut.
    ///
    /// # Errors
    /// The errors of [`checkpoint::write`].
    pub(crate) fn write_checkpoint(
        &self,
        cut: &Cut,
        known: Option<Checkpoint>,
        work: &Work<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Checkpoint> {
        let newest = match known.filter(|known| checkpoint::is_newest(work.disk, known)) {
            None => {
                let found = checkpoint::open_newest(work.disk, cut.log, work.map)?.0;
                found.filter(|found| self.agrees_with(found).unwrap_or(false))
            }
            known => known,
        };
        let from = self.covered_batch();
        let newest = newest.filter(|newest| newest.log() == cut.log && newest.position().batch >= from);
        if let Some(newest) = newest
            .as_ref()
            .filter(|one| one.position().batch >= cut.position.batch)
        {
            return Ok(newest.clone());
        }
        let written = match &newest {
            Some(newest) => {
                let bytes = work.tail_bytes.saturating_mul(BYTES_A_BYTE);
                let stay = checkpoint::plan(newest, bytes, work.limit, work.floor);
                self.write_onto(cut, Some(newest), stay, work, progress)
            }
            // The files do not contain what this store no longer has in memory. So this writes one file with everything.
            None => self.write_onto(
                cut,
                self.covered().map(|covered| covered.base.checkpoint()),
                0,
                work,
                progress,
            ),
        };
        match written {
            // If a file is damaged, writes a new checkpoint from the log.
            Err(error) if error.code() == ErrorCode::CheckpointDamaged => {
                let base = self.covered().map(|covered| covered.base.rebuild()).transpose()?;
                self.write_onto(cut, base, 0, work, progress)
            }
            written => written,
        }
    }

    /// Writes a file that builds on the first `stay` files of a checkpoint.
    fn write_onto(
        &self,
        cut: &Cut,
        chain: Option<&Checkpoint>,
        stay: usize,
        work: &Work<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Checkpoint> {
        let apart = self.apart(cut.state.len());
        let contents = self.contents(cut, chain, stay, apart)?;
        let nodes = Both(chain, self);
        let file = work.write(contents, &nodes, work.busy, &mut |_| {}, progress)?;
        Checkpoint::followed_by(chain, stay, work.disk, &file, work.map)
    }

    /// Creates a checkpoint in memory, of the log up to `position`, with the states of all commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn checkpoint_in_memory(&self, log: LogId, position: Position) -> Result<Checkpoint> {
        let cut = self.cut(log, position)?;
        checkpoint::make(self.contents(&cut, None, 0, 0)?, self)
    }

    /// Replaces the files of a checkpoint behind the first `stay` ones by one file with the same content. `started` receives
    /// the number of the new file.
    ///
    /// # Errors
    /// The errors of [`checkpoint::write`].
    pub(crate) fn merge_checkpoint(
        &self,
        chain: &Checkpoint,
        stay: usize,
        work: &Work<'_>,
        started: &mut dyn FnMut(u64),
        progress: &mut Progress<'_>,
    ) -> Result<Checkpoint> {
        let head = chain.head()?.map(|row| (row.seq, row.count));
        let (seq, entries) = head.unwrap_or_default();
        let mut wanted = self.wanted(Some(chain), stay, self.apart(entries))?;
        let mut contents =
            checkpoint::absorbed(chain, stay, chain, &mut |found| wanted(found) || found == seq)?;
        if stay == 0 {
            contents.references = current(&contents.references)?;
        }
        let file = work.write(contents, chain, None, started, progress)?;
        Checkpoint::followed_by(Some(chain), stay, work.disk, &file, work.map)
    }

    /// Moves the files of a checkpoint behind the first `count` ones onto another checkpoint, which covers the log as far
    /// as these `count` files. The moved files become one file.
    ///
    /// # Errors
    /// The errors of [`checkpoint::write`].
    pub(crate) fn move_checkpoint(
        &self,
        from: &Checkpoint,
        count: usize,
        onto: &Checkpoint,
        work: &Work<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Checkpoint> {
        let joined = onto.with_files_of(from, count);
        let stay = onto.files();
        let head = from.head()?.map(|row| (row.seq, row.count));
        let (seq, entries) = head.unwrap_or_default();
        let mut wanted = self.wanted(Some(&joined), stay, self.apart(entries))?;
        let contents = checkpoint::absorbed(&joined, stay, from, &mut |found| wanted(found) || found == seq)?;
        let file = work.write(contents, from, None, &mut |_| {}, progress)?;
        Checkpoint::followed_by(Some(onto), stay, work.disk, &file, work.map)
    }

    /// Returns the distance between the seqs of two stored states. Large states are stored at greater distances. A stored
    /// state uses bytes in proportion to its size, and only saves a reader the replay of the commits since the previous
    /// stored state.
    fn apart(&self, entries: u64) -> u64 {
        (entries / ENTRIES_A_COMMIT).max(self.kept() as u64 / PAST_STATES)
    }

    /// Returns a function that chooses the states to store behind the first `stay` files of a checkpoint, in the order of
    /// seq: states whose seqs differ by at least `apart`, and the states of commits that references name.
    fn wanted(
        &self,
        chain: Option<&Checkpoint>,
        stay: usize,
        apart: u64,
    ) -> Result<impl FnMut(u64) -> bool + use<>> {
        let named = self.named_commits()?;
        let last = chain.map_or(Ok(None), |chain| chain.last_state(stay))?;
        let mut next = last.map_or(0, |state| state.seq) + apart;
        Ok(move |seq| {
            let is_next = seq >= next;
            if is_next {
                next = seq + apart;
            }
            is_next || named.contains(&seq)
        })
    }

    /// Returns the content of a file that builds on the first `stay` files of `chain`, and contains the rows of its other
    /// files and those up to the cut.
    fn contents<'a>(
        &'a self,
        cut: &'a Cut,
        chain: Option<&'a Checkpoint>,
        stay: usize,
        apart: u64,
    ) -> Result<Contents<'a>> {
        let from = chain.map_or(Position::START, Checkpoint::position);
        let mut wanted = self.wanted(chain, stay, apart)?;
        let mut contents = match chain {
            Some(chain) => checkpoint::absorbed(chain, stay, chain, &mut wanted)?,
            None => Contents::empty(cut.log, cut.history.clone()),
        };
        let first = chain.map_or(Ok(0), Checkpoint::seq_after)?;
        self.add_commits(&mut contents, cut, (from.batch, first), &mut wanted)?;
        let stays_until = chain.map_or(0, |chain| chain.batch_of(stay));
        if cut.head.batch > stays_until {
            // Stores the head's state only once, with the position of the checkpoint.
            contents.states.retain(|state| state.seq != cut.head.seq());
            contents.states.push(State {
                seq: cut.head.seq(),
                trie: cut.state.clone(),
                position: cut.position,
            });
        }
        for of_objects in [true, false] {
            let rows = self.records.rows(of_objects, from.batch, cut.position.batch);
            let all = if of_objects {
                &mut contents.objects
            } else {
                &mut contents.texts
            };
            checkpoint::append(all, rows);
        }
        if stay == 0 {
            contents.references = current(&contents.references)?;
        }
        self.add_children(&mut contents, cut, chain, stay)?;
        contents.log = cut.log;
        contents.position = cut.position;
        contents.history = cut.history.clone();
        contents.lines = cut.lines.iter().map(LineInfo::encode).collect();
        (contents.versions, contents.erased) = (cut.versions, cut.erased);
        Ok(contents)
    }

    /// Adds the commits, past states, gaps, references and removed ids of the batches after `from` up to the cut. `first` is
    /// the seq that follows the newest earlier commit.
    fn add_commits(
        &self,
        contents: &mut Contents<'_>,
        cut: &Cut,
        (from, first): (u64, u64),
        wanted: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        let (commits, removed, left) = {
            let is_within = |batch: u64| batch <= cut.position.batch;
            for (batch, reference) in self.references_since(from) {
                if is_within(batch) {
                    contents.references.push((batch, reference.encode()?));
                }
            }
            let catalog = self.catalog.read_recursive();
            let commits = catalog.line.since(from).iter();
            let commits: Vec<_> = commits.filter(|entry| is_within(entry.batch)).cloned().collect();
            let gaps = catalog.line.gaps.iter();
            let gaps = gaps.filter(|gap| gap.first >= first && gap.first < cut.head.seq());
            contents.gaps.extend(gaps.copied());
            let removed = since(&catalog.unlinked_since, from).iter();
            let removed = removed
                .filter(|(batch, _)| is_within(*batch))
                .map(|(_, row)| *row);
            let left = cut.left.iter().filter(|(_, after)| after.batch > from);
            (
                commits,
                removed.collect::<Vec<_>>(),
                left.cloned().collect::<Vec<_>>(),
            )
        };
        checkpoint::append(&mut contents.first_written, removed);
        checkpoint::append(&mut contents.first_written, self.removed_by(&left)?);
        for entry in commits.iter().filter(|entry| wanted(entry.seq())) {
            contents.states.push(State {
                seq: entry.seq(),
                trie: self.state(entry)?,
                position: self.records.reader().position_behind(entry.place)?,
            });
        }
        checkpoint::append(
            &mut contents.commits,
            commits.iter().map(|entry| row_of(entry)).collect(),
        );
        Ok(())
    }

    /// Adds the parents of the objects that changed since `chain`.
    fn add_children(
        &self,
        contents: &mut Contents<'_>,
        cut: &Cut,
        chain: Option<&Checkpoint>,
        stay: usize,
    ) -> Result<()> {
        let covered = chain.map_or(0, |chain| chain.position().batch);
        if self.catalog.read_recursive().tree_changed <= covered {
            return Ok(());
        }
        let before = chain.map_or(Ok(None), Checkpoint::head)?;
        let nodes = Both(chain, self);
        let before = before
            .map(|row| Trie::from_stored(row.top(), &nodes))
            .transpose()?;
        let (mut changed, mut entries) = (HashSet::new(), Vec::new());
        for change in before.unwrap_or_default().diff(&cut.state, &nodes) {
            let change = change?;
            if change.old.is_some() {
                changed.insert(change.key);
            }
            entries.extend(change.new);
        }
        // Sorts the entries by their locators, because random access to mapped files is slow.
        entries.sort_unstable_by_key(|entry: &Entry| entry.place);
        let mut newer = Vec::new();
        for new in entries {
            let record = self.records.record(Locator::from_u64(new.place))?;
            if record.kind != RecordKind::Object {
                continue;
            }
            let object = Object::from_verified(record.body, ObjectDigest::from_bytes(new.digest));
            if let Some(parent) = object.parent() {
                newer.push(ChildRow {
                    parent: checkpoint::prefix_of(self.suite.key_path(parent).as_bytes()),
                    child: new.key,
                });
            }
        }
        if stay > 0 {
            checkpoint::append(&mut contents.replaced, changed.iter().copied().collect());
        }
        contents.children.retain(|row| !changed.contains(&row.child));
        contents.children.append(&mut newer);
        Ok(())
    }

    /// Returns the seqs of the commits that the newest references name.
    fn named_commits(&self) -> Result<HashSet<u64>> {
        let mut named: Vec<_> = self.references().kept_commits().collect();
        // The first use of a fork begins with the state of its base.
        named.extend(self.lines().live().map(|line| (line.first_batch, line.base)));
        named.sort_by_key(|(batch, _)| std::cmp::Reverse(*batch));
        let mut found = HashSet::new();
        for (_, commit) in named.into_iter().take(NAMED_STATES) {
            found.extend(self.by_digest(commit)?.map(|entry| entry.seq()));
        }
        Ok(found)
    }

    /// Returns whether a checkpoint of another writer has the same commits at the same places of the log as this store.
    /// They differ if one of the two did not notice that a recovery moved batches.
    fn agrees_with(&self, checkpoint: &Checkpoint) -> Result<bool> {
        let catalog = self.catalog.read_recursive();
        let line = &catalog.line.kept;
        let Some(first) = line.first() else {
            return Ok(true);
        };
        let commits = checkpoint.commits();
        let start = commits.count_before(|row| row.seq < first.seq())?;
        for (index, entry) in (start..commits.len()).zip(line) {
            let row = commits.row(index)?;
            if (row.digest, row.place, row.batch) != (entry.digest, entry.place.to_u64(), entry.batch) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Forgets what the store keeps only for the next checkpoint, up to the position of a checkpoint.
    pub(crate) fn forget_covered(&self, checkpoint: &Checkpoint) {
        self.records.forget_order(checkpoint.position().batch);
    }

    /// Returns whether the batches since the checkpoint of this store use so much memory that a newer checkpoint should
    /// replace it. That is so if the weight of these batches, in versions, reaches the maximum of `many`, twice the size of
    /// the newest state, and the number of commits in the checkpoint. The newest state stays in memory anyway, and a
    /// checkpoint contains a row for each commit.
    ///
    /// # Errors
    /// The errors of [`Self::state`].
    pub(crate) fn is_heavy(&self, many: usize) -> Result<bool> {
        let commits = self.catalog.read_recursive().line.kept.len();
        let state = self.state(&*self.head()?)?.len() as usize;
        let weight = commits * VERSIONS_A_COMMIT + self.newer_references() + self.records.newer();
        Ok(weight >= many.max(2 * state).max(self.base_len()))
    }
}

/// Returns the records of the references that the given records leave, in the order of the log.
fn current(records: &[(u64, Vec<u8>)]) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut references = References::default();
    for (batch, bytes) in records {
        references.push(Arc::new(decode_reference(bytes)?), *batch);
    }
    let entries = references.iter();
    let mut found: Vec<_> = entries
        .map(|entry| Ok((entry.batch, entry.reference.encode()?)))
        .collect::<Result<_>>()?;
    found.sort_by_key(|(batch, _)| *batch);
    Ok(found)
}
