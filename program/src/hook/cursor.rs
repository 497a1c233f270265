//! The hooks of Cursor.
//!
//! Sources: cursor.com/docs/agent/hooks, as two public integrations record it with captured payloads: rohitg00/agentmemory,
//! plugin/cursor/hooks.json (commit 7a9cbd7d), and entireio/cli, cmd/entire/cli/agent/cursor (commit 126f2ac1, 2026). Each
//! event has `conversation_id`, `generation_id`, `hook_event_name` and `workspace_roots`. `transcript_path` may be null.
//! `sessionStart` takes `additional_context`; `beforeSubmitPrompt` takes none.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::{Value as Json, json};

use super::event::{Call, Happened};
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> Happened {
    let generation = fields.text(&["generation_id"]);
    match fields.event().as_str() {
        "sessionStart" => Happened::Start,
        "beforeSubmitPrompt" => Happened::Prompt {
            text: fields.text(&["prompt"]).unwrap_or_default(),
            name: generation,
        },
        // Its transcript has no name of a call, so the call has none here.
        "postToolUse" => Happened::Tool(Call {
            name: None,
            ..fields.call(&["tool_output"])
        }),
        "stop" => Happened::Stop {
            said: None,
            name: generation,
        },
        "preCompact" => Happened::Compact,
        "sessionEnd" => Happened::End,
        _ => Happened::Other,
    }
}

pub(super) fn answer(what: &Happened, context: &str) -> Option<Json> {
    match what {
        Happened::Start => Some(json!({ "additional_context": context })),
        _ => None,
    }
}
