//! Takes many batches into a store at once: the log at opening, and the whole log during verification.
//!
//! [`super::Store::apply`] computes the state of each commit as a value that readers may use. At opening, only the
//! newest state is needed, and of the states before it only their roots. So this file decodes many batches together,
//! and then edits one trie in place from commit to commit. Each thread edits and hashes a part of the key paths, and the
//! digests of the parts give the root of each commit.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - BLK-1: the store afterwards gives the same answers as a store that applied the batches one by one. Each root was
//!   compared (STO-1), or with [`Bulk::newest_root`] those of the newest state and of the states in memory. The others are
//!   compared when they are computed. Of the states of earlier commits, only those that references name are in memory, and
//!   [`super::Store::state`] computes the others.
//! - BLK-2: an error leaves a store that must not be used. The caller applies the batches one by one instead, to find
//!   the first wrong batch.
//! - BLK-3: the records that wait to be decoded have a limited number of bytes, and nothing keeps their bytes afterwards.

use std::collections::{BTreeSet, HashMap, HashSet, btree_set};
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use crate::digest::{CommitDigest, HashSuite, KeyPath, ObjectDigest, Root};
use crate::error::Result;
use crate::log::{Batch, Locator, Record, RecordKind};
use crate::threads::{beside, processors};
use crate::trie::{PARTS, PartDigest, PartDigests, Shape, Trie, roots_of};

use super::checkpoint::FirstWritten;
use super::decoded::{Decoded, Hashed, decode, hash_objects};
use super::edit::{Change, Edit, Removed, note};
use super::lines::LineRecord;
use super::past::{check_root, missing_version, unknown_root};
use super::replay::{index_decoded, next_commit, publish};
use super::{CommitEntry, Store};

/// Asks the host whether to go on. Returns an error if the host wants to stop.
pub(crate) type GoOn<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// The change of an id in a commit.
struct Step {
    /// The number of the commit in the bulk.
    step: usize,
    change: Change,
}

/// A state from which a commit continues.
#[derive(Clone)]
enum State {
    /// The state of a commit in the bulk.
    Of(usize),
    /// A state of the checkpoint, or the empty state.
    Known(Trie),
}

/// A commit whose state does not continue the state of the commit before it: a rollback, or the whole map of a
/// rewritten log.
struct Jump {
    step: usize,
    to: State,
}

/// Batches that become part of a store together.
pub(crate) struct Bulk<'a> {
    store: &'a Store,
    /// Whether the root of every commit is compared.
    compares_all: bool,
    go_on: GoOn<'a>,
    /// The state before the first commit.
    start: Trie,
    waiting: Vec<Batch>,
    waiting_records: usize,
    waiting_bytes: usize,
    /// The commits, with the roots that they name.
    commits: Vec<Arc<CommitEntry>>,
    /// The newest commit with each root.
    by_root: HashMap<Root, usize>,
    /// The changes of the commits by the first digit of their key paths, in the order of the log.
    changes: [Vec<Step>; PARTS],
    jumps: Vec<Jump>,
    /// The commits whose states stay in memory.
    kept: BTreeSet<usize>,
}

impl<'a> Bulk<'a> {
    /// Starts to add batches to a store that has read the log up to the first of them. The bulk asks `go_on` before each
    /// commit that it edits, and before it decodes batches or computes roots.
    ///
    /// # Errors
    /// The errors of [`Store::state`].
    pub(crate) fn new(store: &'a Store, go_on: GoOn<'a>) -> Result<Self> {
        store.flush()?;
        let head = store.head.load_full();
        let start = head.map_or(Ok(Trie::new()), |head| store.state(&head))?;
        Ok(Self {
            store,
            compares_all: true,
            go_on,
            start,
            waiting: Vec::new(),
            waiting_records: 0,
            waiting_bytes: 0,
            commits: Vec::new(),
            by_root: HashMap::new(),
            changes: Default::default(),
            jumps: Vec::new(),
            kept: BTreeSet::new(),
        })
    }

    /// Compares only the roots of the newest state and of the states that stay in memory. This takes a fraction of the time,
    /// because the changes of many commits become one edit.
    pub(crate) fn newest_root(self) -> Self {
        Self {
            compares_all: false,
            ..self
        }
    }

    /// Adds the next batch of the log.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if this batch or an earlier one of the bulk is not valid.
    pub(crate) fn add(&mut self, batch: Batch) -> Result<()> {
        self.waiting_records += batch.records.len();
        let bodies = batch.records.iter().map(|record| record.body.len());
        self.waiting_bytes += bodies.sum::<usize>();
        self.waiting.push(batch);
        let sizes = &self.store.sizes;
        if self.waiting_records < sizes.records_together && self.waiting_bytes < sizes.bytes_together {
            return Ok(());
        }
        // INVARIANT BLK-3: takes the records in before their bytes are too many.
        self.take_in()
    }

    /// Decodes the waiting batches, and adds everything but their states to the store.
    fn take_in(&mut self) -> Result<()> {
        (self.go_on)()?;
        let waiting = std::mem::take(&mut self.waiting);
        let threads = processors().min(self.waiting_records / self.store.sizes.records_a_thread + 1);
        (self.waiting_records, self.waiting_bytes) = (0, 0);
        let decoded = decode_all(&waiting, self.store.suite, threads)?;
        for (batch, (contents, objects)) in waiting.iter().zip(decoded) {
            let added = self.add_decoded(batch, contents, &objects);
            added.map_err(|error| error.context(format!("batch {}", batch.number)))?;
        }
        Ok(())
    }

    fn add_decoded(
        &mut self,
        batch: &Batch,
        mut contents: Decoded,
        objects: &[(KeyPath, ObjectDigest)],
    ) -> Result<()> {
        let store = self.store;
        if let Some(line) = LineRecord::of(&batch.records, store.suite)? {
            // A bulk computes no states of other lines. Their first use does.
            store.lines().check(batch, &line)?;
            index_decoded(store, batch, contents, objects)?;
            return store.note_line(batch, &line);
        }
        store.records.add_all(batch, objects, false)?;
        let head = store.head.load_full();
        let of_main = (batch, batch.commit);
        let Some((entry, history)) = next_commit(store, head.as_deref(), of_main, &mut contents)? else {
            publish(store, batch.number, contents, None);
            return Ok(());
        };
        let (step, root) = (self.commits.len(), entry.commit.root);
        if contents.changes_state() {
            if contents.is_whole() {
                self.jumps.push(Jump {
                    step,
                    to: State::Known(Trie::new()),
                });
            }
            for mut change in contents.changes() {
                if let (None, Some(digest)) = (change.place, change.digest) {
                    change.place = Some(self.place_of(digest, batch.number)?.to_u64());
                }
                self.changes[change.key.nibble(0)].push(Step { step, change });
            }
        } else {
            let to = self.state_with(root, entry.seq())?;
            self.jumps.push(Jump { step, to });
        }
        let entry = Arc::new(entry);
        publish(
            store,
            batch.number,
            contents,
            Some((Arc::clone(&entry), history, Vec::new())),
        );
        self.by_root.insert(root, step);
        self.commits.push(Arc::clone(&entry));
        store.head.store(Some(entry));
        Ok(())
    }

    fn place_of(&self, digest: ObjectDigest, batch: u64) -> Result<Locator> {
        let place = self.store.records.find_trace(digest, batch)?;
        place.ok_or_else(|| missing_version(digest))
    }

    /// Returns the state of the newest commit with this root before commit `seq`.
    fn state_with(&self, root: Root, seq: u64) -> Result<State> {
        if let Some(step) = self.by_root.get(&root) {
            return Ok(State::Of(*step));
        }
        match self.store.by_root(root)? {
            Some(covered) => Ok(State::Known(self.store.state(&covered)?)),
            None if seq == 0 => Ok(State::Known(Trie::new())),
            None => Err(unknown_root(root, seq)),
        }
    }

    /// Checks the roots of all commits, and completes the store with the state of the newest commit.
    ///
    /// # Errors
    /// The errors of [`Self::add`]. `Corrupt` if a root differs. The error of `go_on`.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.take_in()?;
        let Some(head) = self.commits.last() else {
            return Ok(());
        };
        let changes: usize = self.changes.iter().map(Vec::len).sum();
        let threads = processors().min(changes / self.store.sizes.changes_a_thread + 1);
        self.kept = self.named_commits();
        let parts = self.edit_parts(0..PARTS, threads)?;
        if self.compares_all {
            self.check_roots(&parts)?;
        }
        for &step in &self.kept {
            let tries =
                std::array::from_fn(|digit| parts[digit].states.get(&step).cloned().unwrap_or_default());
            let trie = Trie::joined(&tries, self.store)?;
            self.check_root_of(&self.commits[step], &trie)?;
            self.commits[step].trie.set(&trie);
        }
        let mut catalog = self.store.catalog.write();
        // The parts have found every id that a rollback removed.
        catalog.left.clear();
        let mut tries = [const { None }; PARTS];
        for (trie, part) in tries.iter_mut().zip(parts) {
            for (key, created) in part.unlinked {
                catalog.note_unlinked(head.batch, FirstWritten { key, created });
            }
            *trie = Some(part.trie);
        }
        drop(catalog);
        let trie = Trie::joined(&tries.map(Option::unwrap_or_default), self.store)?;
        self.check_root_of(head, &trie)?;
        head.trie.set(&trie);
        Ok(())
    }

    /// Compares the root of a state in memory, unless every root was compared.
    fn check_root_of(&self, entry: &CommitEntry, trie: &Trie) -> Result<()> {
        if self.compares_all {
            return Ok(());
        }
        // The threads have computed the digests of the parts.
        let root = trie.root(self.store.suite, Shape::State, self.store)?;
        check_root(&entry.commit, root)
    }

    /// Returns the commits that references name. Their states stay in memory (CTL-4).
    fn named_commits(&self) -> BTreeSet<usize> {
        let references = self.store.references();
        let named: HashSet<CommitDigest> = references.kept_commits().map(|(_, commit)| commit).collect();
        let commits = self.commits.iter().enumerate();
        let named = commits.filter(|(_, entry)| named.contains(&entry.digest));
        named.map(|(step, _)| step).collect()
    }

    /// Edits the parts with these digits.
    fn edit_parts(&self, digits: Range<usize>, threads: usize) -> Result<Vec<Part>> {
        if threads > 1 && digits.len() > 1 {
            let middle = digits.start.midpoint(digits.end);
            let (low, high) = beside(
                || self.edit_parts(digits.start..middle, threads / 2),
                || self.edit_parts(middle..digits.end, threads - threads / 2),
            );
            let mut parts = low?;
            parts.append(&mut high?);
            return Ok(parts);
        }
        digits.map(|digit| Editor::new(self, digit)?.run()).collect()
    }

    /// Compares the root of each commit with the digests of the parts.
    fn check_roots(&self, parts: &[Part]) -> Result<()> {
        let suite = self.store.suite;
        let digests_of = |trie: &Trie| -> Result<PartDigests> {
            let mut digests = PartDigests::default();
            for (digit, digest) in digests.iter_mut().enumerate() {
                *digest = trie.part(digit, self.store)?.part_digest(suite, self.store)?;
            }
            Ok(digests)
        };
        let mut next = [0; PARTS];
        let (mut current, mut known) = (digests_of(&self.start)?, HashMap::new());
        let targets = self.targets();
        let (mut jumps, mut waiting) = (self.jumps.iter().peekable(), Vec::new());
        for step in 0..self.commits.len() {
            if let Some(jump) = jumps.next_if(|jump| jump.step == step) {
                current = match &jump.to {
                    State::Of(older) => known.get(older).copied().unwrap_or_default(),
                    State::Known(trie) => digests_of(trie)?,
                };
            }
            for (digit, part) in parts.iter().enumerate() {
                if let Some((_, digest)) = part.digests.get(next[digit]).filter(|(at, _)| *at == step) {
                    current[digit] = *digest;
                    next[digit] += 1;
                }
            }
            if targets.contains(&step) {
                known.insert(step, current);
            }
            waiting.push(current);
            if waiting.len() == self.store.sizes.roots_together || step + 1 == self.commits.len() {
                self.compare(step + 1 - waiting.len(), &waiting)?;
                waiting.clear();
            }
        }
        Ok(())
    }

    /// Compares the roots of the commits from number `first` on.
    fn compare(&self, first: usize, digests: &[PartDigests]) -> Result<()> {
        (self.go_on)()?;
        let roots = roots_of(digests, self.store.suite);
        for (entry, root) in self.commits[first..].iter().zip(roots) {
            check_root(&entry.commit, root)?;
        }
        Ok(())
    }

    /// Returns the commits whose states are needed later, in order: those to whose states later commits jump, and those whose
    /// states stay in memory.
    fn targets(&self) -> BTreeSet<usize> {
        let targets = self.jumps.iter().filter_map(|jump| match jump.to {
            State::Of(step) => Some(step),
            State::Known(_) => None,
        });
        targets.chain(self.kept.iter().copied()).collect()
    }
}

/// A decoded batch, with the key path and the digest of each of its objects.
type DecodedBatch = (Decoded, Hashed);

/// Decodes batches on at most `threads` threads. Hashes the objects of several batches together.
fn decode_all(batches: &[Batch], suite: HashSuite, threads: usize) -> Result<Vec<DecodedBatch>> {
    if threads > 1 && batches.len() > 1 {
        let records: usize = batches.iter().map(|batch| batch.records.len()).sum();
        let mut before = 0;
        let middle = batches.iter().position(|batch| {
            before += batch.records.len();
            2 * before > records
        });
        let middle = middle.unwrap_or_default().clamp(1, batches.len() - 1);
        let (low, high) = beside(
            || decode_all(&batches[..middle], suite, threads / 2),
            || decode_all(&batches[middle..], suite, threads - threads / 2),
        );
        let mut decoded = low?;
        decoded.append(&mut high?);
        return Ok(decoded);
    }
    let is_object = |record: &&Record| record.kind == RecordKind::Object;
    let records = batches.iter().flat_map(|batch| &batch.records);
    let objects: Vec<_> = records.filter(is_object).collect();
    let mut hashed = hash_objects(&objects, suite, threads)?.into_iter();
    let decode = |batch: &Batch| {
        let count = batch.records.iter().filter(is_object).count();
        let objects: Hashed = hashed.by_ref().take(count).collect();
        Ok((decode(batch, &objects, suite)?, objects))
    };
    batches.iter().map(decode).collect()
}

/// A part of the states: the ids with one first digit of the key path.
struct Part {
    /// The newest state.
    trie: Trie,
    /// The digest of the part after each commit that changes it.
    digests: Vec<(usize, Option<PartDigest>)>,
    /// The ids that commits removed, with the times of their first writes.
    unlinked: Removed,
    /// The states of the commits that are needed later.
    states: HashMap<usize, Trie>,
}

/// Edits one part from commit to commit.
struct Editor<'a> {
    bulk: &'a Bulk<'a>,
    digit: usize,
    part: Part,
    targets: Peekable<btree_set::IntoIter<usize>>,
}

impl<'a> Editor<'a> {
    fn new(bulk: &'a Bulk<'a>, digit: usize) -> Result<Self> {
        Ok(Self {
            bulk,
            digit,
            part: Part {
                trie: bulk.start.part(digit, bulk.store)?,
                digests: Vec::new(),
                unlinked: Removed::new(),
                states: HashMap::new(),
            },
            targets: bulk.targets().into_iter().peekable(),
        })
    }

    fn run(mut self) -> Result<Part> {
        let mut jumps = self.bulk.jumps.iter().peekable();
        let breaks = self.breaks();
        let is_one_edit = |one: &Step, next: &Step| {
            let crosses = || breaks.range(one.step + 1..=next.step).next().is_some();
            one.step == next.step || !self.bulk.compares_all && !crosses()
        };
        let bulk = self.bulk;
        for changes in bulk.changes[self.digit].chunk_by(is_one_edit) {
            (self.bulk.go_on)()?;
            let step = changes[0].step;
            while let Some(jump) = jumps.next_if(|jump| jump.step <= step) {
                self.jump(jump)?;
            }
            self.pass_to(step);
            self.edit(step, changes)?;
        }
        jumps.try_for_each(|jump| self.jump(jump))?;
        self.pass_to(self.bulk.commits.len());
        if !self.bulk.compares_all {
            // Computes the digests of the newest state and of the kept ones in this thread.
            for trie in self.part.states.values().chain([&self.part.trie]) {
                trie.part_digest(self.bulk.store.suite, self.bulk.store)?;
            }
        }
        Ok(self.part)
    }

    /// Returns the commits before which the state of the commit before them is needed, or another state is taken.
    fn breaks(&self) -> BTreeSet<usize> {
        let jumps = self.bulk.jumps.iter().map(|jump| jump.step);
        let targets = self.bulk.targets();
        jumps.chain(targets.iter().map(|target| target + 1)).collect()
    }

    /// Keeps the present state for the targets among the commits before `step`.
    fn pass_to(&mut self, step: usize) {
        while let Some(target) = self.targets.next_if(|target| *target < step) {
            self.part.states.insert(target, self.part.trie.clone());
        }
    }

    fn jump(&mut self, jump: &Jump) -> Result<()> {
        self.pass_to(jump.step);
        let store = self.bulk.store;
        let trie = match &jump.to {
            State::Of(step) => self.part.states.get(step).cloned().unwrap_or_default(),
            State::Known(trie) => trie.part(self.digit, store)?,
        };
        for change in self.part.trie.diff(&trie, store) {
            let change = change?;
            if let (Some(old), None) = (change.old, change.new) {
                note(&mut self.part.unlinked, change.key, old.created);
            }
        }
        self.part.trie = trie;
        Ok(())
    }

    /// Edits the part by the changes of one commit, or of several ones if only the newest root is compared. `step` is the
    /// first of them.
    fn edit(&mut self, step: usize, changes: &[Step]) -> Result<()> {
        let (bulk, store) = (self.bulk, self.bulk.store);
        let time_of = |step: usize| bulk.commits[step].commit.time.as_micros();
        let edit = Edit {
            nodes: store,
            first_written: &|key| store.first_written(key),
            place: &|digest| Err(missing_version(digest)),
            time: time_of(step),
        };
        let before = std::mem::take(&mut self.part.trie);
        let unlinked = &mut self.part.unlinked;
        if !bulk.compares_all {
            let changes = changes.iter().map(|one| (time_of(one.step), &one.change));
            self.part.trie = edit.apply_all(before, changes, unlinked)?;
            return Ok(());
        }
        self.part.trie = edit.apply(before, changes.iter().map(|one| &one.change), unlinked)?;
        let digest = self.part.trie.part_digest(store.suite, store)?;
        self.part.digests.push((step, digest));
        Ok(())
    }
}
