//! Maps in RAM from the text of an id to the current version of its object.

mod hash;
mod persistent;
mod treering;

use ::treering::{Id, NewObject};

use crate::objects::Seen;

pub use self::treering::in_memory;
pub use hash::{hashbrown, standard};
pub use persistent::{imbl_hash, imbl_ordered, rpds};

/// A map in RAM.
pub trait Map {
    /// Encodes these versions with their digests and makes them current.
    fn put(&mut self, objects: Vec<NewObject>);
    /// Reads the current versions of these ids.
    fn read(&self, ids: &[Id]) -> Seen;
    /// Keeps the state, and every state that was kept before. Returns false if the map is not persistent.
    fn snapshot(&mut self) -> bool {
        false
    }
    /// Goes back to the last snapshot.
    fn roll_back(&mut self) {
        unreachable!("the map has no snapshots");
    }
    /// Lists the differences from the last snapshot to the current state: each id with its old and its new digest.
    /// Returns `None` if the map cannot find them without reading every entry.
    fn diff(&self) -> Option<Seen> {
        None
    }
}

/// A kind of map.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub create: fn() -> Box<dyn Map>,
}

/// The maps that keep no old states.
pub const PLAIN: &[Kind] = &[
    Kind {
        name: "std HashMap",
        create: standard,
    },
    Kind {
        name: "hashbrown",
        create: hashbrown,
    },
];

/// The maps with snapshots.
pub const PERSISTENT: &[Kind] = &[
    Kind {
        name: "imbl HashMap",
        create: imbl_hash,
    },
    Kind {
        name: "imbl OrdMap",
        create: imbl_ordered,
    },
    Kind {
        name: "rpds",
        create: rpds,
    },
];

/// Treering as a map.
pub const TREERING: Kind = Kind {
    name: "Treering",
    create: in_memory,
};

impl Kind {
    /// Makes a map of the first versions of `n` objects.
    pub fn filled(&self, n: u64) -> Box<dyn Map> {
        let mut map = (self.create)();
        for first in (0..n).step_by(1_000) {
            map.put(crate::objects::objects(first..(first + 1_000).min(n), 0));
        }
        map
    }
}
