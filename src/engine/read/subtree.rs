//! Subtree digests: one digest over an object and everything below it.
//!
//! Computed from the leaves up without recursion, remembered by key path for the state it was asked of, and
//! carried over to the next state except along the paths from what changed to the top.
//!
//! # Layer
//! L5. Derived.
//!
//! # Limits
//! - The first subtree digest of a state costs a walk over that subtree. A state with erased versions has no
//!   subtree digests, because the erased object may have been below.
//!
//! # Invariants
//! - SUB-1: if an object's subtree digest is remembered, so are those of all its descendants.
//!
//! # Format
//! docs/format.md, "Digests" (subtree contexts).

use crate::digest::{KeyPath, SubtreeDigest};
use crate::error::{Error, Result};
use crate::object::Id;
use crate::threads::Mutex;
use crate::trie::{Entry, NoSource, Trie};

use super::children::Children;
use super::derived::{Derive, Derived, Version};
use super::index::Family;
use super::state::State;
use super::view::{View, subtree_of};

/// Subtree digests by the key path of the object on top.
#[derive(Clone, Default)]
struct Known(imbl::HashMap<KeyPath, [u8; 32]>);

/// The subtree digests of the state that was asked about last.
#[derive(Default)]
pub(crate) struct SubtreeCache {
    kept: Mutex<Option<Derived<Known>>>,
}

impl SubtreeCache {
    /// Forgets what is kept: it holds on to a log that was rewritten.
    pub(crate) fn clear(&self) {
        *self.kept.lock() = None;
    }
}

pub(crate) fn digest(view: &View, id: &Id) -> Result<Option<SubtreeDigest>> {
    let Some(top) = view.entry_at(&view.key(id))? else {
        return Ok(None);
    };
    // What was erased may have been below: then no digest of this state can be told to be right.
    if view.store.records.erased() > 0 && view.index(Family::Children)?.erased() > 0 {
        return Ok(None);
    }
    let mut kept = view.inner.subtrees.kept.lock();
    let mut known = match kept.take() {
        Some(known) => known.follow_in(&view.inner, view.state(), Known::default)?,
        None => Derived::new(view.state(), Known::default()),
    };
    let result = compute(view, top, id, &mut known.value_mut().0);
    *kept = Some(known);
    result.map(|digest| Some(SubtreeDigest::from_bytes(digest)))
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
    /// Forgets an object that changed and everything above it in that state.
    fn forget(&mut self, version: &Version<'_>) -> Result<()> {
        self.0.remove(&version.key());
        let state = version.state();
        let mut above = parent_of(state, version.entry())?;
        // SUB-1: above an object that is not remembered nothing is.
        while let Some(key) = above.filter(|key| self.0.remove(key).is_some()) {
            above = match state.entry_at(&key)? {
                Some(entry) => parent_of(state, &entry)?,
                None => None,
            };
        }
        Ok(())
    }
}

fn parent_of(state: &State, entry: &Entry) -> Result<Option<KeyPath>> {
    let object = state.load(entry)?;
    Ok(object.parent().map(|parent| state.store.suite.key_path(parent)))
}

/// An object whose children are being gathered.
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
        self.digests
            .insert(
                Entry {
                    key,
                    digest,
                    place: 0,
                    created: 0,
                },
                &NoSource,
            )
            .map(drop)
    }
}

fn compute(
    view: &View,
    top: Entry,
    id: &Id,
    known: &mut imbl::HashMap<KeyPath, [u8; 32]>,
) -> Result<[u8; 32]> {
    if let Some(digest) = known.get(&top.key) {
        return Ok(*digest);
    }
    let children = view.inner.children(view.state())?;
    let mut open = vec![Open::new(&children, top, id)?];
    loop {
        let innermost = open
            .last_mut()
            .expect("the loop ends when the last one is closed");
        if let Some(child) = innermost.children.next() {
            let key = view.key(&child);
            if let Some(&digest) = known.get(&key) {
                innermost.add(key, digest)?;
            } else {
                let entry = view.entry_at(&key)?;
                let entry =
                    entry.ok_or_else(|| Error::internal(format!("IND-1: child {child} is not there")))?;
                open.push(Open::new(&children, entry, &child)?);
            }
            continue;
        }
        let done = open.pop().expect("it was just there");
        let digest = *subtree_of(view.store.suite, &done.entry.digest, &done.digests)?.as_bytes();
        known.insert(done.entry.key, digest);
        match open.last_mut() {
            Some(parent) => parent.add(done.entry.key, digest)?,
            None => return Ok(digest),
        }
    }
}
