//! The hooks of Claude Code.
//!
//! Source: code.claude.com/docs/en/hooks, as of November 2026. Each event is one JSON object with `session_id`,
//! `transcript_path`, `cwd` and `hook_event_name`. `SessionStart` has `source` (startup, resume, clear, compact),
//! `UserPromptSubmit` has `prompt`, and since 2026 `prompt_id`. `PostToolUse` has `tool_name`, `tool_input`,
//! `tool_response` and `tool_use_id`, `Stop` has `last_assistant_message`. `SessionStart` and `UserPromptSubmit` take
//! `hookSpecificOutput.additionalContext`. An exit code of 2 would block the person's prompt.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::{Value as Json, json};

use super::event::Happened;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> Happened {
    what_named(fields, fields.text(&["prompt_id"]))
}

/// Reads an event with the names of Claude Code, which other clients took over. `name` names the prompt or the turn.
pub(super) fn what_named(fields: &Fields, name: Option<String>) -> Happened {
    match fields.event().as_str() {
        "SessionStart" => Happened::Start,
        "UserPromptSubmit" => Happened::Prompt {
            text: fields.text(&["prompt"]).unwrap_or_default(),
            name,
        },
        "PostToolUse" => Happened::Tool(fields.call(&["tool_response", "tool_output", "tool_result"])),
        "Stop" => Happened::Stop {
            said: fields.text(&["last_assistant_message"]),
            name,
        },
        "PreCompact" => Happened::Compact,
        "SessionEnd" => Happened::End,
        _ => Happened::Other,
    }
}

pub(super) fn answer(what: &Happened, context: &str) -> Option<Json> {
    answer_named(what, "UserPromptSubmit", context)
}

/// Returns the answer of a client whose prompt event is `prompt`.
pub(super) fn answer_named(what: &Happened, prompt: &str, context: &str) -> Option<Json> {
    let name = match what {
        Happened::Start => "SessionStart",
        Happened::Prompt { .. } => prompt,
        _ => return None,
    };
    Some(json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": context } }))
}
