//! The keys of signers and witnesses, as text.
//!
//! # Layer
//! Layer 6, inside `signed`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};

use super::note::{NoteError, is_key_name};
use crate::digest::{sha256, to_hex};
use crate::disk::random;
use crate::error::{Error, ErrorCode, OrIo as _, Result};
use crate::object::Time;

/// The type byte of the signature of a log.
const LOG: u8 = 1;
/// The type byte of the signature of a witness, with a time.
const COSIGNER: u8 = 4;
/// The beginning of the text of a private key.
const PRIVATE: &str = "PRIVATE+KEY+";
/// The number of bytes of the time before the signature of a witness.
const TIME_LEN: usize = 8;

fn bad_key(what: &str) -> Error {
    Error::invalid(format!("this is not a key: {what}"))
        .with_code(ErrorCode::BadKey)
        .with_hint("a verifier key is a line NAME+ID+BASE64, as `keygen` prints it")
}

/// Returns the id of a key: the beginning of a digest over its name, its type and its public bytes.
fn id_of(name: &str, kind: u8, public: &[u8; 32]) -> [u8; 4] {
    let bytes = [name.as_bytes(), &[b'\n', kind], public].concat();
    let [a, b, c, d, ..] = sha256(&bytes);
    [a, b, c, d]
}

/// Splits a key into its name, type byte and 32 bytes. The caller compares its text with the whole (SGN-3), so the id, too.
fn parts(text: &str) -> Option<(&str, u8, [u8; 32])> {
    let (name, rest) = text.split_once('+')?;
    let bytes = STANDARD.decode(rest.split_once('+')?.1).ok()?;
    let (kind, key) = bytes.split_first()?;
    Some((name, *kind, key.try_into().ok().filter(|_| is_key_name(name))?))
}

/// The public key of a signer or a witness: a `vkey` of C2SP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    kind: u8,
    key: VerifyingKey,
}

impl VerifierKey {
    /// Returns the name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the key is of a witness, whose signature has a time.
    pub fn is_witness(&self) -> bool {
        self.kind == COSIGNER
    }

    /// Returns the id of the key.
    pub(super) fn id(&self) -> [u8; 4] {
        id_of(&self.name, self.kind, self.key.as_bytes())
    }

    /// Checks a signature. Returns the time that a witness states.
    pub(super) fn check(&self, text: &str, signature: &[u8]) -> Result<Option<Time>, NoteError> {
        let wrong = || NoteError::Signature(self.name.clone());
        let (time, signature) = match signature.split_first_chunk() {
            Some((time, rest)) if self.is_witness() => (Some(seconds_in(*time).ok_or_else(wrong)?), rest),
            _ => (None, signature),
        };
        let signature = Signature::from_slice(signature).map_err(|_| wrong())?;
        let message = time.map_or_else(|| text.to_owned(), |time| statement(text, time));
        let checked = self.key.verify_strict(message.as_bytes(), &signature);
        checked.map_err(|_| wrong())?;
        Ok(time.map(|time| Time::from_micros(time * 1_000_000)))
    }
}

impl FromStr for VerifierKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.starts_with(PRIVATE) {
            return Err(bad_key("it is a private key, which nobody else may see"));
        }
        let (name, kind, public) = parts(text).ok_or_else(|| bad_key("its form is wrong"))?;
        if ![LOG, COSIGNER].contains(&kind) {
            return Err(bad_key(
                "its type is neither Ed25519 (1) nor that of a cosignature (4)",
            ));
        }
        let key = VerifyingKey::from_bytes(&public)
            .ok()
            .filter(|key| !key.is_weak());
        let key = key.ok_or_else(|| bad_key("its bytes are no public key"))?;
        let verifier = Self {
            name: name.to_owned(),
            kind,
            key,
        };
        if verifier.to_string() == text {
            return Ok(verifier);
        }
        Err(bad_key("its id does not fit its name and bytes"))
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&[self.kind], &self.key.as_bytes()[..]].concat();
        write!(
            f,
            "{}+{}+{}",
            self.name,
            to_hex(&self.id()),
            STANDARD.encode(bytes)
        )
    }
}

/// The private key of a signer or a witness. It is never printed by `Debug`, and its memory is cleared.
pub struct SigningKey {
    name: String,
    key: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// `InvalidInput` (code `bad_key`) if the name is empty or has a space, a control character or `+`; `Io` if the
    /// system has no random bytes.
    pub fn generate(name: &str) -> Result<Self> {
        let mut seed = [0; 32];
        random(&mut seed).or_io("cannot read random bytes")?;
        Self::of(name, &seed)
    }

    fn of(name: &str, seed: &[u8; 32]) -> Result<Self> {
        if !is_key_name(name) {
            return Err(bad_key("a name must not be empty or have a space or `+`"));
        }
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        Ok(Self {
            name: name.to_owned(),
            key,
        })
    }

    /// Reads the text of a private key. The error quotes nothing of it.
    ///
    /// # Errors
    /// `InvalidInput` (code `bad_key`).
    pub fn parse(text: &str) -> Result<Self> {
        let found = text.strip_prefix(PRIVATE).and_then(parts);
        let (name, kind, seed) = found.ok_or_else(|| bad_key("a private key begins with PRIVATE+KEY+"))?;
        let key = Self::of(name, &seed)?;
        if kind != LOG || key.to_text() != text {
            return Err(bad_key("its type or id does not fit its name and bytes"));
        }
        Ok(key)
    }

    /// Returns the private key as text, for a file that only its owner can read.
    pub fn to_text(&self) -> String {
        let bytes = [&[LOG], &self.key.as_bytes()[..]].concat();
        format!(
            "{PRIVATE}{}+{}+{}",
            self.name,
            to_hex(&self.verifier().id()),
            STANDARD.encode(bytes)
        )
    }

    /// Returns the name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the public key that checks the heads that this key signs.
    pub fn verifier(&self) -> VerifierKey {
        self.public(LOG)
    }

    /// Returns the public key that checks the cosignatures of this key.
    pub fn cosigner(&self) -> VerifierKey {
        self.public(COSIGNER)
    }

    fn public(&self, kind: u8) -> VerifierKey {
        VerifierKey {
            name: self.name.clone(),
            kind,
            key: self.key.verifying_key(),
        }
    }

    pub(super) fn sign(&self, text: &str) -> Vec<u8> {
        self.key.sign(text.as_bytes()).to_bytes().to_vec()
    }

    #[expect(clippy::big_endian_bytes, reason = "the format of C2SP")]
    pub(super) fn cosign(&self, text: &str, time: Time) -> Vec<u8> {
        let seconds = (time.as_micros() / 1_000_000).max(0);
        let signature = self.sign(&statement(text, seconds));
        [&seconds.to_be_bytes()[..], &signature].concat()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey")
            .field(&self.verifier().to_string())
            .finish()
    }
}

/// Returns what a witness signs.
fn statement(text: &str, seconds: i64) -> String {
    format!("cosignature/v1\ntime {seconds}\n{text}")
}

/// Reads the seconds since 1970, if they are a time of this program.
#[expect(clippy::big_endian_bytes, reason = "the format of C2SP")]
fn seconds_in(bytes: [u8; TIME_LEN]) -> Option<i64> {
    let seconds = i64::from_be_bytes(bytes);
    (0..=i64::MAX / 1_000_000).contains(&seconds).then_some(seconds)
}
