//! Converts Org, Markdown and JSON Lines to objects, and back.
//!
//! [`Document::read`] converts a file to objects: one for the document, and one for each heading, transcript entry or
//! stated object. [`ingest()`] compares documents with a memory, and commits the objects to write and to remove.
//! Ingesting the same file again changes nothing, and an edit changes only the edited objects.
//!
//! # Limits
//! - Ingestion keeps several copies of a document and its objects in memory. A file of 28 MB with a million headings
//!   needs about 4 GB.
//! - An object that is imported without its sources has the origin `import`, whatever its line claims.

// Layer: L6. Uses only objects, through `Existing`, to make plans. Invariants: ING-1 to ING-10 and EXP-1 to EXP-4, each
// in its file. Format: docs/ingest.md maps each part of a file to its object.

mod derived_id;
mod document;
mod export;
mod format;
pub(crate) mod json;
mod jsonl;
mod markdown;
pub(crate) mod moment;
mod order;
mod org;
mod outline;
mod path;
mod plan;
mod read;
mod sources;
mod spoken_time;
mod statement;
mod text;
mod transcript;
mod write;

#[cfg(feature = "agent")]
pub(crate) use self::document::Part;
#[cfg(test)]
use self::document::{DOCUMENT_KIND, ENTRY_KIND, HEADING_KIND};
pub use self::document::{Document, Skipped};
#[doc(hidden)]
pub use self::export::{Piece, Version, for_each_piece, for_each_version, omitted};
pub use self::format::Format;
#[cfg(feature = "agent")]
pub(crate) use self::markdown::split_matter;
#[doc(hidden)]
pub use self::path::document_path;
pub use self::plan::{Change, IngestOptions, Write};
#[cfg(test)]
use self::plan::{Existing, plan};
#[cfg(feature = "agent")]
pub(crate) use self::text::{decode, shown};
#[doc(hidden)]
pub use self::text::{fence_around, not_utf8};
#[doc(hidden)]
pub use self::transcript::{Part as TurnPart, Turn, drop_copies, is_of_program, turn_of};
#[doc(hidden)]
pub use self::write::documents;
pub use self::write::ingest;
#[cfg(feature = "agent")]
pub(crate) use self::write::{ingest_beside, stage_documents};

#[cfg(test)]
mod tests;
