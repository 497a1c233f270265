//! The review of a version before a person promotes or releases it: everything of the version that takes effect.
//!
//! A version takes effect by its text and its kind, which selects a section of the envelope, and by fields that act on their
//! own: `pinned` keeps an item from decay, `supersedes` hides other items. A person approves what the review shows.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - RVW-1: a review shows the kind, the whole text and every field that acts, with invisible characters written out.
//! - RVW-2: a promoted version has only those acting fields of the reviewed version that the person named. An item keeps its
//!   kind, which the review shows before the text.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::agent::Agent;
use crate::agent::item::{Item, add_new, unless_erased};
use crate::agent::superseding::has_the_right;
use crate::agent::vocabulary::attribute;
use crate::digest::ObjectDigest;
use crate::engine::View;
use crate::error::{Error, Result};
use crate::ingest::json::value_to_json;
use crate::object::{Id, NewObject, Object, Origin, Time, Value};
use treering_text::scan::Author;
use treering_text::visible::{hidden_count, written_out};

/// The field that each version keeps. Naming it changes nothing.
const KIND: &str = "kind";
/// The acting fields that are not attributes.
const EXPIRES: &str = "expires";
const EVENT_TIME: &str = "event_time";
/// The attributes that a promotion keeps unnamed, because they only restrict the item.
const RESTRICTING: [&str; 5] = [
    attribute::FLAGS,
    attribute::SENSITIVITY,
    attribute::CLASS,
    attribute::WITHHELD,
    attribute::PROMOTED,
];

/// Everything of a version that takes effect. Secrets are markers, and invisible characters are written out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Review {
    /// The id of the object.
    pub id: Id,
    /// The reviewed version. [`Agent::promote`] promotes only this version.
    pub digest: ObjectDigest,
    /// The kind of the object.
    pub kind: String,
    /// The scope of the object.
    pub scope: String,
    /// The origin class of the version.
    pub trust: Origin,
    /// The rules of the scan that the version matches.
    pub flags: Vec<String>,
    /// The whole text, below the title if the object has one.
    pub text: String,
    /// The fields that act on their own.
    pub acts: Vec<ActingField>,
    /// The number of invisible characters that the text and the fields write out.
    pub invisible: usize,
}

/// A field that takes effect on its own.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ActingField {
    /// The name of the field or attribute.
    pub field: String,
    /// The value of the field.
    pub value: Json,
    /// The items that the field would hide.
    pub hides: Vec<HiddenItem>,
}

/// An item that a reviewed version would hide.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HiddenItem {
    /// The id of the item.
    pub id: Id,
    /// The origin class of the item.
    pub trust: Origin,
    /// The text of the item.
    pub text: String,
}

/// Returns the review of a version that takes effect with the class `class`.
///
/// # Errors
/// `Corrupt` or `Io` if an object that the version would hide cannot be read.
pub fn review(agent: &Agent, view: &View, object: &Object, class: Origin) -> Result<Review> {
    let new = object.to_new()?;
    let mut shown = Shown::new(agent);
    let text = shown.text("", &text_of(object));
    let mut acts = Vec::new();
    for (field, value) in acting(&new) {
        let hides = match field.as_str() {
            attribute::SUPERSEDES => hidden_by(agent, view, object, class)?,
            _ => Vec::new(),
        };
        let value = shown.json(&field, value);
        acts.push(ActingField {
            field: shown.text("", &field),
            value,
            hides,
        });
    }
    let mut flags = Item::from(object.clone()).flags();
    add_new(&mut flags, shown.rules.iter().map(|rule| (*rule).to_owned()));
    Ok(Review {
        id: object.id().clone(),
        digest: object.digest(),
        kind: object.kind().to_owned(),
        scope: object.scope().to_owned(),
        trust: object.origin(),
        flags,
        text,
        acts,
        invisible: shown.invisible,
    })
}

/// Removes the acting fields of `object` that `keep` does not name, and returns their names (RVW-2).
///
/// # Errors
/// `InvalidInput` if `keep` names a field that the object does not have.
pub(super) fn keep_only(object: &mut NewObject, keep: &[&str]) -> Result<Vec<String>> {
    let fields: Vec<String> = acting(object).into_iter().map(|(field, _)| field).collect();
    if let Some(unknown) = keep
        .iter()
        .find(|name| **name != KIND && !fields.iter().any(|field| field == *name))
    {
        let named = if fields.is_empty() {
            "no field of this version acts".to_owned()
        } else {
            format!("the fields that act are {}", fields.join(", "))
        };
        return Err(
            Error::invalid(format!("'{}' has no field '{unknown}' that acts", object.id)).with_hint(named),
        );
    }
    let dropped: Vec<String> = fields
        .into_iter()
        .filter(|field| !keep.contains(&field.as_str()))
        .collect();
    for field in &dropped {
        drop_field(object, field);
    }
    Ok(dropped)
}

/// Returns the fields of an object that act on their own, with their values. Programs may act on any attribute, so every
/// attribute but the title and [`RESTRICTING`] acts.
fn acting(object: &NewObject) -> Vec<(String, Json)> {
    let time =
        |name: &str, time: Option<Time>| time.map(|time| (name.to_owned(), Json::from(time.to_string())));
    let mut fields = Vec::new();
    fields.extend(time(EVENT_TIME, object.event_time));
    fields.extend(time(EXPIRES, object.expires));
    let attributes = object.attributes.iter();
    let acting = attributes.filter(|(name, value)| !stays(name, value));
    fields.extend(acting.map(|(name, value)| (name.clone(), value_to_json(value))));
    fields
}

fn drop_field(object: &mut NewObject, field: &str) {
    match field {
        EVENT_TIME => object.event_time = None,
        EXPIRES => object.expires = None,
        _ => {}
    }
    // An attribute may have the name of another field.
    drop(object.attributes.remove(field));
}

/// Checks whether a promotion keeps an attribute unnamed.
fn stays(name: &str, value: &Value) -> bool {
    match name {
        attribute::TITLE => value.as_text().is_some(),
        name => RESTRICTING.contains(&name),
    }
}

fn text_of(object: &Object) -> String {
    let title = object.attribute(attribute::TITLE);
    let title = title.as_ref().and_then(Value::as_text);
    let parts = title.into_iter().chain(object.content());
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the items that an object would hide if it took effect with the class `class`.
fn hidden_by(agent: &Agent, view: &View, object: &Object, class: Origin) -> Result<Vec<HiddenItem>> {
    let mut hidden = Vec::new();
    for named in Item::from(object.clone()).supersedes() {
        let Ok(id) = Id::new(&named) else { continue };
        let old = unless_erased(view.get(&id))?;
        let old = old.filter(|old| id != *object.id() && has_the_right(object.scope(), class, old));
        hidden.extend(old.map(|old| HiddenItem {
            trust: old.origin(),
            text: Shown::new(agent).text("", &text_of(&old)),
            id,
        }));
    }
    Ok(hidden)
}

/// Renders the texts of a version, and collects what they contain.
struct Shown<'a> {
    agent: &'a Agent,
    rules: Vec<&'static str>,
    invisible: usize,
}

impl<'a> Shown<'a> {
    fn new(agent: &'a Agent) -> Self {
        Self {
            agent,
            rules: Vec::new(),
            invisible: 0,
        }
    }

    /// Returns the text of a field with markers for its secrets, and with invisible characters written out (RVW-1).
    fn text(&mut self, field: &str, text: &str) -> String {
        let scanner = self.agent.scanner();
        let report = scanner.scan_fields(Author::Stranger, [(field, text)]);
        add_new(
            &mut self.rules,
            report.findings.iter().map(|finding| finding.rule),
        );
        let clean = scanner.redact_field(field, text);
        self.invisible += hidden_count(&clean);
        written_out(&clean).into_owned()
    }

    fn json(&mut self, field: &str, value: Json) -> Json {
        match value {
            Json::String(text) => self.text(field, &text).into(),
            Json::Array(values) => {
                let values = values.into_iter().map(|value| self.json(field, value));
                Json::Array(values.collect())
            }
            Json::Object(map) => {
                let mut shown = Map::new();
                for (name, value) in map {
                    let value = self.json(&name, value);
                    drop(shown.insert(self.text("", &name), value));
                }
                Json::Object(shown)
            }
            other => other,
        }
    }
}
