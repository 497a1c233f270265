//! Salvage: copies the readable commits, states and records of a damaged log into a new store.
//!
//! Salvage reads the batches in order. Salvage retains a commit if all digests of the chain before the commit are
//! known, and if salvage can compute a state with the commit's root. Salvage computes this state from the commit's
//! changes, or copies the state from a checkpoint or an older commit. Salvage writes the digests of lost commits as a
//! gap before the next retained commit. If the newest state is damaged, salvage adds a last commit, whose state it
//! composes from the intact records.
//!
//! # Layer
//! Layer 4. Interprets records. Passes the new batches to a sink, and does not write to the new store itself.
//!
//! # Invariants
//! - SVG-1: every retained commit has an unchanged digest and seq, and a state with its root.
//!
//! # Format
//! docs/format.md, "Rewritten logs".

mod ending;
mod guess;
mod index;
mod lines;
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
use super::decoded::Decoded;
use super::rewritten::{MapEntry, put_gap, put_state};
pub use ending::SalvageReport;
use guess::Guess;
use index::{Index, SEQ_MAX};
use lines::{Bases, Kept};
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
    /// The known digests of the chain of commits, by seq, including lost commits.
    line: BTreeMap<u64, CommitDigest>,
    history: HistoryTree,
    head: Option<Head>,
    guess: Guess<'a>,
    kept: HashSet<CommitDigest>,
    references: References,
    bases: Bases,
}

/// Passes the batches of the new store to `sink`. These batches contain all valid records of the damaged log. Calls
/// `step` with the name of the phase and the number of bytes done.
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
    // Segment numbers are never reused, so the position of a checkpoint of any epoch refers to one segment.
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
        bases: index.bases.iter().map(|base| (*base, None)).collect(),
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

/// Returns the known digests of the chain of commits, by seq.
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
    // Visits the commits from the newest to the oldest. Each commit in the chain names its parent, which is the
    // previous digest in the chain.
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
    /// Processes one batch: writes its commit if the commit can be retained, or else only its records.
    fn take(&mut self, number: u64, commit: Option<CommitDigest>, records: &[Record]) -> Result<()> {
        let mut changes = Decoded::default();
        for record in records {
            // Ignores errors, because the root of the commit later shows whether the records were complete.
            drop(changes.add(record, self.damaged.suite(), None));
        }
        for reference in std::mem::take(&mut changes.references) {
            self.references.push(std::sync::Arc::new(reference), number);
        }
        // The batch of a fork says nothing about the state of the main line (SVI-3). `put_lines` writes it later.
        if records.iter().any(|record| record.kind == RecordKind::Line) {
            return Ok(());
        }
        let index = self.index;
        let known = commit.and_then(|digest| Some((digest, index.commits.get(&digest)?)));
        // Ignores a commit that is not part of the chain. An abandoned commit may have the same seq as a commit of the
        // chain.
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

    /// Replaces the current state by the newest state that a checkpoint contains between the last processed commit and
    /// commit `seq`.
    fn follow_stored(&mut self, seq: u64) -> Result<()> {
        let missed = self.guess.seq.map_or(0, |seq| seq + 1);
        match self.states.stored_between(missed, seq) {
            Some(stored) => self.guess.follow(stored),
            None => Ok(()),
        }
    }

    /// Returns the digests of the commits between the newest written commit and `commit`. Returns `None` if a digest is
    /// unknown or if the digests contradict `commit`.
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

    /// Returns the digests of the commits after the written commits and before `seq`. Returns `None` if a digest is
    /// unknown.
    fn digests(&self, seq: u64) -> Option<Vec<CommitDigest>> {
        let first = self.history.size();
        let known: Vec<_> = self
            .line
            .range(first..seq.max(first))
            .map(|(_, digest)| *digest)
            .collect();
        (known.len() as u64 == seq.checked_sub(first)?).then_some(known)
    }

    /// Writes the batch of a retained commit, after the texts that the commit names.
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
        self.note_base(&Kept {
            digest,
            time: commit.time,
            trie: trie.clone(),
            history: self.history.clone(),
        });
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

    /// Adds a gap with the digests of the lost or thinned commits after the newest written commit.
    fn add_gap(&mut self, missed: &[CommitDigest], batch: &mut BatchBuilder) {
        put_gap(batch, self.history.size(), missed);
        for missed in missed {
            self.history.append(missed);
        }
    }

    /// Adds the map of a state to `batch`. For the first written commit, adds the whole map. For later written commits,
    /// adds the changes since the previous written commit.
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
                // Uses the time of the commit in the version's batch, if it is known.
                updated: written.clamp(entry.created, time.as_micros().max(entry.created)),
            })
        })
    }
}
