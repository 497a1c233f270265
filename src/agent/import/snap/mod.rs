//! Reads `memory.snap`, the file of the published memory core: data as a Lisp system prints it.
//!
//! The file is two tables of objects by name: the live ones in `:memory`, all versions in `:history-store`. A bad entry
//! does not affect the others.
//!
//! # Layer
//! Layer 7, inside `agent`.

mod lisp;

use std::collections::{HashMap, HashSet};

use serde_json::Map;
use serde_json::Value as Json;

use self::lisp::{LIMITS, Lisp, LispError, read};
use super::Foreign;
use super::{FOREIGN, Incoming, Mapped, id_for, is_partial, other_attributes, unreadable};
use crate::agent::item::known_kind;
use crate::agent::vocabulary::kind;
use crate::error::Result;
use crate::ingest::json::value_from_json;
use crate::object::{Id, Kind, NewObject, Position, Scope, Time};

/// Seconds from 1900, the epoch of Lisp times, to 1970.
const SECONDS_FROM_1900: i64 = 2_208_988_800;
const MEMORY: &str = "memory";
const HISTORY: &str = "history-store";

/// An object of the published core. Names of attributes and fields are in lower case.
#[derive(Default, Debug, PartialEq)]
struct SnapObject {
    id: String,
    kind: Option<String>,
    attributes: Map<String, Json>,
    content: Option<String>,
    parent: Option<String>,
    children: Vec<String>,
    /// The time when this version was made.
    version: Option<Time>,
    /// The digest in the file, which Treering does not check.
    hash: Option<String>,
    scope: Option<String>,
    /// Unknown fields.
    other: Map<String, Json>,
}

/// The objects of the two tables.
#[derive(Default, Debug, PartialEq)]
struct Snap {
    objects: Vec<SnapObject>,
    history: Vec<SnapObject>,
}

/// Maps a file to objects of Treering.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let mut mapped = Mapped::default();
    let value = read(foreign.bytes, LIMITS).map_err(|error: LispError| unreadable(error.to_string()))?;
    let snap = tables(value, &mut mapped)
        .ok_or_else(|| unreadable("byte 0: the value is not `(:memory ... :history-store ...)`"))?;
    let mut ids = HashMap::new();
    let mut places = HashMap::new();
    for object in snap.objects.iter().filter(|object| !object.id.is_empty()) {
        match snap_id(key, &object.id) {
            Ok(id) => drop(ids.insert(object.id.clone(), id)),
            Err(error) => mapped.say(&object.id, error.message()),
        }
    }
    for object in &snap.objects {
        for (place, child) in object.children.iter().enumerate() {
            places.insert((object.id.as_str(), child.as_str()), place);
        }
    }
    let mut parents = parents(&snap.objects, &ids, &mut mapped);
    let depths = depths(&snap.objects, &mut parents, &mut mapped);
    let mut objects: Vec<&SnapObject> = snap.objects.iter().collect();
    objects.retain(|object| ids.contains_key(&object.id));
    // Parents are sorted before their children, because a child keeps its parent only if the parent was imported.
    objects.sort_by_key(|object| depths.get(object.id.as_str()).copied().unwrap_or(0));
    for object in objects {
        let Some(mut new) = new_object(object, ids[&object.id].clone(), foreign, &mut mapped)? else {
            continue;
        };
        if let Some(parent) = parents.get(&object.id) {
            new.parent = ids.get(parent).cloned();
            let place = places.get(&(parent.as_str(), object.id.as_str()));
            let position = place.map(|place| Position::new(&format!("{place:08x}")));
            new.position = position.transpose()?;
        }
        let at = object.id.clone();
        mapped.incoming.push(Incoming { at, object: new });
    }
    for object in snap.history.iter().filter(|object| !object.id.is_empty()) {
        match snap_id(key, &object.id) {
            Ok(id) => {
                let past = new_object(object, id, foreign, &mut mapped)?;
                mapped.past.extend(past);
            }
            Err(error) => mapped.say(&object.id, error.message()),
        }
    }
    Ok(mapped)
}

/// Returns the id of an object of the published core: its name if that is a valid id, else its mark.
fn snap_id(key: &[u8; 32], name: &str) -> Result<Id> {
    Id::new(name).or_else(|_| id_for(key, &Scope::default(), "snap", name))
}

/// Returns the object of Treering; `None`, with a finding, if a part of it cannot be kept.
fn new_object(
    object: &SnapObject,
    id: Id,
    foreign: &Foreign<'_>,
    mapped: &mut Mapped,
) -> Result<Option<NewObject>> {
    let named = object.kind.as_deref().map(Kind::new).transpose();
    let kind = named.ok().flatten().unwrap_or_else(|| known_kind(kind::ENTRY));
    let mut new = NewObject::new(id, kind);
    let scope = match (&foreign.scope, object.scope.as_deref()) {
        (Some(scope), _) => Ok(scope.clone()),
        (None, None | Some("memex")) => Ok(Scope::default()),
        (None, Some("project")) => foreign.place.usual_scope(),
        (None, Some(other)) => Scope::new(other),
    };
    new.scope = match scope {
        Ok(scope) => scope,
        Err(error) if is_partial(&error) => {
            mapped.say(&object.id, error.message());
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    new.content.clone_from(&object.content);
    new.event_time = object.version;
    new.attributes = other_attributes(&object.attributes, &object.id, mapped);
    for (name, json) in &object.other {
        if let Ok(value) = value_from_json(json) {
            drop(new.attributes.insert(format!("{FOREIGN}{name}"), value));
        }
    }
    Ok(Some(new))
}

/// Returns the two tables of a file; `None` without a table `:memory`, or if a table is not a list.
fn tables(value: Lisp, mapped: &mut Mapped) -> Option<Snap> {
    let mut pairs = value.into_pairs()?;
    let mut take = |name: &str| {
        let at = pairs.iter().position(|(key, _)| key == name)?;
        Some(pairs.remove(at).1)
    };
    let (memory, history) = (take(MEMORY)?, take(HISTORY));
    Some(Snap {
        objects: table(MEMORY, memory, mapped)?,
        history: history.map_or_else(|| Some(Vec::new()), |history| table(HISTORY, history, mapped))?,
    })
}

/// Returns the objects of a table; `None` if the table is not a list.
fn table(name: &str, value: Lisp, mapped: &mut Mapped) -> Option<Vec<SnapObject>> {
    let Lisp::List(entries) = value else {
        return None;
    };
    let mut objects = Vec::new();
    let mut keys = HashSet::new();
    for (place, entry) in entries.into_iter().enumerate() {
        let mut say = |what: &str| mapped.say(format!("entry {place} of `{name}`"), what);
        let pair = entry.into_pair();
        let read = pair.and_then(|(key, value)| Some((key, object_of(value.into_pairs()?, &mut say)?)));
        let Some((key, mut object)) = read else {
            say("the entry is not a named object and is ignored");
            continue;
        };
        // The first entry for a name counts, as in a lookup of Lisp.
        if !keys.insert(key.clone()) {
            say("the entry has the name of an earlier one and is ignored");
            continue;
        }
        if name == HISTORY {
            if object.hash.as_ref().is_some_and(|hash| *hash != key) {
                say("the hash of the entry differs from its key");
            }
        } else if object.id.is_empty() {
            object.id = key;
        } else if object.id != key {
            say("the name of the entry differs from its key; the name in the object counts");
        }
        if object.id.is_empty() {
            say("the entry has no name");
        }
        objects.push(object);
    }
    Some(objects)
}

/// Returns the object of some fields; `None` if no field is known.
fn object_of(fields: Vec<(String, Lisp)>, say: &mut dyn FnMut(&str)) -> Option<SnapObject> {
    let mut object = SnapObject::default();
    let (mut is_object, mut seen) = (false, HashSet::new());
    for (name, value) in fields {
        if !seen.insert(name.clone()) {
            say("a field occurs twice; the first counts");
            continue;
        }
        is_object |= value.is_nil();
        match name.as_str() {
            _ if value.is_nil() => continue,
            "id" => object.id = text_of(&value, say).unwrap_or_default(),
            "type" => object.kind = value.name().map(str::to_owned),
            "content" => object.content = text_of(&value, say),
            "parent-id" => object.parent = text_of(&value, say),
            "hash" => object.hash = text_of(&value, say),
            "scope" => object.scope = value.name().map(str::to_owned),
            "version" => object.version = time_of(&value, say),
            "last-sync" => drop(time_of(&value, say)),
            // A vector can be computed again, so it is dropped.
            "vector" => {}
            "children" => object.children = names_of(&value, say),
            "attributes" => object.attributes = attributes_of(value, say),
            _ => {
                object.other.insert(name, value.to_json());
                continue;
            }
        }
        is_object = true;
    }
    is_object.then_some(object)
}

fn text_of(value: &Lisp, say: &mut dyn FnMut(&str)) -> Option<String> {
    let text = value.name();
    if text.is_none() {
        say("a field that is not text is ignored");
    }
    text.map(str::to_owned)
}

/// Reads a time of Lisp, in seconds since 1900.
fn time_of(value: &Lisp, say: &mut dyn FnMut(&str)) -> Option<Time> {
    let micros = match value {
        Lisp::Scalar(number) => number
            .as_i64()
            .and_then(|seconds| seconds.checked_sub(SECONDS_FROM_1900)?.checked_mul(1_000_000)),
        _ => None,
    };
    if micros.is_none() {
        say("an invalid time is ignored");
    }
    micros.map(Time::from_micros)
}

fn names_of(value: &Lisp, say: &mut dyn FnMut(&str)) -> Vec<String> {
    let items = match value {
        Lisp::List(items) => items,
        // `(:children . ("a"))` is printed as `(:children "a")`.
        only => std::slice::from_ref(only),
    };
    let mut names = Vec::new();
    for item in items {
        match item.name() {
            Some(name) => names.push(name.to_owned()),
            None => say("a child that is not a name is ignored"),
        }
    }
    names
}

fn attributes_of(value: Lisp, say: &mut dyn FnMut(&str)) -> Map<String, Json> {
    let mut attributes = Map::new();
    let Some(pairs) = value.into_pairs() else {
        say("attributes that are not pairs are ignored");
        return attributes;
    };
    for (name, value) in pairs {
        if attributes.contains_key(&name) {
            say("an attribute occurs twice; the first counts");
        } else {
            attributes.insert(name, value.to_json());
        }
    }
    attributes
}

/// Returns the parent of each object: the one it names, else the first one that lists it as a child. Drops parents that
/// are not in the file.
fn parents(
    objects: &[SnapObject],
    ids: &HashMap<String, Id>,
    mapped: &mut Mapped,
) -> HashMap<String, String> {
    let listed = objects.iter().flat_map(|object| {
        let children = object.children.iter();
        children.map(|child| (child.clone(), object.id.clone()))
    });
    let own = objects
        .iter()
        .filter_map(|object| Some((object.id.clone(), object.parent.clone()?)));
    let mut parents: HashMap<String, String> = HashMap::new();
    for (child, parent) in own.chain(listed) {
        if child.is_empty() || !ids.contains_key(&child) || parents.contains_key(&child) {
            continue;
        }
        if ids.contains_key(&parent) {
            parents.insert(child, parent);
        } else {
            mapped.say(
                child,
                format!("the parent '{parent}' is not in the file, so the object has no parent"),
            );
        }
    }
    parents
}

/// Returns the depth of each object below its root. One parent of every circle is dropped.
fn depths(
    objects: &[SnapObject],
    parents: &mut HashMap<String, String>,
    mapped: &mut Mapped,
) -> HashMap<String, usize> {
    let mut depths: HashMap<String, usize> = HashMap::new();
    for object in objects {
        // The walk upwards ends at a root, or at an object of known depth.
        let (mut path, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(object.id.clone());
        while let Some(at) = next.take_if(|at| !depths.contains_key(at)) {
            seen.insert(at.clone());
            next = parents.get(&at).cloned();
            if let Some(parent) = next.take_if(|parent| seen.contains(parent)) {
                let what = format!("the parent '{parent}' is below the object, so the object has no parent");
                mapped.say(&at, what);
                parents.remove(&at);
            }
            path.push(at);
        }
        let top = next
            .and_then(|known| depths.get(&known))
            .map_or(0, |above| above + 1);
        depths.extend(path.into_iter().rev().zip(top..));
    }
    depths
}

#[cfg(test)]
mod tests;
