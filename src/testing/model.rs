//! The specification of a memory: maps of objects, a list of commits, and lists of snapshots.
//!
//! The model copies everything and has no optimisations, so a person can check the model by reading its code.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ErrorCode;

/// An object of the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelObject {
    /// The id of the parent.
    pub parent: Option<String>,
    /// The content.
    pub content: String,
}

/// A state of the model.
pub type ModelState = BTreeMap<String, ModelObject>;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call made a new commit.
    Committed,
    /// The call changed nothing, so it made no commit.
    Unchanged,
    /// The engine refused the call with this code.
    Refused(ErrorCode),
    /// The call wrote or deleted a reference.
    Referenced,
}

/// The operation of a commit. A target is the seq of another commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Change,
    Rollback(usize),
    Undo(usize),
    Redo(usize),
}

/// A commit of the model.
#[derive(Clone, Debug)]
pub struct ModelCommit {
    /// The state of the commit.
    pub state: ModelState,
    /// The lane that made the commit.
    pub lane: String,
    verb: Verb,
}

/// The commits that a lane may undo and redo.
#[derive(Clone, Debug, Default)]
pub struct ModelLane {
    undo: Vec<usize>,
    redo: Vec<usize>,
}

/// The expected behaviour of a memory.
#[derive(Clone, Debug)]
pub struct Model {
    /// All commits, oldest first.
    pub commits: Vec<ModelCommit>,
    /// The named snapshots, each with the number of its commit.
    pub named: BTreeMap<String, usize>,
    /// The automatic snapshots of each lane, newest first.
    pub rings: BTreeMap<String, Vec<usize>>,
    lanes: BTreeMap<String, ModelLane>,
    /// The commits whose state was thinned. History contains only their digests.
    thinned: BTreeSet<usize>,
}

impl Default for Model {
    fn default() -> Self {
        let first = ModelCommit {
            state: ModelState::new(),
            lane: "default".to_owned(),
            verb: Verb::Change,
        };
        Self {
            commits: vec![first],
            named: BTreeMap::new(),
            rings: BTreeMap::new(),
            lanes: BTreeMap::new(),
            thinned: BTreeSet::new(),
        }
    }
}

/// Checks that every parent exists and that the tree has no cycle.
fn is_tree(state: &ModelState) -> Result<(), ErrorCode> {
    for (id, object) in state {
        let mut seen = BTreeSet::from([id.clone()]);
        let mut above = object.parent.clone();
        while let Some(parent) = above.take() {
            if !seen.insert(parent.clone()) {
                return Err(ErrorCode::ParentCycle);
            }
            let Some(object) = state.get(&parent) else {
                return Err(ErrorCode::NoParent);
            };
            above.clone_from(&object.parent);
        }
    }
    Ok(())
}

impl Model {
    /// Returns the newest state.
    pub fn head(&self) -> &ModelState {
        &self.commits[self.commits.len() - 1].state
    }

    fn lane(&mut self, lane: &str) -> &mut ModelLane {
        self.lanes.entry(lane.to_owned()).or_default()
    }

    /// Commits a state that resulted from puts and removals.
    pub fn commit(&mut self, lane: &str, state: ModelState) -> Outcome {
        self.commit_as(lane, state, Verb::Change)
    }

    fn commit_as(&mut self, lane: &str, state: ModelState, verb: Verb) -> Outcome {
        if state == *self.head() {
            return Outcome::Unchanged;
        }
        self.commits.push(ModelCommit {
            state,
            lane: lane.to_owned(),
            verb,
        });
        let seq = self.commits.len() - 1;
        let lane = self.lane(lane);
        lane.undo.push(seq);
        lane.redo.clear();
        Outcome::Committed
    }

    /// Puts one object.
    pub fn put(&mut self, lane: &str, id: &str, object: ModelObject) -> Outcome {
        let mut state = self.head().clone();
        if object.parent.as_ref().is_some_and(|parent| parent == id) {
            return Outcome::Refused(ErrorCode::InvalidInput);
        }
        state.insert(id.to_owned(), object);
        match is_tree(&state) {
            Ok(()) => self.commit(lane, state),
            Err(code) => Outcome::Refused(code),
        }
    }

    /// Ingests a document with one object on each line, and removes the objects of missing lines.
    pub fn ingest(&mut self, lane: &str, document: &str, lines: &[(String, String)]) -> Outcome {
        let before = self.commits.len() - 1;
        let mut state = self.head().clone();
        state.retain(|id, object| id != document && object.parent.as_deref() != Some(document));
        let ids: Vec<_> = lines.iter().map(|(id, _)| id.as_str()).collect();
        let listing = ModelObject {
            parent: None,
            content: ids.join("\n"),
        };
        state.insert(document.to_owned(), listing);
        for (id, content) in lines {
            let object = ModelObject {
                parent: Some(document.to_owned()),
                content: content.clone(),
            };
            state.insert(id.clone(), object);
        }
        let outcome = self.commit(lane, state);
        if outcome == Outcome::Committed {
            let ring = self.rings.entry(lane.to_owned()).or_default();
            ring.insert(0, before);
            ring.truncate(20);
        }
        outcome
    }

    /// Removes one object. If `recursive` is true, also removes everything below it.
    pub fn remove(&mut self, lane: &str, id: &str, recursive: bool) -> Outcome {
        let mut state = self.head().clone();
        if state.remove(id).is_none() {
            return Outcome::Refused(ErrorCode::NotFound);
        }
        loop {
            let gone = |object: &ModelObject| {
                object
                    .parent
                    .as_ref()
                    .is_some_and(|parent| !state.contains_key(parent))
            };
            let orphans: Vec<_> = state
                .iter()
                .filter(|(_, object)| gone(object))
                .map(|(id, _)| id.clone())
                .collect();
            if orphans.is_empty() {
                return self.commit(lane, state);
            }
            if !recursive {
                return Outcome::Refused(ErrorCode::HasChildren);
            }
            for orphan in orphans {
                state.remove(&orphan);
            }
        }
    }

    /// Makes a snapshot of the head.
    pub fn snapshot(&mut self, lane: &str, name: Option<&str>) -> Outcome {
        let seq = self.commits.len() - 1;
        let Some(name) = name else {
            let ring = self.rings.entry(lane.to_owned()).or_default();
            ring.insert(0, seq);
            ring.truncate(20);
            return Outcome::Referenced;
        };
        if self.named.contains_key(name) {
            return Outcome::Refused(ErrorCode::NameTaken);
        }
        self.named.insert(name.to_owned(), seq);
        Outcome::Referenced
    }

    /// Deletes a named snapshot.
    pub fn delete_snapshot(&mut self, name: &str) -> Outcome {
        match self.named.remove(name) {
            Some(_) => Outcome::Referenced,
            None => Outcome::Refused(ErrorCode::NotFound),
        }
    }

    /// Restores the state of a commit, unless the target is unknown.
    pub fn rollback(&mut self, lane: &str, target: Option<usize>, all: bool) -> Outcome {
        let Some(target) = target else {
            return Outcome::Refused(ErrorCode::NoRevision);
        };
        if self.thinned.contains(&target) {
            return Outcome::Refused(ErrorCode::Thinned);
        }
        let mut since = target + 1..self.commits.len();
        if !all && since.any(|seq| self.commits[seq].lane != lane || self.thinned.contains(&seq)) {
            return Outcome::Refused(ErrorCode::OtherLanes);
        }
        self.commit_as(lane, self.commits[target].state.clone(), Verb::Rollback(target))
    }

    /// Thins all commits except the commits in `kept`.
    pub fn thin(&mut self, kept: &BTreeSet<usize>) {
        let all = 0..self.commits.len();
        self.thinned.extend(all.filter(|seq| !kept.contains(seq)));
    }

    /// Returns the commits that are not thinned.
    pub fn kept(&self) -> BTreeSet<usize> {
        let all = 0..self.commits.len();
        all.filter(|seq| !self.thinned.contains(seq)).collect()
    }

    /// Returns the commits that garbage collection must keep if it keeps `kept`: the commits in `kept`, the head, and
    /// the targets of rollbacks, undos and redos.
    pub fn targets(&self, kept: &BTreeSet<usize>) -> BTreeSet<usize> {
        let targets = kept.iter().filter_map(|&seq| match self.commits[seq].verb {
            Verb::Change => None,
            Verb::Rollback(target) | Verb::Undo(target) | Verb::Redo(target) => Some(target),
        });
        targets.chain([self.commits.len() - 1]).collect()
    }

    /// Recomputes the commits that a lane may undo and redo after thinning, as if the lane had made only the kept
    /// commits.
    fn recount(&mut self, name: &str) {
        let mut lane = ModelLane::default();
        // For each commit, its undos (true) and redos (false), oldest first.
        let mut undone: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
        let mine = self.kept();
        let mine: Vec<_> = mine
            .into_iter()
            .filter(|seq| *seq > 0 && self.commits[*seq].lane == name)
            .collect();
        for &seq in &mine {
            match self.commits[seq].verb {
                Verb::Undo(target) => undone.entry(target).or_default().push(true),
                Verb::Redo(target) => undone.entry(target).or_default().push(false),
                Verb::Change | Verb::Rollback(_) => {}
            }
        }
        // An undo is in effect unless a redo follows it.
        let counts = |steps: &Vec<bool>| {
            let next = steps.iter().skip(1).chain([&true]);
            steps.iter().zip(next).any(|(step, next)| *step && *next)
        };
        for &seq in &mine {
            match self.commits[seq].verb {
                Verb::Change | Verb::Rollback(_) => {
                    if !undone.get(&seq).is_some_and(counts) {
                        lane.undo.push(seq);
                    }
                    lane.redo.clear();
                }
                Verb::Undo(target) => lane.redo.push(target),
                Verb::Redo(target) => {
                    if let Some(last) = lane.redo.iter().rposition(|undone| *undone == target) {
                        lane.redo.remove(last);
                    }
                }
            }
        }
        self.lanes.insert(name.to_owned(), lane);
    }

    /// Returns the newest commit that a lane may undo or redo.
    fn reversible(&mut self, lane: &str, undo: bool) -> Option<usize> {
        if !self.thinned.is_empty() {
            self.recount(lane);
        }
        let lane = self.lane(lane);
        let found = if undo { lane.undo.last() } else { lane.redo.last() };
        let found = found.copied()?;
        // The changes of a commit are known only if the commit before it is kept.
        (!self.thinned.contains(&(found - 1))).then_some(found)
    }

    /// Reverses the lane's newest commit that is not yet undone.
    pub fn undo(&mut self, lane: &str) -> Outcome {
        let Some(seq) = self.reversible(lane, true) else {
            return Outcome::Refused(ErrorCode::NothingToUndo);
        };
        self.reverse(lane, seq, seq, seq - 1, true)
    }

    /// Redoes the newest undo of the lane.
    pub fn redo(&mut self, lane: &str) -> Outcome {
        let Some(seq) = self.reversible(lane, false) else {
            return Outcome::Refused(ErrorCode::NothingToRedo);
        };
        self.reverse(lane, seq, seq - 1, seq, false)
    }

    fn reverse(&mut self, lane: &str, target: usize, from: usize, to: usize, undo: bool) -> Outcome {
        let (from, to) = (self.commits[from].state.clone(), self.commits[to].state.clone());
        let mut state = self.head().clone();
        let ids: BTreeSet<_> = from.keys().chain(to.keys()).cloned().collect();
        for id in ids {
            if from.get(&id) == to.get(&id) || state.get(&id) == to.get(&id) {
                continue;
            }
            if state.get(&id) != from.get(&id) {
                return Outcome::Refused(ErrorCode::ChangedSince);
            }
            match to.get(&id) {
                Some(object) => state.insert(id, object.clone()),
                None => state.remove(&id),
            };
        }
        if is_tree(&state).is_err() {
            return Outcome::Refused(ErrorCode::Conflict);
        }
        self.commits.push(ModelCommit {
            state,
            lane: lane.to_owned(),
            verb: if undo {
                Verb::Undo(target)
            } else {
                Verb::Redo(target)
            },
        });
        let lane = self.lane(lane);
        if undo {
            lane.undo.pop();
            lane.redo.push(target);
        } else {
            lane.redo.pop();
            lane.undo.push(target);
        }
        Outcome::Committed
    }

    /// Returns the difference between two commits: each id, and whether the older and the newer state have the id.
    pub fn diff(&self, older: usize, newer: usize) -> Vec<(String, bool, bool)> {
        let (older, newer) = (&self.commits[older].state, &self.commits[newer].state);
        let ids: BTreeSet<_> = older.keys().chain(newer.keys()).collect();
        let differing = ids.into_iter().filter(|id| older.get(*id) != newer.get(*id));
        differing
            .map(|id| (id.clone(), older.contains_key(id), newer.contains_key(id)))
            .collect()
    }
}
