//! Reads the exports of chat services: the conversations of `ChatGPT` and of Claude.ai, and plain lists of messages.
//!
//! A conversation is a heading with its title, and its messages are entries below. `ChatGPT` keeps each conversation as a
//! tree with all its branches. Only the branch that the person sees is read.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::super::document::{Document, Section, SectionKind};
use super::super::json::Fields;
use super::{Copies, Line, message_of, read_line, time_of};
use crate::error::{Error, Result};
use crate::object::Id;

/// The title of a conversation without one.
const UNTITLED: &str = "Conversation";

/// Checks whether a JSON value is a list of conversations, or one conversation.
pub(in crate::ingest) fn is_export(json: &Json) -> bool {
    let is_one = |json: &Json| {
        ["mapping", "chat_messages", "messages"].iter().any(|name| {
            json.get(name)
                .is_some_and(|part| part.is_object() || part.is_array())
        })
    };
    match json {
        Json::Array(list) => {
            list.iter().any(|one| is_one(one) || one.get("role").is_some()) || list.is_empty()
        }
        one => is_one(one),
    }
}

/// Adds the conversations of an export to the sections of a document.
///
/// # Errors
/// `InvalidInput` if no conversation can be read.
pub(in crate::ingest) fn read(document: &mut Document, json: &Json) -> Result<()> {
    let all = match json {
        Json::Array(list) => list.iter().collect(),
        one => vec![one],
    };
    let (mut loose, mut names) = (Copies::default(), HashSet::new());
    for (number, one) in (1..).zip(all) {
        let Some(fields) = one.as_object() else {
            document
                .skipped
                .bad(number, "the conversation is not a map of fields");
            continue;
        };
        if fields.contains_key("role") {
            match read_line(number, one) {
                Ok(Line::Entries(entries)) => entries
                    .into_iter()
                    .for_each(|(entry, mark)| loose.add(entry, mark)),
                Ok(_) => document.skipped.other("other"),
                Err(error) => document.skipped.bad(number, error.message()),
            }
            continue;
        }
        conversation(document, &mut names, number, fields);
    }
    let (entries, copies) = loose.finish();
    document.sections.extend(entries);
    document.skipped.copies += copies;
    let is_read = !document.sections.is_empty() || document.skipped.bad.is_empty();
    if is_read {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "no conversation in {} can be read",
        document.path
    )))
}

/// Adds a conversation: its heading, and its messages below.
fn conversation(
    document: &mut Document,
    names: &mut HashSet<String>,
    number: u64,
    fields: &Map<String, Json>,
) {
    let text = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| fields.get(*name)?.as_str());
        found.find(|text| !text.trim().is_empty())
    };
    let place = document.sections.len();
    let mut heading = Section::new(SectionKind::Heading, number);
    heading
        .attributes
        .insert("title", text(&["title", "name"]).unwrap_or(UNTITLED));
    heading.content = text(&["summary"]).map(str::to_owned);
    if let Some(id) = text(&["conversation_id", "uuid", "id"]) {
        heading.attributes.insert("conversation", id);
        if names.insert(id.to_owned()) {
            heading.id = Id::new(&format!("{}#{id}", document.path)).ok();
        }
    }
    let mut times = ["create_time", "created_at"]
        .iter()
        .filter_map(|name| fields.get(*name));
    heading.stated = Fields {
        event_time: times.find_map(|time| time_of(time).ok()),
        ..Fields::default()
    };
    document.sections.push(heading);
    let mut messages = Copies::default();
    let lines: Vec<Result<Line>> = if let Some(Json::Object(mapping)) = fields.get("mapping") {
        let branch = branch_of(mapping, fields.get("current_node").and_then(Json::as_str));
        let with_message = |node: &&Json| node.get("message").is_some_and(Json::is_object);
        let others = mapping.values().filter(with_message).count() - branch.len().min(mapping.len());
        (0..others).for_each(|_| document.skipped.other("branch"));
        branch
            .into_iter()
            .map(|message| of_chatgpt(number, message))
            .collect()
    } else if let Some(Json::Array(list)) = fields.get("chat_messages") {
        list.iter().map(|message| of_claude(number, message)).collect()
    } else {
        let list = fields.get("messages").and_then(Json::as_array);
        list.into_iter()
            .flatten()
            .map(|message| read_line(number, message))
            .collect()
    };
    for line in lines {
        match line {
            Ok(Line::Entries(entries)) => entries.into_iter().for_each(|(mut entry, mark)| {
                entry.parent = Some(place);
                messages.add(entry, mark);
            }),
            Ok(Line::Other(kind)) => document.skipped.other(&kind),
            Ok(Line::Echo(_)) => {}
            Err(error) => document.skipped.bad(number, error.message()),
        }
    }
    let (entries, copies) = messages.finish();
    document.sections.extend(entries);
    document.skipped.copies += copies;
}

/// Returns the messages from the root of a tree to the newest node of the branch that the person sees.
fn branch_of<'a>(mapping: &'a Map<String, Json>, current: Option<&str>) -> Vec<&'a Json> {
    // Without a current node, the branch ends at the last leaf.
    let is_leaf = |node: &Json| {
        node.get("children")
            .and_then(Json::as_array)
            .is_none_or(Vec::is_empty)
    };
    let last = || {
        mapping
            .iter()
            .rev()
            .find(|(_, node)| is_leaf(node))
            .map(|(id, _)| id.as_str())
    };
    let mut next = current.filter(|id| mapping.contains_key(*id)).or_else(last);
    let (mut branch, mut seen) = (Vec::new(), HashSet::new());
    // A tree with a circle ends at the first node that was seen before.
    while let Some(node) = next
        .filter(|id| seen.insert((*id).to_owned()))
        .and_then(|id| mapping.get(id))
    {
        branch.extend(node.get("message").filter(|message| message.is_object()));
        next = node.get("parent").and_then(Json::as_str);
    }
    branch.reverse();
    branch
}

/// Reads a message of `ChatGPT`.
fn of_chatgpt(number: u64, message: &Json) -> Result<Line> {
    let role = message
        .pointer("/author/role")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let is_hidden =
        message.pointer("/metadata/is_visually_hidden_from_conversation") == Some(&Json::Bool(true));
    let content = message.get("content").unwrap_or(&Json::Null);
    let kind = content
        .get("content_type")
        .and_then(Json::as_str)
        .unwrap_or_default();
    if role.is_empty() || role == "system" || is_hidden || kind.ends_with("_editable_context") {
        return Ok(Line::Other("instructions".to_owned()));
    }
    if matches!(kind, "thoughts" | "reasoning_recap") {
        return Ok(Line::Other("thinking".to_owned()));
    }
    let parts = match content.get("parts") {
        Some(Json::Array(parts)) => parts.iter().map(part_of_chatgpt).collect(),
        _ => {
            let texts = ["text", "result", "summary"]
                .into_iter()
                .filter_map(|name| content.get(name));
            texts.take(1).cloned().collect()
        }
    };
    let fields = [
        ("role", Some(Json::from(role))),
        ("content", Some(Json::Array(parts))),
        ("uuid", message.get("id").cloned()),
        ("time", message.get("create_time").cloned()),
        ("model", message.pointer("/metadata/model_slug").cloned()),
        ("name", message.pointer("/author/name").cloned()),
    ];
    of_fields(number, fields)
}

/// Returns a part of a message with its type under the usual name.
fn part_of_chatgpt(part: &Json) -> Json {
    let mut part = part.clone();
    if let Json::Object(map) = &mut part
        && let Some(kind) = map.shift_remove("content_type")
    {
        map.insert("type".to_owned(), kind);
    }
    part
}

/// Reads a message of Claude.ai. The texts of its attached files count as results of tools.
fn of_claude(number: u64, message: &Json) -> Result<Line> {
    let role = match message.get("sender").and_then(Json::as_str) {
        Some("human") => "user",
        Some(sender) => sender,
        None => return Ok(Line::Other("other".to_owned())),
    };
    let mut parts: Vec<Json> = match message.get("content") {
        Some(Json::Array(parts)) if !parts.is_empty() => parts.iter().map(part_of_claude).collect(),
        _ => message.get("text").cloned().into_iter().collect(),
    };
    let attached = message.get("attachments").and_then(Json::as_array);
    for file in attached.into_iter().flatten() {
        let name = file.get("file_name").and_then(Json::as_str).unwrap_or_default();
        if let Some(text) = file.get("extracted_content").and_then(Json::as_str) {
            let text = format!("{name}\n\n{text}");
            parts.push(serde_json::json!({"type": "tool_result", "content": text}));
        }
    }
    let fields = [
        ("role", Some(Json::from(role))),
        ("content", Some(Json::Array(parts))),
        ("uuid", message.get("uuid").cloned()),
        ("time", message.get("created_at").cloned()),
    ];
    of_fields(number, fields)
}

/// Returns a part of a message with only its type and its words, so that a single text is plain.
fn part_of_claude(part: &Json) -> Json {
    match (part.get("type").and_then(Json::as_str), part.get("text")) {
        (Some("text"), Some(text)) => text.clone(),
        _ => part.clone(),
    }
}

fn of_fields<const N: usize>(number: u64, fields: [(&str, Option<Json>); N]) -> Result<Line> {
    let mut map = Map::new();
    for (name, value) in fields {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            map.insert(name.to_owned(), value);
        }
    }
    // A time that cannot be read costs the time, not the message.
    if map.get("time").is_some_and(|time| time_of(time).is_err()) {
        map.shift_remove("time");
    }
    let read = message_of(number, map, Map::new())?;
    Ok(match read {
        Line::Entries(entries) if entries.iter().all(|(entry, _)| is_empty(entry)) => {
            Line::Other("empty".to_owned())
        }
        read => read,
    })
}

fn is_empty(entry: &Section) -> bool {
    entry.content.as_ref().is_none_or(|text| text.trim().is_empty())
}
