//! The hash maps of std and hashbrown, each with its default hash.

use std::collections::HashMap;
use std::sync::Arc;

use treering::{Id, NewObject, Object};

use super::Map;
use crate::objects::{Seen, in_memory};

/// Returns the key and the value of an object.
pub fn entry(object: &NewObject) -> (Arc<str>, Arc<Object>) {
    (Arc::from(object.id.as_str()), Arc::new(in_memory(object)))
}

macro_rules! plain_map {
    ($name:ident, $create:ident, $map:ident) => {
        struct $name($map<Arc<str>, Arc<Object>>);

        impl Map for $name {
            fn put(&mut self, objects: Vec<NewObject>) {
                self.0.extend(objects.iter().map(entry));
            }

            fn read(&self, ids: &[Id]) -> Seen {
                let mut seen = Seen::default();
                for id in ids {
                    seen.add_object(&self.0[id.as_str()]);
                }
                seen
            }
        }

        pub fn $create() -> Box<dyn Map> {
            Box::new($name($map::default()))
        }
    };
}

use hashbrown::HashMap as BrownMap;

plain_map!(Standard, standard, HashMap);
plain_map!(Hashbrown, hashbrown, BrownMap);
