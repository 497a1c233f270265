//! The file of the MCP reference server `memory`: a graph of entities and relations in JSON Lines.
//!
//! One bad line never costs the others, and a bad part of an entity never costs the rest of it: everything that
//! can be read is taken, and everything else is said with its line.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - SMJ-1: every line that is not empty is in the graph or in a finding.
//! - SMJ-2: names of entities are unique; a second entity of a name adds its observations to the first.

mod read;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value as Json};

use self::read::read_graph;
use super::foreign::Foreign;
use super::mapped::{Mapped, RELATION, id_for, mark_of, other_attributes};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::object::Value;

/// The kind of an entity.
const ENTITY: &str = "entity";

/// A thing with what is known about it.
#[derive(Clone, PartialEq, Debug)]
struct Entity {
    /// Its name; not empty.
    name: String,
    /// What it is; `None` if the file does not say.
    entity_type: Option<String>,
    /// What is known about it, each once, in order.
    observations: Vec<String>,
    /// Other fields of its line.
    other: Map<String, Json>,
    /// Its line, from 1.
    line: usize,
}

/// What one thing is to another.
#[derive(Clone, PartialEq, Debug)]
struct Relation {
    /// The name of the first thing.
    from: String,
    /// The name of the other.
    to: String,
    /// What the first is to the other.
    relation_type: String,
    /// Other fields of its line.
    other: Map<String, Json>,
    /// Its line, from 1.
    line: usize,
}

/// What a file holds.
#[derive(Clone, PartialEq, Default, Debug)]
struct Graph {
    /// The entities, in the order of their first lines.
    entities: Vec<Entity>,
    /// The relations, each once, in their order.
    relations: Vec<Relation>,
    /// What was not as it should be.
    findings: Vec<LineFinding>,
}

/// What was found on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
struct LineFinding {
    /// The line, from 1.
    line: usize,
    /// What it is.
    finding: GraphFinding,
}

/// Something that was not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
enum GraphFinding {
    /// The line has more bytes than are read, and is left out.
    TooLong,
    /// The line is not UTF-8 and is left out.
    NotText,
    /// The line, or what is left of it, is not whole JSON and is left out.
    NotJson,
    /// The line is nested too deep and is left out.
    TooDeep,
    /// A key stands twice in an object; the line is left out.
    KeyTwice(String),
    /// The line holds more than one value; all are read.
    SeveralValues(usize),
    /// A value is not an object and is left out.
    NotAnObject,
    /// The field `type` is neither `entity` nor `relation`; the value is left out.
    UnknownType,
    /// A field that has to be text is missing or is not text. Without its name an entity is left out, and without one
    /// of its three fields a relation; an entity without a type is taken.
    FieldWrong(&'static str),
    /// An observation is not text and is left out.
    ObservationWrong {
        /// Its place, from 0.
        place: usize,
    },
    /// An entity of this name stands before it; its observations are added there.
    EntityTwice,
    /// The two entities of this name have different types; the first holds.
    TypesDiffer,
    /// The same relation stands before it.
    RelationTwice,
    /// A relation names an entity that the file does not hold; it is taken.
    NoSuchEntity(String),
}

impl fmt::Display for GraphFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the line is too long and is left out"),
            Self::NotText => f.write_str("the line is not UTF-8 and is left out"),
            Self::NotJson => f.write_str("it is not whole JSON and is left out"),
            Self::TooDeep => f.write_str("it is nested too deep and is left out"),
            Self::KeyTwice(key) => write!(f, "the key `{key}` stands twice; the line is left out"),
            Self::SeveralValues(count) => write!(f, "the line holds {count} values"),
            Self::NotAnObject => f.write_str("it is not an object and is left out"),
            Self::UnknownType => f.write_str("its type is neither `entity` nor `relation`; it is left out"),
            Self::FieldWrong(field) => write!(f, "the field `{field}` is missing or is not text"),
            Self::ObservationWrong { place } => write!(f, "observation {place} is not text and is left out"),
            Self::EntityTwice => f.write_str("the entity stands twice; its observations are put together"),
            Self::TypesDiffer => f.write_str("the entity stands twice with different types; the first holds"),
            Self::RelationTwice => f.write_str("the relation stands twice"),
            Self::NoSuchEntity(name) => {
                write!(f, "the relation names `{name}`, which the file does not hold")
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

#[cfg(test)]
mod tests;
