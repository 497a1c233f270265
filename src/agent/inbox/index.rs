//! The index of the inbox: the items in three groups, the newest first. So the inbox reads only the items that it shows.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.
//!
//! # Invariants
//! - INB-1: a group contains exactly the items of the state that [`Group`] describes.

use std::collections::{BTreeMap, HashMap};

use crate::agent::envelope::Section;
use crate::agent::index_keys::{key_at, key_in};
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::engine::{Derive, Version};
use crate::error::Result;
use crate::object::{Id, Object, Origin, Time};
use treering_text::recall::Key;
use treering_text::tables::{SortedRows, begin_with, rising_i64, row};

/// The length of a row: the group, the time of the newest change (the newest first), and the key.
const ROW: usize = 1 + 8 + Key::BYTES;

/// The versions that were compared with the others, each with the item that contradicts it.
pub(in crate::agent) type Compared = HashMap<ObjectDigest, Option<(Id, ObjectDigest)>>;

/// A group of items in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The trusted items that state something: facts, decisions, rules, notes and tasks. No parts of transcripts or
    /// documents, and no summaries.
    Learned,
    /// The untrusted items that state something. Recall and the envelope withhold them until a person promotes them.
    Withheld,
    /// The other objects in which the scan found something, unless a person wrote or promoted them.
    Flagged,
}

impl Group {
    /// Returns the groups of an object.
    fn of(object: &Object) -> impl Iterator<Item = Self> {
        let (class, states) = (object.origin(), states(object.kind()));
        let is_flagged = object.attribute(attribute::FLAGS).is_some() && class != Origin::DirectUser;
        let is_withheld = states && !class.is_trusted();
        let groups = [
            (Self::Learned, states && class.is_trusted()),
            (Self::Withheld, is_withheld),
            (Self::Flagged, is_flagged && !is_withheld),
        ];
        groups.into_iter().filter_map(|(group, has)| has.then_some(group))
    }
}

/// Checks whether an item of a kind states something that an agent takes as true.
fn states(name: &str) -> bool {
    let is_document = [kind::DOCUMENT, kind::HEADING, kind::EPISODE].contains(&name);
    let section = Section::of_kind(name);
    !is_document
        && section.is_some_and(|section| {
            matches!(
                section,
                Section::ProjectRules
                    | Section::KeyDecisions
                    | Section::PersistentMemory
                    | Section::SessionNotes
                    | Section::ActiveTasks
                    | Section::UnresolvedErrors
            )
        })
}

/// The index of the inbox for one state.
#[derive(Clone, Default)]
pub(in crate::agent) struct Noted {
    rows: SortedRows<ROW>,
    /// The scopes of the group [`Group::Learned`], each with the number of its items.
    scopes: BTreeMap<String, u64>,
}

impl Noted {
    fn rows_of(version: &Version<'_>, object: &Object) -> Result<Vec<[u8; ROW]>> {
        let time = version.updated()?.unwrap_or(version.created());
        let newest = rising_i64(time.as_micros()).map(|byte| !byte);
        let key = key_at(&version.key());
        let groups = Group::of(object);
        Ok(groups
            .map(|group| row([&[group as u8], &newest, &key.0]))
            .collect())
    }

    /// Returns the keys of a group, the newest first, down to the time `since`.
    pub(super) fn keys(&self, group: Group, since: Option<Time>) -> impl Iterator<Item = Key> + '_ {
        let (first, last) = begin_with(&[group as u8]);
        let last = since.map_or(last, |since| {
            let oldest = rising_i64(since.as_micros()).map(|byte| !byte);
            row([&[group as u8], &oldest, &[0xff; Key::BYTES]])
        });
        let rows = self.rows.range(first, last);
        rows.map(|found| key_in(found[9..].first_chunk()))
    }
}

impl Noted {
    /// Returns the scopes with learned items, sorted.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &String> {
        self.scopes.keys()
    }
}

impl Derive for Noted {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        let Some(object) = new.object()?.filter(|object| !object.is_placeholder()) else {
            return Ok(());
        };
        for row in Self::rows_of(new, &object)? {
            self.rows.insert(row);
        }
        if Group::of(&object).any(|group| group == Group::Learned) {
            *self.scopes.entry(object.scope().to_owned()).or_default() += 1;
        }
        Ok(())
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        // The groups of an erased version are unknown.
        let Some(object) = old.object()?.filter(|object| !object.is_placeholder()) else {
            return Ok(false);
        };
        if Group::of(&object).any(|group| group == Group::Learned) {
            let Some(count) = self.scopes.get_mut(object.scope()).filter(|count| **count > 0) else {
                return Ok(false);
            };
            *count -= 1;
            if *count == 0 {
                let _ = self.scopes.remove(object.scope());
            }
        }
        // A rewrite of the log may forget the time of a version. Then the row is not where it was added.
        let rows = Self::rows_of(old, &object)?;
        Ok(rows.iter().all(|row| self.rows.remove(row)))
    }
}
