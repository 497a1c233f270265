//! Indexes of the objects of a state, by parent, id, kind, scope and attribute.
//!
//! An index is an immutable ordered set. The index of another state is derived from an existing index by the difference
//! of the two states, and shares memory with the existing index. The engine builds an index at its first use and caches
//! the indexes of a few recent states. So after a rollback to one of these states, its index is available at once.
//!
//! # Layer
//! Layer 5. Indexes are derived: dropping them costs only time.
//!
//! # Limits
//! - The first use of an index reads the whole state once. Without indexes (`Options::indexes(false)`), a query scans
//!   the state and keeps the ids of its matches in memory.
//!
//! # Invariants
//! - IND-1: the index of a state contains exactly the keys of that state's objects, except erased objects.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdSet;

use crate::codec;
use crate::error::Result;
use crate::object::{Id, Object, Value};
use crate::store::RING;

use super::{Derive, Version};

/// The number of cached indexes of each family: one for the head, one for each snapshot of a ring, and a few more.
pub(super) const KEPT: usize = RING + 4;

/// The property by which an index groups objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Groups by parent, in sibling order.
    Children,
    /// One group of all objects, by id.
    Ids,
    /// Groups by kind.
    Kinds,
    /// Groups by scope.
    Scopes,
    /// Groups by attribute and value.
    Attributes,
}

/// The number of families.
pub(super) const FAMILIES: usize = 5;

/// An entry of an index: the group, the order within the group, and the id. Entries are sorted by these bytes.
///
/// Layout: the group's length as u32, the group, the order, the id, a zero byte, and the id's length as u16, from which
/// a reader finds the start of the id. The length of the group only separates groups, because every read covers a
/// single group.
pub(crate) type Key = Arc<[u8]>;

fn key(group: &[u8], order: &[u8], id: &str) -> Key {
    let mut bytes = Vec::with_capacity(group.len() + order.len() + id.len() + 4);
    codec::put_sized(&mut bytes, group);
    bytes.extend_from_slice(order);
    bytes.extend_from_slice(id.as_bytes());
    // Zero is less than every byte of an id, so an id sorts before longer ids that start with it.
    bytes.push(0);
    bytes.extend_from_slice(&(id.len() as u16).to_le_bytes());
    bytes.into()
}

pub(crate) fn id_of(key: &[u8]) -> Option<Id> {
    Id::new(text_of(key)?).ok()
}

/// Returns the text of the id of an entry.
pub(crate) fn text_of(key: &[u8]) -> Option<&str> {
    let (rest, length) = key.split_last_chunk::<2>()?;
    let (_, rest) = rest.split_last()?;
    let start = rest.len().checked_sub(usize::from(u16::from_le_bytes(*length)))?;
    std::str::from_utf8(rest.get(start..)?).ok()
}

/// Returns the sort key of an object among its siblings. Objects with a position precede objects without a position,
/// and are sorted by the bytes of the position, which contains no zero byte.
fn sibling_order(object: &Object) -> Vec<u8> {
    match object.position() {
        Some(position) => [&[1], position.as_bytes(), &[0]].concat(),
        None => vec![2],
    }
}

/// Returns the group of objects that have this attribute with this value.
pub(crate) fn attribute_group(name: &str, value: &Value) -> Result<Vec<u8>> {
    let mut group = Vec::new();
    codec::put_sized(&mut group, name.as_bytes());
    group.extend_from_slice(&value.encode()?);
    Ok(group)
}

pub(crate) fn keys_of(family: Family, object: &Object) -> Result<Vec<Key>> {
    // The fields of an erased object are unknown.
    if object.is_placeholder() {
        return Ok(Vec::new());
    }
    let id = object.id().as_str();
    Ok(match family {
        Family::Children => {
            let order = sibling_order(object);
            let parent = object.parent().map(|parent| key(parent.as_bytes(), &order, id));
            parent.into_iter().collect()
        }
        Family::Ids => vec![key(&[], &[], id)],
        Family::Kinds => vec![key(object.kind().as_bytes(), &[], id)],
        Family::Scopes => vec![key(object.scope().as_bytes(), &[], id)],
        Family::Attributes => {
            let attributes = object.attributes();
            let groups = attributes
                .iter()
                .map(|(name, value)| attribute_group(name, value));
            let keys = groups.map(|group| Ok(key(&group?, &[], id)));
            keys.collect::<Result<_>>()?
        }
    })
}

/// The index of one family for one state.
#[derive(Clone)]
pub(crate) struct Index {
    family: Family,
    keys: OrdSet<Key>,
    /// The number of erased objects in the state, which are in no group.
    erased: u64,
}

impl Index {
    /// Creates the index of a state without objects.
    pub(crate) fn new(family: Family) -> Self {
        Self {
            family,
            keys: OrdSet::new(),
            erased: 0,
        }
    }

    /// Returns whether `id` is in a group. Works only for a family whose entries have no order within the group.
    pub(crate) fn has(&self, group: &[u8], id: &Id) -> bool {
        self.keys.contains(&key(group, &[], id.as_str()))
    }

    /// Returns the ids of a group whose order and id start with `start`, in order.
    pub(crate) fn from(&self, group: &[u8], start: &[u8]) -> impl Iterator<Item = Id> + use<> {
        self.keys_from(group, start).filter_map(|key| id_of(&key))
    }

    /// Returns the entries of a group whose order and id start with `start`, in order.
    pub(crate) fn keys_from(&self, group: &[u8], start: &[u8]) -> impl Iterator<Item = Key> + use<> {
        let mut prefix = Vec::new();
        codec::put_sized(&mut prefix, group);
        prefix.extend_from_slice(start);
        // Clones only the pointer to the set, so that the iterator owns this pointer.
        let keys = self.keys.clone();
        let mut bound = Bound::Included(Key::from(prefix.as_slice()));
        std::iter::from_fn(move || {
            let found = keys.range((bound.clone(), Bound::Unbounded)).next()?;
            bound = Bound::Excluded(Arc::clone(found));
            found.starts_with(&prefix).then(|| Arc::clone(found))
        })
    }

    /// Returns all entries, in order.
    pub(crate) fn all(&self) -> Vec<Key> {
        self.keys.iter().cloned().collect()
    }

    /// Returns the number of erased objects of the state, which are in no group.
    pub(crate) fn erased(&self) -> u64 {
        self.erased
    }

    pub(crate) fn add_object(&mut self, object: &Object) -> Result<()> {
        self.erased += u64::from(object.is_placeholder());
        self.keys.extend(keys_of(self.family, object)?);
        Ok(())
    }
}

impl Derive for Index {
    const IN_PLACE_MAX: u64 = 0;

    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        new.object()?.map_or(Ok(()), |object| self.add_object(&object))
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        let Some(object) = old.object()? else {
            return Ok(false);
        };
        self.erased -= u64::from(object.is_placeholder());
        for key in keys_of(self.family, &object)? {
            self.keys.remove(&key);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Memory;

    #[test]
    fn nobody_waits_for_an_index_that_is_being_made() {
        let memory = Memory::in_memory().unwrap();
        let view = memory.view();
        assert!(view.indexed_ids("").is_none());
        view.index_ids().unwrap();
        assert_eq!(view.indexed_ids("").map(Iterator::count), Some(0));
        let making = memory.inner.source.indexes[Family::Ids as usize]
            .slots
            .making
            .lock();
        assert!(view.indexed_ids("").is_some());
        drop(making);
        assert!(view.indexed_ids("").is_some());
    }
}
