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

use crate::digest::{Domain, SubtreeDigest};
use crate::error::{Error, Result};
use crate::object::Id;
use crate::trie::{Entry, NoSource, Shape, Trie};

use super::{Source, State};

/// An object whose child digests are being collected.
struct Open {
    entry: Entry,
    children: Box<dyn Iterator<Item = Id> + Send>,
    digests: Trie,
}

/// Returns the digest of the object `id` of `state`, whose entry is `top`, and of everything below it.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn digest_of(source: &Source, state: &State, top: Entry, id: &Id) -> Result<SubtreeDigest> {
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
            let entry = state.entry_at(&suite.key_path(child.as_str()))?;
            let entry = entry.ok_or_else(|| Error::internal(format!("IND-1: child {child} is not there")))?;
            above.push(std::mem::replace(&mut inner, open(entry, &child)?));
            continue;
        }
        let below = inner.digests.root(suite, Shape::Subtree, &NoSource)?;
        let digest = suite.hash_fixed(Domain::Subtree, &[&inner.entry.digest, below.as_bytes()]);
        let Some(parent) = above.pop() else {
            return Ok(SubtreeDigest::from_bytes(digest));
        };
        let done = Entry {
            key: inner.entry.key,
            digest,
            place: 0,
            created: 0,
        };
        inner = parent;
        inner.digests.insert(done, &NoSource)?;
    }
}
