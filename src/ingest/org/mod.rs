//! Reads Org files: headlines, planning lines, property drawers and the keywords of the file.
//!
//! The parser reads each line once. As in Org itself, a line that looks like a headline is a headline even inside a
//! block, unless a comma quotes it. All other lines stay text.
//!
//! # Layer
//! Layer 6, inside `ingest`.

mod drawer;
mod headline;
mod preamble;

pub(super) use self::headline::{PLANNING, todo_states};
use super::document::{Document, Section, SectionKind};
use super::format::Format;
use super::outline::{Found, Outline};
use crate::error::Result;
use crate::object::{Id, Value};

/// Reads the text of an Org file.
pub(super) fn parse(path: Id, text: &str) -> Result<Document> {
    let found = find_headlines(text);
    let mut document = Document::new(path, Format::Org);
    let preamble = &text[..found.first().map_or(text.len(), |first| first.start)];
    let (stated, rest) = preamble::read(&mut document, preamble)?;
    let mut outline = Outline::new(document, stated, rest, unquote);
    let states = todo_states(text);
    for (place, headline) in found.iter().enumerate() {
        let end = found.get(place + 1).map_or(text.len(), |next| next.start);
        let mut section = Section::new(SectionKind::Heading, headline.line);
        let line = &text[headline.start..headline.end];
        headline::read(&line[headline.level..], &states, &mut section.attributes);
        let (rest, line) = headline::read_planning(
            &text[headline.end..end],
            headline.line + 1,
            &mut section.attributes,
        );
        let (properties, rest) = drawer::read(&outline.document.path, line, rest, false)?;
        section.id = properties.id;
        if !properties.others.is_empty() {
            section
                .attributes
                .insert("properties", Value::Map(properties.others));
        }
        outline.push(headline.level, section, rest, properties.stated)?;
    }
    outline.finish()
}

/// Removes the comma at the start of quoted lines.
fn unquote(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.strip_prefix(',').unwrap_or(line))
        .collect();
    lines.join("\n")
}

/// Quotes a text: puts a comma before the first line, before a blank last line, and before lines that begin with a
/// star, a comma or `#+`.
pub(super) fn quote(text: &str) -> String {
    let count = text.split('\n').count();
    let quoted = text.split('\n').enumerate().map(|(number, line)| {
        let ends = number + 1 == count && line.trim_matches([' ', '\t']).is_empty();
        let marked = number == 0 || ends || line.starts_with(['*', ',']) || line.starts_with("#+");
        format!("{}{line}", if marked { "," } else { "" })
    });
    quoted.collect::<Vec<_>>().join("\n")
}

/// Finds the headlines of the file: stars at the start of a line, then a space.
fn find_headlines(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let level = line.len() - line.trim_start_matches('*').len();
        if level > 0 && line[level..].starts_with(' ') {
            found.push(Found {
                level,
                line: number,
                start,
                end: start + line.len(),
            });
        }
        start += line.len();
    }
    found
}
