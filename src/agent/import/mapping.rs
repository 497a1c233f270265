//! The common part of the formats of other systems: the file, the objects to which it is mapped, and their ids.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::agent::blocks::FoundFile;
use crate::agent::item::{KNOWN, MADE_BY_VERBS, known_kind};
use crate::agent::scope::Place;
use crate::agent::session::extraction::FactScope;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::{keyed, to_hex};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::{JsonError, parse_within, value_from_json};
use crate::object::{Attributes, Id, NewObject, Scope, Value};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignFormat {
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
}

impl ForeignFormat {
    /// Returns the name of the format on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ServerMemory => "server-memory",
            Self::Mem0 => "mem0",
            Self::Letta => "letta",
            Self::BasicMemory => "basic-memory",
            Self::Odek(_) => "odek",
            Self::Snap => "snap",
        }
    }
}

/// A file, or a folder of files, of another system.
#[derive(Clone, Debug)]
pub(crate) struct Foreign<'a> {
    /// The format of the file.
    pub format: ForeignFormat,
    /// The content of the file; empty for a folder.
    pub bytes: &'a [u8],
    /// The files of a folder. Only [`ForeignFormat::BasicMemory`] is a folder.
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
pub(crate) struct ForeignFinding {
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

/// The objects to which a file is mapped.
#[derive(Default)]
pub(super) struct Mapped {
    /// The objects, each with its position in the file.
    pub(super) incoming: Vec<(String, NewObject)>,
    /// Earlier versions, which are added to history only.
    pub(super) past: Vec<NewObject>,
    pub(super) findings: Vec<ForeignFinding>,
}

impl Mapped {
    pub(super) fn say(&mut self, at: impl Into<String>, what: impl Into<String>) {
        let (at, what) = (at.into(), what.into());
        self.findings.push(ForeignFinding { at, what });
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
                self.say(at, error.message());
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

/// Reads a file that is one JSON value.
///
/// # Errors
/// `InvalidInput` (code `unreadable`) if the file is not UTF-8, not JSON, nested too deep, or repeats a key.
pub(super) fn read_json(bytes: &[u8]) -> Result<Json> {
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let byte = error.valid_up_to();
        unreadable(format!("the file is not UTF-8 text: byte {byte} is invalid"))
    })?;
    parse_within(text, DEPTH_MAX).map_err(|error| match error {
        JsonError::TooDeep => unreadable("the JSON of the file is nested too deep"),
        JsonError::KeyTwice(_) => unreadable("an object in the file has a key twice"),
        JsonError::NotJson => unreadable("the file is not one JSON value"),
    })
}

/// Returns the texts of a list, or the text of a single value.
pub(super) fn list_of_texts(json: Option<Json>) -> Vec<String> {
    match json {
        Some(Json::String(text)) if !text.is_empty() => vec![text],
        Some(Json::Array(list)) => list
            .into_iter()
            .flat_map(|one| list_of_texts(Some(one)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Removes and returns a text field that is not empty.
pub(super) fn text_of(fields: &mut Map<String, Json>, name: &str) -> Option<String> {
    match fields.shift_remove(name) {
        Some(Json::String(text)) if !text.is_empty() => Some(text),
        _ => None,
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

/// Converts the attributes of the other system. Adds a prefix to names that have another meaning in Treering.
pub(super) fn other_attributes(other: &Map<String, Json>, at: &str, mapped: &mut Mapped) -> Attributes {
    let mut attributes = Attributes::new();
    for (name, json) in other {
        let is_known =
            KNOWN.contains(&name.as_str()) || MADE_BY_VERBS.contains(&name.as_str()) || name == RELATION;
        let prefix = if is_known { FOREIGN } else { "" };
        match value_from_json(json) {
            Ok(value) => drop(attributes.insert(format!("{prefix}{name}"), value)),
            Err(error) => mapped.say(at, format!("`{name}` is ignored: {}", error.message())),
        }
    }
    attributes
}
