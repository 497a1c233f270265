//! The persistent maps of imbl and rpds, each with its default hash.

use std::sync::Arc;

use imbl::ordmap::DiffItem;
use treering::{Id, NewObject, Object, ObjectDigest};

use super::Map;
use super::hash::entry;
use crate::objects::Seen;

/// A version whose equality is that of its digest.
#[derive(Clone)]
struct Version(Arc<Object>);

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest() == other.0.digest()
    }
}

/// An id with its old and its new digest.
type Difference = (Arc<str>, Option<ObjectDigest>, Option<ObjectDigest>);

/// Lists the differences between two ordered maps.
fn differences(old: &imbl::OrdMap<Arc<str>, Version>, new: &imbl::OrdMap<Arc<str>, Version>) -> Seen {
    let digest = |version: &Version| Some(version.0.digest());
    let difference = |item| match item {
        DiffItem::Add(id, new) => (Arc::clone(id), None, digest(new)),
        DiffItem::Update {
            old: (id, old),
            new: (_, new),
        } => (Arc::clone(id), digest(old), digest(new)),
        DiffItem::Remove(id, old) => (Arc::clone(id), digest(old), None),
    };
    let differences: Vec<Difference> = old.diff(new).map(difference).collect();
    let mut seen = Seen::default();
    differences
        .iter()
        .for_each(|(_, old, new)| seen.add_difference(*old, *new));
    seen
}

macro_rules! persistent_map {
    ($name:ident, $create:ident, $map:ty, $insert:ident, $diff:expr) => {
        #[derive(Default)]
        struct $name {
            current: $map,
            kept: Vec<$map>,
        }

        impl Map for $name {
            fn put(&mut self, objects: Vec<NewObject>) {
                for object in &objects {
                    let (id, version) = entry(object);
                    self.current.$insert(id, Version(version));
                }
            }

            fn read(&self, ids: &[Id]) -> Seen {
                let mut seen = Seen::default();
                for id in ids {
                    seen.add_object(&self.current.get(id.as_str()).unwrap().0);
                }
                seen
            }

            fn snapshot(&mut self) -> bool {
                self.kept.push(self.current.clone());
                true
            }

            fn roll_back(&mut self) {
                self.current = self
                    .kept
                    .last()
                    .expect("a snapshot comes before a rollback")
                    .clone();
            }

            fn diff(&self) -> Option<Seen> {
                let diff: Option<fn(&$map, &$map) -> Seen> = $diff;
                diff.map(|diff| {
                    diff(
                        self.kept.last().expect("a snapshot comes before a diff"),
                        &self.current,
                    )
                })
            }
        }

        pub fn $create() -> Box<dyn Map> {
            Box::new($name::default())
        }
    };
}

persistent_map!(
    ImblHash,
    imbl_hash,
    imbl::HashMap<Arc<str>, Version>,
    insert,
    None
);
persistent_map!(
    ImblOrdered,
    imbl_ordered,
    imbl::OrdMap<Arc<str>, Version>,
    insert,
    Some(differences)
);
persistent_map!(
    Rpds,
    rpds,
    rpds::HashTrieMapSync<Arc<str>, Version>,
    insert_mut,
    None
);
