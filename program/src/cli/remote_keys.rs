//! The key files of encrypted remotes and backups.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fs;
use std::path::{Path, PathBuf};

use super::errors::refused;
use super::hints::quoted;
use crate::private_file::{BYTES_MAX, READ_OR_WRITE, create, read};
use treering::remote::Keys;
use treering::{Error, ErrorCode, Result};

/// Returns what a person must know of a key file.
pub(crate) fn loss_of(file: &Path) -> String {
    let file = file.display();
    format!("without {file}, all data that it encrypted is lost; keep a copy of it in a safe place")
}

/// Reads a key file.
///
/// # Errors
/// `NotFound` (code `no_key`) if it is missing; `Denied` (code `refused`) if others can read it (TKF-1); `InvalidInput` (code
/// `bad_key`).
pub(crate) fn load(file: &Path) -> Result<Keys> {
    if !file.exists() {
        let error = Error::not_found(format!("there is no key file {}", file.display()));
        let hint = format!(
            "if the place is encrypted already, only its own key file opens it: copy that from another machine; for a new place: treering remote keygen {}",
            quoted(file)
        );
        return Err(error.with_code(ErrorCode::NoKey).with_hint(hint));
    }
    let text = read(file, "the key file", READ_OR_WRITE, BYTES_MAX)?;
    Keys::parse(&text).map_err(|error| error.context(file.display()))
}

/// Reads a key file, if there is to be one.
pub(crate) fn load_if(file: Option<&PathBuf>) -> Result<Option<Keys>> {
    file.map(|file| load(file)).transpose()
}

/// Makes a key file with a new key.
///
/// # Errors
/// `InvalidInput` (code `file_exists`); `Io`.
pub(crate) fn make(file: &Path) -> Result<Keys> {
    let keys = Keys::generate()?;
    let is_new = create(file, &keys.to_text()).map_err(|error| failed(file, error))?;
    if is_new {
        return Ok(keys);
    }
    let text = format!("there is a file {} already", file.display());
    let hint = "choose another name; `treering remote rotate` adds a new key to a key file";
    Err(refused(ErrorCode::FileExists, text, hint))
}

/// Replaces a key file as a whole, so that no crash loses a key.
///
/// # Errors
/// `Io`.
pub(crate) fn replace(file: &Path, keys: &Keys) -> Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let written = || {
        // What an interrupted call left.
        drop(fs::remove_file(&new));
        create(&new, &keys.to_text())?;
        fs::rename(&new, file)
    };
    written().map_err(|error| failed(file, error))
}

fn failed(file: &Path, error: std::io::Error) -> Error {
    Error::io(format_args!("writing the key file {}", file.display()), error)
}
