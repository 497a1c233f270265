//! Reads the lines of transcripts: the role, speaker, time and text of each turn.
//!
//! A line is `{"role", "content", "speaker"?, "name"?, "time"?, "timestamp"?, ...}`, or has these fields in a map
//! `message`, with more fields around it, as Claude Code writes it. All other fields become attributes with the same
//! names. [`client`] knows the forms of the lines of each coding agent. [`codex`] makes entries of the lines of Codex, and
//! [`chats`] of the exports of chat services.
//!
//! # Layer
//! Layer 6, inside `ingest`.
//!
//! # Invariants
//! - TRL-1: the result of a tool, and a text that a program wrote in the name of the person, are never the person's own
//!   words.
//! - TRL-2: copies of a message are one entry.

pub(super) mod chats;
mod client;
mod codex;
mod copies;
mod parts;

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

pub use self::client::{Part, Turn, turn_of};
use self::client::{author_of, parts_of};
pub(super) use self::copies::Copies;
pub use self::copies::drop_copies;
use self::parts::Said;
pub use self::parts::is_of_program;
use super::document::{Section, SectionKind};
use super::json;
use crate::error::{Error, Result};
use crate::object::{Attributes, Time, Value};

/// The fields that may contain the time of an entry, in order of preference.
const TIMES: [&str; 4] = ["time", "timestamp", "created_at", "create_time"];
/// The fields that may contain the name of the speaker, in order of preference.
const SPEAKERS: [&str; 2] = ["speaker", "name"];
/// The field in which Claude Code repeats the result of a tool, with whole files.
const REPEATED: &str = "toolUseResult";
/// A line of a transcript.
#[expect(clippy::large_enum_variant, reason = "a line is read and used at once")]
pub(super) enum Line {
    /// The entries of a message, each with its mark. A message of the person may also have results of tools.
    Entries(Vec<(Section, Mark)>),
    /// A line that is no message, with its type.
    Other(String),
    /// A note of a program about a message, which is only read if the file lacks the message itself.
    Echo(Section),
}

/// The name of a message, by which its copies are found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// The program gave each message its own name, so another line with the name is a copy or a newer form.
    Unique(String),
    /// A name that several messages may share. A copy also has the same speaker and text.
    Shared(String),
    /// The message has no name.
    None,
}

/// Reads the line `line`.
pub(super) fn read_line(line: u64, json: &Json) -> Result<Line> {
    let outer = json.as_object().ok_or_else(not_known)?;
    if let Some(read) = codex::read(line, outer)? {
        return Ok(read);
    }
    match outer.get("message") {
        Some(Json::Object(message)) if message.contains_key("role") || outer.contains_key("role") => {
            let (mut around, mut message) = (outer.clone(), message.clone());
            around.shift_remove("message");
            // Cursor writes the role beside the message.
            if let Some(role) = around.shift_remove("role") {
                message.entry("role").or_insert(role);
            }
            return message_of(line, message, around);
        }
        _ if outer.contains_key("role") => return message_of(line, outer.clone(), Map::new()),
        _ => {}
    }
    if let Some(turn) = turn_of(outer) {
        return Ok(entries_of(line, &turn));
    }
    let kind = outer.get("type").or_else(|| outer.get("record_type"));
    match kind.and_then(Json::as_str) {
        Some(kind) => Ok(Line::Other(kind.to_owned())),
        None if outer.contains_key("id") && outer.contains_key("timestamp") => {
            Ok(Line::Other("session".to_owned()))
        }
        None => Err(not_known()),
    }
}

/// Reads a message. `around` has the fields of the line around it.
fn message_of(line: u64, mut fields: Map<String, Json>, mut around: Map<String, Json>) -> Result<Line> {
    let Some(Json::String(role)) = fields.shift_remove("role") else {
        return Err(Error::invalid("the field `role` is not text"));
    };
    let content = fields.shift_remove("content").unwrap_or(Json::Null);
    if content.is_object() || content.is_number() || content.is_boolean() {
        return Err(Error::invalid(
            "the field `content` is neither text nor a list of parts",
        ));
    }
    let mark = mark_of(&fields, &around);
    let mut said = Said::of(&parts_of(&content), role == "user");
    said.add_calls(fields.get("tool_calls"));
    let (text, result) = (said.text(), said.result());
    if said.has_thoughts && text.is_none() && result.is_none() {
        return Ok(Line::Other("thinking".to_owned()));
    }
    let by = author_of(&around).filter(|_| role == "user");
    around.shift_remove(REPEATED);
    let mut section = Section::new(SectionKind::Entry, line);
    let attributes = &mut section.attributes;
    attributes.insert("role", role);
    section.content = text;
    if let Json::Array(mut list) = content
        && !is_plain(&list)
    {
        list.iter_mut().for_each(parts::without_content);
        let list = json::value_from_json(Json::Array(list)).map_err(in_field("content"))?;
        attributes.insert("parts", list);
    }
    let named = take_first(&mut fields, &mut around, &SPEAKERS, Json::is_string);
    if let Some((_, Json::String(speaker))) = named {
        attributes.insert("speaker", speaker);
    }
    if let Some(by) = by {
        attributes.insert("speaker", by);
    }
    if let Some((name, time)) = take_first(&mut fields, &mut around, &TIMES, |value| !value.is_null()) {
        section.event_time = Some(time_of(&time).map_err(in_field(name))?);
    }
    keep_others(attributes, around, "around")?;
    keep_others(attributes, fields, "message")?;
    Ok(Line::Entries(with_result(section, result, mark)))
}

/// Returns the entries of a message: the words of the speaker, and the results of tools as an entry of the tool (TRL-1).
fn with_result(mut section: Section, result: Option<String>, mark: Mark) -> Vec<(Section, Mark)> {
    let Some(result) = result else {
        return vec![(section, mark)];
    };
    let is_mixed = section.content.is_some();
    let mut of_tool = section.clone();
    of_tool.content = Some(result);
    of_tool.attributes.insert("speaker", "tool");
    let mut entries = vec![(of_tool, mark.clone())];
    if is_mixed {
        drop(section.attributes.remove("parts"));
        let mark = match mark {
            Mark::Unique(name) => Mark::Unique(format!("{name} said")),
            mark => mark,
        };
        entries.push((section, mark));
    }
    entries
}

/// Returns the entries of a line that has no message in the usual form.
fn entries_of(line: u64, turn: &Turn<'_>) -> Line {
    let said = Said::of(&turn.parts, turn.role == "user");
    let (text, result) = (said.text(), said.result());
    if text.is_none() && result.is_none() {
        return Line::Other("message without a text".to_owned());
    }
    let mut section = Section::new(SectionKind::Entry, line);
    section.attributes.insert("role", turn.role);
    if let Some(by) = turn.by.filter(|_| turn.role == "user") {
        section.attributes.insert("speaker", by);
    }
    section.content = text;
    section.event_time = turn.time.and_then(|time| time_of(time).ok());
    let mark = turn.name.map_or(Mark::None, |name| Mark::Unique(name.to_owned()));
    Line::Entries(with_result(section, result, mark))
}

fn mark_of(fields: &Map<String, Json>, around: &Map<String, Json>) -> Mark {
    let named = |name: &str| {
        let value = around.get(name).or_else(|| fields.get(name));
        value.and_then(Json::as_str).filter(|name| !name.is_empty())
    };
    match (named("uuid"), named("id")) {
        (Some(name), _) => Mark::Unique(name.to_owned()),
        (None, Some(name)) => Mark::Shared(name.to_owned()),
        (None, None) => Mark::None,
    }
}

/// Reads the time of a message: a time in any usual form, or a number, also as text, of seconds or smaller units.
fn time_of(json: &Json) -> Result<Time> {
    json::loose_time_from_json(json).or_else(|error| {
        let text = json.as_str().map(str::trim).unwrap_or_default();
        let number: Option<serde_json::Number> = text.parse().ok();
        number.map_or(Err(error), |number| json::time_from_json(&Json::Number(number)))
    })
}

fn not_known() -> Error {
    Error::invalid("the line is neither an object nor an entry of a transcript").with_hint(
        "an object has `id` and `kind`; an entry has `role` and `content`, directly or in `message`",
    )
}

fn in_field(name: &str) -> impl FnOnce(Error) -> Error {
    move |error| error.context(format!("field `{name}`"))
}

/// Removes one value from the two maps, and returns it with its name. Tries `names` in order, and takes the first value
/// that `fits` accepts.
fn take_first(
    fields: &mut Map<String, Json>,
    around: &mut Map<String, Json>,
    names: &[&'static str],
    fits: impl Fn(&Json) -> bool,
) -> Option<(&'static str, Json)> {
    for name in names {
        for map in [&mut *fields, &mut *around] {
            if map.get(*name).is_some_and(&fits) {
                return map.shift_remove(*name).map(|value| (*name, value));
            }
        }
    }
    None
}

/// Returns whether the content of the entry has everything in the parts.
fn is_plain(parts: &[Json]) -> bool {
    match parts {
        [Json::String(_)] => true,
        [Json::Object(part)] => {
            part.get("text").is_some_and(Json::is_string)
                && part
                    .iter()
                    .all(|(name, value)| name == "text" || (name == "type" && value.is_string()))
        }
        _ => false,
    }
}

/// Adds fields as attributes. A field whose name is already used is added to the map `group`.
fn keep_others(attributes: &mut Attributes, fields: Map<String, Json>, group: &str) -> Result<()> {
    let mut others = BTreeMap::new();
    for (name, mut value) in fields {
        parts::tidy(&mut value);
        let value = json::value_from_json(value).map_err(in_field(&name))?;
        if attributes.get(&name).is_some() {
            others.insert(name, value);
        } else {
            attributes.insert(name, value);
        }
    }
    if !others.is_empty() {
        let mut group = group.to_owned();
        while attributes.get(&group).is_some() {
            group.push('_');
        }
        attributes.insert(group, Value::Map(others));
    }
    Ok(())
}
