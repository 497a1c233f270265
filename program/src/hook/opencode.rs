//! The events of the opencode plugin of this repository, whose form is this program's own.
//!
//! Source: opencode.ai/docs/plugins, as of November 2026: a plugin is a module whose functions opencode calls. Ours writes
//! `{"event", "session", "folder", "text", "name", "tool", "input", "output"}` and reads `{"context"}`.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::{Value as Json, json};

use super::event::Happened;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> Happened {
    match fields.text(&["event"]).unwrap_or_default().as_str() {
        "start" => Happened::Start,
        "prompt" => Happened::Prompt {
            text: fields.text(&["text"]).unwrap_or_default(),
            name: fields.text(&["name"]),
        },
        "tool" => Happened::Tool(fields.call(&["output"])),
        "stop" => Happened::Stop {
            said: fields.text(&["text"]),
            name: fields.text(&["name"]),
        },
        "compact" => Happened::Compact,
        "end" => Happened::End,
        _ => Happened::Other,
    }
}

pub(super) fn answer(what: &Happened, context: &str) -> Option<Json> {
    match what {
        Happened::Start | Happened::Prompt { .. } => Some(json!({ "context": context })),
        _ => None,
    }
}
