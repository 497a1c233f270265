//! A memory block: the content of its Markdown file.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use crate::object::{Attributes, Id, Time};

/// The keys of a file that are not attributes.
pub(super) const KEYS: [&str; 6] = ["id", "scope", "created", "updated", "expires", WHITESPACE];
/// The key for white space at the ends of the content: `kept` means that it belongs to the content.
pub(super) const WHITESPACE: &str = "whitespace";
pub(super) const KEPT: &str = "kept";
/// The deepest nesting of JSON in an attribute of a file.
pub(super) const DEPTH_MAX: usize = 32;

/// A memory block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Its id.
    pub id: Id,
    /// Its scope: `global`, `project` or another one.
    pub scope: Option<String>,
    /// The time of its creation.
    pub created: Option<Time>,
    /// The time of its last change.
    pub updated: Option<Time>,
    /// The time of its expiry; `None` if it never expires.
    pub expires: Option<Time>,
    /// Its attributes, and the line `trust` of an untrusted block.
    pub attributes: Attributes,
    /// Its text.
    pub content: String,
}

named! {
    /// The reason why a file holds no block, or no file can hold a block.
    pub(super) enum Unfit {
        NotText => "the file is not text",
        NoFrontMatter => "the file does not begin with a line `---`",
        OpenFrontMatter => "the front matter has no closing line `---`",
        Pair => "`{}` and its value do not fit on a line of front matter",
        NotAPath => "the path is not the id of a block with the ending `.md`",
        NotAnId => "the id is not one of a block",
        FolderLikeFile => "a folder of the path has the name of a block file",
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
