//! Reader of the graph, line by line.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::{Entity, Graph, GraphFinding, LineFinding, Relation};
use crate::ingest::json::{JsonError, balanced_end, parse_within};

/// The longest line, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The deepest JSON of a line.
const DEPTH_MAX: usize = 64;

/// Reads a file.
pub(super) fn read_graph(bytes: &[u8]) -> Graph {
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
    /// The observations of each entity, so that long lists stay linear.
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

    /// Two concurrent writers leave several values on a line, or the end of one and another.
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

    /// The graph, with findings for relations to missing entities. Entities may follow their relations.
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
