//! Reads the rule files: the heads of all rules at once, and a rule when it is first needed.
//!
//! A process that scans one short text needs the keywords of all rules, and the rest of few. So this module finds the
//! id, the view and the keywords of a rule by its lines, and leaves the rest to the parser of TOML. A test checks that the
//! parser reads the same in every head.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::borrow::Cow;

use memchr::memmem;

use super::{Rule, View};

/// The line that begins a rule.
const START: &str = "[[rule]]\n";
/// The line with which the examples begin, which only tests read. They are the last keys of a rule.
const EXAMPLES: &str = "\nmatches = ";

/// A rule whose head was read.
pub(super) struct Head {
    pub(super) id: &'static str,
    pub(super) view: View,
    /// The groups of keywords.
    pub(super) keywords: Vec<Cow<'static, str>>,
    text: &'static str,
}

impl Head {
    /// Returns the heads of the rules in `file`.
    pub(super) fn each(file: &'static str) -> impl Iterator<Item = Self> {
        let starts = memmem::find_iter(file.as_bytes(), START).map(|at| at + START.len());
        let ends = memmem::find_iter(file.as_bytes(), START).skip(1);
        let rules = starts.zip(ends.chain([file.len()]));
        rules.map(|(start, end)| Self::of(&file[start..end]))
    }

    fn of(text: &'static str) -> Self {
        let mut head = Self {
            id: "",
            view: View::Text,
            keywords: Vec::new(),
            text,
        };
        let mut rest = text;
        while head.keywords.is_empty()
            && let Some((line, next)) = rest.split_once('\n')
        {
            if let Some(id) = line.strip_prefix("id = \"") {
                head.id = id.trim_end_matches('"');
            } else if let Some(view) = line.strip_prefix("view = ") {
                head.view = match view {
                    "\"marks\"" => View::Marks,
                    "\"words\"" => View::Words,
                    _ => View::Text,
                };
            } else if line.starts_with("keywords = [") {
                head.keywords = strings(rest);
            }
            rest = next;
        }
        head
    }

    /// Reads the rule.
    pub(super) fn rule(&self) -> Rule {
        let end =
            memmem::find(self.text.as_bytes(), EXAMPLES.as_bytes()).map_or(self.text.len(), |at| at + 1);
        toml::from_str(&self.text[..end]).expect("a test parses the rule files")
    }
}

/// Returns the strings of the list in `text`, up to the bracket that ends it.
fn strings(text: &'static str) -> Vec<Cow<'static, str>> {
    let mut strings = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', ']']) {
        let marks = ["'''", "'", "\""];
        let Some(quote) = marks.into_iter().find(|quote| rest[at..].starts_with(quote)) else {
            break;
        };
        let body = &rest[at + quote.len()..];
        let is_escaped = |end: usize| quote == "\"" && body[..end].ends_with('\\');
        let mut ends = body.match_indices(quote).map(|(end, _)| end);
        let Some(end) = ends.find(|end| !is_escaped(*end)) else {
            break;
        };
        let string = &body[..end];
        strings.push(if quote == "\"" && string.contains('\\') {
            string.replace("\\\"", "\"").replace("\\\\", "\\").into()
        } else {
            string.into()
        });
        rest = &body[end + quote.len()..];
    }
    strings
}

/// Returns the names and values of a file whose lines are `name = 'value'`.
pub(super) fn pairs(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.lines().filter_map(pair)
}

/// Returns the name and the value of a line `name = 'value'`.
pub(super) fn pair(line: &'static str) -> Option<(&'static str, &'static str)> {
    let (name, value) = line.split_once(" = ")?;
    let value = value.trim_matches(|sign| matches!(sign, '\'' | '"'));
    (!name.starts_with('#')).then_some((name, value))
}
