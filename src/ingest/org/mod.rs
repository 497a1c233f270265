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

pub(super) use self::headline::todo_states;
use super::document::{Document, Outline, Section};
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
    let preamble = preamble::read(&path, preamble, &mut attributes)?;
    let mut document = Document::new(path, Format::Org, attributes);
    document.is_list = preamble.is_list;
    document.state(preamble.statement, preamble.content, unquote);

    let states = todo_states(text);
    let mut outline = Outline::default();
    for (place, headline) in found.iter().enumerate() {
        let end = found.get(place + 1).map_or(text.len(), |next| next.start);
        let mut section = Section::heading(headline.line);
        headline::read(headline.rest, &states, &mut section.attributes);
        let (rest, line) = headline::read_planning(
            &text[headline.end..end],
            headline.line + 1,
            &mut section.attributes,
        );
        let (properties, rest) = drawer::read(&document.path, line, rest)?;
        section.id = properties.id;
        if !properties.others.is_empty() {
            section
                .attributes
                .insert("properties", Value::Map(properties.others));
        }
        section.content = text::body(rest);
        if properties.statement.quoted {
            section.content = section.content.map(|text| unquote(&text));
        }
        outline
            .push(headline.level, section, properties.statement)
            .map_err(|error| error.context(format!("{}:{}", document.path, headline.line)))?;
    }
    document.sections = outline.finish();
    document.check()?;
    Ok(document)
}

/// Takes the comma away that stands in front of lines which would be structure.
fn unquote(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.strip_prefix(',').unwrap_or(line))
        .collect();
    lines.join("\n")
}

/// Puts a comma in front of the lines that [`unquote`] would change or that are structure: the first, those that
/// begin with a star, a comma or `#+`, and a blank one at the end.
pub(super) fn quote(text: &str) -> String {
    let count = text.split('\n').count();
    let quoted = text.split('\n').enumerate().map(|(number, line)| {
        let ends = number + 1 == count && line.trim_matches([' ', '\t']).is_empty();
        let marked = number == 0 || ends || line.starts_with(['*', ',']) || line.starts_with("#+");
        format!("{}{line}", if marked { "," } else { "" })
    });
    quoted.collect::<Vec<_>>().join("\n")
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
