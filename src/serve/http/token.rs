//! The token of a server, which a client sends with every request.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - TOK-1: the file of a token is read only if nobody but its owner can, and no link leads to it.
//! - TOK-2: the time of a comparison does not depend on how many bytes are equal.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::digest::to_hex;
use crate::engine::Memory;
use crate::error::{Error, ErrorCode, Result};

/// The number of random bytes of a token: 256 bits.
const RANDOM_BYTES: usize = 32;
/// The fewest characters of a token that a person wrote.
const CHARS_LEAST: usize = 32;
/// The most bytes of the file.
const FILE_BYTES_MAX: u64 = 4_096;
/// The bits of a mode that let others read or write.
const OTHERS: u32 = 0o077;

/// A secret that is shown only on purpose.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// Returns a new token.
    ///
    /// # Errors
    /// `Io` if the system has no random bytes.
    pub(crate) fn random(memory: &Memory) -> Result<Self> {
        let mut bytes = [0; RANDOM_BYTES];
        memory.random(&mut bytes)?;
        Ok(Self(to_hex(&bytes)))
    }

    /// Returns the token in `file`. Creates a missing file with a new token.
    ///
    /// # Errors
    /// `Denied` (code `refused`) if others can read the file (TOK-1); `InvalidInput` if it holds no token; `Io`.
    pub(crate) fn of_file(file: &Path, memory: &Memory) -> Result<Self> {
        let failed = |error| Error::io(format_args!("the token file {}", file.display()), error);
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let mut new = OpenOptions::new();
        match new.write(true).create_new(true).mode(0o600).open(file) {
            Ok(mut created) => {
                let token = Self::random(memory)?;
                let written = created.write_all(format!("{}\n", token.0).as_bytes());
                written.and_then(|()| created.sync_all()).map_err(failed)?;
                Ok(token)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let options = OpenOptions::new().read(true).custom_flags(no_link).open(file);
                Self::read(file, options.map_err(failed)?, failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn read(file: &Path, opened: File, failed: impl Fn(io::Error) -> Error) -> Result<Self> {
        let name = file.display();
        let about = opened.metadata().map_err(&failed)?;
        let is_own = about.uid() == rustix::process::geteuid().as_raw();
        if !about.is_file() || !is_own || about.mode() & OTHERS != 0 {
            let text = format!("the token file {name} is not a file that only you can read");
            return Err(Error::denied(ErrorCode::Refused, text).with_hint(format!(
                "run chmod 600 {name}, or name a file that does not exist yet"
            )));
        }
        let mut text = String::new();
        opened
            .take(FILE_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(&failed)?;
        let token = text.trim();
        if token.len() < CHARS_LEAST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let text = format!("the token file {name} holds no token");
            return Err(Error::invalid(text).with_hint(format!(
                "write at least {CHARS_LEAST} letters and digits on one line, or remove the file, and the server makes a new one"
            )));
        }
        Ok(Self(token.to_owned()))
    }

    /// Returns the text, which only the person who starts the server may see.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether `sent` is the token (TOK-2).
    pub(super) fn is(&self, sent: &[u8]) -> bool {
        let own = self.0.as_bytes();
        // The length is no secret.
        let differing = own
            .iter()
            .zip(sent)
            .fold(0, |bits, (a, b)| black_box(bits | (a ^ b)));
        own.len() == sent.len() && differing == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT TOK-2: only the whole token is equal, and no prefix or longer text.
    #[test]
    fn only_the_whole_token_is_equal() {
        let token = Token("abcdefgh".to_owned());
        assert!(token.is(b"abcdefgh"));
        for other in ["", "abcdefg", "abcdefghi", "abcdefgH", "Abcdefgh", "abcdxfgh"] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
