//! The recall index of one state: the entries of each object, and their updates.
//!
//! The index contains every object with a text or a title, except objects of kind `session`. The speaker is the
//! attribute `speaker`, else `subject`. The words are the words of the text, of the tags, of the subject if the subject
//! is not used as the speaker, and of the titles of the object and of the objects above it. A document also has the
//! words of its aliases and of its file name. The time is the event time,
//! else the time of the first commit with the id. Objects of the same time are ordered by the attribute `order`, else
//! by the time in a `UUIDv7` id, else by the number at the end of the id.
//!
//! An entry depends on its object and on the titles above it. [`settle`] therefore updates the entries of the
//! objects below those that changed.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.

use std::collections::HashSet;
use std::sync::Arc;

use super::vectors::text_key;
use crate::agent::index_keys::{field_hash, key_at, scope_hash};
use crate::agent::item::{Item, text_of as text_in, unless_erased};
use crate::agent::titles::{Titles, hand_down_the_same};
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::HashSuite;
use crate::engine::{Derive, Derived, Keep, Memory, Version, View};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object, Time};
use treering_text::recall::{self, Full, Index, Key, Voice};
use treering_text::tables::{Builder, Image, SortedRows, begin_with, i64_of_rising, rising_i64, row};

/// The number of bytes of the hash of a kind or tag. Two may have the same, so a condition looks at the object in the end.
const FIELD_HASH: usize = 4;

/// The index of one state.
pub(crate) type Indexed = Derived<Content>;

/// The entries of the index.
#[derive(Clone, Default)]
pub(crate) struct Content {
    pub(crate) index: Index,
    /// The key and the expiry time of each object that expires, in microseconds since 1970.
    pub(super) expiries: SortedRows<24>,
    /// The keys of the untrusted objects.
    pub(super) untrusted: SortedRows<{ Key::BYTES }>,
    /// The hash of the scope and the key of each untrusted object.
    untrusted_in: SortedRows<24>,
    /// The key of each object with the hash of its kind, and with the hash of each of its tags.
    fields: SortedRows<{ Key::BYTES + FIELD_HASH }>,
    /// The key that was removed last, whether its object may have had titles, and the object if it may have had some.
    removed: Option<(Key, bool, Option<Object>)>,
    /// The objects that changed what they contribute to the titles of the objects below them.
    retitled: Vec<Id>,
}

impl Content {
    /// Returns whether an object is untrusted.
    pub(super) fn is_untrusted(&self, key: &Key) -> bool {
        self.untrusted.contains(&key.0)
    }

    /// Returns whether a scope has untrusted objects.
    pub(super) fn has_untrusted_in(&self, scope: &str) -> bool {
        let (first, last) = begin_with(&scope_hash(scope));
        self.untrusted_in.count(first, last) > 0
    }

    /// Returns whether an object may have the kind.
    pub(super) fn may_be(&self, key: &Key, kind: &str) -> bool {
        self.fields.contains(&field_row(*key, FIELD_KIND, kind))
    }

    /// Returns whether an object may have the tag. A heading also has the tags above it, which are not in the index.
    pub(super) fn may_have_tag(&self, key: &Key, tag: &str) -> bool {
        self.fields.contains(&field_row(*key, FIELD_TAG, tag)) || self.may_be(key, kind::HEADING)
    }

    /// Forgets the kind and the tags of an object.
    fn forget_fields(&mut self, key: Key) {
        let (first, last) = begin_with(&key.0);
        let rows: Vec<_> = self.fields.range(first, last).collect();
        for row in rows {
            self.fields.remove(&row);
        }
    }

    /// Returns the time at which an object expires, in microseconds since 1970.
    pub(super) fn expiry(&self, key: &Key) -> Option<i64> {
        let (first, last) = begin_with(&key.0);
        let found = self.expiries.range(first, last).next()?;
        found.last_chunk().map(|time| i64_of_rising(*time))
    }

    /// Returns the row of an object that expires.
    fn expiry_row(key: Key, micros: i64) -> [u8; 24] {
        row([&key.0, &rising_i64(micros)])
    }

    /// Forgets when an object expires.
    fn forget_expiry(&mut self, key: Key) {
        if let Some(micros) = self.expiry(&key) {
            self.expiries.remove(&Self::expiry_row(key, micros));
        }
    }

    /// Adds the entry of an object, or replaces it.
    fn put(&mut self, suite: HashSuite, created: Time, object: &Object, titles: &Titles) -> Result<()> {
        let text = text_of(object).unwrap_or_default();
        // A block is stored under a name, which is its id.
        let is_block = object.kind() == kind::BLOCK;
        let title = if is_block {
            object.id().as_str()
        } else {
            &titles.own
        };
        if !is_indexed(object) || text.is_empty() && title.is_empty() {
            return Ok(());
        }
        let key = key_at(&suite.key_path(object.id().as_str()));
        let time = object.event_time().unwrap_or(created);
        let item = Item::from(object.clone());
        let subject = item.subject();
        let (speaker, about) = match item.speaker() {
            Some(speaker) => (Some(speaker), subject),
            None => (subject, None),
        };
        let tags = item.tags();
        self.fields.insert(field_row(key, FIELD_KIND, object.kind()));
        for tag in &tags {
            self.fields.insert(field_row(key, FIELD_TAG, tag));
        }
        let more = [tags, about.into_iter().collect(), names_of(&item)].concat();
        let with_more = (!more.is_empty()).then(|| format!("{text}\n{}", more.join("\n")));
        let path = |id: &String| key_at(&suite.key_path(id));
        let superseded: Vec<Key> = item.supersedes().iter().map(path).collect();
        let session = item.session();
        let found_by = recall::Document {
            key,
            scope: object.scope(),
            session: session.as_deref(),
            speaker: speaker.as_deref().unwrap_or_default(),
            time: time.as_micros().div_euclid(1_000_000),
            order: order_of(&item),
            title,
            above: &titles.above.join("\n"),
            text: with_more.as_deref().unwrap_or(text),
            supersedes: &superseded,
            voice: voice_of(&item),
            text_key: text_key(suite, text),
        };
        self.index.put(&found_by).map_err(|Full| {
            let error = Error::invalid("the recall index is full, so it cannot add the words of the text");
            error.with_code(ErrorCode::OverLimit)
        })?;
        if let Some(expires) = object.expires() {
            self.forget_expiry(key);
            self.expiries.insert(Self::expiry_row(key, expires.as_micros()));
        }
        if !object.origin().is_trusted() {
            self.untrusted.insert(key.0);
            self.untrusted_in
                .insert(row([&scope_hash(object.scope()), &key.0]));
        }
        Ok(())
    }
}

/// What the hash in a row of a field is of.
const FIELD_KIND: u8 = 0;
const FIELD_TAG: u8 = 1;

/// Returns the row of an object that has a kind or a tag.
fn field_row(key: Key, field: u8, value: &str) -> [u8; Key::BYTES + FIELD_HASH] {
    row([&key.0, &field_hash(field, value)])
}

/// Updates the entries of the objects below the objects that changed, because a title above them may have changed. `view`
/// is of the state of the index.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(super) fn settle(indexed: &mut Indexed, view: &View) -> Result<()> {
    let content = indexed.value_mut();
    let mut waiting = std::mem::take(&mut content.retitled);
    let mut seen: HashSet<Id> = HashSet::new();
    let mut settled = 0;
    while let Some(above) = waiting.pop() {
        if !seen.insert(above.clone()) {
            continue;
        }
        for id in view.children(&above, None)? {
            if let Some(object) = unless_erased(view.get(&id))?
                && has_titles(&object)
                && let Some((created, _)) = view.stamps(&id)?
            {
                let titles = titles_of(&object, |id| view.get(id))?;
                content.put(view.state().store.suite, created, &object, &titles)?;
                settled += 1;
            }
            waiting.push(id);
        }
    }
    indexed.changes += settled;
    Ok(())
}

/// Returns the titles of an object.
fn titles_of(object: &Object, load: impl Fn(&Id) -> Result<Option<Object>>) -> Result<Titles> {
    if has_titles(object) {
        Titles::of(object, load)
    } else {
        Ok(Titles::default())
    }
}

/// Returns whether an object has titles. The turns of a transcript have none, because they are many and say enough.
fn has_titles(object: &Object) -> bool {
    !matches!(object.kind(), kind::ENTRY | kind::SESSION)
}

impl Keep for Content {
    const NAME: &'static str = "recall";
    const VERSION: u8 = 10;

    fn len(&self) -> u64 {
        self.index.len() as u64
    }

    fn write(&self, image: &mut Builder) {
        self.index.write(image);
        self.expiries.write(image);
        self.untrusted.write(image);
        self.untrusted_in.write(image);
        self.fields.write(image);
    }

    fn read(image: &Arc<Image>, first: usize) -> Option<Self> {
        let next = first + Index::SECTIONS;
        Some(Self {
            index: Index::read(image, first)?,
            expiries: SortedRows::of(image, next),
            untrusted: SortedRows::of(image, next + 1),
            untrusted_in: SortedRows::of(image, next + 2),
            fields: SortedRows::of(image, next + 3),
            ..Self::default()
        })
    }
}

impl Derive for Content {
    const IN_PLACE_MAX: u64 = 500;

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        let key = key_at(&old.key());
        // An object without an entry may still have had titles above it.
        let had_titles = !self.index.contains(&key) || self.index.is_titled(&key);
        // An object that cannot be read counts as changed.
        let object = had_titles.then(|| old.object().ok().flatten());
        self.removed = Some((key, had_titles, object.flatten()));
        self.forget_expiry(key);
        self.forget_fields(key);
        if self.untrusted.remove(&key.0)
            && let Some(scope) = self.index.scope_of(&key)
        {
            self.untrusted_in.remove(&row([&scope_hash(scope), &key.0]));
        }
        self.index.remove(&key);
        Ok(true)
    }

    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        let Some(object) = new.object()? else {
            return Ok(());
        };
        let key = key_at(&new.key());
        let titles = titles_of(&object, |id| new.other(id))?;
        if let Some((removed, had_titles, before)) = self.removed.take()
            && removed == key
            && (had_titles || !titles.is_empty())
            && !before.is_some_and(|before| hand_down_the_same(&before, &object))
        {
            self.retitled.push(object.id().clone());
        }
        self.put(new.suite(), new.created(), &object, &titles)
    }

    fn is_damaged(&self) -> bool {
        self.index.is_damaged()
    }
}

/// Returns where the text of an item comes from. What a speaker said in a session is a turn, however it was stored.
/// INVARIANT ASK-7: only a trusted item counts as stated.
fn voice_of(item: &Item) -> Voice {
    let object = item.object();
    match object.kind() {
        kind::ENTRY | kind::SUMMARY | kind::EPISODE => Voice::Said,
        _ if item.session().is_some() && item.speaker().is_some() => Voice::Said,
        _ if object.origin().is_trusted() => Voice::Stated,
        _ => Voice::Other,
    }
}

/// Returns the further words by which a document is found: its aliases, the name of its file, and a front matter that is
/// kept as text.
fn names_of(item: &Item) -> Vec<String> {
    let object = item.object();
    if object.kind() != kind::DOCUMENT {
        return Vec::new();
    }
    let mut names = item.aliases();
    let file = object.id().as_str().rsplit('/').next().unwrap_or_default();
    names.push(file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned());
    names.extend(text_in(object, attribute::FRONT_MATTER));
    names
}

/// Returns whether an object of this kind has an entry in the index.
fn is_indexed(object: &Object) -> bool {
    !object.is_placeholder() && ![kind::SESSION, kind::MERGE_CONFLICT].contains(&object.kind())
}

/// Returns the text of an object for the index, or `None` if the object has no entry or no text.
pub(super) fn text_of(object: &Object) -> Option<&str> {
    object
        .content()
        .filter(|text| is_indexed(object) && !text.is_empty())
}

/// Returns the key of an id in the indexes of this layer.
pub(in crate::agent) fn key_of(memory: &Memory, id: &str) -> Key {
    key_at(&memory.suite().key_path(id))
}

/// Returns the number by which an item is ordered among the items of the same time.
fn order_of(item: &Item) -> u32 {
    match item.order() {
        Some(order) => u32::try_from(order.max(0)).unwrap_or(u32::MAX),
        None => order_in_id(item.object().id().as_str()),
    }
}

/// Returns the order that an id contains: the low bits of the time of a `UUIDv7`, which repeat after 17 minutes, else
/// the number at the end of the id.
pub(super) fn order_in_id(id: &str) -> u32 {
    let name = id.rsplit('/').next().unwrap_or(id);
    let hexadecimal: Vec<u8> = name.bytes().filter(|&byte| byte != b'-').collect();
    let is_v7 = name.len() == 36 && hexadecimal.len() == 32 && hexadecimal[12] == b'7';
    if is_v7
        && let Ok(text) = std::str::from_utf8(&hexadecimal)
        && let Ok(uuid) = u128::from_str_radix(text, 16)
    {
        // Combine the low 20 bits of the milliseconds with the 12 bits after the version.
        let millis = (uuid >> 80) as u32;
        return millis << 12 | (uuid >> 64) as u32 & 0xfff;
    }
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(9);
    name[name.len() - digits..].parse().unwrap_or(0)
}
