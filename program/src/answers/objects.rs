//! The answers of `get` and `list`.
//!
//! # Layer
//! Layer 8, part of answers.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use treering::inspect::digest::SubtreeDigest;
use treering::inspect::ingest::json::value_to_json;
use treering::{CommitDigest, Id, Object, ObjectDigest, Origin, Time};
use treering::{Result, View};

/// The number of children that an answer lists.
const CHILDREN_LISTED: usize = 1_000;

/// An object without its content, children and subtree digest.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) scope: String,
    pub(crate) parent: Option<String>,
    /// The key that orders the object among the children of its parent.
    pub(crate) position: Option<String>,
    pub(crate) attributes: Map<String, Json>,
    pub(crate) origin: Origin,
    pub(crate) digest: ObjectDigest,
    /// The time of the commit that first wrote the id.
    pub(crate) created: Option<Time>,
    /// The time of the commit that wrote this version.
    pub(crate) updated: Option<Time>,
    pub(crate) derived_from: Vec<ObjectDigest>,
    pub(crate) event_time: Option<Time>,
    pub(crate) expires: Option<Time>,
    /// The object itself, for the output for people.
    #[serde(skip)]
    pub(crate) object: Object,
}

impl Listed {
    /// Returns the answer for an object of a state.
    pub(crate) fn of(view: &View, object: Object) -> Result<Self> {
        let stamps = view.stamps(object.id())?;
        let attributes = object.attributes();
        let attributes = attributes
            .iter()
            .map(|(name, value)| (name.clone(), value_to_json(value)));
        Ok(Self {
            id: object.id().to_string(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            parent: object.parent().map(str::to_owned),
            position: object.position().map(str::to_owned),
            attributes: attributes.collect(),
            origin: object.origin(),
            digest: object.digest(),
            created: stamps.map(|(created, _)| created),
            updated: stamps.map(|(_, updated)| updated),
            derived_from: object.derived_from().collect(),
            event_time: object.event_time(),
            expires: object.expires(),
            object,
        })
    }
}

/// A version in the form that `export` writes and `put --jsonl` reads.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct StoredLine(pub(crate) Json);

impl JsonSchema for StoredLine {
    fn schema_name() -> Cow<'static, str> {
        "StoredLine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = || json!({ "type": "string" });
        let map = || json!({ "type": "object" });
        json_schema!({
            "type": "object",
            "properties": {
                "id": text(), "kind": text(), "scope": text(), "parent": text(), "position": text(),
                "attributes": map(), "content": text(), "origin": text(),
                "derived_from": { "type": "array", "items": text() },
                "event_time": text(), "expires": text(), "reserved": map(),
                "past": { "type": "boolean" },
            },
            "required": ["id", "kind", "scope", "origin"],
        })
    }
}

/// An object with all its fields.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub(crate) listed: Listed,
    /// The first 1,000 children, in sibling order.
    pub(crate) children: Vec<String>,
    pub(crate) children_total: u64,
    pub(crate) content: Option<String>,
    /// The commit that erased the content. 64 zeros if damage destroyed the content.
    pub(crate) content_erased_by: Option<CommitDigest>,
    pub(crate) subtree_digest: Option<SubtreeDigest>,
    /// The fields about which a merge left a conflict open; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conflict: Option<Vec<String>>,
    /// The time at which the output computes ages. For a past state, the time of that state.
    #[serde(skip)]
    pub(crate) now: Time,
}

impl Whole {
    /// Returns the answer for a version. If the state does not contain the version, the answer has no times and no
    /// subtree digest.
    pub(crate) fn of_version(view: &View, object: Object, is_json: bool) -> Result<Self> {
        let mut version = Self::of(view, object, is_json)?;
        let held = view.get(&Id::new(&version.listed.id)?)?;
        if held.is_none_or(|held| held.digest() != version.listed.digest) {
            (version.listed.created, version.listed.updated) = (None, None);
            version.subtree_digest = None;
        }
        Ok(version)
    }

    /// Returns the answer for an object of a state. Only an answer in JSON shows the subtree digest, which may cost a
    /// walk of the whole subtree.
    pub(crate) fn of(view: &View, object: Object, is_json: bool) -> Result<Self> {
        let id = object.id().clone();
        let (children, children_total) = view.first_children(&id, CHILDREN_LISTED)?;
        let subtree_digest = if is_json { view.subtree_digest(&id)? } else { None };
        Ok(Self {
            children: children.iter().map(Id::to_string).collect(),
            children_total,
            content: object.content().map(str::to_owned),
            content_erased_by: object.erased_by(),
            subtree_digest,
            conflict: view.conflict(&id)?.map(|conflict| conflict.fields),
            now: view.now(),
            listed: Listed::of(view, object)?,
        })
    }
}
