//! Why a model could not be read or converted.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::path::PathBuf;
use std::{fmt, io};

/// The result of reading or converting a model.
pub type Result<T> = std::result::Result<T, ModelError>;

/// Why a model could not be read or converted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read or written.
    Io {
        /// The failed operation, for example "reading".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The archive or folder has no model, or lacks a file that the model needs.
    Missing(String),
    /// The model is of a kind that the encoder cannot compute.
    Unsupported(String),
    /// A file contradicts its own format.
    Damaged(String),
}

impl ModelError {
    /// Describes damage at a place in a file.
    pub(crate) fn damaged(what: impl fmt::Display) -> Self {
        Self::Damaged(what.to_string())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, path, source } => write!(f, "{doing} {}: {source}", path.display()),
            Self::Missing(what) => write!(f, "the model is incomplete: {what}"),
            Self::Unsupported(what) => write!(f, "the model is not supported: {what}"),
            Self::Damaged(what) => write!(f, "the model is damaged: {what}"),
        }
    }
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
