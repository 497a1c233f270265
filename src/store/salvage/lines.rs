//! Salvages forks: each up to its first batch that is damaged or does not follow.
//!
//! # Layer
//! Layer 4. Part of salvage/.
//!
//! # Invariants
//! - SVL-1: a fork is salvaged only from batches of its own, which follow its base without a break. Its base is a commit that
//!   was salvaged unchanged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::digest::CommitDigest;
use crate::error::Result;
use crate::log::{BatchBuilder, Record, RecordKind};
use crate::object::{HistoryTree, Time};
use crate::store::decoded::Decoded;
use crate::store::lines::LineRecord;
use crate::trie::Trie;

use super::Salvager;

/// A salvaged commit, from which a fork may go on.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) digest: CommitDigest,
    pub(super) time: Time,
    pub(super) trie: Trie,
    /// The history tree up to the commit.
    pub(super) history: HistoryTree,
}

/// The salvaged commits at which forks begin.
pub(super) type Bases = HashMap<CommitDigest, Option<Kept>>;

impl Salvager<'_> {
    /// Notes a salvaged commit, if a fork begins at it.
    pub(super) fn note_base(&mut self, kept: &Kept) {
        if let Some(base) = self.bases.get_mut(&kept.digest) {
            *base = Some(kept.clone());
        }
    }

    /// Writes the forks behind the main line. Returns the names of those that are lost or end earlier.
    pub(super) fn put_lines(&mut self) -> Result<Vec<String>> {
        let (mut open, mut lost) = (BTreeMap::new(), BTreeSet::new());
        let index = self.index;
        for piece in index.pieces.iter().filter(|piece| piece.is_beside) {
            let records = piece.records.iter().map(|place| self.damaged.read(*place));
            let records: Vec<Record> = records.collect::<Result<_>>()?;
            let record = LineRecord::of(&records, self.damaged.suite()).ok().flatten();
            let is_written = match record {
                Some(record) => self.take_line(&record, (&records, piece.whole), &mut open, &mut lost)?,
                None => false,
            };
            if !is_written {
                self.output.add_contents(&records)?;
            }
        }
        Ok(lost.into_iter().collect())
    }

    /// Writes a batch of a fork, if it follows. Returns whether it did.
    fn take_line(
        &mut self,
        record: &LineRecord,
        (records, is_whole): (&[Record], bool),
        open: &mut BTreeMap<String, Kept>,
        lost: &mut BTreeSet<String>,
    ) -> Result<bool> {
        let name = record.name().to_owned();
        let after = match (&record.commit, record.reference.commit) {
            (Some(_), _) => match open.remove(&name) {
                Some(before) => self.next_of_line(before, record, records, is_whole)?,
                None => return Ok(false),
            },
            (None, Some(base)) => self.bases.get(&base).cloned().flatten(),
            (None, None) => {
                lost.remove(&name);
                if open.remove(&name).is_none() {
                    return Ok(false);
                }
                return self.put_line(BatchBuilder::new(), record, records).map(|()| true);
            }
        };
        let Some(after) = after else {
            lost.insert(name);
            return Ok(false);
        };
        if record.commit.is_none() {
            self.put_line(BatchBuilder::new(), record, records)?;
        }
        open.insert(name, after);
        Ok(true)
    }

    /// Writes the next batch of a fork. Returns its commit; `None`, and writes nothing, if the batch does not follow.
    fn next_of_line(
        &mut self,
        mut line: Kept,
        record: &LineRecord,
        records: &[Record],
        is_whole: bool,
    ) -> Result<Option<Kept>> {
        let Some((digest, commit, thinned)) = &record.commit else {
            return Ok(None);
        };
        let mut changes = Decoded::default();
        let decoded = records
            .iter()
            .all(|record| changes.add(record, self.damaged.suite(), None).is_ok());
        let mut in_order = true;
        for (gap, missed) in &changes.gaps {
            in_order &= gap.first == line.history.size();
            for missed in missed {
                line.history.append(missed);
            }
        }
        // SVL-1
        let follows = is_whole
            && decoded
            && in_order
            && commit.parents.first() == Some(thinned.as_ref().unwrap_or(&line.digest))
            && commit.seq == line.history.size()
            && commit.history_root == line.history.root()
            && commit.time > line.time;
        if !follows {
            return Ok(None);
        }
        let trie = self.states.changed(&line.trie, &changes, Some(commit))?;
        if self.states.root(&trie)? != commit.root {
            return Ok(None);
        }
        self.output
            .need_texts(commit.reason.into_iter().chain(commit.source))?;
        let mut batch = BatchBuilder::new();
        self.add_as_it_was(&changes, records, &mut batch)?;
        self.put_line(batch, record, records)?;
        self.states.keep(commit.root, &trie);
        self.kept.insert(*digest);
        line.history.append(digest);
        let after = Kept {
            digest: *digest,
            time: commit.time,
            trie,
            history: line.history,
        };
        self.note_base(&after);
        Ok(Some(after))
    }

    /// Writes a batch with the record of its line, after the text that the record names.
    fn put_line(&mut self, mut batch: BatchBuilder, line: &LineRecord, records: &[Record]) -> Result<()> {
        self.output.need_texts(line.reference.reason)?;
        for record in records.iter().filter(|record| record.kind == RecordKind::Line) {
            batch.add(record.kind, record.flags, &record.body);
        }
        self.output.put(batch, None)
    }
}
