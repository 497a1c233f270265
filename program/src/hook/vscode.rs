//! The hooks of VS Code with Copilot, and of Copilot CLI where it uses the same names.
//!
//! Sources: microsoft/vscode-docs, docs/agent-customization/hooks.md (2026-06-03) and docs/agents/reference/hooks-reference.md
//! (2026-07-29). Each event has `sessionId`, `hookEventName`, `cwd`, `timestamp` and `transcript_path`; newer builds also
//! write the names of Claude Code. Only `SessionStart` takes a context here, so a prompt gets none. `Stop` ends a session.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::Value as Json;

use super::claude;
use super::event::Happened;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> Happened {
    claude::what_named(fields, fields.time())
}

pub(super) fn answer(what: &Happened, context: &str) -> Option<Json> {
    match what {
        Happened::Start => claude::answer(what, context),
        _ => None,
    }
}
