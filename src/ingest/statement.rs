//! Fields that a file states beside its own syntax: `:TREERING: {...}` in Org, `<!-- treering: {...} -->` in
//! Markdown. Exports write them, so that an import reads the same objects.
//!
//! The braces hold the fields of an object as a line of JSON has them, each only where it differs from the
//! rest of the file: `id`, `kind`, `scope`, `position`, `origin`, `derived_from`, `event_time`, `expires`,
//! `reserved`; `attributes`, of which null removes one; `content`; `parent`, a heading further up; and `quoted`, for a
//! text that the file quotes, so that none of it is read as structure.
//!
//! # Layer
//! L6, inside `ingest`.

use serde_json::Value as Json;

use super::json::{self, Fields};
use crate::error::{Error, Result};

/// The name of the Org property, and the word in Markdown comments.
pub(super) const NAME: &str = "TREERING";
/// The statement that marks a file as a list of objects.
pub(super) const OBJECTS: &str = "objects";

/// Reads `{...}`; `None` for any other text.
///
/// # Errors
/// `InvalidInput`: not JSON, or a field that is unknown or of the wrong type.
pub(super) fn read(text: &str) -> Result<Option<Fields>> {
    if !(text.starts_with('{') && text.ends_with('}')) {
        return Ok(None);
    }
    let Json::Object(map) = json::parse(text)? else {
        return Err(Error::invalid("not a map of fields"));
    };
    let fields = Fields::read(&map)?;
    if fields.past {
        return Err(Error::invalid("the field `past` is not allowed here"));
    }
    Ok(Some(fields))
}
