//! Which texts a state has already: by what stays of them when spaces and Unicode forms are evened out.
//!
//! A text is known by 64 bits of a digest, and the object is read to be sure. What is kept follows the head by the
//! difference of states, so a write costs what it changes and a rollback as much; it is kept on disk between processes.
//!
//! # Layer
//! L7, inside `agent`. Derived: dropping it costs time only.
//!
//! # Invariants
//! - KNT-1: what is found is in the state that was asked about, in this scope and kind, and says the same.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::kept_texts;
use crate::agent::item::Item;
use crate::agent::room::takes_room;
use crate::agent::superseding::takes_place;
use crate::agent::words::collapsed;
use crate::digest::keyed;
use crate::engine::{Memory, View};
use crate::error::{ErrorCode, Result};
use crate::object::Object;

/// The first bytes of the key path of an id, which name it in indexes.
pub(super) type Key = [u8; 16];

/// The items of a scope.
pub(in crate::agent) struct Room {
    /// How many neither expired nor gave their place to another.
    pub(in crate::agent) live: usize,
    /// Which expired.
    pub(in crate::agent) expired: BTreeSet<Key>,
}

/// The texts of one state.
pub(in crate::agent) struct KnownTexts {
    pub(super) view: View,
    pub(super) texts: BTreeSet<(u64, Key)>,
    /// What names something as superseded: what, and by what.
    pub(super) superseded: BTreeSet<(Key, Key)>,
    /// How many items each scope has, by what the scope is known by; what is not trusted is counted apart.
    pub(super) items: BTreeMap<u64, u64>,
    /// Those of them that expire: by the scope, when in microseconds, and which.
    pub(super) expiring: BTreeSet<(u64, i64, Key)>,
    /// Objects that were read or changed since it was kept on disk.
    pub(super) unkept: u64,
}

/// What a text is known by in its scope and kind: the form of its letters and the width of its spaces do not count.
pub(super) fn fingerprint(scope: &str, kind: &str, text: &str) -> u64 {
    let mut bytes = Vec::with_capacity(scope.len() + kind.len() + text.len() + 2);
    for name in [scope, kind] {
        bytes.extend_from_slice(name.as_bytes());
        // Neither holds a control character.
        bytes.push(0);
    }
    bytes.extend_from_slice(collapsed(text).as_bytes());
    let digest = keyed(b"treering texts that are the same", &bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}

impl KnownTexts {
    /// The texts of the state of `view`: those of `before`, brought there by what differs, or all read anew.
    ///
    /// # Errors
    /// `Corrupt` or `Io`: an object cannot be read.
    pub(super) fn of(before: Option<Self>, memory: &Memory, view: &View) -> Result<Self> {
        let Some(mut known) = before.or_else(|| kept_texts::load(memory)) else {
            return Self::read(memory, view);
        };
        if known.view.root() == view.root() {
            return Ok(known);
        }
        for change in memory.diff(&known.view, view)? {
            known.unkept += 1;
            if change.erased {
                // Nobody knows any more what it said.
                return Self::read(memory, view);
            }
            if let Some(old) = change.old {
                match memory.version(old)?.filter(|old| !old.is_placeholder()) {
                    Some(old) => known.take(memory, &old),
                    None => return Self::read(memory, view),
                }
            }
            if change.new.is_some()
                && let Some(new) = unless_erased(view.get(&change.id))?
            {
                known.add(memory, &new);
            }
        }
        known.view = view.clone();
        Ok(known)
    }

    /// Follows to the state of `view`, from which the one before differs by `objects` that are new.
    pub(super) fn follow(&mut self, memory: &Memory, objects: &[Object], view: &View) {
        for object in objects {
            self.add(memory, object);
        }
        self.unkept += objects.len() as u64;
        self.view = view.clone();
    }

    pub(super) fn read(memory: &Memory, view: &View) -> Result<Self> {
        let mut known = Self {
            view: view.clone(),
            texts: BTreeSet::new(),
            superseded: BTreeSet::new(),
            items: BTreeMap::new(),
            expiring: BTreeSet::new(),
            unkept: view.len(),
        };
        for object in view.objects() {
            known.add(memory, &object?);
        }
        Ok(known)
    }

    fn add(&mut self, memory: &Memory, object: &Object) {
        let key = key_of(memory, object.id());
        self.texts.extend(known_by(object).map(|print| (print, key)));
        self.superseded
            .extend(superseded_by(memory, object).map(|old| (old, key)));
        if let Some(scope) = counted_in(object) {
            *self.items.entry(scope).or_default() += 1;
            let expires = object.expires().map(|expires| (scope, expires.as_micros(), key));
            self.expiring.extend(expires);
        }
    }

    fn take(&mut self, memory: &Memory, object: &Object) {
        let key = key_of(memory, object.id());
        if let Some(print) = known_by(object) {
            self.texts.remove(&(print, key));
        }
        for old in superseded_by(memory, object) {
            self.superseded.remove(&(old, key));
        }
        if let Some(scope) = counted_in(object) {
            if let Entry::Occupied(mut count) = self.items.entry(scope) {
                *count.get_mut() = count.get().saturating_sub(1);
                if *count.get() == 0 {
                    count.remove();
                }
            }
            if let Some(expires) = object.expires() {
                self.expiring.remove(&(scope, expires.as_micros(), key));
            }
        }
    }

    /// What takes room in a scope, of what is trusted or of what is not, and what has expired of it. Where fewer than `enough` are kept, all of them
    /// count: which expired or gave their place is asked in a full scope only.
    ///
    /// # Errors
    /// `Corrupt` or `Io`: an object cannot be read.
    pub(in crate::agent) fn room(&self, scope: &str, is_trusted: bool, enough: usize) -> Result<Room> {
        let print = scope_print(scope, is_trusted);
        let count = usize::try_from(self.items.get(&print).copied().unwrap_or(0)).unwrap_or(usize::MAX);
        if count < enough {
            return Ok(Room {
                live: count,
                expired: BTreeSet::new(),
            });
        }
        let now = self.view.now().as_micros();
        let range = (print, i64::MIN, [0; 16])..=(print, now, [0xff; 16]);
        let expired: BTreeSet<Key> = self.expiring.range(range).map(|(_, _, key)| *key).collect();
        let mut live = count.saturating_sub(expired.len());
        let mut before = None;
        for (old, _) in &self.superseded {
            if before.replace(old) == Some(old) || expired.contains(old) {
                continue;
            }
            let object = unless_erased(self.view.object_at(old))?;
            let is_here = object.is_some_and(|object| counted_in(&object) == Some(print));
            live = live.saturating_sub(usize::from(is_here && self.is_superseded(old)?));
        }
        Ok(Room { live, expired })
    }

    /// An item of this scope and kind that says the same text, which is known by `print`, has not expired, is not superseded, and
    /// is taken by `accept`.
    ///
    /// # Errors
    /// `Corrupt` or `Io`: it cannot be read.
    pub(super) fn find(
        &self,
        print: u64,
        (scope, kind, text): (&str, &str, &str),
        accept: impl Fn(&Object) -> bool,
    ) -> Result<Option<Object>> {
        let now = self.view.now();
        for &(_, key) in self.texts.range((print, [0; 16])..=(print, [0xff; 16])) {
            let Some(object) = unless_erased(self.view.object_at(&key))? else {
                continue;
            };
            // KNT-1: the fingerprint only says where to look.
            let says = object.content().unwrap_or_default();
            let is_same = object.scope() == scope
                && object.kind() == kind
                && collapsed(says) == collapsed(text)
                && object.expires().is_none_or(|expires| expires > now);
            if is_same && !self.is_superseded(&key)? && accept(&object) {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    /// Whether something takes the place of an item.
    ///
    /// # Errors
    /// `Corrupt` or `Io`: an object cannot be read.
    pub(super) fn is_superseded(&self, key: &Key) -> Result<bool> {
        for (_, new) in self.superseded.range((*key, [0; 16])..=(*key, [0xff; 16])) {
            let object_at = |key| unless_erased(self.view.object_at(key));
            if let (Some(new), Some(old)) = (object_at(new)?, object_at(key)?)
                && takes_place(&self.view, &new, &old)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What was found, or nothing if its version was erased.
pub(in crate::agent) fn unless_erased(found: Result<Option<Object>>) -> Result<Option<Object>> {
    match found {
        Err(error) if error.code() == ErrorCode::Erased => Ok(None),
        found => found,
    }
}

/// The scope of an object that takes room in it, and whether it is trusted, by what that is known by.
fn counted_in(object: &Object) -> Option<u64> {
    let counts = !object.is_placeholder() && takes_room(object.kind(), object.parent().is_some());
    counts.then(|| scope_print(object.scope(), object.origin().is_trusted()))
}

fn scope_print(scope: &str, is_trusted: bool) -> u64 {
    fingerprint(scope, if is_trusted { "" } else { "untrusted" }, "")
}

fn known_by(object: &Object) -> Option<u64> {
    let text = object.content()?;
    Some(fingerprint(object.scope(), object.kind(), text))
}

fn superseded_by(memory: &Memory, object: &Object) -> impl Iterator<Item = Key> {
    let ids = if object.is_placeholder() {
        Vec::new()
    } else {
        Item::from(object.clone()).supersedes()
    };
    let own = object.id().to_owned();
    let keys = ids.into_iter().filter(move |id| *id != own);
    keys.map(|id| key_of(memory, &id)).collect::<Vec<_>>().into_iter()
}

/// The name of an id here.
pub(super) fn key_of(memory: &Memory, id: &str) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(&memory.suite().key_path(id).as_bytes()[..16]);
    key
}
