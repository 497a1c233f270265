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

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::event::Call;
use super::fields::{shorten, text_of};
use super::json::json_of;
use treering::Time;
use treering::inspect::ingest::is_of_program;
use treering::inspect::ingest::json::loose_time_from_json;

/// The number of calls that may wait for their results. The oldest names give way.
const OPEN_MAX: usize = 256;
/// The tool of a result whose call is not known. It counts as outside.
const UNKNOWN_TOOL: &str = "unknown tool";

/// The calls whose results are still to come, by their names.
pub(crate) type Open = BTreeMap<String, Call>;

/// A part of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    /// The session that the line names. A resumed or forked session has lines of the one before.
    pub(crate) session: Option<String>,
    pub(crate) what: Spoken,
}

/// A text or a call in a transcript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spoken {
    /// A text with the role of the person.
    Person { text: String, time: Option<Time> },
    /// A text of the model. `name` is unique in the transcript, if the client names its lines.
    Model {
        text: String,
        name: Option<String>,
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
    /// The calls whose results are still to come.
    pub(crate) open: Open,
}

/// Reads the lines of a transcript. `open` has the calls of earlier lines. A last line that is not whole waits for the next
/// call.
pub(crate) fn read_from(bytes: &[u8], open: Open) -> Read {
    let mut reader = Reader::new(open);
    let mut read = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let parsed = json_of(line);
        if !line.ends_with(b"\n") && parsed.is_err() {
            break;
        }
        if let Ok(Json::Object(map)) = parsed {
            reader.line(&map);
        }
        read += line.len();
    }
    reader.finish(read)
}

/// Reads messages of a transcript that is one document.
pub(crate) fn read_messages(messages: &[Json], open: Open) -> Read {
    let mut reader = Reader::new(open);
    messages
        .iter()
        .filter_map(Json::as_object)
        .for_each(|map| reader.line(map));
    reader.finish(0)
}

/// Returns the messages of a transcript that is one document.
pub(crate) fn messages_of(bytes: &[u8]) -> Vec<Json> {
    let json = json_of(bytes).unwrap_or(Json::Null);
    match json {
        Json::Object(mut map) => match map.remove("messages") {
            Some(Json::Array(messages)) => messages,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

struct Reader {
    said: Vec<Said>,
    open: Open,
    /// The session that the present line names.
    session: Option<String>,
}

impl Reader {
    fn new(open: Open) -> Self {
        Self {
            said: Vec::new(),
            open,
            session: None,
        }
    }

    fn finish(mut self, bytes: usize) -> Read {
        while self.open.len() > OPEN_MAX {
            drop(self.open.pop_first());
        }
        Read {
            said: self.said,
            bytes,
            open: self.open,
        }
    }

    fn add(&mut self, what: Spoken) {
        let session = self.session.clone();
        self.said.push(Said { session, what });
    }

    fn line(&mut self, line: &Map<String, Json>) {
        let text = |name: &str| line.get(name).and_then(Json::as_str);
        let kind = text("type").unwrap_or_default();
        let time = line
            .get("timestamp")
            .and_then(|time| loose_time_from_json(time).ok());
        let name = text("uuid").or_else(|| text("id"));
        let name = name.map(str::to_owned);
        self.session = text("sessionId").map(str::to_owned);
        let is_set = |field: &str| line.get(field) == Some(&Json::Bool(true));
        if let Some(Json::Object(message)) = line.get("message") {
            // An agent below has its own task, which is no prompt, and a summary repeats what is here already. What such an
            // agent reads reaches the one above.
            let is_hidden = [
                "isSidechain",
                "isMeta",
                "isCompactSummary",
                "isVisibleInTranscriptOnly",
            ]
            .iter()
            .any(|field| is_set(field));
            let role = message
                .get("role")
                .and_then(Json::as_str)
                .or_else(|| text("role"));
            let role = role.filter(|_| !is_hidden).unwrap_or_default();
            return self.message(role, message.get("content"), name, time);
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
                    self.begin(request, None, &["toolCallId", "id"], &["arguments", "input"]);
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
                // Its events have no name of a call, so the call has none here. A call without a result is still to come.
                let calls = calls
                    .into_iter()
                    .flatten()
                    .filter(|call| !call["result"].is_null());
                let calls = calls.map(|call| Call {
                    name: None,
                    tool: call
                        .get("name")
                        .and_then(Json::as_str)
                        .unwrap_or_default()
                        .to_owned(),
                    input: call.get("args").cloned().unwrap_or(Json::Null),
                    output: call.get("result").map(text_of).unwrap_or_default(),
                });
                calls.for_each(|call| self.add(Spoken::Called(call)));
            }
            _ => {}
        }
    }

    /// Reads the parts of a message.
    fn message(&mut self, role: &str, content: Option<&Json>, name: Option<String>, time: Option<Time>) {
        let list = match content {
            Some(Json::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => return,
        };
        let mut texts = Vec::new();
        for part in list {
            let kind = part.get("type").and_then(Json::as_str).unwrap_or_default();
            if kind.ends_with("tool_use") {
                self.begin(part, None, &["id"], &["input"]);
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
    fn item(&mut self, item: &Map<String, Json>, name: Option<String>, time: Option<Time>) {
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
            // A search has no separate result, and its own id.
            let names: &[&str] = if text("name").is_none() {
                &["call_id"]
            } else {
                &["call_id", "id"]
            };
            self.begin(&json, Some(tool), names, &["arguments", "input", "action"]);
        }
    }

    fn text(&mut self, role: &str, text: &str, name: Option<String>, time: Option<Time>) {
        let text = if role == "user" { typed(text) } else { text.trim() };
        if text.is_empty() {
            return;
        }
        match role {
            // HKT-1: a program wrote it in the name of the person.
            "user" if is_of_program(text) => {}
            "user" => self.add(Spoken::Person {
                text: text.to_owned(),
                time,
            }),
            "assistant" | "model" => self.add(Spoken::Model {
                text: text.to_owned(),
                name,
                time,
            }),
            _ => {}
        }
    }

    /// Notes a call whose result is still to come. `tool` is its tool if the call names none. A call without a name of its
    /// own has no result that names it, so it counts at once.
    fn begin(&mut self, call: &Json, tool: Option<&str>, names: &[&str], inputs: &[&str]) {
        let name = names.iter().find_map(|name| call.get(*name)?.as_str());
        let Some(tool) = call.get("name").and_then(Json::as_str).or(tool) else {
            return;
        };
        // Codex writes the server of a tool apart.
        let server = call.get("namespace").and_then(Json::as_str);
        let tool = server.map_or_else(|| tool.to_owned(), |server| format!("{server}__{tool}"));
        let input = inputs.iter().find_map(|name| call.get(*name));
        let mut input = match input {
            Some(Json::String(text)) => {
                serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str()))
            }
            Some(input) => input.clone(),
            None => Json::Null,
        };
        shorten(&mut input);
        let call = Call {
            name: name.map(str::to_owned),
            tool,
            input,
            output: String::new(),
        };
        match name {
            Some(name) => drop(self.open.insert(name.to_owned(), call)),
            None => self.add(Spoken::Called(call)),
        }
    }

    fn end(&mut self, name: Option<&Json>, output: String) {
        let name = name.and_then(Json::as_str);
        let call = name.and_then(|name| self.open.remove(name));
        // HKC-2: the call may have read anything.
        let call = call.unwrap_or_else(|| Call {
            name: name.map(str::to_owned),
            tool: UNKNOWN_TOOL.to_owned(),
            ..Call::default()
        });
        self.add(Spoken::Called(Call { output, ..call }));
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
