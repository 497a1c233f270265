//! The token of `serve --http`: a new one, or the one in the file of `--token-file`.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - TKF-1: the file of a token is read only if nobody but its owner can, and no link leads to it.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::serve::http::{Token, private_text};
use treering::Memory;
use treering::inspect::digest::to_hex;
use treering::{Error, Result};

/// The number of random bytes of a token: 256 bits.
const RANDOM_BYTES: usize = 32;
/// The fewest characters of a token that a person wrote.
const CHARS_LEAST: usize = 32;
/// The most bytes of the file.
const FILE_BYTES_MAX: u64 = 4_096;

/// Returns a new token.
///
/// # Errors
/// `Io` if the system has no random bytes.
pub(crate) fn new_token(memory: &Memory) -> Result<Token> {
    let mut bytes = [0; RANDOM_BYTES];
    memory.random(&mut bytes)?;
    Ok(Token::new(to_hex(&bytes)))
}

/// Returns the token in `file`. Creates a missing file with a new token.
///
/// # Errors
/// `Denied` (code `refused`) if others can read the file (TKF-1); `InvalidInput` if it holds no token; `Io`.
pub(crate) fn token_in(file: &Path, memory: &Memory) -> Result<Token> {
    let failed = |error| Error::io(format_args!("the token file {}", file.display()), error);
    let mut new = OpenOptions::new();
    match new.write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut created) => {
            let token = new_token(memory)?;
            let written = created.write_all(format!("{}\n", token.reveal()).as_bytes());
            written.and_then(|()| created.sync_all()).map_err(failed)?;
            Ok(token)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(file),
        Err(error) => Err(failed(error)),
    }
}

fn read(file: &Path) -> Result<Token> {
    let name = file.display();
    let text = private_text(file, "the token file", FILE_BYTES_MAX)?;
    let token = text.trim();
    if token.len() < CHARS_LEAST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text = format!("the token file {name} holds no token");
        return Err(Error::invalid(text).with_hint(format!(
            "write at least {CHARS_LEAST} letters and digits on one line, or remove the file, and the server makes a new one"
        )));
    }
    Ok(Token::new(token.to_owned()))
}
