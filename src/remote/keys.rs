//! The keys of an encrypted remote or backup.
//!
//! # Layer
//! Layer 7.
//!
//! # Format
//! docs/format.md, "Encryption".

use std::fmt;
use std::fmt::Write as _;

use crate::digest::{derive_key, from_hex, to_hex};
use crate::disk::random_bytes;
use crate::error::{Error, ErrorCode, Result};

/// The start of a line with a key.
const LINE: &str = "treering-remote-key-1 ";
const ID_CONTEXT: &str = "treering 2026-11 id of a remote key";

/// The public id of a key.
pub(super) type KeyId = [u8; 8];

#[derive(Clone, PartialEq)]
pub(super) struct Key([u8; 32]);

/// The keys of a remote or backup: the first one encrypts, and each of them decrypts.
///
/// Without a key, the data is lost. Nothing stores the keys: the caller keeps their text, one key a line, the newest first.
///
/// ```
/// use treering::remote::Keys;
///
/// let old = Keys::generate()?;
/// let rotated = old.with_new()?;
/// assert_eq!(Keys::parse(&rotated.to_text())?.ids().last(), old.ids().last());
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone)]
pub struct Keys {
    first: Key,
    others: Vec<Key>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keys").field(&self.ids()).finish()
    }
}

impl Key {
    fn generate() -> Result<Self> {
        random_bytes().map(Self)
    }

    /// Derives a key for one purpose from this key and `parts`, whose lengths are fixed but for the last one.
    pub(super) fn derive(&self, context: &'static str, parts: &[&[u8]]) -> [u8; 32] {
        derive_key(context, &[&[&self.0[..]], parts].concat())
    }

    pub(super) fn id(&self) -> KeyId {
        let digest = self.derive(ID_CONTEXT, &[]);
        std::array::from_fn(|at| digest[at])
    }
}

impl Keys {
    /// Makes a new key.
    ///
    /// # Errors
    /// `Io` if the system has no random bytes.
    pub fn generate() -> Result<Self> {
        Ok(Self {
            first: Key::generate()?,
            others: Vec::new(),
        })
    }

    /// Returns these keys behind a new first one.
    ///
    /// # Errors
    /// `Io` if the system has no random bytes.
    pub fn with_new(&self) -> Result<Self> {
        Ok(Self {
            first: Key::generate()?,
            others: [std::slice::from_ref(&self.first), &self.others].concat(),
        })
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// `InvalidInput` (code `bad_key`).
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|line| {
            let digits = line.strip_prefix(LINE).and_then(|digits| from_hex(digits.trim()));
            digits.and_then(|bytes| bytes.try_into().ok()).map(Key)
        });
        let keys: Option<Vec<Key>> = keys.collect();
        let mut keys = keys.unwrap_or_default().into_iter();
        let Some(first) = keys.next() else {
            let error = Error::invalid("the key file is damaged, or has no key").with_code(ErrorCode::BadKey);
            return Err(error.with_hint("restore the file from a copy: a new key does not open what another one encrypted; for a new place: treering remote keygen FILE"));
        };
        Ok(Self {
            first,
            others: keys.collect(),
        })
    }

    /// Returns the text of a key file. Whoever reads it reads the remote.
    pub fn to_text(&self) -> String {
        self.all().fold(
            "# Treering keys of a remote, the newest first. Without them, its data is lost.\n".to_owned(),
            |mut text, key| {
                let _ = writeln!(text, "{LINE}{}", to_hex(&key.0));
                text
            },
        )
    }

    /// Returns the public ids of the keys.
    pub fn ids(&self) -> Vec<String> {
        self.all().map(|key| to_hex(&key.id())).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(super) fn first(&self) -> &Key {
        &self.first
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&Key> {
        self.all().find(|key| key.id() == id)
    }
}
