//! The sections of an index in an image, in their order.
//!
//! # Layer
//! Layer 6, inside `recall`. Pure: imports nothing of the crate.

/// The sections of an index.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// The fields of documents that the base score reads.
    Scored,
    /// The keys of documents, and their places in time.
    Stamps,
    /// The number of each key.
    Numbers,
    /// The days that documents mention.
    Spans,
    /// The ends of the text, of the postings and of the blocks of each term.
    Terms,
    /// The texts of the terms.
    TermTexts,
    /// The postings of the terms.
    Postings,
    /// The blocks of the postings of frequent terms.
    Blocks,
    /// The counts, the scopes, the speakers and the names, as `postcard` writes them.
    People,
    /// The names by which documents address somebody.
    Calls,
    /// The sessions.
    Sessions,
    /// The members of the sessions.
    Members,
    /// The speakers of the sessions with the numbers of their documents.
    SessionSpeakers,
    /// The names of the sessions.
    SessionNames,
    /// The links from new documents to old ones.
    Olds,
    /// The links from old documents to new ones.
    News,
}
