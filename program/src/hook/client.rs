//! The clients: reads the events of each, and writes its answers.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.
//!
//! # Invariants
//! - HKE-1: only an event whose own name is that of a prompt is a prompt. No field of another event makes it one.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::event::{Event, Happened};
use super::fields::Fields;
use super::{claude, codex, cursor, gemini, opencode, vscode};
use treering::{Error, Result};

named! {
    /// A coding agent whose hooks `treering hook` serves.
    #[derive(clap::ValueEnum)]
    pub(crate) enum HookClient {
        /// Claude Code.
        ClaudeCode => "claude-code",
        /// Codex.
        Codex => "codex",
        /// Gemini CLI.
        Gemini => "gemini",
        /// VS Code with Copilot, and Copilot CLI.
        Vscode => "vscode",
        /// Cursor.
        Cursor => "cursor",
        /// opencode, through its plugin.
        Opencode => "opencode",
    }
}

impl HookClient {
    /// Reads an event.
    ///
    /// # Errors
    /// `InvalidInput` if the JSON is no event, or names no session.
    pub(crate) fn event(self, json: Json) -> Result<Event> {
        let Json::Object(map) = json else {
            return Err(Error::invalid("the event is not a JSON object"));
        };
        let fields = Fields::new(map);
        let what = match self {
            Self::ClaudeCode => claude::what(&fields),
            Self::Codex => codex::what(&fields),
            Self::Gemini => gemini::what(&fields),
            Self::Vscode => vscode::what(&fields),
            Self::Cursor => cursor::what(&fields),
            Self::Opencode => opencode::what(&fields),
        };
        let session = fields.text(&["session_id", "sessionId", "conversation_id", "session"]);
        let path = |names: &[&str]| fields.text(names).map(PathBuf::from);
        let roots: Vec<PathBuf> = fields
            .list("workspace_roots")
            .into_iter()
            .map(PathBuf::from)
            .collect();
        Ok(Event {
            session: session.ok_or_else(|| Error::invalid("the event names no session"))?,
            folder: path(&["cwd", "folder"]).or_else(|| roots.first().cloned()),
            roots,
            transcript: path(&["transcript_path", "transcriptPath"]),
            what,
        })
    }

    /// Returns the answer that gives the client a context, or nothing if the event takes none.
    pub(crate) fn answer(self, what: &Happened, context: &str) -> Option<Json> {
        match self {
            Self::ClaudeCode | Self::Codex => claude::answer(what, context),
            Self::Gemini => gemini::answer(what, context),
            Self::Vscode => vscode::answer(what, context),
            Self::Cursor => cursor::answer(what, context),
            Self::Opencode => opencode::answer(what, context),
        }
    }

    /// Returns the variable in which the client tells its hooks the folder where the session began.
    pub(crate) fn workspace_variable(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("CLAUDE_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            Self::Cursor => Some("CURSOR_PROJECT_DIR"),
            Self::Codex | Self::Vscode | Self::Opencode => None,
        }
    }

    /// Whether one process of the client, and one server, serve several conversations at a time.
    pub(crate) fn has_conversations(self) -> bool {
        self == Self::Cursor
    }

    /// Whether the client takes a context when the person sends a prompt.
    pub(crate) fn takes_context_at_prompt(self) -> bool {
        self != Self::Cursor
    }

    /// Whether the client has an event for the end of a session. Without one, each answer may be the last.
    pub(crate) fn has_end(self) -> bool {
        !matches!(self, Self::Codex | Self::Vscode)
    }

    /// Whether the client writes its transcript later than it sends the event. Copilot CLI takes about 0.1 seconds.
    pub(crate) fn writes_late(self) -> bool {
        self == Self::Vscode
    }

    /// Whether the client expects a JSON document even if there is nothing to say.
    pub(crate) fn wants_document(self) -> bool {
        matches!(self, Self::Gemini | Self::Cursor | Self::Opencode)
    }
}
