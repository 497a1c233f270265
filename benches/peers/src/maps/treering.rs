//! Treering's store in RAM as a map.

use treering::{Id, Memory, NewObject, View, Writer};

use super::Map;
use crate::objects::Seen;
use crate::peers;

struct InMemory {
    memory: Memory,
    snapshots: usize,
    /// The state of the last snapshot.
    kept: Option<View>,
}

pub fn in_memory() -> Box<dyn Map> {
    Box::new(InMemory {
        memory: Memory::in_memory().unwrap(),
        snapshots: 0,
        kept: None,
    })
}

impl InMemory {
    fn last_snapshot(&self) -> String {
        format!("turn-{}", self.snapshots)
    }
}

impl Map for InMemory {
    fn put(&mut self, objects: Vec<NewObject>) {
        peers::put(&self.memory, objects);
    }

    fn read(&self, ids: &[Id]) -> Seen {
        peers::read(&self.memory.view(), ids)
    }

    fn snapshot(&mut self) -> bool {
        self.snapshots += 1;
        self.memory
            .snapshot(Some(&self.last_snapshot()), &Writer::user())
            .unwrap();
        self.kept = Some(self.memory.view());
        true
    }

    fn roll_back(&mut self) {
        self.memory
            .rollback(self.last_snapshot().as_str())
            .by(&Writer::user())
            .unwrap();
    }

    fn diff(&self) -> Option<Seen> {
        let older = self.kept.as_ref().expect("a snapshot comes before a diff");
        let changes = self.memory.diff(older, &self.memory.view()).unwrap();
        let mut seen = Seen::default();
        changes
            .iter()
            .for_each(|change| seen.add_difference(change.old, change.new));
        Some(seen)
    }
}
