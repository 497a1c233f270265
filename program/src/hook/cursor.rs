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

use super::event::{Call, What};
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> What {
    let generation = fields.text(&["generation_id"]);
    match fields.event().as_str() {
        "sessionStart" => What::Start,
        "beforeSubmitPrompt" => What::Prompt {
            text: fields.text(&["prompt"]).unwrap_or_default(),
            name: generation,
        },
        // Its transcript has no name of a call, so the call has none here.
        "postToolUse" => What::Tool(Call {
            name: None,
            ..fields.call(&["tool_output"])
        }),
        "stop" => What::Stop {
            said: None,
            name: generation,
        },
        "preCompact" => What::Compact,
        "sessionEnd" => What::End,
        _ => What::Other,
    }
}

pub(super) fn answer(what: &What, context: &str) -> Option<Json> {
    match what {
        What::Start => Some(json!({ "additional_context": context })),
        _ => None,
    }
}
