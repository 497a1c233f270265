//! The items that an envelope may show, in the order in which it selects them.
//!
//! A shelf holds the items of one scope, section and class: the newest first. So an envelope reads only the items that
//! it shows, and counts the others without reading them.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - SHL-1: the shelves contain exactly the items of the state whose kind has a section.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::sections::Section;
use crate::agent::index_keys::{key_at, key_in, scope_hash};
use crate::agent::item::{Item, Sensitivity};
use crate::engine::{Derive, Keep, Version};
use crate::error::Result;
use crate::object::{Object, Origin, Time};
use treering_text::recall::Key;
use treering_text::tables::{Builder, Image, SortedRows, begin_with, rising_i64, row};

/// The length of the start of a row, which names the shelf: the hash of the scope, the section and the class.
const START: usize = 10;
/// The length of a row: the start, the time of the newest change (the newest first), the key, and the expiry.
const ROW: usize = START + 8 + Key::BYTES + 8;
/// The time of an item that never expires.
const NEVER: i64 = i64::MAX;

/// The items of one state, by shelf.
#[derive(Clone, Default)]
pub(in crate::agent) struct Shelves {
    items: SortedRows<ROW>,
    /// The start, the expiry and the key of each item that expires.
    expiries: SortedRows<{ START + 8 + Key::BYTES }>,
    /// The key of an old item, and the key of the item that claims to supersede it.
    claims: SortedRows<{ 2 * Key::BYTES }>,
    /// The file that the rows are read from.
    image: Option<Arc<Image>>,
}

/// The items of one scope, section and class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shelf {
    start: [u8; START],
    pub(super) section: Section,
    pub(super) is_pinned: bool,
    pub(super) origin: Origin,
    pub(super) sensitivity: Sensitivity,
    /// The number of items that have not expired.
    pub(super) live: usize,
    pub(super) expired: usize,
}

/// The class of an item within its section.
struct Class {
    is_pinned: bool,
    origin: Origin,
    sensitivity: Sensitivity,
}

impl Class {
    fn encode(&self) -> u8 {
        let sensitivity = Sensitivity::ALL.iter().position(|one| *one == self.sensitivity);
        u8::from(!self.is_pinned) | (sensitivity.unwrap_or(0) as u8) << 1 | self.origin.tag() << 3
    }

    fn decode(class: u8) -> Option<Self> {
        Some(Self {
            is_pinned: class & 1 == 0,
            origin: Origin::from_tag(class >> 3)?,
            sensitivity: *Sensitivity::ALL.get(usize::from(class >> 1 & 3))?,
        })
    }
}

/// The rows of one item.
struct Rows {
    item: [u8; ROW],
    expiry: Option<[u8; START + 8 + Key::BYTES]>,
    claims: Vec<[u8; 2 * Key::BYTES]>,
}

impl Rows {
    /// Returns the rows of a version, or `None` if its kind has no section.
    fn of(version: &Version<'_>, object: Object) -> Result<Option<Self>> {
        let Some(section) = Section::of_kind(object.kind()) else {
            return Ok(None);
        };
        let key = key_at(&version.key());
        let created = version.created();
        let (made, changed) = times(&object, created, version.updated()?.unwrap_or(created));
        let item = Item::from(object);
        let class = Class {
            is_pinned: item.is_pinned(),
            origin: item.object().origin(),
            sensitivity: item.sensitivity(),
        };
        let hash = scope_hash(item.object().scope());
        let start: [u8; START] = row([&hash, &[section as u8, class.encode()]]);
        let newest = rising_i64(made.max(changed).as_micros()).map(|byte| !byte);
        let expires = item.object().expires().map_or(NEVER, Time::as_micros);
        let olds = item.supersedes().into_iter();
        let olds = olds.filter(|old| old != item.object().id().as_str());
        let old_key = |old: String| key_at(&version.suite().key_path(&old));
        Ok(Some(Self {
            item: row([&start, &newest, &key.0, &rising_i64(expires)]),
            expiry: (expires != NEVER).then(|| row([&start, &rising_i64(expires), &key.0])),
            claims: olds.map(|old| row([&old_key(old).0, &key.0])).collect(),
        }))
    }
}

/// Returns the time of an item and the time of its last change, from the times of the commits that first wrote its id
/// and this version.
pub(super) fn times(object: &Object, created: Time, updated: Time) -> (Time, Time) {
    let made = object.event_time().unwrap_or(created);
    (made, if updated > created { updated } else { made })
}

impl Keep for Shelves {
    const NAME: &'static str = "envelope";
    const VERSION: u8 = 3;

    fn len(&self) -> u64 {
        self.items.len() as u64
    }

    fn write(&self, image: &mut Builder) {
        self.items.write(image);
        self.expiries.write(image);
        self.claims.write(image);
    }

    fn read(image: &Arc<Image>, first: usize) -> Option<Self> {
        Some(Self {
            items: SortedRows::of(image, first),
            expiries: SortedRows::of(image, first + 1),
            claims: SortedRows::of(image, first + 2),
            image: Some(Arc::clone(image)),
        })
    }
}

impl Derive for Shelves {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        let object = new.object()?.filter(|object| !object.is_placeholder());
        let Some(rows) = object.map(|object| Rows::of(new, object)).transpose()?.flatten() else {
            return Ok(());
        };
        self.items.insert(rows.item);
        if let Some(expiry) = rows.expiry {
            self.expiries.insert(expiry);
        }
        for claim in rows.claims {
            self.claims.insert(claim);
        }
        Ok(())
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        // The shelf of an erased version is unknown.
        let Some(object) = old.object()?.filter(|object| !object.is_placeholder()) else {
            return Ok(false);
        };
        let Some(rows) = Rows::of(old, object)? else {
            return Ok(true);
        };
        if let Some(expiry) = &rows.expiry {
            self.expiries.remove(expiry);
        }
        for claim in &rows.claims {
            self.claims.remove(claim);
        }
        // A rewrite of the log may forget the time of a version. Then the row is not where it was added.
        Ok(self.items.remove(&rows.item))
    }

    fn is_damaged(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.is_damaged())
    }
}

impl Shelves {
    /// Returns the shelves with items of a scope, or of all scopes.
    pub(super) fn of_scope(&self, scope: Option<&str>, now: Time) -> Vec<Shelf> {
        let hash = scope.map(scope_hash);
        let prefix = hash.as_ref().map_or(&[][..], <[u8; 8]>::as_slice);
        let (mut from, last): ([u8; ROW], [u8; ROW]) = begin_with(prefix);
        let mut shelves = Vec::new();
        let mut before = None;
        while let Some(found) = self.items.next_from(from) {
            let start: [u8; START] = row([&found[..START]]);
            // In a hostile file, the rows may have any order.
            if !(from..=last).contains(&found) || before.is_some_and(|before| start <= before) {
                break;
            }
            shelves.extend(self.shelf(start, now));
            before = Some(start);
            (_, from) = begin_with(&start);
        }
        shelves
    }

    fn shelf(&self, start: [u8; START], now: Time) -> Option<Shelf> {
        let section = *Section::ALL.get(usize::from(start[8]))?;
        let class = Class::decode(start[9])?;
        let (first, last) = begin_with(&start);
        let all = self.items.count(first, last);
        let ended = row([&start, &rising_i64(now.as_micros()), &[0xff; Key::BYTES]]);
        let expired = self.expiries.count(row([&start]), ended);
        Some(Shelf {
            start,
            section,
            is_pinned: class.is_pinned,
            origin: class.origin,
            sensitivity: class.sensitivity,
            live: all.saturating_sub(expired),
            expired,
        })
    }

    /// Returns the keys of the items of some shelves that have not expired: by class first if the section ranks its
    /// items by class, then the newest first.
    pub(super) fn ranked<'a>(
        &'a self,
        section: Section,
        shelves: &[&'a Shelf],
        now: Time,
    ) -> impl Iterator<Item = Key> + 'a {
        let class = move |shelf: &&Shelf| section.is_lasting().then(|| shelf.origin.distrust());
        let mut shelves = shelves.to_vec();
        shelves.sort_by_key(class);
        let classes = shelves.chunk_by(|one, other| class(one) == class(other));
        let classes: Vec<Vec<&Shelf>> = classes.map(<[_]>::to_vec).collect();
        let classes = classes.into_iter();
        classes.flat_map(move |class| self.newest(class.into_iter(), now))
    }

    fn newest<'a>(
        &'a self,
        shelves: impl Iterator<Item = &'a Shelf>,
        now: Time,
    ) -> impl Iterator<Item = Key> + 'a {
        let mut rows: Vec<_> = shelves
            .map(|shelf| {
                let (first, last) = begin_with(&shelf.start);
                self.items.range(first, last)
            })
            .collect();
        let order = |found: [u8; ROW]| -> [u8; ROW - START] { row([&found[START..]]) };
        let heads = rows.iter_mut().enumerate();
        let heads = heads.filter_map(|(at, rows)| Some(Reverse((order(rows.next()?), at))));
        let mut heap: BinaryHeap<_> = heads.collect();
        let next = std::iter::from_fn(move || {
            let Reverse((found, at)) = heap.pop()?;
            heap.extend(rows[at].next().map(|next| Reverse((order(next), at))));
            Some(found)
        });
        let limit = rising_i64(now.as_micros());
        let live = next.filter(move |found| found[8 + Key::BYTES..] > limit[..]);
        live.map(|found| key_in(found[8..].first_chunk()))
    }

    /// Returns the keys of the items that claim to supersede an item.
    pub(super) fn claims(&self, old: &Key) -> impl Iterator<Item = Key> + '_ {
        let (first, last) = begin_with(&old.0);
        let rows = self.claims.range(first, last);
        rows.map(|found| key_in(found.last_chunk()))
    }
}
