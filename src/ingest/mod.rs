//! Org, Markdown and JSON Lines into objects.
//!
//! Two steps. [`Document::read`] turns a file into the objects that it stands for: one for the document, one
//! for each heading, entry of a transcript or stated object. [`plan()`] compares documents with a memory and
//! says what to write and what to remove, so that the same file again changes nothing and an edit changes
//! only what was edited. Neither touches a disk; the caller applies the [`Change`].
//!
//! # Layer
//! L6. Stands on objects alone and sees the memory through [`Existing`].
//!
//! # Invariants
//! - ING-1 to ING-10, EXP-1 to EXP-4, each in the file that keeps it.
//!
//! # Format
//! docs/ingest.md says what becomes of each part of a file.

mod derived_id;
mod document;
mod export;
mod format;
pub mod json;
mod jsonl;
mod markdown;
mod order;
mod org;
mod plan;
mod sources;
mod statement;
mod text;
mod transcript;
mod write;

#[cfg(feature = "agent")]
pub(crate) use self::document::shown;
pub use self::document::{DOCUMENT_KIND, Document, ENTRY_KIND, HEADING_KIND, document_path};
pub use self::export::{LeftOut, Piece, Version, for_each_piece, for_each_version, left_out};
pub use self::format::Format;
pub use self::plan::{Change, Existing, IngestOptions, Write, plan};
pub use self::write::{documents, ingest};

#[cfg(test)]
mod tests;
