//! Compares reverts with a naive reference on random histories.
//!
//! `TREERING_REVERT_CASES=10000 cargo test --release --lib revert::model` runs 10,000 histories instead of 300.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::{by, id, note};
use crate::digest::Root;
use crate::disk::MemDisk;
use crate::engine::{
    Conflicts, Erasing, KeptBecause, Memory, Options, Revert, Reverted, Selection, VerifyDepth,
};
use crate::object::{Id, Op};
use crate::testing::random::SplitMix64;
use crate::{ErrorCode, Result, Revision};

pub(crate) const SESSIONS: [&str; 4] = ["day", "night", "eve", "owner"];
const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const TEXTS: [&str; 4] = ["1", "2", "3", "4"];

type State = BTreeMap<String, String>;

/// A commit of the reference: the whole state after it, its operation and its session.
struct Moment {
    state: State,
    op: String,
    session: String,
    /// The commit that an undo, redo or rollback names.
    target: Option<usize>,
}

/// The reference: each commit with its whole state.
struct History {
    moments: Vec<Moment>,
    selected: BTreeSet<usize>,
    /// The versions of which nothing is left.
    erased: BTreeSet<String>,
}

impl History {
    fn read(
        memory: &Memory,
        erased: &BTreeSet<String>,
        is_selected: impl Fn(usize, &Moment) -> bool,
    ) -> Self {
        let mut commits: Vec<_> = memory.commits().map(Result::unwrap).collect();
        commits.reverse();
        let moment = |info: &crate::CommitInfo| Moment {
            state: versions(memory, info.commit.seq),
            op: info.commit.op.as_str().to_owned(),
            session: info.commit.session.clone().unwrap_or_default(),
            target: info
                .commit
                .target
                .and_then(|target| commits.iter().position(|commit| commit.digest == target)),
        };
        let moments: Vec<_> = commits.iter().map(moment).collect();
        let numbered = moments.iter().enumerate();
        let selected = numbered.filter(|(seq, moment)| moment.op != Op::INIT && is_selected(*seq, moment));
        Self {
            selected: selected.map(|(seq, _)| seq).collect(),
            moments,
            erased: erased.clone(),
        }
    }

    fn version(&self, seq: usize, id: &str) -> Option<&String> {
        self.moments[seq].state.get(id)
    }

    /// Returns the version that the id would have after commit `seq` without the selected commits.
    fn standing(&self, seq: usize, id: &str) -> Option<&String> {
        let before = seq.checked_sub(1)?;
        let now = self.version(seq, id);
        if now == self.version(before, id) || self.selected.contains(&seq) {
            return self.standing(before, id);
        }
        let moment = &self.moments[seq];
        match (moment.op.as_str(), moment.target) {
            ("undo", Some(target)) => self.standing(target.checked_sub(1)?, id),
            ("redo" | "rollback", Some(target)) => self.standing(target, id),
            // Neither names the moment of the version.
            ("restore" | "revert", None) if self.is_by_selected(now, id) => {
                let earlier = (0..seq).rev().find(|earlier| self.version(*earlier, id) == now);
                earlier.map_or(now, |earlier| self.standing(earlier, id))
            }
            _ => now,
        }
    }

    /// Returns whether a selected commit wrote the version first. An absence has no writer, so it may be theirs.
    fn is_by_selected(&self, version: Option<&String>, id: &str) -> bool {
        let writer = (0..self.moments.len()).find(|seq| self.version(*seq, id) == version);
        version.is_none() || writer.is_some_and(|writer| self.selected.contains(&writer))
    }

    /// Returns the newest version that stands after commit `seq` or before and was not erased.
    fn left(&self, seq: usize, id: &str) -> Option<&String> {
        for seq in (0..=seq).rev() {
            match self.standing(seq, id) {
                Some(version) if self.erased.contains(version) => {}
                standing => return standing,
            }
        }
        None
    }

    /// Returns the last selected commit that changed the id.
    fn last_selected(&self, id: &str) -> Option<usize> {
        let changes = |seq: &&usize| self.version(**seq, id) != self.version(**seq - 1, id);
        self.selected.iter().rev().find(changes).copied()
    }

    /// Returns the state after the revert, and the ids that stay because of later work.
    fn reverted(&self, conflicts: Conflicts) -> (State, BTreeSet<String>) {
        let head = self.moments.len() - 1;
        let (mut state, mut kept) = (self.moments[head].state.clone(), BTreeSet::new());
        for id in IDS {
            let Some(last) = self.last_selected(id) else {
                continue;
            };
            let mut then = self.left(head, id);
            let is_later =
                self.standing(head, id) != self.standing(last, id) && then == self.version(head, id);
            if is_later && conflicts == Conflicts::Revert {
                then = self.left(last, id);
            } else if is_later {
                kept.insert(id.to_owned());
            }
            match then {
                Some(then) => drop(state.insert(id.to_owned(), then.clone())),
                None => drop(state.remove(id)),
            }
        }
        (state, kept)
    }
}

/// Returns the version of each id after commit `seq`.
fn versions(memory: &Memory, seq: u64) -> State {
    let view = memory.at(Revision::Seq(seq)).unwrap();
    let mut state = State::new();
    for id in IDS.map(id) {
        let key = view.key(&id);
        if let Some(entry) = view.state.entry_at(&key).unwrap() {
            state.insert(id.to_string(), crate::digest::to_hex(&entry.digest));
        }
    }
    state
}

fn head_versions(memory: &Memory) -> State {
    versions(memory, memory.view().commit().commit.seq)
}

fn one_of(random: &mut SplitMix64, names: &[&'static str]) -> &'static str {
    names[random.below(names.len())]
}

/// Makes one random change. A change that the engine refuses is left out.
pub(crate) fn act(
    memory: &Memory,
    random: &mut SplitMix64,
    with_parents: bool,
    erased: &mut BTreeSet<String>,
) {
    let session = *random.pick(&SESSIONS);
    let writer = by(session);
    let seqs: Vec<u64> = memory.commits().map(|info| info.unwrap().commit.seq).collect();
    let some_seq = *random.pick(&seqs);
    let done: Result<()> = match random.below(20) {
        0..=8 => {
            let mut draft = memory.draft(&writer);
            for _ in 0..=random.below(3) {
                let mut object = note(one_of(random, &IDS), one_of(random, &TEXTS));
                let parent = id(one_of(random, &IDS));
                if with_parents && random.one_in(2) && parent != object.id {
                    object.parent = Some(parent);
                }
                drop(draft.put(object));
            }
            memory.commit(draft, "put").map(drop)
        }
        9 | 10 => memory.remove(&id(one_of(random, &IDS)), &writer).map(drop),
        11 | 12 => memory.undo(&writer).map(drop),
        13 => memory.redo(&writer).map(drop),
        14 => memory
            .rollback(Revision::Seq(some_seq))
            .across_lanes()
            .by(&writer)
            .map(drop),
        15 | 16 => {
            let from = memory.at(Revision::Seq(some_seq)).unwrap();
            let mut draft = memory.draft(&writer);
            let restored = draft.restore(&id(one_of(random, &IDS)), &from);
            restored.and_then(|_| memory.commit(draft, Op::RESTORE).map(drop))
        }
        17 | 18 => {
            let selection = Selection::default().session(*random.pick(&SESSIONS));
            memory.revert(selection).by(&writer).map(drop)
        }
        _ if random.one_in(3) => {
            let past = versions(memory, some_seq);
            let Some(version) = past.values().next().cloned() else {
                return;
            };
            let erasing = Erasing {
                targets: vec![version.clone()],
                ..Erasing::default()
            };
            let done = memory.erase(&erasing, &writer).map(drop);
            if done.is_ok() {
                erased.insert(version);
            }
            done
        }
        _ => Ok(()),
    };
    drop(done);
}

/// Returns whether the selection contains the commit with this seq.
type IsSelected = Box<dyn Fn(usize, &Moment) -> bool>;

/// Returns a random selection, and the function that decides about each commit.
fn selection(memory: &Memory, random: &mut SplitMix64) -> (Selection, IsSelected) {
    let session = *random.pick(&SESSIONS);
    let head = memory.view().commit().commit.seq as usize;
    let (low, high) = (random.below(head + 1), random.below(head + 1));
    let time = |seq: usize| memory.at(Revision::Seq(seq as u64)).unwrap().commit().commit.time;
    match random.below(4) {
        0 => {
            let selection = Selection::default().commit(Revision::Seq(low as u64));
            (
                selection.commit(Revision::Seq(high as u64)),
                Box::new(move |seq, _| seq == low || seq == high),
            )
        }
        1 => {
            let selection = Selection::default().since(time(low)).until(time(high));
            (selection, Box::new(move |seq, _| (low..=high).contains(&seq)))
        }
        2 => {
            let selection = Selection::default().session(session).since(time(low));
            (
                selection,
                Box::new(move |seq, moment| seq >= low && moment.session == session),
            )
        }
        _ => {
            let selection = Selection::default().session(session);
            (selection, Box::new(move |_, moment| moment.session == session))
        }
    }
}

fn ids(ids: impl IntoIterator<Item = Id>) -> BTreeSet<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

/// Checks the answer of a revert against the states before and after it.
fn check_answer(reverted: &Reverted, before: &State, after: &State) {
    if reverted
        .reverted
        .iter()
        .any(|object| object.id.as_str().starts_with("erased:"))
    {
        // No version is left that names the id.
        return;
    }
    let digest = |state: &State, id: &Id| state.get(id.as_str()).cloned();
    for object in &reverted.reverted {
        let hex = |version: Option<crate::ObjectDigest>| version.map(|version| version.to_string());
        assert_eq!(hex(object.from), digest(before, &object.id));
        assert_eq!(hex(object.to), digest(after, &object.id));
    }
    let changed: BTreeSet<String> = IDS
        .iter()
        .filter(|id| before.get(**id) != after.get(**id))
        .map(|id| (*id).to_owned())
        .collect();
    assert_eq!(
        ids(reverted.reverted.iter().map(|object| object.id.clone())),
        changed
    );
}

/// Returns a memory with a random history, and the versions that were erased from it.
fn random_memory(random: &mut SplitMix64, with_parents: bool) -> (Memory, BTreeSet<String>) {
    let disk = Arc::new(MemDisk::new());
    let open = |create| {
        let options = Options::new().automatic_gc(None);
        Memory::on_disk(Arc::clone(&disk) as _, options, create, None).unwrap()
    };
    let (mut memory, mut erased) = (open(true), BTreeSet::new());
    for _ in 0..8 + random.below(24) {
        act(&memory, random, with_parents, &mut erased);
        if random.one_in(24) {
            // The states of older commits then come from a checkpoint.
            memory.close().unwrap();
            memory = open(false);
        }
    }
    // The erasure of a version that was written again later leaves the new record.
    erased.retain(|version| memory.check_kept(version.parse().unwrap()).is_err());
    (memory, erased)
}

/// Checks that undo, redo and a second revert of a reverted memory do what they should.
fn check_way_back(memory: &Memory, again: &Revert<'_>, reverted: &Reverted, root: Root) {
    let root_after = memory.view().root();
    if let Err(error) = memory.undo(&by("reverter")) {
        assert_eq!(
            error.code(),
            ErrorCode::Erased,
            "undo brings no erased version back"
        );
        return;
    }
    assert_eq!(memory.view().root(), root);
    memory.redo(&by("reverter")).unwrap();
    assert_eq!(memory.view().root(), root_after);
    memory.undo(&by("reverter")).unwrap();
    let again = again.preview(&by("reverter")).unwrap();
    assert_eq!(
        again.reverted, reverted.reverted,
        "an undone revert can be repeated"
    );
}

fn check_case(seed: u64) {
    let mut random = SplitMix64::new(seed);
    let with_parents = random.one_in(3);
    let (memory, erased) = random_memory(&mut random, with_parents);
    let (selection, is_selected) = selection(&memory, &mut random);
    let history = History::read(&memory, &erased, is_selected);
    let conflicts = *random.pick(&[Conflicts::Keep, Conflicts::Revert, Conflicts::Fail]);
    let (expected, stays) = history.reverted(conflicts);
    let (before, root) = (head_versions(&memory), memory.view().root());
    let revert = memory.revert(selection).conflicts(conflicts);
    let reverted = match revert.by(&by("reverter")) {
        Err(error) => {
            assert_eq!(memory.view().root(), root, "a failed revert changes nothing");
            if history.selected.is_empty() {
                assert_eq!(error.code(), ErrorCode::NothingSelected);
            } else {
                let failed = (Conflicts::Fail, ErrorCode::ChangedSince);
                assert_eq!((conflicts, error.code()), failed, "{error}");
                assert!(with_parents || !stays.is_empty());
            }
            return;
        }
        Ok(reverted) => reverted,
    };
    let after = head_versions(&memory);
    check_answer(&reverted, &before, &after);
    let kept = ids(reverted.kept.iter().map(|kept| kept.id.clone()));
    assert!(stays.is_subset(&kept));
    let takes_later = conflicts == Conflicts::Revert;
    for id in IDS {
        let (now, then) = (after.get(id), before.get(id));
        let object = reverted.reverted.iter().find(|object| object.id.as_str() == id);
        if kept.contains(id) {
            assert_eq!(now, then, "what is kept stays as it is");
        } else if let Some(gone_with) = object.and_then(|object| object.gone_with.as_ref()) {
            assert!(takes_later, "STL-3: nothing by others is removed unasked");
            assert_eq!((now, after.get(gone_with.as_str())), (None, None), "{id}");
            let parent = expected.get(id).and_then(|version| parent_of(&memory, version));
            assert!(
                parent.is_none_or(|parent| !after.contains_key(&parent)),
                "{id} has a parent"
            );
        } else if takes_later && now.is_none() && then.is_none() && expected.contains_key(id) {
            // It stays absent, because the revert itself removes the parent.
            let parent = expected.get(id).and_then(|version| parent_of(&memory, version));
            assert!(
                parent.is_some_and(|parent| !after.contains_key(&parent)),
                "{id} has a parent"
            );
        } else if takes_later && history.last_selected(id).is_none() {
            // What is in the way goes, or gets a version that it had.
            let was = |moment: &Moment| moment.state.get(id) == now;
            assert!(now.is_none() || history.moments.iter().any(was), "{id}");
        } else {
            // RVT-4: the reference leaves every id alone that no selected commit changed.
            assert_eq!(now, expected.get(id), "{id}");
        }
    }
    check_causes(&memory, &reverted, &after);
    assert!(with_parents || kept == stays);
    if reverted.committed.changed {
        check_way_back(&memory, &revert, &reverted, root);
    }
    if random.one_in(20) {
        assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
    }
}

fn parent_of(memory: &Memory, version: &str) -> Option<String> {
    let object = memory.version(version.parse().unwrap()).unwrap()?;
    object.parent().map(str::to_owned)
}

/// Checks that the tree is whole (STL-1), and that each named object is in the way of the one that stays.
fn check_causes(memory: &Memory, reverted: &Reverted, after: &State) {
    for version in after.values() {
        let parent = parent_of(memory, version);
        assert!(parent.is_none_or(|parent| after.contains_key(&parent)));
    }
    for kept in &reverted.kept {
        match &kept.because {
            KeptBecause::Changed => {}
            KeptBecause::Below(below) => {
                let parent = after
                    .get(below.as_str())
                    .and_then(|version| parent_of(memory, version));
                assert_eq!(parent.as_deref(), Some(kept.id.as_str()), "{below} is below it");
            }
            KeptBecause::NoParent(parent) => {
                assert!(!after.contains_key(parent.as_str()));
            }
        }
    }
}

#[test]
fn a_revert_equals_the_naive_reference_on_random_histories() {
    let cases = std::env::var("TREERING_REVERT_CASES").map_or(300, |cases| cases.parse().unwrap());
    for seed in 0..cases {
        let checked = std::panic::catch_unwind(|| check_case(seed));
        assert!(checked.is_ok(), "the history of seed {seed} differs");
    }
}
