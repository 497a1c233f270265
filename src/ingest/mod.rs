//! Turns Org, Markdown and JSON Lines into objects, and back.
//!
//! [`Document::read`] turns a file into objects: one for the document, and one for each heading, transcript entry or
//! stated object. `plan` compares documents with a memory and lists the objects to write and to remove. Ingesting
//! the same file again changes nothing, and an edit changes only the edited objects. Neither function touches a disk;
//! [`ingest()`] commits the [`Change`].
//!
//! # Layer
//! L6. Plans with objects only, through `Existing`.
//!
//! # Limits
//! - A document and its objects are in memory several times. An Org file of a million headings (28 MB) took 33 s and
//!   3.5 GB, the second time 18 s and 2.1 GB, its export as Org 43 s and 4.2 GB (November 2026, two shared cores).
//!   Export as JSON Lines holds no objects: 10 s and 60 MB. 20,000 levels of headings took 2 s.
//! - An imported object without its sources has the origin `import`, whatever its line claims.
//! - An object above 1 MiB, which needs a handle with wider limits, is exported, but `put --jsonl` refuses its
//!   line.
//!
//! # Invariants
//! - ING-1 to ING-10, EXP-1 to EXP-4, each in its file.
//!
//! # Format
//! docs/ingest.md maps each part of a file to its object.

mod derived_id;
mod document;
mod export;
mod format;
pub(crate) mod json;
mod jsonl;
mod markdown;
mod order;
mod org;
mod outline;
mod path;
mod plan;
mod read;
mod sources;
mod statement;
mod text;
mod transcript;
mod write;

pub use self::document::Document;
#[cfg(test)]
use self::document::{DOCUMENT_KIND, ENTRY_KIND, HEADING_KIND};
pub(crate) use self::export::{Piece, Version, for_each_piece, for_each_version, omitted};
pub use self::format::Format;
pub(crate) use self::path::document_path;
pub use self::plan::{Change, IngestOptions, Write};
#[cfg(test)]
use self::plan::{Existing, plan};
#[cfg(feature = "agent")]
pub(crate) use self::text::shown;
pub(crate) use self::write::documents;
pub use self::write::ingest;

#[cfg(test)]
mod tests;
