//! Diagrams of a store: the tree of objects, the history, and the shared trie nodes of two states.
//!
//! A diagram is a list of rows, each indented under its parent, with arcs between rows. The output formats are Graphviz
//! DOT, SVG, and an interactive HTML page with all three diagrams.
//!
//! # Layer
//! Layer 10, part of cli. Reads views, and writes only the diagram.
//!
//! # Invariants
//! - PIC-1: a diagram escapes all content of a memory as text, so no content can run as a script.
//! - PIC-2: a diagram counts the rows that it omits.
//! - PIC-3: a diagram labels untrusted objects and commits with their class, and writes out invisible characters.

mod dot;
mod history;
mod html;
mod svg;
mod tree;
mod trie;

#[cfg(test)]
mod tests;

pub(super) use dot::dot;
pub(super) use history::history;
pub(super) use html::html;
pub(super) use svg::svg;
pub(super) use tree::{tops, tree};
pub(super) use trie::trie;

use serde::Serialize;

use super::human::{cut, one_line};
use super::output::printable;
use treering::Origin;

/// The default limit of rows. A browser can draw this number at once.
pub(super) const ROWS_DRAWN: usize = 2_000;

/// The largest number of characters in a row's text.
const TEXT: usize = 100;

/// The number of colours for kinds.
const COLOURS: u8 = 8;

/// The sort of a row, which determines its CSS class and its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// An object, with a number for the colour of its kind.
    Object(u8),
    /// A commit with new changes.
    Commit,
    /// A commit that restored an earlier state.
    Back,
    /// A node of the older state only.
    Old,
    /// A node of the newer state only.
    New,
    /// A node at a path of both states, with different content or children.
    Changed,
    /// A node that both states share.
    Shared,
    /// The number of rows that are not drawn.
    LeftOut,
}

impl Mark {
    /// Returns the CSS class of the row, and the colour of its box in Graphviz.
    fn look(self) -> (String, &'static str) {
        const KINDS: [&str; COLOURS as usize] = [
            "#dbe9ff", "#ffe8cc", "#dff5dd", "#fbdde6", "#e9e0fb", "#d8f3f3", "#f6f0c4", "#ececec",
        ];
        let (class, colour) = match self {
            Self::Object(kind) => return (format!("kind{kind}"), KINDS[usize::from(kind % COLOURS)]),
            Self::Commit => ("commit", "#dbe9ff"),
            Self::Back => ("back", "#ffe8cc"),
            Self::Old => ("old", "#fbdde6"),
            Self::New => ("new", "#dff5dd"),
            Self::Changed => ("changed", "#ffe8cc"),
            Self::Shared => ("shared", "#ececec"),
            Self::LeftOut => ("left-out", "#ffffff"),
        };
        (class.to_owned(), colour)
    }
}

/// One line of a diagram. The HTML page reads the fields of a row as JSON.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// The number of the parent row, which precedes this row.
    pub(super) parent: Option<usize>,
    #[serde(skip)]
    pub(super) mark: Mark,
    /// The id of the object, the seq of the commit, or the path of the node.
    pub(super) name: String,
    /// A text after the name, in a quieter colour.
    pub(super) text: String,
    /// Labels after the name: the snapshots of a commit, and the class of an untrusted object or commit.
    pub(super) tags: Vec<String>,
    /// Further fields, for the tooltip and for the details on the page.
    pub(super) details: Vec<(&'static str, String)>,
}

impl Row {
    fn new(parent: Option<usize>, mark: Mark, name: impl Into<String>, text: &str) -> Self {
        Self {
            parent,
            mark,
            name: cut(&one_line(&name.into()), TEXT),
            text: cut(&one_line(text), TEXT),
            tags: Vec::new(),
            details: Vec::new(),
        }
    }

    fn detail(&mut self, name: &'static str, value: &(impl ToString + ?Sized)) {
        self.details.push((name, printable(&value.to_string())));
    }

    /// Labels the row of an untrusted object or commit with its class (PIC-3).
    fn label_class(&mut self, class: Origin) {
        if !class.is_trusted() {
            self.tags.push(format!("not trusted: {class}"));
        }
    }
}

/// A diagram.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Diagram {
    /// `tree`, `history` or `trie`.
    pub(super) name: &'static str,
    #[serde(skip)]
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
    /// The arcs between row numbers, from a rollback, undo or redo to its target commit.
    #[serde(skip)]
    pub(super) arcs: Vec<(usize, usize)>,
}

impl Diagram {
    fn new(name: &'static str, title: String) -> Self {
        Self {
            name,
            title,
            rows: Vec::new(),
            arcs: Vec::new(),
        }
    }

    fn push(&mut self, row: Row) -> usize {
        self.rows.push(row);
        self.rows.len() - 1
    }

    /// Adds a row that counts the omitted rows (PIC-2).
    fn push_left_out(&mut self, parent: Option<usize>, what: &str) {
        self.push(Row::new(parent, Mark::LeftOut, format!("... {what}"), ""));
    }

    /// Returns the depth of each row. Parents precede their children.
    fn depths(&self) -> Vec<usize> {
        let mut depths: Vec<usize> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            depths.push(row.parent.map_or(0, |parent| depths[parent] + 1));
        }
        depths
    }
}

/// Escapes text for XML and HTML, in elements and in quoted attributes. Characters that XML forbids become the
/// replacement character.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(character),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            control if control.is_control() => safe.push('\u{fffd}'),
            plain => safe.push(plain),
        }
    }
    safe
}
