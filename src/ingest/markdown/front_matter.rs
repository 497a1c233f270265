//! Front matter: YAML between two `---` lines, or TOML between two `+++` lines, at the very start of a Markdown file.
//!
//! A front matter that cannot be read as YAML is kept as text: an unfinished template, a repeated key, TOML. The title,
//! the tags and the aliases are found in it line by line.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{BTreeMap, HashSet};

use super::yaml;
use crate::object::{Attributes, Value};

/// The names of tags and aliases in front matter, and the attribute of each.
const WORDS: [(&str, &str); 4] = [
    ("tags", "tags"),
    ("tag", "tags"),
    ("aliases", "aliases"),
    ("alias", "aliases"),
];

/// The front matter of a file.
pub(super) enum Matter<'a> {
    Values(BTreeMap<String, Value>),
    /// The lines of the front matter with their marks, and the reason why they are kept as text.
    Text(&'a str, String),
}

/// Splits `text` into the front matter and the text after it.
///
/// A `---` before a blank line or without a closing mark is a thematic break. So are two `---` around a text or a list.
pub(super) fn split(text: &str) -> (Option<Matter<'_>>, &str) {
    let Some((matter, whole, rest)) = between_marks(text) else {
        return (None, text);
    };
    if whole.starts_with('+') {
        let why = "it is TOML, not YAML".to_owned();
        return (Some(Matter::Text(whole, why)), rest);
    }
    match yaml::parse(matter) {
        Ok(Value::Map(values)) => (Some(Matter::Values(values)), rest),
        Ok(Value::Null) => (Some(Matter::Values(BTreeMap::new())), rest),
        Err((line, message)) if matter.lines().any(|line| named(line, ':').is_some()) => {
            // The front matter starts on the second line of the file.
            let why = format!("line {}: {message}", line + 1);
            (Some(Matter::Text(whole, why)), rest)
        }
        _ => (None, text),
    }
}

/// Returns the lines between the marks, the lines with the marks, and the rest.
fn between_marks(text: &str) -> Option<(&str, &str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let ends: &[&str] = match first.trim_end() {
        "---" => &["---", "..."],
        "+++" => &["+++"],
        _ => return None,
    };
    let mut end = first.len();
    for (number, line) in lines.enumerate() {
        if number == 0 && line.trim().is_empty() {
            return None;
        }
        if ends.contains(&line.trim_end()) {
            let after = end + line.len();
            return Some((&text[first.len()..end], &text[..after], &text[after..]));
        }
        end += line.len();
    }
    None
}

/// Splits `name: value`, with the mark between them. The name is a word at the start of the line.
fn named(line: &str, mark: char) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(mark)?;
    let name = name.trim_end();
    let is_word = |character: char| character.is_alphanumeric() || "_-".contains(character);
    (!name.is_empty() && name.chars().all(is_word)).then(|| (name, value.trim()))
}

/// Adds the attributes of a front matter: itself, and what it says about title, tags and aliases.
pub(super) fn add(matter: &Matter<'_>, attributes: &mut Attributes) {
    let read;
    let values = match matter {
        Matter::Values(values) => {
            if !values.is_empty() {
                attributes.insert("front_matter", Value::Map(values.clone()));
            }
            values
        }
        Matter::Text(text, _) => {
            attributes.insert("front_matter", text.trim_end_matches('\n'));
            read = by_line(text);
            &read
        }
    };
    let title = values.get("title").and_then(text_of);
    if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
        attributes.insert("title", title.trim());
    }
    let mut words: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for (name, value) in values {
        let known = WORDS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        if let Some((_, attribute)) = known {
            let words = words.entry(attribute).or_default();
            for word in words_of(value, *attribute == "tags") {
                if seen.insert(format!("{attribute} {word:?}")) {
                    words.push(word);
                }
            }
        }
    }
    for (attribute, words) in words {
        if !words.is_empty() {
            attributes.insert(attribute, words);
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Returns the words of a list, or of a text that separates them by commas. In tags, spaces separate too, and a tag may
/// begin with `#`.
fn words_of(value: &Value, is_tags: bool) -> Vec<Value> {
    let texts: Vec<String> = match value {
        Value::List(values) => values.iter().filter_map(text_of).collect(),
        one => {
            let text = text_of(one).unwrap_or_default();
            let is_between = |character: char| character == ',' || is_tags && character.is_whitespace();
            text.split(is_between).map(str::to_owned).collect()
        }
    };
    let words = texts.iter().map(|text| {
        let word = text.trim();
        if is_tags {
            word.trim_start_matches('#')
        } else {
            word
        }
    });
    words.filter(|word| !word.is_empty()).map(Value::from).collect()
}

/// Finds the title, the tags and the aliases in a front matter that is not YAML.
fn by_line(text: &str) -> BTreeMap<String, Value> {
    let mark = if text.starts_with('+') { '=' } else { ':' };
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    let mut last: Option<&str> = None;
    for line in text.lines() {
        if let (Some(name), Some(item)) = (last, line.trim_start().strip_prefix("- ")) {
            let items = found
                .entry(name.to_owned())
                .or_insert_with(|| Value::List(Vec::new()));
            if let Value::List(items) = items {
                items.push(Value::from(unquoted(item.trim())));
            }
            continue;
        }
        let known = |name: &str| name == "title" || WORDS.iter().any(|(word, _)| *word == name);
        let Some((name, value)) = named(line, mark) else {
            continue;
        };
        last = known(name).then_some(name);
        if !known(name) || value.is_empty() || found.contains_key(name) {
            continue;
        }
        let value = match value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
            Some(list) => Value::List(
                list.split(',')
                    .map(|item| Value::from(unquoted(item.trim())))
                    .collect(),
            ),
            None => Value::from(unquoted(value)),
        };
        found.insert(name.to_owned(), value);
    }
    found
}

/// Returns a text without the quotation marks around it.
fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark))
        .unwrap_or(text)
}
