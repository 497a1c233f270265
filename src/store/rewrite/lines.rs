//! The lines in a rewrite of the log: which ones stay, which records they need, and how their batches are written.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - REL-1: of a line that stays, these commits stay, of whatever line they are: the commit at which the line begins, those
//!   that its rollbacks and merges name, the merges of it and into it, and the commits that took such merges back. So the
//!   next merge finds the newest base, and knows which merges count.
//! - REL-2: the batches of lines keep their order among all batches. What such a batch needs is in it or in an earlier one.
//! - REL-3: retention thins the commits of each fork by themselves, as if the fork were the only line. It thins no line of a
//!   remote.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::digest::CommitDigest;
use crate::error::{Error, Result};
use crate::log::{Batch, BatchBuilder, Locator, Record, RecordKind};
use crate::object::{Op, Time};
use crate::store::lines::{LineRecord, REMOTE};
use crate::store::{CommitEntry, LineInfo, Store};
use crate::trie::Trie;

use super::mark::Live;
use super::{Fate, Rewriter, Thinned};

/// The lines that a rewrite keeps, and which of their commits it drops.
#[derive(Default)]
pub(crate) struct KeptLines {
    /// The lines that stay, by the number of their first batch.
    lines: BTreeSet<u64>,
    /// The commits of these lines that go.
    thinned: HashSet<CommitDigest>,
    /// The number of those that stay.
    commits: u64,
}

impl KeptLines {
    /// Returns the numbers of the commits that stay and that go.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let thinned = self.thinned.len() as u64;
        (self.commits - thinned, thinned)
    }

    /// Returns whether a commit of a line goes, although its line stays.
    pub(crate) fn thins(&self, commit: &CommitDigest) -> bool {
        self.thinned.contains(commit)
    }
}

/// The commits of a line to keep, of those in the range. The given ones stay in any case.
pub(crate) type ChooseOfLine<'a> =
    dyn Fn(&Store, Range<usize>, HashSet<CommitDigest>) -> Result<Vec<usize>> + 'a;

/// The lines of the batches that a rewriter has read so far, by name; `None` for those that go.
pub(super) type Reading = HashMap<String, Option<Written>>;

/// A line while it is written.
pub(super) struct Written {
    store: Arc<Store>,
    /// Its newest commit in the new log.
    newest: Option<Arc<CommitEntry>>,
    pub(super) gap: Thinned,
}

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
        let mut kept = KeptLines::default();
        // A line begins at an older one, so a line that needs another is seen before it.
        for (first_batch, stays) in lines {
            let store = self.line_of(first_batch)?;
            let is_own = |commit: &CommitDigest| store.own_commits().iter().any(|own| own.digest == *commit);
            if stays || kept.lines.contains(&first_batch) || named.iter().any(is_own) {
                kept.lines.insert(first_batch);
                kept.lines.extend(store.below_line());
                kept.commits += store.own_commits().len() as u64;
            }
        }
        Ok(kept)
    }

    /// Returns all lines, also those that were dropped, with all of their commits.
    pub(crate) fn all_lines(&self) -> KeptLines {
        let lines = self.lines();
        KeptLines {
            lines: lines.iter().map(|line| line.first_batch).collect(),
            thinned: HashSet::new(),
            commits: lines.iter().map(LineInfo::commits).sum(),
        }
    }

    /// Thins the commits up to batch `upto` of the forks among these lines (REL-3). Must be called on the store of the main line.
    ///
    /// # Errors
    /// The errors of [`Self::line`] and of `choose`.
    pub(crate) fn thin_lines(
        self: &Arc<Self>,
        kept: &mut KeptLines,
        upto: u64,
        choose: &ChooseOfLine<'_>,
    ) -> Result<()> {
        if kept.lines.is_empty() {
            return Ok(());
        }
        let _open = self.hold_lines();
        let named = self.named_across(kept)?;
        for first_batch in &kept.lines {
            let (store, mut own) = self.commits_of(*first_batch, &HashSet::new())?;
            own.retain(|entry| entry.batch <= upto);
            if own.is_empty() || store.line_name().is_some_and(|name| name.starts_with(REMOTE)) {
                continue;
            }
            let own_digests = own.iter().map(|entry| entry.digest);
            let mut needed: HashSet<_> = own_digests.filter(|digest| named.contains(digest)).collect();
            let range = store.base_len()..store.base_len() + own.len();
            store.add_merges(&kept.lines, range.clone(), &mut needed)?;
            let stays: HashSet<usize> = choose(&store, range.clone(), needed)?.into_iter().collect();
            let goes = range.zip(own).filter(|(index, _)| !stays.contains(index));
            kept.thinned.extend(goes.map(|(_, entry)| entry.digest));
        }
        Ok(())
    }

    /// Returns a line with those of its commits that are not thinned.
    fn commits_of(
        self: &Arc<Self>,
        first_batch: u64,
        thinned: &HashSet<CommitDigest>,
    ) -> Result<(Arc<Self>, Vec<Arc<CommitEntry>>)> {
        let store = self.line_of(first_batch)?;
        let mut own = store.own_commits();
        own.retain(|entry| !thinned.contains(&entry.digest));
        Ok((store, own))
    }

    /// Returns the commits that commits of other lines name: bases, targets, and second parents (REL-1).
    fn named_across(self: &Arc<Self>, kept: &KeptLines) -> Result<HashSet<CommitDigest>> {
        let mut named = self.needed_by_lines(kept)?;
        for index in 0..self.kept() {
            if let Some(entry) = self.commit_at(index)? {
                named.extend(entry.commit.target);
                named.extend(entry.commit.parents.iter().skip(1));
            }
        }
        Ok(named)
    }

    /// Returns the commits of other lines that must stay because of these lines (REL-1).
    ///
    /// # Errors
    /// The errors of [`Self::line`].
    pub(crate) fn needed_by_lines(self: &Arc<Self>, kept: &KeptLines) -> Result<HashSet<CommitDigest>> {
        let mut needed = HashSet::new();
        for first_batch in &kept.lines {
            let (store, own) = self.commits_of(*first_batch, &kept.thinned)?;
            needed.extend(store.base().map(|base| base.digest));
            let own_digests: HashSet<_> = own.iter().map(|entry| entry.digest).collect();
            let targets = own.iter().filter_map(|entry| entry.commit.target);
            needed.extend(targets.filter(|target| !own_digests.contains(target)));
            let merged = own.iter().flat_map(|entry| entry.commit.parents.iter().skip(1));
            needed.extend(merged.copied());
        }
        if !kept.lines.is_empty() {
            self.add_merges(&kept.lines, 0..self.kept(), &mut needed)?;
        }
        Ok(needed)
    }

    /// Adds the merges of these lines, or of the main line, among the commits in the range, and the commits that decide whether
    /// a merge counts (REL-1).
    fn add_merges(
        self: &Arc<Self>,
        lines: &BTreeSet<u64>,
        range: Range<usize>,
        needed: &mut HashSet<CommitDigest>,
    ) -> Result<()> {
        let (mut merges, mut newest, mut opened) = (HashSet::new(), None, Vec::new());
        for index in range {
            let Some(commit) = self.commit_at(index)? else {
                continue;
            };
            for parent in commit.commit.parents.iter().skip(1) {
                let side = self.commit_of_any(*parent)?.map(|(side, _)| side);
                let is_kept = |side: &Arc<Self>| {
                    let own = side.own.as_ref();
                    own.is_none_or(|own| lines.contains(&own.first_batch))
                };
                if side.as_ref().is_some_and(is_kept) {
                    needed.insert(commit.digest);
                    merges.insert(commit.digest);
                    newest = Some(commit.seq());
                }
                // Lines stay open during the walk, so each is read once.
                opened.extend(side);
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
        kept: &KeptLines,
        step: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        for first_batch in &kept.lines {
            let (store, own) = self.commits_of(*first_batch, &kept.thinned)?;
            let mut before = store
                .base()
                .map_or_else(|| Ok(Trie::default()), |base| store.state(&base))?;
            for entry in own {
                for text in [entry.commit.reason, entry.commit.source].into_iter().flatten() {
                    store.mark_content(live, RecordKind::Text, text.as_bytes(), entry.batch)?;
                }
                let trie = store.state(&entry)?;
                for change in before.diff(&trie, &*store) {
                    if let Some(new) = change?.new {
                        step()?;
                        store.mark_object(live, Locator::from_u64(new.place), entry.batch, true)?;
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
        let newest = |line: &LineInfo| line.batches.last().map_or(line.first_batch, |(batch, _)| *batch);
        lines.iter().any(|line| newest(line) > after)
    }
}

impl Rewriter<'_> {
    /// Writes the batch of a line anew, or leaves it out: with its line, or because its commit is thinned.
    pub(super) fn take_line(&mut self, batch: &Batch, line: &LineRecord) -> Result<()> {
        let name = line.name().to_owned();
        let read = self.reading.remove(&name);
        let mut written = read.map_or_else(|| self.begin_line(batch.number), Ok)?;
        let kept = match &mut written {
            Some(written) => self.take_of_kept(batch, line, written)?,
            None => None,
        };
        let is_end = line.commit.is_none() && line.reference.commit.is_none();
        if !is_end {
            self.reading.insert(name, written);
        }
        if let Some(mut builder) = kept {
            // REL-2
            self.put_moved(batch.number, &mut builder)?;
            return self.put(builder);
        }
        let mut builder = BatchBuilder::new();
        // Later batches may need its records.
        for record in batch
            .records
            .iter()
            .filter(|record| record.kind != RecordKind::Gap)
        {
            self.sort(batch, record, Fate::Thinned, &mut builder)?;
        }
        self.waiting = std::mem::take(&mut self.waiting).followed_by(builder);
        if self.gap.is_empty() {
            self.put(BatchBuilder::new())
        } else {
            Ok(())
        }
    }

    /// Returns the line that a batch creates, if it stays.
    fn begin_line(&self, first_batch: u64) -> Result<Option<Written>> {
        if !self.plan.lines.lines.contains(&first_batch) {
            return Ok(None);
        }
        let store = self.store.line_of(first_batch)?;
        let (newest, gap) = (store.base(), Thinned::default());
        Ok(Some(Written { store, newest, gap }))
    }

    /// Returns the new batch for a batch of a line that stays; `None` if its commit is thinned.
    fn take_of_kept(
        &mut self,
        batch: &Batch,
        line: &LineRecord,
        written: &mut Written,
    ) -> Result<Option<BatchBuilder>> {
        let store = Arc::clone(&written.store);
        let entry = line.digest().map_or(Ok(None), |digest| store.by_digest(digest))?;
        let follows = written.gap.is_empty();
        let gaps = |record: &&Record| record.kind == RecordKind::Gap;
        for record in batch.records.iter().filter(gaps) {
            written.gap.note_gap(record)?;
        }
        let Some(entry) = entry else {
            return self.builder_of(batch, Fate::WithoutCommit, None).map(Some);
        };
        if self.plan.lines.thins(&entry.digest) {
            written.gap.note(entry.seq(), entry.digest);
            return Ok(None);
        }
        let mut state = BatchBuilder::new();
        written.gap.put(&mut state);
        let before = written.newest.replace(Arc::clone(&entry));
        let fate = if follows && Self::line_stands_alone(&store, &entry, batch)? {
            Fate::AsItWas
        } else {
            self.writing.mapped = Self::state(&store, before.as_ref(), &entry, &mut state)?;
            Fate::StatedAnew
        };
        self.builder_of(batch, fate, Some(state)).map(Some)
    }

    /// Returns the records of a batch of a line that stays. `state` comes before the commit.
    fn builder_of(
        &mut self,
        batch: &Batch,
        fate: Fate,
        mut state: Option<BatchBuilder>,
    ) -> Result<BatchBuilder> {
        let mut builder = BatchBuilder::new();
        for record in &batch.records {
            match record.kind {
                RecordKind::Commit | RecordKind::Line => {
                    if let Some(state) = state.take() {
                        builder = builder.followed_by(state);
                    }
                    builder.add(record.kind, record.flags, &record.body);
                }
                RecordKind::Gap => {}
                _ => self.sort(batch, record, fate, &mut builder)?,
            }
        }
        Ok(builder)
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
