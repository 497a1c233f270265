//! The objects of a foreign file as objects of Treering.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - IMP-2: a name of the other system always becomes the same id, and no two names become one id.

use super::foreign::ForeignFinding;
use crate::agent::item::{KNOWN, MADE_BY_VERBS, known_kind};
use crate::digest::{keyed, to_hex};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::value_from_json;
use crate::object::{Attributes, Id, NewObject, Scope};

/// The attribute of a fact about two things: a map `{from, type, to}`.
pub(super) const RELATION: &str = "relation";
/// The prefix of foreign attributes whose names have another meaning in Treering.
pub(super) const FOREIGN: &str = "snap.";

/// An object to import.
pub(super) struct Incoming {
    /// Its place in the file.
    pub(super) at: String,
    pub(super) object: NewObject,
}

/// The content of a file, as objects.
#[derive(Default)]
pub(super) struct Mapped {
    pub(super) incoming: Vec<Incoming>,
    /// Earlier versions, for history.
    pub(super) past: Vec<NewObject>,
    pub(super) findings: Vec<ForeignFinding>,
}

impl Mapped {
    pub(super) fn say(&mut self, at: impl Into<String>, what: impl Into<String>) {
        let (at, what) = (at.into(), what.into());
        self.findings.push(ForeignFinding { at, what });
    }

    /// Adds an object, or a finding if its name became no id.
    pub(super) fn push(
        &mut self,
        at: String,
        id: Result<Id>,
        kind: &'static str,
        scope: &Scope,
        text: String,
        attributes: Attributes,
    ) {
        match id {
            Ok(id) => {
                let mut object = NewObject::new(id, known_kind(kind));
                object.scope = scope.clone();
                object.content = Some(text);
                object.attributes = attributes;
                self.incoming.push(Incoming { at, object });
            }
            Err(error) => self.say(at, error.message()),
        }
    }
}

/// Whether an error concerns one part of a file and no other. A missing project concerns the whole file.
pub(super) fn is_partial(error: &Error) -> bool {
    error.code() == ErrorCode::Erased
        || (error.kind() == ErrorKind::InvalidInput && error.code() != ErrorCode::NoPlace)
}

/// The error of a file that cannot be read at all.
pub(super) fn unreadable(why: impl Into<String>) -> Error {
    Error::invalid(why)
        .with_code(ErrorCode::Unreadable)
        .with_hint("see --format for what can be read")
}

/// The mark of a text in an id. The key keeps others than the store's owner from testing guesses.
pub(super) fn mark_of(key: &[u8; 32], text: &str) -> String {
    to_hex(&keyed(key, text.as_bytes())[..16])
}

/// IMP-2: the id of a name: the name itself where an id can hold it, else its mark.
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

/// Attributes of the other system, with a prefix where Treering gives a name another meaning.
pub(super) fn other_attributes(
    other: &serde_json::Map<String, serde_json::Value>,
    at: &str,
    mapped: &mut Mapped,
) -> Attributes {
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
