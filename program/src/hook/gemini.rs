//! The hooks of Gemini CLI.
//!
//! Source: google-gemini/gemini-cli, docs/hooks/reference.md at commit 06c0d810 (2026). Each event has `session_id`,
//! `transcript_path`, `cwd`, `hook_event_name` and `timestamp`. `BeforeAgent` has `prompt`, `AfterAgent` has
//! `prompt_response`, and `AfterTool` has `tool_response.llmContent`. Standard output must be JSON and nothing else.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::Value as Json;

use super::claude;
use super::event::Happened;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> Happened {
    match fields.event().as_str() {
        "SessionStart" => Happened::Start,
        "BeforeAgent" => Happened::Prompt {
            text: fields.text(&["prompt"]).unwrap_or_default(),
            name: fields.time(),
        },
        "AfterTool" => Happened::Tool(fields.call(&["tool_response"])),
        "AfterAgent" => Happened::Stop {
            said: fields.text(&["prompt_response"]),
            name: fields.time(),
        },
        // Before each request the client asks whether to compact, and the event `auto` tells of the question.
        "PreCompress" if fields.text(&["trigger"]).as_deref() == Some("auto") => Happened::Other,
        "PreCompress" => Happened::Compact,
        "SessionEnd" => Happened::End,
        _ => Happened::Other,
    }
}

pub(super) fn answer(what: &Happened, context: &str) -> Option<Json> {
    claude::answer_named(what, "BeforeAgent", context)
}
