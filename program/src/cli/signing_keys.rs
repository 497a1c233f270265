//! The signing keys of the user, and the verifier keys that the user trusts: `keys/NAME` and `trusted-keys` in the XDG
//! configuration folder.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use super::errors::{refused, usage_error};
use super::hints::in_words;
use crate::private_file::{BYTES_MAX, READ_OR_WRITE, WRITE, create, read};
use treering::inspect::disk::xdg_folder;
use treering::signed::{SigningKey, VerifierKey};
use treering::{Error, ErrorCode, Result};

/// The name of the key with which this user is a witness. It never signs the head of a store.
pub(crate) const WITNESS: &str = "witness";
/// The most characters of a name.
const NAME_CHARS_MAX: usize = 64;

fn file_of(name: &str) -> Result<PathBuf> {
    let folder = xdg_folder("XDG_CONFIG_HOME", ".config").ok_or_else(|| {
        let error = Error::not_found("HOME is not set, so there is no folder of keys");
        error
            .with_code(ErrorCode::NoKey)
            .with_hint("set HOME or XDG_CONFIG_HOME")
    })?;
    Ok(folder.join(name))
}

/// Returns the path of the key `name`, which is also the name of its file.
fn key_file(name: &str) -> Result<PathBuf> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() > NAME_CHARS_MAX
        || !name.chars().all(is_fine)
        || name.starts_with(['.', '-'])
        || name.is_empty()
    {
        // A user may type a private key in place of its name. It must not stand in a log.
        let text = if name.starts_with("PRIVATE+KEY") {
            "a private key is no name of a key".to_owned()
        } else {
            format!("a key cannot have the name '{name}'")
        };
        let hint = "use 1 to 64 letters, digits, `.`, `_` and `-`, and begin with a letter or digit";
        return Err(refused(ErrorCode::BadKey, text, hint));
    }
    file_of(&format!("keys/{name}"))
}

/// Makes the key `name`. Returns `None` if there is one.
pub(crate) fn generate(name: &str) -> Result<Option<(SigningKey, PathBuf)>> {
    let (file, key) = (key_file(name)?, SigningKey::generate(name)?);
    let failed = |error| Error::io(format_args!("writing the key {}", file.display()), error);
    let folder = file.parent().unwrap_or(&file);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let is_new = create(&file, &format!("{}\n", key.to_text())).map_err(failed)?;
    Ok(is_new.then_some((key, file)))
}

/// Reads the key `name`.
///
/// # Errors
/// `NotFound` (code `no_key`); `Denied` (code `refused`) if others can read its file (TKF-1); `InvalidInput` (code
/// `bad_key`).
pub(crate) fn load(name: &str) -> Result<SigningKey> {
    let file = key_file(name)?;
    if !file.exists() {
        let error = Error::not_found(format!("there is no key '{name}'")).with_code(ErrorCode::NoKey);
        return Err(error.with_hint(format!("make it with: treering keygen {name}")));
    }
    let key = SigningKey::parse(read(&file, "the key", READ_OR_WRITE, BYTES_MAX)?.trim_end_matches('\n'));
    let key = key.map_err(|error| error.context(file.display()))?;
    if key.name() == name {
        return Ok(key);
    }
    let text = format!("{} has the key '{}'", file.display(), key.name());
    Err(refused(
        ErrorCode::BadKey,
        text,
        "give the file the name of its key",
    ))
}

/// Reads the only key that is not the witness's.
///
/// # Errors
/// `NotFound` (code `no_key`) if there is none, `InvalidInput` (code `ambiguous`) if there are several; the errors of [`load`].
pub(crate) fn load_only() -> Result<SigningKey> {
    let names = match fs::read_dir(file_of("keys")?) {
        Ok(files) => files
            .filter_map(|file| file.ok()?.file_name().into_string().ok())
            .collect(),
        Err(_) => Vec::new(),
    };
    let mut names: Vec<_> = names
        .into_iter()
        .filter(|name| name != WITNESS && key_file(name).is_ok())
        .collect();
    names.sort_unstable();
    match &names[..] {
        [name] => load(name),
        [] => Err(Error::not_found("you have no key to sign with")
            .with_code(ErrorCode::NoKey)
            .with_hint("make one with: treering keygen NAME")),
        _ => {
            let text = format!("you have several keys: {}", in_words(names));
            Err(refused(ErrorCode::Ambiguous, text, "name one with --key NAME"))
        }
    }
}

/// Adds a key to those that the user trusts.
pub(crate) fn trust(key: &VerifierKey) -> Result<()> {
    let file = file_of("trusted-keys")?;
    let failed = |error| Error::io(format_args!("writing {}", file.display()), error);
    if create(&file, &format!("{key}\n")).map_err(failed)? {
        return Ok(());
    }
    let known = read(&file, "the list", WRITE, BYTES_MAX)?;
    let break_before = if known.is_empty() || known.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let opened = OpenOptions::new().append(true).mode(0o600).open(&file);
    let written = opened.and_then(|mut list| {
        list.write_all(format!("{break_before}{key}\n").as_bytes())?;
        list.sync_all()
    });
    written.map_err(failed)
}

/// The verifier keys that a call trusts. A key may be trusted for one origin only.
pub(crate) struct Trusted(Vec<(Option<String>, VerifierKey)>);

impl Trusted {
    /// Returns the keys that may sign the heads of an origin. If keys are trusted for this origin, no other key is.
    pub(crate) fn of(&self, origin: &str) -> Vec<VerifierKey> {
        let keys_of = |wanted: Option<&str>| {
            let found = self.0.iter().filter(|(of, _)| of.as_deref() == wanted);
            found.map(|(_, key)| key.clone()).collect::<Vec<_>>()
        };
        let own = keys_of(Some(origin));
        if own.is_empty() { keys_of(None) } else { own }
    }
}

/// Returns the keys that the user typed, else those of `trusted-keys`. A line there is a key, or `ORIGIN KEY`.
///
/// # Errors
/// `NotFound` (code `no_key`) if there is none; `Denied` (code `refused`) if others can change the list; `InvalidInput` (code
/// `usage`) for a typed key, or (code `bad_key`) for one of the list.
pub(crate) fn trusted(typed: &[String]) -> Result<Trusted> {
    if !typed.is_empty() {
        let keys = typed.iter().map(|text| match text.parse() {
            Ok(key) => Ok((None, key)),
            // The typed text may be a private key, so the error does not repeat it.
            Err(error) => {
                let error: Error = error;
                let hint = error.hint().unwrap_or("name a verifier key").to_owned();
                Err(usage_error(format!("--key: {error}"), hint))
            }
        });
        return keys.collect::<Result<_>>().map(Trusted);
    }
    let file = file_of("trusted-keys")?;
    let is_missing = fs::symlink_metadata(&file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let text = if is_missing {
        String::new()
    } else {
        read(&file, "the list", WRITE, BYTES_MAX)?
    };
    let lines = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let keys = lines.map(|(line, number)| {
        let (origin, key) = match line.rsplit_once(' ') {
            Some((origin, key)) => (Some(origin.to_owned()), key),
            None => (None, line),
        };
        let key = key.parse::<VerifierKey>();
        let key = key.map_err(|error| error.context(format_args!("{}, line {number}", file.display())))?;
        Ok((origin, key))
    });
    let keys = keys.collect::<Result<Vec<_>>>()?;
    if keys.is_empty() {
        let hint = format!(
            "name the verifier key of the signer with --key, or write it into {}",
            file.display()
        );
        let error = Error::not_found("there is no key to check with").with_code(ErrorCode::NoKey);
        return Err(error.with_hint(hint));
    }
    Ok(Trusted(keys))
}
