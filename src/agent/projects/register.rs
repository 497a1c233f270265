//! A register of the user: a file of JSON lines in the XDG state folder, which several processes may change at once.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - TST-2: a register is ignored, and not written, if another user owns it or may change it.
//! - TST-3: a line that is not an entry stays in the file as it is.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::disk::xdg_folder;
use crate::error::{Error, ErrorCode, Result};

/// The permission bits that let other users write. Whoever may write in the folder may replace the register.
const OTHERS_WRITE: u32 = 0o022;

/// A register of the user, as it was when it was last read.
#[derive(Debug)]
pub struct UserRegister<T> {
    file: PathBuf,
    what: &'static str,
    entries: Vec<T>,
    bad_line: Option<usize>,
    /// The lines that are not entries.
    unread: Vec<u8>,
}

impl<T: Serialize + DeserializeOwned> UserRegister<T> {
    /// Reads the register with the name of a file. `what` names its entries in errors.
    ///
    /// # Errors
    /// `NotFound` if neither `XDG_STATE_HOME` nor `HOME` names a folder; `Denied` (code `untrusted_store`) if other users
    /// may change the register (TST-2); `Io`.
    pub fn open(name: &str, what: &'static str) -> Result<Self> {
        let folder = xdg_folder("XDG_STATE_HOME", ".local/state").ok_or_else(|| {
            Error::not_found(format!("HOME is not set, so there is no register of {what}"))
                .with_hint("set HOME or XDG_STATE_HOME, or name the store with --store DIR")
        })?;
        let file = folder.join(name);
        let mut register = Self {
            // If the file is a link, its target is read and replaced.
            file: file.canonicalize().unwrap_or(file),
            what,
            entries: Vec::new(),
            bad_line: None,
            unread: Vec::new(),
        };
        register.read()?;
        Ok(register)
    }

    /// Returns the entries, oldest first.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }

    /// Returns the number of the first line that is not an entry.
    pub fn bad_line(&self) -> Option<usize> {
        self.bad_line
    }

    /// Returns the path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the file again, changes the entries, and replaces the file.
    ///
    /// # Errors
    /// `Denied` (TST-2); `Io` if the file cannot be written.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut Vec<T>) -> R) -> Result<R> {
        let folder = self.folder().to_owned();
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(&folder);
        created.map_err(|error| self.failed("creating the folder of", error))?;
        // A file system that cannot lock a folder loses at most the entry of a process at the same moment.
        let lock = File::open(&folder).and_then(|folder| folder.lock().map(|()| folder));
        self.read()?;
        let changed = change(&mut self.entries);
        let entries = self.entries.iter();
        let lines = entries.filter_map(|entry| serde_json::to_string(entry).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        let new = self.file.with_extension("tmp");
        let replace = || {
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&new)?;
            // INVARIANT TST-3
            file.write_all(&self.unread)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.file)
        };
        replace().map_err(|error| self.failed("writing", error))?;
        drop(lock);
        Ok(changed)
    }

    /// Reads the entries of the file, if it exists. A line that is not an entry is skipped.
    fn read(&mut self) -> Result<()> {
        self.entries.clear();
        self.bad_line = None;
        self.unread.clear();
        let folder = self.folder();
        match fs::metadata(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => self.check_private(folder, found)?,
        }
        let mut file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.failed("reading", error)),
        };
        self.check_private(&self.file, file.metadata())?;
        let mut text = Vec::new();
        let read = file.read_to_end(&mut text);
        read.map_err(|error| self.failed("reading", error))?;
        for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
            match serde_json::from_slice(line) {
                Ok(entry) => self.entries.push(entry),
                Err(_) if line.is_empty() => {}
                Err(_) => {
                    self.bad_line = self.bad_line.or(Some(number));
                    self.unread.extend_from_slice(line);
                    self.unread.push(b'\n');
                }
            }
        }
        Ok(())
    }

    /// Checks that only this user, or root, can change a part of the register (TST-2).
    fn check_private(&self, part: &Path, found: io::Result<Metadata>) -> Result<()> {
        let found = found.map_err(|error| self.failed("looking at", error))?;
        let user = rustix::process::geteuid().as_raw();
        let is_safe_owner = found.uid() == user || found.uid() == 0;
        if is_safe_owner && found.mode() & OTHERS_WRITE == 0 {
            return Ok(());
        }
        let (what, file) = (self.what, self.file.display());
        let text = format!("other users can change the register of {what}, {file}");
        let hint = format!("move {} away, and let Treering write a new one", part.display());
        Err(Error::denied(ErrorCode::UntrustedStore, text).with_hint(hint))
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    fn failed(&self, doing: &str, error: io::Error) -> Error {
        Error::io(format_args!("{doing} {}", self.file.display()), error)
    }
}
