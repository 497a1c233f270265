//! Writes objects as Markdown.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use super::super::document::title_of;
use super::super::format::Format;
use super::super::markdown;
use super::super::statement::NAME;
use super::render::{Shape, Syntax};
use crate::object::{Attributes, Value};

/// The syntax of Markdown.
pub(super) struct Markdown;

impl Syntax for Markdown {
    fn format(&self) -> Format {
        Format::Markdown
    }

    fn levels_max(&self) -> usize {
        6
    }

    fn context(&self, _text: &str) -> String {
        String::new()
    }

    fn changes_context(&self, text: &str, _shape: Shape, at_start: bool) -> bool {
        // A text at the start of a file would be read as front matter if it begins with a mark and another one follows.
        let first = text.lines().next().unwrap_or_default();
        at_start && matches!(first.trim_end(), "---" | "+++")
    }

    fn head(
        &self,
        level: usize,
        attributes: &Attributes,
        id: Option<&str>,
        statement: Option<&str>,
    ) -> String {
        let mut text = String::new();
        if level > 0 {
            let title = title_of(attributes).replace('\n', " ");
            text = format!("{} {title}\n", "#".repeat(level));
        } else {
            match attributes.get("front_matter") {
                Some(Value::Map(matter)) if !matter.is_empty() => {
                    text = format!("---\n{}---\n", markdown::write_matter(matter));
                }
                Some(Value::Text(matter)) => text = format!("{matter}\n"),
                _ => {}
            }
        }
        // Escapes `>`, so that this character cannot end the comment. In JSON, `>` occurs only inside of strings.
        let statement = statement.map(|statement| statement.replace('>', "\\u003e"));
        let name = NAME.to_ascii_lowercase();
        for (name, value) in [("id", id), (&name, statement.as_deref())] {
            if let Some(value) = value {
                text.extend(["<!-- ", name, ": ", value, " -->\n"]);
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn title_of_file(&self, path: &str, first_heading: Option<&str>) -> Option<String> {
        Some(markdown::title_of_file(path, first_heading))
    }

    fn body(&self, content: &str) -> String {
        format!("{content}\n\n")
    }

    fn quote(&self, content: &str) -> String {
        markdown::quote(content)
    }
}
