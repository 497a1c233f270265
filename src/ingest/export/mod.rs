//! Writes objects to files. Ingestion and `put --jsonl` read the files as the same objects.
//!
//! # Layer
//! Layer 6, inside `ingest`.

mod documents;
mod lines;
mod markdown;
mod org;
mod render;
mod tree;

pub use self::documents::{Piece, for_each_piece};
pub use self::lines::{Version, for_each_version, omitted};
