//! The workspace of a session: the folders whose files the person and the agent work on.
//!
//! # Layer
//! Layer 8, inside `hook`. Reads the names and links of files, and nothing in them.
//!
//! # Invariants
//! - HKW-1: what is inside depends on the roots alone, and not on the folder in which the client works at present.

use std::env;
use std::path::{Component, Path, PathBuf};

/// Devices whose content nobody outside wrote.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/tty"];
/// The starts of the names of a process's own streams.
const STREAMS: [&str; 2] = ["/dev/std", "/dev/fd/"];

/// The workspace of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    /// The folder from which relative paths count. `None` if the client names none.
    pub(super) folder: Option<PathBuf>,
    /// The folders of the workspace.
    roots: Vec<PathBuf>,
}

impl Workspace {
    /// A workspace of these folders, in which the client works in `folder`.
    pub(crate) fn new(folder: Option<PathBuf>, roots: &[PathBuf]) -> Self {
        Self {
            folder,
            roots: roots.iter().map(|root| real(root)).collect(),
        }
    }

    /// Returns the workspace of a command that runs in another folder.
    pub(super) fn in_folder(&self, folder: &str) -> Self {
        let folder = PathBuf::from(expanded(folder));
        Self {
            folder: Some(
                self.folder
                    .as_ref()
                    .map_or(folder.clone(), |own| own.join(folder)),
            ),
            roots: self.roots.clone(),
        }
    }

    /// Checks whether a path lies outside, also through links. Without a root, only a relative path that does not lead
    /// upwards is inside.
    pub(super) fn is_outside(&self, path: &str) -> bool {
        let path = PathBuf::from(expanded(path));
        let plain = path.to_string_lossy();
        if DEVICES.contains(&&*plain) || STREAMS.iter().any(|start| plain.starts_with(start)) {
            return false;
        }
        let is_upwards = path.components().any(|part| part == Component::ParentDir);
        let (false, Some(folder)) = (self.roots.is_empty(), self.folder.as_ref().or(self.roots.first()))
        else {
            return path.is_absolute() || is_upwards;
        };
        let real = real(&folder.join(&path));
        !self.roots.iter().any(|root| real.starts_with(root))
    }

    /// Checks whether there is a file at a path.
    pub(super) fn has_file(&self, path: &str) -> bool {
        let path = PathBuf::from(expanded(path));
        let path = self
            .folder
            .as_ref()
            .map_or(path.clone(), |folder| folder.join(path));
        path.symlink_metadata().is_ok()
    }
}

/// Returns a path with the home folder and the variables of the environment in it, and without `file://`.
pub(super) fn expanded(path: &str) -> String {
    let address = path.strip_prefix("file://").map(|rest| {
        // The host of an address of a file is empty or this machine.
        let from = rest.find('/').unwrap_or(rest.len());
        decoded(&rest[from..])
    });
    let path = address.as_deref().unwrap_or(path);
    let home = || env::var("HOME").unwrap_or_else(|_| "/home".to_owned());
    if let Some(rest) = path.strip_prefix('~') {
        return match rest.strip_prefix('/') {
            Some(rest) => format!("{}/{rest}", home()),
            None if rest.is_empty() => home(),
            // The home folder of another user.
            None => format!("/home/{rest}"),
        };
    }
    let Some(rest) = path.strip_prefix('$') else {
        return path.to_owned();
    };
    let rest = rest.strip_prefix('{').unwrap_or(rest);
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
    match env::var(name) {
        Ok(value) if name != "PWD" => format!("{value}{}", after.strip_prefix('}').unwrap_or(after)),
        _ => path.to_owned(),
    }
}

/// Returns the text of an address, with its escapes decoded.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // The links before a step upwards count, as they do for the system.
            Component::ParentDir => {
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    let there = plain
        .ancestors()
        .find_map(|part| Some((part, part.canonicalize().ok()?)));
    match there {
        Some((part, real)) => plain
            .strip_prefix(part)
            .map_or(real.clone(), |rest| real.join(rest)),
        None => plain,
    }
}
