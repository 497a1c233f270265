//! Reads Markdown files: headings of both styles and front matter.
//!
//! A Markdown parser finds the headings, so a `#` in a code block or quotation is not a heading. The parser copies
//! titles and texts unchanged. The title of a note is in its front matter, else its first heading, else its file name. A comment on the line after a heading may state its id: `<!-- id: projects/treering
//! -->`.
//!
//! # Layer
//! Layer 6, inside `ingest`.

mod front_matter;
mod yaml;

use self::front_matter::Matter;
pub(super) use self::yaml::write as write_matter;

#[cfg(feature = "agent")]
use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::document::{Document, Section, SectionKind};
use super::format::Format;
use super::json::Fields;
use super::outline::{Found, Outline};
use super::statement::{self, NAME, OBJECTS};
use super::text::{fence_around, shown};
use crate::error::Result;
use crate::object::{Id, Value};

/// Returns the values of the front matter of a text, and the text after the front matter. A front matter that is not YAML
/// stays in the text.
#[cfg(feature = "agent")]
pub(crate) fn split_matter(text: &str) -> (BTreeMap<String, Value>, &str) {
    match front_matter::split(text) {
        (Some(Matter::Values(values)), rest) => (values, rest),
        _ => (BTreeMap::new(), text),
    }
}

/// Reads the text of a Markdown file.
pub(super) fn parse(path: Id, text: &str) -> Result<Document> {
    let mut document = Document::new(path, Format::Markdown);
    let (matter, rest) = front_matter::split(text);
    if let Some(matter) = &matter {
        front_matter::add(matter, &mut document.root.attributes);
    }
    if let Some(Matter::Text(_, why)) = matter {
        document.skipped.front_matter = Some(why);
    }
    let line = 1 + text[..text.len() - rest.len()].matches('\n').count() as u64;
    let found = find_headings(rest, line);
    let preamble = &rest[..found.first().map_or(rest.len(), |first| first.start)];
    let (statement_text, after) = first_comment(preamble, NAME);
    document.is_list = statement_text == Some(OBJECTS);
    let preamble = if document.is_list { after } else { preamble };
    let (stated, preamble) = read_statement(&document.path, line, preamble)?;
    let mut outline = Outline::new(document, stated, preamble, unquote);
    for (place, heading) in found.iter().enumerate() {
        let line = heading.line;
        let end = found.get(place + 1).map_or(rest.len(), |next| next.start);
        let mut section = Section::new(SectionKind::Heading, line);
        section
            .attributes
            .insert("title", title(&rest[heading.start..heading.end]));
        let (id, body) = read_id(&outline.document.path, line, &rest[heading.end..end])?;
        let (stated, body) = read_statement(&outline.document.path, line, body)?;
        section.id = id;
        outline.push(heading.level, section, body, stated)?;
    }
    let mut document = outline.finish()?;
    let is_stated = document
        .root
        .stated
        .attributes
        .iter()
        .any(|(name, _)| name == "title");
    if !document.is_list && !is_stated && document.root.title().is_empty() {
        let first = document.sections.first().map(Section::title);
        let title = title_of_file(document.path.as_str(), first);
        document.is_titled_by_heading = first == Some(title.as_str());
        document.root.attributes.insert("title", title);
        document.put_title_of_heading();
    }
    Ok(document)
}

/// Returns the title of a note whose front matter has none: its first heading, else the name of the file.
pub(super) fn title_of_file(path: &str, first_heading: Option<&str>) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let heading = first_heading.filter(|heading| !heading.trim().is_empty());
    heading
        .unwrap_or(if stem.is_empty() { name } else { stem })
        .to_owned()
}

/// Returns the text that is inside a code block.
fn unquote(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    lines.get(1..lines.len() - 1).unwrap_or_default().join("\n")
}

/// Returns the text as a code block, with a fence that does not occur in the text.
pub(super) fn quote(text: &str) -> String {
    let fence = fence_around(text);
    format!("{fence}\n{text}\n{fence}")
}

/// Finds the headings that are not inside lists, quotations or other blocks.
fn find_headings(text: &str, first_line: u64) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut line, mut counted) = (first_line, 0);
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::Heading { level, .. }) = (depth, tag) {
                    line += text[counted..range.start].matches('\n').count() as u64;
                    counted = range.start;
                    found.push(Found {
                        level: level as usize,
                        line,
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

const SPACE: [char; 2] = [' ', '\t'];

/// Returns the title of a heading as written, without the heading marks. Spaces join the lines of an underlined
/// heading.
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
            // An export writes `#` before the title. The parser would then read a `#` at the end of the title as
            // closing marks.
            if open < title.len() && (open == 0 || title[..open].ends_with(SPACE)) {
                format!("{}\\{}", &title[..open], &title[open..])
            } else {
                title
            }
        }
    }
}

/// Returns the text of the comment `<!-- NAME: ... -->` on the first line of `body`, and the text after that line.
fn first_comment<'a>(body: &'a str, name: &str) -> (Option<&'a str>, &'a str) {
    let start = body.trim_start_matches([' ', '\t', '\n']);
    let (first, rest) = start.split_once('\n').unwrap_or((start, ""));
    let named = first
        .trim_end_matches(SPACE)
        .strip_prefix("<!--")
        .and_then(|comment| comment.strip_suffix("-->"))
        .and_then(|comment| comment.trim_matches(SPACE).split_once(':'))
        .filter(|(word, _)| word.eq_ignore_ascii_case(name));
    match named {
        Some((_, text)) => (Some(text.trim_matches(SPACE)), rest),
        None => (None, body),
    }
}

/// Returns the id in a comment on the first line of `body`, and the text after that line.
fn read_id<'a>(path: &Id, line: u64, body: &'a str) -> Result<(Option<Id>, &'a str)> {
    let (Some(stated), rest) = first_comment(body, "id") else {
        return Ok((None, body));
    };
    let id = Id::new(stated).map_err(|error| {
        error.context(format!(
            "{path}:{line}: the id `{}` below this heading is not valid",
            shown(stated)
        ))
    })?;
    Ok((Some(id), rest))
}

/// Returns the fields in a comment on the first line of `body`, and the text after that line.
fn read_statement<'a>(path: &Id, line: u64, body: &'a str) -> Result<(Fields, &'a str)> {
    let (stated, rest) = first_comment(body, NAME);
    let fields = statement::read(stated.unwrap_or_default())
        .map_err(|error| error.context(format!("{path}:{line}: the comment `{NAME}` below this line")))?;
    Ok(fields.map_or_else(|| (Fields::default(), body), |fields| (fields, rest)))
}
