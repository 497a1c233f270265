//! A bucket whose objects are encrypted, in any other bucket.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.
//!
//! # Invariants
//! - SLD-1: bytes are returned only after their tag was checked. A file that was changed, cut, extended, renamed, or made of
//!   parts of other files is damage.
//! - SLD-2: a file has a key of its own, from a new salt. So a nonce, which counts chunks, is used once with a key.
//! - SLD-3: nothing is read or written with a key that the key file lacks.
//!
//! # Format
//! docs/format.md, "Encryption".

use std::ops::Range;
use std::sync::Arc;

use chacha20poly1305::aead::Aead as _;
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305};

use super::super::keys::{Key, Keys};
use super::{Bucket, BucketError, BucketResult, KeyFault, Stored, Version};
use crate::digest::to_hex;
use crate::disk::random_bytes;
use crate::log::closed::{FORMAT_FILE, LIVE_FILE};
use crate::log::{FormatSeal, seal_format, sealed_format};

const FILE_CONTEXT: &str = "treering 2026-11 file of a remote";
const FORMAT_CONTEXT: &str = "treering 2026-11 format of a remote";

/// The bytes of plain text in a chunk. Only the last chunk has fewer.
const CHUNK: usize = 16 << 10;
const TAG: usize = 16;
const SEALED_CHUNK: usize = CHUNK + TAG;
const SALT: usize = 24;
/// The bytes at the start of a file that say which key it has; the whole file `format`.
const FORMAT_LENGTH: u64 = 128;
/// The id of the key and the salt.
const HEADER: usize = 8 + SALT;

/// An encrypted bucket. The file `format` alone is plain; it names the key.
pub struct Sealed {
    inner: Arc<dyn Bucket>,
    keys: Keys,
}

/// The key of one file.
struct FileKey(XChaCha20Poly1305);

impl FileKey {
    fn new(key: &Key, salt: &[u8], name: &str) -> Self {
        Self(XChaCha20Poly1305::new(
            &key.derive(FILE_CONTEXT, &[salt, name.as_bytes()]).into(),
        ))
    }

    /// Returns the key of a file that has this header.
    fn of_header(keys: &Keys, header: &[u8], name: &str) -> BucketResult<Self> {
        let (id, salt) = header.split_first_chunk::<8>().ok_or_else(|| damaged(name))?;
        if salt.len() != SALT {
            return Err(damaged(name));
        }
        // INVARIANT SLD-3
        let key = keys.find(*id).ok_or(BucketError::Key(KeyFault::Other))?;
        Ok(Self::new(key, salt, name))
    }

    /// Returns the nonce of a chunk: its number, and whether it is the last one. So no chunk fits elsewhere.
    fn nonce(number: usize, is_last: bool) -> [u8; 24] {
        let mut nonce = [0; 24];
        nonce[..8].copy_from_slice(&(number as u64).to_le_bytes());
        nonce[8] = u8::from(is_last);
        nonce
    }

    fn encrypt(&self, number: usize, is_last: bool, plain: &[u8]) -> BucketResult<Vec<u8>> {
        let sealed = self.0.encrypt(&Self::nonce(number, is_last).into(), plain);
        sealed.map_err(|_| BucketError::Failed("a chunk cannot be encrypted".to_owned()))
    }

    /// Decrypts chunks from `first` on. `is_end` tells whether the last of them is the last of the file.
    fn decrypt(&self, name: &str, first: usize, is_end: bool, sealed: &[u8]) -> BucketResult<Vec<u8>> {
        let mut plain = Vec::with_capacity(sealed.len());
        let count = sealed.len().div_ceil(SEALED_CHUNK);
        for (chunk, at) in sealed.chunks(SEALED_CHUNK).zip(0..) {
            let nonce = Self::nonce(first + at, is_end && at + 1 == count);
            // INVARIANT SLD-1
            plain.extend(self.0.decrypt(&nonce.into(), chunk).map_err(|_| damaged(name))?);
        }
        Ok(plain)
    }
}

fn damaged(name: &str) -> BucketError {
    BucketError::Damaged(format!("{name} differs from what was encrypted"))
}

impl Sealed {
    /// Encrypts everything in `inner`.
    pub fn new(inner: Arc<dyn Bucket>, keys: Keys) -> Self {
        Self { inner, keys }
    }

    /// Returns the public id of the key that encrypts.
    pub(in crate::remote) fn key_id(&self) -> String {
        to_hex(&self.keys.first().id())
    }

    /// Returns whether an object is encrypted with the first key; `None` if it is missing.
    pub(in crate::remote) fn is_current(&self, name: &str) -> BucketResult<Option<bool>> {
        let id = match self.inner.get(name, Some(0..FORMAT_LENGTH)) {
            Err(BucketError::Missing) => return Ok(None),
            stored if name == FORMAT_FILE => format_seal(&stored?.bytes)?.key,
            stored => stored?
                .bytes
                .first_chunk()
                .copied()
                .ok_or_else(|| damaged(name))?,
        };
        Ok(Some(id == self.keys.first().id()))
    }

    fn seal(&self, name: &str, plain: &[u8]) -> BucketResult<Vec<u8>> {
        let key = self.keys.first();
        if name == FORMAT_FILE {
            return Ok(seal_format(plain, key.id(), |bytes| {
                key.derive(FORMAT_CONTEXT, &[bytes])
            }));
        }
        // INVARIANT SLD-2
        let no_salt = |error: crate::error::Error| BucketError::Failed(error.to_string());
        let salt: [u8; SALT] = random_bytes().map_err(no_salt)?;
        let file = FileKey::new(key, &salt, name);
        let mut sealed = [&key.id()[..], &salt].concat();
        sealed.reserve(plain.len() + plain.len().div_ceil(CHUNK).max(1) * TAG);
        let count = plain.len().div_ceil(CHUNK).max(1);
        for number in 0..count {
            let chunk = &plain[number * CHUNK..plain.len().min((number + 1) * CHUNK)];
            sealed.extend(file.encrypt(number, number + 1 == count, chunk)?);
        }
        Ok(sealed)
    }

    /// Decrypts the header and the chunks behind it. `is_end` tells whether the last of them is the last of the file.
    fn open_chunks(&self, name: &str, is_end: bool, sealed: &[u8]) -> BucketResult<Vec<u8>> {
        let (header, chunks) = sealed.split_at_checked(HEADER).ok_or_else(|| damaged(name))?;
        if chunks.is_empty() {
            return Err(damaged(name));
        }
        FileKey::of_header(&self.keys, header, name)?.decrypt(name, 0, is_end, chunks)
    }

    fn open_format(&self, bytes: &[u8]) -> BucketResult<Vec<u8>> {
        let seal = format_seal(bytes)?;
        let key = self
            .keys
            .find(seal.key)
            .ok_or(BucketError::Key(KeyFault::Other))?;
        if key.derive(FORMAT_CONTEXT, &[&seal.covered]) == seal.mac {
            Ok(seal.plain)
        } else {
            Err(damaged(FORMAT_FILE))
        }
    }

    /// Returns the bytes of an object in `range`. Reads and decrypts only the chunks with these bytes.
    fn part(&self, name: &str, range: &Range<u64>) -> BucketResult<Stored> {
        let first = range.start / CHUNK as u64;
        let end = range.end.div_ceil(CHUNK as u64).max(first + 1);
        let at = |chunk: u64| (HEADER as u64).saturating_add(chunk.saturating_mul(SEALED_CHUNK as u64));
        // One byte more tells whether the file goes on. A range from the start gets the header with its chunks.
        let start = if first == 0 { 0 } else { at(first) };
        let mut stored = self.inner.get(name, Some(start..at(end).saturating_add(1)))?;
        let is_end = (stored.bytes.len() as u64) <= at(end) - start;
        stored
            .bytes
            .truncate(usize::try_from(at(end) - start).unwrap_or(usize::MAX));
        let opened = if first == 0 {
            self.open_chunks(name, is_end, &stored.bytes)
        } else {
            let header = self.inner.get(name, Some(0..HEADER as u64))?;
            let file = FileKey::of_header(&self.keys, &header.bytes, name)?;
            if stored.bytes.is_empty() {
                Err(damaged(name))
            } else {
                file.decrypt(name, first as usize, is_end, &stored.bytes)
            }
        };
        match opened {
            // Only the last chunk proves that the file ends before the range. Or somebody replaced it between two requests.
            Err(BucketError::Damaged(_)) if first > 0 => {
                stored = self.inner.get(name, None)?;
                stored.bytes = slice(&self.open_chunks(name, true, &stored.bytes)?, range.clone());
            }
            opened => {
                let skipped = first * CHUNK as u64;
                stored.bytes = slice(&opened?, range.start - skipped..range.end.saturating_sub(skipped));
            }
        }
        Ok(stored)
    }
}

fn format_seal(bytes: &[u8]) -> BucketResult<FormatSeal> {
    if bytes.len() as u64 != FORMAT_LENGTH {
        return Err(damaged(FORMAT_FILE));
    }
    match sealed_format(bytes) {
        Ok(Some(seal)) => Ok(seal),
        Ok(None) => Err(BucketError::Key(KeyFault::NotEncrypted)),
        Err(_) => Err(damaged(FORMAT_FILE)),
    }
}

fn slice(bytes: &[u8], range: Range<u64>) -> Vec<u8> {
    let end = range.end.min(bytes.len() as u64);
    bytes[range.start.min(end) as usize..end as usize].to_vec()
}

impl Bucket for Sealed {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        // A store that programs open has this file. A remote has not.
        if name == LIVE_FILE {
            return self.inner.get(name, range);
        }
        if name == FORMAT_FILE {
            let mut stored = self.inner.get(name, Some(0..FORMAT_LENGTH + 1))?;
            stored.bytes = self.open_format(&stored.bytes)?;
            if let Some(range) = range {
                stored.bytes = slice(&stored.bytes, range);
            }
            return Ok(stored);
        }
        self.part(name, &range.unwrap_or(0..u64::MAX))
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        self.inner.put_new(name, &self.seal(name, bytes)?)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        self.inner.swap(name, version, &self.seal(name, bytes)?)
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        self.inner.list(prefix)
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        self.inner.delete(name)
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn keeps_old_bytes(&self) -> Option<bool> {
        self.inner.keeps_old_bytes()
    }
}
