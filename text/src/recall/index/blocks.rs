//! Blocks: the postings of a frequent term within one window of documents, with bounds of their counts and lengths.
//!
//! A query skips the blocks that cannot contain one of the best documents. Terms that are not frequent have no blocks.
//!
//! # Layer
//! Layer 6, inside `recall`. Knows numbers, but neither terms nor documents.

use super::column::{Fixed, Limits};
use crate::tables::u32_at;

/// The number of documents of a window.
pub(crate) const WINDOW: u32 = 1024;
/// The mean number of postings in a window from which on a term has blocks.
const FREQUENT: usize = 4;

/// The postings of a term in a window.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Block {
    /// The last document.
    pub(super) last: u32,
    /// The end of the block in the bytes of the postings of the term.
    pub(super) end: u32,
    /// The number of postings.
    pub(crate) count: u32,
    /// The largest count of the term in a document, in units of a quarter.
    pub(crate) quarters_max: u32,
    /// The smallest length of a document, in units of a quarter.
    pub(crate) length_min: u32,
}

impl Block {
    pub(crate) fn last_document(&self) -> u32 {
        self.last
    }

    /// Returns the number of the window.
    pub(crate) fn window(&self) -> usize {
        (self.last / WINDOW) as usize
    }
}

/// Returns the number of windows of this number of documents.
pub(crate) fn windows(documents: u32) -> usize {
    documents.div_ceil(WINDOW) as usize
}

/// Returns whether a term with this number of postings has blocks in an index of `documents` documents.
pub(super) fn is_frequent(postings: usize, documents: usize) -> bool {
    postings > FREQUENT * windows(documents as u32)
}

impl Fixed for Block {
    const BYTES: usize = 20;

    fn read(bytes: &[u8]) -> Self {
        Self {
            last: u32_at(bytes, 0),
            end: u32_at(bytes, 4),
            count: u32_at(bytes, 8),
            quarters_max: u32_at(bytes, 12),
            length_min: u32_at(bytes, 16),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        for number in [
            self.last,
            self.end,
            self.count,
            self.quarters_max,
            self.length_min,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn is_within(&self, limits: &Limits) -> bool {
        self.last < limits.documents
    }
}
