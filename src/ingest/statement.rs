//! Fields of an object that a file states in addition to the syntax of its format: `:TREERING: {...}` in Org, `<!--
//! treering: {...} -->` in Markdown. Exports write them, so an import reads the same objects.
//!
//! The braces contain fields of an object in the same form as a line of JSON. An export writes only the fields that the
//! syntax of the file does not express. The fields are `id`, `kind`, `scope`, `position`, `origin`, `derived_from`,
//! `event_time`, `expires`, `reserved`; `attributes`, in which null removes an attribute; `content`; `parent`, the id
//! of a heading further up; and `quoted`, for a text that the file quotes so that it is not parsed.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use serde_json::Value as Json;

use super::json::{self, Fields};
use crate::error::{Error, Result};

/// The name of the Org property, and the word in Markdown comments.
pub(super) const NAME: &str = "TREERING";
/// The statement that marks a file as a list of objects.
pub(super) const OBJECTS: &str = "objects";

/// Reads fields in braces. Returns `None` for any other text.
///
/// # Errors
/// `InvalidInput` if the text is not JSON, or a field is unknown or has the wrong type.
pub(super) fn read(text: &str) -> Result<Option<Fields>> {
    if !(text.starts_with('{') && text.ends_with('}')) {
        return Ok(None);
    }
    let Json::Object(map) = json::parse(text)? else {
        return Err(Error::invalid("the value is not a map of fields"));
    };
    let fields = Fields::read(map)?;
    if fields.past {
        return Err(Error::invalid("the field `past` is not allowed here"));
    }
    Ok(Some(fields))
}
