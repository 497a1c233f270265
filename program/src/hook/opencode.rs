//! The events of the opencode plugin of this repository, whose form is this program's own.
//!
//! Source: opencode.ai/docs/plugins, as of November 2026: a plugin is a module whose functions opencode calls. Ours writes
//! `{"event", "session", "folder", "text", "name", "tool", "input", "output"}` and reads `{"context"}`.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::{Value as Json, json};

use super::event::What;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> What {
    match fields.text(&["event"]).unwrap_or_default().as_str() {
        "start" => What::Start,
        "prompt" => What::Prompt {
            text: fields.text(&["text"]).unwrap_or_default(),
            name: fields.text(&["name"]),
        },
        "tool" => What::Tool(fields.call(&["output"])),
        "stop" => What::Stop {
            said: fields.text(&["text"]),
            name: fields.text(&["name"]),
        },
        "compact" => What::Compact,
        "end" => What::End,
        _ => What::Other,
    }
}

pub(super) fn answer(what: &What, context: &str) -> Option<Json> {
    match what {
        What::Start | What::Prompt { .. } => Some(json!({ "context": context })),
        _ => None,
    }
}
