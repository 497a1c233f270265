//! The answers of the calls, as JSON.
//!
//! An answer has the shape that Python users see; `shapes.rs` of the Python package declares it. Objects are JSON here, too.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use treering::inspect::ingest::json::value_to_json;
use treering::{ObjectDigest, Origin, Time, Value};

use crate::fault::{Done, Fault};
use crate::shapes as shape;

/// One version of an object. It never changes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoredObject {
    /// The permanent name.
    id: String,
    /// The kind, such as `fact`.
    kind: String,
    scope: String,
    /// The id of the parent.
    parent: Option<String>,
    /// The position among the siblings.
    position: Option<String>,
    /// The text.
    content: Option<String>,
    attributes: Map<String, Json>,
    /// The class of trust.
    origin: Origin,
    /// Whether the class is one of the four trusted ones.
    trusted: bool,
    /// The digests of the versions from which this object is derived.
    derived_from: Vec<ObjectDigest>,
    /// The time of the event that the object describes.
    event_time: Option<Time>,
    /// The time from which on the object is hidden.
    expires: Option<Time>,
    /// The digest that, with the id, names this version.
    digest: ObjectDigest,
    /// Whether the version was erased, so that only its digest is known.
    erased: bool,
}

impl From<&treering::Object> for StoredObject {
    fn from(object: &treering::Object) -> Self {
        let attributes = object.attributes();
        let attributes = attributes
            .iter()
            .map(|(name, value)| (name.clone(), value_to_json(value)));
        Self {
            id: object.id().as_str().to_owned(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            parent: object.parent().map(str::to_owned),
            position: object.position().map(str::to_owned),
            content: object.content().map(str::to_owned),
            attributes: attributes.collect(),
            origin: object.origin(),
            trusted: object.origin().is_trusted(),
            derived_from: object.derived_from().collect(),
            event_time: object.event_time(),
            expires: object.expires(),
            digest: object.digest(),
            erased: object.is_placeholder(),
        }
    }
}

/// The result of a call that writes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Committed<'a> {
    /// The new commit, or the head if nothing changed.
    commit: shape::Commit<'a>,
    /// Whether the call made a new commit.
    changed: bool,
}

/// Returns a value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Done<Json> {
    serde_json::to_value(value).map_err(|error| Fault::new("Internal", "internal", error.to_string()))
}

pub(crate) fn object(object: &treering::Object) -> Done<Json> {
    json(&StoredObject::from(object))
}

pub(crate) fn maybe_object(found: Option<treering::Object>) -> Done<Json> {
    found.map_or(Ok(Json::Null), |found| object(&found))
}

pub(crate) fn committed(done: &treering::Committed) -> Done<Json> {
    json(&Committed {
        commit: (&done.commit).into(),
        changed: done.changed,
    })
}

/// Returns an answer as JSON. A field `$x` takes the place of the field `x`; JavaScript does that.
pub(crate) fn answer<T: Serialize>(answer: &T) -> Done<Json> {
    json(answer)
}

/// A written answer.
pub(crate) struct Text(String);

/// Writes an answer at once, without a tree of values in between. This is worth it for long answers of frequent calls.
pub(crate) fn text<T: Serialize>(answer: &T) -> Done<Text> {
    let text = serde_json::to_string(answer);
    text.map(Text)
        .map_err(|error| Fault::new("Internal", "internal", error.to_string()))
}

/// What a verb returns.
pub(crate) trait Written {
    /// Returns the text of JSON.
    fn written(self) -> String;
}

impl Written for Json {
    fn written(self) -> String {
        self.to_string()
    }
}

impl Written for Text {
    fn written(self) -> String {
        self.0
    }
}

/// Returns an answer with fields that `shapes.rs` leaves to the bindings.
pub(crate) fn answer_with<T: Serialize>(given: &T, fields: Vec<(&str, Json)>) -> Done<Json> {
    let answer = answer(given)?;
    Ok(fields
        .into_iter()
        .fold(answer, |answer, (name, value)| with(answer, name, value)))
}

/// Adds a field to an answer.
pub(crate) fn with(mut answer: Json, name: &str, value: Json) -> Json {
    if let Some(fields) = answer.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    answer
}

/// Returns a list of answers.
pub(crate) fn rows<T>(rows: impl IntoIterator<Item = T>, row: impl Fn(T) -> Done<Json>) -> Done<Json> {
    rows.into_iter().map(row).collect::<Done<_>>().map(Json::Array)
}

/// Returns the value of an attribute or of a part of an object.
pub(crate) fn value(value: &Value) -> Json {
    value_to_json(value)
}
