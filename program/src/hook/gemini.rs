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
use super::event::What;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> What {
    match fields.event().as_str() {
        "SessionStart" => What::Start,
        "BeforeAgent" => What::Prompt {
            text: fields.text(&["prompt"]).unwrap_or_default(),
            name: fields.time(),
        },
        "AfterTool" => What::Tool(fields.call(&["tool_response"])),
        "AfterAgent" => What::Stop {
            said: fields.text(&["prompt_response"]),
            name: fields.time(),
        },
        // Before each request the client asks whether to compact, and the event `auto` tells of the question.
        "PreCompress" if fields.text(&["trigger"]).as_deref() == Some("auto") => What::Other,
        "PreCompress" => What::Compact,
        "SessionEnd" => What::End,
        _ => What::Other,
    }
}

pub(super) fn answer(what: &What, context: &str) -> Option<Json> {
    claude::answer_named(what, "BeforeAgent", context)
}
