//! The file of the MCP reference server `memory`: a graph of entities and relations in JSON Lines.
//!
//! A bad line does not affect other lines, and a bad field does not affect other fields of its entity. Every fault is a
//! finding with its line.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - SMJ-1: the content of every nonempty line is in the graph or in a finding.
//! - SMJ-2: names of entities are unique. A second entity with the same name adds its observations to the first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde_json::{Map, Value as Json};

use super::{Foreign, Mapped, RELATION, id_for, mark_of, other_attributes};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::json::{JsonError, balanced_end, parse_within};
use crate::object::Value;

/// The kind of an entity.
const ENTITY: &str = "entity";

/// An entity.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::struct_field_names, reason = "the names of the imported format")]
struct Entity {
    /// Its name; not empty.
    name: String,
    /// Its type, if the file states one.
    entity_type: Option<String>,
    /// Its observations, each once, in order.
    observations: Vec<String>,
    /// Other fields of its line.
    other: Map<String, Json>,
    /// Its line, from 1.
    line: usize,
}

/// A relation between two entities.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::struct_field_names, reason = "the names of the imported format")]
struct Relation {
    /// The name of the first entity.
    from: String,
    /// The name of the other entity.
    to: String,
    /// Its type.
    relation_type: String,
    /// Other fields of its line.
    other: Map<String, Json>,
    /// Its line, from 1.
    line: usize,
}

/// The content of a file.
#[derive(Clone, PartialEq, Default, Debug)]
struct Graph {
    /// The entities, in the order of their first lines.
    entities: Vec<Entity>,
    /// The relations, each once, in their order.
    relations: Vec<Relation>,
    /// Faults of the file.
    findings: Vec<LineFinding>,
}

/// A fault on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
struct LineFinding {
    /// The line, from 1.
    line: usize,
    /// Its kind.
    finding: GraphFinding,
}

/// The kind of a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
enum GraphFinding {
    /// The line is too long; it is ignored.
    TooLong,
    /// The line is not UTF-8; it is ignored.
    NotText,
    /// The line, or its rest, is not whole JSON; it is ignored.
    NotJson,
    /// The line is nested too deep; it is ignored.
    TooDeep,
    /// A key occurs twice in an object; the line is ignored.
    KeyTwice(String),
    /// The line holds several values; all are read.
    SeveralValues(usize),
    /// A value is not an object; it is ignored.
    NotAnObject,
    /// The field `type` is neither `entity` nor `relation`; the value is ignored.
    UnknownType,
    /// A text field is missing or not text. An entity without a name, or a relation without one of its fields, is
    /// ignored.
    FieldWrong(&'static str),
    /// An observation is not text; it is ignored.
    ObservationWrong {
        /// Its place, from 0.
        place: usize,
    },
    /// The entity occurs twice; the first gets all observations.
    EntityTwice,
    /// The two entities have different types; the first type counts.
    TypesDiffer,
    /// The relation occurs twice.
    RelationTwice,
    /// A relation names an entity that is not in the file; the relation is imported.
    NoSuchEntity(String),
}

impl fmt::Display for GraphFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the line is too long and is ignored"),
            Self::NotText => f.write_str("the line is not UTF-8 and is ignored"),
            Self::NotJson => f.write_str("the value is incomplete JSON and is ignored"),
            Self::TooDeep => f.write_str("the value is nested too deep and is ignored"),
            Self::KeyTwice(key) => write!(f, "the key `{key}` occurs twice; the line is ignored"),
            Self::SeveralValues(count) => write!(f, "the line holds {count} values"),
            Self::NotAnObject => f.write_str("the value is not an object and is ignored"),
            Self::UnknownType => {
                f.write_str("the type is neither `entity` nor `relation`; the value is ignored")
            }
            Self::FieldWrong(field) => write!(f, "the field `{field}` is missing or not text"),
            Self::ObservationWrong { place } => write!(f, "observation {place} is not text and is ignored"),
            Self::EntityTwice => f.write_str("the entity occurs twice; its observations are merged"),
            Self::TypesDiffer => {
                f.write_str("the entity occurs twice with different types; the first type counts")
            }
            Self::RelationTwice => f.write_str("the relation occurs twice"),
            Self::NoSuchEntity(name) => {
                write!(f, "the relation names `{name}`, which is not in the file")
            }
        }
    }
}

/// Maps a graph: each entity becomes an object, each relation a fact.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let scope = foreign.usual_scope()?;
    let graph = read_graph(foreign.bytes);
    let mut mapped = Mapped::default();
    for LineFinding { line, finding } in graph.findings {
        mapped.say(format!("line {line}"), finding.to_string());
    }
    for entity in graph.entities {
        let at = format!("line {}", entity.line);
        let title = match &entity.entity_type {
            Some(what) => format!("{} ({what})", entity.name),
            None => entity.name.clone(),
        };
        let text = [vec![title], entity.observations].concat().join("\n");
        let mut attributes = other_attributes(&entity.other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, entity.name.as_str()));
        if let Some(tags) = entity.entity_type.and_then(|what| texts(&[what])) {
            drop(attributes.insert(attribute::TAGS, tags));
        }
        let id = id_for(key, &scope, ENTITY, &entity.name);
        mapped.push(at, id, ENTITY, &scope, text, attributes);
    }
    for relation in graph.relations {
        let at = format!("line {}", relation.line);
        let parts = [&relation.from, &relation.relation_type, &relation.to];
        let text = parts.map(String::as_str).join(" ");
        // The lengths keep the names of two relations apart.
        let name = parts.map(|part| format!("{}:{part}", part.len())).concat();
        let mut attributes = other_attributes(&relation.other, &at, &mut mapped);
        drop(attributes.insert(attribute::SUBJECT, relation.from.as_str()));
        let named = ["from", "type", "to"].map(str::to_owned).into_iter();
        let values = parts.map(|part| Value::Text(part.clone()));
        let map: BTreeMap<String, Value> = named.zip(values).collect();
        drop(attributes.insert(RELATION, Value::Map(map)));
        let id = id_for(key, &scope, RELATION, &mark_of(key, &name));
        mapped.push(at, id, kind::FACT, &scope, text, attributes);
    }
    Ok(mapped)
}

/// The longest line, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The deepest nesting of JSON on a line.
const DEPTH_MAX: usize = 64;

/// Reads a file.
fn read_graph(bytes: &[u8]) -> Graph {
    let mut reader = Reader::default();
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        reader.line = number;
        match std::str::from_utf8(line) {
            Ok(line) => reader.take_line(line.trim()),
            Err(_) => reader.say(GraphFinding::NotText),
        }
    }
    reader.graph_with_loose_ends()
}

#[derive(Default)]
struct Reader {
    graph: Graph,
    line: usize,
    /// The index of each entity by its name.
    places: HashMap<String, usize>,
    /// The observations of each entity, which keep the time linear for long lists.
    observed: Vec<HashSet<String>>,
    related: HashSet<(String, String, String)>,
}

impl Reader {
    fn say(&mut self, finding: GraphFinding) {
        let line = self.line;
        self.graph.findings.push(LineFinding { line, finding });
    }

    /// SMJ-1: adds the content of a line, or a finding.
    fn take_line(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        if line.len() > LINE_BYTES_MAX {
            self.say(GraphFinding::TooLong);
            return;
        }
        match parse_within(line, DEPTH_MAX) {
            Ok(json) => self.take(json),
            Err(JsonError::TooDeep { .. }) => self.say(GraphFinding::TooDeep),
            Err(JsonError::KeyTwice(key)) => self.say(GraphFinding::KeyTwice(key)),
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
            self.say(GraphFinding::SeveralValues(values.len()));
        }
        for json in values {
            self.take(json);
        }
        if !rest.is_empty() {
            self.say(GraphFinding::NotJson);
        }
    }

    fn take(&mut self, json: Json) {
        let Json::Object(mut map) = json else {
            self.say(GraphFinding::NotAnObject);
            return;
        };
        match map.shift_remove("type").as_ref().and_then(Json::as_str) {
            Some("entity") => self.take_entity(map),
            Some("relation") => self.take_relation(map),
            _ => self.say(GraphFinding::UnknownType),
        }
    }

    /// Removes a text field; reports a missing one.
    fn text(&mut self, map: &mut Map<String, Json>, field: &'static str) -> Option<String> {
        match map.shift_remove(field) {
            Some(Json::String(text)) if !text.is_empty() => Some(text),
            _ => {
                self.say(GraphFinding::FieldWrong(field));
                None
            }
        }
    }

    fn take_entity(&mut self, mut map: Map<String, Json>) {
        let Some(name) = self.text(&mut map, "name") else {
            return;
        };
        let entity_type = self.text(&mut map, "entityType");
        let observations = self.observations(map.shift_remove("observations"));
        let place = match self.places.get(&name) {
            Some(&place) => {
                self.say(GraphFinding::EntityTwice);
                let held = &mut self.graph.entities[place];
                let differs =
                    held.entity_type.is_some() && entity_type.is_some() && held.entity_type != entity_type;
                held.entity_type = held.entity_type.take().or(entity_type);
                for (key, value) in map {
                    held.other.entry(key).or_insert(value);
                }
                if differs {
                    self.say(GraphFinding::TypesDiffer);
                }
                place
            }
            None => {
                self.places.insert(name.clone(), self.graph.entities.len());
                self.observed.push(HashSet::new());
                self.graph.entities.push(Entity {
                    name,
                    entity_type,
                    observations: Vec::new(),
                    other: map,
                    line: self.line,
                });
                self.graph.entities.len() - 1
            }
        };
        for observation in observations {
            if self.observed[place].insert(observation.clone()) {
                self.graph.entities[place].observations.push(observation);
            }
        }
    }

    fn observations(&mut self, json: Option<Json>) -> Vec<String> {
        let Some(Json::Array(items)) = json else {
            self.say(GraphFinding::FieldWrong("observations"));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (place, item) in items.into_iter().enumerate() {
            match item {
                Json::String(text) => texts.push(text),
                _ => self.say(GraphFinding::ObservationWrong { place }),
            }
        }
        texts
    }

    fn take_relation(&mut self, mut map: Map<String, Json>) {
        let fields = ["from", "to", "relationType"].map(|field| self.text(&mut map, field));
        let [Some(from), Some(to), Some(relation_type)] = fields else {
            return;
        };
        if !self
            .related
            .insert((from.clone(), to.clone(), relation_type.clone()))
        {
            self.say(GraphFinding::RelationTwice);
            return;
        }
        self.graph.relations.push(Relation {
            from,
            to,
            relation_type,
            other: map,
            line: self.line,
        });
    }

    /// Returns the graph, with findings for relations to missing entities. Entities may come after their relations.
    fn graph_with_loose_ends(self) -> Graph {
        let Self {
            mut graph, places, ..
        } = self;
        for relation in &graph.relations {
            for name in [&relation.from, &relation.to] {
                if !places.contains_key(name) {
                    graph.findings.push(LineFinding {
                        line: relation.line,
                        finding: GraphFinding::NoSuchEntity(name.clone()),
                    });
                }
            }
        }
        graph.findings.sort_by_key(|finding| finding.line);
        graph
    }
}

#[cfg(test)]
mod tests;
