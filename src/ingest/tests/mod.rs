//! Tests of the whole module: the objects of files, and the changes made by the next version of the files.

mod export;
mod files;
mod hostile;
mod jsonl;
mod lines;
mod markdown;
mod meanwhile;
mod memory;
mod org;
mod promises;
mod random;
mod renames;
mod transcripts;

use super::*;
use crate::error::Error;
use crate::object::Id;
use memory::Memory;

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn read(path: &str, text: &str) -> Document {
    Document::read(path, text.as_bytes(), None).unwrap()
}

fn refused(path: &str, text: impl AsRef<[u8]>) -> Error {
    Document::read(path, text.as_ref(), None).unwrap_err()
}
