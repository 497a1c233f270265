//! Answers of the shell as rows of named columns: one definition for people, JSON and Markdown.
//!
//! # Layer
//! L9, part of cli.

use serde_json::Value;

use crate::cli::errors::Failure;
use crate::cli::human::{self, Cell, Table, coloured, number, plain, short};
use crate::cli::output::{Meaning, Output};
use crate::cli::time;
use crate::digest::to_hex;
use crate::engine::HistoryEntry;
use crate::object::Time;

/// One value: as programs read it and as people do.
pub(super) struct Field {
    value: Value,
    cell: Cell,
}

/// Text as it is.
pub(super) fn text(text: impl AsRef<str>) -> Field {
    Field {
        value: text.as_ref().into(),
        cell: plain(text),
    }
}

/// Text in the colour of its meaning.
pub(super) fn marked(meaning: Meaning, text: impl AsRef<str>) -> Field {
    Field {
        value: text.as_ref().into(),
        cell: coloured(meaning, text),
    }
}

/// A name that can be typed back.
pub(super) fn name(text: impl AsRef<str>) -> Field {
    marked(Meaning::Name, text)
}

/// A number.
pub(super) fn count(count: u64) -> Field {
    Field {
        value: count.into(),
        cell: number(count),
    }
}

/// The number of the first kept commit that has a change.
pub(super) fn made_at(entry: &HistoryEntry) -> Field {
    Field {
        value: entry.commit.commit.seq.into(),
        cell: human::made_at(entry),
    }
}

/// A number of bytes.
pub(super) fn bytes(bytes: u64) -> Field {
    Field {
        value: bytes.into(),
        cell: human::right(human::bytes(bytes)),
    }
}

/// A digest: people see the first digits.
pub(super) fn digest(digest: &[u8; 32]) -> Field {
    Field {
        value: to_hex(digest).into(),
        cell: coloured(Meaning::Name, short(digest)),
    }
}

/// A moment, as a column of the verbs tells it.
pub(super) fn moment(output: &Output, at: Time, now: Time) -> Field {
    Field {
        value: at.to_string().into(),
        cell: coloured(Meaning::Quiet, time::in_column(at, now, output.style())),
    }
}

/// What is not there: null, and nothing for people.
pub(super) fn absent() -> Field {
    Field {
        value: Value::Null,
        cell: plain(""),
    }
}

/// Text that may be absent.
pub(super) fn maybe(given: Option<&str>) -> Field {
    given.map_or_else(absent, text)
}

/// Any value for programs, with what people see instead.
pub(super) fn shown(value: impl Into<Value>, shown: impl AsRef<str>) -> Field {
    Field {
        value: value.into(),
        cell: plain(shown),
    }
}

/// A stream of rows.
pub(super) struct Rows {
    names: &'static [&'static str],
    table: Table,
}

impl Rows {
    /// Rows whose columns have these names.
    pub(super) fn new(names: &'static [&'static str]) -> Self {
        Self {
            names,
            table: Table::new(names),
        }
    }

    /// Adds a row: a field for each column.
    pub(super) fn row(&mut self, output: &mut Output, fields: Vec<Field>) -> Result<(), Failure> {
        debug_assert_eq!(fields.len(), self.names.len());
        if !output.is_json() {
            let cells = fields.into_iter().map(|field| field.cell).collect();
            return self.table.row(output, cells);
        }
        let names = self.names.iter().map(|name| name.replace(' ', "_"));
        let pairs = names.zip(fields.into_iter().map(|field| field.value));
        output.document(&Value::Object(pairs.collect()))
    }

    /// Writes the rest. That there is nothing is said to people.
    pub(super) fn finish(self, output: &mut Output) -> Result<(), Failure> {
        self.table.finish(output)
    }
}

/// One document: for people a line for each of its fields.
pub(super) fn document(output: &mut Output, fields: Vec<(&str, Field)>) -> Result<(), Failure> {
    if output.is_json() {
        let pairs = fields
            .into_iter()
            .map(|(name, field)| (name.replace(' ', "_"), field.value));
        return output.document(&Value::Object(pairs.collect()));
    }
    let width = fields
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    for (name, field) in fields {
        let name = output.paint(Meaning::Quiet, format_args!("{name:<width$}"));
        let value = field.cell.painted(output);
        output.line(format_args!("{name}  {value}").to_string().trim_end())?;
    }
    Ok(())
}
