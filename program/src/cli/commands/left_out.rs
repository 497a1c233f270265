//! The paths below a folder that a verb leaves out, and the note that names them.
//!
//! # Layer
//! Layer 10, part of cli.

use std::ffi::OsStr;

use super::prelude::*;

/// The number of paths that the note names.
const NAMED_MAX: usize = 5;
/// Folders of version control and of stores. No verb reads them, and no note names them.
const NEVER_READ: [&str; 4] = [".git", ".hg", ".svn", ".treering"];

/// The paths that a verb leaves out, with the reasons.
#[derive(Default, Debug)]
pub(super) struct LeftOut(Vec<String>);

impl LeftOut {
    pub(super) fn add(&mut self, path: &str, why: &str) {
        self.0.push(format!("{path} ({why})"));
    }

    /// Prints a note that names the paths. `hint` is the next step.
    pub(super) fn note(&self, context: &mut Context, hint: &str) {
        let (named, more) = self.0.split_at(self.0.len().min(NAMED_MAX));
        if named.is_empty() {
            return;
        }
        let paths = counted(self.0.len() as u64, "path");
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        context.note(
            "left_out",
            format!("left out {paths}: {}{more}; {hint}", named.join(", ")),
        );
    }

    /// Returns the paths with their reasons.
    pub(super) fn paths(&self) -> &[String] {
        &self.0
    }
}

/// Whether a file name begins with a dot.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a name belongs to a folder of version control or to a store.
pub(super) fn is_never_read(name: &OsStr) -> bool {
    NEVER_READ.iter().any(|never| name == *never)
}
