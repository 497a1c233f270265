//! Treering's store in RAM as a map.

use treering::{Id, Memory, NewObject, View};

use super::Map;
use crate::objects::Seen;
use crate::peers::{Store as _, Treering};

struct InMemory {
    store: Treering,
    /// The state of the last snapshot.
    kept: Option<View>,
}

pub fn in_memory() -> Box<dyn Map> {
    Box::new(InMemory {
        store: Treering::of(Memory::in_memory().unwrap()),
        kept: None,
    })
}

impl Map for InMemory {
    fn put(&mut self, objects: Vec<NewObject>) {
        self.store.put(objects);
    }

    fn read(&self, ids: &[Id]) -> Seen {
        self.store.read(ids)
    }

    fn snapshot(&mut self) -> bool {
        self.kept = Some(self.store.memory.view());
        self.store.snapshot()
    }

    fn roll_back(&mut self) {
        self.store.roll_back();
    }

    fn diff(&self) -> Option<Seen> {
        let older = self.kept.as_ref().expect("a snapshot comes before a diff");
        let changes = self.store.memory.diff(older, &self.store.memory.view()).unwrap();
        let mut seen = Seen::default();
        changes
            .iter()
            .for_each(|change| seen.add_difference(change.old, change.new));
        Some(seen)
    }
}
