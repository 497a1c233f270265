//! Answers about the program, about the files that it writes, and about its errors and notes.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use treering::Error;

/// The answer of `--version`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) format: u32,
}

/// The answer of `completions`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Script {
    pub(crate) script: String,
}

/// The answer of `man`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ManPage {
    pub(crate) page: String,
}

/// The answer of `man` with a folder.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ManPages {
    pub(crate) pages: u64,
    pub(crate) path: String,
}

/// The answer of `export` into a file or folder.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Exported {
    pub(crate) objects: u64,
    pub(crate) path: String,
    pub(crate) files: usize,
}

/// The answer of `export` of a diagram into a file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Drawn {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
    pub(crate) path: String,
}

/// The answer of `export --format blocks`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BlocksWritten {
    pub(crate) written: u64,
    pub(crate) unchanged: u64,
    pub(crate) left_out: Vec<BlockLeftOut>,
    pub(crate) path: String,
}

/// A block that was not written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BlockLeftOut {
    pub(crate) id: String,
    pub(crate) why: String,
}

/// An error document, on standard error.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Refusal {
    pub(crate) error: Refused,
    /// The notes that the verb printed before the failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// The reason why a verb failed.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Refused {
    /// The stable code, for programs.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The ids of the affected objects, or the names of the affected documents or lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ids: Vec<String>,
}

impl From<&Error> for Refused {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code().as_str(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
            ids: error.ids().to_vec(),
        }
    }
}

/// A note, on standard error.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Noted {
    pub(crate) note: Note,
}

/// The code and text of a note.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Note {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}
