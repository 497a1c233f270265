//! Reads the files in which coding agents keep rules and memories: CLAUDE.md, AGENTS.md, GEMINI.md, rules, and the
//! memories that Claude Code and Codex write themselves.
//!
//! Each item of a list and each paragraph becomes one object, with the headings above it as its title. A memory file of
//! Claude Code with front matter is one object. An object's id follows from its file and text, so importing a file
//! again changes nothing, and an item that left its file leaves the memory, too.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - AGF-1: an item is a run of whole lines of its file, and no item is in a comment.

use super::mapping::{Foreign, Mapped, id_for, mark_of};
use crate::agent::markdown::{Fence, columns, is_item};
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::{decode, split_matter};
use crate::object::{Attributes, Id, Scope, Value};

/// The folder of the ids of imported items.
const FOLDER: &str = "imported";
/// The start of the paths of files in the home folder of the user.
const HOME: &str = "~/";
/// The folder of the memories of one project, as Claude Code names it.
const OF_PROJECT: &str = "/projects/";

/// Whether an id is that of an item of these files.
pub(super) fn is_imported(id: &Id) -> bool {
    id.as_str().rsplit('/').nth(1) == Some(FOLDER)
}

/// Maps the files of an agent to objects.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let mut mapped = Mapped::default();
    for file in foreign.files {
        // The rules and memories of a user hold in all projects.
        let is_global = file.path.starts_with(HOME) && !file.path.contains(OF_PROJECT);
        let scope = match &foreign.scope {
            None if is_global => Scope::default(),
            _ => foreign.usual_scope()?,
        };
        let text = match &file.bytes {
            Ok(bytes) => decode(&file.path, bytes).map_err(|error| error.message().to_owned()),
            Err(why) => Err(why.clone()),
        };
        match text {
            Ok(text) => map_file(&file.path, &text, &scope, key, &mut mapped),
            Err(why) => mapped.refuse(&file.path, why),
        }
    }
    Ok(mapped)
}

fn map_file(path: &str, text: &str, scope: &Scope, key: &[u8; 32], mapped: &mut Mapped) {
    mapped.sources.push((scope.clone(), path.to_owned()));
    let (matter, rest) = split_matter(text);
    let field = |name: &str| {
        matter
            .get(name)
            .and_then(|value| value.as_text().map(str::to_owned))
    };
    let is_memory = path.contains("/memory/") || path.contains("/memories/");
    let class = field("type").or_else(|| match matter.get("metadata")? {
        Value::Map(map) => map.get("type")?.as_text().map(str::to_owned),
        _ => None,
    });
    let kind = match class.as_deref() {
        Some("feedback") => kind::RULE,
        None if !is_memory => kind::RULE,
        _ => kind::FACT,
    };
    let mut push = |at: String, title: Option<String>, text: &str| {
        let mut attributes = Attributes::new();
        drop(attributes.insert(attribute::SOURCE, path));
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            drop(attributes.insert(attribute::TITLE, title));
        }
        if let Some(class) = &class {
            drop(attributes.insert(attribute::SUBJECT, class.as_str()));
        }
        let name = format!("{}:{path}{text}", path.len());
        let id = id_for(key, scope, FOLDER, &mark_of(key, &name));
        mapped.push(at, id, kind, scope, text.to_owned(), attributes);
    };
    if is_memory && field("name").is_some() && !rest.trim().is_empty() {
        let title = field("description").or_else(|| field("name"));
        return push(path.to_owned(), title, rest.trim());
    }
    let mut seen = std::collections::HashSet::new();
    for item in items(rest) {
        // The index of the memories names each of them by a link.
        let is_link = is_memory && item.text.contains("](") && item.text.contains(".md)");
        if !is_link && seen.insert(item.text.clone()) {
            push(
                format!("{path}, line {}", item.line),
                Some(item.title),
                &item.text,
            );
        }
    }
}

/// An item of a list, or a paragraph.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// The number of its first line, from 1.
    line: usize,
    /// The headings above it.
    title: String,
    text: String,
}

/// Returns the items and paragraphs of a text, in their order.
fn items(text: &str) -> Vec<Found> {
    let (mut found, mut headings, mut open) = (Vec::new(), Vec::<(usize, &str)>::new(), Vec::new());
    let (mut fence, mut is_comment, mut start) = (None::<Fence>, false, 1);
    let mut close = |open: &mut Vec<&str>, start: usize, headings: &[(usize, &str)]| {
        let text = open.join("\n");
        open.clear();
        let bare = text.trim();
        let bare = if is_item(bare) {
            bare.split_once([' ', '\t']).map_or(bare, |(_, rest)| rest)
        } else {
            bare
        };
        // A path alone includes a file, whose items come with that file.
        let is_include = bare.starts_with('@') && !bare.contains(char::is_whitespace);
        if !is_include && bare.chars().any(char::is_alphanumeric) {
            let title: Vec<&str> = headings.iter().map(|(_, title)| *title).collect();
            found.push(Found {
                line: start,
                title: title.join(" / "),
                text: bare.trim().to_owned(),
            });
        }
    };
    for (line, number) in text.lines().zip(1..) {
        let bare = line.trim();
        if let Some(opened) = fence {
            fence = (!opened.is_closed_by(line)).then_some(opened);
            open.push(line);
            continue;
        }
        if is_comment || bare.starts_with("<!--") {
            is_comment = !bare.contains("-->");
            close(&mut open, start, &headings);
            continue;
        }
        fence = Fence::opened_by(line);
        let level = bare.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = fence.is_none() && (1..=6).contains(&level) && bare[level..].starts_with(' ');
        // A line below an item that is indented belongs to it.
        let begins = columns(line) < 2 && (is_item(bare) || open.is_empty());
        let is_break = bare.len() >= 3 && bare.chars().all(|sign| matches!(sign, '-' | '*' | '_' | '='));
        if is_heading || is_break || bare.is_empty() || begins {
            close(&mut open, start, &headings);
        }
        if is_heading {
            headings.retain(|(above, _)| *above < level);
            headings.push((level, bare[level..].trim()));
        } else if !bare.is_empty() && !is_break {
            if open.is_empty() {
                start = number;
            }
            open.push(line);
        }
    }
    close(&mut open, start, &headings);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_paragraphs_are_found_with_their_headings() {
        let text = "# Tea\n\nUse green tea.\nAlways.\n\n## Cups\n- white ones\n  and no others\n- @more.md\n* Run:\n  ```sh\n  # no heading\n  make cups\n  ```\n<!-- a note\nfor people -->\n@docs/all.md\n# Milk\n1. none\n---\n";
        let found: Vec<_> = items(text)
            .into_iter()
            .map(|one| (one.line, one.title, one.text))
            .collect();
        let of = |line, title: &str, text: &str| (line, title.to_owned(), text.to_owned());
        assert_eq!(
            found,
            [
                of(3, "Tea", "Use green tea.\nAlways."),
                of(7, "Tea / Cups", "white ones\n  and no others"),
                of(
                    10,
                    "Tea / Cups",
                    "Run:\n  ```sh\n  # no heading\n  make cups\n  ```"
                ),
                of(19, "Milk", "none"),
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn agf_1_items_are_lines_of_the_file(text in "(# a|- b|\n|  c|```|<!--|-->|@x|\t|1\\. d|é){0,30}") {
            for item in items(&text) {
                for line in item.text.lines() {
                    proptest::prop_assert!(text.contains(line));
                }
                proptest::prop_assert!(item.line <= text.lines().count());
            }
        }
    }
}
