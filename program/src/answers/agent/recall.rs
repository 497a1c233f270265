//! The answers of `recall --queries`, and of `envelope --scrub`.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value as Json;

use treering::agent::{RecallHit, ScopeMatches};
use treering::inspect::agent::search::LeftOut;

/// The answer to a line of `recall --queries`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundForLine {
    #[schemars(schema_with = "text")]
    pub(crate) qid: Json,
    pub(crate) hits: Vec<RecallHit>,
    /// Whether no hit is a good match.
    pub(crate) no_good_match: bool,
    /// The number of ranked hits that did not fit into the budget.
    pub(crate) skipped: usize,
    pub(crate) left_out: LeftOut,
    /// If there are no hits, the other scopes that contain matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) elsewhere: Vec<ScopeMatches>,
    pub(crate) ms: f64,
}

/// Returns a text schema for `qid`. The answer repeats the `qid` of the line, which is usually a text.
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
