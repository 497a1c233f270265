//! The common layout of the small files and of segment headers: a magic number first, a checksum last.
//!
//! # Layer
//! Layer 2.

use crate::codec::{DecodeError, Reader};

const CHECKSUM_BYTES: usize = 4;
static ZEROS: [u8; 4096] = [0; 4096];

/// Pads `fields` with zeros to `length` bytes, the last of which are the checksum.
pub(super) fn with_checksum(mut fields: Vec<u8>, length: usize) -> Vec<u8> {
    fields.resize(length - CHECKSUM_BYTES, 0);
    fields.extend_from_slice(&crc32c::crc32c(&fields).to_le_bytes());
    fields
}

/// Checks the magic number and the checksum of `length` bytes. Returns a reader of the fields after the magic number.
pub(super) fn checked<'a>(bytes: &'a [u8], length: usize, magic: &[u8]) -> Result<Reader<'a>, DecodeError> {
    let mut whole = Reader::new(bytes);
    let covered = whole.bytes(length.saturating_sub(CHECKSUM_BYTES))?;
    let stored = whole.u32()?;
    let mut reader = Reader::new(covered);
    if reader.bytes(magic.len())? != magic {
        return Err(DecodeError::Invalid(
            "its first bytes are those of another kind of file",
        ));
    }
    if crc32c::crc32c(covered) != stored {
        return Err(DecodeError::Invalid("its checksum does not match"));
    }
    Ok(reader)
}

/// Refuses reserved bytes at the end of the fields that are not zero.
pub(super) fn zeros_left(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    if is_zero(reader.bytes(reader.left())?) {
        return Ok(());
    }
    Err(DecodeError::Invalid("a reserved byte is not zero"))
}

/// Returns whether a page or less is all zeros. Compares whole pages, which is many times as fast as single bytes.
pub(super) fn is_zero(page: &[u8]) -> bool {
    ZEROS.get(..page.len()) == Some(page)
}
