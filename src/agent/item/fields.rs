//! The fields of an item as a caller states them, and their conversion to a [`NewItem`].
//!
//! A line of JSON Lines, the command line, the servers and the Python package fill the same type. One conversion checks
//! the fields and resolves the scope word.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use serde::Deserialize;
use serde_json::Value as Json;

use super::{Citation, NewItem, Sensitivity, known_kind};
use crate::agent::caller::Caller;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::error::{Error, Result};
use crate::ingest::json::{attributes_from_json, loose_time_from_json};
use crate::object::{Attributes, Id, Kind, Origin, Scope, Time};

/// The fields of an item as a caller states them. Ids, names and classes are still texts, which
/// [`Self::into_item`] checks.
#[derive(Clone, Debug, Default)]
pub struct ItemFields {
    /// The text.
    pub text: String,
    /// The id. With `None`, an id is generated.
    pub id: Option<String>,
    /// The kind. With `None`, it is `fact`.
    pub kind: Option<String>,
    /// A scope word. With `None`, the item gets the caller's usual scope.
    pub scope: Option<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The speaker of the text.
    pub speaker: Option<String>,
    /// The subject of the text.
    pub subject: Option<String>,
    /// The session in which the text was said.
    pub session: Option<String>,
    /// The position of the text in the session.
    pub order: Option<i64>,
    /// The time of the event that the text describes.
    pub time: Option<Time>,
    /// The time at which the item expires.
    pub expires: Option<Time>,
    /// The citations.
    pub citations: Vec<Citation>,
    /// The confidence in the statement, 0 to 1.
    pub confidence: Option<f64>,
    /// The name of the sensitivity.
    pub sensitivity: Option<String>,
    /// The source of the item.
    pub source: Option<String>,
    /// Whether the item is pinned.
    pub pinned: bool,
    /// The ids of the items that this item supersedes.
    pub supersedes: Vec<String>,
    /// The versions from which the item was derived.
    pub derived_from: Vec<ObjectDigest>,
    /// The class that the caller states for the text.
    pub origin: Option<String>,
    /// All other attributes.
    pub attributes: Attributes,
}

impl ItemFields {
    /// Returns the item. The caller's place resolves the scope word.
    ///
    /// # Errors
    /// `InvalidInput` if a field is not valid; the errors of [`Caller::scope`].
    pub fn into_item(self, caller: &Caller) -> Result<NewItem> {
        self.resolve(|word| caller.scope(word))
    }

    /// Returns the item. `scope` resolves the scope word.
    pub(in crate::agent) fn resolve(
        self,
        scope: impl FnOnce(Option<&str>) -> Result<Scope>,
    ) -> Result<NewItem> {
        let kind = self.kind.as_deref().map(Kind::new);
        let sensitivity = self.sensitivity.as_deref().map(Sensitivity::from_text);
        let supersedes = self.supersedes.iter().map(|id| Id::new(id));
        Ok(NewItem {
            id: self.id.as_deref().map(Id::new).transpose()?,
            kind: kind.unwrap_or_else(|| Ok(known_kind(kind::FACT)))?,
            scope: scope(self.scope.as_deref())?,
            text: self.text,
            tags: self.tags,
            speaker: self.speaker,
            subject: self.subject,
            session: self.session,
            order: self.order,
            time: self.time,
            expires: self.expires,
            citations: self.citations,
            confidence: self.confidence,
            sensitivity: sensitivity.transpose()?,
            source: self.source,
            is_pinned: self.pinned,
            supersedes: supersedes.collect::<Result<_>>()?,
            derived_from: self.derived_from,
            origin: self.origin.as_deref().map(Origin::from_text).transpose()?,
            others: self.attributes,
        })
    }

    /// Sets the field `name` to a value of JSON. Returns false if items have no such field.
    ///
    /// # Errors
    /// `InvalidInput` if the value is not valid for the field, except for a scope word.
    pub(in crate::agent) fn set(&mut self, name: &str, value: &Json) -> Result<bool> {
        match name {
            "text" => self.text = read(value, "text")?,
            "id" => self.id = Some(checked(value, Id::new)?),
            "kind" => self.kind = Some(checked(value, Kind::new)?),
            "scope" => self.scope = Some(read(value, "text")?),
            "time" => self.time = Some(loose_time_from_json(value)?),
            "expires" => self.expires = Some(loose_time_from_json(value)?),
            // The less trusted class of the two counts.
            "origin" | "trust" => {
                let stated = Origin::from_text(read(value, "text")?)?;
                let other = self.origin.as_deref().map_or(Ok(stated), Origin::from_text)?;
                self.origin = Some(Origin::least(other, stated).to_string());
            }
            "attributes" => self.attributes = attributes_from_json(value.clone())?,
            attribute::TAGS => self.tags = read(value, "a list of texts")?,
            attribute::SPEAKER => self.speaker = Some(name_of(value)?),
            attribute::SUBJECT => self.subject = Some(name_of(value)?),
            attribute::SESSION => self.session = Some(name_of(value)?),
            attribute::SOURCE => self.source = Some(name_of(value)?),
            attribute::ORDER => self.order = Some(read(value, "an integer")?),
            attribute::CONFIDENCE => self.confidence = Some(read(value, "a number")?),
            attribute::PINNED => self.pinned = read(value, "true or false")?,
            attribute::SENSITIVITY => self.sensitivity = Some(checked(value, Sensitivity::from_text)?),
            attribute::CITATIONS => {
                let citations: Vec<Json> = read(value, "a list")?;
                self.citations = citations.iter().map(citation).collect::<Result<_>>()?;
            }
            attribute::SUPERSEDES => {
                let ids: Vec<String> = read(value, "a list of ids")?;
                ids.iter().try_for_each(|id| Id::new(id).map(drop))?;
                self.supersedes = ids;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Reads a text that `check` accepts.
fn checked<T>(json: &Json, check: fn(&str) -> Result<T>) -> Result<String> {
    let text = read(json, "text")?;
    check(text).map(|_| text.to_owned())
}

/// Reads a name from a text or a number.
fn name_of(json: &Json) -> Result<String> {
    match json {
        Json::Number(number) => Ok(number.to_string()),
        json => read(json, "text"),
    }
}

/// Reads a citation: a map `{file, line?, note?}`, or a text `FILE:LINE:NOTE`.
fn citation(json: &Json) -> Result<Citation> {
    match json {
        Json::String(text) => Citation::from_text(text),
        json => read(
            json,
            "a citation: {\"file\", \"line\"?, \"note\"?} or FILE:LINE:NOTE",
        ),
    }
}

/// Reads a value. The error does not repeat the value, because the value may be a secret.
fn read<'a, T: Deserialize<'a>>(json: &'a Json, what: &str) -> Result<T> {
    T::deserialize(json).map_err(|_| Error::invalid(format!("the value is not {what}")))
}
