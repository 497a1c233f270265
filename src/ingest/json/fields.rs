//! The fields of an object in JSON: all of them in a JSON line, or some of them at a heading.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{attribute_list, time_from_json};
use crate::digest::{ObjectDigest, from_hex};
use crate::error::{Error, Result};
use crate::ingest::text::shown;
use crate::object::{Attributes, Id, Kind, NewObject, Origin, Position, Scope, Time, Value};

/// A field of a file, which may be stated with a value, stated as absent, or not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ingest) enum Stated<T> {
    #[default]
    Not,
    Absent,
    As(T),
}

impl<T> Stated<T> {
    fn read(value: Json, read: impl FnOnce(Json) -> Result<T>) -> Result<Self> {
        match value {
            Json::Null => Ok(Self::Absent),
            value => read(value).map(Self::As),
        }
    }

    /// Returns the value, if the file states a value.
    pub(in crate::ingest) fn value(self) -> Option<T> {
        match self {
            Self::As(value) => Some(value),
            Self::Not | Self::Absent => None,
        }
    }
}

/// The stated fields of an object.
#[derive(Clone, Debug, Default)]
pub(in crate::ingest) struct Fields {
    pub(in crate::ingest) id: Option<Id>,
    pub(in crate::ingest) kind: Option<Kind>,
    pub(in crate::ingest) scope: Option<Scope>,
    pub(in crate::ingest) parent: Option<Id>,
    pub(in crate::ingest) position: Stated<Position>,
    pub(in crate::ingest) origin: Option<Origin>,
    pub(in crate::ingest) derived_from: Option<Vec<ObjectDigest>>,
    pub(in crate::ingest) event_time: Option<Time>,
    pub(in crate::ingest) expires: Option<Time>,
    pub(in crate::ingest) reserved: Option<BTreeMap<u16, Vec<u8>>>,
    /// The stated attributes; null removes an attribute.
    pub(in crate::ingest) attributes: Vec<(String, Value)>,
    pub(in crate::ingest) content: Stated<String>,
    /// Whether this is an earlier version, which is only for history.
    pub(in crate::ingest) past: bool,
    /// Whether the file quotes the content, so that the content is not parsed.
    pub(in crate::ingest) quoted: bool,
}

impl Fields {
    /// Reads a map of fields. The value null states that a field is absent.
    ///
    /// # Errors
    /// `InvalidInput`, with the name of the field, if a field is unknown or has the wrong type.
    pub(in crate::ingest) fn read(map: Map<String, Json>) -> Result<Self> {
        let mut fields = Self::default();
        for (name, value) in map {
            fields
                .set(&name, value)
                .map_err(|error| error.context(format!("field `{}`", shown(&name))))?;
        }
        Ok(fields)
    }

    fn set(&mut self, name: &str, value: Json) -> Result<()> {
        match name {
            "position" => self.position = Stated::read(value, |value| Position::new(text(&value)?))?,
            "content" => self.content = Stated::read(value, into_text)?,
            "derived_from" => self.derived_from = Some(digests(&value)?),
            "reserved" => self.reserved = Some(reserved(&value)?),
            _ if value.is_null() => {}
            "id" => self.id = Some(Id::new(text(&value)?)?),
            "kind" => self.kind = Some(Kind::new(text(&value)?)?),
            "scope" => self.scope = Some(Scope::new(text(&value)?)?),
            "parent" => self.parent = Some(Id::new(text(&value)?)?),
            "origin" => self.origin = Some(origin(text(&value)?)?),
            "event_time" => self.event_time = Some(time_from_json(&value)?),
            "expires" => self.expires = Some(time_from_json(&value)?),
            "attributes" => self.attributes = attribute_list(value)?,
            "past" => self.past = truth(&value)?,
            "quoted" => self.quoted = truth(&value)?,
            _ => {
                return Err(Error::invalid("no field of an object has this name")
                    .with_hint("put other values into `attributes`"));
            }
        }
        Ok(())
    }

    /// Sets the stated fields of an object. Scope, position and origin are excluded, because these fields also depend
    /// on the parent and siblings.
    pub(in crate::ingest) fn apply(&self, object: &mut NewObject) {
        if let Some(derived_from) = &self.derived_from {
            object.derived_from.clone_from(derived_from);
        }
        if let Some(reserved) = &self.reserved {
            object.reserved.clone_from(reserved);
        }
        object.event_time = self.event_time.or(object.event_time);
        object.expires = self.expires.or(object.expires);
    }

    /// Applies the stated attributes and content to the attributes and content that were parsed from the file.
    pub(in crate::ingest) fn correct(&self, attributes: &mut Attributes, content: &mut Option<String>) {
        for (name, value) in &self.attributes {
            attributes.insert(name, value.clone());
        }
        if self.content != Stated::Not {
            *content = self.content.clone().value();
        }
    }
}

fn not_text() -> Error {
    Error::invalid("the value is not text")
}

fn text(value: &Json) -> Result<&str> {
    value.as_str().ok_or_else(not_text)
}

fn into_text(value: Json) -> Result<String> {
    match value {
        Json::String(text) => Ok(text),
        _ => Err(not_text()),
    }
}

fn truth(value: &Json) -> Result<bool> {
    value
        .as_bool()
        .ok_or_else(|| Error::invalid("the value is neither true nor false"))
}

fn origin(name: &str) -> Result<Origin> {
    Origin::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Origin::ALL.iter().map(|origin| origin.name()).collect();
        Error::invalid(format!("`{}` is not an origin", shown(name)))
            .with_hint(format!("use one of {}", names.join(", ")))
    })
}

fn digests(value: &Json) -> Result<Vec<ObjectDigest>> {
    let items = match value {
        Json::Null => &[][..],
        value => value
            .as_array()
            .ok_or_else(|| Error::invalid("the value is not a list of digests"))?,
    };
    let digest = |item: &Json| item.as_str().and_then(|hex| hex.parse().ok());
    let digests = items.iter().map(|item| {
        digest(item).ok_or_else(|| Error::invalid("a digest is not 64 lower-case hexadecimal digits"))
    });
    digests.collect()
}

fn reserved(value: &Json) -> Result<BTreeMap<u16, Vec<u8>>> {
    let entry = |(tag, bytes): (&String, &Json)| {
        let tag = u16::from_str_radix(tag.strip_prefix("0x")?, 16).ok()?;
        Some((tag, from_hex(bytes.as_str()?)?))
    };
    let entries = match value {
        Json::Null => Some(BTreeMap::new()),
        value => value.as_object().and_then(|map| map.iter().map(entry).collect()),
    };
    entries.ok_or_else(|| {
        Error::invalid("the value is not a map of tags to bytes in hexadecimal digits")
            .with_hint("write the map like {\"0x8002\": \"746578742f706c61696e\"}")
    })
}
