//! Tables and lists of fields. The cells of a table contain the values of an answer's JSON.
//!
//! # Layer
//! Layer 10, part of cli.

use serde::Serialize;
use serde_json::Value as Json;

use crate::cli::context::Context;
use crate::cli::errors::Done;
use crate::cli::human::{self, Cell, Columns, UNTRUSTED, coloured, minor, plain, right, spare};
use crate::cli::output::{Meaning, Mode};
use treering::{ChangeCounts, Origin, Result};

/// The JSON fields that contain the name of a row.
const NAMES: [&str; 6] = ["id", "name", "lane", "session", "frame", "file"];
/// The JSON fields that contain a time.
const TIMES: [&str; 2] = ["time", "last"];

impl Context {
    /// Writes the rows as [`Self::rows`] does. The columns for people are the named `fields` of each row.
    pub(super) fn table<R: Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = Result<R>>,
        fields: &[&'static str],
    ) -> Done {
        self.rows(rows, |row, context| columns(row, fields, context))
    }

    /// Writes names and values in two columns. Omits the fields without a value.
    pub(super) fn fields<'a>(
        &mut self,
        margin: usize,
        fields: impl IntoIterator<Item = (&'a str, Option<String>)>,
    ) -> Result<()> {
        let fields = fields.into_iter();
        let fields: Vec<_> = fields.filter_map(|(name, value)| Some((name, value?))).collect();
        let widths = fields.iter().map(|(name, _)| name.len() + 2);
        let width = widths.max().unwrap_or_default();
        let mut fields = fields.into_iter();
        fields.try_for_each(|(name, value)| self.output.field(margin, width, name, value))
    }
}

/// Returns a cell for each named field of a row.
pub(super) fn columns(row: &impl Serialize, fields: &[&'static str], context: &Context) -> Columns {
    // Serialisation cannot fail: a row contains only texts, numbers and lists.
    let row = serde_json::to_value(row).unwrap_or_default();
    let cell = |name: &&'static str| (*name, cell(name, &row[*name], context));
    fields.iter().map(cell).collect()
}

fn cell(name: &str, value: &Json, context: &Context) -> Cell {
    match value {
        Json::Null => plain(""),
        Json::Number(number) if number.is_f64() => right(format!("{number:.3}")),
        Json::Number(number) => right(number.to_string()),
        Json::String(text) if TIMES.contains(&name) => text
            .parse()
            .map_or_else(|_| plain(text), |time| context.when(time)),
        Json::String(text) if NAMES.contains(&name) => named(text),
        Json::String(text) if is_digest(text) => named(human::short_hex(text)),
        Json::String(text) => plain(text),
        Json::Array(parts) => plain(parts.iter().map(text_of).collect::<Vec<_>>().join(", ")),
        // Most lists have no headings, so the name says what is true.
        Json::Bool(is_true) => plain(if *is_true {
            name.replace('_', "-")
        } else {
            String::new()
        }),
        Json::Object(_) => plain(value.to_string()),
    }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns the cell of a name.
pub(super) fn named(text: impl AsRef<str>) -> Cell {
    coloured(Meaning::Name, text)
}

/// Returns the cell of an optional text.
pub(super) fn optional(text: Option<&str>) -> Cell {
    plain(text.unwrap_or_default())
}

/// Returns the reason or source of a commit on one line. For a missing text, returns why it is missing, if known.
pub(super) fn recorded(text: Option<&str>, is_erased: bool, is_lost: bool) -> Option<String> {
    match text {
        Some(text) => Some(human::one_line(text)),
        None if is_erased => Some("(erased)".to_owned()),
        None if is_lost => Some("(lost)".to_owned()),
        None => None,
    }
}

/// Returns the columns of who wrote: the lane, and where there is room the actor of a session, and the source.
pub(super) fn writer_columns(lane: &str, actor: Option<&str>, source: Option<&str>) -> Columns {
    let actor = actor.filter(|actor| *actor != lane);
    vec![
        ("lane", plain(lane)),
        ("actor", minor(6, optional(actor))),
        ("source", minor(7, spare(optional(source)))),
    ]
}

/// Returns the column with the mark of what is untrusted. A model gets the name of every class instead of the mark.
pub(super) fn trust_column(trust: Origin, context: &Context) -> (&'static str, Cell) {
    if context.output.mode() != Mode::Table {
        return ("trust", plain(trust.name()));
    }
    let mark = if trust.is_trusted() { "" } else { UNTRUSTED };
    (UNTRUSTED, coloured(Meaning::Changed, mark))
}

/// Returns the columns of added, changed and removed objects.
pub(super) fn count_columns(counts: ChangeCounts) -> Columns {
    let cell = |meaning, sign: &'static str, count| (sign, coloured(meaning, format!("{sign}{count}")));
    vec![
        cell(Meaning::Good, "+", counts.added),
        cell(Meaning::Changed, "~", counts.changed),
        cell(Meaning::Bad, "-", counts.removed),
    ]
}
