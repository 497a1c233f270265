//! Compares the engine with the model after each operation, on a disk in memory with small segments.
//!
//! `TREERING_MODEL_CASES=100000 cargo test --release --lib model_test` runs more cases than the default 2,000.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use super::model::{Model, ModelObject, ModelState, Outcome};
use crate::digest::Root;
use crate::disk::{Disk, MemDisk};
use crate::engine::{Memory, Options, Revision, VerifyDepth, Writer};
use crate::ingest::{Document, IngestOptions, ingest};
use crate::object::{Id, Kind, NewObject};
use crate::testing::is_thorough;
use crate::{Committed, Result};

const LANES: [&str; 2] = ["one", "two"];

#[derive(Clone, Debug)]
enum Target {
    Seq(usize),
    Named(usize),
    Ring(usize),
}

#[derive(Clone, Debug)]
enum Operation {
    Put {
        lane: usize,
        id: usize,
        parent: Option<usize>,
        content: usize,
        long: bool,
    },
    Move {
        lane: usize,
        id: usize,
        parent: Option<usize>,
    },
    Remove {
        lane: usize,
        id: usize,
        recursive: bool,
    },
    Snapshot {
        lane: usize,
        name: Option<usize>,
    },
    DeleteSnapshot {
        name: usize,
    },
    Rollback {
        lane: usize,
        target: Target,
        all: bool,
    },
    Ingest {
        lane: usize,
        lines: Vec<usize>,
        content: usize,
    },
    Undo {
        lane: usize,
    },
    Redo {
        lane: usize,
    },
    Diff {
        older: usize,
        newer: usize,
    },
    Reopen,
    Rotate {
        lane: usize,
    },
}

fn object_id(number: usize) -> String {
    format!("o/{number}")
}

/// The document that the test ingests in different forms.
const DOCUMENT: &str = "notes.jsonl";

fn document_lines(lines: &[usize], content: usize) -> Vec<(String, String)> {
    lines
        .iter()
        .map(|line| (format!("d/{line}"), format!("line {line}, {}", content * line)))
        .collect()
}

/// Returns a content above the limit for inline contents. A few long contents fill a segment.
fn content(number: usize, long: bool) -> String {
    if long {
        format!("{number} ").repeat(2_500)
    } else {
        format!("content {number}")
    }
}

struct Specification;

/// The model, and the outcome of its last step.
#[derive(Clone, Debug)]
struct Step {
    model: Model,
    outcome: Outcome,
}

impl Step {
    fn seq(&self, target: &Target, lane: &str) -> Option<usize> {
        match target {
            Target::Seq(number) => Some(number % self.model.commits.len()),
            Target::Named(name) => self.model.named.get(&format!("name-{name}")).copied(),
            Target::Ring(index) => self.model.rings.get(lane)?.get(*index).copied(),
        }
    }
}

impl ReferenceStateMachine for Specification {
    type State = Step;
    type Transition = Operation;

    fn init_state() -> BoxedStrategy<Step> {
        Just(Step {
            model: Model::default(),
            outcome: Outcome::Unchanged,
        })
        .boxed()
    }

    fn transitions(_: &Step) -> BoxedStrategy<Operation> {
        let lane = 0..LANES.len();
        let id = 0..10_usize;
        let parent = prop::option::weighted(0.5, 0..10_usize);
        let target = prop_oneof![
            (0..200_usize).prop_map(Target::Seq),
            (0..4_usize).prop_map(Target::Named),
            (0..4_usize).prop_map(Target::Ring),
        ];
        let lanes = || lane.clone();
        prop_oneof![
            8 => (lanes(), id.clone(), parent.clone(), 0..5_usize, prop::bool::weighted(0.1))
                .prop_map(|(lane, id, parent, content, long)| Operation::Put { lane, id, parent, content, long }),
            2 => (lanes(), id.clone(), parent).prop_map(|(lane, id, parent)| Operation::Move { lane, id, parent }),
            2 => (lanes(), id, any::<bool>())
                .prop_map(|(lane, id, recursive)| Operation::Remove { lane, id, recursive }),
            2 => (lanes(), prop::option::of(0..4_usize))
                .prop_map(|(lane, name)| Operation::Snapshot { lane, name }),
            1 => (0..4_usize).prop_map(|name| Operation::DeleteSnapshot { name }),
            2 => (lanes(), target, any::<bool>())
                .prop_map(|(lane, target, all)| Operation::Rollback { lane, target, all }),
            2 => lanes().prop_map(|lane| Operation::Undo { lane }),
            2 => lanes().prop_map(|lane| Operation::Redo { lane }),
            1 => (0..200_usize, 0..200_usize).prop_map(|(older, newer)| Operation::Diff { older, newer }),
            2 => (lanes(), prop::sample::subsequence(vec![0, 1, 2, 3, 4], 1..=5), 0..3_usize)
                .prop_map(|(lane, lines, content)| Operation::Ingest { lane, lines, content }),
            1 => Just(Operation::Reopen),
            1 => lanes().prop_map(|lane| Operation::Rotate { lane }),
        ]
        .boxed()
    }

    fn apply(mut step: Step, operation: &Operation) -> Step {
        let seq = match operation {
            Operation::Rollback { lane, target, .. } => step.seq(target, LANES[*lane]),
            _ => None,
        };
        let model = &mut step.model;
        step.outcome = match operation {
            Operation::Put {
                lane,
                id,
                parent,
                content: number,
                long,
            } => {
                let parent = parent.map(object_id);
                let object = ModelObject {
                    parent,
                    content: content(*number, *long),
                };
                model.put(LANES[*lane], &object_id(*id), object)
            }
            Operation::Move { lane, id, parent } => match model.head().get(&object_id(*id)).cloned() {
                Some(object) => {
                    let object = ModelObject {
                        parent: parent.map(object_id),
                        ..object
                    };
                    model.put(LANES[*lane], &object_id(*id), object)
                }
                None => Outcome::Unchanged,
            },
            Operation::Remove { lane, id, recursive } => {
                model.remove(LANES[*lane], &object_id(*id), *recursive)
            }
            Operation::Snapshot { lane, name } => {
                model.snapshot(LANES[*lane], name.map(|name| format!("name-{name}")).as_deref())
            }
            Operation::DeleteSnapshot { name } => model.delete_snapshot(&format!("name-{name}")),
            Operation::Rollback { lane, all, .. } => model.rollback(LANES[*lane], seq, *all),
            Operation::Ingest { lane, lines, content } => {
                model.ingest(LANES[*lane], DOCUMENT, &document_lines(lines, *content))
            }
            Operation::Undo { lane } => model.undo(LANES[*lane]),
            Operation::Redo { lane } => model.redo(LANES[*lane]),
            Operation::Diff { .. } | Operation::Reopen => Outcome::Unchanged,
            Operation::Rotate { lane } => {
                let number = model.commits.len();
                let object = ModelObject {
                    parent: None,
                    content: rotating(number),
                };
                model.put(LANES[*lane], "rotate", object)
            }
        };
        step
    }
}

/// Returns a content that needs a new segment of the smallest size.
fn rotating(number: usize) -> String {
    format!("{number:>6}").repeat(11_000)
}

struct Engine {
    disk: Arc<dyn Disk>,
    memory: Memory,
    /// P3: the root of each state that the test has seen.
    roots: HashMap<ModelState, Root>,
}

fn open(disk: &Arc<dyn Disk>, create: bool) -> Memory {
    let options = Options::new()
        .segment_bytes_max(64 << 10)
        .checkpoint_heavy(16 << 10, 1 << 10)
        .small_sizes();
    Memory::on_disk(Arc::clone(disk), options, create, None).unwrap()
}

fn outcome(result: Result<Committed>) -> Outcome {
    match result {
        Ok(committed) if committed.changed => Outcome::Committed,
        Ok(_) => Outcome::Unchanged,
        Err(error) => Outcome::Refused(error.code()),
    }
}

fn put(memory: &Memory, lane: &str, id: &str, parent: Option<String>, content: String) -> Outcome {
    let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
    object.parent = parent.map(|parent| Id::new(&parent).unwrap());
    object.content = Some(content);
    outcome(memory.put(object, &Writer::user().session(lane)))
}

fn revision(target: &Target, commits: usize) -> Revision {
    match target {
        Target::Seq(number) => Revision::Seq((number % commits) as u64),
        Target::Named(name) => Revision::Name(format!("name-{name}")),
        Target::Ring(index) => Revision::Ring(*index),
    }
}

impl Engine {
    fn run(&mut self, operation: &Operation, after: &Step) -> Outcome {
        let memory = self.memory.clone();
        let writer = |lane: &usize| Writer::user().session(LANES[*lane]);
        match operation {
            Operation::Put {
                lane,
                id,
                parent,
                content: number,
                long,
            } => put(
                &memory,
                LANES[*lane],
                &object_id(*id),
                parent.map(object_id),
                content(*number, *long),
            ),
            Operation::Move { lane, id, parent } => {
                let found = memory.view().get(&Id::new(&object_id(*id)).unwrap()).unwrap();
                let Some(object) = found else {
                    return Outcome::Unchanged;
                };
                let text = object.content().unwrap().to_owned();
                put(
                    &memory,
                    LANES[*lane],
                    &object_id(*id),
                    parent.map(object_id),
                    text,
                )
            }
            Operation::Remove { lane, id, recursive } => {
                let (id, writer) = (Id::new(&object_id(*id)).unwrap(), writer(lane));
                outcome(if *recursive {
                    memory.remove_recursive(&id, &writer)
                } else {
                    memory.remove(&id, &writer)
                })
            }
            Operation::Snapshot { lane, name } => {
                let name = name.map(|name| format!("name-{name}"));
                match memory.snapshot(name.as_deref(), &writer(lane)) {
                    Ok(_) => Outcome::Referenced,
                    Err(error) => Outcome::Refused(error.code()),
                }
            }
            Operation::DeleteSnapshot { name } => {
                match memory.delete_snapshot(&format!("name-{name}"), &Writer::user()) {
                    Ok(_) => Outcome::Referenced,
                    Err(error) => Outcome::Refused(error.code()),
                }
            }
            Operation::Rollback { lane, target, all } => {
                let commits = memory.view().commit().commit.seq as usize + 1;
                let target = revision(target, commits);
                let rollback = memory.rollback(&target);
                let rollback = if *all { rollback.across_lanes() } else { rollback };
                outcome(rollback.by(&writer(lane)))
            }
            Operation::Ingest { lane, lines, content } => {
                let lines = document_lines(lines, *content);
                let lines = lines.iter().map(|(id, content)| {
                    let line = serde_json::json!({ "id": id, "kind": "note", "content": content });
                    format!("{line}\n")
                });
                let text: String = lines.collect();
                let document = Document::read(DOCUMENT, text.as_bytes(), None).unwrap();
                let options = IngestOptions::default();
                outcome(ingest(&memory, &[document], &options, &writer(lane)).map(|(_, committed)| committed))
            }
            Operation::Undo { lane } => outcome(memory.undo(&writer(lane))),
            Operation::Redo { lane } => outcome(memory.redo(&writer(lane))),
            Operation::Diff { older, newer } => {
                let commits = after.model.commits.len();
                let (older, newer) = (older % commits, newer % commits);
                let view = |seq: usize| memory.view_at(&Revision::Seq(seq as u64), "").unwrap();
                let found = memory.diff(&view(older), &view(newer)).unwrap().into_iter();
                let found: Vec<_> = found
                    .map(|one| (one.id.to_string(), one.old.is_some(), one.new.is_some()))
                    .collect();
                assert_eq!(found, after.model.diff(older, newer));
                Outcome::Unchanged
            }
            Operation::Reopen => {
                self.memory = open(&self.disk, false);
                Outcome::Unchanged
            }
            Operation::Rotate { lane } => {
                let number = memory.view().commit().commit.seq as usize + 1;
                put(&memory, LANES[*lane], "rotate", None, rotating(number))
            }
        }
    }

    fn state(&self, seq: Option<u64>) -> (ModelState, Root) {
        let view = match seq {
            Some(seq) => self.memory.view_at(&Revision::Seq(seq), "").unwrap(),
            None => self.memory.view(),
        };
        let objects = view.objects().map(|object| {
            let object = object.unwrap();
            let parent = object.parent().map(str::to_owned);
            (
                object.id().to_string(),
                ModelObject {
                    parent,
                    content: object.content().unwrap().to_owned(),
                },
            )
        });
        (objects.collect(), view.root())
    }
}

impl StateMachineTest for Engine {
    type SystemUnderTest = Self;
    type Reference = Specification;

    fn init_test(_: &Step) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let memory = open(&disk, true);
        Self {
            disk,
            memory,
            roots: HashMap::new(),
        }
    }

    fn apply(mut engine: Self, after: &Step, operation: Operation) -> Self {
        let got = engine.run(&operation, after);
        assert_eq!(got, after.outcome, "{operation:?}");
        let (state, root) = engine.state(None);
        let seen = *engine.roots.entry(state).or_insert(root);
        assert_eq!(seen, root, "P3: one state, one root");
        engine
    }

    fn check_invariants(engine: &Self, step: &Step) {
        let model = &step.model;
        assert_eq!(engine.state(None).0, *model.head());
        assert_eq!(
            engine.memory.view().commit().commit.seq as usize + 1,
            model.commits.len()
        );
        // A snapshot must always name the state that it was made of.
        let snapshots = engine.memory.snapshots().unwrap();
        let named: BTreeMap<_, _> = snapshots
            .iter()
            .filter(|one| one.lane.is_none())
            .map(|one| (one.name.clone(), one.seq as usize))
            .collect();
        assert_eq!(named, model.named);
        for lane in LANES {
            let mut ring: Vec<_> = snapshots
                .iter()
                .filter(|one| one.lane.as_deref() == Some(lane))
                .collect();
            ring.sort_by_key(|one| one.index);
            let ring: Vec<_> = ring.iter().map(|one| one.seq as usize).collect();
            assert_eq!(ring, model.rings.get(lane).cloned().unwrap_or_default());
        }
        let past = model.commits.len() / 2;
        assert_eq!(engine.state(Some(past as u64)).0, model.commits[past].state, "P4");
    }

    fn teardown(engine: Self, step: Step) {
        let report = engine.memory.verify(VerifyDepth::Full).unwrap();
        assert!(report.ok, "{report:?}");
        let again = open(&engine.disk, false);
        assert_eq!(again.view().root(), engine.memory.view().root());
        for (seq, commit) in step.model.commits.iter().enumerate() {
            assert_eq!(engine.state(Some(seq as u64)).0, commit.state, "seq {seq}");
        }
    }
}

#[test]
fn the_engine_does_what_the_model_says() {
    let cases = std::env::var("TREERING_MODEL_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(if is_thorough() { 2_000 } else { 400 });
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    proptest!(config, |((initial, operations, seen) in Specification::sequential_strategy(1..200))| {
        Engine::test_sequential(Config::default(), initial, operations, seen);
    });
}
