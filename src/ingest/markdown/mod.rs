//! Reads Markdown files: headings of both styles and front matter.
//!
//! The parser says where headings are, so that a `#` in a code block or quotation is none; title and text
//! are then taken from the file as written. A heading may state its id in a comment of its own on the next
//! line: `<!-- id: projects/treering -->`.
//!
//! # Layer
//! L6, inside `ingest`.

mod front_matter;
mod yaml;

use std::collections::BTreeMap;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use super::document::{Document, Outline, Section, shown};
use super::format::Format;
use super::statement::{NAME, OBJECTS, Statement};
use super::text;
use crate::error::Result;
use crate::object::{Attributes, Id, Value};

/// Reads the text of a Markdown file.
pub(super) fn parse(path: Id, text: &str) -> Result<Document> {
    let mut attributes = Attributes::new();
    attributes.insert("format", Format::Markdown.name());
    let (matter, rest) = front_matter::split(text);
    if let Some(matter) = matter {
        let values = front_matter::parse(&path, matter)?;
        if !values.is_empty() {
            attributes.insert("front_matter", Value::Map(values));
        }
    }
    let found = find_headings(rest);
    let mut document = Document::new(path, Format::Markdown, attributes);
    let mut line = 1 + text[..text.len() - rest.len()].matches('\n').count() as u64;
    let preamble = &rest[..found.first().map_or(rest.len(), |first| first.start)];
    let (said, after) = first_comment(preamble, NAME);
    let preamble = if said == Some(OBJECTS) {
        document.is_list = true;
        after
    } else {
        preamble
    };
    let (statement, preamble) = read_statement(&document.path, line, preamble)?;
    document.state(statement, text::body(preamble), unquote);

    let mut outline = Outline::default();
    let mut counted = 0;
    for (place, heading) in found.iter().enumerate() {
        line += rest[counted..heading.start].matches('\n').count() as u64;
        counted = heading.start;
        let end = found.get(place + 1).map_or(rest.len(), |next| next.start);
        let mut section = Section::heading(line);
        section
            .attributes
            .insert("title", title(&rest[heading.start..heading.end]));
        let (id, body) = read_id(&document.path, line, &rest[heading.end..end])?;
        let (statement, body) = read_statement(&document.path, line, body)?;
        section.id = id;
        section.content = text::body(body);
        if statement.quoted {
            section.content = section.content.map(|text| unquote(&text));
        }
        outline
            .push(heading.level, section, statement)
            .map_err(|error| error.context(format!("{}:{line}", document.path)))?;
    }
    document.sections = outline.finish();
    document.check()?;
    Ok(document)
}

/// The text inside of a block of code.
fn unquote(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    lines.get(1..lines.len() - 1).unwrap_or_default().join("\n")
}

/// Front matter that is read as the map.
pub(super) fn write_matter(map: &BTreeMap<String, Value>) -> String {
    yaml::write(map)
}

/// The text as a block of code, with marks that do not occur in it.
pub(super) fn quote(text: &str) -> String {
    let mut longest = 2;
    for run in text.split(|character| character != '`') {
        longest = longest.max(run.len());
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// Where a heading is in the text.
struct Found {
    level: usize,
    start: usize,
    end: usize,
}

/// The headings that are not inside of a list, a quotation or another block.
fn find_headings(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::Heading { level, .. }) = (depth, tag) {
                    found.push(Found {
                        level: level_number(level),
                        start: range.start,
                        end: range.end,
                    });
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    found
}

fn level_number(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

const SPACE: [char; 2] = [' ', '\t'];

/// The title of a heading as written, without the marks that make it one. A heading over several lines (the
/// underlined style) has them joined by a space.
fn title(heading: &str) -> String {
    let heading = heading.trim_matches([' ', '\t', '\n']);
    match heading.rsplit_once('\n') {
        None => {
            let text = heading.trim_start_matches('#').trim_matches(SPACE);
            let open = text.trim_end_matches('#');
            let closed = open.len() < text.len() && (open.is_empty() || open.ends_with(SPACE));
            if closed {
                open.trim_end_matches(SPACE).to_owned()
            } else {
                text.to_owned()
            }
        }
        Some((text, _underline)) => {
            let lines: Vec<&str> = text.lines().map(|line| line.trim_matches(SPACE)).collect();
            let title = lines.join(" ");
            let open = title.trim_end_matches('#').len();
            // Written with `#` in front, marks at the end would be taken for the closing ones.
            if open < title.len() && (open == 0 || title[..open].ends_with(SPACE)) {
                format!("{}\\{}", &title[..open], &title[open..])
            } else {
                title
            }
        }
    }
}

/// What the comment `<!-- NAME: ... -->` says that the first line of `body` is, and what follows that line.
fn first_comment<'a>(body: &'a str, name: &str) -> (Option<&'a str>, &'a str) {
    let start = body.trim_start_matches([' ', '\t', '\n']);
    let (first, rest) = start.split_once('\n').unwrap_or((start, ""));
    let said = first
        .trim_end_matches(SPACE)
        .strip_prefix("<!--")
        .and_then(|comment| comment.strip_suffix("-->"))
        .and_then(|comment| comment.trim_matches(SPACE).split_once(':'))
        .filter(|(word, _)| word.eq_ignore_ascii_case(name));
    match said {
        Some((_, said)) => (Some(said.trim_matches(SPACE)), rest),
        None => (None, body),
    }
}

/// The id that the first line of `body` states in a comment, and what follows that line.
fn read_id<'a>(path: &Id, line: u64, body: &'a str) -> Result<(Option<Id>, &'a str)> {
    let (Some(stated), rest) = first_comment(body, "id") else {
        return Ok((None, body));
    };
    let id = Id::new(stated).map_err(|error| {
        error.context(format!(
            "{path}:{line}: the id `{}` below this heading cannot be one",
            shown(stated)
        ))
    })?;
    Ok((Some(id), rest))
}

/// What the first line of `body` states in a comment, and what follows that line.
fn read_statement<'a>(path: &Id, line: u64, body: &'a str) -> Result<(Statement, &'a str)> {
    match first_comment(body, NAME) {
        (Some(stated), rest) if Statement::is_one(stated) => match Statement::read(stated) {
            Ok(statement) => Ok((statement, rest)),
            Err(error) => Err(error.context(format!("{path}:{line}: what is stated below"))),
        },
        _ => Ok((Statement::default(), body)),
    }
}
