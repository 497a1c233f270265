//! The duplicate index finds the objects of a state by the hash of their text. The hash ignores differences in white
//! space, in Unicode normalisation, in a mark at the end and in the case of the first letter.
//!
//! A 64-bit hash only finds candidates, whose texts are then compared. The index is updated by diff, so the cost of a
//! write or rollback depends only on its changes. The index is saved to a file for the next process.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - KNT-1: a found object is in the requested state, scope and kind, and has the same text.

use std::sync::Arc;

use crate::agent::Agent;
use crate::agent::index_keys::{key_at, key_in};
use crate::agent::item::{Item, NewItem, counts_in_quota};
use crate::agent::superseding::{Superseding, object_at};
use crate::agent::words::{plain_statement, state_the_same};
use crate::digest::keyed;
use crate::engine::{Derive, Keep, Version, View};
use crate::error::Result;
use crate::object::{Id, Object, Scope};
use treering_text::recall::Key;
use treering_text::tables::{Builder, Image, SortedRows, begin_with, rising_u64, row};

/// The duplicate index of one state. Each entry depends on one object only.
#[derive(Clone, Default, Debug)]
pub(in crate::agent) struct Texts {
    /// The hash of each text, with the key of its object.
    texts: SortedRows<24>,
    /// Pairs of keys: the key of an old object, and the key of the new object whose `supersedes` names the old object.
    superseded: SortedRows<32>,
    /// The hash of the scope of each item, with its key. Trusted and untrusted items have other hashes.
    items: SortedRows<24>,
    /// The file that the rows are read from.
    image: Option<Arc<Image>>,
}

/// Returns the row of a hash and a key.
fn hash_row(hash: u64, key: Key) -> [u8; 24] {
    row([&rising_u64(hash), &key.0])
}

/// Returns the hash of a text with its scope and kind. The hash ignores what [`state_the_same`] ignores.
pub(super) fn text_hash(scope: &str, kind: &str, text: &str) -> u64 {
    let mut bytes = Vec::with_capacity(scope.len() + kind.len() + text.len() + 2);
    for name in [scope, kind] {
        bytes.extend_from_slice(name.as_bytes());
        // A scope or kind never contains a control character, so a zero byte can end each of these names.
        bytes.push(0);
    }
    bytes.extend_from_slice(plain_statement(text).as_bytes());
    let digest = keyed(b"treering texts that are the same", &bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}

impl Keep for Texts {
    const NAME: &'static str = "texts";
    const VERSION: u8 = 4;

    fn len(&self) -> u64 {
        self.texts.len() as u64
    }

    fn write(&self, image: &mut Builder) {
        self.texts.write(image);
        self.superseded.write(image);
        self.items.write(image);
    }

    fn read(image: &Arc<Image>, first: usize) -> Option<Self> {
        Some(Self {
            texts: SortedRows::of(image, first),
            superseded: SortedRows::of(image, first + 1),
            items: SortedRows::of(image, first + 2),
            image: Some(Arc::clone(image)),
        })
    }
}

impl Derive for Texts {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        let Some(object) = new.object()? else {
            return Ok(());
        };
        let key = key_at(&new.key());
        if let Some(hash) = known_by(&object) {
            self.texts.insert(hash_row(hash, key));
        }
        for old in superseded_by(new, &object) {
            self.superseded.insert(row([&old.0, &key.0]));
        }
        if let Some(scope) = counted_in(&object) {
            self.items.insert(hash_row(scope, key));
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
            self.texts.remove(&hash_row(hash, key));
        }
        for named in superseded_by(old, &object) {
            self.superseded.remove(&row([&named.0, &key.0]));
        }
        if let Some(scope) = counted_in(&object) {
            self.items.remove(&hash_row(scope, key));
        }
        Ok(true)
    }

    fn is_damaged(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.is_damaged())
    }
}

impl Texts {
    /// Returns the number of trusted or untrusted items of a scope, including expired and superseded items.
    pub(in crate::agent) fn items(&self, scope: &Scope, is_trusted: bool) -> i64 {
        let hash = scope_hash(scope.as_str(), is_trusted);
        let (first, last) = begin_with(&rising_u64(hash));
        i64::try_from(self.items.count(first, last)).unwrap_or(i64::MAX)
    }

    /// Returns a live item with the scope, kind and text of `wanted` for which `accept` returns true. `hash` is the
    /// hash of `wanted`. `view` is of the state of the index.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object cannot be read.
    pub(super) fn find(
        &self,
        view: &View,
        hash: u64,
        wanted: (&str, &str, &str),
        accept: impl Fn(&Object) -> bool,
    ) -> Result<Option<Object>> {
        let now = view.now();
        let mut superseding = Superseding::new(view);
        let (first, last) = begin_with(&rising_u64(hash));
        for row in self.texts.range(first, last) {
            let key = key_in(row.last_chunk());
            let Some(object) = object_at(view, &key)? else {
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

    /// Returns the ids of the items that supersede the item with this key. `view` is of the state of the index.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(in crate::agent) fn successors(&self, view: &View, key: &Key) -> Result<Vec<Id>> {
        let mut superseding = Superseding::new(view);
        let mut newer = Vec::new();
        let (first, last) = begin_with(&key.0);
        for row in self.superseded.range(first, last) {
            let new = key_in(row.last_chunk());
            if superseding.supersedes(&new, key)? {
                newer.extend(object_at(view, &new)?.map(|object| object.id().clone()));
            }
        }
        Ok(newer)
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
        let (first, last) = begin_with(&key.0);
        for row in self.superseded.range(first, last) {
            if superseding.supersedes(&key_in(row.last_chunk()), key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Checks whether a live and trusted item of the same scope and kind has the text of `item`.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(in crate::agent) fn is_known(agent: &Agent, view: &View, item: &NewItem) -> Result<bool> {
    let wanted = (item.scope.as_str(), item.kind.as_str(), item.text.as_str());
    let hash = text_hash(wanted.0, wanted.1, wanted.2);
    let found = agent.with_duplicate_index(view, |known| {
        known.find(view, hash, wanted, |object| object.origin().is_trusted())
    })?;
    Ok(found.is_some())
}

/// Checks whether an object has this scope, kind and text.
pub(super) fn has_text(object: &Object, (scope, kind, text): (&str, &str, &str)) -> bool {
    let says = object.content().unwrap_or_default();
    object.scope() == scope && object.kind() == kind && state_the_same(says, text)
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
    use crate::agent::{LinesOptions, RememberOptions, Settings};
    use crate::engine::{self, Derived, Layout, Memory, Writer};

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
        assert!(first.keep_indexes().unwrap());
        assert!(!first.keep_indexes().unwrap(), "it was just saved");
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
            .follow(view.opened(), view.state().clone(), Texts::default)
            .unwrap();
        let anew = Derived::build(view.opened(), view.state().clone(), Texts::default()).unwrap();
        let (sets, anew) = (followed.value(), anew.value());
        assert!(sets.texts.iter().eq(anew.texts.iter()));
        assert!(sets.superseded.iter().eq(anew.superseded.iter()));
        assert!(sets.items.iter().eq(anew.items.iter()));
        assert_eq!((sets.items.len(), sets.texts.len()), (610, 610));
    }

    #[test]
    fn what_cannot_be_read_is_read_anew() {
        let memory = Memory::in_memory().unwrap();
        let first = agent(&memory);
        remember(&first, 0, 600);
        remember(&first, 0, 1);
        assert!(first.keep_indexes().unwrap());
        let whole = memory.derived(Texts::NAME).unwrap().unwrap().to_vec();
        let write = |bytes: &[u8]| {
            assert!(
                engine::keep_as(&memory, Texts::NAME, bytes, Layout::Image, memory.view().state()).unwrap()
            );
        };
        let repeats = |text: &str| {
            let asked = RememberOptions::default();
            let again = agent(&memory).remember(NewItem::new(text), &asked, &Writer::user());
            assert_eq!(again.unwrap().status, crate::agent::Status::Duplicate);
        };
        for at in (0..whole.len()).step_by(37) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            write(&bytes);
            repeats(&format!("fact {}", at % 600));
        }
        for length in [whole.len() - 1, whole.len() / 2, 9, 0] {
            write(&whole[..length]);
            assert!(Derived::<Texts>::load(memory.view().opened()).is_none());
            repeats("fact 8");
        }
        write(&whole);
        assert!(Derived::<Texts>::load(memory.view().opened()).is_some());
        let second = agent(&memory);
        let again = second.remember(
            NewItem::new("fact 7"),
            &RememberOptions::default(),
            &Writer::user(),
        );
        assert_eq!(again.unwrap().status, crate::agent::Status::Duplicate);
    }
}
