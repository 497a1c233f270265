//! The hooks of VS Code with Copilot, and of Copilot CLI where it uses the same names.
//!
//! Sources: microsoft/vscode-docs, docs/agent-customization/hooks.md (2026-06-03) and docs/agents/reference/hooks-reference.md
//! (2026-07-29), and the events of Copilot CLI 1.0.102. Each event has `sessionId`, `hookEventName`, `cwd`, `timestamp` and
//! `transcript_path`; newer builds also write the names of Claude Code. In VS Code only `SessionStart` takes a context, and
//! `Stop` ends a session. Copilot CLI takes `additionalContext` with a prompt, too; it writes the last answer to the
//! transcript after `Stop`, and has `SessionEnd`.
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
    let mut answer = claude::answer(what, context)?;
    answer["additionalContext"] = context.into();
    Some(answer)
}
