//! The open store of the debug shell, and the defaults of the shell's commands.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - DBG-1: without `--write`, the shell opens the store read-only, and no command opens it for writing.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::args::LaneOptions;
use treering::{Error, ErrorCode, ErrorKind, Memory, Result};

/// One store, open for a sequence of commands.
pub(crate) struct OpenStore {
    /// The open store, or the error that prevents reading any state.
    memory: Result<Memory>,
    /// Whether commands may change the store.
    pub(crate) writable: bool,
    folder: StoreFolder,
    /// The revision that commands read, unless `--at` names another revision.
    pub(crate) at: Option<String>,
    /// The lane of commands, unless `--session` or `--actor` names another lane.
    pub(crate) lane: LaneOptions,
    /// The fork of commands, unless `--fork` names another one.
    pub(crate) fork: Option<String>,
}

impl OpenStore {
    /// Stores the result of opening the store in `path`.
    pub(crate) fn new(path: PathBuf, memory: Result<Memory>, writable: bool) -> Self {
        Self {
            memory,
            writable,
            folder: StoreFolder::new(path),
            at: None,
            lane: LaneOptions::default(),
            fork: None,
        }
    }

    /// Returns the open store.
    ///
    /// # Errors
    /// Returns the error that prevents reading any state.
    pub(crate) fn memory(&self) -> Result<&Memory> {
        self.memory.as_ref().map_err(Error::clone)
    }

    /// Refuses to write in a read-only shell (DBG-1).
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(
            Error::new(ErrorKind::Denied, "the verb writes, but this shell is read-only")
                .with_code(ErrorCode::ReadOnly)
                .with_hint("run treering debug --write, or add --dry-run if the verb accepts it"),
        )
    }

    /// Reads the commits that other processes made since the last command.
    ///
    /// # Errors
    /// Returns `NotFound` if the store was moved, and the errors of [`Memory::refresh`].
    pub(crate) fn catch_up(&self) -> Result<()> {
        let Ok(memory) = &self.memory else {
            return Ok(());
        };
        self.folder.check()?;
        memory.refresh().map(drop)
    }
}

/// The folder of an open store. After a move of the folder, a reader still has the moved files open, but sees no new
/// commits.
pub(crate) struct StoreFolder {
    path: PathBuf,
    /// The device and inode of the folder. `None` if reading them failed.
    identity: Option<(u64, u64)>,
}

impl StoreFolder {
    /// Records the identity of the folder at this path.
    pub(crate) fn new(path: PathBuf) -> Self {
        let identity = identity(&path);
        Self { path, identity }
    }

    /// Checks that the path still names the folder that was opened.
    ///
    /// # Errors
    /// Returns `NotFound` if the folder was moved, removed or replaced.
    pub(crate) fn check(&self) -> Result<()> {
        let now = identity(&self.path);
        if now == self.identity {
            return Ok(());
        }
        let path = self.path.display();
        let message = match now {
            Some(_) => format!("{path} was replaced by another folder"),
            None => format!("{path} no longer exists"),
        };
        Err(Error::not_found(message)
            .with_code(ErrorCode::StoreMoved)
            .with_hint("start the shell again with the new path of the store"))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
