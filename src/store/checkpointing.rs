//! Collects the content of a checkpoint from the store, and decides which states it contains.
//!
//! # Layer
//! Layer 4.

use std::collections::HashSet;

use crate::digest::ObjectDigest;
use crate::disk::Disk;
use crate::error::{ErrorCode, Result};
use crate::log::{Locator, Position, RecordKind};
use crate::object::Object;
use crate::trie::{Entry, Trie};

use super::Store;
use super::base::row_of;
use super::checkpoint::{self, Checkpoint, ChildRow, Contents, FirstWritten, LogId, Rows, Source, State};

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

impl Store {
    /// Writes a checkpoint of the log up to `position`. The log must be durable up to `position`, and the store must
    /// have applied all batches up to `position`.
    ///
    /// # Errors
    /// The errors of [`checkpoint::write`].
    pub(crate) fn write_checkpoint(
        &self,
        disk: &dyn Disk,
        log: LogId,
        position: Position,
        progress: &mut checkpoint::Progress<'_>,
    ) -> Result<()> {
        let mut write = || {
            // Large states are stored at greater distances. A stored state uses bytes in proportion to its size, and
            // only saves a reader the replay of the commits since the previous stored state.
            let entries = self.state(&*self.head()?)?.len();
            let apart = (entries / ENTRIES_A_COMMIT).max(self.kept() as u64 / PAST_STATES);
            let contents = self.contents(log, position, apart)?;
            checkpoint::write(disk, contents, self, progress).map(drop)
        };
        match (write(), &self.base) {
            // If the previous checkpoint is damaged, rebuilds it from the log, so that the next checkpoint can be
            // written.
            (Err(error), Some(base)) if error.code() == ErrorCode::CheckpointDamaged => {
                base.rebuild()?;
                write()
            }
            (written, _) => written,
        }
    }

    /// Creates a checkpoint in memory, of the log up to `position`, with the states of all commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(super) fn checkpoint_in_memory(&self, log: LogId, position: Position) -> Result<Checkpoint> {
        checkpoint::make(self.contents(log, position, 0)?, self)
    }

    /// Returns the content of a checkpoint. The seqs of two stored past states differ by at least `apart`, except for
    /// commits that references name.
    fn contents(&self, log: LogId, position: Position, apart: u64) -> Result<Contents<'_>> {
        self.flush()?;
        let states = self.past_states(position, apart)?;
        let base = self.base.as_ref().map(|base| base.checkpoint());
        let newer = self.catalog.read_recursive().line.kept.clone();
        let newer = newer.into_iter().map(|entry| Ok(row_of(&entry)));
        let unlinked = self.catalog.read_recursive().unlinked.clone().into_iter();
        let unlinked = unlinked.map(|(key, created)| Ok(FirstWritten { key, created }));
        let commits = base.into_iter().flat_map(|base| base.commits().iter());
        let first_written = base.into_iter().flat_map(|base| base.first_written_rows().iter());
        let mut references: Vec<_> = self
            .references()
            .iter()
            .map(|entry| Ok((entry.batch, entry.reference.encode()?)))
            .collect::<Result<_>>()?;
        references.sort_by_key(|(batch, _)| *batch);
        let digests = |of_objects: bool| -> Source<'_, _> {
            let covered = base
                .into_iter()
                .flat_map(move |base| base.digests(of_objects).iter());
            Box::new(covered.chain(self.records.rows(of_objects).into_iter().map(Ok)))
        };
        Ok(Contents {
            log,
            position,
            versions: self.records.versions(),
            erased: self.records.erased(),
            states,
            objects: digests(true),
            texts: digests(false),
            commits: Box::new(commits.chain(newer)),
            first_written: Box::new(first_written.chain(unlinked)),
            children: self.children_rows()?,
            gaps: self.gaps(),
            references,
            history: self.history(),
        })
    }

    /// Returns whether the batches since the checkpoint use so much memory that a new checkpoint is worthwhile. A new
    /// checkpoint is worthwhile if the weight of these batches, in versions, reaches the maximum of `many`, twice the
    /// size of the newest state, and the number of commits in the checkpoint. The newest state stays in memory anyway,
    /// and a new checkpoint contains a row for each commit.
    ///
    /// # Errors
    /// The errors of [`Self::state`].
    pub(crate) fn is_heavy(&self, many: usize) -> Result<bool> {
        let newer = self.catalog.read_recursive().line.kept.len();
        let state = self.state(&*self.head()?)?.len() as usize;
        let weight = newer * VERSIONS_A_COMMIT + self.records.newer();
        Ok(weight >= many.max(2 * state).max(self.base_len()))
    }

    /// Returns the parent of each object in the newest state. Combines the rows of the previous checkpoint with the
    /// changes since then.
    fn children_rows(&self) -> Result<Source<'_, ChildRow>> {
        let known = self.base.as_ref().map(|base| base.checkpoint().child_rows());
        let before = self.covered_head()?.unwrap_or_default();
        let now = self.state(&*self.head()?)?;
        let (mut changed, mut entries) = (HashSet::new(), Vec::new());
        for change in before.diff(&now, self) {
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
        let known = known.into_iter().flat_map(Rows::iter);
        let known = known.filter(move |row| row.as_ref().map_or(true, |row| !changed.contains(&row.child)));
        Ok(Box::new(known.chain(newer.into_iter().map(Ok))))
    }

    /// Returns the states to store in a checkpoint, in the order of seq: past states whose seqs differ by at least
    /// `apart`, the states of commits that references name, and the head's state.
    fn past_states(&self, position: Position, apart: u64) -> Result<Vec<State>> {
        let head = self.head()?;
        let named = self.named_commits()?;
        let mut past = Vec::new();
        let mut next = apart;
        let mut wanted = |seq: u64| {
            let is_next = seq >= next;
            if is_next {
                next = seq + apart;
            }
            is_next || named.contains(&seq)
        };
        if let Some(base) = &self.base {
            for row in base.checkpoint().states().iter() {
                let row = row?;
                if wanted(row.seq) {
                    past.push(State {
                        seq: row.seq,
                        trie: Trie::from_stored(row.top(), self)?,
                        position: row.position,
                    });
                }
            }
        }
        let newer = self.catalog.read_recursive().line.kept.clone();
        for entry in newer.iter().filter(|entry| wanted(entry.seq())) {
            past.push(State {
                seq: entry.seq(),
                trie: self.state(entry)?,
                position: self.records.reader().position_behind(entry.place)?,
            });
        }
        // Stores the head's state only once, with the position of the checkpoint.
        past.retain(|state| state.seq != head.seq());
        past.push(State {
            seq: head.seq(),
            trie: self.state(&head)?,
            position,
        });
        Ok(past)
    }

    /// Returns the seqs of the commits that the newest references name.
    fn named_commits(&self) -> Result<HashSet<u64>> {
        let mut named: Vec<_> = self.references().kept_commits().collect();
        named.sort_by_key(|(batch, _)| std::cmp::Reverse(*batch));
        let mut found = HashSet::new();
        for (_, commit) in named.into_iter().take(NAMED_STATES) {
            found.extend(self.by_digest(commit)?.map(|entry| entry.seq()));
        }
        Ok(found)
    }
}
