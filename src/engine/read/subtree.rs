//! Subtree digests: one digest over an object and everything below it.
//!
//! Digests are computed from the leaves up, without recursion, and cached by key path for the last state. For the next
//! state, only the digests on the paths from changed objects to the top are dropped.
//!
//! # Layer
//! Layer 5. Subtree digests are derived.
//!
//! # Limits
//! - The first computation of a subtree digest in a state reads the whole subtree. A state with erased versions has no
//!   subtree digests, because an erased object may have been in the subtree.
//!
//! # Invariants
//! - SUB-1: if an object's subtree digest is cached, the subtree digests of all its descendants are cached too.
//!
//! # Format
//! docs/format.md, "Digests" (subtree contexts).

use crate::digest::{Domain, KeyPath, SubtreeDigest};
use crate::error::{Error, Result};
use crate::object::{Id, Object};
use crate::trie::{Entry, NoSource, Shape, Trie};

use super::{Derive, Derived, Source, State, Version};

/// The subtree digests of one state, by the key path of the object at the top.
#[derive(Clone, Default)]
pub(crate) struct Subtrees(imbl::HashMap<KeyPath, [u8; 32]>);

impl Derive for Subtrees {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        self.forget(new)
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        self.forget(old).map(|()| true)
    }
}

impl Subtrees {
    /// Drops the cached digests of a changed object, and of all objects above that object in the state of `version`.
    fn forget(&mut self, version: &Version<'_>) -> Result<()> {
        self.0.remove(&version.key());
        let state = version.state;
        let parent_of = |object: Object| object.parent().map(|parent| state.store.suite.key_path(parent));
        let mut above = parent_of(state.load(&version.entry)?);
        // SUB-1: if an object has no cached digest, no object above it has a cached digest.
        while let Some(key) = above.filter(|key| self.0.remove(key).is_some()) {
            above = state.object_at(&key)?.and_then(parent_of);
        }
        Ok(())
    }

    /// Computes the digest of `id`, whose entry is `top`, and the digests of everything below `id`.
    fn compute(&mut self, source: &Source, state: &State, (id, top): (&Id, Entry)) -> Result<()> {
        let suite = state.store.suite;
        let open = |entry: Entry, id: &Id| -> Result<Open> {
            Ok(Open {
                entry,
                children: source.children(state, id)?,
                digests: Trie::new(),
            })
        };
        let (mut above, mut inner) = (Vec::new(), open(top, id)?);
        loop {
            if let Some(child) = inner.children.next() {
                let key = suite.key_path(child.as_str());
                if let Some(digest) = self.0.get(&key) {
                    inner.add(key, *digest)?;
                    continue;
                }
                let entry = state.entry_at(&key)?;
                let entry =
                    entry.ok_or_else(|| Error::internal(format!("IND-1: child {child} does not exist")))?;
                above.push(std::mem::replace(&mut inner, open(entry, &child)?));
                continue;
            }
            let below = inner.digests.root(suite, Shape::Subtree, &NoSource)?;
            let digest = suite.hash_fixed(Domain::Subtree, &[&inner.entry.digest, below.as_bytes()]);
            let key = inner.entry.key;
            self.0.insert(key, digest);
            let Some(parent) = above.pop() else {
                return Ok(());
            };
            inner = parent;
            inner.add(key, digest)?;
        }
    }
}

/// An object whose digest is computed once the digests of all its children are collected.
struct Open {
    entry: Entry,
    children: Box<dyn Iterator<Item = Id> + Send>,
    digests: Trie,
}

impl Open {
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

impl Source {
    /// Returns the digest of the object `id` of `state`, whose entry is `top`, and of everything below it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn subtree_digest(&self, state: &State, id: &Id, top: Entry) -> Result<SubtreeDigest> {
        let usable = |known: &Subtrees| known.0.contains_key(&top.key);
        let none = || Some(Derived::new(state.clone(), Subtrees::default()));
        let compute = |derived: &mut Derived<Subtrees>| derived.value_mut().compute(self, state, (id, top));
        let (made, _) = self
            .subtrees
            .reach((&self.opened, state), usable, none, compute)?;
        let digest = made.value().0.get(&top.key);
        let digest = digest.ok_or_else(|| Error::internal("the subtree digest was not computed"))?;
        Ok(SubtreeDigest::from_bytes(*digest))
    }
}
