//! The duplicate index finds the objects of a state by the hash of their text. The hash ignores differences in white
//! space and in Unicode normalisation.
//!
//! A 64-bit hash only finds candidates, whose texts are then compared. The index is updated by diff, so the cost of a
//! write or rollback depends only on its changes. The index is saved to a file for the next process.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - KNT-1: a found object is in the requested state, scope and kind, and has the same text.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::agent::followed::{Followed, key_at};
use crate::agent::item::{Item, counts_in_quota};
use crate::agent::superseding::{Superseding, object_at};
use crate::agent::words::collapsed;
use crate::digest::keyed;
use crate::engine::{Derive, Keep, Memory, Version};
use crate::error::Result;
use crate::object::{Id, Object, Scope};
use crate::recall::Key;
use crate::threads::Mutex;

/// The smallest key: the lower bound of a range of all keys.
const FIRST: Key = Key([0; Key::BYTES]);
/// The largest key: the upper bound of a range of all keys.
const LAST: Key = Key([0xff; Key::BYTES]);

/// The duplicate index of one state.
pub(in crate::agent) type DuplicateIndex = Followed<Texts>;

/// The entries of the index. Each entry depends on one object only.
#[derive(Default, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::agent) struct Texts {
    /// The hash of each text, with the key of its object.
    texts: BTreeSet<(u64, Key)>,
    /// Pairs of keys: the key of an old object, and the key of the new object whose `supersedes` names the old object.
    superseded: BTreeSet<(Key, Key)>,
    /// The number of items of each scope, by the hash of the scope. Trusted and untrusted items are counted separately.
    items: BTreeMap<u64, u64>,
}

/// Returns the hash of a text with its scope and kind. The hash ignores differences in Unicode normalisation and white
/// space.
pub(super) fn text_hash(scope: &str, kind: &str, text: &str) -> u64 {
    let mut bytes = Vec::with_capacity(scope.len() + kind.len() + text.len() + 2);
    for name in [scope, kind] {
        bytes.extend_from_slice(name.as_bytes());
        // A scope or kind never contains a control character, so a zero byte can end each of these names.
        bytes.push(0);
    }
    bytes.extend_from_slice(collapsed(text).as_bytes());
    let digest = keyed(b"treering texts that are the same", &bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}

impl Keep for Texts {
    const NAME: &'static str = "texts";
    const VERSION: u8 = 2;

    fn len(&self) -> u64 {
        self.texts.len() as u64
    }
}

impl Derive for Texts {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        let Some(object) = new.object()? else {
            return Ok(());
        };
        let key = key_at(&new.key());
        self.texts.extend(known_by(&object).map(|hash| (hash, key)));
        self.superseded
            .extend(superseded_by(new, &object).map(|old| (old, key)));
        if let Some(scope) = counted_in(&object) {
            *self.items.entry(scope).or_default() += 1;
        }
        Ok(())
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        // The text of an erased version is unknown, so the entries of that version cannot be found.
        let Some(object) = old.object()?.filter(|object| !object.is_placeholder()) else {
            return Ok(false);
        };
        let key = key_at(&old.key());
        if let Some(hash) = known_by(&object) {
            self.texts.remove(&(hash, key));
        }
        for named in superseded_by(old, &object) {
            self.superseded.remove(&(named, key));
        }
        if let Some(scope) = counted_in(&object)
            && let Entry::Occupied(mut count) = self.items.entry(scope)
        {
            *count.get_mut() = count.get().saturating_sub(1);
            if *count.get() == 0 {
                count.remove();
            }
        }
        Ok(true)
    }
}

impl DuplicateIndex {
    /// Saves the index to disk if the index changed much since the last save. Returns whether the index was saved.
    ///
    /// # Errors
    /// The errors of [`Followed::keep`].
    pub(in crate::agent) fn keep_newest(slot: &Mutex<Option<Self>>, memory: &Memory) -> Result<bool> {
        let mut slot = slot.lock();
        let Some(known) = slot.take() else {
            return Ok(false);
        };
        // Update the index to the head first, because the file must not contain the hash of an erased text.
        let (known, _) = Self::reach(Some(known), &memory.view(), Texts::default)?;
        slot.insert(known).keep(memory)
    }

    /// Returns the number of trusted or untrusted items of a scope, including expired and superseded items.
    pub(in crate::agent) fn items(&self, scope: &Scope, is_trusted: bool) -> i64 {
        let count = self.value().items.get(&scope_hash(scope.as_str(), is_trusted));
        count.map_or(0, |count| count.cast_signed())
    }

    /// Returns a live item with the scope, kind and text of `wanted` for which `accept` returns true. `hash` is the
    /// hash of `wanted`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object cannot be read.
    pub(super) fn find(
        &self,
        hash: u64,
        wanted: (&str, &str, &str),
        accept: impl Fn(&Object) -> bool,
    ) -> Result<Option<Object>> {
        let now = self.view.now();
        let mut superseding = Superseding::new(&self.view);
        for &(_, key) in self.value().texts.range((hash, FIRST)..=(hash, LAST)) {
            let Some(object) = object_at(&self.view, &key)? else {
                continue;
            };
            // KNT-1: texts with the same hash may differ, so `has_text` compares the text.
            let is_live = object.expires().is_none_or(|expires| expires > now);
            if is_live
                && has_text(&object, wanted)
                && !self.is_superseded(&key, &mut superseding)?
                && accept(&object)
            {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    /// Returns the index key of an id.
    pub(in crate::agent) fn key_of(&self, id: &Id) -> Key {
        key_at(&self.view.key(id))
    }

    /// Checks whether another item supersedes the item with this key. `superseding` must be of the state of this index;
    /// it remembers what it reads for the next call.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(in crate::agent) fn is_superseded(
        &self,
        key: &Key,
        superseding: &mut Superseding<'_>,
    ) -> Result<bool> {
        for (_, new) in self.value().superseded.range((*key, FIRST)..=(*key, LAST)) {
            if superseding.supersedes(new, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Checks whether an object has this scope, kind and text.
pub(super) fn has_text(object: &Object, (scope, kind, text): (&str, &str, &str)) -> bool {
    let says = object.content().unwrap_or_default();
    object.scope() == scope && object.kind() == kind && collapsed(says) == collapsed(text)
}

/// Returns the hash of the scope and trust of an object, or `None` if the object does not count towards a quota.
fn counted_in(object: &Object) -> Option<u64> {
    let counts = !object.is_placeholder() && counts_in_quota(object.kind(), object.parent().is_some());
    counts.then(|| scope_hash(object.scope(), object.origin().is_trusted()))
}

fn scope_hash(scope: &str, is_trusted: bool) -> u64 {
    text_hash(scope, if is_trusted { "" } else { "untrusted" }, "")
}

fn known_by(object: &Object) -> Option<u64> {
    let text = object.content()?;
    Some(text_hash(object.scope(), object.kind(), text))
}

fn superseded_by(version: &Version<'_>, object: &Object) -> impl Iterator<Item = Key> {
    let ids = Item::from(object.clone()).supersedes();
    let (suite, own) = (version.suite(), object.id().clone());
    let named = ids.into_iter().filter(move |id| own != **id);
    named.map(move |id| key_at(&suite.key_path(&id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::agent::{LinesOptions, NewItem, RememberOptions, Settings};
    use crate::engine::{self, Derived, Writer};

    fn agent(memory: &Memory) -> Agent {
        Agent::new(memory.clone(), Settings::default())
    }

    fn remember(agent: &Agent, from: u64, to: u64) {
        let line = |at: u64| Ok((at, format!(r#"{{"text":"fact {at}"}}"#).into_bytes()));
        let lines = (from..to).map(line);
        let done = agent.remember_lines(lines, &LinesOptions::default(), &Writer::user());
        assert!(done.unwrap().refused.is_empty());
    }

    #[test]
    fn the_next_process_knows_the_texts_of_this_one() {
        let memory = Memory::in_memory().unwrap();
        let first = agent(&memory);
        remember(&first, 0, 600);
        let mut new = NewItem::new("fact 1 is over");
        new.id = Some(Id::new("new").unwrap());
        let known = first.remember(
            NewItem::new("fact 1"),
            &RememberOptions::default(),
            &Writer::user(),
        );
        new.supersedes = vec![known.unwrap().id];
        let quick = RememberOptions {
            is_quick: true,
            ..RememberOptions::default()
        };
        drop(first.remember(new, &quick, &Writer::user()).unwrap());
        assert!(first.keep_duplicate_index().unwrap());
        assert!(!first.keep_duplicate_index().unwrap(), "it was just saved");
        remember(&first, 600, 609);
        let mut ends = NewItem::new("fact 609");
        ends.expires = Some(crate::object::Time::from_micros(i64::MAX));
        drop(first.remember(ends, &quick, &Writer::user()).unwrap());
        memory.remove(&Id::new("new").unwrap(), &Writer::user()).unwrap();
        let view = memory.view();
        let loaded = Derived::<Texts>::load(view.opened()).unwrap();
        assert_eq!(
            (loaded.value().texts.len(), loaded.value().superseded.len()),
            (601, 1)
        );
        let followed = loaded
            .follow(view.opened(), view.state(), Texts::default)
            .unwrap();
        let anew = Derived::build(view.opened(), view.state(), Texts::default()).unwrap();
        assert_eq!(followed.value(), anew.value());
        let sets = followed.value();
        assert_eq!(sets.items.values().sum::<u64>(), 610);
        assert_eq!(sets.texts.len(), 610);
    }

    #[test]
    fn what_cannot_be_read_is_read_anew() {
        let memory = Memory::in_memory().unwrap();
        let first = agent(&memory);
        remember(&first, 0, 600);
        remember(&first, 0, 1);
        assert!(first.keep_duplicate_index().unwrap());
        let whole = memory.derived(Texts::NAME).unwrap().unwrap().to_vec();
        let mut of_nobody = whole.clone();
        of_nobody[9] ^= 1;
        let mut other_version = whole.clone();
        other_version[0] ^= 1;
        let cut = whole[..whole.len() - 1].to_vec();
        for damaged in [of_nobody, other_version, cut, Vec::new()] {
            assert!(engine::keep_derived(&memory, Texts::NAME, &damaged, &memory.view()).unwrap());
            assert!(Derived::<Texts>::load(memory.view().opened()).is_none());
        }
        let second = agent(&memory);
        let again = second.remember(
            NewItem::new("fact 7"),
            &RememberOptions::default(),
            &Writer::user(),
        );
        assert_eq!(again.unwrap().status, crate::agent::Status::Duplicate);
    }
}
