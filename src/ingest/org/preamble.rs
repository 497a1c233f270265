//! Reads the part of an Org file before the first headline: a property drawer, keywords such as `#+TITLE:`, then text.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::BTreeMap;

use super::super::document::Document;
use super::super::json::Fields;
use super::{drawer, headline};
use crate::error::Result;
use crate::object::{Attributes, Value};

/// Keywords that belong to the element after them. These keywords stay text, because their position matters.
const AFFILIATED: [&str; 15] = [
    "call", "caption", "data", "header", "headers", "include", "label", "name", "plot", "resname", "result",
    "results", "source", "srcname", "tblname",
];
const AFFILIATED_STARTS: [&str; 3] = ["attr_", "begin", "end"];

/// Reads `preamble` into the attributes of the document. Returns the fields that the preamble states, and the remaining
/// text.
pub(super) fn read<'a>(document: &mut Document, preamble: &'a str) -> Result<(Fields, &'a str)> {
    let rest = text_from(preamble);
    let line = 1 + preamble[..preamble.len() - rest.len()].matches('\n').count() as u64;
    let (properties, rest) = drawer::read(&document.path, line, rest, true)?;
    document.is_list = properties.is_list;
    if !properties.others.is_empty() {
        document
            .root
            .attributes
            .insert("properties", Value::Map(properties.others));
    }
    let (keywords, rest) = split_keywords(rest);
    add_keywords(&keywords, &mut document.root.attributes);
    Ok((properties.stated, rest))
}

/// Returns `text` from its first non-blank line.
fn text_from(text: &str) -> &str {
    let first = text.len() - text.trim_start_matches([' ', '\t', '\n']).len();
    &text[text[..first].rfind('\n').map_or(0, |at| at + 1)..]
}

/// Returns the keyword lines at the start of `text`, and the text after them. Blank lines may separate keyword lines.
fn split_keywords(text: &str) -> (Vec<(String, &str)>, &str) {
    let mut keywords = Vec::new();
    let mut length = 0;
    let mut rest = text;
    for line in text.split_inclusive('\n') {
        length += line.len();
        let trimmed = line.trim_matches([' ', '\t', '\n']);
        if trimmed.is_empty() {
            continue;
        }
        let Some(keyword) = keyword(trimmed) else { break };
        keywords.push(keyword);
        rest = &text[length..];
    }
    (keywords, rest)
}

/// Splits `#+NAME: value`. The name is in lower case, because Org ignores its case.
fn keyword(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.strip_prefix("#+")?.split_once(':')?;
    let name = name.to_ascii_lowercase();
    let plain = !name.is_empty()
        && name.len() <= 256
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let affiliated =
        AFFILIATED.contains(&name.as_str()) || AFFILIATED_STARTS.iter().any(|start| name.starts_with(start));
    (plain && !affiliated).then(|| (name, value.trim_matches([' ', '\t'])))
}

fn add_keywords(keywords: &[(String, &str)], attributes: &mut Attributes) {
    let named = |wanted: &'static str| {
        let named = keywords.iter().filter(move |(name, _)| name == wanted);
        named.map(|(_, value)| *value)
    };
    let titles: Vec<&str> = named("title").collect();
    if !titles.is_empty() {
        // As in Org, several titles are joined.
        attributes.insert("title", titles.join(" "));
    }
    // If a `#+FILETAGS:` line has a word that is not a tag, all these lines stay keywords.
    let tags: Option<Vec<_>> = named("filetags").map(headline::read_tags).collect();
    let has_tags = tags.is_some();
    if let Some(tags) = tags.map(|tags| tags.concat()).filter(|tags| !tags.is_empty()) {
        attributes.insert("tags", tags);
    }
    let mut others = BTreeMap::new();
    for (name, value) in keywords {
        if name != "title" && !(has_tags && name == "filetags") {
            drawer::add_value(&mut others, name, value);
        }
    }
    if !others.is_empty() {
        attributes.insert("keywords", Value::Map(others));
    }
}
