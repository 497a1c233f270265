//! Maps files, or the durable start of one, into memory, read-only. Besides trie/pointer.rs, this is the only unsafe code of
//! the crate.
//!
//! # Layer
//! Layer 1.
//!
//! # Invariants
//! - MAP-1: a map contains only bytes that no process ever changes. Treering unlinks the mapped file, but never
//!   shortens it.
//! - MAP-2: a map never extends beyond the end of the file.
#![expect(
    unsafe_code,
    reason = "mapping a file is always unsafe; MAP-1 and MAP-2 state why it is sound here"
)]

use std::fs::File;
use std::io;

use bytes::Bytes;

/// Maps the first `length` bytes of `file`, which no process may change (MAP-1).
///
/// # Errors
/// `UnexpectedEof` if the file has fewer than `length` bytes, or the error of the operating system.
pub(super) fn map_sealed(file: &File, length: u64) -> io::Result<Bytes> {
    // MAP-2: checks the length, because an access to a page beyond the end of the file would kill the process.
    if file.metadata()?.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if length == 0 {
        return Ok(Bytes::new());
    }
    let length = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    // SAFETY: the mapped bytes are durable bytes of a segment, or belong to a file that is written only once. By the
    // store's protocol, no process writes to them or shortens the file, so the slice never changes while it is borrowed
    // (MAP-1). Later bytes of the file may change, but are not part of the slice, which lies within the file (MAP-2).
    // Another program that truncates the file breaks this guarantee. docs/durability.md describes the effect.
    let map = unsafe { memmap2::MmapOptions::new().len(length).map(file)? };
    Ok(Bytes::from_owner(map))
}
