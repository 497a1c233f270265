//! The token of `serve --http`: a new one, or the one in the file of `--token-file`.
//!
//! # Layer
//! Layer 10, part of cli.

use std::path::Path;

use crate::private_file;
use crate::serve::http::Token;
use treering::Memory;
use treering::inspect::digest::to_hex;
use treering::{Error, Result};

/// The number of random bytes of a token: 256 bits.
const RANDOM_BYTES: usize = 32;
/// The fewest characters of a token that a person wrote.
const CHARS_LEAST: usize = 32;

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
    let (what, name) = ("the token file", file.display());
    let new = new_token(memory)?;
    let created = private_file::create(file, &format!("{}\n", new.reveal()));
    if created.map_err(|error| Error::io(format_args!("{what} {name}"), error))? {
        return Ok(new);
    }
    let text = private_file::read(file, what, private_file::READ_OR_WRITE, private_file::BYTES_MAX)?;
    let token = text.trim();
    if token.len() < CHARS_LEAST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text = format!("the token file {name} holds no token");
        return Err(Error::invalid(text).with_hint(format!(
            "write at least {CHARS_LEAST} letters and digits on one line, or remove the file, and the server makes a new one"
        )));
    }
    Ok(Token::new(token.to_owned()))
}
