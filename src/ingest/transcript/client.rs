//! The lines that coding agents write: who said what, and which tools ran, in the one form that all agents share.
//!
//! The form of a line tells its agent:
//!
//! - Claude Code, `{"type", "uuid", "timestamp", "message": {"role", "content"}}`, and Cursor, `{"role", "message"}`
//! - Codex, `{"timestamp", "type": "response_item", "payload": {"type", ...}}` (openai/codex, codex-rs/protocol)
//! - Gemini CLI, `{"id", "timestamp", "type": "user" | "gemini", "content", "toolCalls"}` (google-gemini/gemini-cli,
//!   packages/core/src/services/chatRecordingTypes.ts at commit 04741d1d)
//! - Copilot, `{"id", "timestamp", "type": "user.message", "data"}` (entireio/cli, agent/copilotcli/AGENT.md)
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use serde_json::{Map, Value as Json};

const NULL: &Json = &Json::Null;

/// What a line says.
#[derive(Clone, Debug, Default)]
pub struct Turn<'a> {
    /// `user`, `assistant`, or another role that the line names.
    pub role: &'a str,
    /// Who wrote the texts instead of the role: a program (`tool`), or a model (`assistant`) below or in a summary (TRL-1).
    pub by: Option<&'static str>,
    /// The parts, in their order.
    pub parts: Vec<Part<'a>>,
    /// The name of the line, which only this line and its copies have.
    pub name: Option<&'a str>,
    /// The session that the line names. A resumed or forked session has lines of the one before.
    pub session: Option<&'a str>,
    /// The time, as the line writes it.
    pub time: Option<&'a Json>,
}

/// A part of a message.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// What was said.
    Text(&'a str),
    /// The call of a tool.
    Call {
        /// The name by which its result is found.
        id: Option<&'a str>,
        /// The server of the tool, if the line names it apart.
        server: Option<&'a str>,
        /// The name of the tool.
        tool: Option<&'a str>,
        /// What the tool is given.
        input: &'a Json,
    },
    /// The result of a tool.
    Result {
        /// The name of its call.
        id: Option<&'a str>,
        /// What the tool gave back.
        output: &'a Json,
    },
    /// A call and its result at once.
    Done {
        /// The name of the tool.
        tool: &'a str,
        /// What the tool is given.
        input: &'a Json,
        /// What the tool gave back.
        output: &'a Json,
    },
    /// Thoughts of a model, which it said to nobody.
    Thoughts,
    /// Something else, such as a picture.
    Other(&'a Map<String, Json>),
}

impl Part<'_> {
    /// Checks whether a tool was called or gave something back.
    fn is_of_tool(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Result { .. } | Self::Done { .. })
    }
}

/// Reads a line. Returns `None` for one in which nobody says anything.
pub fn turn_of(line: &Map<String, Json>) -> Option<Turn<'_>> {
    let text = |name| text(line, name);
    let mut turn = Turn {
        name: text("uuid").or_else(|| text("id")),
        session: text("sessionId"),
        time: line.get("timestamp"),
        by: author_of(line),
        ..Turn::default()
    };
    if let Some(message) = line.get("message") {
        let content = if message.is_object() {
            &message["content"]
        } else {
            message
        };
        turn.parts = parts_of(content);
        match message["role"].as_str().or_else(|| text("role")) {
            Some(role) if message.is_object() => turn.role = role,
            // Nobody knows who speaks, but what a tool gave back is not lost.
            _ => {
                turn.role = "tool";
                turn.parts.retain(Part::is_of_tool);
            }
        }
        if turn.role != "tool" || !turn.parts.is_empty() {
            return Some(turn);
        }
    }
    let kind = text("type")?;
    let data = line.get("payload").or_else(|| line.get("data"));
    match (kind, data.and_then(Json::as_object)) {
        ("response_item", Some(item)) => (turn.role, turn.parts) = item_of(item)?,
        ("user.message", Some(data)) => {
            turn.role = "user";
            turn.parts = parts_of(data.get("content").unwrap_or(NULL));
        }
        ("assistant.message", Some(data)) => {
            turn.role = "assistant";
            turn.parts = parts_of(data.get("content").unwrap_or(NULL));
            let calls = list_of(data, "toolRequests").filter_map(Json::as_object);
            turn.parts
                .extend(calls.map(|call| call_of(call, None, &["toolCallId", "id"])));
        }
        ("tool.execution_complete", Some(data)) => {
            turn.role = "tool";
            turn.parts = vec![Part::Result {
                id: self::text(data, "toolCallId"),
                output: data.get("result").unwrap_or(NULL),
            }];
        }
        ("user", None) => {
            turn.role = "user";
            turn.parts = parts_of(line.get("content")?);
        }
        ("gemini", None) => {
            turn.role = "assistant";
            turn.parts = parts_of(line.get("content").unwrap_or(NULL));
            // A call without a result is still to come. Its events have no name of a call, so the call has none here.
            let calls = list_of(line, "toolCalls").filter(|call| !call["result"].is_null());
            turn.parts.extend(calls.map(|call| Part::Done {
                tool: call["name"].as_str().unwrap_or_default(),
                input: &call["args"],
                output: &call["result"],
            }));
        }
        _ => return None,
    }
    Some(turn)
}

/// Returns who wrote the texts of a line instead of its role, if the line says so.
pub(super) fn author_of(line: &Map<String, Json>) -> Option<&'static str> {
    let is_set = |name: &str| line.get(name) == Some(&Json::Bool(true));
    if is_set("isMeta") {
        Some("tool")
    } else if is_set("isCompactSummary") || is_set("isSidechain") {
        // A model wrote the summary of the messages before, and the task of an agent below it.
        Some("assistant")
    } else {
        is_set("isVisibleInTranscriptOnly").then_some("tool")
    }
}

/// Reads an item of Codex: its role and its parts. Returns `None` for another item.
pub(super) fn item_of(item: &Map<String, Json>) -> Option<(&str, Vec<Part<'_>>)> {
    let kind = kind_of(item);
    if kind == "message" {
        let role = text(item, "role")?;
        Some((role, parts_of(item.get("content").unwrap_or(NULL))))
    } else if kind == "reasoning" {
        Some(("assistant", vec![Part::Thoughts]))
    } else if kind.ends_with("_call_output") || kind == "tool_search_output" {
        let id = text(item, "call_id");
        let output = item.get("output").unwrap_or(NULL);
        Some(("tool", vec![Part::Result { id, output }]))
    } else {
        let tool = kind.strip_suffix("_call")?;
        // A search has no separate result, and its own id.
        let ids: &[&str] = match text(item, "name") {
            Some(_) => &["call_id", "id"],
            None => &["call_id"],
        };
        Some(("assistant", vec![call_of(item, Some(tool), ids)]))
    }
}

/// Reads the content of a message: a text, or a list of parts.
pub(super) fn parts_of(content: &Json) -> Vec<Part<'_>> {
    match content {
        Json::Array(list) => list.iter().filter_map(part_of).collect(),
        one => part_of(one).into_iter().collect(),
    }
}

fn part_of(part: &Json) -> Option<Part<'_>> {
    let Some(map) = part.as_object() else {
        return part.as_str().map(Part::Text);
    };
    let kind = kind_of(map);
    Some(if kind.contains("thinking") || kind == "reasoning" {
        Part::Thoughts
    } else if kind.ends_with("tool_use") {
        call_of(map, None, &["id"])
    } else if kind.ends_with("tool_result") {
        Part::Result {
            id: text(map, "tool_use_id"),
            output: map.get("content").unwrap_or(NULL),
        }
    } else {
        text(map, "text").map_or(Part::Other(map), Part::Text)
    })
}

/// Reads a call. `tool` is its tool if the call names none.
fn call_of<'a>(call: &'a Map<String, Json>, tool: Option<&'a str>, ids: &[&str]) -> Part<'a> {
    let mut inputs = ["arguments", "input", "action"].iter();
    Part::Call {
        id: ids.iter().find_map(|id| text(call, id)),
        server: text(call, "namespace"),
        tool: text(call, "name").or(tool),
        input: inputs.find_map(|name| call.get(*name)).unwrap_or(NULL),
    }
}

fn text<'a>(map: &'a Map<String, Json>, name: &str) -> Option<&'a str> {
    map.get(name).and_then(Json::as_str)
}

fn list_of<'a>(map: &'a Map<String, Json>, name: &str) -> impl Iterator<Item = &'a Json> {
    map.get(name).and_then(Json::as_array).into_iter().flatten()
}

/// Returns the type of a line, an item or a part.
pub(super) fn kind_of(map: &Map<String, Json>) -> &str {
    text(map, "type").unwrap_or_default()
}
