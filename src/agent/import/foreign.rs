//! A file of another system, and the answer of its import.
//!
//! # Layer
//! L7, inside `agent`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::scope::Place;
use crate::agent::session::extraction::FactScope;
use crate::engine::CommitInfo;
use crate::error::Result;
use crate::object::Scope;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// The graph of the MCP reference server `memory`, in JSON Lines.
    ServerMemory,
    /// A fact file of odek, about the person or the environment.
    Odek(FactScope),
    /// The `memory.snap` of the published core.
    Snap,
}

impl ForeignFormat {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerMemory => "server-memory",
            Self::Odek(_) => "odek",
            Self::Snap => "snap",
        }
    }
}

/// A file of another system.
#[derive(Clone, Debug)]
pub struct Foreign<'a> {
    /// Its format.
    pub format: ForeignFormat,
    /// Its content.
    pub bytes: &'a [u8],
    /// The scope of its objects. By default, facts about the person and objects of the published core go to `global`,
    /// all others to the project.
    pub scope: Option<Scope>,
    /// The current project.
    pub place: Place,
}

impl Foreign<'_> {
    /// The scope of its objects, unless they name one.
    pub(super) fn usual_scope(&self) -> Result<Scope> {
        match &self.scope {
            Some(scope) => Ok(scope.clone()),
            None => self.place.usual_scope(),
        }
    }
}

/// A part of a file that was not imported, or not unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForeignFinding {
    /// Its place: a line, an entry, a name.
    pub at: String,
    /// The reason.
    pub what: String,
}

/// The outcome of an import.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForeignTaken {
    /// New objects.
    pub created: u64,
    /// Objects with a new version.
    pub updated: u64,
    /// Objects that equal the file.
    pub unchanged: u64,
    /// Objects that were stored with flags of the scan.
    pub flagged: u64,
    /// Objects in quarantine.
    pub quarantined: u64,
    /// Refused objects.
    pub refused: u64,
    /// Earlier versions in history.
    pub past: u64,
    /// Faults of the file.
    pub findings: Vec<ForeignFinding>,
    /// The name of the quarantine draft.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}
