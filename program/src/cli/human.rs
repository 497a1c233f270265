//! Output for people: aligned tables, short digests, and excerpts of changes.
//!
//! # Layer
//! Layer 10, part of cli.

mod diff;
mod lines;
mod style;
mod timeline;

pub(crate) use self::diff::{change_lines, erased_line, is_untrusted, without_id};
pub(crate) use self::lines::{Joint, Lines};
pub(crate) use self::style::{Style, wrapped};
pub(crate) use self::timeline::{Mark, Timeline};

use super::output::{Meaning, Mode, Output, printable};
pub(crate) use crate::answers::words::counted;
use treering::inspect::digest::to_hex;
use treering::inspect::ingest::json::value_to_json;
use treering::merge::MERGE_CONFLICT;
use treering::{ChangeCounts, CommitInfo, Result};
use treering::{Object, Value};
pub(crate) use treering_text::visible::{cut, one_line};

/// The number of digits of a version's digest in output for people.
const SHORT_DIGITS: usize = 12;
/// The largest number of characters of a gist.
pub(crate) const GIST_CHARS: usize = 200;
/// The number of spaces between two columns.
const GAP: usize = 2;
/// The smallest width of a text column.
const COLUMN_MIN: usize = 8;
/// The width to which columns shrink before a column is omitted. The longest op has this width.
const COLUMN_CUT: usize = 14;
/// The largest width of a padded column without a terminal. A longer text shifts only the cells that follow in its line.
const COLUMN_MAX: usize = 40;
/// The largest width of a column on a terminal, which cuts a longer text. A generated id with a project fits.
const COLUMN_MAX_SHOWN: usize = 64;
/// The mark of what an untrusted writer wrote, and the name of its column.
pub(crate) const UNTRUSTED: &str = "!";
/// What a language model gets in the place of a text that is not trusted.
pub(crate) const WITHHELD: &str = "(withheld, because it is not trusted)";
/// The number of rows that a table aligns and writes together.
pub(crate) const ROWS_ALIGNED: usize = 256;

/// Returns the first digits of a version's digest.
pub(crate) fn short(digest: &[u8; 32]) -> String {
    let mut digits = to_hex(digest);
    digits.truncate(SHORT_DIGITS);
    digits
}

/// Returns the first digits of a digest that is already in hex.
pub(crate) fn short_hex(digits: &str) -> &str {
    digits.get(..SHORT_DIGITS).unwrap_or(digits)
}

/// Formats a path in the trie as hexadecimal digits.
pub(crate) fn nibbles(path: &[u8]) -> String {
    path.iter().map(|digit| format!("{digit:x}")).collect()
}

/// A cell of a table.
#[derive(Default)]
pub(crate) struct Cell {
    text: String,
    meaning: Option<Meaning>,
    right: bool,
    /// The rank of a column that a narrow terminal may omit; the largest rank goes first. A column of rank 0 stays.
    minor: u8,
    /// Whether the column is the first to be narrowed.
    spare: bool,
    /// Whether the cell is a diagram, drawn next to the other columns.
    drawing: bool,
}

/// Returns a cell without a colour.
pub(crate) fn plain(text: impl AsRef<str>) -> Cell {
    Cell {
        text: one_line(text.as_ref()),
        ..Cell::default()
    }
}

/// Returns a cell with a part of a diagram, such as the graph of `log`, for people only.
pub(crate) fn drawing(text: impl AsRef<str>) -> Cell {
    Cell {
        drawing: true,
        ..plain(text)
    }
}

/// Gives a cell a rank, so a narrow terminal may omit its column. The column with the largest rank goes first.
pub(crate) fn minor(rank: u8, cell: Cell) -> Cell {
    Cell { minor: rank, ..cell }
}

/// Marks a cell with free text, such as a reason, which a narrow terminal cuts before it omits any column.
pub(crate) fn spare(cell: Cell) -> Cell {
    Cell { spare: true, ..cell }
}

/// Returns a cell without a text, in the column of `cell`.
pub(crate) fn blank(cell: &Cell) -> Cell {
    Cell {
        text: String::new(),
        ..*cell
    }
}

/// Returns a cell in the colour of its meaning.
pub(crate) fn coloured(meaning: Meaning, text: impl AsRef<str>) -> Cell {
    Cell {
        meaning: Some(meaning),
        ..plain(text)
    }
}

/// Returns a cell with a number, aligned to the right.
pub(crate) fn number(number: u64) -> Cell {
    right(number.to_string())
}

/// Returns a cell that is aligned to the right.
pub(crate) fn right(text: impl AsRef<str>) -> Cell {
    Cell {
        right: true,
        ..plain(text)
    }
}

/// A row: the name and the cell of each column.
pub(crate) type Columns = Vec<(&'static str, Cell)>;

/// Rows with aligned columns. The table writes [`ROWS_ALIGNED`] rows at once, so a long stream is printed as it arrives.
/// Later rows can only widen the columns. If the output has headings, the first row contains the names of the columns.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
    widths: Vec<usize>,
    written: u64,
    /// Whether a row has the mark [`UNTRUSTED`].
    is_marked: bool,
}

impl Table {
    /// Buffers a row. Writes the buffered rows when [`ROWS_ALIGNED`] rows are buffered.
    pub(crate) fn row(&mut self, output: &mut Output, columns: Columns) -> Result<()> {
        if self.written == 0 && self.rows.is_empty() && output.has_headings() {
            let heading = |(name, cell): &(&'static str, Cell)| Cell {
                text: (*name).to_owned(),
                meaning: Some(Meaning::Heading),
                ..*cell
            };
            self.rows.push(columns.iter().map(heading).collect());
        }
        self.is_marked |= columns
            .iter()
            .any(|(name, cell)| *name == UNTRUSTED && !cell.text.is_empty());
        self.rows
            .push(columns.into_iter().map(|(_, cell)| cell).collect());
        if self.rows.len() >= ROWS_ALIGNED {
            self.write(output)
        } else {
            Ok(())
        }
    }

    /// Writes the waiting rows and the meaning of the mark in them. Returns the number of all written rows, including the
    /// row of headings.
    pub(crate) fn end(mut self, output: &mut Output) -> Result<u64> {
        self.write(output)?;
        if self.is_marked {
            output.note_untrusted();
        }
        Ok(self.written)
    }

    /// Writes the waiting rows below the names of the columns: in aligned columns, as a Markdown table, or separated by
    /// tabs. Output with tabs neither cuts nor omits a column.
    fn write(&mut self, output: &mut Output) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let most = output.style().width.map_or(COLUMN_MAX, |_| COLUMN_MAX_SHOWN);
        for row in &rows {
            self.widths.resize(self.widths.len().max(row.len()), 0);
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count().min(most));
            }
        }
        let widths = match (output.style().width, rows.last()) {
            (Some(room), Some(row)) => fitted(&self.widths, row, room),
            _ => self.widths.clone(),
        };
        for row in rows {
            match output.mode() {
                Mode::Markdown => {
                    output.markdown_row(row.iter().map(|cell| cell.text.as_str()))?;
                    if self.written == 0 {
                        output.markdown_row(row.iter().map(|_| "---"))?;
                    }
                }
                Mode::Agent => {
                    let cells = row.iter().filter(|cell| !cell.drawing);
                    let cells: Vec<&str> = cells.map(|cell| cell.text.as_str()).collect();
                    output.line(cells.join("\t").trim_end())?;
                }
                Mode::Table | Mode::Json => output.line(laid_out(output, &row, &widths))?,
            }
            self.written += 1;
        }
        Ok(())
    }
}

/// Returns column widths that together fit into `room` characters. The width of an omitted column is 0. Cuts the
/// spare columns first, then the widest columns. If that is not enough, omits the minor columns, then cuts further.
fn fitted(widths: &[usize], row: &[Cell], room: usize) -> Vec<usize> {
    let mut widths = widths.to_vec();
    let mut minor: Vec<usize> = (0..row.len()).filter(|index| row[*index].minor > 0).collect();
    minor.sort_by_key(|index| (row[*index].minor, *index));
    loop {
        let mut cut = widths.clone();
        narrow(&mut cut, row, room, |cell| cell.spare, COLUMN_CUT);
        narrow(&mut cut, row, room, |cell| !cell.right, COLUMN_CUT);
        if total(&cut) <= room + GAP {
            return cut;
        }
        let Some(omitted) = minor.pop() else {
            narrow(&mut cut, row, room, |cell| !cell.right, COLUMN_MIN);
            return cut;
        };
        widths[omitted] = 0;
    }
}

/// Returns the width of a line with these columns, and the gap behind each shown column.
fn total(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0);
    shown.map(|width| width + GAP).sum()
}

/// Narrows the widest of the columns that `may` selects until the line fits, or none is wider than `least`.
fn narrow(widths: &mut [usize], row: &[Cell], room: usize, may: impl Fn(&Cell) -> bool, least: usize) {
    while total(widths) > room + GAP {
        let columns = widths.iter_mut().zip(row).filter(|(_, cell)| may(cell));
        match columns.map(|(width, _)| width).max() {
            Some(widest) if *widest > least => *widest -= 1,
            _ => break,
        }
    }
}

fn laid_out(output: &Output, row: &[Cell], widths: &[usize]) -> String {
    let mut line = String::new();
    let shown: Vec<_> = row.iter().zip(widths).filter(|(_, width)| **width > 0).collect();
    let mut column = 0;
    for (index, (cell, width)) in shown.iter().enumerate() {
        let last = index + 1 == shown.len();
        let room = match output.style().width {
            None => usize::MAX,
            Some(all) if last => all.saturating_sub(column).max(COLUMN_MIN),
            Some(_) => (**width).max(1),
        };
        let text = cut(&cell.text, room);
        let padding = " ".repeat(width.saturating_sub(text.chars().count()));
        column += text.chars().count() + padding.len() + GAP;
        let text = match cell.meaning {
            Some(meaning) if !text.is_empty() => output.paint(meaning, text),
            _ => text,
        };
        match (cell.right, last) {
            (true, _) => line.extend([padding, text]),
            (false, true) => line.push_str(&text),
            (false, false) => line.extend([text, padding]),
        }
        if !last {
            line.push_str(&" ".repeat(GAP));
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Formats an attribute's value on one line, safe for a terminal: text as it is, other values as JSON.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => one_line(text),
        other => printable(&value_to_json(other).to_string()),
    }
}

/// Formats a number of bytes with a unit.
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

/// Describes a commit in a few words: `seq:3 put by tuesday`.
pub(crate) fn heading(info: &CommitInfo) -> String {
    let commit = &info.commit;
    format!("seq:{} {} by {}", commit.seq, commit.op.as_str(), info.lane())
}

/// Describes an object in one line: its title, or the start of its content.
pub(crate) fn gist(object: &Object) -> String {
    let text = title_or_content(object);
    one_line(&text.chars().take(GIST_CHARS).collect::<String>())
}

/// Returns the text that describes an object: its title, or its content. For a conflict of a merge, names its object.
pub(crate) fn title_or_content(object: &Object) -> String {
    let text = |name: &str| match object.attribute(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    };
    let conflict = (object.kind() == MERGE_CONFLICT).then(|| text("of")).flatten();
    let about = conflict.map(|id| format!("conflict about {id}"));
    let described = about.or_else(|| text("title"));
    described.unwrap_or_else(|| object.content().unwrap_or_default().to_owned())
}

/// Formats the counts in a few characters: `+3 ~1 -0`.
pub(crate) fn short_counts(counts: ChangeCounts) -> String {
    format!("+{} ~{} -{}", counts.added, counts.changed, counts.removed)
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
    }

    #[test]
    fn no_value_steers_the_terminal() {
        let hostile = || Value::Text("\u{9b}31mRED\u{202e}".to_owned());
        let shown = r"\u{9b}31mRED\u{202e}";
        assert_eq!(value(&hostile()), shown);
        assert_eq!(value(&Value::List(vec![hostile()])), format!("[\"{shown}\"]"));
    }

    #[test]
    fn free_text_is_cut_first_and_the_largest_rank_goes_first() {
        let row = [
            number(7),
            minor(1, plain("commit")),
            plain("lane"),
            minor(2, plain("source")),
            spare(plain("reason")),
        ];
        let natural = [2, 8, 20, 20, 40];
        assert_eq!(fitted(&natural, &row, 98), natural);
        assert_eq!(fitted(&natural, &row, 80), [2, 8, 20, 20, 22]);
        assert_eq!(fitted(&natural, &row, 72), [2, 8, 20, 20, 14]);
        assert_eq!(fitted(&natural, &row, 50), [2, 8, 20, 0, 14]);
        assert_eq!(fitted(&natural, &row, 36), [2, 0, 16, 0, 14]);
    }

    #[test]
    fn columns_fit_the_terminal_minor_ones_last() {
        let row = [
            plain("id"),
            minor(1, plain("digest")),
            number(1),
            minor(1, plain("lane")),
            plain("gist"),
        ];
        let natural = [40, 8, 3, 20, 40];
        assert_eq!(fitted(&natural, &row, 200), natural);
        let cut = fitted(&natural, &row, 100);
        assert_eq!((cut[1], cut[2], cut[3], total(&cut)), (8, 3, 20, 100 + GAP));
        let narrow = fitted(&natural, &row, 40);
        assert_eq!((narrow[1], narrow[2], narrow[3]), (0, 3, 0));
        assert_eq!(
            narrow
                .iter()
                .filter(|width| **width > 0)
                .map(|width| width + GAP)
                .sum::<usize>(),
            40 + GAP
        );
    }
}
