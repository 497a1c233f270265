//! Reads what is new in the transcript that a client keeps of a session.
//!
//! Clients write one JSON object a line, Gemini CLI also one document. The form of a line tells who wrote it, so one reader
//! serves all clients:
//!
//! - Claude Code, `{"type", "uuid", "timestamp", "message": {"role", "content"}}`, and Cursor, `{"role", "message"}`
//! - Codex, `{"timestamp", "type": "response_item", "payload": {"type", ...}}` (openai/codex, codex-rs/protocol)
//! - Gemini CLI, `{"id", "timestamp", "type": "user" | "gemini", "content", "toolCalls"}` (google-gemini/gemini-cli,
//!   packages/core/src/services/chatRecordingTypes.ts at commit 04741d1d)
//! - Copilot, `{"id", "timestamp", "type": "user.message", "data"}` (entireio/cli, agent/copilotcli/AGENT.md)
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.
//!
//! # Invariants
//! - HKT-1: the result of a tool and a text of a program are never a text of the person or of the model.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::event::Call;
use super::fields::text_of;
use treering::Time;
use treering::inspect::ingest::is_of_program;
use treering::inspect::ingest::json::loose_time_from_json;

/// A text or a call in a transcript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// A text with the role of the person.
    Person { text: String, time: Option<Time> },
    /// A text of the model. `name` is unique in the transcript.
    Model {
        text: String,
        name: String,
        time: Option<Time>,
    },
    /// A call of a tool, with its result.
    Called(Call),
}

/// What a part of a transcript says, and how far it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Read {
    pub(crate) said: Vec<Said>,
    /// The number of read bytes.
    pub(crate) bytes: usize,
    /// The number of read lines, or of read messages of a document.
    pub(crate) lines: u64,
}

/// Reads a transcript from the line `first`, which is the start of `bytes`. A last line that is not whole waits for the next
/// call. A document has no lines, so its text is always whole, and its first `first` messages are passed over. Bytes that
/// are not UTF-8 become U+FFFD.
pub(crate) fn read_from(bytes: &[u8], first: u64, is_document: bool) -> Read {
    let mut reader = Reader::default();
    if is_document {
        let json: Json = serde_json::from_str(&String::from_utf8_lossy(bytes)).unwrap_or(Json::Null);
        let messages = json.get("messages").and_then(Json::as_array);
        for (number, message) in (0..).zip(messages.into_iter().flatten()) {
            if number >= first
                && let Json::Object(map) = message
            {
                reader.line(map, number);
            }
        }
        let lines = messages.map_or(0, Vec::len) as u64;
        return Read {
            said: reader.said,
            bytes: 0,
            lines,
        };
    }
    let mut read = Read::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let parsed = serde_json::from_str::<Json>(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") && parsed.is_err() {
            break;
        }
        if let Ok(Json::Object(map)) = parsed {
            reader.line(&map, first + read.lines);
        }
        read.bytes += line.len();
        read.lines += 1;
    }
    read.said = reader.said;
    read
}

#[derive(Default)]
struct Reader {
    said: Vec<Said>,
    /// The calls whose results are still to come, by their names.
    calls: HashMap<String, Call>,
}

impl Reader {
    fn line(&mut self, line: &Map<String, Json>, number: u64) {
        let text = |name: &str| line.get(name).and_then(Json::as_str);
        let kind = text("type").unwrap_or_default();
        let time = line
            .get("timestamp")
            .and_then(|time| loose_time_from_json(time).ok());
        let name = text("uuid").or_else(|| text("id"));
        let name = name.map_or_else(|| format!("line {number}"), str::to_owned);
        let is_set = |field: &str| line.get(field) == Some(&Json::Bool(true));
        if let Some(Json::Object(message)) = line.get("message") {
            // An agent below has its own task, which is no prompt, and a summary repeats what is here already.
            if [
                "isSidechain",
                "isMeta",
                "isCompactSummary",
                "isVisibleInTranscriptOnly",
            ]
            .iter()
            .any(|field| is_set(field))
            {
                return;
            }
            let role = message
                .get("role")
                .and_then(Json::as_str)
                .or_else(|| text("role"));
            return self.message(role.unwrap_or_default(), message.get("content"), name, time);
        }
        match (kind, line.get("payload").or_else(|| line.get("data"))) {
            ("response_item", Some(Json::Object(item))) => self.item(item, name, time),
            ("user.message", Some(data)) => self.text("user", &content(data), name, time),
            ("assistant.message", Some(data)) => {
                self.text("assistant", &content(data), name, time);
                for request in data
                    .get("toolRequests")
                    .and_then(Json::as_array)
                    .into_iter()
                    .flatten()
                {
                    self.begin(request, &["toolCallId", "id"], &["arguments", "input"]);
                }
            }
            ("tool.execution_complete", Some(data)) => {
                let output = data.get("result").map(text_of).unwrap_or_default();
                self.end(data.get("toolCallId"), output);
            }
            ("user", None) => self.text("user", &parts(line.get("content")), name, time),
            ("gemini", None) => {
                self.text("assistant", &parts(line.get("content")), name, time);
                let calls = line.get("toolCalls").and_then(Json::as_array);
                // Its events have no name of a call, so the call has none here.
                let calls = calls.into_iter().flatten().map(|call| Call {
                    name: None,
                    tool: call
                        .get("name")
                        .and_then(Json::as_str)
                        .unwrap_or_default()
                        .to_owned(),
                    input: call.get("args").cloned().unwrap_or(Json::Null),
                    output: call.get("result").map(text_of).unwrap_or_default(),
                });
                self.said.extend(calls.map(Said::Called));
            }
            _ => {}
        }
    }

    /// Reads the parts of a message.
    fn message(&mut self, role: &str, content: Option<&Json>, name: String, time: Option<Time>) {
        let list = match content {
            Some(Json::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => return,
        };
        let mut texts = Vec::new();
        for part in list {
            let kind = part.get("type").and_then(Json::as_str).unwrap_or_default();
            if kind.ends_with("tool_use") {
                self.begin(part, &["id"], &["input"]);
            } else if kind.ends_with("tool_result") {
                let output = part.get("content").map(text_of).unwrap_or_default();
                self.end(part.get("tool_use_id"), output);
            } else if let Some(text) = part.as_str().or_else(|| part.get("text")?.as_str()) {
                texts.push(text);
            }
        }
        self.text(role, &texts.join("\n\n"), name, time);
    }

    /// Reads an item of Codex.
    fn item(&mut self, item: &Map<String, Json>, name: String, time: Option<Time>) {
        let text = |name: &str| item.get(name).and_then(Json::as_str);
        let kind = text("type").unwrap_or_default();
        if kind == "message" {
            return self.message(text("role").unwrap_or_default(), item.get("content"), name, time);
        }
        let json = Json::Object(item.clone());
        if kind.ends_with("_call_output") {
            let output = item.get("output").map(text_of).unwrap_or_default();
            self.end(item.get("call_id"), output);
        } else if let Some(tool) = kind.strip_suffix("_call") {
            self.begin(&json, &["call_id", "id"], &["arguments", "input", "action"]);
            if text("name").is_none() && text("call_id").is_none() {
                // A search has no separate result.
                self.said.push(Said::Called(Call {
                    tool: tool.to_owned(),
                    input: item.get("action").cloned().unwrap_or(Json::Null),
                    name: text("id").map(str::to_owned),
                    output: String::new(),
                }));
            }
        }
    }

    fn text(&mut self, role: &str, text: &str, name: String, time: Option<Time>) {
        let text = if role == "user" { typed(text) } else { text.trim() };
        if text.is_empty() {
            return;
        }
        match role {
            // HKT-1: a program wrote it in the name of the person.
            "user" if is_of_program(text) => {}
            "user" => self.said.push(Said::Person {
                text: text.to_owned(),
                time,
            }),
            "assistant" | "model" => self.said.push(Said::Model {
                text: text.to_owned(),
                name,
                time,
            }),
            _ => {}
        }
    }

    /// Notes a call whose result is still to come.
    fn begin(&mut self, call: &Json, names: &[&str], inputs: &[&str]) {
        let name = names.iter().find_map(|name| call.get(*name)?.as_str());
        let tool = call.get("name").and_then(Json::as_str);
        let (Some(name), Some(tool)) = (name, tool) else {
            return;
        };
        let input = inputs.iter().find_map(|name| call.get(*name));
        let input = match input {
            Some(Json::String(text)) => {
                serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str()))
            }
            Some(input) => input.clone(),
            None => Json::Null,
        };
        let call = Call {
            name: Some(name.to_owned()),
            tool: tool.to_owned(),
            input,
            output: String::new(),
        };
        self.calls.insert(name.to_owned(), call);
    }

    fn end(&mut self, name: Option<&Json>, output: String) {
        let call = name
            .and_then(Json::as_str)
            .and_then(|name| self.calls.remove(name));
        self.said
            .extend(call.map(|call| Said::Called(Call { output, ..call })));
    }
}

/// Returns the text that a person typed, without the tags in which Cursor puts it.
fn typed(text: &str) -> &str {
    let text = text.trim();
    let inner = text.split_once("<user_query>").and_then(|(before, rest)| {
        let is_tag = before.trim().is_empty() || before.trim_start().starts_with("<timestamp>");
        is_tag.then(|| rest.rsplit_once("</user_query>").map_or(rest, |(inner, _)| inner))
    });
    inner.map_or(text, str::trim)
}

fn content(data: &Json) -> String {
    data.get("content").map(text_of).unwrap_or_default()
}

/// Returns the texts of the parts of a message of Gemini CLI, without calls and results.
fn parts(content: Option<&Json>) -> String {
    match content {
        Some(Json::Array(parts)) => {
            let texts = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            texts.collect::<Vec<_>>().join("\n\n")
        }
        Some(Json::String(text)) => text.clone(),
        Some(part) => part
            .get("text")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned(),
        None => String::new(),
    }
}
