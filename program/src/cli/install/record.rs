//! The record of an installation in a settings file, from which `uninstall` restores the file.
//!
//! The record lies in the folder for states of the user. Without it, a removal takes the entries away, and what became empty.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use treering::inspect::digest::{sha256, to_hex};
use treering::inspect::disk::xdg_folder;
use treering::{Error, Result};

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
    /// The folders that were made for the file.
    pub(crate) folders: Vec<PathBuf>,
}

impl InstallRecord {
    /// Reads the record of a file, if there is one.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(place(file)?).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Notes the folders that are not there yet for a file.
    pub(crate) fn note_folders(&mut self, file: &Path) {
        let above = file.ancestors().skip(1);
        let missing = above.take_while(|folder| folder.symlink_metadata().is_err());
        self.folders.extend(missing.map(Path::to_owned));
    }

    /// Writes the record of a file.
    ///
    /// # Errors
    /// `Io` if the record cannot be written.
    pub(crate) fn save(&mut self, file: &Path) -> Result<()> {
        let failed = |error| Error::io("writing the record of the installation", error);
        let Some(place) = place(file) else { return Ok(()) };
        self.note_folders(&place);
        fs::create_dir_all(place.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        let text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        fs::write(place, text).map_err(failed)
    }

    /// Deletes the record of a file.
    pub(crate) fn delete(file: &Path) {
        drop(place(file).map(fs::remove_file));
    }
}

fn place(file: &Path) -> Option<PathBuf> {
    let folder = xdg_folder("XDG_STATE_HOME", ".local/state")?.join("installs");
    let name = to_hex(&sha256(file.as_os_str().as_encoded_bytes())[..16]);
    Some(folder.join(format!("{name}.json")))
}
