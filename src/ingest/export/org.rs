//! Writes objects as Org.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use std::collections::BTreeMap;

use super::super::format::Format;
use super::super::org;
use super::super::statement::NAME;
use super::render::{Shape, Syntax};
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
        // A `#+TODO:` line in a text applies to the whole file. This matters only for a list, whose file also contains
        // other objects.
        let usual = org::todo_states("").len();
        shape == Shape::List && org::todo_states(text).len() > usual
    }

    fn head(
        &self,
        level: usize,
        attributes: &Attributes,
        id: Option<&str>,
        statement: Option<&str>,
    ) -> String {
        let drawer = drawer(attributes.get("properties"), id, statement);
        if level == 0 {
            drawer + &keywords(attributes)
        } else {
            heading(level, attributes) + &drawer
        }
    }

    fn body(&self, content: &str) -> String {
        format!("{content}\n")
    }

    fn quote(&self, content: &str) -> String {
        org::quote(content)
    }
}

/// Returns the keyword lines of a file.
fn keywords(attributes: &Attributes) -> String {
    let mut text = String::new();
    if let Some(title) = attributes.get("title").and_then(Value::as_text) {
        put_line(&mut text, &format!("#+TITLE: {title}"));
    }
    if let Some(tags) = tags(attributes) {
        put_line(&mut text, &format!("#+FILETAGS: {tags}"));
    }
    if let Some(Value::Map(keywords)) = attributes.get("keywords") {
        for (name, values) in keywords {
            for value in texts(values) {
                put_line(&mut text, &format!("#+{}: {value}", name.to_uppercase()));
            }
        }
    }
    text
}

/// Returns a headline and its planning line.
fn heading(level: usize, attributes: &Attributes) -> String {
    let part = |name: &str| attributes.get(name).and_then(Value::as_text);
    let mut words = vec!["*".repeat(level)];
    words.extend(part("todo").map(str::to_owned));
    words.extend(part("priority").map(|priority| format!("[#{priority}]")));
    words.push(part("title").unwrap_or_default().to_owned());
    words.extend(tags(attributes));
    let mut text = String::new();
    put_line(&mut text, &words.join(" "));
    let planned = org::PLANNING
        .into_iter()
        .filter_map(|name| Some(format!("{}: {}", name.to_uppercase(), part(name)?)));
    let planned: Vec<String> = planned.collect();
    if !planned.is_empty() {
        put_line(&mut text, &planned.join(" "));
    }
    text
}

fn put_line(out: &mut String, text: &str) {
    out.push_str(&text.replace('\n', " "));
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

/// Returns a drawer with the properties that a drawer can express. Returns an empty text if there are no such
/// properties.
fn drawer(properties: Option<&Value>, id: Option<&str>, statement: Option<&str>) -> String {
    let none = BTreeMap::new();
    let properties = match properties {
        Some(Value::Map(properties)) if properties.iter().all(|(name, values)| fits(name, values)) => {
            properties
        }
        _ => &none,
    };
    if properties.is_empty() && id.is_none() && statement.is_none() {
        return String::new();
    }
    let mut out = ":PROPERTIES:\n".to_owned();
    let own = [("ID", id), (NAME, statement)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let others = properties
        .iter()
        .flat_map(|(name, values)| texts(values).into_iter().map(move |value| (name.as_str(), value)));
    for (name, value) in own.chain(others) {
        out.push_str(format!(":{name}: {value}").trim_end_matches([' ', '\t']));
        out.push('\n');
    }
    out + ":END:\n"
}

/// Returns whether the parser would read the lines of a property as the same property.
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
