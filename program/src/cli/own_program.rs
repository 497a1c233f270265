//! The file that starts this program: its executable, or the command of a Python or npm package that loads this code.
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use treering::{Error, Result};

use super::context::real_path;

/// The command of the package that loaded this code.
static COMMAND: OnceLock<PathBuf> = OnceLock::new();

/// Names the command of the package that loaded this code.
pub(super) fn set_command(command: &Path) {
    // Only the first run of a process counts: it ends the process.
    drop(COMMAND.set(std::path::absolute(command).unwrap_or_else(|_| command.to_owned())));
}

/// Returns the file that starts this program.
///
/// # Errors
/// `Io` if the system does not name the executable.
pub(crate) fn own_file() -> Result<PathBuf> {
    match COMMAND.get() {
        Some(command) => Ok(command.clone()),
        None => env::current_exe().map_err(|error| Error::io("finding the program", error)),
    }
}

/// A command that fetches a package and runs its program from a cache.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// The command and its arguments.
    pub(crate) words: &'static [&'static str],
    /// The command that installs the package to stay.
    pub(crate) install: &'static str,
    /// How the name of a folder of the cache begins.
    folders: &'static [&'static str],
}

const LAUNCHERS: [Launcher; 2] = [
    Launcher {
        words: &["uvx", "treering"],
        install: "uv tool install treering",
        folders: &["archive-v", "environments-v"],
    },
    Launcher {
        words: &["npx", "-y", "treering"],
        install: "npm install --global treering",
        folders: &["_npx"],
    },
];

impl Launcher {
    /// Returns the launcher that started this program. Its cache may lose the file, so no settings may name the file.
    pub(crate) fn of_this_process() -> Option<&'static Self> {
        let file = real_path(&own_file().ok()?);
        let is_folder =
            |part: &Path, start: &str| part.as_os_str().as_encoded_bytes().starts_with(start.as_bytes());
        let is_in = |launcher: &&Self| {
            let mut parts = file.iter().map(Path::new);
            parts.any(|part| launcher.folders.iter().any(|start| is_folder(part, start)))
        };
        LAUNCHERS.iter().find(is_in)
    }

    /// Returns whether a command is that of a launcher.
    pub(crate) fn is_named(command: &str) -> bool {
        let name = Path::new(command).file_name();
        LAUNCHERS
            .iter()
            .any(|launcher| name == Some(launcher.words[0].as_ref()))
    }
}
