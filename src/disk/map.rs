//! Read-only maps of sealed files: the only unsafe code of the crate.
//!
//! # Layer
//! Layer 1.
//!
//! # Invariants
//! - MAP-1: only bytes that no process ever changes are mapped. Their files are never shortened, only unlinked.
//! - MAP-2: a map never reaches beyond the length of the file at the time of mapping.
#![expect(
    unsafe_code,
    reason = "mapping a file is always unsafe; MAP-1 and MAP-2 state why it is sound here"
)]

use std::fs::File;
use std::io;

use bytes::Bytes;

/// Maps the first `length` bytes of `file`, which must be sealed (MAP-1).
///
/// # Errors
/// `UnexpectedEof` if the file is shorter, or the error of the operating system.
pub(super) fn map_sealed(file: &File, length: u64) -> io::Result<Bytes> {
    // MAP-2: an access to a page beyond the end of the file would kill the process.
    if file.metadata()?.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if length == 0 {
        return Ok(Bytes::new());
    }
    let length = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    // SAFETY: the mapped bytes belong to a sealed file. By the store's protocol, no process writes to them or shortens
    // the file, so the slice never changes while it is borrowed (MAP-1). It lies within the file (MAP-2). A foreign
    // program that truncates the file breaks this; docs/durability.md describes the effect.
    let map = unsafe { memmap2::MmapOptions::new().len(length).map(file)? };
    Ok(Bytes::from_owner(map))
}
