//! A folder of blocks: reads and writes files only below the folder.
//!
//! Opens each folder relative to its open parent, and follows no symlink. Reports a symlink, a pipe or a device, and
//! neither reads nor writes through it.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - BFD-1: below the named folder, no symlink is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::cli::commands::left_out::{LeftOut, is_hidden, is_never_read};
use crate::cli::context::shown;
use crate::cli::errors::refused;
use treering::inspect::agent::blocks::FoundFile;
use treering::inspect::agent::markdown::stem;
use treering::{Error, ErrorCode, Result};

/// The largest accepted number of files.
const FILES_MAX: usize = 100_000;
/// The largest file in bytes: the longest content of an object, plus the front matter.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The largest sum of file sizes in bytes. All files are in RAM at the same time, because one commit contains them all.
const ALL_BYTES_MAX: u64 = 256 << 20;

/// An open folder.
pub(super) struct Folder {
    top: OwnedFd,
    name: String,
}

impl Folder {
    /// Opens a folder. With `make`, creates a missing folder first.
    pub(super) fn open(path: &Path, make: bool) -> Result<Self> {
        if make {
            std::fs::create_dir_all(path).map_err(|error| failed("making", path, error))?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open(path, flags, Mode::empty());
        let top = top.map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => {
                Error::not_found(format!("the folder {} does not exist", shown(path)))
                    .with_code(ErrorCode::NoFile)
                    .with_hint("name a folder of Markdown files, or pass the format of a file with --format")
            }
            error => failed("opening", path, error.into()),
        })?;
        Ok(Self {
            top,
            name: shown(path),
        })
    }

    /// Opens the parent folder of a path. Returns the open folder and the last part of the path.
    fn below<'a>(&self, path: &'a str, make: bool) -> io::Result<(OwnedFd, &'a str)> {
        let mut parts = path.split('/').peekable();
        let mut folder = self.top.try_clone()?;
        // BFD-1: `NOFOLLOW` refuses a symlink.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        loop {
            let part = parts.next().unwrap_or_default();
            if part.is_empty() || part.starts_with('.') {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            if parts.peek().is_none() {
                return Ok((folder, part));
            }
            if make {
                match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            folder = rustix::fs::openat(&folder, part, flags, Mode::empty())?;
        }
    }

    /// Reads the file at a path. Returns `None` if no file exists at the path. The error is the reason why the path is
    /// unreadable. Callers never overwrite an unreadable path.
    pub(super) fn look(&self, path: &str) -> std::result::Result<Option<Vec<u8>>, String> {
        match self.try_look(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(reason(&error)),
        }
    }

    fn try_look(&self, path: &str) -> io::Result<Vec<u8>> {
        let (folder, name) = self.below(path, false)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("the path is not a file"));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let text = format!("the file has more than {} MiB", FILE_BYTES_MAX >> 20);
            return Err(io::Error::other(text));
        }
        Ok(bytes)
    }

    /// Creates or replaces a file: writes a temporary file in the same folder, syncs it, and renames it.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> std::result::Result<(), String> {
        self.try_write(path, bytes).map_err(|error| reason(&error))
    }

    fn try_write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = self.below(path, true)?;
        // The temporary name begins with a dot, so readers of blocks ignore the file. The id of a block never begins
        // with a dot.
        let (start, process) = (&name[..name.len().min(200)], std::process::id());
        let unfinished = format!(".{start}.unfinished-{process}");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&folder, &unfinished, flags, Mode::from_raw_mode(0o644))?;
        let mut file = File::from(file);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let moved = written.and_then(|()| Ok(rustix::fs::renameat(&folder, &unfinished, &folder, name)?));
        if moved.is_err() {
            // The caller reports the first failure, so a failed removal needs no message.
            let _left = rustix::fs::unlinkat(&folder, &unfinished, AtFlags::empty());
        }
        moved
    }

    /// Returns every file that may be a block, in the order of paths, and the hidden paths that may be blocks. Skips
    /// other extensions. Symlinks, unreadable files and names that are not UTF-8 are entries with an error.
    pub(super) fn files(&self) -> Result<(Vec<FoundFile>, LeftOut)> {
        let (mut found, mut hidden): (Vec<FoundFile>, _) = (Vec::new(), LeftOut::default());
        let mut bytes = 0;
        let mut waiting = vec![String::new()];
        while let Some(prefix) = waiting.pop() {
            let names = self.list(&prefix).unwrap_or_else(|error| {
                found.push(bad(&prefix, reason(&error)));
                Vec::new()
            });
            for (name, kind) in names {
                let path = format!("{prefix}{}", name.to_string_lossy());
                let is_folder = kind == FileType::Directory;
                let is_markdown = stem(&path).is_some();
                if is_hidden(&name) {
                    // The unfinished files of `write` have another ending, so no note names them.
                    if !is_never_read(&name) && (is_folder || is_markdown) {
                        hidden.add(&path, "hidden");
                    }
                } else if name.to_str().is_none() {
                    if is_folder || is_markdown {
                        found.push(bad(&path, "the name is not UTF-8"));
                    }
                } else if kind == FileType::Directory {
                    waiting.push(format!("{path}/"));
                } else if kind == FileType::Symlink {
                    found.push(bad(&path, "the path is a symlink, which is not followed"));
                } else if is_markdown && let Some(read) = self.look(&path).transpose() {
                    bytes += read.as_ref().map_or(0, |bytes| bytes.len() as u64);
                    found.push(FoundFile { path, bytes: read });
                }
                if bytes > ALL_BYTES_MAX {
                    return Err(self.too_much(format_args!("{} MiB of blocks", ALL_BYTES_MAX >> 20)));
                }
            }
            if found.len() + waiting.len() > FILES_MAX {
                return Err(self.too_much(format_args!("{FILES_MAX} files")));
            }
        }
        found.sort_by(|one: &FoundFile, other| one.path.cmp(&other.path));
        Ok((found, hidden))
    }

    fn too_much(&self, what: impl std::fmt::Display) -> Error {
        let text = format!("{} contains more than {what}", self.name);
        refused(
            ErrorCode::OverLimit,
            text,
            "name the folder of the blocks, or a subfolder",
        )
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(OsString, FileType)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = match prefix.strip_suffix('/') {
            None => rustix::fs::openat(&self.top, ".", flags, Mode::empty())?,
            Some(path) => {
                let (above, name) = self.below(path, false)?;
                rustix::fs::openat(&above, name, flags, Mode::empty())?
            }
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not report the type, so `statat` reads it.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            names.push((name, kind));
        }
        Ok(names)
    }
}

fn bad(path: &str, why: impl Into<String>) -> FoundFile {
    FoundFile {
        path: path.trim_end_matches('/').to_owned(),
        bytes: Err(why.into()),
    }
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => "the path is a symlink, which is not followed".to_owned(),
        Some(Errno::NOTDIR) => "the path contains a file or a symlink where a folder is required".to_owned(),
        Some(Errno::ISDIR) => "the path is a folder".to_owned(),
        _ => error.to_string(),
    }
}

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    Error::io(format_args!("{doing} {}", shown(path)), error)
}
