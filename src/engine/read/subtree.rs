//! Subtree digests: one digest over an object and everything below it.
//!
//! Digests are computed from the leaves up, without recursion, and cached by key path for the last state. For the next
//! state, only the digests on the paths from changed objects to the top are dropped.
//!
//! # Layer
//! Layer 5. Subtree digests are derived.
//!
//! # Limits
//! - The first subtree digest of a state reads that whole subtree. A state with erased versions has no subtree digests,
//!   because an erased object may have been in the subtree.
//!
//! # Invariants
//! - SUB-1: if an object's subtree digest is cached, so are those of all its descendants.
//!
//! # Format
//! docs/format.md, "Digests" (subtree contexts).

use crate::digest::{Domain, HashSuite, KeyPath, SubtreeDigest};
use crate::error::{Error, Result};
use crate::object::{Id, Object};
use crate::threads::Mutex;
use crate::trie::{Entry, NoSource, Shape, Trie};

use super::children::Children;
use super::derived::{Derive, Derived, Version};
use super::state::State;
use crate::engine::opened::Opened;

/// Subtree digests, by the key path of the object at the top of the subtree.
#[derive(Clone, Default)]
struct Known(imbl::HashMap<KeyPath, [u8; 32]>);

/// The subtree digests of the state of the last call.
#[derive(Default)]
pub(crate) struct SubtreeCache {
    kept: Mutex<Option<Derived<Known>>>,
}

impl SubtreeCache {
    /// Drops the cache, because it keeps a rewritten log in memory.
    pub(crate) fn clear(&self) {
        *self.kept.lock() = None;
    }

    /// Returns the subtree digest of the object `id` of `state`, whose entry is `top`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn digest<'a>(
        &self,
        opened: &Opened,
        state: &State,
        children: impl FnOnce() -> Result<Children<'a>>,
        (id, top): (&Id, Entry),
    ) -> Result<SubtreeDigest> {
        let mut kept = self.kept.lock();
        let mut derived = match kept.take() {
            Some(derived) => derived.follow(opened, state.clone(), Known::default)?,
            None => Derived::new(state.clone(), Known::default()),
        };
        let known = &mut derived.value_mut().0;
        let result = match known.get(&top.key) {
            Some(digest) => Ok(*digest),
            None => children().and_then(|children| compute(state, &children, top, id, known)),
        };
        *kept = Some(derived);
        result.map(SubtreeDigest::from_bytes)
    }
}

impl Derive for Known {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        self.forget(new)
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        self.forget(old).map(|()| true)
    }
}

impl Known {
    /// Drops the digest of a changed object and those of all objects above it in that state.
    fn forget(&mut self, version: &Version<'_>) -> Result<()> {
        self.0.remove(&version.key());
        let state = version.state();
        let mut above = parent_of(state, &state.load(version.entry())?);
        // SUB-1: if an object has no cached digest, no object above it has one.
        while let Some(key) = above.filter(|key| self.0.remove(key).is_some()) {
            above = state
                .object_at(&key)?
                .and_then(|object| parent_of(state, &object));
        }
        Ok(())
    }
}

fn parent_of(state: &State, object: &Object) -> Option<KeyPath> {
    object.parent().map(|parent| state.store.suite.key_path(parent))
}

/// An object whose child digests are being collected.
struct Open {
    entry: Entry,
    children: Box<dyn Iterator<Item = Id> + Send>,
    digests: Trie,
}

impl Open {
    fn new(children: &Children<'_>, entry: Entry, id: &Id) -> Result<Self> {
        Ok(Self {
            entry,
            children: children.of(id)?,
            digests: Trie::new(),
        })
    }

    fn add(&mut self, key: KeyPath, digest: [u8; 32]) -> Result<()> {
        let entry = Entry {
            key,
            digest,
            place: 0,
            created: 0,
        };
        self.digests.insert(entry, &NoSource).map(drop)
    }
}

fn compute(
    state: &State,
    children: &Children<'_>,
    top: Entry,
    id: &Id,
    known: &mut imbl::HashMap<KeyPath, [u8; 32]>,
) -> Result<[u8; 32]> {
    let mut open = vec![Open::new(children, top, id)?];
    loop {
        let innermost = open
            .last_mut()
            .expect("the loop ends when the last one is closed");
        if let Some(child) = innermost.children.next() {
            let key = state.store.suite.key_path(child.as_str());
            if let Some(&digest) = known.get(&key) {
                innermost.add(key, digest)?;
            } else {
                let entry = state.entry_at(&key)?;
                let entry =
                    entry.ok_or_else(|| Error::internal(format!("IND-1: child {child} is not there")))?;
                open.push(Open::new(children, entry, &child)?);
            }
            continue;
        }
        let done = open.pop().expect("it was just there");
        let digest = *subtree_of(state.store.suite, &done.entry.digest, &done.digests)?.as_bytes();
        known.insert(done.entry.key, digest);
        match open.last_mut() {
            Some(parent) => parent.add(done.entry.key, digest)?,
            None => return Ok(digest),
        }
    }
}

/// Returns the subtree digest of an object, from its own digest and the trie of its children.
pub(crate) fn subtree_of(suite: HashSuite, own: &[u8; 32], children: &Trie) -> Result<SubtreeDigest> {
    let below = children.root(suite, Shape::Subtree, &NoSource)?;
    Ok(SubtreeDigest::from_bytes(
        suite.hash_fixed(Domain::Subtree, &[own, below.as_bytes()]),
    ))
}
