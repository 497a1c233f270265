//! Reads a file into a document, according to its format.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use super::document::Document;
use super::format::Format;
use super::path::document_id;
use super::{jsonl, markdown, org, text};
use crate::digest::{Domain, HashAlgorithm, HashSuite};
use crate::error::Result;

impl Document {
    /// Reads the bytes of the file `path`. The format is `format`, or else the format that `Format::detect` returns.
    ///
    /// # Errors
    /// `InvalidInput`, with path and line, if the bytes are not UTF-8, a path or id is not valid as an id, or no line of
    /// JSON Lines can be read. A bad line of a transcript is skipped ([`Document::skipped`]).
    pub fn read(path: &str, bytes: &[u8], format: Option<Format>) -> Result<Self> {
        let mut document = read(path, bytes, format)?;
        // The hash is always the same, because the fingerprint of a file does not depend on the store.
        document.bytes = HashSuite::new(HashAlgorithm::Blake3).hash_bytes(Domain::Text, bytes);
        Ok(document)
    }
}

fn read(path: &str, bytes: &[u8], format: Option<Format>) -> Result<Document> {
    let id = document_id(path)?;
    if format.or_else(|| Format::from_path(path)) == Some(Format::JsonLines) {
        return jsonl::parse(id, bytes);
    }
    let text = text::decode(id.as_str(), bytes)?;
    match format.unwrap_or_else(|| Format::detect(path, &text)) {
        Format::Org => org::parse(id, &text),
        Format::Markdown => markdown::parse(id, &text),
        Format::JsonLines => jsonl::parse(id, bytes),
    }
}
