//! The answer of an operation, and its form for a client: JSON and a short text, both within the caller's limit.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - ANS-1: the JSON of an answer has at most the caller's tokens, and so has its text. If rows or a part of a text are
//!   left out, `truncated` is true; if a next page has them, there is a `cursor`.
//! - ANS-2: an answer shows no invisible character raw.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::operation::Operation;
use super::page::Page;
use crate::engine::View;
use crate::error::{Error, Result};
use crate::recall::tokens;
use crate::serve::Service;
use crate::visible::written_out;

/// The characters of a text that a row keeps if the row alone is over the limit.
const ROW_CHARS_LEAST: usize = 80;
/// The estimate of the tokens of the fields that every answer has.
const TOKENS_OF_EVERY: usize = 60;

/// What an operation answers.
pub(crate) struct Answer<A> {
    /// The state that the answer describes.
    view: View,
    answer: A,
    /// The first line of the text.
    line: String,
    /// Whether rows follow the last row of the answer.
    has_more: bool,
}

/// An answer as a client gets it.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) json: Map<String, Json>,
    pub(crate) text: String,
}

impl<A: Serialize> Answer<A> {
    /// Returns an answer about the state of `view`. `line` says in one line what was found or done.
    pub(crate) fn new(view: View, answer: A, line: impl Into<String>) -> Self {
        Self {
            view,
            answer,
            line: line.into(),
            has_more: false,
        }
    }

    /// Says that the operation left out rows after the ones of the answer.
    pub(crate) fn with_more(mut self, has_more: bool) -> Self {
        self.has_more = has_more;
        self
    }

    /// Returns the answer for a client.
    ///
    /// # Errors
    /// `Internal` if the answer is no JSON object.
    pub(super) fn sent<O: Operation>(
        self,
        service: &Service,
        page: &Page,
        arguments: &Map<String, Json>,
    ) -> Result<Sent> {
        let limit = service.caller().tokens_max;
        let internal = |error| Error::internal(format!("an answer is not JSON: {error}"));
        let mut all = match shortened(serde_json::to_value(&self.answer).map_err(internal)?, O::HIDDEN) {
            Some(Json::Object(all)) => all,
            _ => Map::new(),
        };
        let root = self.view.root().to_string();
        let paged = O::PAGED.and_then(|name| Some((name, all.remove(name)?)));
        // Lists beside the paged one are cut at the limit, too.
        let mut is_cut = fit_lists(&mut all, limit.saturating_sub(TOKENS_OF_EVERY));
        let mut room = limit.saturating_sub(size(&all) + TOKENS_OF_EVERY + tokens(&self.line));
        let mut next = None;
        let mut lines = vec![self.line];
        match paged {
            Some((name, Json::Array(rows))) => {
                let rows = rows.into_iter().skip(page.start);
                let (rows, more, cut) = fitting(rows, &mut room);
                is_cut |= cut;
                if more || self.has_more {
                    next = Some(page.start + rows.len());
                }
                lines.extend(rows.iter().map(row_line));
                all.insert(name.to_owned(), Json::Array(rows));
            }
            Some((name, Json::String(text))) => {
                let (part, more) = part_of(&text, page.start, room.saturating_mul(3));
                next = more.then(|| page.start + part.chars().count());
                lines.push(part.clone());
                all.insert(name.to_owned(), Json::String(part));
            }
            _ => {}
        }
        let cursor = next.map(|start| Page::cursor(&self.view, start, arguments));
        let truncated = is_cut || cursor.is_some();
        if let Some(cursor) = &cursor {
            lines.push(format!(
                "more: call again with the same arguments and cursor \"{cursor}\""
            ));
        } else if truncated {
            lines.push("shortened to the limit of tokens".to_owned());
        }
        all.insert("root".to_owned(), json!(root));
        all.insert("truncated".to_owned(), json!(truncated));
        if let Some(cursor) = cursor {
            all.insert("cursor".to_owned(), json!(cursor));
        }
        let count = size(&all) + tokens("\"tokens\":1000,");
        all.insert("tokens".to_owned(), json!(count));
        Ok(Sent {
            json: all,
            text: lines.join("\n"),
        })
    }
}

/// Returns a text with invisible characters written out.
pub(crate) fn printable(text: &str) -> String {
    written_out(text).into_owned()
}

/// Returns the estimated tokens of a document.
fn size(document: &impl Serialize) -> usize {
    serde_json::to_string(document).map_or(usize::MAX, |text| tokens(&text))
}

/// Returns a value without hidden fields, nulls, false, and empty texts, lists and maps, and with visible texts (ANS-2).
/// Returns `None` if nothing is left.
fn shortened(value: Json, hidden: &[&str]) -> Option<Json> {
    match value {
        Json::Null | Json::Bool(false) => None,
        Json::String(text) if text.is_empty() => None,
        Json::String(text) => Some(Json::String(printable(&text))),
        Json::Array(list) => {
            let list: Vec<_> = list
                .into_iter()
                .filter_map(|one| shortened(one, hidden))
                .collect();
            (!list.is_empty()).then_some(Json::Array(list))
        }
        Json::Object(map) => {
            let map = map
                .into_iter()
                .filter(|(name, _)| !hidden.contains(&name.as_str()));
            let map = map.filter_map(|(name, value)| Some((name, shortened(value, hidden)?)));
            let map: Map<_, _> = map.collect();
            (!map.is_empty()).then_some(Json::Object(map))
        }
        value => Some(value),
    }
}

/// Takes the rows that fit into `room`, at least one. Returns them, whether rows are left, and whether a row was cut.
fn fitting(rows: impl Iterator<Item = Json>, room: &mut usize) -> (Vec<Json>, bool, bool) {
    let (mut taken, mut is_cut) = (Vec::new(), false);
    for mut row in rows {
        let mut needed = size(&row) + 1;
        if needed > *room {
            if !taken.is_empty() {
                return (taken, true, is_cut);
            }
            is_cut |= cut_texts(&mut row, *room);
            needed = size(&row) + 1;
        }
        *room = room.saturating_sub(needed);
        taken.push(row);
    }
    (taken, false, is_cut)
}

/// Cuts the lists of a document until it has at most `limit` tokens. Returns whether it cut one.
fn fit_lists(document: &mut Map<String, Json>, limit: usize) -> bool {
    let mut is_cut = false;
    while size(document) > limit {
        let lists = document.values_mut().filter_map(Json::as_array_mut);
        match lists.max_by_key(|list| list.len()) {
            Some(list) if !list.is_empty() => list.truncate(list.len() / 2),
            _ => {
                let mut whole = Json::Object(std::mem::take(document));
                is_cut |= cut_texts(&mut whole, limit);
                if let Json::Object(whole) = whole {
                    *document = whole;
                }
                return is_cut;
            }
        }
        is_cut = true;
    }
    is_cut
}

/// Cuts the longest texts of a value until it has at most `limit` tokens, or until they are short. Returns whether it
/// cut one.
fn cut_texts(value: &mut Json, limit: usize) -> bool {
    let mut is_cut = false;
    while size(value) > limit {
        let over = (size(value) - limit).saturating_mul(4);
        let Some(text) = longest(value).filter(|text| text.chars().count() > ROW_CHARS_LEAST) else {
            break;
        };
        let keep = text
            .chars()
            .count()
            .saturating_sub(over + 1)
            .max(ROW_CHARS_LEAST - 1);
        *text = text.chars().take(keep).chain(['\u{2026}']).collect();
        is_cut = true;
    }
    is_cut
}

/// Returns the longest text in a value.
fn longest(value: &mut Json) -> Option<&mut String> {
    match value {
        Json::String(text) => Some(text),
        Json::Array(list) => list.iter_mut().filter_map(longest).max_by_key(|text| text.len()),
        Json::Object(map) => map.values_mut().filter_map(longest).max_by_key(|text| text.len()),
        _ => None,
    }
}

/// Returns the part of `text` after `start` characters, of at most `bytes` bytes as JSON, and whether more follows.
fn part_of(text: &str, start: usize, bytes: usize) -> (String, bool) {
    let mut part = String::new();
    let mut chars = text.chars().skip(start);
    let mut room = bytes.max(ROW_CHARS_LEAST);
    for char in chars.by_ref() {
        // In JSON, a control character takes up to six bytes.
        let needed = if char.is_control() || matches!(char, '"' | '\\') {
            2
        } else {
            1
        };
        let Some(left) = room.checked_sub(needed) else {
            return (part, true);
        };
        room = left;
        part.push(char);
    }
    (part, false)
}

/// Returns the line of a row in the text: its id, its class and flags, and its text.
fn row_line(row: &Json) -> String {
    let text = |name: &str| {
        row.get(name)
            .and_then(Json::as_str)
            .filter(|text| !text.is_empty())
    };
    let mut line = String::from("-");
    let name = ["id", "name", "part", "revision", "seq"]
        .into_iter()
        .find_map(|name| row.get(name));
    if let Some(name) = name {
        let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
        line.extend([" ", &name]);
    }
    let mut about: Vec<String> = ["change", "op", "trust", "time"]
        .into_iter()
        .filter_map(text)
        .map(str::to_owned)
        .collect();
    let flags = row.get("flags").and_then(Json::as_array).into_iter().flatten();
    about.extend(flags.filter_map(Json::as_str).map(str::to_owned));
    if !about.is_empty() {
        line.extend([" (", &about.join(", "), ")"]);
    }
    if row.get("withheld") == Some(&Json::Bool(true)) {
        line.push_str(": withheld, because it is not trusted");
    } else if let Some(text) = ["text", "snippet", "preview", "reason"]
        .into_iter()
        .find_map(text)
    {
        line.extend([": ", &text.split_whitespace().collect::<Vec<_>>().join(" ")]);
    }
    line
}
