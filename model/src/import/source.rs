//! The files of a source: a folder, an archive in the format of zip (a wheel is one), or one file.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::digest_of;
use crate::error::{ModelError, Result};

/// The largest file of weights.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;
/// The largest file beside the weights. The tokenizer of XLM-R has 17 MB.
const SIDE_BYTES_MAX: u64 = 64 << 20;

/// The files of a source.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    kind: Files,
}

#[derive(Debug)]
enum Files {
    Folder,
    Archive(Box<ZipArchive<File>>),
    /// The path is the file of the weights itself.
    One,
}

impl Source {
    /// Opens a folder, an archive or a file of weights.
    ///
    /// # Errors
    /// `Io`; `Unsupported` if the path is something else.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| ModelError::Io {
            doing: "opening",
            path: path.to_owned(),
            source,
        };
        let about = fs::metadata(path).map_err(failed)?;
        let kind = if about.is_dir() {
            Files::Folder
        } else if !about.is_file() {
            let text = format!("{} is neither a file nor a folder", path.display());
            return Err(ModelError::Unsupported(text));
        } else if is_weights(&path.to_string_lossy()) {
            Files::One
        } else {
            let archive = ZipArchive::new(File::open(path).map_err(failed)?).map_err(|_| {
                let text = format!(
                    "{} is no folder, no zip archive, and has no name of a file of weights",
                    path.display()
                );
                ModelError::Unsupported(text)
            })?;
            Files::Archive(Box::new(archive))
        };
        Ok(Self {
            path: path.to_owned(),
            kind,
        })
    }

    /// Returns the names of the files that look like weights.
    pub(crate) fn weights(&self) -> Vec<String> {
        let mut names: Vec<String> = match &self.kind {
            Files::Archive(archive) => archive.file_names().flatten().map(String::from).collect(),
            Files::One => vec![String::new()],
            Files::Folder => ["", "onnx/"]
                .iter()
                .flat_map(|folder| {
                    let entries = fs::read_dir(self.path.join(folder))
                        .into_iter()
                        .flatten()
                        .flatten();
                    entries.map(move |entry| format!("{folder}{}", entry.file_name().to_string_lossy()))
                })
                .collect(),
        };
        names.retain(|name| name.is_empty() || is_weights(name));
        names.sort();
        names
    }

    /// Reads the file `name` of the folder in which `beside` is, or of the folder above.
    ///
    /// # Errors
    /// `Missing` if neither has such a file; `Io`; `Damaged`; `Unsupported` if it is too large.
    pub(crate) fn read_beside(&mut self, beside: &str, name: &str) -> Result<Vec<u8>> {
        let folder = beside.rsplit_once('/').map_or("", |(folder, _)| folder);
        let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
        for folder in [folder, above] {
            let file = if folder.is_empty() {
                name.to_owned()
            } else {
                format!("{folder}/{name}")
            };
            match self.read_up_to(&file, SIDE_BYTES_MAX) {
                Err(ModelError::Missing(_)) => {}
                done => return done,
            }
        }
        Err(ModelError::Missing(format!(
            "there is no {name} beside the weights"
        )))
    }

    /// Reads the weights.
    ///
    /// # Errors
    /// As [`Self::read_beside`].
    pub(crate) fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        self.read_up_to(name, WEIGHTS_BYTES_MAX)
    }

    /// Returns the SHA-256 of weights and their length, which is at most `limit`. Keeps none of their bytes.
    ///
    /// # Errors
    /// As [`Self::read_beside`].
    pub(crate) fn digest(&mut self, name: &str, limit: u64) -> Result<(String, u64)> {
        self.with(name, limit.min(WEIGHTS_BYTES_MAX), |file| digest_of(file))
    }

    fn read_up_to(&mut self, name: &str, limit: u64) -> Result<Vec<u8>> {
        let read = |file: &mut dyn Read| {
            let mut bytes = Vec::new();
            let length = file.read_to_end(&mut bytes)? as u64;
            Ok((bytes, length))
        };
        self.with(name, limit, read).map(|(bytes, _)| bytes)
    }

    /// Reads a file with `read`, which returns the number of bytes that it read, too. Refuses a file beyond the limit.
    fn with<T>(
        &mut self,
        name: &str,
        limit: u64,
        read: impl FnOnce(&mut dyn Read) -> io::Result<(T, u64)>,
    ) -> Result<(T, u64)> {
        let path = match &self.kind {
            Files::Folder => self.path.join(name),
            Files::One if name.is_empty() => self.path.clone(),
            Files::One => self.path.with_file_name(name),
            Files::Archive(_) => self.path.clone(),
        };
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => ModelError::Missing(format!("there is no {name}")),
            _ => ModelError::Io {
                doing: "reading",
                path: path.clone(),
                source,
            },
        };
        // One more byte shows that the file is beyond the limit.
        let done = match &mut self.kind {
            Files::Archive(archive) => {
                let file = archive.by_name(name).map_err(|error| match error {
                    zip::result::ZipError::FileNotFound => ModelError::Missing(format!("there is no {name}")),
                    error => ModelError::damaged(format_args!("{name} in {}: {error}", path.display())),
                })?;
                read(&mut file.take(limit + 1))
            }
            _ => read(&mut File::open(&path).map_err(failed)?.take(limit + 1)),
        };
        let (value, length) = done.map_err(failed)?;
        if length > limit {
            let text = format!("{name} has more than {limit} bytes");
            return Err(ModelError::Unsupported(text));
        }
        Ok((value, length))
    }
}

/// Whether a file has a name of weights.
fn is_weights(name: &str) -> bool {
    let name = name.to_lowercase();
    let ends = |ending| name.ends_with(ending);
    ends(".safetensors") || ends(".onnx") || ends("-q4.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.onnx"), [7; 100]).unwrap();
        let mut source = Source::open(folder.path()).unwrap();
        assert_eq!(source.digest("a.onnx", 100).unwrap().1, 100);
        assert!(matches!(
            source.digest("a.onnx", 99),
            Err(ModelError::Unsupported(_))
        ));
        assert!(matches!(
            source.read_up_to("a.onnx", 99),
            Err(ModelError::Unsupported(_))
        ));
    }
}
