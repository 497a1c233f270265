//! Reads Org files: headlines, planning lines, property drawers and the keywords of the file.
//!
//! Org is read line by line, each line once. As in Org itself a headline is a headline wherever its line
//! stands, inside a block too (there it is quoted by a comma). What is not structure stays text as it is.
//!
//! # Layer
//! L6, inside `ingest`.

mod drawer;
mod headline;
mod preamble;

use super::document::{Document, Outline, Section, SectionKind};
use super::format::Format;
use super::text;
use crate::error::Result;
use crate::object::{Attributes, Id, Value};

/// A headline as a line of the file.
struct Found<'a> {
    level: usize,
    /// What follows the stars.
    rest: &'a str,
    line: u64,
    start: usize,
    end: usize,
}

/// Reads the text of an Org file.
pub(super) fn parse(path: Id, text: &str) -> Result<Document> {
    let found = find_headlines(text);
    let mut attributes = Attributes::new();
    attributes.insert("format", Format::Org.name());
    let preamble = &text[..found.first().map_or(text.len(), |first| first.start)];
    let content = preamble::read(&path, preamble, &mut attributes)?;

    let states = headline::todo_states(text);
    let mut outline = Outline::default();
    for (place, headline) in found.iter().enumerate() {
        let end = found.get(place + 1).map_or(text.len(), |next| next.start);
        let mut attributes = Attributes::new();
        headline::read(headline.rest, &states, &mut attributes);
        let (rest, line) =
            headline::read_planning(&text[headline.end..end], headline.line + 1, &mut attributes);
        let (properties, rest) = drawer::read(&path, line, rest)?;
        let id = properties.id;
        if !properties.others.is_empty() {
            attributes.insert("properties", Value::Map(properties.others));
        }
        outline.push(
            headline.level,
            Section {
                kind: SectionKind::Heading,
                parent: None,
                line: headline.line,
                id,
                attributes,
                content: text::body(rest),
                event_time: None,
            },
        );
    }
    Ok(Document {
        path,
        format: Format::Org,
        attributes,
        content,
        sections: outline.finish(),
        objects: Vec::new(),
    })
}

/// The headlines of the file: stars at the start of a line, then a space.
fn find_headlines(text: &str) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let level = line.len() - line.trim_start_matches('*').len();
        if level > 0 && line[level..].starts_with(' ') {
            found.push(Found {
                level,
                rest: &line[level..],
                line: number,
                start,
                end: start + line.len(),
            });
        }
        start += line.len();
    }
    found
}
