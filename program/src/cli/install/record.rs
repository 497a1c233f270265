//! The record of an installation in a settings file, from which `uninstall` restores the file.
//!
//! The record lies in the folder for states of the user. Without it, a removal takes the entries away, and what became empty.
//!
//! # Layer
//! Layer 10, part of cli.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use treering::inspect::digest::{sha256, to_hex};
use treering::inspect::disk::xdg_folder;
use treering::{Error, Result};

/// The file with the folders that installations made, beside the records.
const FOLDERS: &str = "folders";

/// What was made in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct InstallRecord {
    /// The text of the file if it had no entry at all, such as nothing or white space. `None` if there was no file.
    pub(crate) blank: Option<String>,
    /// Whether there was a file with entries.
    pub(crate) was_there: bool,
    /// The white space of each object and list that was empty. `None` for one that was not there.
    pub(crate) emptied: BTreeMap<String, Option<String>>,
    /// The text that was added to a file that is not JSON.
    pub(crate) added: String,
}

impl InstallRecord {
    /// Reads the record of a file, if there is one.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(place(file)?).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes the record of a file.
    ///
    /// # Errors
    /// `Io` if the record cannot be written.
    pub(crate) fn save(&self, file: &Path) -> Result<()> {
        let Some(place) = place(file) else { return Ok(()) };
        note_folders(&place)?;
        save(&place, self)
    }

    /// Deletes the record of a file.
    pub(crate) fn delete(file: &Path) {
        drop(place(file).map(fs::remove_file));
    }
}

/// Notes the folders that are not there yet for a file, before they are made.
///
/// # Errors
/// `Io` if the note cannot be written.
pub(super) fn note_folders(file: &Path) -> Result<()> {
    let Some(list) = folder().map(|folder| folder.join(FOLDERS)) else {
        return Ok(());
    };
    let above = [file, &list]
        .into_iter()
        .flat_map(|file| file.ancestors().skip(1));
    let new: Vec<PathBuf> = above
        .filter(|folder| folder.symlink_metadata().is_err())
        .map(Path::to_owned)
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let known = made_folders(&list);
    save(&list, &[known, new].concat())
}

/// Removes the folders that installations made and in which nothing is left.
pub(crate) fn remove_folders() {
    let Some(folder) = folder() else { return };
    let list = folder.join(FOLDERS);
    let mut made = made_folders(&list);
    if made.is_empty() {
        return;
    }
    made.sort_by_key(|made| Reverse(made.components().count()));
    made.dedup();
    // The folders above the list go last.
    let (own, others): (Vec<_>, Vec<_>) = made.into_iter().partition(|made| folder.starts_with(made));
    let left = others
        .into_iter()
        .filter(|made| fs::remove_dir(made).is_err() && made.exists());
    let left: Vec<PathBuf> = left.collect();
    let is_last = fs::read_dir(&folder).is_ok_and(|all| all.flatten().all(|one| one.file_name() == FOLDERS));
    // Without an installation, what is left has become the user's.
    if is_last {
        drop(fs::remove_file(&list));
        for made in &own {
            drop(fs::remove_dir(made));
        }
    } else {
        drop(save(&list, &[left, own].concat()));
    }
}

fn made_folders(list: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(list).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn save(place: &Path, what: &impl Serialize) -> Result<()> {
    let failed = |error| Error::io("writing the record of the installation", error);
    fs::create_dir_all(place.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let text = serde_json::to_string(what).map_err(|error| failed(error.into()))?;
    fs::write(place, text).map_err(failed)
}

fn folder() -> Option<PathBuf> {
    Some(xdg_folder("XDG_STATE_HOME", ".local/state")?.join("installs"))
}

fn place(file: &Path) -> Option<PathBuf> {
    let name = to_hex(&sha256(file.as_os_str().as_encoded_bytes())[..16]);
    Some(folder()?.join(format!("{name}.json")))
}
