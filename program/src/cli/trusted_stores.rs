//! The register of the stores that the user trusts, and the check of a store before it is opened.
//!
//! A `.treering` folder that a verb finds by walking up may have come with a cloned repository, and then a stranger
//! wrote it. Such a store must be in the register: `init` and every other creation add to it, and so does
//! `trust-store`. A store that the user names needs no entry, unless it belongs to another user.
//!
//! The register is a file of JSON lines in the XDG state folder of the user. A line names the path of a store and its
//! id, so neither a copy nor another store at the same path is trusted. A symbolic link to a store needs two lines: one
//! for the link and one for its target. A damaged store whose id is unreadable is trusted by its path, so that the
//! user can repair it.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Limits
//! - The register does not detect a change of a trusted store. The user trusts everybody who can write its files.
//! - A register with more than 1,000 entries loses the entries of folders that do not exist.
//!
//! # Invariants
//! - TST-1: a verb opens a store only if the register has it, or if it belongs to the user and the user named it. With
//!   `--untrusted-store` a verb opens any store, but only for reading, and no object has a better class than `import`.
//!
//! `UserRegister` checks that only the user may change the register (TST-2).

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Serialize};

use super::context::{quoted, shown};
use treering::Memory;
use treering::inspect::agent::projects::UserRegister;
use treering::inspect::digest::to_hex;
use treering::{Error, ErrorCode, Result};

/// The name of the register.
const REGISTER: &str = "trusted-stores";
/// The number of entries above which those of missing folders are removed.
const ENTRIES_KEPT: usize = 1_000;

/// A check of the trust in a store: [`check_named`] or [`check_found`].
pub(crate) type Check = fn(&Path) -> Result<()>;

/// An entry of the register.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "Line", into = "Line")]
pub(crate) struct TrustedStore {
    /// Its path, without symbolic links in the folders above it.
    pub(crate) path: PathBuf,
    /// Its id, in hexadecimal digits.
    pub(crate) id: String,
}

/// An entry as a line of the file. A path that is not UTF-8 is a list of bytes.
#[derive(Serialize, Deserialize)]
struct Line {
    store: LinePath,
    id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LinePath {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<TrustedStore> for Line {
    fn from(entry: TrustedStore) -> Self {
        let text = entry.path.into_os_string().into_string();
        Self {
            store: text.map_or_else(|path| LinePath::Bytes(path.into_vec()), LinePath::Text),
            id: entry.id,
        }
    }
}

impl From<Line> for TrustedStore {
    fn from(line: Line) -> Self {
        let path = match line.store {
            LinePath::Text(text) => OsString::from(text),
            LinePath::Bytes(bytes) => OsString::from_vec(bytes),
        };
        Self {
            path: path.into(),
            id: line.id,
        }
    }
}

/// The register of a user.
pub(crate) struct TrustedStores(UserRegister<TrustedStore>);

impl TrustedStores {
    /// Reads the register of this user.
    ///
    /// # Errors
    /// `NotFound` if neither `XDG_STATE_HOME` nor `HOME` names a folder; `Denied` if other users may change the
    /// register (TST-2); `Io`.
    pub(crate) fn of_user() -> Result<Self> {
        UserRegister::open(REGISTER, "trusted stores").map(Self)
    }

    /// Returns the entries, oldest first.
    pub(crate) fn entries(&self) -> &[TrustedStore] {
        self.0.entries()
    }

    /// Whether the register has the store in `path`, with its id.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let id = Memory::id_of_store(path).map(|id| to_hex(&id));
        id.is_ok_and(|id| self.has_names(path, |entry| entry.id == id))
    }

    /// Whether the register has a store at `path`, and the id of the present one is unreadable.
    fn has_path(&self, path: &Path) -> bool {
        Memory::id_of_store(path).is_err() && self.has_names(path, |_| true)
    }

    /// Whether every name of `path` has an entry that fits.
    fn has_names(&self, path: &Path, fits: impl Fn(&TrustedStore) -> bool) -> bool {
        let is_listed = |name: &PathBuf| {
            self.entries()
                .iter()
                .any(|entry| entry.path == *name && fits(entry))
        };
        names_of(path).is_ok_and(|names| names.iter().all(is_listed))
    }

    /// Adds the store in `path`, and returns its entry. Entries of other stores at this path are removed.
    ///
    /// # Errors
    /// The errors of [`Memory::id_of_store`]; `Denied` (TST-2); `Io` if the file cannot be written.
    pub(crate) fn add(&mut self, path: &Path) -> Result<TrustedStore> {
        let id = to_hex(&Memory::id_of_store(path)?);
        let failed = |error| Error::io(format_args!("resolving {}", shown(path)), error);
        let names = names_of(path).map_err(failed)?;
        self.0.change(|entries| {
            entries.retain(|entry| !names.contains(&entry.path));
            let new = names.iter().map(|name| TrustedStore {
                path: name.clone(),
                id: id.clone(),
            });
            entries.extend(new);
            if entries.len() > ENTRIES_KEPT {
                entries.retain(|entry| entry.path.exists());
            }
        })?;
        Ok(TrustedStore {
            path: names[0].clone(),
            id,
        })
    }

    /// Removes the entry of `path`, and returns it if there was one.
    ///
    /// # Errors
    /// `Denied` (TST-2); `Io` if the file cannot be written.
    pub(crate) fn forget(&mut self, path: &Path) -> Result<Option<TrustedStore>> {
        let name = name_of(path);
        let entry = self.entries().iter().find(|entry| entry.path == name).cloned();
        if entry.is_some() {
            self.0
                .change(|entries| entries.retain(|entry| entry.path != name))?;
        }
        Ok(entry)
    }
}

/// Checks a store that the user named (TST-1).
///
/// # Errors
/// `Denied` (code `untrusted_store`) if another user owns the store and the register does not have it.
pub(crate) fn check_named(path: &Path) -> Result<()> {
    // A folder without a store holds nothing to distrust. The verb reports it, or creates a store there.
    if is_own(path) || is_no_store(path) {
        return Ok(());
    }
    check_registered(path)
}

/// Checks a store that was found, not named (TST-1).
///
/// # Errors
/// `Denied` (code `untrusted_store`) if the register does not have it.
pub(crate) fn check_found(path: &Path) -> Result<()> {
    // A new store in a folder of another user would be in the hands of that user.
    if is_own(path) && is_no_store(path) {
        return Ok(());
    }
    check_registered(path)
}

fn check_registered(path: &Path) -> Result<()> {
    let is_own = is_own(path);
    let ignored = match TrustedStores::of_user() {
        Ok(stores) if stores.has(path) || is_own && stores.has_path(path) => return Ok(()),
        Ok(_) => String::new(),
        Err(error) => format!("; {}", error.message()),
    };
    let why = if is_own {
        "was found here, and is not one of your trusted stores"
    } else {
        "belongs to another user, and is not one of your trusted stores"
    };
    let store = quoted(&name_of(path));
    let text = format!("the store in {} {why}{ignored}", shown(path));
    let hint = format!(
        "read it with --untrusted-store; if you trust whoever made it, run treering trust-store {store}"
    );
    Err(Error::denied(ErrorCode::UntrustedStore, text).with_hint(hint))
}

/// Whether this user owns the file or folder at `path`, and also the link to it. A missing one counts as the user's.
pub(crate) fn is_own(path: &Path) -> bool {
    let is_own = |found: io::Result<Metadata>| found.map_or(true, |found| found.uid() == user());
    is_own(fs::symlink_metadata(path)) && is_own(fs::metadata(path))
}

/// Whether there is no store in `path`, not even a damaged one. A file or a device is no store.
fn is_no_store(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_dir())
        || Memory::id_of_store(path).is_err_and(|error| error.code() == ErrorCode::NoStore)
}

/// Returns the names that the entries of a store have: its path and, if that is a link, the path of its target.
fn names_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let target = path.canonicalize()?;
    let name = name_of(path);
    Ok(if name == target {
        vec![name]
    } else {
        vec![name, target]
    })
}

/// Returns the absolute path of a store, without symbolic links in the folders above it.
fn name_of(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.canonicalize().unwrap_or(path),
    }
}

/// Returns the id of the user that runs the program.
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
