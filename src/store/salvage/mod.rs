//! Salvage: writes the commits, states and records of a damaged log as the batches of a new store.
//!
//! Salvage reads the batches in order. It keeps a commit if its place in the chain is known, and if a state with its
//! root can be built. That state comes from the commit's own changes, from a checkpoint, or from an older commit. The
//! digests of lost commits go into a gap before the next kept one. A last commit gets the newest known state, made from
//! the intact records of the other commits.
//!
//! # Layer
//! Layer 4. Knows the meaning of records, but not where the new store is.
//!
//! # Invariants
//! - SVG-1: every kept commit has its own digest, its own seq and a state with its root.
//!
//! # Format
//! docs/format.md, "Rewritten logs".

mod ending;
mod guess;
mod index;
mod orphaned;
mod output;
mod state;

use std::collections::{BTreeMap, HashSet};

use crate::digest::{CommitDigest, ObjectDigest};
use crate::error::Result;
use crate::log::{BatchBuilder, DamagedLog, HeadMark, Record, RecordKind};
use crate::object::{Commit, HistoryTree, Time};
use crate::trie::{NoSource, Trie};

use super::References;
use super::checkpoint::{self, Checkpoint};
use super::replay::Decoded;
use super::rewritten::{MapEntry, put_gap, put_state};
pub use ending::SalvageReport;
use guess::Guess;
use index::{Index, SEQ_MAX};
use output::Output;
pub(crate) use output::Sink;
use state::States;

/// The newest commit written so far.
struct Head {
    mark: HeadMark,
    time: Time,
    trie: Trie,
}

struct Salvager<'a> {
    damaged: &'a DamagedLog,
    index: &'a Index,
    states: States<'a>,
    output: Output<'a>,
    /// The digests of commits by seq, kept or not.
    line: BTreeMap<u64, CommitDigest>,
    history: HistoryTree,
    head: Option<Head>,
    guess: Guess<'a>,
    kept: HashSet<CommitDigest>,
    references: References,
}

/// Passes the batches of a new store, with all valid records of a log, to `sink`.
///
/// # Errors
/// `Corrupt` if nothing can be salvaged; `Io`; the errors of `sink` and `step`.
pub(crate) fn salvage(
    damaged: &DamagedLog,
    now: Time,
    sink: &mut Sink<'_>,
    step: &mut dyn FnMut(&'static str, u64) -> Result<()>,
) -> Result<SalvageReport> {
    let checkpoints = checkpoint::open_any(damaged.disk(), damaged.instance(), damaged.suite().algorithm())?;
    // Two segments of a store never have the same number, so a place is valid in every epoch.
    let places: Vec<_> = checkpoints.iter().map(Checkpoint::position).collect();
    let index = Index::read(damaged, &places, &mut |done| step("search", done))?;
    let mut forward = |batch: BatchBuilder, head: HeadMark| sink(batch, head);
    let mut salvager = Salvager {
        damaged,
        index: &index,
        states: States::new(damaged.suite(), &checkpoints, index.commits.values()),
        output: Output::new(damaged, &index, &mut forward),
        line: line(damaged, &index, &checkpoints),
        history: HistoryTree::new(damaged.suite()),
        head: None,
        guess: Guess::new(&index),
        kept: HashSet::new(),
        references: References::default(),
    };
    let mut done = 0;
    for piece in &index.pieces {
        let records = piece.records.iter().map(|place| damaged.read(*place));
        let records: Vec<Record> = records.collect::<Result<_>>()?;
        done += records.iter().map(|record| record.body.len() as u64).sum::<u64>();
        step("write", done)?;
        salvager.take(piece.number, piece.commit, &records)?;
    }
    salvager.finish(now)
}

/// Returns the digest of each commit whose seq is known.
fn line(damaged: &DamagedLog, index: &Index, checkpoints: &[Checkpoint]) -> BTreeMap<u64, CommitDigest> {
    let mut line = BTreeMap::new();
    let rows = checkpoints.iter().flat_map(|one| one.commits().iter());
    let rows = rows.map_while(Result::ok).filter(|row| row.seq <= SEQ_MAX);
    line.extend(rows.map(|row| (row.seq, row.digest)));
    let noted = damaged.noted_head().map(|(digest, seq)| (seq, digest));
    line.extend(noted.filter(|(seq, _)| (1..=SEQ_MAX).contains(seq)));
    line.extend(index.thinned.iter().map(|(seq, digest)| (*seq, *digest)));
    let mut commits: Vec<_> = index.commits.iter().collect();
    commits.sort_by_key(|(digest, commit)| (commit.seq, **digest));
    line.extend(commits.iter().map(|(digest, commit)| (commit.seq, **digest)));
    // From the newest down, each commit of the line decides which commit is before it.
    for (digest, commit) in commits.into_iter().rev() {
        if let (Some(parent), Some(before)) = (commit.parents.first(), commit.seq.checked_sub(1))
            && line.get(&commit.seq) == Some(digest)
        {
            line.insert(before, *parent);
        }
    }
    line
}

impl Salvager<'_> {
    /// Processes the intact records of one batch.
    fn take(&mut self, number: u64, commit: Option<CommitDigest>, records: &[Record]) -> Result<()> {
        let mut changes = Decoded::default();
        for record in records {
            // An error can be ignored, because the root of a commit later confirms what was built from the records.
            drop(changes.add(record, self.damaged.suite(), None));
        }
        for reference in std::mem::take(&mut changes.references) {
            self.references.push(reference, number);
        }
        let index = self.index;
        let known = commit.and_then(|digest| Some((digest, index.commits.get(&digest)?)));
        // A commit counts only if it is on the line. An abandoned commit may have the same seq.
        let known = known.filter(|(digest, commit)| self.line.get(&commit.seq) == Some(digest));
        let Some((digest, commit)) = known.filter(|(_, commit)| commit.seq >= self.history.size()) else {
            if commit.is_none() && changes.changes_state() {
                let state = self.states.changed(&self.guess.state, &changes, None)?;
                self.guess.follow(state)?;
            }
            return self.output.add_contents(records);
        };
        self.follow_stored(commit.seq)?;
        self.guess.seq = Some(commit.seq);
        let chain = self.chain(commit);
        let thinned: u64 = changes.gaps.iter().map(|(gap, _)| gap.count).sum();
        if let Some(missed) = &chain
            && missed.len() as u64 == thinned
        {
            let before = self.head.as_ref().map(|head| head.trie.clone());
            let trie = self
                .states
                .changed(&before.unwrap_or_default(), &changes, Some(commit))?;
            if self.states.root(&trie)? == commit.root {
                let mut batch = BatchBuilder::new();
                self.add_as_it_was(&changes, records, &mut batch)?;
                for missed in missed {
                    self.history.append(missed);
                }
                return self.keep(digest, commit, trie, batch);
            }
        }
        let mut trie = self.states.changed(&self.guess.state, &changes, Some(commit))?;
        let mut is_proven = self.states.root(&trie)? == commit.root;
        if !is_proven && let Some(known) = self.states.known(commit) {
            (trie, is_proven) = (known, true);
        }
        let Some(missed) = chain.filter(|_| is_proven) else {
            self.guess.follow(trie)?;
            return self.output.add_contents(records);
        };
        let mut batch = BatchBuilder::new();
        self.add_gap(&missed, &mut batch);
        self.output.add_contents(records)?;
        self.state(&trie, commit.time, &mut batch)?;
        batch.add(RecordKind::Commit, 0, &commit.encode()?);
        self.keep(digest, commit, trie, batch)
    }

    /// Takes the states that checkpoints store for commits between the last one and `seq`.
    fn follow_stored(&mut self, seq: u64) -> Result<()> {
        let missed = self.guess.seq.map_or(0, |seq| seq + 1);
        match self.states.stored_between(missed, seq) {
            Some(stored) => self.guess.follow(stored),
            None => Ok(()),
        }
    }

    /// Returns the digests of the commits between the newest written one and this one, if all of them are known.
    fn chain(&self, commit: &Commit) -> Option<Vec<CommitDigest>> {
        let mut tree = self.history.clone();
        let missed = self.digests(commit.seq)?;
        for digest in &missed {
            tree.append(digest);
        }
        let last = missed
            .last()
            .copied()
            .or_else(|| self.head.as_ref().map(|head| head.mark.commit));
        let fits = commit.parents.first().copied() == last
            && commit.history_root == tree.root()
            && self.head.as_ref().is_none_or(|head| head.time < commit.time);
        fits.then_some(missed)
    }

    /// Returns the digests from the end of the chain up to commit `seq`, if all of them are known.
    fn digests(&self, seq: u64) -> Option<Vec<CommitDigest>> {
        let first = self.history.size();
        let known: Vec<_> = self
            .line
            .range(first..seq.max(first))
            .map(|(_, digest)| *digest)
            .collect();
        (known.len() as u64 == seq.checked_sub(first)?).then_some(known)
    }

    /// Writes the batch of a commit of the damaged log, after the texts that the commit needs.
    fn keep(&mut self, digest: CommitDigest, commit: &Commit, trie: Trie, batch: BatchBuilder) -> Result<()> {
        let texts = commit.reason.into_iter().chain(commit.source);
        self.output.need_texts(texts)?;
        self.put_commit(digest, commit, trie, batch)
    }

    fn put_commit(
        &mut self,
        digest: CommitDigest,
        commit: &Commit,
        trie: Trie,
        batch: BatchBuilder,
    ) -> Result<()> {
        self.history.append(&digest);
        self.states.keep(commit.root, &trie);
        self.guess.follow(trie.clone())?;
        self.kept.insert(digest);
        let mark = HeadMark {
            commit: digest,
            root: commit.root,
            seq: commit.seq,
        };
        self.head = Some(Head {
            mark,
            time: commit.time,
            trie,
        });
        self.output.put(batch, Some(mark))
    }

    fn add_as_it_was(
        &mut self,
        changes: &Decoded,
        records: &[Record],
        batch: &mut BatchBuilder,
    ) -> Result<()> {
        let map_record = changes
            .map_record
            .iter()
            .flat_map(|map_record| &map_record.entries);
        let map_record = map_record.filter_map(|entry| Some((entry.key, entry.digest?)));
        self.output.add_own(records, batch)?;
        for (key, digest) in changes.links.iter().copied().chain(map_record) {
            self.output.need_version(key, digest)?;
        }
        Ok(())
    }

    /// Adds the digests of the commits after the newest kept one, which are not kept.
    fn add_gap(&mut self, missed: &[CommitDigest], batch: &mut BatchBuilder) {
        put_gap(batch, self.history.size(), missed);
        for missed in missed {
            self.history.append(missed);
        }
    }

    /// Writes a state: as a whole map for the first kept commit, and as the changes since the previous kept one for the
    /// others.
    fn state(&mut self, trie: &Trie, time: Time, batch: &mut BatchBuilder) -> Result<()> {
        let before = self.head.as_ref().map(|head| &head.trie);
        let (index, output) = (self.index, &mut self.output);
        put_state(batch, before, trie, &NoSource, time, |entry| {
            output.need_version(entry.key, ObjectDigest::from_bytes(entry.digest))?;
            let written = index.written(&entry.digest).unwrap_or(entry.created);
            Ok(MapEntry {
                key: entry.key,
                digest: Some(ObjectDigest::from_bytes(entry.digest)),
                created: entry.created,
                // The time of a version is that of the commit in the same batch, if it is known.
                updated: written.clamp(entry.created, time.as_micros().max(entry.created)),
            })
        })
    }
}
