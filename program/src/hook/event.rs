//! An event of a session, in the one form that all clients share.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// An event of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// The client's name of the session.
    pub(crate) session: String,
    /// The folder in which the client works at present.
    pub(crate) folder: Option<PathBuf>,
    /// The folders of the workspace, if the client names them.
    pub(crate) roots: Vec<PathBuf>,
    /// The client's own transcript of the session.
    pub(crate) transcript: Option<PathBuf>,
    pub(crate) what: Happened,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happened {
    /// A context begins: the session starts or is resumed, or its context was compacted.
    Start,
    /// The person sent a prompt. `name` tells a repeated event from another prompt with the same text.
    Prompt { text: String, name: Option<String> },
    /// A tool ran.
    Tool(Call),
    /// The agent has answered. `said` is its last text, for clients without a transcript.
    Stop {
        said: Option<String>,
        name: Option<String>,
    },
    /// The context is about to be compacted.
    Compact,
    /// The session ends.
    End,
    /// Nothing that the memory notes.
    Other,
}

/// A call of a tool, with what the tool gave back.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Call {
    /// The client's name of the call.
    pub(crate) name: Option<String>,
    pub(crate) tool: String,
    pub(crate) input: Json,
    #[serde(default)]
    pub(crate) output: String,
}
