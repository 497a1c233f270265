//! The answers of `recall`, and of `envelope --scrub`.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value as Json;

use crate::agent::search::LeftOut;
use crate::agent::{Reached, RecallHit, Recalled};
use crate::object::Time;

/// The answer of `recall`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    #[serde(flatten)]
    pub(crate) recalled: Recalled,
    /// The scopes that were searched; null for all.
    pub(crate) scopes: Option<Vec<String>>,
    /// The way in which the index reached the state; null for summaries, which need no index.
    pub(crate) index: Option<Reached>,
    /// The time from which ages are counted.
    #[serde(skip)]
    pub(crate) now: Time,
    /// The requested limit of hits.
    #[serde(skip)]
    pub(crate) limit: usize,
}

/// The answer to a line of `recall --queries`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundForLine {
    #[schemars(schema_with = "text")]
    pub(crate) qid: Json,
    pub(crate) hits: Vec<RecallHit>,
    pub(crate) left_out: LeftOut,
    pub(crate) ms: f64,
}

/// Returns the schema of `qid`. It is usually a text, but the answer repeats any JSON value of the line.
fn text(generator: &mut SchemaGenerator) -> Schema {
    String::json_schema(generator)
}

/// The answer of `envelope --scrub`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScrubbedText {
    pub(crate) text: String,
    pub(crate) removed_bytes: usize,
    /// The number of envelope tags without a closing tag.
    pub(crate) unclosed: usize,
}
