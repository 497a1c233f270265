//! Reads `memory.snap`, the file of the published memory core, which contains printed Lisp data.
//!
//! The file contains two tables of objects by name: `:memory` has the live objects, and `:history-store` has all
//! versions. An invalid entry does not affect other entries.
//!
//! # Layer
//! Layer 7, inside `agent`.

mod lisp;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Map;

use self::lisp::{Lisp, read};
use super::mapping::{FOREIGN, Foreign, Mapped, id_for, is_partial, other_attributes, unreadable};
use crate::agent::item::known_kind;
use crate::agent::vocabulary::kind;
use crate::error::Result;
use crate::ingest::json::value_from_json;
use crate::object::{Id, Kind, NewObject, Position, Scope, Time};

/// The number of seconds from 1900, the epoch of Lisp times, to 1970.
const SECONDS_FROM_1900: i64 = 2_208_988_800;
const MEMORY: &str = "memory";
const HISTORY: &str = "history-store";
/// The fields of an object of the published core that are not imported as attributes. A vector can be computed again,
/// and the hash is not a digest of Treering.
const FIELDS: [&str; 11] = [
    "id",
    "type",
    "attributes",
    "content",
    "vector",
    "parent-id",
    "children",
    "version",
    "last-sync",
    "hash",
    "scope",
];

/// An object of the published core.
#[derive(Debug, PartialEq)]
struct SnapObject {
    id: String,
    /// The fields that are not empty, by their names in lower case.
    fields: BTreeMap<String, Lisp>,
}

impl SnapObject {
    /// Returns a text field. Adds a finding if the field has another type.
    fn text(&self, name: &str, mapped: &mut Mapped) -> Option<&str> {
        let value = self.fields.get(name)?;
        if value.name().is_none() {
            mapped.say(&self.id, format!("`{name}` is not text and is ignored"));
        }
        value.name()
    }

    /// Returns the time of this version, which the field `version` contains.
    fn version(&self, mapped: &mut Mapped) -> Option<Time> {
        let micros = match self.fields.get("version")? {
            Lisp::Scalar(number) => number
                .as_i64()
                .and_then(|seconds| seconds.checked_sub(SECONDS_FROM_1900)?.checked_mul(1_000_000)),
            _ => None,
        };
        if micros.is_none() {
            mapped.say(&self.id, "`version` is not a valid time and is ignored");
        }
        micros.map(Time::from_micros)
    }

    fn children(&self) -> impl Iterator<Item = &str> {
        let items = match self.fields.get("children") {
            None => &[],
            Some(Lisp::List(items)) => items.as_slice(),
            // Lisp prints `(:children . ("a"))` as `(:children "a")`, so a single child is not in a list here.
            Some(only) => std::slice::from_ref(only),
        };
        items.iter().filter_map(Lisp::name)
    }
}

/// Maps a file to objects of Treering.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let mut mapped = Mapped::default();
    let value = read(foreign.bytes).map_err(|error| unreadable(error.to_string()))?;
    let (objects, history) = tables(value, &mut mapped)
        .ok_or_else(|| unreadable("the file does not have the form `(:memory ... :history-store ...)`"))?;
    let named = objects.iter().map(|object| (object.id.as_str(), object));
    let by_id: HashMap<&str, &SnapObject> = named.collect();
    let mut parents = parents(&objects, &by_id, &mut mapped);
    // Parents precede their children, because an import drops a parent that does not exist.
    for id in in_order(&objects, &mut parents, &mut mapped) {
        let Some(mut new) = new_object(by_id[id], foreign, key, &mut mapped)? else {
            continue;
        };
        if let Some(parent) = parents.get(id) {
            new.parent = snap_id(key, parent).ok();
            let place = by_id[parent].children().position(|child| child == id);
            let position = place.map(|place| Position::new(&format!("{place:08x}")));
            new.position = position.transpose()?;
        }
        mapped.incoming.push((id.to_owned(), new));
    }
    for object in &history {
        let past = new_object(object, foreign, key, &mut mapped)?;
        mapped.past.extend(past);
    }
    Ok(mapped)
}

/// Returns the id of an object of the published core: its name if that is a valid id, otherwise a keyed digest of
/// the name.
fn snap_id(key: &[u8; 32], name: &str) -> Result<Id> {
    Id::new(name).or_else(|_| id_for(key, &Scope::default(), "snap", name))
}

/// Converts an object. Adds a finding and returns `None` if its id or scope is not valid.
fn new_object(
    object: &SnapObject,
    foreign: &Foreign<'_>,
    key: &[u8; 32],
    mapped: &mut Mapped,
) -> Result<Option<NewObject>> {
    let word = |name: &str| object.fields.get(name).and_then(Lisp::name);
    let scope = match (&foreign.scope, word("scope")) {
        (Some(scope), _) => Ok(scope.clone()),
        (None, None | Some("memex")) => Ok(Scope::default()),
        (None, Some("project")) => foreign.place.usual_scope(),
        (None, Some(other)) => Scope::new(other),
    };
    let (id, scope) = match snap_id(key, &object.id).and_then(|id| Ok((id, scope?))) {
        Err(error) if is_partial(&error) => {
            mapped.say(&object.id, error.message());
            return Ok(None);
        }
        place => place?,
    };
    let kind = word("type").and_then(|name| Kind::new(name).ok());
    let mut new = NewObject::new(id, kind.unwrap_or_else(|| known_kind(kind::ENTRY)));
    new.scope = scope;
    new.content = object.text("content", mapped).map(str::to_owned);
    new.event_time = object.version(mapped);
    let pairs = object.fields.get("attributes").cloned().map(Lisp::into_pairs);
    if pairs == Some(None) {
        mapped.say(&object.id, "the attributes are not pairs and are ignored");
    }
    let mut attributes = Map::new();
    for (name, value) in pairs.flatten().unwrap_or_default() {
        attributes.entry(name).or_insert_with(|| value.to_json());
    }
    new.attributes = other_attributes(attributes, &object.id, mapped);
    for (name, value) in &object.fields {
        if !FIELDS.contains(&name.as_str())
            && let Ok(value) = value_from_json(value.to_json())
        {
            drop(new.attributes.insert(format!("{FOREIGN}{name}"), value));
        }
    }
    Ok(Some(new))
}

/// Returns the live objects and the earlier versions of a file. Returns `None` if the table `:memory` is missing, or if
/// a table is not a list.
fn tables(value: Lisp, mapped: &mut Mapped) -> Option<(Vec<SnapObject>, Vec<SnapObject>)> {
    let (mut memory, mut history) = (None, Some(Vec::new()));
    // Read the tables in reverse order, so that of two tables with the same name the first table wins.
    for (name, value) in value.into_pairs()?.into_iter().rev() {
        match name.as_str() {
            MEMORY => memory = table(MEMORY, value, mapped),
            HISTORY => history = table(HISTORY, value, mapped),
            _ => {}
        }
    }
    Some((memory?, history?))
}

/// Returns the objects of a table. Returns `None` if the table is not a list.
fn table(name: &str, value: Lisp, mapped: &mut Mapped) -> Option<Vec<SnapObject>> {
    let Lisp::List(entries) = value else {
        return None;
    };
    let (mut objects, mut seen) = (Vec::new(), HashSet::new());
    for (place, entry) in entries.into_iter().enumerate() {
        let mut say = |what: &str| mapped.say(format!("entry {place} of `{name}`"), what);
        let pair = entry.into_pair();
        let Some((key, pairs)) = pair.and_then(|(key, value)| Some((key, value.into_pairs()?))) else {
            say("the entry is not a named object and is ignored");
            continue;
        };
        let mut fields = BTreeMap::new();
        // Read the fields in reverse order, so that the first value of a field wins, as in a Lisp lookup.
        for (name, value) in pairs.into_iter().rev() {
            fields.insert(name, value);
        }
        // The empty list also means false or no value, so drop the field.
        fields.retain(|_, value| !matches!(value, Lisp::List(items) if items.is_empty()));
        // The field `id` takes precedence over the key of the entry. In `:history-store`, the key is a digest.
        let stated = fields.get("id").and_then(Lisp::name).map(str::to_owned);
        match stated.or((name == MEMORY).then_some(key)) {
            None => say("the entry has no name and is ignored"),
            Some(id) if name == MEMORY && !seen.insert(id.clone()) => {
                say("the entry repeats the name of an earlier one and is ignored");
            }
            Some(id) => objects.push(SnapObject { id, fields }),
        }
    }
    Some(objects)
}

/// Returns the parent of each object: the parent that the object names, otherwise the first object that lists the
/// object as a child. Adds a finding for a parent that is not in the file.
fn parents<'a>(
    objects: &'a [SnapObject],
    by_id: &HashMap<&str, &SnapObject>,
    mapped: &mut Mapped,
) -> HashMap<&'a str, &'a str> {
    let mut pairs = Vec::new();
    for object in objects {
        let parent = object.text("parent-id", mapped);
        pairs.extend(parent.map(|parent| (object.id.as_str(), parent)));
    }
    for object in objects {
        pairs.extend(object.children().map(|child| (child, object.id.as_str())));
    }
    let mut parents = HashMap::new();
    for (child, parent) in pairs {
        if by_id.contains_key(parent) {
            if by_id.contains_key(child) {
                parents.entry(child).or_insert(parent);
            }
        } else {
            let what = format!(
                "the parent '{parent}' is not in the file, so the object is imported without a parent"
            );
            mapped.say(child, what);
        }
    }
    parents
}

/// Returns the ids of the objects, parents before their children. Breaks every cycle by removing the parent of one
/// object.
fn in_order<'a>(
    objects: &'a [SnapObject],
    parents: &mut HashMap<&'a str, &'a str>,
    mapped: &mut Mapped,
) -> Vec<&'a str> {
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for object in objects {
        // Follow the parents up to a root, to an object that an earlier walk visited, or around a cycle.
        let (mut line, mut next) = (Vec::new(), Some(object.id.as_str()));
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            line.push(id);
            next = parents.get(id).copied();
        }
        if let Some(start) = next.and_then(|id| line.iter().position(|one| *one == id)) {
            let parent = parents.remove(line[start]).unwrap_or_default();
            let what = format!(
                "the parent '{parent}' is also below the object, so the object is imported without a parent"
            );
            mapped.say(line[start], what);
            line[start..].rotate_left(1);
        }
        order.extend(line.into_iter().rev());
    }
    order
}

#[cfg(test)]
mod tests;
