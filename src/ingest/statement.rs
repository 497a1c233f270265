//! What a file says of an object beyond what its format can: `:TREERING: {...}` in Org, `<!-- treering: {...} -->` in
//! Markdown. Exports write it, so that they come back as the same objects.
//!
//! The braces hold the fields of an object as a line of JSON has them, each only where it differs from what the
//! rest of the file says: `id`, `kind`, `scope`, `position`, `origin`, `derived_from`, `event_time`, `expires`,
//! `reserved`; `attributes`, of which null takes one away; `content`; `parent`, a heading further up; and `quoted`, for a
//! text that stands in the file with marks in front of what would else be structure.
//!
//! # Layer
//! L6, inside `ingest`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::json;
use crate::digest::ObjectDigest;
use crate::error::{Error, Result};
use crate::object::{Attributes, Id, Kind, NewObject, Origin, Position, Scope, Time, Value};

/// The property of Org and the word of Markdown comments.
pub(super) const NAME: &str = "TREERING";
/// Said of a file: it is no document, but a list of objects.
pub(super) const OBJECTS: &str = "objects";

/// A field that may be stated to be absent, which is not the same as not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stated<T> {
    #[default]
    Not,
    Absent,
    As(T),
}

/// Fields of an object that no format can say.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    pub(super) scope: Option<Scope>,
    pub(super) position: Stated<Position>,
    pub(super) origin: Option<Origin>,
    pub(super) derived_from: Option<Vec<ObjectDigest>>,
    pub(super) event_time: Option<Time>,
    pub(super) expires: Option<Time>,
    pub(super) reserved: Option<BTreeMap<u16, Vec<u8>>>,
}

impl Rest {
    /// Sets what is stated but scope, position and origin, which depend on what is around.
    pub(super) fn apply(&self, object: &mut NewObject) {
        if let Some(derived_from) = &self.derived_from {
            object.derived_from.clone_from(derived_from);
        }
        if let Some(reserved) = &self.reserved {
            object.reserved.clone_from(reserved);
        }
        object.event_time = self.event_time.or(object.event_time);
        object.expires = self.expires.or(object.expires);
    }
}

/// A statement, read.
#[derive(Clone, Debug, Default)]
pub(super) struct Statement {
    pub(super) id: Option<Id>,
    pub(super) kind: Option<Kind>,
    pub(super) parent: Option<Id>,
    pub(super) rest: Rest,
    pub(super) quoted: bool,
    /// Null takes an attribute away.
    attributes: Vec<(String, Value)>,
    content: Stated<String>,
}

impl Statement {
    /// Whether `text` is meant as one.
    pub(super) fn is_one(text: &str) -> bool {
        text.starts_with('{') && text.ends_with('}')
    }

    /// Reads `{...}`.
    ///
    /// # Errors
    /// `InvalidInput`: not JSON, a field that is not known or not of its type.
    pub(super) fn read(text: &str) -> Result<Self> {
        let Json::Object(mut fields) = json::parse(text)? else {
            return Err(Error::invalid("not a map of fields"));
        };
        let mut take = |name: &str| fields.shift_remove(name);
        let id = take("id")
            .map(|id| text_of("id", &id).and_then(Id::new))
            .transpose()?;
        let kind = take("kind")
            .map(|kind| text_of("kind", &kind).and_then(Kind::new))
            .transpose()?;
        let parent = take("parent")
            .map(|id| text_of("parent", &id).and_then(Id::new))
            .transpose()?;
        let quoted = take("quoted") == Some(Json::Bool(true));
        let content = match take("content") {
            None => Stated::Not,
            Some(Json::Null) => Stated::Absent,
            Some(content) => Stated::As(text_of("content", &content)?.to_owned()),
        };
        let attributes = match take("attributes") {
            Some(Json::Object(map)) => map
                .iter()
                .map(|(name, value)| Ok((name.clone(), json::value_from_json(value)?)))
                .collect::<Result<_>>()?,
            None => Vec::new(),
            Some(_) => return Err(Error::invalid("the field `attributes` is not a map")),
        };
        let no_position = fields.get("position") == Some(&Json::Null);
        // The others are those of a whole object, read as one.
        let stated = |name: &str| fields.contains_key(name);
        let (derived, reserved) = (stated("derived_from"), stated("reserved"));
        let mut whole = Map::from_iter([("id".to_owned(), "x".into()), ("kind".to_owned(), "x".into())]);
        whole.extend(fields.clone());
        let line = json::object_from_json(&Json::Object(whole))?;
        let object = line.object;
        if line.past {
            return Err(Error::invalid("the field `past` has no meaning here"));
        }
        Ok(Self {
            id,
            kind,
            parent,
            rest: Rest {
                scope: line.has_scope.then_some(object.scope),
                position: match object.position {
                    Some(position) => Stated::As(position),
                    None if no_position => Stated::Absent,
                    None => Stated::Not,
                },
                origin: line.origin,
                derived_from: derived.then_some(object.derived_from),
                event_time: object.event_time,
                expires: object.expires,
                reserved: reserved.then_some(object.reserved),
            },
            quoted,
            attributes,
            content,
        })
    }

    /// Corrects what the lines of the file say.
    pub(super) fn correct(self, attributes: &mut Attributes, content: &mut Option<String>) {
        for (name, value) in self.attributes {
            attributes.insert(name, value);
        }
        match self.content {
            Stated::Not => {}
            Stated::Absent => *content = None,
            Stated::As(stated) => *content = Some(stated),
        }
    }
}

fn text_of<'a>(name: &str, value: &'a Json) -> Result<&'a str> {
    value
        .as_str()
        .ok_or_else(|| Error::invalid(format!("the field `{name}` is not text")))
}
