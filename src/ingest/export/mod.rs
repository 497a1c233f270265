//! Objects back into files: what ingestion and `put --jsonl` read again as the same.
//!
//! # Layer
//! L6, inside `ingest`.

mod documents;
mod lines;
mod markdown;
mod org;
mod render;
mod tree;

pub use self::documents::{Piece, for_each_piece};
pub use self::lines::{LeftOut, Version, for_each_version, left_out};
