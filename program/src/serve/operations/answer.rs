//! The answer of an operation, and its form for a client: a text, and JSON for a program, each within the caller's limit.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - ANS-1: the JSON of an answer has at most the caller's tokens, and so has its text. If rows or a part of a text are
//!   left out, `truncated` is true, and the text says so; if a next page has them, there is a `cursor`.
//! - ANS-2: an answer shows no invisible character raw. In the text, a stored text takes one line, so it cannot look like
//!   another row. Only the text of a whole item, or an envelope, keeps its lines.
//! - ANS-4: an answer counts the items that it may not name, in `left_out` and in the first line of its text (NID-1).

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::line::{Line, Row};
use super::operation::Operation;
use super::page::Page;
use crate::serve::Service;
use crate::serve::naming::LeftOut;
use crate::serve::service::Form;
use treering::{Error, Result, View};
use treering_text::recall::{CHARS_A_TOKEN, tokens};
use treering_text::visible::{one_line, printable};

/// The characters of a text that a row keeps if the row alone is over the limit.
const ROW_CHARS_LEAST: usize = 80;
/// The characters of a text that a row keeps if the row has very many parts.
const PART_CHARS_LEAST: usize = 16;
/// The number of members of a list that a row keeps while its texts can be cut.
const MEMBERS_LEAST: usize = 4;
/// The last line of a text that was cut.
const CUT: &str = "shortened to the limit of tokens";
/// The estimate of the tokens of the fields that every answer has.
const TOKENS_OF_EVERY: usize = 60;
/// The estimate of the tokens of the line with the cursor.
const TOKENS_OF_CURSOR: usize = 20;

/// What an operation answers.
pub(crate) struct Answer<A> {
    /// The state that the answer describes.
    view: View,
    answer: A,
    /// The first line of the text.
    line: String,
    /// The line of each row of the paged list. Only [`Answer::of_rows`] sets them, so rows and lines belong together.
    rows: Vec<Line>,
    /// The lines of the text after the first, before the rows.
    notes: Vec<String>,
    /// A text that the text of the answer contains as it is.
    whole: Option<String>,
    /// The number of rows before the page that the operation left out.
    skipped: usize,
    /// Whether rows follow the last row of the answer.
    has_more: bool,
    /// Whether the pages divide the text of the only row.
    is_one: bool,
    /// The items that the operation left out.
    left_out: LeftOut,
    /// Whether the first line tells the number of these items.
    is_told: bool,
}

/// An answer as a client gets it.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Empty for a caller that gets a text.
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
            rows: Vec::new(),
            notes: Vec::new(),
            whole: None,
            skipped: 0,
            has_more: false,
            is_one: false,
            left_out: LeftOut::default(),
            is_told: false,
        }
    }

    /// Returns an answer whose paged list has these rows. `answer` makes it from them.
    pub(crate) fn of_rows<R: Row>(
        view: View,
        rows: Vec<R>,
        answer: impl FnOnce(Vec<R>) -> A,
        line: impl Into<String>,
    ) -> Self {
        let lines = rows.iter().map(|row| row.line(&view)).collect();
        Self {
            rows: lines,
            ..Self::new(view, answer(rows), line)
        }
    }

    /// Says which items the operation left out (ANS-4).
    pub(crate) fn leaving_out(mut self, left_out: LeftOut) -> Self {
        self.left_out = left_out;
        self
    }

    /// Says which items the operation left out, of which its first line tells already (ANS-4).
    pub(crate) fn counting_out(mut self, left_out: LeftOut) -> Self {
        self.left_out = left_out;
        self.is_told = true;
        self
    }

    /// Adds lines to the text, after its first line.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Adds a text that the text of the answer shows with its lines, after its other lines.
    pub(crate) fn with_whole(mut self, whole: String) -> Self {
        self.whole = Some(whole);
        self
    }

    /// Says that the answer has one row, and that pages divide the text of this row.
    pub(crate) fn of_one_text(mut self) -> Self {
        self.is_one = true;
        self
    }

    /// Says that the operation left out the rows before the page.
    pub(crate) fn beginning_at(mut self, start: usize) -> Self {
        self.skipped = start;
        self
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
        let (limit, form) = (service.caller().tokens_max, service.caller().form);
        let internal = |error| Error::internal(format!("an answer is not JSON: {error}"));
        let answer = serde_json::to_value(&self.answer).map_err(internal)?;
        let left_out = self.left_out;
        // A list of rows is there even if it is empty.
        let rows = O::PAGED.filter(|name| answer.get(name).is_some_and(Json::is_array));
        let mut all = match shortened(answer) {
            Some(Json::Object(all)) => all,
            _ => Map::new(),
        };
        if !left_out.is_nothing() {
            all.insert("left_out".to_owned(), left_out.json());
        }
        let paged = rows.map(|name| (name, all.remove(name).unwrap_or_else(|| json!([]))));
        let told = if self.is_told {
            String::new()
        } else {
            left_out.line()
        };
        let mut lines = vec![one_line(&(self.line + &told))];
        lines.extend(self.notes.iter().map(|line| one_line(line)));
        let mut is_cut = false;
        let beside = match form {
            Form::Text => TOKENS_OF_CURSOR + lines.iter().map(|line| tokens(line) + 1).sum::<usize>(),
            Form::Structured => {
                // Lists beside the paged one are cut at the limit, too.
                is_cut = fit(&mut all, limit.saturating_sub(TOKENS_OF_EVERY));
                size(&all) + TOKENS_OF_EVERY + tokens(&lines[0])
            }
        };
        let mut room = limit.saturating_sub(beside);
        let mut next = None;
        if let Some((name, Json::Array(mut rows))) = paged {
            if let (true, Some(row)) = (self.is_one, rows.first_mut()) {
                let (text, cut, end) = page_of_text(row, page.start, form, &mut room);
                is_cut |= cut;
                next = end;
                lines.extend(text);
            } else {
                let rest = rows.into_iter().zip(self.rows);
                let rest = rest.skip(page.start.saturating_sub(self.skipped));
                let (taken, more, cut) = fitting(rest, form, &mut room);
                is_cut |= cut;
                if more || self.has_more {
                    next = Some(page.start + taken.len());
                }
                let row_lines: Vec<Line>;
                (rows, row_lines) = taken.into_iter().unzip();
                lines.extend(row_lines.iter().map(Line::to_string));
            }
            all.insert(name.to_owned(), Json::Array(rows));
        }
        lines.extend(self.whole.as_deref().map(printable));
        lines.retain(|line| !line.is_empty());
        let cursor = next.map(|start| Page::cursor(&self.view, start, arguments));
        let last = |is_cut: bool| match &cursor {
            Some(cursor) => Some(format!("more: cursor {cursor}")),
            None => is_cut.then(|| CUT.to_owned()),
        };
        is_cut |= fit_lines(&mut lines, limit, last(true).map_or(0, |line| tokens(&line) + 1));
        lines.extend(last(is_cut));
        let text = lines.join("\n");
        if form == Form::Text {
            return Ok(Sent {
                json: Map::new(),
                text,
            });
        }
        all.insert("root".to_owned(), json!(self.view.root().to_string()));
        all.insert("truncated".to_owned(), json!(is_cut || cursor.is_some()));
        if let Some(cursor) = cursor {
            all.insert("cursor".to_owned(), json!(cursor));
        }
        let count = size(&all) + tokens("\"tokens\":1000,");
        all.insert("tokens".to_owned(), json!(count));
        Ok(Sent { json: all, text })
    }
}

/// Returns the estimated tokens of a document.
fn size(document: &impl Serialize) -> usize {
    serde_json::to_string(document).map_or(usize::MAX, |text| tokens(&text))
}

/// Returns a value without nulls, false, and empty texts, lists and maps, and with visible texts (ANS-2). Returns `None`
/// if nothing is left.
fn shortened(value: Json) -> Option<Json> {
    match value {
        Json::Null | Json::Bool(false) => None,
        Json::String(text) if text.is_empty() => None,
        Json::String(text) => Some(Json::String(printable(&text))),
        Json::Array(list) => {
            let list: Vec<_> = list.into_iter().filter_map(shortened).collect();
            (!list.is_empty()).then_some(Json::Array(list))
        }
        Json::Object(map) => {
            let map = map.into_iter();
            let map: Map<_, _> = map
                .filter_map(|(name, value)| Some((name, shortened(value)?)))
                .collect();
            (!map.is_empty()).then_some(Json::Object(map))
        }
        value => Some(value),
    }
}

/// Takes the rows that fit into `room`, at least one. Returns them, whether rows are left, and whether a row was cut.
fn fitting(
    rows: impl Iterator<Item = (Json, Line)>,
    form: Form,
    room: &mut usize,
) -> (Vec<(Json, Line)>, bool, bool) {
    let needed = |row: &Json, line: &Line| match form {
        Form::Text => tokens(&line.to_string()) + 1,
        Form::Structured => size(row) + 1,
    };
    let (mut taken, mut is_cut) = (Vec::new(), false);
    for (mut row, mut line) in rows {
        if needed(&row, &line) > *room {
            if !taken.is_empty() {
                return (taken, true, is_cut);
            }
            is_cut = match form {
                Form::Text => line.fit(room.saturating_mul(CHARS_A_TOKEN)),
                Form::Structured => cut(&mut row, *room),
            };
            if is_cut && form == Form::Structured {
                // No text of the row is longer than the longest one that the cut left.
                let longest = longest(&mut row).map_or(0, |text| text.chars().count());
                line.cut(longest);
            }
        }
        *room = room.saturating_sub(needed(&row, &line));
        taken.push((row, line));
    }
    (taken, false, is_cut)
}

/// Cuts the longest lists and texts of a document until it has at most `limit` tokens. Returns whether it cut one.
fn fit(document: &mut Map<String, Json>, limit: usize) -> bool {
    let mut whole = Json::Object(std::mem::take(document));
    let is_cut = cut(&mut whole, limit);
    if let Json::Object(whole) = whole {
        *document = whole;
    }
    is_cut
}

/// Cuts the longest lists, then the longest texts, then what is left of both, until a value has at most `limit` tokens.
/// Returns whether it cut one.
fn cut(value: &mut Json, limit: usize) -> bool {
    let mut is_cut = cut_lists(value, limit, MEMBERS_LEAST);
    is_cut |= cut_texts(value, limit, ROW_CHARS_LEAST);
    is_cut |= cut_lists(value, limit, 0);
    is_cut | cut_texts(value, limit, PART_CHARS_LEAST)
}

/// Halves the longest lists in a value until it has at most `limit` tokens, or until each list has at most `least`
/// members.
fn cut_lists(value: &mut Json, limit: usize, least: usize) -> bool {
    let mut is_cut = false;
    while size(value) > limit {
        let Some(list) = longest_list(value).filter(|list| list.len() > least) else {
            break;
        };
        list.truncate(list.len() / 2);
        is_cut = true;
    }
    is_cut
}

/// Cuts the longest texts of a value until it has at most `limit` tokens, or until each has at most `least` characters.
fn cut_texts(value: &mut Json, limit: usize, least: usize) -> bool {
    let mut is_cut = false;
    while size(value) > limit {
        let over = (size(value) - limit).saturating_mul(CHARS_A_TOKEN);
        let Some(text) = longest(value).filter(|text| text.chars().count() > least) else {
            break;
        };
        let keep = text.chars().count().saturating_sub(over + 1).max(least - 1);
        *text = text.chars().take(keep).chain(['\u{2026}']).collect();
        is_cut = true;
    }
    is_cut
}

/// Returns the longest list in a value.
fn longest_list(value: &mut Json) -> Option<&mut Vec<Json>> {
    match value {
        Json::Array(list) => {
            // A list in the list may be longer.
            let own = list.len();
            if list
                .iter_mut()
                .any(|one| longest_list(one).is_some_and(|inner| inner.len() > own))
            {
                return list
                    .iter_mut()
                    .filter_map(longest_list)
                    .max_by_key(|inner| inner.len());
            }
            Some(list)
        }
        Json::Object(map) => map
            .values_mut()
            .filter_map(longest_list)
            .max_by_key(|list| list.len()),
        _ => None,
    }
}

/// Puts the part of the text of a row that the page shows into the row. Returns this part, whether a field of the row was
/// cut, and the place at which the next page begins.
fn page_of_text(
    row: &mut Json,
    start: usize,
    form: Form,
    room: &mut usize,
) -> (Option<String>, bool, Option<usize>) {
    let text = row.as_object_mut().and_then(|row| row.remove("text"));
    let mut is_cut = false;
    if form == Form::Structured {
        is_cut = cut(row, room.saturating_sub(PART_CHARS_LEAST));
        *room = room.saturating_sub(size(row) + tokens(",\"text\":\"\""));
    }
    let (Some(Json::String(text)), Some(row)) = (text, row.as_object_mut()) else {
        return (None, is_cut, None);
    };
    // The text of the answer has the line and the cursor beside it.
    let (part, more) = part_of(&text, start, form, room.saturating_mul(CHARS_A_TOKEN));
    row.insert("text".to_owned(), Json::String(part.clone()));
    let next = more.then(|| start + part.chars().count());
    (Some(part), is_cut, next)
}

/// Drops lines from the end, and then cuts the last one, until the lines and a last line of `last` tokens have at most
/// `limit` tokens. Returns whether it cut.
fn fit_lines(lines: &mut Vec<String>, limit: usize, last: usize) -> bool {
    let mut room = limit.saturating_sub(last).saturating_mul(CHARS_A_TOKEN);
    for (number, line) in lines.iter_mut().enumerate() {
        let needed = line.chars().count() + 1;
        if needed > room {
            let keeps_part = number == 0 || room > ROW_CHARS_LEAST;
            *line = line
                .chars()
                .take(room.saturating_sub(2))
                .chain(['\u{2026}'])
                .collect();
            lines.truncate(number + usize::from(keeps_part));
            return true;
        }
        room -= needed;
    }
    false
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

/// Returns the part of `text` after `start` characters, of at most `room` characters in the form, and whether more follows.
fn part_of(text: &str, start: usize, form: Form, room: usize) -> (String, bool) {
    let mut part = String::new();
    let mut room = room.max(ROW_CHARS_LEAST);
    for char in text.chars().skip(start) {
        let needed = match char {
            _ if form == Form::Text => 1,
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            char if char.is_control() => "\\u0000".len(),
            _ => 1,
        };
        let Some(left) = room.checked_sub(needed) else {
            return (part, true);
        };
        room = left;
        part.push(char);
    }
    (part, false)
}
