//! Reads the notes of basic-memory: a folder of Markdown files with front matter, observations and relations.
//!
//! A note becomes one object with its whole text, so the observations stay as they are written. Hashtags of
//! observations become tags, and each relation becomes a fact. An invalid note does not affect the others.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The times of notes are not imported if they are only in the database of basic-memory or in the file system.

use std::collections::{BTreeMap, BTreeSet};

use super::mapping::{Foreign, Mapped, id_for};
use crate::agent::blocks::FoundFile;
use crate::agent::item::{add_new, texts};
use crate::agent::markdown::{Fence, is_item, stem};
use crate::agent::vocabulary::attribute;
use crate::error::{ErrorKind, Result};
use crate::ingest::json::{loose_time, value_to_json};
use crate::ingest::{decode, split_matter};
use crate::object::{Attributes, Scope, Value};

/// The kind of the object of a note, and the folder of its id.
const ENTITY: &str = "entity";
/// The type of a relation that a note does not name.
const LINKS: &str = "links_to";
/// The names in front matter of the time of a note, the newest first.
const TIMES: [&str; 6] = [
    "modified",
    "updated",
    "updated_at",
    "created",
    "created_at",
    "date",
];

/// A relation that a line of a note states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Relation {
    class: String,
    target: String,
    context: Option<String>,
}

/// Maps the notes of a folder to objects.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let scope = foreign.usual_scope()?;
    let mut mapped = Mapped::default();
    for file in foreign.files {
        match &file.bytes {
            Ok(bytes) => map_note(file, bytes, &scope, key, &mut mapped)?,
            Err(why) => mapped.refuse(&file.path, why.clone()),
        }
    }
    Ok(mapped)
}

/// Maps one note, and its relations.
///
/// # Errors
/// An error that is not about this note.
fn map_note(
    file: &FoundFile,
    bytes: &[u8],
    scope: &Scope,
    key: &[u8; 32],
    mapped: &mut Mapped,
) -> Result<()> {
    let stem = stem(&file.path).unwrap_or(&file.path);
    let of_path = id_for(key, scope, ENTITY, stem)?;
    let (text, mut matter) = match read_note(&file.path, bytes) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            mapped.refuse(&file.path, error.message());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let name = |value: Option<Value>| value.and_then(|value| value.as_text().map(str::to_owned));
    let last = stem.rsplit('/').next().unwrap_or(stem);
    let title = name(matter.remove("title")).unwrap_or_else(|| last.to_owned());
    let permalink = name(matter.remove("permalink"));
    let id = permalink.map_or(Ok(of_path), |link| id_for(key, scope, ENTITY, &link));
    let time = TIMES
        .iter()
        .find_map(|name| loose_time(matter.get(*name)?.as_text()?));
    let mut tags = tags_of(matter.remove(attribute::TAGS));
    let lines = prose(&text);
    add_new(&mut tags, lines.iter().flat_map(|line| hashtags(line)));
    let relations: BTreeSet<Relation> = lines.iter().flat_map(|line| relations(line)).collect();
    let fields = matter
        .iter()
        .map(|(name, value)| (name.clone(), value_to_json(value)));
    let mut attributes = super::mapping::other_attributes(fields.collect(), &file.path, mapped);
    drop(attributes.insert(attribute::SUBJECT, title.as_str()));
    drop(attributes.insert(attribute::TITLE, title.as_str()));
    if let Some(tags) = texts(&tags) {
        drop(attributes.insert(attribute::TAGS, tags));
    }
    let text = if text.trim().is_empty() {
        title.clone()
    } else {
        text
    };
    if let Some(object) = mapped.push(file.path.clone(), id, ENTITY, scope, text, attributes) {
        object.event_time = time;
    }
    for Relation {
        class,
        target,
        context,
    } in relations
    {
        let mut attributes = Attributes::new();
        if let Some(context) = context {
            drop(attributes.insert("context", context));
        }
        let parts = [title.clone(), class, target];
        mapped.push_relation(file.path.clone(), key, scope, parts, attributes);
    }
    Ok(())
}

/// Returns the text of a note without its front matter, and the values of the front matter.
fn read_note(path: &str, bytes: &[u8]) -> Result<(String, BTreeMap<String, Value>)> {
    let text = decode(path, bytes)?;
    let (matter, rest) = split_matter(&text);
    Ok((rest.trim().to_owned(), matter))
}

/// Returns the tags of front matter: a list of texts, or one text with commas.
fn tags_of(value: Option<Value>) -> Vec<String> {
    let texts: Vec<String> = match value {
        Some(Value::List(list)) => list
            .iter()
            .filter_map(|one| one.as_text().map(str::to_owned))
            .collect(),
        Some(Value::Text(text)) => text.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let bare = texts
        .iter()
        .map(|text| text.trim().trim_start_matches('#').to_owned());
    bare.filter(|text| !text.is_empty()).collect()
}

/// Returns the lines outside of code blocks, without indents.
fn prose(text: &str) -> Vec<&str> {
    let (mut open, mut lines) = (None::<Fence>, Vec::new());
    for line in text.lines() {
        match open {
            Some(fence) if fence.is_closed_by(line) => open = None,
            Some(_) => {}
            None => match Fence::opened_by(line) {
                Some(fence) => open = Some(fence),
                None => lines.push(line.trim()),
            },
        }
    }
    lines
}

/// Returns the hashtags of a list item, which is the form of an observation.
fn hashtags(line: &str) -> Vec<String> {
    if !is_item(line) {
        return Vec::new();
    }
    let words = line.split_whitespace().filter(|word| word.starts_with('#'));
    let tags = words
        .flat_map(|word| word.split('#'))
        .map(|tag| tag.trim_end_matches([',', '.', ')']));
    tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// Returns the relations of a line. A list item `TYPE [[TARGET]] (CONTEXT)` states one relation of that type, if the type
/// is one word or quoted. In any other line, each `[[TARGET]]` is a link.
fn relations(line: &str) -> Vec<Relation> {
    let bare = if is_item(line) {
        line.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim())
    } else {
        line
    };
    let stated = is_item(line).then(|| explicit(bare)).flatten();
    stated.map_or_else(|| links(bare), |relation| vec![relation])
}

fn explicit(item: &str) -> Option<Relation> {
    let (class, rest) = item.split_once("[[")?;
    let (target, rest) = rest.split_once("]]")?;
    // `[[TARGET|SHOWN]]` names the target and the text of the link.
    let (target, rest) = (target.split('|').next()?.trim(), rest.trim());
    let class = class.trim();
    let quoted = ['"', '\'']
        .iter()
        .find_map(|sign| class.strip_prefix(*sign)?.strip_suffix(*sign));
    let class = match quoted {
        Some(quoted) => quoted.trim(),
        None if class.contains(char::is_whitespace) => return None,
        None => class,
    };
    let context = match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(context) if !context.contains(['(', ')']) => Some(context.trim().to_owned()),
        None if rest.is_empty() => None,
        _ => return None,
    };
    (!class.is_empty() && !target.is_empty()).then(|| Relation {
        class: class.to_owned(),
        target: target.to_owned(),
        context: context.filter(|context| !context.is_empty()),
    })
}

fn links(line: &str) -> Vec<Relation> {
    let found = line.split("[[").skip(1).filter_map(|rest| rest.split_once("]]"));
    let targets = found.map(|(target, _)| target.split('|').next().unwrap_or_default().trim());
    let targets = targets.filter(|target| !target.is_empty());
    let link = |target: &str| Relation {
        class: LINKS.to_owned(),
        target: target.to_owned(),
        context: None,
    };
    targets.map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_states_its_relations() {
        let of = |line: &str| {
            let shown = relations(line).into_iter();
            shown
                .map(|one| (one.class, one.target, one.context.unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        let one =
            |class: &str, target: &str, context: &str| vec![(class.into(), target.into(), context.into())];
        for (line, expected) in [
            ("- requires [[Tea]]", one("requires", "Tea", "")),
            (
                "* \"pairs with\" [[Green Tea]] (at noon)",
                one("pairs with", "Green Tea", "at noon"),
            ),
            ("- pairs well with [[Tea]]", one(LINKS, "Tea", "")),
            ("- requires [[Tea]] and more", one(LINKS, "Tea", "")),
            ("see [[Tea|the tea]]", one(LINKS, "Tea", "")),
            ("- requires [[Tea|the tea]]", one("requires", "Tea", "")),
            ("requires [[Tea]]", one(LINKS, "Tea", "")),
            ("- [[]] [[", vec![]),
            ("- plain", vec![]),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
        assert_eq!(of("[[A]] and [[B]]").len(), 2);
    }

    #[test]
    fn hashtags_are_of_observations_outside_of_code() {
        let text = "# Title #no\n- [method] Pour #tea #slow.\n```\n- x #code\n```\ntext #prose\n- a#b #c#d";
        let tags: Vec<String> = prose(text).into_iter().flat_map(hashtags).collect();
        assert_eq!(tags, ["tea", "slow", "c", "d"]);
        assert_eq!(tags_of(Some(Value::from("a, #b,"))), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn no_note_panics(text in any::<String>(), line in r"[-* \[\]()|'a\t\x22]{0,30}") {
            let lines = [text.as_str(), line.as_str()];
            for line in lines.iter().flat_map(|text| prose(text)) {
                for relation in relations(line) {
                    prop_assert!(line.contains(&relation.target));
                }
            }
        }
    }
}
