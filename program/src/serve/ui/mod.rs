//! The reads and the ways back of the page of a person; see docs/page.md.
//!
//! A client of the operations is a model, so an operation hides what is untrusted or of another scope. The reader of the
//! page is the person who started the server. So the page shows every object of every scope, each with its class.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - PAG-1: `visible` escapes every text of an answer, so no stored text looks like another one.
//! - PAG-2: an answer has at most [`ROWS_MAX`] rows or 500 folders, and reads no more objects than that. A search for a part
//!   of a text reads objects for a limited time. The ledger, the sorted ids and the index of words are made of all objects:
//!   once, and then by differences.
//! - PAG-3: without a writer, the page changes nothing. With one, a revert or rollback changes only the head that the person
//!   saw.

pub(crate) mod acts;
pub(crate) mod assets;
pub(crate) mod changes;
pub(crate) mod conflicts;
pub(crate) mod inbox;
pub(crate) mod object;
pub(crate) mod objects;
mod reader;
pub(crate) mod search;
pub(crate) mod sessions;
mod shown;
pub(crate) mod summary;
pub(crate) mod timeline;
pub(crate) mod ways_back;

pub(crate) use reader::{Reader, Shared};
pub(crate) use shown::shown;

/// The usual and the largest number of rows of an answer.
const ROWS: usize = 100;
const ROWS_MAX: usize = 200;

/// The rows that a request asks for.
#[derive(Clone, Copy, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Rows {
    pub(crate) start: usize,
    pub(crate) count: Option<usize>,
}

impl Rows {
    /// Returns the places of the rows among `total`.
    fn of(self, total: usize) -> std::ops::Range<usize> {
        let start = self.start.min(total);
        let count = self.count.unwrap_or(ROWS).clamp(1, ROWS_MAX);
        start..start.saturating_add(count).min(total)
    }
}
