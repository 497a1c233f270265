//! A memory block: the content of its Markdown file.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::fmt;

use super::id::{BlockId, BlockIdError};
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

#[cfg(test)]
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

/// The reason why a file holds no block, or no file can hold a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Unfit {
    /// The file is not text in UTF-8; this is the offset of the first invalid byte.
    NotText(usize),
    /// The file does not begin with a line of three hyphens.
    NoFrontMatter,
    /// The front matter has no last line of three hyphens.
    OpenFrontMatter,
    /// Neither the file nor its path gives an id.
    NoId,
    /// The time of this key is outside the years 0000 to 9999.
    Time(&'static str),
    /// This key and its value do not fit on one line.
    Pair(String),
    /// The citation at this place, from 0, has no file, or its line is 0.
    Citation(usize),
    /// The path does not end in `.md`, for example a leftover of a crashed write.
    NotMarkdown,
    /// A part of the path begins with a dot, so it is hidden or leads upward.
    Hidden,
    /// The path is absolute, or holds a character with a special meaning in the paths of some system.
    Outside,
    /// The name of the path is not an id.
    PathNoId(BlockIdError),
    /// A folder of the path ends in `.md`, like the file of another block.
    FolderLikeFile,
    /// The id of the object is not one of a block.
    ObjectNoId(BlockIdError),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText(offset) => write!(f, "the file is not text from byte {offset} on"),
            Self::NoFrontMatter => f.write_str("the file does not begin with a line `---`"),
            Self::OpenFrontMatter => f.write_str("the front matter has no closing line `---`"),
            Self::NoId => f.write_str("neither the file nor its path has an id"),
            Self::Time(key) => write!(f, "the time in `{key}` is outside the years 0000 to 9999"),
            Self::Pair(key) => write!(f, "`{key}` and its value do not fit on a line of front matter"),
            Self::Citation(place) => write!(f, "citation {place} has no file, or the line 0"),
            Self::NotMarkdown => f.write_str("the path does not end in `.md`"),
            Self::Hidden => f.write_str("a part of the path begins with `.`"),
            Self::Outside => f.write_str("the path leads out of the folder"),
            Self::PathNoId(error) => write!(f, "the path is not a valid id: {error}"),
            Self::FolderLikeFile => f.write_str("a folder of the path has the name of a block file"),
            Self::ObjectNoId(error) => error.fmt(f),
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
