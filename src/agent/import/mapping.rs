//! The common part of the formats of other systems: the file, the objects to which it is mapped, and their ids.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use crate::agent::blocks::FoundFile;
use crate::agent::item::{KNOWN, MADE_BY_VERBS, known_kind};
use crate::agent::scope::Place;
use crate::agent::session::extraction::FactScope;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::{keyed, to_hex};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::{JsonError, Parts, loose_time_from_json, parse_within, split, value_from_json};
use crate::object::{Attributes, Id, NewObject, Scope, Time, Value};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// The graph of the MCP reference server `memory`, in JSON Lines.
    ServerMemory,
    /// The memories of mem0, in JSON.
    Mem0,
    /// An agent file of Letta, in JSON.
    Letta,
    /// The notes of basic-memory: a folder of Markdown files.
    BasicMemory,
    /// A fact file of odek, about the person or the environment.
    Odek(FactScope),
    /// The `memory.snap` of the published core.
    Snap,
    /// The files of rules and memories of the coding agent with this name.
    AgentFiles(&'static str),
}

impl ForeignFormat {
    /// Returns the name of the format on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerMemory => "server-memory",
            Self::Mem0 => "mem0",
            Self::Letta => "letta",
            Self::BasicMemory => "basic-memory",
            Self::Odek(_) => "odek",
            Self::Snap => "snap",
            Self::AgentFiles(agent) => agent,
        }
    }
}

/// A file, or a folder of files, of another system.
#[derive(Clone, Debug)]
pub struct Foreign<'a> {
    /// The format of the file.
    pub format: ForeignFormat,
    /// The content of the file; empty for a folder.
    pub bytes: &'a [u8],
    /// The files of [`ForeignFormat::BasicMemory`] and [`ForeignFormat::AgentFiles`].
    pub files: &'a [FoundFile],
    /// The scope of all objects of the file. By default, facts about the person and objects of the published core get
    /// the scope `global`, and all other objects the scope of the project.
    pub scope: Option<Scope>,
    /// The current project.
    pub place: Place,
}

impl Foreign<'_> {
    /// Returns the scope of objects that do not name a scope.
    pub(super) fn usual_scope(&self) -> Result<Scope> {
        self.scope.clone().map_or_else(|| self.place.usual_scope(), Ok)
    }
}

/// A part of a file that was omitted, or imported with changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForeignFinding {
    /// The position of the part in the file: a line, an entry or a name.
    pub at: String,
    /// The reason.
    pub what: String,
}

/// The attribute that describes a relation between two entities: a map `{from, type, to}`.
pub(super) const RELATION: &str = "relation";
/// The prefix for attributes of the other system whose names have another meaning in Treering.
pub(super) const FOREIGN: &str = "snap.";
/// The maximum nesting depth of JSON in a file.
pub(super) const DEPTH_MAX: usize = 64;
/// The maximum number of findings. A file of many faults must not fill the memory.
pub(super) const FINDINGS_MAX: usize = 10_000;
/// The number from which a float no longer represents every integer.
const INTEGERS_MAX: f64 = (1_u64 << 53) as f64;

/// The objects to which a file is mapped.
#[derive(Default)]
pub(super) struct Mapped {
    /// The objects, each with its position in the file.
    pub(super) incoming: Vec<(String, NewObject)>,
    /// Earlier versions, which are added to history only.
    pub(super) past: Vec<NewObject>,
    pub(super) findings: Vec<ForeignFinding>,
    /// The files whose earlier items go if they are not among the objects, each with the scope of its items.
    pub(super) sources: Vec<(Scope, String)>,
    /// The number of parts of the file that cannot be mapped.
    pub(super) refused: u64,
    /// The number of findings beyond the maximum.
    pub(super) omitted: u64,
}

impl Mapped {
    /// Adds a finding. Counts findings beyond the maximum, but does not store them.
    pub(super) fn say(&mut self, at: impl Into<String>, what: impl Into<String>) {
        if self.findings.len() < FINDINGS_MAX {
            let (at, what) = (at.into(), what.into());
            self.findings.push(ForeignFinding { at, what });
        } else {
            self.omitted += 1;
        }
    }

    /// Adds a last finding with the number of the omitted ones.
    pub(super) fn say_omitted(&mut self) {
        if self.omitted > 0 {
            let what = format!("{} more findings are not listed", self.omitted);
            self.findings.push(ForeignFinding {
                at: "the file".to_owned(),
                what,
            });
        }
    }

    /// Adds a finding about a named part of a file that has no place in Treering, unless the part is empty.
    pub(super) fn leave_out(&mut self, name: &str, part: &str) {
        let is_empty = match split(part) {
            Ok(Parts::List(list)) => list.is_empty(),
            Ok(Parts::Map(map)) => map.is_empty(),
            Err(_) => matches!(part, "null" | "false" | "\"\""),
        };
        if !is_empty {
            self.say(name, "is not imported");
        }
    }

    /// Adds a finding about a part of the file that is not imported.
    pub(super) fn refuse(&mut self, at: impl Into<String>, what: impl Into<String>) {
        self.refused += 1;
        self.say(at, what);
    }

    /// Reads the part of a file that describes one `item`. Adds a finding if the part is not a JSON object.
    pub(super) fn object(&mut self, part: &str, at: &str, item: &str) -> Option<Map<String, Json>> {
        let why = match parse_within(part, DEPTH_MAX) {
            Ok(Json::Object(fields)) => return Some(fields),
            Ok(_) | Err(JsonError::NotJson) => "is not an object".to_owned(),
            Err(error) => reason(&error),
        };
        self.refuse(at, format!("the {item} {why} and is ignored"));
        None
    }

    /// Adds an object and returns it. If `id` is an error, adds a finding instead.
    pub(super) fn push(
        &mut self,
        at: String,
        id: Result<Id>,
        kind: &'static str,
        scope: &Scope,
        text: String,
        attributes: Attributes,
    ) -> Option<&mut NewObject> {
        match id {
            Ok(id) => {
                let mut object = NewObject::new(id, known_kind(kind));
                object.scope = scope.clone();
                object.content = Some(text);
                object.attributes = attributes;
                self.incoming.push((at, object));
                self.incoming.last_mut().map(|(_, object)| object)
            }
            Err(error) => {
                self.refuse(at, error.message());
                None
            }
        }
    }

    /// Adds a fact about the relation `[from, type, to]` of two entities.
    pub(super) fn push_relation(
        &mut self,
        at: String,
        key: &[u8; 32],
        scope: &Scope,
        parts: [String; 3],
        mut attributes: Attributes,
    ) {
        // The length prefixes make the name of a relation unambiguous.
        let name = parts
            .each_ref()
            .map(|part| format!("{}:{part}", part.len()))
            .concat();
        drop(attributes.insert(attribute::SUBJECT, parts[0].as_str()));
        let text = parts.join(" ");
        let named = ["from", "type", "to"].map(str::to_owned).into_iter();
        let map: BTreeMap<String, Value> = named.zip(parts.map(Value::Text)).collect();
        drop(attributes.insert(RELATION, Value::Map(map)));
        let id = id_for(key, scope, RELATION, &mark_of(key, &name));
        self.push(at, id, kind::FACT, scope, text, attributes);
    }
}

/// Checks whether an error affects only one part of a file. A missing project affects the whole file.
pub(super) fn is_partial(error: &Error) -> bool {
    error.code() == ErrorCode::Erased
        || (error.kind() == ErrorKind::InvalidInput && error.code() != ErrorCode::NoPlace)
}

/// Returns the error for a file of which no part can be read.
pub(super) fn unreadable(why: impl Into<String>) -> Error {
    Error::invalid(why)
        .with_code(ErrorCode::Unreadable)
        .with_hint("check that --format is the format of the file")
}

/// Splits a file that is one JSON list or map. [`Mapped::object`] reads a part.
///
/// # Errors
/// `InvalidInput` (code `unreadable`) if the file is not UTF-8, is neither a list nor a map, or repeats a key.
pub(super) fn read_parts(bytes: &[u8]) -> Result<Parts<'_>> {
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let byte = error.valid_up_to();
        unreadable(format!("the file is not UTF-8 text: byte {byte} is invalid"))
    })?;
    split(text).map_err(|error| {
        let syntax = serde_json::from_str::<IgnoredAny>(text).err();
        let place = syntax.map(|error| format!(": line {}, column {}", error.line(), error.column()));
        unreadable(format!(
            "the file {}{}",
            reason(&error),
            place.unwrap_or_default()
        ))
    })
}

/// Returns what is wrong with a JSON text, as the end of a sentence.
fn reason(error: &JsonError) -> String {
    match error {
        JsonError::NotJson => "is not one JSON list or object".to_owned(),
        JsonError::BadValue => "has a number out of range or an unpaired surrogate".to_owned(),
        JsonError::TooDeep => "is nested too deep".to_owned(),
        JsonError::KeyTwice(key) => format!("has the key `{key}` twice"),
    }
}

/// Removes and returns the list of texts, or the single text, in a field. A field with other values stays in `fields`,
/// and so becomes an attribute.
pub(super) fn texts_in(fields: &mut Map<String, Json>, name: &str) -> Vec<String> {
    let texts = match fields.get(name) {
        Some(Json::String(text)) => Some(vec![text.clone()]),
        Some(Json::Array(list)) => list.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let Some(mut texts) = texts else {
        return Vec::new();
    };
    fields.shift_remove(name);
    texts.retain(|text| !text.is_empty());
    texts
}

/// Removes and returns a text that is not empty. Another value stays in `fields`, and so becomes an attribute.
pub(super) fn text_of(fields: &mut Map<String, Json>, name: &str) -> Option<String> {
    let text = fields
        .get(name)?
        .as_str()
        .filter(|text| !text.is_empty())?
        .to_owned();
    fields.shift_remove(name);
    Some(text)
}

/// Removes and returns a time: a text, or a number of seconds. Adds a finding for another value, which stays in
/// `fields`, and so becomes an attribute.
pub(super) fn time_of(
    fields: &mut Map<String, Json>,
    name: &str,
    at: &str,
    mapped: &mut Mapped,
) -> Option<Time> {
    let value = fields.get(name).filter(|value| !value.is_null())?;
    match loose_time_from_json(value) {
        Ok(time) => {
            fields.shift_remove(name);
            Some(time)
        }
        Err(_) => {
            mapped.say(
                at,
                format!("`{name}` is not a time, and is stored as an attribute"),
            );
            None
        }
    }
}

/// Returns a keyed digest of a text, for use in an id. Only the owner of the store has the key, so other people cannot
/// test guesses of the text.
pub(super) fn mark_of(key: &[u8; 32], text: &str) -> String {
    to_hex(&keyed(key, text.as_bytes())[..16])
}

/// IMP-2: returns the id of a name. The id ends with the name if the result is a valid id, otherwise with a keyed
/// digest of the name.
pub(super) fn id_for(key: &[u8; 32], scope: &Scope, folder: &str, name: &str) -> Result<Id> {
    let scope = scope.as_str();
    let prefix = if scope == Scope::GLOBAL {
        format!("{folder}/")
    } else {
        let qualifier = scope.split_once(':').map_or(scope, |(_, name)| name);
        format!("{qualifier}/{folder}/")
    };
    let is_mark = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_mark && let Ok(id) = Id::new(&format!("{prefix}{name}")) {
        return Ok(id);
    }
    Id::new(&format!("{prefix}{}", mark_of(key, name)))
}

/// Converts integers beyond 64 bits with a sign to floats. Returns whether a value has a float that was perhaps an integer
/// whose last digits are lost.
fn round_integers(json: &mut Json) -> bool {
    match json {
        Json::Number(number) if number.as_i64().is_some() => false,
        Json::Number(number) => {
            let float = number.as_f64().unwrap_or_default();
            *json = Json::from(float);
            float.abs() >= INTEGERS_MAX
        }
        // `max` looks at every value, so all of them are converted.
        Json::Array(list) => list.iter_mut().map(round_integers).max() == Some(true),
        Json::Object(map) => map.values_mut().map(round_integers).max() == Some(true),
        _ => false,
    }
}

/// Converts the attributes of the other system. Adds a prefix to names that have another meaning in Treering.
pub(super) fn other_attributes(other: Map<String, Json>, at: &str, mapped: &mut Mapped) -> Attributes {
    let mut attributes = Attributes::new();
    for (name, mut json) in other {
        let is_known =
            KNOWN.contains(&name.as_str()) || MADE_BY_VERBS.contains(&name.as_str()) || name == RELATION;
        let prefix = if is_known { FOREIGN } else { "" };
        if round_integers(&mut json) {
            mapped.say(
                at,
                format!("`{name}` has a number above 2^53, which is stored as a float and may be rounded"),
            );
        }
        let mut name = format!("{prefix}{name}");
        while attributes.get(&name).is_some() {
            name.insert_str(0, FOREIGN);
        }
        match value_from_json(json) {
            Ok(value) => drop(attributes.insert(name, value)),
            Err(error) => mapped.say(at, format!("`{name}` is ignored: {}", error.message())),
        }
    }
    attributes
}
