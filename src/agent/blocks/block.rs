//! A memory block, in the form that its Markdown file contains.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use crate::object::{Attributes, Id, Time};

/// The keys of the front matter that are not attributes.
pub(super) const KEYS: [&str; 6] = ["id", "scope", "created", "updated", "expires", WHITESPACE];
/// The key that controls white space at the ends of the content. With the value `kept`, that white space belongs to the
/// content.
pub(super) const WHITESPACE: &str = "whitespace";
/// The value of the key [`WHITESPACE`] with which white space at the ends of the content belongs to the content.
pub(super) const KEPT: &str = "kept";
/// The maximum nesting depth of a JSON value in the front matter.
pub(super) const DEPTH_MAX: usize = 32;

/// A memory block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// The id of the block.
    pub id: Id,
    /// The scope of the block: `global`, `project` or the name of another scope.
    pub scope: Option<String>,
    /// The time when the block was created.
    pub created: Option<Time>,
    /// The time of the last change of the block.
    pub updated: Option<Time>,
    /// The time when the block expires; `None` if it never expires.
    pub expires: Option<Time>,
    /// The attributes, and the entry `trust` of an untrusted block.
    pub attributes: Attributes,
    /// The text of the block.
    pub content: String,
}

named! {
    /// The reason why a file contains no block, or why a block cannot be written to a file.
    pub(super) enum Unfit {
        NotText => "the file is not text",
        NoFrontMatter => "the file does not begin with a line `---`",
        OpenFrontMatter => "the front matter has no closing line `---`",
        Pair => "`{}` and its value cannot be written as a line of front matter",
        NotAPath => "the path is not a valid id of a block with the extension `.md`",
        NotAnId => "the id is not a valid id of a block",
        FolderLikeFile => "a folder of the path has the name of a block file",
    }
}

/// Returns `text` without white space and byte order marks at its ends, which editors add and remove.
pub(super) fn bare(text: &str) -> &str {
    text.trim_matches(|sign: char| sign.is_whitespace() || sign == '\u{FEFF}')
}

/// Returns a value without the quotes around it, if it has any.
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
