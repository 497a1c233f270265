//! The file of the MCP reference server `memory`: a graph of entities and relations in JSON Lines.
//!
//! A bad line does not affect other lines, and a bad field does not affect other fields of its entity. Every fault is a
//! finding with its line.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SMJ-1: the content of every nonempty line is in the graph or in a finding.
//! - SMJ-2: names of entities are unique. A second entity with the same name adds its observations to the first.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::{Foreign, Mapped, RELATION, id_for, mark_of, other_attributes};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::json::{JsonError, balanced_end, parse_within};
use crate::object::Value;

/// The kind of an entity.
const ENTITY: &str = "entity";
/// The longest line, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The deepest nesting of JSON on a line.
const DEPTH_MAX: usize = 64;

named! {
    /// A fault of a line, and its sentence with `{}` for the part of the line.
    enum Fault {
        NotUtf8 => "the line is not UTF-8 and is ignored",
        TooLong => "the line is too long and is ignored",
        TooDeep => "the value is nested too deep and is ignored",
        KeyTwice => "the key `{}` occurs twice; the line is ignored",
        SeveralValues => "the line holds {} values",
        Incomplete => "the value is incomplete JSON and is ignored",
        NotAnObject => "the value is not an object and is ignored",
        OtherType => "the type is neither `entity` nor `relation`; the value is ignored",
        NoText => "the field `{}` is missing or not text",
        EntityTwice => "the entity occurs twice; its observations are merged",
        EntityTypes => "the entity occurs twice with different types; the first type counts",
        NoObservation => "observation {} is not text and is ignored",
        RelationTwice => "the relation occurs twice",
        NoEntity => "the relation names `{}`, which is not in the file",
    }
}

/// An entity.
#[derive(PartialEq, Debug)]
struct Entity {
    /// Its name; not empty.
    name: String,
    /// Its type, if the file states one.
    class: Option<String>,
    /// Its observations, each once, in order.
    observations: Vec<String>,
    /// Other fields of its line.
    other: Map<String, Json>,
    /// Its line, from 1.
    line: usize,
}

/// A relation between two entities.
#[derive(PartialEq, Debug)]
struct Relation {
    /// The name of the first entity, the type, and the name of the other entity.
    parts: [String; 3],
    /// Other fields of its line.
    other: Map<String, Json>,
    /// Its line, from 1.
    line: usize,
}

/// The content of a file.
#[derive(PartialEq, Default, Debug)]
struct Graph {
    /// The entities, in the order of their first lines.
    entities: Vec<Entity>,
    /// The relations, each once, in their order.
    relations: Vec<Relation>,
    /// Faults of the file, with their lines and the parts for their sentences.
    findings: Vec<(usize, Fault, String)>,
    /// The line that is read, from 1.
    line: usize,
    /// The place of each entity by its name.
    places: HashMap<String, usize>,
    /// The pairs of an entity's place and an observation. The set detects repeated pairs.
    observed: HashSet<(usize, String)>,
    related: HashSet<[String; 3]>,
}

/// Maps a graph: each entity becomes an object, each relation a fact.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let scope = foreign.usual_scope()?;
    let graph = read_graph(foreign.bytes);
    let mut mapped = Mapped::default();
    for (line, fault, part) in graph.findings {
        mapped.say(format!("line {line}"), fault.name().replace("{}", &part));
    }
    for entity in graph.entities {
        let at = format!("line {}", entity.line);
        let title = match &entity.class {
            Some(class) => format!("{} ({class})", entity.name),
            None => entity.name.clone(),
        };
        let text = [vec![title], entity.observations].concat().join("\n");
        let mut attributes = other_attributes(&entity.other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, entity.name.as_str()));
        if let Some(tags) = entity.class.and_then(|class| texts(&[class])) {
            drop(attributes.insert(attribute::TAGS, tags));
        }
        let id = id_for(key, &scope, ENTITY, &entity.name);
        mapped.push(at, id, ENTITY, &scope, text, attributes);
    }
    for Relation { parts, other, line } in graph.relations {
        let at = format!("line {line}");
        // The lengths keep the names of two relations apart.
        let [from, class, to] = &parts;
        let name = [from, class, to]
            .map(|part| format!("{}:{part}", part.len()))
            .concat();
        let mut attributes = other_attributes(&other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, from.as_str()));
        let text = parts.join(" ");
        let named = ["from", "type", "to"].map(str::to_owned).into_iter();
        let map: BTreeMap<String, Value> = named.zip(parts.map(Value::Text)).collect();
        drop(attributes.insert(RELATION, Value::Map(map)));
        let id = id_for(key, &scope, RELATION, &mark_of(key, &name));
        mapped.push(at, id, kind::FACT, &scope, text, attributes);
    }
    Ok(mapped)
}

/// Reads a file.
fn read_graph(bytes: &[u8]) -> Graph {
    let mut graph = Graph::default();
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        graph.line = number;
        match std::str::from_utf8(line) {
            Ok(line) => graph.take_line(line.trim()),
            Err(_) => graph.say(Fault::NotUtf8, ""),
        }
    }
    graph.find_missing_entities();
    graph
}

impl Graph {
    /// Adds a fault of `part` of the line.
    fn say(&mut self, fault: Fault, part: impl Into<String>) {
        self.findings.push((self.line, fault, part.into()));
    }

    /// SMJ-1: adds the content of a line, or a finding.
    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        if line.len() > LINE_BYTES_MAX {
            self.say(Fault::TooLong, "");
            return;
        }
        match parse_within(line, DEPTH_MAX) {
            Ok(json) => self.take(json),
            Err(JsonError::TooDeep) => self.say(Fault::TooDeep, ""),
            Err(JsonError::KeyTwice(key)) => self.say(Fault::KeyTwice, key),
            Err(JsonError::NotJson) => self.take_several(line),
        }
    }

    /// Reads a line that two concurrent writers mixed: several values, or the end of one and another whole one.
    fn take_several(&mut self, line: &str) {
        let (mut values, mut rest) = (Vec::new(), line);
        while let Some(length) = balanced_end(rest.as_bytes()).filter(|_| rest.starts_with('{')) {
            let Ok(json) = parse_within(&rest[..length], DEPTH_MAX) else {
                break;
            };
            values.push(json);
            rest = rest[length..].trim_start();
        }
        if values.len() > 1 {
            self.say(Fault::SeveralValues, values.len().to_string());
        }
        for json in values {
            self.take(json);
        }
        if !rest.is_empty() {
            self.say(Fault::Incomplete, "");
        }
    }

    fn take(&mut self, json: Json) {
        let Json::Object(mut map) = json else {
            self.say(Fault::NotAnObject, "");
            return;
        };
        match map.shift_remove("type").as_ref().and_then(Json::as_str) {
            Some("entity") => self.take_entity(map),
            Some("relation") => self.take_relation(map),
            _ => self.say(Fault::OtherType, ""),
        }
    }

    /// Removes a text field; reports a missing one.
    fn text(&mut self, map: &mut Map<String, Json>, field: &str) -> Option<String> {
        match map.shift_remove(field) {
            Some(Json::String(text)) if !text.is_empty() => Some(text),
            _ => {
                self.say(Fault::NoText, field);
                None
            }
        }
    }

    fn take_entity(&mut self, mut map: Map<String, Json>) {
        let Some(name) = self.text(&mut map, "name") else {
            return;
        };
        let class = self.text(&mut map, "entityType");
        let observations = self.observations(map.shift_remove("observations"));
        let place = *self.places.entry(name.clone()).or_insert(self.entities.len());
        if let Some(held) = self.entities.get_mut(place) {
            for (key, value) in map {
                held.other.entry(key).or_insert(value);
            }
            let is_other = class.is_some() && held.class.is_some() && held.class != class;
            held.class = held.class.take().or(class);
            self.say(Fault::EntityTwice, "");
            if is_other {
                self.say(Fault::EntityTypes, "");
            }
        } else {
            self.entities.push(Entity {
                name,
                class,
                observations: Vec::new(),
                other: map,
                line: self.line,
            });
        }
        for observation in observations {
            if self.observed.insert((place, observation.clone())) {
                self.entities[place].observations.push(observation);
            }
        }
    }

    fn observations(&mut self, json: Option<Json>) -> Vec<String> {
        let Some(Json::Array(items)) = json else {
            self.say(Fault::NoText, "observations");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (place, item) in items.into_iter().enumerate() {
            match item {
                Json::String(text) => texts.push(text),
                _ => self.say(Fault::NoObservation, place.to_string()),
            }
        }
        texts
    }

    fn take_relation(&mut self, mut map: Map<String, Json>) {
        let [from, to, class] = ["from", "to", "relationType"].map(|field| self.text(&mut map, field));
        let (Some(from), Some(to), Some(class)) = (from, to, class) else {
            return;
        };
        let parts = [from, class, to];
        if !self.related.insert(parts.clone()) {
            self.say(Fault::RelationTwice, "");
            return;
        }
        self.relations.push(Relation {
            parts,
            other: map,
            line: self.line,
        });
    }

    /// Adds a finding for each relation to a missing entity. It runs at the end of the file, because an entity may come
    /// after its relations.
    fn find_missing_entities(&mut self) {
        for Relation { parts, line, .. } in &self.relations {
            for name in [&parts[0], &parts[2]] {
                if !self.places.contains_key(name) {
                    self.findings.push((*line, Fault::NoEntity, name.clone()));
                }
            }
        }
        self.findings.sort_by_key(|(line, ..)| *line);
    }
}

#[cfg(test)]
mod tests;
