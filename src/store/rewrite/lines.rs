//! The lines in a rewrite of the log: which ones stay, which records they need, and how their batches are written.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - REL-1: of a line that stays, every commit stays, and so do the commit at which the line begins, the commits that its
//!   rollbacks and merges name, and the merges of it into the main line, with the commits that took them back. So the
//!   next merge finds the newest base, and knows which merges count.
//! - REL-2: the batches of lines keep their order among all batches. What such a batch needs is in it or in an earlier one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::digest::CommitDigest;
use crate::error::{Error, Result};
use crate::log::{Batch, BatchBuilder, Locator, RecordKind};
use crate::object::{Op, Time};
use crate::store::lines::LineRecord;
use crate::store::{CommitEntry, Store};
use crate::trie::Trie;

use super::mark::{Live, NO_COMMIT, OF_LINE};
use super::{Fate, Rewriter};

/// The lines that stay in a rewrite, by the number of their first batch.
pub(crate) type KeptLines = BTreeSet<u64>;

/// The line of the batches that a rewriter has read so far, by name.
pub(super) type Reading = HashMap<String, Option<Arc<Store>>>;

impl Store {
    /// Returns the lines that stay: those that were not dropped or were dropped after `time`, those of which a reference
    /// names a commit, and those at which they begin.
    ///
    /// # Errors
    /// The errors of [`Self::line`].
    pub(crate) fn lines_to_keep(self: &Arc<Self>, time: Time) -> Result<KeptLines> {
        let lines: Vec<_> = {
            let lines = self.lines();
            let stays = |is_dropped: bool, dropped: Time| !is_dropped || dropped > time;
            let all = lines.iter().rev();
            all.map(|line| (line.first_batch, stays(line.is_dropped, line.time)))
                .collect()
        };
        let mut named: Vec<CommitDigest> = self
            .references()
            .kept_commits()
            .map(|(_, commit)| commit)
            .collect();
        if !lines.is_empty() {
            let mut foreign = Vec::new();
            for commit in named {
                foreign.extend(self.by_digest(commit)?.is_none().then_some(commit));
            }
            named = foreign;
        }
        let mut kept = KeptLines::new();
        // A line begins at an older one, so a line that needs another is seen before it.
        for (first_batch, stays) in lines {
            let store = self.line_of(first_batch)?;
            let is_own = |commit: &CommitDigest| store.own_commits().iter().any(|own| own.digest == *commit);
            if stays || kept.contains(&first_batch) || named.iter().any(is_own) {
                kept.insert(first_batch);
                kept.extend(store.below_line());
            }
        }
        Ok(kept)
    }

    /// Returns all lines, also those that were dropped.
    pub(crate) fn all_lines(&self) -> KeptLines {
        self.lines().iter().map(|line| line.first_batch).collect()
    }

    /// Returns the commits that must stay because of these lines (REL-1).
    ///
    /// # Errors
    /// The errors of [`Self::line`].
    pub(crate) fn needed_by_lines(self: &Arc<Self>, lines: &KeptLines) -> Result<HashSet<CommitDigest>> {
        let mut needed = HashSet::new();
        for first_batch in lines {
            let store = self.line_of(*first_batch)?;
            needed.extend(store.base().map(|base| base.digest));
            for entry in store.own_commits() {
                needed.extend(entry.commit.target);
                needed.extend(entry.commit.parents.iter().skip(1));
            }
        }
        if !lines.is_empty() {
            self.add_merges(lines, &mut needed)?;
        }
        Ok(needed)
    }

    /// Adds the merges of these lines into this one, and the commits that decide whether a merge counts (REL-1).
    fn add_merges(self: &Arc<Self>, lines: &KeptLines, needed: &mut HashSet<CommitDigest>) -> Result<()> {
        let (mut merges, mut newest, mut opened) = (HashSet::new(), None, Vec::new());
        for index in 0..self.kept() {
            let Some(commit) = self.commit_at(index)? else {
                continue;
            };
            for parent in commit.commit.parents.iter().skip(1) {
                let side = self.commit_of_any(*parent)?.map(|(side, _)| side);
                let line = side
                    .as_ref()
                    .and_then(|side| side.own.as_ref().map(|own| own.first_batch));
                // Lines stay open during the walk, so each is read once.
                opened.extend(side);
                if line.is_some_and(|line| lines.contains(&line)) {
                    needed.insert(commit.digest);
                    merges.insert(commit.digest);
                    newest = Some(commit.seq());
                }
            }
            let (Some(target), Some(before)) = (commit.commit.target, newest) else {
                continue;
            };
            let is_over = || -> Result<bool> {
                let target = self.by_digest(target)?;
                Ok(target.is_some_and(|target| target.seq() < before))
            };
            let decides = merges.contains(&target) || commit.commit.op.as_str() == Op::ROLLBACK && is_over()?;
            // What takes it back decides, too.
            if decides {
                needed.extend([commit.digest, target]);
                merges.insert(commit.digest);
                newest = Some(commit.seq());
            }
        }
        Ok(())
    }

    /// Marks the records that the commits of these lines need.
    ///
    /// # Errors
    /// The errors of [`Self::mark`].
    pub(crate) fn mark_lines(
        self: &Arc<Self>,
        live: &mut Live,
        lines: &KeptLines,
        step: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        for first_batch in lines {
            let store = self.line_of(*first_batch)?;
            let mut before = store
                .base()
                .map_or_else(|| Ok(Trie::default()), |base| store.state(&base))?;
            for entry in store.own_commits() {
                for text in [entry.commit.reason, entry.commit.source].into_iter().flatten() {
                    store.mark_content(live, RecordKind::Text, text.as_bytes(), NO_COMMIT)?;
                }
                let trie = store.state(&entry)?;
                for change in before.diff(&trie, &*store) {
                    if let Some(new) = change?.new {
                        step()?;
                        store.mark_object(live, Locator::from_u64(new.place), OF_LINE, true)?;
                    }
                }
                before = trie;
            }
        }
        Ok(())
    }

    /// Returns whether a line has a batch after this one.
    pub(crate) fn lines_grew(&self, after: u64) -> bool {
        let lines = self.lines();
        let newest =
            |line: &crate::store::LineInfo| line.batches.last().map_or(line.first_batch, |(batch, _)| *batch);
        lines.iter().any(|line| newest(line) > after)
    }
}

impl Rewriter<'_> {
    /// Writes the batch of a line anew, or leaves it out with its line.
    pub(super) fn take_line(&mut self, batch: &Batch, line: &LineRecord) -> Result<()> {
        let name = line.name().to_owned();
        if !self.reading.contains_key(&name) {
            let is_kept = self.plan.lines.contains(&batch.number);
            let store = is_kept.then(|| self.store.line_of(batch.number)).transpose()?;
            self.reading.insert(name.clone(), store);
        }
        let store = self.reading.get(&name).cloned().flatten();
        if line.commit.is_none() && line.reference.commit.is_none() {
            self.reading.remove(&name);
        }
        let mut builder = BatchBuilder::new();
        let Some(store) = store else {
            // Later batches may need its records.
            for record in &batch.records {
                self.sort(batch, record, Fate::Thinned, &mut builder)?;
            }
            self.waiting = std::mem::take(&mut self.waiting).followed_by(builder);
            return if self.gap.is_empty() {
                self.put(BatchBuilder::new())
            } else {
                Ok(())
            };
        };
        let entry = line
            .digest()
            .map(|digest| store.by_digest(digest))
            .transpose()?
            .flatten();
        let is_anew = match &entry {
            Some(entry) => !Self::line_stands_alone(&store, entry, batch)?,
            None => false,
        };
        for record in &batch.records {
            let flags = if is_anew {
                super::unlinked(record)
            } else {
                record.flags
            };
            match record.kind {
                RecordKind::Object | RecordKind::Content | RecordKind::Text => {
                    if let Some(record) = self.without_erased(record) {
                        builder.add(record.kind, flags, &record.body);
                    }
                }
                RecordKind::Erased => builder.add(record.kind, flags, &record.body),
                RecordKind::Link | RecordKind::Unlink | RecordKind::Base | RecordKind::Delta if is_anew => {}
                RecordKind::Commit | RecordKind::Line => {
                    if let (RecordKind::Commit, true, Some(entry)) = (record.kind, is_anew, &entry) {
                        let before = store.before(entry)?;
                        Self::state(&store, before.as_ref(), entry, &mut builder)?;
                    }
                    builder.add(record.kind, record.flags, &record.body);
                }
                RecordKind::Reference | RecordKind::Ignorable(_) => {
                    self.sort(batch, record, Fate::AsItWas, &mut builder)?;
                }
                kind => builder.add(kind, record.flags, &record.body),
            }
        }
        // REL-2
        self.put_moved(batch.number, &mut builder)?;
        self.put(builder)
    }

    /// Returns whether the batch of a line's commit can stay unchanged.
    fn line_stands_alone(store: &Store, entry: &Arc<CommitEntry>, batch: &Batch) -> Result<bool> {
        let has = |kind| batch.records.iter().any(|record| record.kind == kind);
        if has(RecordKind::Delta) || has(RecordKind::Base) {
            return Ok(true);
        }
        if has(RecordKind::Link) || !super::changes_state(batch) {
            return Ok(false);
        }
        let before = store.before(entry)?;
        let before = before.ok_or_else(|| Error::internal("the commit of a line has no parent"))?;
        Ok(!super::brings_back(store, &before, entry)?)
    }
}
