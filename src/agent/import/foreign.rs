//! A file of another system, and the answer of its import.
//!
//! # Layer
//! L7, inside `agent`.

use crate::agent::scope::Place;
use crate::agent::session::extraction::FactScope;
use crate::engine::CommitInfo;
use crate::error::Result;
use crate::object::Scope;

/// What a file is.
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
    /// The word for it.
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
    /// What it is.
    pub format: ForeignFormat,
    /// What is in it.
    pub bytes: &'a [u8],
    /// Where it belongs; else facts about the person and the objects of the published core go to `global`, and the rest to
    /// the project.
    pub scope: Option<Scope>,
    /// What the project is.
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

/// Something that was not taken, or not as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFinding {
    /// Where it stands: a line, an entry, a name.
    pub at: String,
    /// What it is.
    pub what: String,
}

/// A file of another system was taken in.
#[derive(Clone, Debug)]
pub struct ForeignTaken {
    /// New objects.
    pub created: u64,
    /// Objects with a new version.
    pub updated: u64,
    /// Objects that say what the file says.
    pub unchanged: u64,
    /// Objects that were stored with the rules that they met.
    pub flagged: u64,
    /// Objects that wait for a person.
    pub quarantined: u64,
    /// Objects that were not taken.
    pub refused: u64,
    /// Earlier versions that went into history.
    pub past: u64,
    /// What was not as it should be.
    pub findings: Vec<ForeignFinding>,
    /// Under which name a person finds what is held back.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}
