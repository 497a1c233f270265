//! What people read: aligned tables, short digests, ages, and excerpts of what changed.
//!
//! # Layer
//! L9, part of cli.

use super::errors::Failure;
use super::json;
use super::output::{Meaning, Mode, Output, printable};
use crate::digest::to_hex;
use crate::object::{Object, Value};

/// Digits of a digest that people see: more than the eight that are accepted, few enough to read.
const SHORT_DIGITS: usize = 12;
/// Rows that are looked at to align a table before its first line is written.
const ROWS_ALIGNED: usize = 256;
/// Characters of an old and a new value in a line about a change.
const EXCERPT: usize = 60;

/// The first digits of a digest, as they can be typed back.
pub(crate) fn short(digest: &[u8; 32]) -> String {
    let mut digits = to_hex(digest);
    digits.truncate(SHORT_DIGITS);
    digits
}

/// A cell of a table.
pub(crate) struct Cell {
    text: String,
    meaning: Option<Meaning>,
    right: bool,
}

/// A cell without a colour.
pub(crate) fn plain(text: impl AsRef<str>) -> Cell {
    Cell {
        text: one_line(text.as_ref()),
        meaning: None,
        right: false,
    }
}

/// A cell in the colour of its meaning.
pub(crate) fn coloured(meaning: Meaning, text: impl AsRef<str>) -> Cell {
    Cell {
        meaning: Some(meaning),
        ..plain(text)
    }
}

/// A number, aligned to the right.
pub(crate) fn number(number: u64) -> Cell {
    right(number.to_string())
}

/// A cell that is aligned to the right.
pub(crate) fn right(text: impl AsRef<str>) -> Cell {
    Cell {
        right: true,
        ..plain(text)
    }
}

impl Cell {
    /// The text in its colour.
    pub(crate) fn painted(&self, output: &Output) -> String {
        match self.meaning {
            Some(meaning) => output.paint(meaning, &self.text),
            None => self.text.clone(),
        }
    }
}

/// Rows with aligned columns. The first rows set the widths, so that a long stream is not held back.
pub(crate) struct Table {
    headings: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
    widths: Vec<usize>,
    written: u64,
}

impl Table {
    /// A table whose columns have these names, which are shown where the output has headings.
    pub(crate) fn new(headings: &'static [&'static str]) -> Self {
        Self {
            headings,
            rows: Vec::new(),
            widths: Vec::new(),
            written: 0,
        }
    }

    /// Adds a row; writes what is waiting when enough of it is there to align.
    pub(crate) fn row(&mut self, output: &mut Output, cells: Vec<Cell>) -> Result<(), Failure> {
        self.rows.push(cells);
        if self.rows.len() >= ROWS_ALIGNED {
            self.write(output)
        } else {
            Ok(())
        }
    }

    /// Writes the rest. An empty table says so to people.
    pub(crate) fn finish(mut self, output: &mut Output) -> Result<(), Failure> {
        self.write(output)?;
        if self.written == 0 {
            output.nothing_found();
        }
        Ok(())
    }

    fn write(&mut self, output: &mut Output) -> Result<(), Failure> {
        if output.mode() == Mode::Markdown {
            return self.write_markdown(output);
        }
        if self.written == 0 && !self.rows.is_empty() && output.has_headings() {
            let right = |index| self.rows[0].get(index).is_some_and(|cell: &Cell| cell.right);
            let cells = self.headings.iter().enumerate().map(|(index, name)| Cell {
                right: right(index),
                ..coloured(Meaning::Heading, name)
            });
            let cells = cells.collect();
            self.rows.insert(0, cells);
        }
        for row in &self.rows {
            self.widths.resize(self.widths.len().max(row.len()), 0);
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        for row in std::mem::take(&mut self.rows) {
            self.written += 1;
            let line = self.laid_out(output, &row);
            output.line(line)?;
        }
        Ok(())
    }

    fn write_markdown(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.written == 0 && !self.rows.is_empty() {
            output.markdown_row(self.headings.iter().map(|name| (*name).to_owned()))?;
            output.markdown_row(self.headings.iter().map(|_| "---".to_owned()))?;
        }
        for row in std::mem::take(&mut self.rows) {
            self.written += 1;
            output.markdown_row(row.into_iter().map(|cell| cell.text))?;
        }
        Ok(())
    }

    fn laid_out(&self, output: &Output, row: &[Cell]) -> String {
        let mut line = String::new();
        let mut column = 0;
        for (index, (cell, width)) in row.iter().zip(&self.widths).enumerate() {
            let last = index + 1 == row.len();
            let room = output
                .width()
                .map_or(usize::MAX, |width| width.saturating_sub(column).max(8));
            let text = cut(&cell.text, room);
            let padding = " ".repeat(width.saturating_sub(text.chars().count()));
            let text = match cell.meaning {
                Some(meaning) => output.paint(meaning, text),
                None => text,
            };
            match (cell.right, last) {
                (true, _) => line.extend([padding, text]),
                (false, true) => line.push_str(&text),
                (false, false) => line.extend([text, padding]),
            }
            if !last {
                line.push_str("  ");
            }
            column += width + 2;
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The text on one line, safe for a terminal.
pub(crate) fn one_line(text: &str) -> String {
    if text
        .chars()
        .any(|character| character.is_whitespace() && character != ' ')
    {
        printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        printable(text)
    }
}

/// The first `most` characters, with a mark where something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut start: String = text.chars().take(most.saturating_sub(3)).collect();
    start.push_str("...");
    start
}

/// An attribute's value on one line: text as it is, the rest as JSON.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => one_line(text),
        other => json::value(other).to_string(),
    }
}

/// A number of bytes, as people say it.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    format!("{amount:.1} {unit}")
}

/// `1 object`, `2 objects`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// What an object says in a line: its title, or the start of its content.
pub(crate) fn gist(object: &Object) -> String {
    let title = object
        .attribute("title")
        .and_then(|title| title.as_text().map(one_line));
    title.unwrap_or_else(|| {
        one_line(
            &object
                .content()
                .unwrap_or_default()
                .chars()
                .take(200)
                .collect::<String>(),
        )
    })
}

/// What differs between two versions, one line a field: `state: open -> done`.
pub(crate) fn field_changes(old: &Object, new: &Object) -> Vec<String> {
    let mut changes = Vec::new();
    let mut compare = |name: &str, old: Option<String>, new: Option<String>| {
        if old != new {
            changes.push(change(name, old.as_deref(), new.as_deref()));
        }
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    compare("kind", Some(old.kind().to_owned()), Some(new.kind().to_owned()));
    compare(
        "scope",
        Some(old.scope().to_owned()),
        Some(new.scope().to_owned()),
    );
    compare("parent", owned(old.parent()), owned(new.parent()));
    compare("position", owned(old.position()), owned(new.position()));
    compare(
        "origin",
        Some(old.origin().name().to_owned()),
        Some(new.origin().name().to_owned()),
    );
    compare(
        "expires",
        old.expires().map(|time| time.to_string()),
        new.expires().map(|time| time.to_string()),
    );
    let event_times = (old.event_time(), new.event_time());
    compare(
        "event_time",
        event_times.0.map(|time| time.to_string()),
        event_times.1.map(|time| time.to_string()),
    );
    let (before, after) = (old.attributes(), new.attributes());
    let mut names: Vec<&String> = before.iter().chain(after.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        compare(
            &one_line(name),
            before.get(name).map(value),
            after.get(name).map(value),
        );
    }
    if old.content() != new.content() {
        changes.push(content_change(
            old.content().unwrap_or_default(),
            new.content().unwrap_or_default(),
        ));
    }
    changes
}

fn change(name: &str, old: Option<&str>, new: Option<&str>) -> String {
    let side =
        |text: Option<&str>| text.map_or_else(|| "(none)".to_owned(), |text| cut(&one_line(text), EXCERPT));
    format!("{name}: {} -> {}", side(old), side(new))
}

/// The first place where two contents differ, with a little of what stands before it.
fn content_change(old: &str, new: &str) -> String {
    const BEFORE: usize = 16;
    let same = old
        .chars()
        .zip(new.chars())
        .take_while(|(one, other)| one == other)
        .count();
    let from = same.saturating_sub(BEFORE);
    let side = |text: &str| {
        let start = if from > 0 { "..." } else { "" };
        let rest: String = text.chars().skip(from).take(EXCERPT + 1).collect();
        cut(&format!("{start}{}", one_line(&rest)), EXCERPT)
    };
    change("content", Some(&side(old)), Some(&side(new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_read_like_prose() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 20), "5.0 MiB");
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
        assert_eq!(counted(1, "object"), "1 object");
        assert_eq!(counted(2, "object"), "2 objects");
    }

    #[test]
    fn text_is_cut_at_characters() {
        assert_eq!(cut("grün", 4), "grün");
        assert_eq!(cut("grüner Tee", 6), "grü...");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
        assert_eq!(one_line("a  b"), "a  b");
    }

    #[test]
    fn a_content_change_shows_the_first_difference() {
        let old = format!("{}old end", "x".repeat(50));
        let new = format!("{}new end", "x".repeat(50));
        let shown = content_change(&old, &new);
        assert_eq!(
            shown,
            "content: ...xxxxxxxxxxxxxxxxold end -> ...xxxxxxxxxxxxxxxxnew end"
        );
    }
}
