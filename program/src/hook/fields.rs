//! The fields of an event. Clients spell one field in several ways.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use serde_json::{Map, Value as Json};

use super::event::Call;

/// The longest text in the input of a call, in bytes. A longer one is the content of a file.
const INPUT_BYTES_MAX: usize = 64 << 10;

/// The fields of an event.
pub(crate) struct Fields(Map<String, Json>);

impl Fields {
    pub(super) fn new(map: Map<String, Json>) -> Self {
        Self(map)
    }

    /// Returns the first of the fields that is a text and not empty.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let mut texts = names.iter().filter_map(|name| self.0.get(*name)?.as_str());
        texts.find(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns the texts of a list.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Json::as_array);
        let texts = list.into_iter().flatten().filter_map(Json::as_str);
        texts.map(str::to_owned).collect()
    }

    /// Returns the name of the event.
    pub(super) fn event(&self) -> String {
        self.text(&["hook_event_name", "hookEventName"])
            .unwrap_or_default()
    }

    /// Returns the time of the event as the client writes it, which names an event that has no other name.
    pub(super) fn time(&self) -> Option<String> {
        match self.0.get("timestamp")? {
            Json::Null => None,
            Json::String(time) => Some(time.clone()),
            time => Some(time.to_string()),
        }
    }

    /// Returns the call of a tool.
    pub(super) fn call(&self, output: &[&str]) -> Call {
        let mut names = ["tool_input", "toolArgs", "input"].iter();
        let input = names.find_map(|name| self.0.get(*name));
        let output = output.iter().find_map(|name| self.0.get(*name));
        Call {
            name: self.text(&["tool_use_id", "toolCallId", "name"]),
            tool: self.text(&["tool_name", "toolName", "tool"]).unwrap_or_default(),
            input: input.map_or(Json::Null, input_of),
            output: output.map(text_of).unwrap_or_default(),
        }
    }
}

/// Returns the input of a call. Some clients write it as a text with JSON.
pub(super) fn input_of(input: &Json) -> Json {
    let mut input = match input {
        Json::String(text) => serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str())),
        input => input.clone(),
    };
    shorten(&mut input);
    input
}

/// Cuts the long texts in the input of a call, which are contents and no names.
fn shorten(input: &mut Json) {
    match input {
        Json::String(text) => text.truncate(text.floor_char_boundary(INPUT_BYTES_MAX)),
        Json::Array(list) => list.iter_mut().for_each(shorten),
        Json::Object(map) => map.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns the text of a result: the text itself, the texts of its parts, or its JSON.
pub(crate) fn text_of(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(parts) => {
            let texts = parts.iter().map(text_of).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n\n")
        }
        Json::Object(map) => {
            let inner = [
                "text",
                "content",
                "llmContent",
                "text_result_for_llm",
                "output",
                "stdout",
                "result",
            ];
            let inner = inner
                .iter()
                .find_map(|name| map.get(*name).filter(|inner| !inner.is_null()));
            inner.map_or_else(|| json.to_string(), text_of)
        }
        other => other.to_string(),
    }
}
