//! The workload of a campaign: operations that a seed determines, applied to a memory and to the model.
//!
//! To add a kind of operation, change four places in this file: the enum, the weights of `operations`, `Run::apply` and
//! `Specified::apply`.
//!
//! # Layer
//! For tests. Uses the engine.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::forks;
use crate::disk::Disk;
use crate::engine::{Clock, Cut, Erasing, Memory, Options, Retention, Revision, VerifyDepth, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::Seal;
use crate::object::{Id, Kind, NewObject, Object, Time};
use crate::testing::model::{Model, ModelObject, Outcome};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, SimDisk};

pub(super) const LANES: [&str; 3] = ["one", "two", "default"];
const IDS: usize = 24;
pub(super) const NAMES: usize = 4;
/// The time of the first commit, in microseconds since 1970.
const START: i64 = 1_700_000_000_000_000;
/// The time between two operations, in microseconds.
const BETWEEN: i64 = 1_000_000;

/// An operation on a store.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// Puts one object. The new version is derived from the current version of object `from`, if that exists.
    Put {
        lane: usize,
        id: usize,
        length: usize,
        from: Option<usize>,
    },
    /// Removes one object.
    Remove { lane: usize, id: usize },
    /// Changes several objects in one commit: sets contents by id, or removes objects.
    Draft {
        lane: usize,
        changes: BTreeMap<usize, Option<usize>>,
    },
    /// Ingests a document in a new form: the object, its children, and a snapshot of the state before.
    Ingest {
        lane: usize,
        document: usize,
        lines: BTreeSet<usize>,
        form: usize,
    },
    /// Makes a named or an automatic snapshot.
    Snapshot { lane: usize, name: Option<usize> },
    /// Deletes a named snapshot.
    DeleteSnapshot { name: usize },
    /// Rolls back to the commit that is `back` steps before the head.
    Rollback { lane: usize, back: usize, all: bool },
    /// Undoes the lane's newest commit.
    Undo { lane: usize },
    /// Redoes the lane's newest undo.
    Redo { lane: usize },
    /// Saves a draft without committing it.
    KeepDraft {
        lane: usize,
        name: usize,
        id: usize,
        length: usize,
    },
    /// Deletes a saved draft.
    DeleteDraft { name: usize },
    /// Makes a fork at the head.
    Fork { name: usize },
    /// Puts one object in a fork.
    ForkPut {
        lane: usize,
        name: usize,
        id: usize,
        length: usize,
    },
    /// Rolls a fork back to its base.
    ForkBack { lane: usize, name: usize },
    /// Merges a fork. Where both sides changed an object, the version of the fork is taken.
    Merge { lane: usize, name: usize },
    /// Drops a fork.
    DropFork { name: usize },
    /// Collects garbage. If `newest` is set, keeps only that number of newest commits, and the commits that references
    /// name.
    Gc { newest: Option<u64> },
    /// Collects garbage, while the other handle acts between the choice of kept commits and the publication.
    GcBeside {
        newest: Option<u64>,
        beside: Box<Operation>,
    },
    /// Erases every version of an object, if it exists.
    Erase { lane: usize, id: usize },
    /// Drops the handle and opens the store again.
    Reopen,
    /// Continues with the other handle.
    OtherHandle,
    /// Verifies the whole store.
    Verify,
    /// Restarts the machine after an orderly shutdown.
    Restart,
}

/// Returns the operations of a seed.
pub(super) fn operations(seed: u64, count: usize) -> Vec<Operation> {
    let random = &mut SplitMix64::new(seed);
    (0..count).map(|_| of_seed(seed, operation(random))).collect()
}

/// Returns the operation, or the operation that replaces it in this workload.
fn of_seed(seed: u64, operation: Operation) -> Operation {
    if let Some(beside) = forks::beside_main(&operation).filter(|_| forks::has_forks(seed)) {
        // The model does not cover a merge of erased objects.
        let is_covered = !(erases(seed) && matches!(beside, Operation::Merge { .. }));
        return if is_covered {
            beside
        } else {
            Operation::OtherHandle
        };
    }
    match operation {
        // The model does not cover a rollback across erased objects.
        Operation::Rollback { lane, back, .. } if erases(seed) => Operation::Put {
            lane,
            id: back,
            length: 100,
            from: None,
        },
        Operation::Undo { .. } | Operation::Redo { .. } if erases(seed) => Operation::OtherHandle,
        Operation::Erase { lane, id } if !erases(seed) => Operation::Remove { lane, id },
        Operation::Put {
            lane,
            id,
            length,
            from,
        } if checkpoints(seed) && length < 500 => Operation::Put {
            lane,
            id,
            length: 12 * length,
            from,
        },
        Operation::Gc { .. } if !thins(seed) => Operation::Gc { newest: None },
        Operation::GcBeside { newest, beside } => {
            let beside = match of_seed(seed, *beside) {
                Operation::OtherHandle => Operation::Put {
                    lane: 0,
                    id: 0,
                    length: 100,
                    from: Some(1),
                },
                other => other,
            };
            Operation::GcBeside {
                newest: newest.filter(|_| thins(seed)),
                beside: Box::new(beside),
            }
        }
        other => other,
    }
}

/// Returns whether the workload of a seed thins history.
pub(super) fn thins(seed: u64) -> bool {
    seed % 2 == 1
}

/// Returns whether the workload of a seed erases objects.
fn erases(seed: u64) -> bool {
    seed % 6 == 3
}

/// Returns whether the workload of a seed writes enough to make checkpoints worthwhile.
fn checkpoints(seed: u64) -> bool {
    seed / 2 % 2 == 1
}

fn operation(random: &mut SplitMix64) -> Operation {
    let lane = random.below(LANES.len());
    let id = random.below(IDS);
    let name = random.below(NAMES);
    match random.below(100) {
        0..40 => Operation::Put {
            lane,
            id,
            length: length(random),
            // An object is never derived from itself. Otherwise a repeated operation would derive it from its own
            // result.
            from: random.one_in(3).then(|| (id + 1 + random.below(IDS - 1)) % IDS),
        },
        40..47 => Operation::Remove { lane, id },
        47..56 => {
            let mut changes = BTreeMap::new();
            for _ in 0..2 + random.below(8) {
                let content = (!random.one_in(4)).then(|| length(random) / 4);
                changes.insert(random.below(IDS), content);
            }
            Operation::Draft { lane, changes }
        }
        56..62 => {
            let lines = (0..8).filter(|_| random.one_in(2)).collect();
            Operation::Ingest {
                lane,
                document: name,
                lines,
                form: random.below(3),
            }
        }
        62..68 => Operation::Snapshot {
            lane,
            name: (!random.one_in(2)).then_some(name),
        },
        68..70 => Operation::DeleteSnapshot { name },
        70..76 => Operation::Rollback {
            lane,
            back: random.below(12),
            all: !random.one_in(4),
        },
        76..81 => Operation::Undo { lane },
        81..84 => Operation::Redo { lane },
        84..87 => Operation::KeepDraft {
            lane,
            name,
            id,
            length: length(random),
        },
        87..89 => Operation::DeleteDraft { name },
        89..92 => Operation::Reopen,
        92..95 => Operation::OtherHandle,
        95..97 => Operation::GcBeside {
            newest: newest(random),
            beside: Box::new(beside(random, lane, id)),
        },
        97..98 => Operation::Gc {
            newest: newest(random),
        },
        98 if random.one_in(3) => Operation::Verify,
        98 => Operation::Erase { lane, id },
        _ => Operation::Restart,
    }
}

fn newest(random: &mut SplitMix64) -> Option<u64> {
    (!random.one_in(3)).then(|| 3 + random.next_u64() % 20)
}

/// Returns an operation that may need an object which the simultaneous collection is about to drop.
fn beside(random: &mut SplitMix64, lane: usize, id: usize) -> Operation {
    let name = random.below(NAMES);
    match random.below(10) {
        0..3 => Operation::Undo { lane },
        3..5 => Operation::Redo { lane },
        5..7 => Operation::Rollback {
            lane,
            back: random.below(12),
            all: true,
        },
        7 => Operation::KeepDraft {
            lane,
            name,
            id,
            length: length(random),
        },
        8 => Operation::Snapshot {
            lane,
            name: Some(name),
        },
        _ => Operation::Put {
            lane,
            id,
            length: length(random),
            from: Some((id + 1) % IDS),
        },
    }
}

/// Returns a length: usually a few hundred bytes, sometimes enough for a separate record, rarely more than a segment
/// can contain.
fn length(random: &mut SplitMix64) -> usize {
    match random.below(100) {
        0..90 => random.below(500),
        90..99 => 4_000 + random.below(3_000),
        _ => 66_000,
    }
}

pub(super) fn object_id(number: usize) -> String {
    format!("o/{number}")
}

fn document_id(number: usize) -> String {
    format!("d/{number}")
}

/// Returns a content of about `length` bytes that is unique to the step and the object.
pub(super) fn content(step: usize, id: usize, length: usize) -> String {
    let mut text = format!("step {step} of {id}, ");
    while text.len() < length {
        text.push_str("abcdefghijklmnopqrstuvwxyz 0123456789 ");
    }
    text
}

fn document_lines(document: usize, lines: &BTreeSet<usize>, form: usize) -> Vec<(String, String)> {
    let line = |line: &usize| {
        (
            format!("d/{document}/{line}"),
            format!("line {line}, {}", form * line),
        )
    };
    lines.iter().map(line).collect()
}

/// A clock that does not advance within a step, so repeating a step gives the same commit.
#[derive(Default)]
struct StepClock(AtomicI64);

impl Clock for StepClock {
    fn now(&self) -> Time {
        Time::from_micros(START + BETWEEN * self.0.load(Ordering::Relaxed))
    }
}

/// Returns the options for a campaign's stores: small segments, and a clock set to `step`.
pub(super) fn options(step: usize) -> Options {
    let clock = StepClock(AtomicI64::new(
        i64::try_from(step).unwrap_or(i64::MAX / BETWEEN / 2),
    ));
    Options::new()
        .segment_bytes_max(64 << 10)
        .clock(Arc::new(clock))
        .small_sizes()
}

/// A running workload: the disk, two handles, and which handle works next.
pub(super) struct Run {
    pub(super) disk: SimDisk,
    clock: Arc<StepClock>,
    handles: [Option<Memory>; 2],
    turn: usize,
    /// The outcome of the operation that ran during a collection, with its step. A retry of the step does not repeat
    /// that operation.
    beside: Option<(usize, Outcome)>,
}

impl Run {
    pub(super) fn new(disk: SimDisk) -> Self {
        Self {
            disk,
            clock: Arc::default(),
            handles: [None, None],
            turn: 0,
            beside: None,
        }
    }

    fn open_handle(&self, create: bool) -> Result<Memory> {
        let options = options(0).clock(Arc::clone(&self.clock) as Arc<dyn Clock>);
        Memory::on_disk(
            Arc::new(self.disk.clone()) as Arc<dyn Disk>,
            options,
            create,
            None,
        )
    }

    /// Returns the handle that works next. Opens it if necessary.
    pub(super) fn memory(&mut self) -> Result<Memory> {
        if let Some(memory) = &self.handles[self.turn] {
            return Ok(memory.clone());
        }
        let memory = self.open_handle(false)?;
        self.handles[self.turn] = Some(memory.clone());
        Ok(memory)
    }

    /// Drops all handles, as when their processes end.
    pub(super) fn let_go(&mut self) {
        self.handles = [None, None];
        self.beside = None;
    }

    /// Creates the store, which is step 0.
    pub(super) fn create(&mut self) -> Result<()> {
        self.clock.0.store(0, Ordering::Relaxed);
        let memory = self.open_handle(true)?;
        self.handles[self.turn] = Some(memory);
        Ok(())
    }

    /// Applies one operation. A refusal by the engine is returned as an outcome, a failure as an error.
    pub(super) fn apply(&mut self, step: usize, operation: &Operation) -> Result<Outcome> {
        self.clock
            .0
            .store(i64::try_from(step).unwrap_or(0), Ordering::Relaxed);
        match operation {
            Operation::Reopen => self.handles[self.turn] = None,
            Operation::OtherHandle => self.turn = 1 - self.turn,
            Operation::Restart => {
                self.let_go();
                self.disk.reboot();
            }
            Operation::Erase { lane, id } => {
                let memory = self.memory()?;
                memory.refresh()?;
                return settle(self.erase(&memory, LANES[*lane], &object_id(*id)));
            }
            Operation::GcBeside { newest, beside } => {
                let memory = self.memory()?;
                memory.refresh()?;
                return self.collect_beside(&memory, step, *newest, beside);
            }
            _ => {
                let memory = self.memory()?;
                memory.refresh()?;
                return settle(change(&memory, step, operation));
            }
        }
        // First reads the commits of the other handle.
        self.memory()?.refresh()?;
        Ok(Outcome::Unchanged)
    }
}

impl Run {
    fn collect_beside(
        &mut self,
        memory: &Memory,
        step: usize,
        newest: Option<u64>,
        beside: &Operation,
    ) -> Result<Outcome> {
        self.turn = 1 - self.turn;
        let other = self.memory();
        self.turn = 1 - self.turn;
        let other = other?;
        let known = self.beside.take().filter(|(known, _)| *known == step);
        let done = RefCell::new(known);
        let (inner, retention) = (&memory.inner, retention(newest));
        let choose = |cut: &Cut| {
            let kept = inner.choose(&retention, cut, inner.retention_time(&cut.store, None)?)?;
            if done.borrow().is_none() {
                other.refresh()?;
                let outcome = settle(change(&other, step, beside))?;
                *done.borrow_mut() = Some((step, outcome));
            }
            Ok(kept)
        };
        let collected = inner.rewrite(&choose, inner.settings().wait, Seal::Now);
        self.beside = done.into_inner();
        collected?;
        expect_sources(memory)?;
        let outcome = self.beside.as_ref().map(|(_, outcome)| outcome.clone());
        outcome.ok_or_else(|| Error::internal("no operation ran during the collection"))
    }

    /// Erases an object. Checks that afterwards no file contains its content, even after a power loss.
    fn erase(&self, memory: &Memory, lane: &str, name: &str) -> Result<Outcome> {
        let Some(object) = memory.view().get(&Id::new(name)?)? else {
            return Ok(Outcome::Unchanged);
        };
        let secret = object.content().unwrap_or_default().as_bytes().to_vec();
        let erasing = Erasing {
            targets: vec![name.to_owned()],
            ..Erasing::default()
        };
        memory.erase(&erasing, &Writer::user().session(lane))?;
        // The first bytes are enough to distinguish a content from all other contents.
        let start = &secret[..secret.len().min(24)];
        let lost = self.disk.crash_image(CrashImage::Nothing);
        for (name, content) in self.disk.contents().into_iter().chain(lost.contents()) {
            let found = content.windows(start.len()).any(|bytes| bytes == start);
            assert!(!found, "{name} contains erased content");
        }
        Ok(Outcome::Committed)
    }
}

fn retention(newest: Option<u64>) -> Retention {
    let Some(newest) = newest else {
        return Retention::everything();
    };
    Retention {
        all: Duration::MAX,
        newest,
        hourly: Duration::ZERO,
        daily: Duration::ZERO,
        weekly: Duration::ZERO,
        forgotten: Duration::ZERO,
    }
}

/// Checks that garbage collection kept the sources from which live objects were derived.
fn expect_sources(memory: &Memory) -> Result<()> {
    for object in memory.view().objects() {
        let object = object?;
        for source in object.derived_from() {
            let is_erased = || {
                memory
                    .check_kept(source)
                    .is_err_and(|error| error.code() == ErrorCode::Erased)
            };
            if memory.version(source)?.is_none() && !is_erased() {
                let id = object.id();
                return Err(Error::corrupt(format!("the source {source} of {id} is missing")));
            }
        }
    }
    Ok(())
}

/// Separates refusals by the engine from failures.
fn settle(result: Result<Outcome>) -> Result<Outcome> {
    match result {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::Denied
            ) =>
        {
            Ok(Outcome::Refused(error.code()))
        }
        other => other,
    }
}

pub(super) fn note(id: &str, parent: Option<&str>, content: String) -> Result<NewObject> {
    let mut object = NewObject::new(Id::new(id)?, Kind::new("note")?);
    object.parent = parent.map(Id::new).transpose()?;
    object.content = Some(content);
    Ok(object)
}

fn change(memory: &Memory, step: usize, operation: &Operation) -> Result<Outcome> {
    let writer = |lane: &usize| Writer::user().session(LANES[*lane]);
    let committed = match operation {
        Operation::Put {
            lane,
            id,
            length,
            from,
        } => {
            let mut object = note(&object_id(*id), None, content(step, *id, *length))?;
            if let Some(from) = from {
                let source = memory.view().get(&Id::new(&object_id(*from))?)?;
                object.derived_from = source.iter().map(Object::digest).collect();
            }
            memory.put(object, &writer(lane))?
        }
        Operation::Remove { lane, id } => memory.remove(&Id::new(&object_id(*id))?, &writer(lane))?,
        Operation::Draft { lane, changes } => {
            let mut draft = memory.draft(&writer(lane));
            for (id, length) in changes {
                let name = object_id(*id);
                match length {
                    Some(length) => drop(draft.put(note(&name, None, content(step, *id, *length))?)?),
                    None => drop(draft.remove(&Id::new(&name)?)?),
                }
            }
            memory.commit(draft, "put")?
        }
        Operation::Ingest {
            lane,
            document,
            lines,
            form,
        } => {
            let mut draft = memory.draft(&writer(lane));
            draft.snapshot_before();
            let name = document_id(*document);
            let lines = document_lines(*document, lines, *form);
            let ids: Vec<_> = lines.iter().map(|(id, _)| id.as_str()).collect();
            draft.put(note(&name, None, ids.join("\n"))?)?;
            for (id, content) in &lines {
                draft.put(note(id, Some(&name), content.clone())?)?;
            }
            for child in draft.children(&Id::new(&name)?)? {
                if !ids.contains(&child.as_str()) {
                    draft.remove(&child)?;
                }
            }
            memory.commit(draft, "ingest")?
        }
        Operation::Rollback { lane, back, all } => {
            let seq = memory.view().commit().commit.seq;
            let target = Revision::Seq(seq.saturating_sub(*back as u64));
            let rollback = memory.rollback(&target);
            let rollback = if *all { rollback.across_lanes() } else { rollback };
            rollback.by(&writer(lane))?
        }
        Operation::Undo { lane } => memory.undo(&writer(lane))?,
        Operation::Redo { lane } => memory.redo(&writer(lane))?,
        _ => return refer(memory, step, operation),
    };
    Ok(if committed.changed {
        Outcome::Committed
    } else {
        Outcome::Unchanged
    })
}

/// Applies the operations that make no commit.
fn refer(memory: &Memory, step: usize, operation: &Operation) -> Result<Outcome> {
    let writer = |lane: &usize| Writer::user().session(LANES[*lane]);
    match operation {
        Operation::Snapshot { lane, name } => {
            let name = name.map(|name| format!("name-{name}"));
            drop(memory.snapshot(name.as_deref(), &writer(lane))?);
        }
        Operation::DeleteSnapshot { name } => {
            drop(memory.delete_snapshot(&format!("name-{name}"), &Writer::user())?);
        }
        Operation::KeepDraft {
            lane,
            name,
            id,
            length,
        } => {
            let mut draft = memory.draft(&writer(lane));
            draft.put(note(&object_id(*id), None, content(step, *id, *length))?)?;
            memory.save_draft(&draft, &format!("draft-{name}"))?;
        }
        Operation::Fork { .. }
        | Operation::ForkPut { .. }
        | Operation::ForkBack { .. }
        | Operation::Merge { .. }
        | Operation::DropFork { .. } => return forks::act(memory, step, operation),
        Operation::DeleteDraft { name } => {
            memory.delete_draft(&format!("drafts/draft-{name}"), &Writer::user())?;
        }
        Operation::Gc { newest } => {
            let (inner, retention) = (&memory.inner, retention(*newest));
            if step.is_multiple_of(2) {
                memory.gc(&retention, None)?;
            } else {
                // A collection as on a nearly full disk.
                let choose =
                    |cut: &Cut| inner.choose(&retention, cut, inner.retention_time(&cut.store, None)?);
                inner.rewrite(&choose, inner.settings().wait, Seal::WhenPublished)?;
            }
            expect_sources(memory)?;
            return Ok(Outcome::Unchanged);
        }
        Operation::Verify => {
            let report = memory.verify(VerifyDepth::Full)?;
            if !report.ok {
                return Err(Error::corrupt(format!("verify found {:?}", report.damage)));
            }
            return Ok(Outcome::Unchanged);
        }
        other => return Err(Error::internal(format!("another function applies {other:?}"))),
    }
    Ok(Outcome::Referenced)
}

/// Applies the same operations to the model.
#[derive(Default)]
pub(super) struct Specified {
    pub(super) model: Model,
    /// The saved drafts by name, each with the number of its base commit.
    drafts: BTreeMap<usize, usize>,
    pub(super) forks: forks::Forks,
}

impl Specified {
    /// Records the commits that a collection kept. Asserts that the collection kept all required commits.
    pub(super) fn thin(&mut self, operation: &Operation, kept: &BTreeSet<usize>) {
        let (Operation::Gc { newest } | Operation::GcBeside { newest, .. }) = operation else {
            return;
        };
        let before = self.model.kept();
        let model = &mut self.model;
        assert!(kept.is_subset(&before), "a thinned commit has its state again");
        let rings = model.rings.values().flatten();
        let named = model.named.values().chain(rings).chain(self.drafts.values());
        let newest = newest.map_or(before.len(), |newest| before.len().min(newest as usize));
        let named = named.chain(self.forks.values().map(|(base, _)| base));
        let needed = model.targets(kept).into_iter().chain(named.copied());
        // A commit that was made during the collection is not counted.
        for seq in needed.chain(before.iter().rev().take(newest.max(1)).copied()) {
            assert!(kept.contains(&seq), "commit {seq} was thinned");
        }
        model.thin(kept);
    }

    pub(super) fn apply(&mut self, step: usize, operation: &Operation) -> Outcome {
        let object = |id: usize, length: usize| ModelObject {
            parent: None,
            content: content(step, id, length),
        };
        let model = &mut self.model;
        match operation {
            Operation::Put { lane, id, length, .. } => {
                model.put(LANES[*lane], &object_id(*id), object(*id, *length))
            }
            Operation::Erase { id, .. } if !model.head().contains_key(&object_id(*id)) => Outcome::Unchanged,
            Operation::Remove { lane, id } | Operation::Erase { lane, id } => {
                model.remove(LANES[*lane], &object_id(*id), false)
            }
            Operation::Draft { lane, changes } => {
                let mut state = model.head().clone();
                for (id, length) in changes {
                    match length {
                        Some(length) => drop(state.insert(object_id(*id), object(*id, *length))),
                        None => drop(state.remove(&object_id(*id))),
                    }
                }
                model.commit(LANES[*lane], state)
            }
            Operation::Ingest {
                lane,
                document,
                lines,
                form,
            } => {
                let lines = document_lines(*document, lines, *form);
                model.ingest(LANES[*lane], &document_id(*document), &lines)
            }
            Operation::Snapshot { lane, name } => {
                let name = name.map(|name| format!("name-{name}"));
                model.snapshot(LANES[*lane], name.as_deref())
            }
            Operation::DeleteSnapshot { name } => model.delete_snapshot(&format!("name-{name}")),
            Operation::Rollback { lane, back, all } => {
                let target = (model.commits.len() - 1).saturating_sub(*back);
                model.rollback(LANES[*lane], Some(target), *all)
            }
            Operation::Undo { lane } => model.undo(LANES[*lane]),
            Operation::Redo { lane } => model.redo(LANES[*lane]),
            Operation::Fork { .. }
            | Operation::ForkPut { .. }
            | Operation::ForkBack { .. }
            | Operation::Merge { .. }
            | Operation::DropFork { .. } => forks::specify(&mut self.forks, model, step, operation),
            Operation::KeepDraft { name, .. } if self.drafts.contains_key(name) => {
                Outcome::Refused(ErrorCode::NameTaken)
            }
            Operation::KeepDraft { name, .. } => {
                self.drafts.insert(*name, model.commits.len() - 1);
                Outcome::Referenced
            }
            Operation::DeleteDraft { name } if self.drafts.remove(name).is_some() => Outcome::Referenced,
            Operation::DeleteDraft { .. } => Outcome::Refused(ErrorCode::NotFound),
            Operation::GcBeside { beside, .. } => self.apply(step, beside),
            Operation::Gc { .. }
            | Operation::Reopen
            | Operation::OtherHandle
            | Operation::Verify
            | Operation::Restart => Outcome::Unchanged,
        }
    }
}
