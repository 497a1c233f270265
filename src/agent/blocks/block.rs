//! A memory block: the content of its Markdown file.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use super::id::BlockId;
use crate::agent::item::Citation;

/// The keys that mean something; every other one is kept in `Block::other`.
pub(super) const KEYS: [&str; 8] = [
    "id",
    "scope",
    "created",
    "updated",
    "tags",
    "expires",
    "citations",
    WHITESPACE,
];
/// The key that says whether the white space around the content belongs to it.
pub(super) const WHITESPACE: &str = "whitespace";
pub(super) const KEPT: &str = "kept";

/// A memory block as a file holds it. Times are in microseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its name.
    pub id: BlockId,
    /// `global`, `project` or what the file says.
    pub scope: Option<String>,
    /// When it was first written.
    pub created_micros: Option<i64>,
    /// When it was last written.
    pub updated_micros: Option<i64>,
    /// From when on it no longer holds; without it, it holds for ever.
    pub expires_micros: Option<i64>,
    /// Its tags, in their order.
    pub tags: Vec<String>,
    /// Where its statements come from.
    pub citations: Vec<Citation>,
    /// Lines of the front matter under other keys, in their order, each key once.
    pub other: Vec<(String, String)>,
    /// What it says.
    pub content: String,
}

impl Block {
    /// A block that has nothing but a name and a content.
    pub fn new(id: BlockId, content: impl Into<String>) -> Self {
        Self {
            id,
            scope: None,
            created_micros: None,
            updated_micros: None,
            expires_micros: None,
            tags: Vec::new(),
            citations: Vec::new(),
            other: Vec::new(),
            content: content.into(),
        }
    }
}

/// `text` without the white space and byte order marks at its ends, which editors come and go with.
pub(super) fn bare(text: &str) -> &str {
    text.trim_matches(|sign: char| sign.is_whitespace() || sign == '\u{FEFF}')
}

/// A value without the quotes that some people put around it.
pub(super) fn unquoted(value: &str) -> &str {
    let mut value = value;
    loop {
        let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        match inner('"').or_else(|| inner('\'')) {
            Some(inner) => value = bare(inner),
            None => return value,
        }
    }
}
