//! How large blocks may be.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::fmt;

use super::Block;

/// Limits of blocks. Characters are Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockLimits {
    /// Characters of a content.
    pub content_chars_max: usize,
    /// Blocks of a scope that have not expired.
    pub blocks_max: usize,
    /// Tags of a block.
    pub tags_max: usize,
    /// Characters of a tag.
    pub tag_chars_max: usize,
    /// Citations of a block.
    pub citations_max: usize,
    /// Characters of the file of a citation.
    pub citation_file_chars_max: usize,
    /// Characters of the note of a citation.
    pub citation_note_chars_max: usize,
}

impl BlockLimits {
    /// The limits of the profile `blocks`.
    pub const BLOCKS: Self = Self {
        content_chars_max: 2_048,
        blocks_max: 50,
        tags_max: 10,
        tag_chars_max: 64,
        citations_max: 10,
        citation_file_chars_max: 512,
        citation_note_chars_max: 256,
    };

    /// Returns every limit that a block is over, in the order of its fields.
    pub fn check(&self, block: &Block) -> Vec<OverLimit> {
        let chars = |text: &str| text.chars().count();
        let longest = |texts: &mut dyn Iterator<Item = &str>| texts.map(chars).max().unwrap_or(0);
        let citations = &block.citations;
        let measures = [
            (
                "characters of the content",
                chars(&block.content),
                self.content_chars_max,
            ),
            ("tags", block.tags.len(), self.tags_max),
            (
                "characters of a tag",
                longest(&mut block.tags.iter().map(String::as_str)),
                self.tag_chars_max,
            ),
            ("citations", citations.len(), self.citations_max),
            (
                "characters of the file of a citation",
                longest(&mut citations.iter().map(|citation| citation.file.as_str())),
                self.citation_file_chars_max,
            ),
            (
                "characters of the note of a citation",
                longest(&mut citations.iter().filter_map(|citation| citation.note.as_deref())),
                self.citation_note_chars_max,
            ),
        ];
        let over = measures
            .into_iter()
            .filter(|(_, count, count_max)| count > count_max);
        over.map(|(what, count, count_max)| OverLimit {
            what,
            count,
            count_max,
        })
        .collect()
    }

    /// Whether a scope with so many blocks that have not expired takes one more.
    pub fn has_room(&self, active: usize) -> bool {
        active < self.blocks_max
    }
}

/// A limit that a block is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverLimit {
    /// What is counted.
    pub what: &'static str,
    /// How much there is.
    pub count: usize,
    /// How much there may be.
    pub count_max: usize,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, more than {}", self.count, self.what, self.count_max)
    }
}
