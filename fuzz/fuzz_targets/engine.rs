//! Compares a memory with a model of plain maps, for any sequence of puts, removals, snapshots, rollbacks, undos and
//! redos.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treering::{Id, Kind, Memory, NewObject, Writer};

#[derive(Arbitrary, Debug)]
enum Operation {
    Put { id: u8, content: u8 },
    Remove { id: u8 },
    Batch(Vec<(u8, Option<u8>)>),
    Snapshot { name: u8 },
    Rollback { name: u8 },
    Past { back: u8 },
}

type State = BTreeMap<u8, u8>;

fn id(number: u8) -> Id {
    Id::new(&format!("o/{number}")).expect("the id is valid")
}

fn object(number: u8, content: u8) -> NewObject {
    let mut object = NewObject::new(id(number), Kind::new("note").expect("the kind is valid"));
    object.content = Some("x".repeat(usize::from(content) * 40));
    object
}

fn check(view: &treering::View, state: &State) {
    assert_eq!(view.len(), state.len() as u64);
    let mut found = State::new();
    for object in view.objects() {
        let object = object.expect("an in-memory store can be read");
        let number: u8 = object.id().as_str()["o/".len()..]
            .parse()
            .expect("the target writes only valid ids of this form");
        let length = object.content().expect("every object has a content").len();
        found.insert(number, u8::try_from(length / 40).expect("contents are short"));
    }
    assert_eq!(&found, state);
}

fuzz_target!(|operations: Vec<Operation>| {
    let memory = Memory::in_memory().expect("there is memory");
    let mut states = vec![State::new()];
    let mut named: BTreeMap<u8, State> = BTreeMap::new();
    let writer = Writer::user();
    for operation in operations.iter().take(64) {
        let mut next = states.last().expect("there is always a state").clone();
        let before = next.clone();
        match operation {
            Operation::Put { id, content } => {
                memory
                    .put(object(*id, *content), &writer)
                    .expect("the object is valid");
                next.insert(*id, *content);
            }
            Operation::Remove { id: number } => {
                let removed = memory.remove(&id(*number), &writer);
                assert_eq!(removed.is_ok(), next.remove(number).is_some());
            }
            Operation::Batch(changes) => {
                let mut draft = memory.draft(&writer);
                for (number, content) in changes.iter().take(32) {
                    if let Some(content) = content {
                        draft.put(object(*number, *content)).expect("the object is valid");
                        next.insert(*number, *content);
                    } else {
                        let was_there = draft.remove(&id(*number)).expect("the state can be read");
                        assert_eq!(was_there, next.remove(number).is_some());
                    }
                }
                let committed = memory.commit(draft, "put").expect("nobody else writes");
                assert_eq!(committed.changed, next != before);
            }
            Operation::Snapshot { name } => {
                let taken = memory.snapshot(Some(&format!("s{name}")), &writer);
                assert_eq!(taken.is_ok(), !named.contains_key(name), "a name is given once");
                named.entry(*name).or_insert_with(|| next.clone());
            }
            Operation::Rollback { name } => {
                let back = memory.rollback(format!("s{name}").as_str()).by(&writer);
                assert_eq!(back.is_ok(), named.contains_key(name));
                if let Some(state) = named.get(name) {
                    next.clone_from(state);
                }
            }
            Operation::Past { back } => {
                let seq = usize::from(*back) % states.len();
                let past = memory.at(format!("seq:{seq}").as_str()).expect("every commit is kept");
                check(&past, &states[seq]);
            }
        }
        // A rollback to the present state may or may not make a commit. The seq shows whether it did.
        let seq = memory.view().commit().commit.seq;
        assert!(
            next == before || seq == states.len() as u64,
            "a change is one commit"
        );
        if seq == states.len() as u64 {
            states.push(next);
        }
    }
    check(&memory.view(), states.last().expect("there is always a state"));
});
