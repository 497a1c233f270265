//! The register of the stores that the user trusts.
//!
//! A `.treering` folder that a verb finds by walking up may come with a cloned repository, and then a stranger wrote it.
//! Such a store must be in the register: `init` and every other creation add to it, and so does `trust-store`. A store
//! that the user names needs no entry, but it must belong to the user, too.
//!
//! The register is a file of JSON lines in the XDG state folder of the user. A line names the canonical path of a store
//! and its id, so neither a copy nor another store at the same path is trusted.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-5: no verb opens a store that was found, and is not in the register or belongs to another user, unless
//!   `--untrusted-store` asks for it. Then the store is only read, and no object in it has a better class than `import`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{quoted, shown, xdg_folder};
use crate::digest::to_hex;
use crate::engine::Memory;
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// A trusted store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TrustedStore {
    /// Its canonical path.
    pub(crate) store: PathBuf,
    /// Its id, in hexadecimal digits.
    pub(crate) id: String,
}

impl TrustedStore {
    /// Returns the entry for the store in `path`.
    ///
    /// # Errors
    /// `NotFound` or `Io` if there is no folder; the errors of [`Memory::id_of_store`].
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(format_args!("resolving {}", shown(path)), error);
        Ok(Self {
            store: path.canonicalize().map_err(failed)?,
            id: to_hex(&Memory::id_of_store(path)?),
        })
    }
}

/// The register of a user.
pub(crate) struct TrustedStores {
    file: PathBuf,
}

impl TrustedStores {
    /// Returns the register of this user.
    ///
    /// # Errors
    /// `NotFound` if neither `XDG_STATE_HOME` nor `HOME` names a folder.
    pub(crate) fn of_user() -> Result<Self> {
        let folder = xdg_folder("XDG_STATE_HOME", ".local/state").ok_or_else(|| {
            Error::not_found("there is no register of trusted stores, because HOME is not set")
                .with_hint("set HOME or XDG_STATE_HOME, or name the store with --store DIR")
        })?;
        Ok(Self {
            file: folder.join("trusted-stores"),
        })
    }

    /// Returns the entries, oldest first. A line that is not an entry counts as none.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<TrustedStore>> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("reading", error)),
        };
        let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok(entries.collect())
    }

    /// Adds a store, unless it is there. One write appends the line, so two processes cannot mix theirs.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn add(&self, store: &TrustedStore) -> Result<()> {
        if self.list()?.contains(store) {
            return Ok(());
        }
        let line = serde_json::to_string(store)
            .map_err(|_| Error::invalid(format!("{} is not valid UTF-8", shown(&store.store))))?;
        let append = || {
            fs::create_dir_all(self.file.parent().unwrap_or(Path::new("")))?;
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).mode(0o600).open(&self.file)?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        append().map_err(|error| self.failed("writing", error))
    }

    /// Removes every entry with this path. Returns whether there was one.
    ///
    /// # Errors
    /// `Io` if the file cannot be read or replaced.
    pub(crate) fn forget(&self, path: &Path) -> Result<bool> {
        let (gone, kept): (Vec<_>, Vec<_>) = self.list()?.into_iter().partition(|entry| entry.store == path);
        if gone.is_empty() {
            return Ok(false);
        }
        let lines = kept.iter().filter_map(|entry| serde_json::to_string(entry).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        let new = self.file.with_extension(format!("{}.tmp", std::process::id()));
        let replaced = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.file));
        replaced.map_err(|error| self.failed("writing", error))?;
        Ok(true)
    }

    fn failed(&self, doing: &str, error: io::Error) -> Error {
        Error::io(format_args!("{doing} {}", shown(&self.file)), error)
    }
}

/// Adds a store that this user made to the register.
///
/// # Errors
/// The errors of [`TrustedStores::add`].
pub(crate) fn register(path: &Path) -> Result<()> {
    TrustedStores::of_user()?.add(&TrustedStore::of(path)?)
}

/// Checks that a store that was found, not named, is in the register (CLI-5).
///
/// # Errors
/// `Denied` (code `untrusted_store`) if it is not.
pub(crate) fn check_found(path: &Path) -> Result<()> {
    check_owner(path)?;
    let listed = TrustedStores::of_user()
        .and_then(|stores| stores.list())
        .unwrap_or_default();
    // A store that does not open has no id. It is the user's if its path is.
    let is_same = |entry: &TrustedStore| match TrustedStore::of(path) {
        Ok(found) => *entry == found,
        Err(_) => path.canonicalize().is_ok_and(|path| path == entry.store),
    };
    if listed.iter().any(is_same) {
        return Ok(());
    }
    Err(untrusted(
        path,
        "was found here, and is not one of your trusted stores",
    ))
}

/// Checks that the folder of a store belongs to this user.
///
/// # Errors
/// `Denied` (code `untrusted_store`) if it belongs to another user.
pub(crate) fn check_owner(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.uid() != user() => Err(untrusted(path, "belongs to another user")),
        _ => Ok(()),
    }
}

/// Returns the id of the user that runs the program.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn untrusted(path: &Path, why: &str) -> Error {
    let store = quoted(path);
    Error::new(ErrorKind::Denied, format!("the store in {} {why}", shown(path)))
        .with_code(ErrorCode::UntrustedStore)
        .with_hint(format!(
            "look at it with --untrusted-store, which reads it as foreign text; treering trust-store {store} trusts it"
        ))
}
