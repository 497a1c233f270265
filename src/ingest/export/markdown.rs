//! Writes objects as Markdown.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use super::super::document::title_of;
use super::super::format::Format;
use super::super::markdown;
use super::super::statement::{NAME, OBJECTS};
use super::render::{Heading, Shape, Syntax};
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

    fn list_head(&self) -> String {
        format!("{}\n", comment(&NAME.to_ascii_lowercase(), OBJECTS))
    }

    fn context(&self, _text: &str) -> String {
        String::new()
    }

    fn changes_context(&self, text: &str, _shape: Shape, at_start: bool) -> bool {
        // A text at the start of a file would be read as front matter if it begins with `---` and another `---`
        // follows.
        at_start && text.lines().next().is_some_and(|first| first.trim_end() == "---")
    }

    fn preamble(&self, attributes: &Attributes, statement: Option<&str>) -> String {
        let mut text = String::new();
        if let Some(Value::Map(matter)) = attributes.get("front_matter")
            && !matter.is_empty()
        {
            text = format!("---\n{}---\n", markdown::write_matter(matter));
        }
        put_statement(&mut text, statement);
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn heading(&self, heading: &Heading<'_>) -> String {
        let title = title_of(heading.attributes).replace('\n', " ");
        let mut text = format!("{} {title}\n", "#".repeat(heading.level));
        if let Some(id) = heading.id {
            text.push_str(&comment("id", id));
        }
        put_statement(&mut text, heading.statement);
        text.push('\n');
        text
    }

    fn body(&self, content: &str) -> String {
        format!("{content}\n\n")
    }

    fn quote(&self, content: &str) -> String {
        markdown::quote(content)
    }
}

fn put_statement(out: &mut String, statement: Option<&str>) {
    if let Some(statement) = statement {
        // In JSON, `>` occurs only inside of strings. It is escaped, so that it cannot end the comment.
        out.push_str(&comment(
            &NAME.to_ascii_lowercase(),
            &statement.replace('>', "\\u003e"),
        ));
    }
}

fn comment(name: &str, text: &str) -> String {
    format!("<!-- {name}: {text} -->\n")
}
