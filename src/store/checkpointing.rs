//! Making a checkpoint of everything that was taken in.
//!
//! # Layer
//! L4.

use std::collections::{BTreeMap, HashSet};

use crate::digest::ObjectDigest;
use crate::disk::Disk;
use crate::error::{ErrorCode, Result};
use crate::log::{Locator, Position, RecordKind};
use crate::object::{HistoryTree, Object};
use crate::trie::{Entry, Trie};

use super::Store;
use super::base::{Base, row_of};
use super::checkpoint::{self, ChildRow, Contents, FirstWritten, Gap, LogId, Source, State};

/// States of past commits that a checkpoint holds at most besides the head's, so that those in between are near to one.
const PAST_STATES: u64 = 24;
/// Entries of a state that take about as many bytes as a commit of one object takes in the log.
const ENTRIES_A_COMMIT: u64 = 8;
/// States of the commits that references name, the newest, that it holds besides these.
const NAMED_STATES: usize = 24;

/// The memory of a commit with its own copies of the top branches, in versions.
const VERSIONS_A_COMMIT: usize = 8;
/// Versions since the checkpoint from which on they count as many; few in tests, so that all of them meet it.
const MANY_VERSIONS: usize = if cfg!(test) { 1 << 10 } else { 1 << 17 };

/// A state that is to be in the checkpoint.
struct Past {
    trie: Trie,
    position: Position,
}

impl Store {
    /// Writes a checkpoint of the log up to `position`, which is all that was taken in, and durable.
    ///
    /// # Errors
    /// As [`checkpoint::write`].
    pub(crate) fn write_checkpoint(
        &self,
        disk: &dyn Disk,
        log: LogId,
        position: Position,
        progress: &mut checkpoint::Progress<'_>,
    ) -> Result<()> {
        let written = self.write_checkpoint_once(disk, log, position, progress);
        match (&written, &self.base) {
            // Damage of the one before is not to keep all later ones from being made.
            (Err(error), Some(base))
                if error.code() == ErrorCode::CheckpointDamaged && base.turn_to_log()? =>
            {
                self.write_checkpoint_once(disk, log, position, progress)
            }
            _ => written,
        }
    }

    fn write_checkpoint_once(
        &self,
        disk: &dyn Disk,
        log: LogId,
        position: Position,
        progress: &mut checkpoint::Progress<'_>,
    ) -> Result<()> {
        self.flush()?;
        let past = self.past_states(position)?;
        let states: Vec<State<'_>> = past
            .iter()
            .map(|(&seq, past)| State {
                seq,
                trie: &past.trie,
                position: past.position,
            })
            .collect();
        let gaps: Vec<Gap> = self
            .gaps()
            .into_iter()
            .map(|gap| Gap {
                first: gap.first,
                count: gap.count,
                place: gap.place.to_u64(),
            })
            .collect();
        let history: HistoryTree = self.history();
        let (covered, newer) = {
            let catalog = self.catalog.read_recursive();
            let newer: Vec<_> = catalog.line.iter().map(|entry| row_of(entry)).collect();
            (self.base_len(), newer)
        };
        let base = self.base.as_deref();
        let covered = (0..covered).filter_map(|index| base.map(|base| base.row(index)));
        let mut first_written = base.map_or(Ok(Vec::new()), Base::first_written_rows)?;
        first_written.extend(self.first_written_overlay());
        let mut references: Vec<_> = self
            .references()
            .iter()
            .map(|entry| Ok((entry.batch, entry.reference.encode()?)))
            .collect::<Result<_>>()?;
        references.sort_by_key(|(batch, _)| *batch);
        let digests = |of_objects: bool| -> Source<'_, _> {
            let covered = base.map(|base| base.digest_rows(of_objects));
            let newer = self.records.rows(of_objects).into_iter().map(Ok);
            Box::new(covered.into_iter().flatten().chain(newer))
        };
        let children = self.children_rows()?;
        let contents = Contents {
            log,
            position,
            versions: self.records.versions(),
            erased: self.records.erased(),
            states: &states,
            objects: digests(true),
            texts: digests(false),
            commits: Box::new(covered.chain(newer.into_iter().map(Ok))),
            first_written: Box::new(
                first_written
                    .into_iter()
                    .map(|(key, created)| Ok(FirstWritten { key, created })),
            ),
            children,
            gaps: &gaps,
            references: Box::new(references.into_iter().map(Ok)),
            history: &history,
        };
        checkpoint::write(disk, contents, self, progress).map(drop)
    }

    /// Whether what was taken in since the checkpoint takes much memory, also beside the newest state, which a writer keeps
    /// anyway, and beside what a checkpoint costs that has a row for each commit.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub(crate) fn is_heavy(&self) -> Result<bool> {
        let newer = self.catalog.read_recursive().line.len();
        let state = self.state(&*self.head()?)?.len() as usize;
        let weight = newer * VERSIONS_A_COMMIT + self.records.newer();
        Ok(weight >= MANY_VERSIONS.max(2 * state).max(self.base_len()))
    }

    /// The parents of objects in the newest state: from the checkpoint before, with the changes since.
    fn children_rows(&self) -> Result<Source<'_, ChildRow>> {
        let known = self.base.as_ref().and_then(|base| base.child_rows());
        let before = if known.is_some() {
            self.covered_head()?
        } else {
            None
        };
        let now = self.state(&*self.head()?)?;
        let (mut changed, mut entries) = (HashSet::new(), Vec::new());
        for change in before.unwrap_or_default().diff(&now, self) {
            let change = change?;
            if change.old.is_some() {
                changed.insert(change.key);
            }
            entries.extend(change.new);
        }
        // In the order of the log: wherever else it jumps to, memory has to be waited for.
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
        let known = known.into_iter().flatten();
        let known = known.filter(move |row| row.as_ref().map_or(true, |row| !changed.contains(&row.child)));
        Ok(Box::new(known.chain(newer.into_iter().map(Ok))))
    }

    /// The states to be stored, by the number of their commit: the head's, those of named commits, and some in between.
    fn past_states(&self, position: Position) -> Result<BTreeMap<u64, Past>> {
        let head = self.head()?;
        let named = self.named_commits()?;
        let state = self.state(&head)?;
        // A state costs bytes in proportion to its size, and spares reading the commits since the one before.
        let apart = (state.len() / ENTRIES_A_COMMIT).max(self.kept() as u64 / PAST_STATES);
        let mut past = BTreeMap::new();
        let mut next = apart;
        let mut wanted = |seq: u64| {
            let is_next = seq >= next;
            if is_next {
                next = seq + apart;
            }
            is_next || named.contains(&seq)
        };
        if let Some(base) = &self.base {
            for row in base.states()?.into_iter().filter(|row| wanted(row.seq)) {
                let found = Past {
                    trie: Trie::from_stored(row.top(), self)?,
                    position: row.position,
                };
                past.insert(row.seq, found);
            }
        }
        let newer: Vec<_> = self.catalog.read_recursive().line.iter().cloned().collect();
        for entry in newer.iter().filter(|entry| wanted(entry.seq())) {
            let found = Past {
                trie: self.state(entry)?,
                position: self.records.reader().position_behind(entry.place)?,
            };
            past.insert(entry.seq(), found);
        }
        let newest = Past {
            trie: state,
            position,
        };
        past.insert(head.seq(), newest);
        Ok(past)
    }

    /// The numbers of the commits that references name, the newest of them.
    fn named_commits(&self) -> Result<HashSet<u64>> {
        let named: Vec<_> = {
            let references = self.references();
            let mut named: Vec<_> = references
                .iter()
                .filter_map(|entry| Some((entry.batch, entry.reference.commit?)))
                .collect();
            named.sort_by_key(|(batch, _)| std::cmp::Reverse(*batch));
            named
        };
        let mut found = HashSet::new();
        for (_, commit) in named.into_iter().take(NAMED_STATES) {
            found.extend(self.by_digest(commit)?.map(|entry| entry.seq()));
        }
        Ok(found)
    }
}
