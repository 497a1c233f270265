//! The `format` file: the identity and the format of a store.
//!
//! Creation writes the file as its last step, and every open reads it first. A program that cannot read this format
//! changes no file.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - FMT-1: if a store needs a newer reader, opening it is refused before any other file is opened.
//!
//! # Format
//! docs/format.md, "format".

use super::files::{damage, undecodable as broken_by};
use crate::codec::{DecodeError, Reader};
use crate::digest::HashAlgorithm;
use crate::error::{Cause, Error, ErrorKind, Result};

/// The number of bytes in the file.
pub(super) const FORMAT_BYTES: usize = 128;
/// The name of the file.
pub(super) const FORMAT_NAME: &str = "format";
/// The format version that this program reads and writes.
pub const FORMAT: u32 = 1;

const MAGIC: &[u8; 8] = b"TREERING";

/// The purpose of opening a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading, and appending under the lock.
    ReadWrite,
    /// Reading only: no file is created, locked or written.
    ReadOnly,
}

/// The identity and the format of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format of the store.
    pub format: u32,
    /// The hash of all digests in the store.
    pub hash: HashAlgorithm,
    /// Random bytes that a store shares with its copies.
    pub lineage: [u8; 16],
    /// Random bytes of this store alone; every frame is bound to them.
    pub instance: [u8; 16],
}

impl Format {
    pub(super) fn encode(&self) -> [u8; FORMAT_BYTES] {
        let mut bytes = Vec::with_capacity(FORMAT_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 24]);
        bytes.extend_from_slice(&[self.hash.tag(), 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&self.lineage);
        bytes.extend_from_slice(&self.instance);
        bytes.resize(FORMAT_BYTES - 4, 0);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
            .try_into()
            .expect("the fields above add up to the length of the file")
    }

    /// Decodes the file for `mode`.
    ///
    /// # Errors
    /// `Corrupt`, or `UnsupportedFormat` (FMT-1).
    pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Self> {
        let damaged = |cause| damage(FORMAT_NAME, 0, cause);
        let undecodable = |what: &str| damaged(Cause::Undecodable(what.to_owned()));
        let fixed = bytes
            .first_chunk::<FORMAT_BYTES>()
            .ok_or_else(|| damaged(Cause::CutOff))?;
        if !fixed.starts_with(MAGIC) {
            return Err(undecodable("its first bytes are not those of a format file"));
        }
        let (covered, stored) = fixed.split_at(FORMAT_BYTES - 4);
        if crc32c::crc32c(covered).to_le_bytes() != *stored {
            return Err(undecodable("its checksum does not match"));
        }
        Self::read_fields(covered, bytes.len(), mode)
    }

    fn read_fields(covered: &[u8], length: usize, mode: Mode) -> Result<Self> {
        let broken = |error: DecodeError| damage(FORMAT_NAME, 0, broken_by(&error));
        let mut reader = Reader::new(covered);
        reader.bytes(MAGIC.len()).map_err(broken)?;
        let format = reader.u32().map_err(broken)?;
        let min_reader = reader.u32().map_err(broken)?;
        let _compatible = reader.u64().map_err(broken)?;
        let read_only_compatible = reader.u64().map_err(broken)?;
        let incompatible = reader.u64().map_err(broken)?;
        if min_reader > FORMAT {
            return Err(too_new(&format!(
                "needs a reader of format {min_reader}; this version reads format {FORMAT}"
            )));
        }
        if incompatible != 0 {
            return Err(too_new(&format!(
                "has features ({incompatible:#x}) that this version does not support"
            )));
        }
        if mode == Mode::ReadWrite && read_only_compatible != 0 {
            return Err(too_new(&format!(
                "has features ({read_only_compatible:#x}) that this version can read but not write"
            )));
        }
        let [hash, cipher, zeros @ ..] = reader.array::<8>().map_err(broken)?;
        let hash = HashAlgorithm::from_tag(hash)
            .ok_or_else(|| too_new("uses a hash that this version does not support"))?;
        if cipher != 0 {
            return Err(too_new(
                "is encrypted in a way that this version does not support",
            ));
        }
        let lineage = reader.array().map_err(broken)?;
        let instance = reader.array().map_err(broken)?;
        let rest_is_zero = reader
            .bytes(reader.left())
            .map_err(broken)?
            .iter()
            .all(|byte| *byte == 0);
        if format == 0 || min_reader == 0 || zeros != [0; 6] || !rest_is_zero || length != FORMAT_BYTES {
            return Err(broken(DecodeError::Invalid(
                "a reserved byte or the length is wrong",
            )));
        }
        Ok(Self {
            format,
            hash,
            lineage,
            instance,
        })
    }
}

fn too_new(what: &str) -> Error {
    Error::new(ErrorKind::UnsupportedFormat, format!("the store {what}"))
        .with_hint("upgrade treering; nothing was changed")
}
