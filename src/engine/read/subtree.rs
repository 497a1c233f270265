//! Subtree digests: one digest over an object and everything below it.
//!
//! Digests are computed from the leaves up, without recursion.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - A subtree digest reads the whole subtree. A state with erased versions has no subtree digests, because an erased
//!   object may have been in the subtree.
//!
//! # Format
//! docs/format.md, "Digests" (subtree contexts).

use crate::digest::{Domain, HashSuite, KeyPath, SubtreeDigest};
use crate::error::{Error, Result};
use crate::object::Id;
use crate::trie::{Entry, NoSource, Shape, Trie};

use super::source::Source;
use super::state::State;

/// An object whose child digests are being collected.
struct Open {
    entry: Entry,
    children: Box<dyn Iterator<Item = Id> + Send>,
    digests: Trie,
}

impl Open {
    fn new(source: &Source, state: &State, entry: Entry, id: &Id) -> Result<Self> {
        Ok(Self {
            entry,
            children: source.children(state, id)?,
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

/// Returns the digest of the object `id` of `state`, whose entry is `top`, and of everything below it.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn digest_of(source: &Source, state: &State, top: Entry, id: &Id) -> Result<SubtreeDigest> {
    let mut open = vec![Open::new(source, state, top, id)?];
    loop {
        let innermost = open
            .last_mut()
            .expect("the loop ends when the last one is closed");
        if let Some(child) = innermost.children.next() {
            let entry = state.entry_at(&state.store.suite.key_path(child.as_str()))?;
            let entry = entry.ok_or_else(|| Error::internal(format!("IND-1: child {child} is not there")))?;
            open.push(Open::new(source, state, entry, &child)?);
            continue;
        }
        let done = open.pop().expect("it was just there");
        let digest = subtree_of(state.store.suite, &done.entry.digest, &done.digests)?;
        match open.last_mut() {
            Some(parent) => parent.add(done.entry.key, *digest.as_bytes())?,
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
