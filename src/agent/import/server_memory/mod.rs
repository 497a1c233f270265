//! Reads the file of the MCP reference server `memory`: a graph of entities and relations in JSON Lines.
//!
//! An invalid line does not affect other lines, and an invalid field does not affect other fields of its entity. Each
//! fault is reported as a finding with its line number.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SMJ-1: every nonempty line adds its content to the graph, or adds a finding.
//! - SMJ-2: names of entities are unique. A second entity with the same name adds its observations to the first.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::mapping::{DEPTH_MAX, FINDINGS_MAX, Foreign, Mapped, id_for, other_attributes, text_of};
use crate::agent::item::texts;
use crate::agent::vocabulary::attribute;
use crate::error::Result;
use crate::ingest::json::{JsonError, balanced_end, parse_within};

/// The kind of the object of an entity, and the folder of its id.
const ENTITY: &str = "entity";
/// The maximum length of a line, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

named! {
    /// A fault of a line. The affected part of the line replaces `{}` in the message.
    enum Fault {
        NotUtf8 => "the line is not UTF-8 and is ignored",
        TooLong => "the line is too long and is ignored",
        TooDeep => "the value is nested too deep and is ignored",
        KeyTwice => "the key `{}` is repeated; the value is ignored",
        SeveralValues => "the line holds {} values",
        BadValue => "the value has a number out of range or an unpaired surrogate and is ignored",
        Incomplete => "the value is incomplete JSON and is ignored",
        NotAnObject => "the value is not an object and is ignored",
        OtherType => "the type is neither `entity` nor `relation`; the value is ignored",
        NoText => "the field `{}` is missing or has the wrong type",
        EntityTwice => "the entity repeats an earlier one; the observations of both are merged",
        EntityTypes => "the entity repeats an earlier one with another type; the first type is used",
        NoObservation => "observation {} is not text and is ignored",
        FieldTwice => "the field `{}` differs from an earlier line of the entity and is ignored",
        RelationTwice => "the relation repeats an earlier one and is ignored",
        NoEntity => "the relation names the entity `{}`, which is not in the file; the relation is stored",
    }
}

impl Fault {
    /// Returns whether a part of the file is not imported. An entity without a type or observations is imported.
    fn loses_data(self, part: &str) -> bool {
        match self {
            Self::SeveralValues
            | Self::EntityTwice
            | Self::EntityTypes
            | Self::RelationTwice
            | Self::NoEntity => false,
            Self::NoText => !["entityType", "observations"].contains(&part),
            _ => true,
        }
    }
}

/// An entity.
#[derive(PartialEq, Debug)]
struct Entity {
    /// The name of the entity, which is not empty.
    name: String,
    /// The type of the entity; `None` if the file contains no type.
    class: Option<String>,
    /// The observations in order, without duplicates.
    observations: Vec<String>,
    /// The other fields on the line of the entity.
    other: Map<String, Json>,
    /// The number of the line of the entity, from 1.
    line: usize,
}

/// A relation between two entities.
#[derive(PartialEq, Debug)]
struct Relation {
    /// The name of the source entity, the type of the relation, and the name of the target entity.
    parts: [String; 3],
    /// The other fields on the line of the relation.
    other: Map<String, Json>,
    /// The number of the line of the relation, from 1.
    line: usize,
}

/// The graph that a file contains, and the state of its reader.
#[derive(PartialEq, Default, Debug)]
struct Graph {
    /// The entities, in the order of their first lines.
    entities: Vec<Entity>,
    /// The relations in order, without duplicates.
    relations: Vec<Relation>,
    /// The first faults of the file, each with its line number and the affected part of the line.
    findings: Vec<(usize, Fault, String)>,
    /// The number of faults beyond the maximum, and how many of them lose data.
    omitted: [u64; 2],
    /// The number of the line that is being read, from 1.
    line: usize,
    /// The index in `entities` of each name.
    places: HashMap<String, usize>,
    /// Pairs of the index of an entity and one of its observations. The set detects repeated observations.
    observed: HashSet<(usize, String)>,
    related: HashSet<[String; 3]>,
}

/// Maps a graph to objects. Each entity becomes an object of the kind `entity`, and each relation becomes a fact.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let scope = foreign.usual_scope()?;
    let graph = read_graph(foreign.bytes);
    let [omitted, refused] = graph.omitted;
    let mut mapped = Mapped {
        refused,
        omitted,
        ..Mapped::default()
    };
    for (line, fault, part) in graph.findings {
        let (at, what) = (format!("line {line}"), fault.name().replace("{}", &part));
        if fault.loses_data(&part) {
            mapped.refuse(at, what);
        } else {
            mapped.say(at, what);
        }
    }
    for entity in graph.entities {
        let at = format!("line {}", entity.line);
        let title = match &entity.class {
            Some(class) => format!("{} ({class})", entity.name),
            None => entity.name.clone(),
        };
        let text = [vec![title], entity.observations].concat().join("\n");
        let mut attributes = other_attributes(entity.other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, entity.name.as_str()));
        if let Some(tags) = entity.class.and_then(|class| texts(&[class])) {
            drop(attributes.insert(attribute::TAGS, tags));
        }
        let id = id_for(key, &scope, ENTITY, &entity.name);
        mapped.push(at, id, ENTITY, &scope, text, attributes);
    }
    for Relation { parts, other, line } in graph.relations {
        let at = format!("line {line}");
        let attributes = other_attributes(other, &at, &mut mapped);
        mapped.push_relation(at, key, &scope, parts, attributes);
    }
    Ok(mapped)
}

/// Reads all lines of a file.
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
    /// Adds a fault of the current line. `part` is the affected part of the line. Counts faults beyond the maximum, but
    /// does not store them.
    fn say(&mut self, fault: Fault, part: impl Into<String>) {
        let part = part.into();
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push((self.line, fault, part));
        } else {
            self.omitted[0] += 1;
            self.omitted[1] += u64::from(fault.loses_data(&part));
        }
    }

    /// SMJ-1: adds the content of a line to the graph, or adds a finding.
    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        if line.len() > LINE_BYTES_MAX {
            self.say(Fault::TooLong, "");
            return;
        }
        match parse_within(line, DEPTH_MAX) {
            Err(JsonError::NotJson) => self.take_several(line),
            parsed => self.take_parsed(parsed),
        }
    }

    /// Adds a value to the graph, or adds a finding.
    fn take_parsed(&mut self, parsed: std::result::Result<Json, JsonError>) {
        match parsed {
            Ok(json) => self.take(json),
            Err(JsonError::TooDeep) => self.say(Fault::TooDeep, ""),
            Err(JsonError::KeyTwice(key)) => self.say(Fault::KeyTwice, key),
            Err(JsonError::BadValue) => self.say(Fault::BadValue, ""),
            Err(JsonError::NotJson) => self.say(Fault::Incomplete, ""),
        }
    }

    /// Reads a line with several JSON values, which two concurrent writers may have written. Reads the complete values,
    /// and adds a finding for an incomplete value.
    fn take_several(&mut self, line: &str) {
        let (mut values, mut rest) = (Vec::new(), line);
        while let Some(length) = balanced_end(rest.as_bytes()).filter(|_| rest.starts_with('{')) {
            let parsed = parse_within(&rest[..length], DEPTH_MAX);
            if parsed == Err(JsonError::NotJson) {
                break;
            }
            values.push(parsed);
            rest = rest[length..].trim_start();
        }
        if values.len() > 1 {
            self.say(Fault::SeveralValues, values.len().to_string());
        }
        for parsed in values {
            self.take_parsed(parsed);
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

    /// Removes and returns a text field. Adds a finding if the field is missing or not text.
    fn text(&mut self, map: &mut Map<String, Json>, field: &str) -> Option<String> {
        let text = text_of(map, field);
        if text.is_none() {
            self.say(Fault::NoText, field);
        }
        text
    }

    fn take_entity(&mut self, mut map: Map<String, Json>) {
        let Some(name) = self.text(&mut map, "name") else {
            return;
        };
        let class = self.text(&mut map, "entityType");
        let observations = self.observations(&mut map);
        let place = *self.places.entry(name.clone()).or_insert(self.entities.len());
        if let Some(held) = self.entities.get_mut(place) {
            let mut lost = Vec::new();
            for (key, value) in map {
                if held.other.get(&key).is_some_and(|first| *first != value) {
                    lost.push(key);
                } else {
                    held.other.insert(key, value);
                }
            }
            let is_other = class.is_some() && held.class.is_some() && held.class != class;
            held.class = held.class.take().or(class);
            self.say(Fault::EntityTwice, "");
            for key in lost {
                self.say(Fault::FieldTwice, key);
            }
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

    /// Removes and returns the observations: a list, or a single text. Another value becomes an attribute.
    fn observations(&mut self, map: &mut Map<String, Json>) -> Vec<String> {
        let items = match map.get_mut("observations").map(Json::take) {
            Some(Json::Array(items)) => items,
            Some(text @ Json::String(_)) => vec![text],
            other => {
                map.extend(other.map(|value| ("observations".to_owned(), value)));
                self.say(Fault::NoText, "observations");
                return Vec::new();
            }
        };
        map.shift_remove("observations");
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

    /// Adds a finding for each relation to a missing entity. Runs after the last line, because an entity may follow its
    /// relations.
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
