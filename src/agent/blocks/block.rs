//! A memory block: the content of its Markdown file.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use super::id::BlockId;
use crate::agent::item::Citation;

/// The keys with a meaning. `Block::other` holds all other keys.
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
/// The key for white space at the ends of the content: `kept` means that it belongs to the content.
pub(super) const WHITESPACE: &str = "whitespace";
pub(super) const KEPT: &str = "kept";

/// A memory block. Times are in microseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Its id.
    pub id: BlockId,
    /// Its scope: `global`, `project` or another one.
    pub scope: Option<String>,
    /// The time of its creation.
    pub created_micros: Option<i64>,
    /// The time of its last change.
    pub updated_micros: Option<i64>,
    /// The time of its expiry; `None` if it never expires.
    pub expires_micros: Option<i64>,
    /// Its tags, in their order.
    pub tags: Vec<String>,
    /// Its citations.
    pub citations: Vec<Citation>,
    /// Front matter under other keys, in order, each key once.
    pub other: Vec<(String, String)>,
    /// Its text.
    pub content: String,
}

impl Block {
    /// Returns a block with an id and a text.
    pub(super) fn new(id: BlockId, content: impl Into<String>) -> Self {
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

/// Returns `text` without white space and byte order marks at its ends, which editors add and remove.
pub(super) fn bare(text: &str) -> &str {
    text.trim_matches(|sign: char| sign.is_whitespace() || sign == '\u{FEFF}')
}

/// Returns a value without quotes around it.
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
