//! Reads the lines of Codex: `{"timestamp", "type", "payload"}`, and the items of its older files without this frame.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use serde_json::{Map, Value as Json};

use super::super::document::{Section, SectionKind};
use super::client::{item_of, kind_of};
use super::parts::{Said, result};
use super::{Line, Mark, message_of, time_of};
use crate::error::Result;

/// Reads a line, or returns `None` if the line is not one of Codex.
pub(super) fn read(line: u64, outer: &Map<String, Json>) -> Result<Option<Line>> {
    let kind = kind_of(outer);
    let time = outer.get("timestamp");
    match (kind, outer.get("payload")) {
        ("response_item", Some(Json::Object(item))) => Ok(Some(
            of_item(line, item, time)?.unwrap_or_else(|| Line::Other(kind_of(item).to_owned())),
        )),
        ("event_msg", Some(Json::Object(event))) => Ok(Some(of_event(line, event, time))),
        ("compacted", Some(Json::Object(compacted))) => Ok(Some(of_summary(line, compacted, time))),
        ("", _) => Ok(None),
        _ if outer.contains_key("role") || outer.contains_key("message") => Ok(None),
        (kind, Some(Json::Object(_))) => Ok(Some(Line::Other(kind.to_owned()))),
        _ => of_item(line, outer, None),
    }
}

/// Reads an item of the conversation: a message, the call of a tool or its result. Returns `None` for another item.
fn of_item(line: u64, item: &Map<String, Json>, time: Option<&Json>) -> Result<Option<Line>> {
    let kind = kind_of(item);
    let text = |name: &str| item.get(name).and_then(Json::as_str);
    if kind == "message" && item.contains_key("role") {
        // The program states its own instructions again in each file.
        if matches!(text("role"), Some("developer" | "system")) {
            return Ok(Some(Line::Other("instructions".to_owned())));
        }
        let mut fields = item.clone();
        fields.shift_remove("type");
        fields.retain(|_, value| !value.is_null());
        let around = time.map(|time| ("timestamp".to_owned(), time.clone()));
        return message_of(line, fields, around.into_iter().collect()).map(Some);
    }
    let Some((role, parts)) = item_of(item).filter(|_| kind != "message") else {
        return Ok(None);
    };
    let said = Said::of(&parts, false);
    if said.has_thoughts {
        return Ok(Some(Line::Other("thinking".to_owned())));
    }
    let said = said.text().or_else(|| said.result().and_then(output));
    let Some(said) = said else {
        return Ok(Some(Line::Other(kind.to_owned())));
    };
    let mut section = entry(line, role, said, time);
    section.attributes.insert("type", kind);
    let name = text("call_id").or_else(|| text("id"));
    if let Some(name) = name {
        section.attributes.insert("call_id", name);
    }
    let mark = name.map_or(Mark::None, |name| Mark::Shared(format!("{kind} {name}")));
    Ok(Some(Line::Entries(vec![(section, mark)])))
}

/// Returns the output of a tool. A shell writes a text that is itself JSON, with the output and numbers.
fn output(text: String) -> Option<String> {
    let inner = serde_json::from_str::<Json>(&text).ok();
    let inner = inner.and_then(|inner| inner.get("output")?.as_str().map(str::to_owned));
    Some(inner.unwrap_or(text)).filter(|text| !text.is_empty())
}

/// Reads a note about a message. The messages themselves are items, so a note is mostly a copy.
fn of_event(line: u64, event: &Map<String, Json>, time: Option<&Json>) -> Line {
    let role = match kind_of(event) {
        "user_message" => "user",
        "agent_message" => "assistant",
        _ => return Line::Other("event_msg".to_owned()),
    };
    match event.get("message").and_then(Json::as_str) {
        Some(said) if !said.is_empty() => Line::Echo(entry(line, role, said.to_owned(), time)),
        _ => Line::Other("event_msg".to_owned()),
    }
}

/// Reads the summary that replaces older messages for the model. The messages themselves stay in the file.
fn of_summary(line: u64, compacted: &Map<String, Json>, time: Option<&Json>) -> Line {
    match compacted.get("message").and_then(Json::as_str) {
        Some(said) if !said.is_empty() => {
            let mut section = entry(line, "assistant", said.to_owned(), time);
            section.attributes.insert("type", "compacted");
            Line::Entries(vec![(section, Mark::Shared("compacted".to_owned()))])
        }
        _ => Line::Other("compacted".to_owned()),
    }
}

fn entry(line: u64, role: &str, said: String, time: Option<&Json>) -> Section {
    let mut section = Section::new(SectionKind::Entry, line);
    section.attributes.insert("role", role);
    section.content = result(&Json::String(said));
    section.event_time = time.and_then(|time| time_of(time).ok());
    section
}
