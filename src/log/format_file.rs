//! The `format` file: the identity and the format of a store.
//!
//! Creation of a store writes this file last, and every open reads this file first. A program that does not support the
//! format changes no file.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - FMT-1: if a store needs a newer reader, opening the store fails before any other file is opened.
//!
//! # Format
//! docs/format.md, "format".

use super::files::{damage, undecodable};
use super::fixed::{checked, with_checksum, zeros_left};
use crate::codec::DecodeError;
use crate::digest::HashAlgorithm;
use crate::error::{Error, ErrorKind, Result};

/// The length of the format file in bytes.
pub(super) const FORMAT_BYTES: usize = 128;
/// The name of the format file.
pub(super) const FORMAT_NAME: &str = "format";
/// The format version that this program reads and writes.
pub const FORMAT: u32 = 1;

const MAGIC: &[u8; 8] = b"TREERING";
/// The place of the cipher, and the number of bytes that every format file uses. In an encrypted remote, a seal follows them.
#[cfg(feature = "remote")]
const CIPHER_AT: usize = 41;
#[cfg(feature = "remote")]
const FIELD_BYTES: usize = 80;
/// The cipher of encrypted remotes: XChaCha20-Poly1305.
#[cfg(feature = "remote")]
const CIPHER: u8 = 1;

/// The feature of a store that has other lines than the main one. A program without it must not read the store, because
/// the batches of all lines share the log.
pub(super) const LINES: u64 = 1;

/// The way in which a log is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The handle can read, and can append under the lock.
    ReadWrite,
    /// The handle can only read. It creates, locks and writes no file.
    ReadOnly,
}

/// The identity and the format of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format of the store.
    pub format: u32,
    /// The hash function of all digests in the store.
    pub hash: HashAlgorithm,
    /// Random bytes that identify a store and all its copies.
    pub lineage: [u8; 16],
    /// Random bytes that identify this store. The checksum of every frame includes these bytes.
    pub instance: [u8; 16],
    /// The features that a reader must support.
    pub(super) features: u64,
}

/// The seal of the format file of an encrypted remote. The file itself is plain.
#[cfg(feature = "remote")]
pub(crate) struct FormatSeal {
    /// The id of the key.
    pub(crate) key: [u8; 8],
    /// The bytes that the code covers.
    pub(crate) covered: Vec<u8>,
    /// The message authentication code.
    pub(crate) mac: [u8; 32],
    /// The format file without the seal.
    pub(crate) plain: Vec<u8>,
}

/// Returns a format file with a seal. `mac` computes the code of the bytes before it.
#[cfg(feature = "remote")]
pub(crate) fn seal_format(plain: &[u8], key: [u8; 8], mac: impl FnOnce(&[u8]) -> [u8; 32]) -> Vec<u8> {
    let mut fields = plain[..FIELD_BYTES.min(plain.len())].to_vec();
    fields.resize(FIELD_BYTES, 0);
    fields[CIPHER_AT] = CIPHER;
    fields.extend_from_slice(&key);
    let mac = mac(&fields);
    fields.extend_from_slice(&mac);
    with_checksum(fields, FORMAT_BYTES)
}

/// Returns the seal of a format file; `None` if the remote is not encrypted.
#[cfg(feature = "remote")]
pub(crate) fn sealed_format(bytes: &[u8]) -> Result<Option<FormatSeal>, DecodeError> {
    let mut reader = checked(bytes, FORMAT_BYTES, MAGIC)?;
    match bytes[CIPHER_AT] {
        0 => return Ok(None),
        CIPHER => {}
        _ => return Err(DecodeError::Invalid("the cipher is unknown")),
    }
    let mut fields = [MAGIC, reader.bytes(FIELD_BYTES - MAGIC.len())?].concat();
    let (key, mac) = (reader.array()?, reader.array()?);
    zeros_left(&mut reader)?;
    let covered = [&fields[..], &key].concat();
    fields[CIPHER_AT] = 0;
    Ok(Some(FormatSeal {
        key,
        covered,
        mac,
        plain: with_checksum(fields, FORMAT_BYTES),
    }))
}

impl Format {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FORMAT_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 16]);
        bytes.extend_from_slice(&self.features.to_le_bytes());
        bytes.extend_from_slice(&[self.hash.tag(), 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&self.lineage);
        bytes.extend_from_slice(&self.instance);
        with_checksum(bytes, FORMAT_BYTES)
    }

    /// Decodes the file for `mode`.
    ///
    /// # Errors
    /// `Corrupt` if the file is damaged, `UnsupportedFormat` if a newer program wrote the store (FMT-1).
    pub(super) fn decode(bytes: &[u8], mode: Mode) -> Result<Self> {
        Self::decode_fields(bytes, mode)
            .map_err(|error| damage(FORMAT_NAME, 0, undecodable(&error)))?
            .map_err(|what| {
                Error::new(ErrorKind::UnsupportedFormat, format!("the store {what}"))
                    .with_hint("upgrade treering; nothing was changed")
            })
    }

    /// Decodes the file like [`Format::decode`]. The inner error describes why this version does not support the store.
    fn decode_fields(bytes: &[u8], mode: Mode) -> Result<Result<Self, String>, DecodeError> {
        let mut reader = checked(bytes, FORMAT_BYTES, MAGIC)?;
        let format = reader.u32()?;
        let min_reader = reader.u32()?;
        let _compatible = reader.u64()?;
        let read_only_compatible = reader.u64()?;
        let features = reader.u64()?;
        let unsupported = features & !LINES;
        let [hash, cipher, zeros @ ..] = reader.array::<8>()?;
        if min_reader > FORMAT {
            return Ok(Err(format!(
                "needs a reader of format {min_reader}; this version reads format {FORMAT}"
            )));
        }
        let unknown = match mode {
            Mode::ReadWrite => unsupported | read_only_compatible,
            Mode::ReadOnly => unsupported,
        };
        if unknown != 0 {
            let ability = if unsupported == 0 {
                "read but not write"
            } else {
                "neither read nor write"
            };
            return Ok(Err(format!(
                "has features ({unknown:#x}) that this version of Treering can {ability}"
            )));
        }
        let Some(hash) = HashAlgorithm::from_tag(hash) else {
            return Ok(Err("uses a hash that this version does not support".to_owned()));
        };
        if cipher != 0 {
            return Ok(Err(
                "is encrypted in a way that this version does not support".to_owned()
            ));
        }
        let (lineage, instance) = (reader.array()?, reader.array()?);
        zeros_left(&mut reader)?;
        if format == 0 || min_reader == 0 || zeros != [0; 6] || bytes.len() != FORMAT_BYTES {
            return Err(DecodeError::Invalid(
                "a reserved byte, a version or the length of the file is invalid",
            ));
        }
        Ok(Ok(Self {
            format,
            hash,
            lineage,
            instance,
            features,
        }))
    }
}
