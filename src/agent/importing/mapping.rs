//! What a file of another system holds, as objects of ours.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - IMP-2: a name of the other system always becomes the same id, and two names never become one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use super::odek::read_facts;
use super::server_memory::{Graph, read_graph};
use super::snap::{Snap, SnapLimits, SnapObject, read_snap};
use crate::agent::item::{KNOWN, MADE_BY_VERBS, known_kind, texts};
use crate::agent::session::extraction::FactScope;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::{keyed, to_hex};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::value_from_json;
use crate::object::{Attributes, Id, Kind, NewObject, Position, Scope, Time, Value};

use super::taking::{Foreign, ForeignFinding, ForeignFormat};

/// The kind of a thing of a graph.
const ENTITY: &str = "entity";
/// The attribute of a fact that says what one thing is to another: a map `{from, type, to}`.
const RELATION: &str = "relation";
/// Before the name of an attribute that means something else here.
const FOREIGN: &str = "snap.";

/// An object on its way in.
pub(super) struct Incoming {
    /// Where it stands in the file.
    pub(super) at: String,
    pub(super) object: NewObject,
}

/// What a file holds, as objects.
#[derive(Default)]
pub(super) struct Mapped {
    pub(super) incoming: Vec<Incoming>,
    pub(super) past: Vec<NewObject>,
    pub(super) findings: Vec<ForeignFinding>,
}

impl Mapped {
    pub(super) fn say(&mut self, at: impl Into<String>, what: impl Into<String>) {
        self.findings.push(ForeignFinding {
            at: at.into(),
            what: what.into(),
        });
    }
}

/// What the file holds, as objects of ours; names that stand for a text are made with `key`.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    match foreign.format {
        ForeignFormat::ServerMemory => Ok(map_graph(read_graph(foreign.bytes), &usual(foreign)?, key)),
        ForeignFormat::Odek(about) => {
            let scope = match (&foreign.scope, about) {
                (None, FactScope::User) => Scope::default(),
                _ => usual(foreign)?,
            };
            Ok(map_facts(text_of(foreign.bytes)?, about, &scope, key))
        }
        ForeignFormat::Snap => {
            let snap = read_snap(foreign.bytes, &SnapLimits::default())
                .map_err(|why| unreadable(why.to_string()))?;
            map_snap(&snap, foreign, key)
        }
    }
}

/// Whether an error is of a part of a file, and costs no other one; not having a project is of all of it.
pub(super) fn is_of_a_part(error: &Error) -> bool {
    error.code() == ErrorCode::Erased
        || (error.kind() == ErrorKind::InvalidInput && error.code() != ErrorCode::NoPlace)
}

fn usual(foreign: &Foreign<'_>) -> Result<Scope> {
    match &foreign.scope {
        Some(scope) => Ok(scope.clone()),
        None => foreign.place.usual_scope(),
    }
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        unreadable(format!(
            "the file is not text from byte {} on",
            error.valid_up_to()
        ))
    })
}

fn unreadable(why: impl Into<String>) -> Error {
    Error::invalid(why)
        .with_code(ErrorCode::Unreadable)
        .with_hint("see --format for what can be read")
}

/// What qualifies the ids of a scope: its name without its class; nothing for `global`.
fn name_of(scope: &Scope) -> Option<&str> {
    let text = scope.as_str();
    (text != Scope::GLOBAL).then(|| text.split_once(':').map_or(text, |(_, name)| name))
}

/// What stands in an id for a text: nobody who has not the store can try guesses against it.
fn mark_of(key: &[u8; 32], text: &str) -> String {
    to_hex(&keyed(key, text.as_bytes())[..16])
}

/// IMP-2: the id of a name: the name where an id can hold it as it is, else its mark.
fn id_for(key: &[u8; 32], scope: &Scope, kind: &str, name: &str) -> Result<Id> {
    let mut text = String::new();
    if let Some(scope) = name_of(scope) {
        text.push_str(scope);
        text.push('/');
    }
    text.push_str(kind);
    text.push('/');
    let is_digest = |name: &str| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest(name)
        && let Ok(id) = Id::new(&format!("{text}{name}"))
    {
        return Ok(id);
    }
    Id::new(&format!("{text}{}", mark_of(key, name)))
}

fn map_graph(graph: Graph, scope: &Scope, key: &[u8; 32]) -> Mapped {
    let mut mapped = Mapped::default();
    for finding in graph.findings {
        mapped.say(format!("line {}", finding.line), finding.finding.to_string());
    }
    for entity in graph.entities {
        let at = format!("line {}", entity.line);
        let mut text = entity.name.clone();
        if let Some(what) = &entity.entity_type {
            let _infallible = write!(text, " ({what})");
        }
        for observation in &entity.observations {
            text.push('\n');
            text.push_str(observation);
        }
        let mut attributes = other_attributes(&entity.other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, entity.name.as_str()));
        if let Some(tags) = entity.entity_type.and_then(|what| texts(&[what])) {
            drop(attributes.insert(attribute::TAGS, tags));
        }
        push(
            &mut mapped,
            key,
            at,
            scope,
            ENTITY,
            ENTITY,
            &entity.name,
            text,
            attributes,
        );
    }
    for relation in graph.relations {
        let at = format!("line {}", relation.line);
        let text = format!("{} {} {}", relation.from, relation.relation_type, relation.to);
        let mut attributes = other_attributes(&relation.other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, relation.from.as_str()));
        // Parted by what no name in JSON needs, so that no two relations have one name.
        let name = [&relation.from, &relation.relation_type, &relation.to]
            .map(|part| format!("{}:{part}", part.len()));
        let parts = [
            ("from", relation.from),
            ("type", relation.relation_type),
            ("to", relation.to),
        ];
        let parts = parts.map(|(key, part)| (key.to_owned(), Value::Text(part)));
        drop(attributes.insert(RELATION, Value::Map(BTreeMap::from(parts))));
        let name = mark_of(key, &name.concat());
        push(
            &mut mapped,
            key,
            at,
            scope,
            kind::FACT,
            RELATION,
            &name,
            text,
            attributes,
        );
    }
    mapped
}

fn map_facts(text: &str, about: FactScope, scope: &Scope, key: &[u8; 32]) -> Mapped {
    let file = read_facts(text);
    let mut mapped = Mapped::default();
    for line in file.repeated {
        mapped.say(format!("line {line}"), "the fact stands before it already");
    }
    for fact in file.facts {
        let mut attributes = Attributes::new();
        drop(attributes.insert(attribute::SUBJECT, about.name()));
        let name = mark_of(key, &fact.text);
        let at = format!("line {}", fact.line);
        let folder = format!("{}/{}", kind::FACT, about.name());
        push(
            &mut mapped,
            key,
            at,
            scope,
            kind::FACT,
            &folder,
            &name,
            fact.text,
            attributes,
        );
    }
    mapped
}

#[expect(clippy::too_many_arguments, reason = "each is one field of the object")]
fn push(
    mapped: &mut Mapped,
    key: &[u8; 32],
    at: String,
    scope: &Scope,
    kind: &'static str,
    folder: &str,
    name: &str,
    text: String,
    attributes: Attributes,
) {
    match id_for(key, scope, folder, name) {
        Ok(id) => {
            let mut object = NewObject::new(id, known_kind(kind));
            object.scope = scope.clone();
            object.content = Some(text);
            object.attributes = attributes;
            mapped.incoming.push(Incoming { at, object });
        }
        Err(error) => mapped.say(at, error.message()),
    }
}

/// Attributes of the other system. Names that mean something here are set apart.
fn other_attributes(
    other: &serde_json::Map<String, serde_json::Value>,
    at: &str,
    mapped: &mut Mapped,
) -> Attributes {
    let mut attributes = Attributes::new();
    for (name, json) in other {
        let is_known =
            KNOWN.contains(&name.as_str()) || MADE_BY_VERBS.contains(&name.as_str()) || name == RELATION;
        let name = if is_known {
            format!("{FOREIGN}{name}")
        } else {
            name.clone()
        };
        match value_from_json(json) {
            Ok(value) => drop(attributes.insert(name, value)),
            Err(error) => mapped.say(at, format!("`{name}` is left out: {}", error.message())),
        }
    }
    attributes
}

fn map_snap(snap: &Snap, foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let mut mapped = Mapped::default();
    for finding in &snap.findings {
        mapped.say(
            format!("entry {} of `{}`", finding.place, finding.table.name()),
            finding.what,
        );
    }
    let mut ids = HashMap::new();
    let mut places = HashMap::new();
    for object in &snap.objects {
        if !object.id.is_empty() {
            match snap_id(key, &object.id) {
                Ok(id) => drop(ids.insert(object.id.clone(), id)),
                Err(error) => mapped.say(&object.id, error.message()),
            }
        }
        for (place, child) in object.children.iter().enumerate() {
            places.insert((object.id.clone(), child.clone()), place);
        }
    }
    let (parents, depths) = parents_of(&snap.objects, &ids, &mut mapped);
    let mut objects: Vec<&SnapObject> = snap
        .objects
        .iter()
        .filter(|object| ids.contains_key(&object.id))
        .collect();
    // A parent goes first, so that what is below it knows whether it was taken.
    objects.sort_by_key(|object| depths.get(object.id.as_str()).copied().unwrap_or(0));
    for object in objects {
        let at = object.id.clone();
        let new = snap_object(object, ids[&object.id].clone(), foreign, &mut mapped);
        let mut new = match new {
            Ok(new) => new,
            Err(error) if is_of_a_part(&error) => {
                mapped.say(at, error.message());
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(parent) = parents.get(&object.id) {
            new.parent = ids.get(parent).cloned();
            let place = places.get(&(parent.clone(), object.id.clone()));
            new.position = place
                .map(|place| Position::new(&format!("{place:08x}")))
                .transpose()?;
        }
        mapped.incoming.push(Incoming { at, object: new });
    }
    for object in snap.history.iter().filter(|object| !object.id.is_empty()) {
        let past = snap_id(key, &object.id).and_then(|id| snap_object(object, id, foreign, &mut mapped));
        match past {
            Ok(past) => mapped.past.push(past),
            Err(error) if is_of_a_part(&error) => mapped.say(&object.id, error.message()),
            Err(error) => return Err(error),
        }
    }
    Ok(mapped)
}

/// Ids of the published core stay as they are where an id can hold them.
fn snap_id(key: &[u8; 32], name: &str) -> Result<Id> {
    Id::new(name).or_else(|_| id_for(key, &Scope::default(), "snap", name))
}

fn snap_object(object: &SnapObject, id: Id, foreign: &Foreign<'_>, mapped: &mut Mapped) -> Result<NewObject> {
    let named = object.kind.as_deref().map(Kind::new).transpose();
    let kind = named.ok().flatten().unwrap_or_else(|| known_kind(kind::ENTRY));
    let mut new = NewObject::new(id, kind);
    new.scope = match (&foreign.scope, object.scope.as_deref()) {
        (Some(scope), _) => scope.clone(),
        (None, None | Some("memex")) => Scope::default(),
        (None, Some("project")) => foreign.place.usual_scope()?,
        (None, Some(other)) => Scope::new(other)?,
    };
    new.content.clone_from(&object.content);
    new.event_time = object.version_micros.map(Time::from_micros);
    new.attributes = other_attributes(&object.attributes, &object.id, mapped);
    for (name, json) in &object.other {
        if let Ok(value) = value_from_json(json) {
            drop(new.attributes.insert(format!("{FOREIGN}{name}"), value));
        }
    }
    Ok(new)
}

/// The parent of each object: what it says itself, else whose child list has it; and how deep each object is. Parents that
/// are not in the file, and one in every circle, are left out.
fn parents_of<'a>(
    objects: &'a [SnapObject],
    ids: &HashMap<String, Id>,
    mapped: &mut Mapped,
) -> (HashMap<String, String>, HashMap<&'a str, usize>) {
    let mut parents: HashMap<String, String> = HashMap::new();
    let listed = objects.iter().flat_map(|object| {
        let children = object.children.iter();
        children.map(|child| (child.clone(), object.id.clone()))
    });
    let own = objects
        .iter()
        .filter_map(|object| Some((object.id.clone(), object.parent.clone()?)));
    for (child, parent) in own.chain(listed) {
        if child.is_empty() || !ids.contains_key(&child) || parents.contains_key(&child) {
            continue;
        }
        if ids.contains_key(&parent) {
            parents.insert(child, parent);
        } else {
            mapped.say(
                child,
                format!("its parent '{parent}' is not in the file; it has none"),
            );
        }
    }
    // Each object is walked over once: a walk ends where an earlier one was, or where it began.
    let names: HashSet<&'a str> = objects.iter().map(|object| object.id.as_str()).collect();
    let mut depths: HashMap<&'a str, usize> = HashMap::new();
    for object in objects {
        let (mut path, mut on_path) = (Vec::new(), HashSet::new());
        let mut at = object.id.clone();
        while !depths.contains_key(at.as_str()) && on_path.insert(at.clone()) {
            path.push(at.clone());
            match parents.get(&at) {
                Some(parent) if on_path.contains(parent) => {
                    mapped.say(
                        &at,
                        format!("it would be below itself by '{parent}'; it has no parent"),
                    );
                    parents.remove(&at);
                }
                Some(parent) => at.clone_from(parent),
                None => break,
            }
        }
        for id in path.iter().rev() {
            let above = parents.get(id).and_then(|parent| depths.get(parent.as_str()));
            let depth = above.map_or(0, |depth| depth + 1);
            if let Some(name) = names.get(id.as_str()) {
                depths.insert(*name, depth);
            }
        }
    }
    (parents, depths)
}
