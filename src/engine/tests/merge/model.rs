//! Random graphs of forks and merges against a model: sets of ancestors, and one rule for each object.
//!
//! `TREERING_GRAPHS=10000 cargo test --release -p treering --lib merge::model` runs more of them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::{Retention, VerifyDepth};
use crate::testing::random::SplitMix64;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const CLASSES: [Origin; 4] = [
    Origin::DirectUser,
    Origin::DirectUser,
    Origin::Model,
    Origin::Import,
];
/// The number of graphs, unless the environment gives another one.
const GRAPHS: u64 = 150;

type State = BTreeMap<String, (ObjectDigest, Origin)>;

fn state(memory: &Memory) -> State {
    let objects = memory.view().objects();
    let named = objects.map(|object| object.unwrap());
    let named = named.map(|object| (object.id().to_string(), (object.digest(), object.origin())));
    named.collect()
}

/// Returns the fields of a version, without its class and what it is derived from.
fn fields(memory: &Memory, version: Option<&(ObjectDigest, Origin)>) -> Option<NewObject> {
    let (digest, _) = version?;
    let object = memory.version(*digest).unwrap().unwrap();
    let fields = object.to_new().unwrap();
    Some(NewObject {
        derived_from: Vec::new(),
        ..fields
    })
}

/// What the model knows of the commits.
#[derive(Default)]
struct Graph {
    parents: BTreeMap<CommitDigest, Vec<CommitDigest>>,
    states: BTreeMap<CommitDigest, State>,
}

impl Graph {
    fn note(&mut self, memory: &Memory) {
        let commit = memory.view().commit();
        self.parents.insert(commit.digest, commit.commit.parents);
        self.states.insert(commit.digest, state(memory));
    }

    fn ancestors(&self, commit: CommitDigest) -> BTreeSet<CommitDigest> {
        let (mut all, mut open) = (BTreeSet::new(), vec![commit]);
        while let Some(next) = open.pop() {
            if all.insert(next) {
                open.extend(self.parents.get(&next).into_iter().flatten());
            }
        }
        all
    }

    /// Returns the common ancestors that are no ancestors of another one.
    fn bases(&self, one: CommitDigest, other: CommitDigest) -> Vec<CommitDigest> {
        let (one, other) = (self.ancestors(one), self.ancestors(other));
        let common: BTreeSet<_> = one.intersection(&other).copied().collect();
        let is_lowest = |commit: &&CommitDigest| {
            let mut others = common.iter().filter(|other| other != commit);
            !others.any(|other| self.ancestors(*other).contains(*commit))
        };
        common.iter().filter(is_lowest).copied().collect()
    }
}

struct World {
    random: SplitMix64,
    lines: Vec<(String, Memory)>,
    graph: Graph,
    /// How many merges had one base, several bases, and conflicts.
    seen: [usize; 3],
}

impl World {
    fn new(seed: u64) -> Self {
        let memory = Memory::in_memory().unwrap();
        let mut world = Self {
            random: SplitMix64::new(seed),
            lines: vec![("main".to_owned(), memory)],
            graph: Graph::default(),
            seen: [0; 3],
        };
        world.graph.note(&world.lines[0].1.clone());
        for _ in 0..4 {
            world.write(0);
        }
        world.fork();
        world.fork();
        world
    }

    fn line(&self, at: usize) -> Memory {
        self.lines[at].1.clone()
    }

    fn write(&mut self, at: usize) {
        let (memory, random) = (self.line(at), &mut self.random);
        let name = NAMES[random.below(NAMES.len())];
        let class = CLASSES[random.below(CLASSES.len())];
        let writer = Writer::of(class);
        let written = match random.below(6) {
            0 => memory.remove(&id(name), &writer).map(drop),
            1 if name != "a" => {
                let mut object = note(name, &format!("text {}", random.below(4)));
                object.parent = Some(id(NAMES[random.below(NAMES.len())]));
                memory.put(object, &writer).map(drop)
            }
            2 => {
                let mut object = note(name, "first\nsecond\nthird");
                object.attributes.insert(
                    ["x", "y"][random.below(2)],
                    i64::try_from(random.below(3)).unwrap(),
                );
                memory.put(object, &writer).map(drop)
            }
            3 => match memory.reverse_preview("undo", &writer) {
                // The model knows no undone merges; `rules` has them.
                Ok(undo) if undo.target.commit.op.as_str() != "merge" => memory.undo(&writer).map(drop),
                _ => Ok(()),
            },
            number => {
                let mut lines = ["first", "second", "third"].map(str::to_owned);
                lines[number % 3] = format!("line {}", random.below(3));
                memory.put(note(name, &lines.join("\n")), &writer).map(drop)
            }
        };
        // A refused change changes nothing.
        drop(written);
        self.graph.note(&memory);
    }

    fn fork(&mut self) {
        let at = self.random.below(self.lines.len());
        let name = format!("fork-{}", self.lines.len());
        let fork = forked(&self.line(at), &name);
        self.lines.push((name, fork));
    }

    fn merge(&mut self) {
        let (at, from) = (
            self.random.below(self.lines.len()),
            self.random.below(self.lines.len()),
        );
        if at == from {
            return;
        }
        let (into, (name, other)) = (self.line(at), self.lines[from].clone());
        if self.random.below(4) > 0 {
            return self.merge_into(&into, &name, &other);
        }
        // Each side merges what the other one had before.
        let before = format!("before-{}", into.forks().unwrap().len());
        let copy = forked(&into, &before);
        self.merge_into(&into, &name, &other);
        self.merge_into(&other, &before, &copy);
    }

    /// Merges a line, and compares the result with the model.
    fn merge_into(&mut self, into: &Memory, name: &str, other: &Memory) {
        let (ours, theirs) = (state(into), state(other));
        let heads = [into, other].map(|line| line.view().commit().digest);
        let bases = self.graph.bases(heads[0], heads[1]);
        let is_new = bases != [heads[1]];
        let before = into.view().root();
        let result = merged(into, name);
        assert_eq!(result.committed.changed, is_new);
        if !is_new {
            return;
        }
        let ours_after = state(into);
        self.graph.note(into);
        self.seen[usize::from(bases.len() > 1)] += 1;
        self.seen[2] += usize::from(!result.conflicts.is_empty());
        let open: BTreeSet<_> = result
            .conflicts
            .iter()
            .map(|conflict| conflict.id.to_string())
            .collect();
        for name in NAMES {
            let [ours, theirs, after] = [&ours, &theirs, &ours_after].map(|state| state.get(name));
            if let [base] = bases.as_slice() {
                let base = self.graph.states[base].get(name);
                // The class alone is no difference.
                let is_other = fields(into, ours) != fields(into, theirs);
                if is_other && !open.contains(name) && base == ours {
                    assert_eq!(after, theirs, "nothing is lost that they changed alone: {name}");
                }
                if !open.contains(name) && base == theirs {
                    assert_eq!(after, ours, "nothing is lost that we changed alone: {name}");
                }
            }
            if let Some((digest, origin)) = after
                && ![ours, theirs].contains(&after)
            {
                let object = into.view().get(&id(name)).unwrap().unwrap();
                assert_eq!(object.digest(), *digest);
                for side in [ours, theirs].into_iter().flatten() {
                    assert!(!origin.is_above(side.1), "trust never rises: {name}");
                }
            }
        }
        assert!(!merged(into, name).committed.changed, "MRG-2");
        let after = into.view().root();
        into.undo(&Writer::user()).unwrap();
        assert_eq!(into.view().root(), before, "undo restores the root");
        into.redo(&Writer::user()).unwrap();
        assert_eq!(into.view().root(), after);
        self.graph.note(into);
        let commit = into.view().commit().digest;
        // The model does not know that the pair of undo and redo is nothing.
        let parents = self.graph.parents[&commit].clone();
        let undo = parents[0];
        let undone = into.commits().nth(1).unwrap().unwrap();
        self.graph.parents.insert(undo, undone.commit.parents);
        let state = self.graph.states[&commit].clone();
        self.graph.states.insert(undo, state);
    }
}

#[test]
fn random_graphs_of_forks_and_merges() {
    let graphs = std::env::var("TREERING_GRAPHS").ok();
    let graphs = graphs.and_then(|graphs| graphs.parse().ok()).unwrap_or(GRAPHS);
    let mut seen = [0; 3];
    for seed in 0..graphs {
        let mut world = World::new(seed);
        for _ in 0..20 {
            match world.random.below(9) {
                0 if world.lines.len() < 5 => world.fork(),
                1..=3 => world.merge(),
                // INVARIANT REL-1: a collection changes no base.
                4 => drop(world.line(0).gc(&Retention::nothing(), None).unwrap()),
                _ => {
                    let at = world.random.below(world.lines.len());
                    world.write(at);
                }
            }
        }
        for (name, line) in &world.lines {
            let report = line.verify(VerifyDepth::Full);
            let is_whole = name != "main" || report.unwrap().ok;
            assert!(is_whole, "seed {seed}");
        }
        for (sum, count) in seen.iter_mut().zip(world.seen) {
            *sum += count;
        }
    }
    let [one_base, several, conflicts] = seen;
    assert!(one_base > 200 && several > 10 && conflicts > 80, "{seen:?}");
}

/// MSD-2: if no conflict is open, it does not matter which side merges.
#[test]
fn two_sides_that_merge_each_other_have_one_root() {
    let (mut clean, mut random) = (0, SplitMix64::new(5));
    for seed in 0..GRAPHS {
        let mut world = World::new(1_000 + seed);
        let (ours, theirs) = (forked(&world.line(0), "ours"), forked(&world.line(0), "theirs"));
        world.lines.push(("ours".to_owned(), ours.clone()));
        world.lines.push(("theirs".to_owned(), theirs.clone()));
        for _ in 0..4 {
            world.write(1 + random.below(2));
        }
        let at = forked(&ours, "at");
        let first = merged(&ours, "theirs");
        let second = merged(&theirs, "at");
        drop(at);
        // A less trusted removal is a conflict only where it is not made yet.
        if first.conflicts.is_empty() && second.conflicts.is_empty() {
            clean += 1;
            assert_eq!(ours.view().root(), theirs.view().root(), "seed {seed}");
        }
    }
    assert!(clean > 40, "{clean}");
}
