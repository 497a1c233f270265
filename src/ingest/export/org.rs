//! Writes objects as Org.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use std::collections::BTreeMap;

use super::super::format::Format;
use super::super::org;
use super::super::statement::NAME;
use super::render::{Head, Shape, Syntax};
use crate::object::{Attributes, Value};

/// The deepest level that is written as stars. Deeper headings state their parent as a field.
const LEVELS_MAX: usize = 64;

/// The syntax of Org.
pub(super) struct Org;

impl Syntax for Org {
    fn format(&self) -> Format {
        Format::Org
    }

    fn levels_max(&self) -> usize {
        LEVELS_MAX
    }

    fn context(&self, text: &str) -> String {
        let states: Vec<&str> = org::todo_states(text).into_iter().collect();
        format!("#+TODO: {}\n", states.join(" "))
    }

    fn changes_context(&self, text: &str, shape: Shape, _at_start: bool) -> bool {
        // The text of a document may declare TODO states for itself. Only in a list would they change how other objects
        // are parsed.
        let usual = org::todo_states("").len();
        shape == Shape::List && org::todo_states(text).len() > usual
    }

    fn head(&self, head: &Head<'_>) -> String {
        if head.level > 0 {
            heading(head)
        } else {
            preamble(head)
        }
    }

    fn body(&self, content: &str) -> String {
        format!("{content}\n")
    }

    fn quote(&self, content: &str) -> String {
        org::quote(content)
    }
}

fn preamble(head: &Head<'_>) -> String {
    let attributes = head.attributes;
    let mut text = String::new();
    put_drawer(&mut text, head);
    if let Some(title) = attributes.get("title").and_then(Value::as_text) {
        put_line(&mut text, "#+TITLE: ", title);
    }
    if let Some(tags) = tags(attributes) {
        put_line(&mut text, "#+FILETAGS: ", &tags);
    }
    if let Some(Value::Map(keywords)) = attributes.get("keywords") {
        for (name, values) in keywords {
            for value in texts(values) {
                put_line(&mut text, &format!("#+{}: ", name.to_uppercase()), value);
            }
        }
    }
    text
}

fn heading(heading: &Head<'_>) -> String {
    let mut text = "*".repeat(heading.level);
    let part = |name: &str| heading.attributes.get(name).and_then(Value::as_text);
    if let Some(todo) = part("todo") {
        put_words(&mut text, todo);
    }
    if let Some(priority) = part("priority") {
        put_words(&mut text, &format!("[#{priority}]"));
    }
    put_words(&mut text, part("title").unwrap_or_default());
    if let Some(tags) = tags(heading.attributes) {
        put_words(&mut text, &tags);
    }
    text.push('\n');
    let planned = ["closed", "deadline", "scheduled"]
        .into_iter()
        .filter_map(|name| Some(format!("{}: {}", name.to_uppercase(), part(name)?)));
    let planned: Vec<String> = planned.collect();
    if !planned.is_empty() {
        put_line(&mut text, "", &planned.join(" "));
    }
    put_drawer(&mut text, heading);
    text
}

/// Adds a space and then the text, all on one line.
fn put_words(out: &mut String, text: &str) {
    out.push(' ');
    out.push_str(&text.replace('\n', " "));
}

fn put_line(out: &mut String, start: &str, text: &str) {
    out.push_str(&format!("{start}{text}").replace('\n', " "));
    out.push('\n');
}

fn tags(attributes: &Attributes) -> Option<String> {
    match attributes.get("tags") {
        Some(Value::List(tags)) if !tags.is_empty() => {
            let tags: Option<Vec<&str>> = tags.iter().map(Value::as_text).collect();
            Some(format!(":{}:", tags?.join(":")))
        }
        _ => None,
    }
}

/// Returns the texts of a value, which is one text or a list of texts.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Text(text) => vec![text],
        Value::List(values) => values.iter().filter_map(Value::as_text).collect(),
        _ => Vec::new(),
    }
}

/// Adds a drawer with the properties that a drawer can express, if there are any.
fn put_drawer(out: &mut String, head: &Head<'_>) {
    let none = BTreeMap::new();
    let properties = match head.attributes.get("properties") {
        Some(Value::Map(properties)) if properties.iter().all(|(name, values)| fits(name, values)) => {
            properties
        }
        _ => &none,
    };
    if properties.is_empty() && head.id.is_none() && head.statement.is_none() {
        return;
    }
    out.push_str(":PROPERTIES:\n");
    let own = [("ID", head.id), (NAME, head.statement)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let others = properties
        .iter()
        .flat_map(|(name, values)| texts(values).into_iter().map(move |value| (name.as_str(), value)));
    for (name, value) in own.chain(others) {
        out.push_str(format!(":{name}: {value}").trim_end_matches([' ', '\t']));
        out.push('\n');
    }
    out.push_str(":END:\n");
}

/// Returns whether parsing the lines of a property gives the same property.
fn fits(name: &str, values: &Value) -> bool {
    let is_line =
        |text: &str| !text.contains('\n') && text.trim_matches([' ', '\t']) == text && !text.ends_with('\r');
    let all = match values {
        Value::Text(text) => is_line(text),
        Value::List(values) => {
            values.len() > 1 && values.iter().all(|value| value.as_text().is_some_and(is_line))
        }
        _ => false,
    };
    all && !name.contains([' ', '\t']) && !name.eq_ignore_ascii_case(NAME)
}
