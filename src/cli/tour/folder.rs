//! The folder of the tour's store.
//!
//! # Layer
//! L10, part of cli.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::cli::context::shown;
use crate::digest::to_hex;
use crate::error::{Error, ErrorCode, Result};

/// A temporary folder that is removed at the end, or the folder that the user keeps.
pub(super) struct TourFolder {
    path: PathBuf,
    kept: bool,
}

impl TourFolder {
    /// Takes the folder to keep, which must be empty or absent, or creates a temporary one.
    pub(super) fn new(keep: Option<PathBuf>) -> Result<Self> {
        let Some(path) = keep else {
            return Self::temporary();
        };
        let failed = |error| Error::io(format_args!("looking into {}", shown(&path)), error);
        match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(mut entries) => {
                if entries.next().transpose().map_err(failed)?.is_some() {
                    return Err(Error::invalid(format!("{} is not empty", shown(&path)))
                        .with_code(ErrorCode::NotEmpty)
                        .with_hint("the tour creates its own store: name a new folder with --keep"));
                }
            }
        }
        Ok(Self { path, kept: true })
    }

    fn temporary() -> Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Error::internal(format!("the system has no random bytes: {error}")))?;
        let path = std::env::temp_dir().join(format!("treering-tour-{}", to_hex(&random)));
        // Fails if the folder exists, so that no other user can prepare the folder that the tour writes to.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io(format_args!("making {}", shown(&path)), error))?;
        Ok(Self { path, kept: false })
    }

    /// Returns the path of the store.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the store is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.kept
    }
}

impl Drop for TourFolder {
    fn drop(&mut self) {
        if !self.kept {
            // The tour is complete, so a temporary folder that cannot be removed is no failure.
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_gone_afterwards_and_a_kept_one_is_not() {
        let folder = TourFolder::new(None).unwrap();
        let path = folder.path().to_owned();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
        let keep = tempfile::tempdir().unwrap();
        drop(TourFolder::new(Some(keep.path().to_owned())).unwrap());
        assert!(keep.path().exists());
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let keep = tempfile::tempdir().unwrap();
        fs::write(keep.path().join("letter.txt"), "dear").unwrap();
        let error = TourFolder::new(Some(keep.path().to_owned())).err().unwrap();
        assert_eq!(error.code(), "not_empty");
    }
}
