//! The file of the MCP reference server `memory`: a graph of entities and relations in JSON Lines.
//!
//! One bad line never costs the others, and a bad part of an entity never costs the rest of it: everything that
//! can be read is taken, and everything else is said with its line.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - SMJ-1: every line that is not empty is in the graph or in a finding.
//! - SMJ-2: names of entities are unique; a second entity of a name adds its observations to the first.

mod read;

use std::fmt;

use serde_json::{Map, Value as Json};

pub use self::read::read_graph;

/// A thing with what is known about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Entity {
    /// Its name; not empty.
    pub name: String,
    /// What it is; `None` if the file does not say.
    pub entity_type: Option<String>,
    /// What is known about it, each once, in order.
    pub observations: Vec<String>,
    /// Other fields of its line.
    pub other: Map<String, Json>,
    /// Its line, from 1.
    pub line: usize,
}

/// What one thing is to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation {
    /// The name of the first thing.
    pub from: String,
    /// The name of the other.
    pub to: String,
    /// What the first is to the other.
    pub relation_type: String,
    /// Other fields of its line.
    pub other: Map<String, Json>,
    /// Its line, from 1.
    pub line: usize,
}

/// What a file holds.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Graph {
    /// The entities, in the order of their first lines.
    pub entities: Vec<Entity>,
    /// The relations, each once, in their order.
    pub relations: Vec<Relation>,
    /// What was not as it should be.
    pub findings: Vec<LineFinding>,
}

/// What was found on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineFinding {
    /// The line, from 1.
    pub line: usize,
    /// What it is.
    pub finding: GraphFinding,
}

/// Something that was not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GraphFinding {
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

#[cfg(test)]
mod tests;
