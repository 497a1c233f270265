//! Looking for words: in the objects of a state, or in everything that the log keeps.
//!
//! # Layer
//! L9, part of cli.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::arguments::Arguments;
use super::rows::{Field, Rows, absent, digest, name, text};
use super::shell::Shell;
use super::table::Command;
use crate::cli::errors::{DONE, Done};
use crate::cli::human;
use crate::engine::{CommitInfo, TextRecord};
use crate::object::{Object, Reference, Value};

/// Characters around what was found.
const FOUND_AROUND: usize = 30;

/// The command whose lines are not kept: what is looked for may be what should be nowhere.
pub(super) const FIND: &str = "find";

pub(super) const COMMAND: Command = Command::own(
    FIND,
    "TEXT [--history] [--limit N]",
    "Objects that hold TEXT in any field, or all of history that does",
    find,
)
.examples(&[
    ("find 'green tea'", "in any case of letters"),
    (
        "find swordfish --history",
        "in every version, reason, source, actor, session, op and name: what erasing has to reach",
    ),
]);

fn find(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let wanted = arguments.needed(0)?.to_lowercase();
    if arguments.has("--history") {
        return find_in_history(shell, &wanted, arguments.limit()?);
    }
    let view = shell.view()?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["id", "kind", "where", "found"]);
    let mut left = arguments.limit()?;
    for object in view.objects() {
        let object = object?;
        let Some((place, found)) = found_in(&object, &wanted) else {
            continue;
        };
        if left == 0 {
            break;
        }
        left -= 1;
        table.row(
            output,
            vec![name(object.id()), text(object.kind()), text(place), text(found)],
        )?;
    }
    table.finish(output)?;
    Ok(DONE)
}

/// Something that holds the text.
struct Hit {
    is_a: &'static str,
    digest: Option<[u8; 32]>,
    /// The id, commit or reference that it belongs to.
    of: String,
    place: String,
    found: String,
}

/// What was found so far, and what tells which object or commit a text belongs to.
#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    seen: HashSet<[u8; 32]>,
    /// Contents and texts that hold the words: they come before or after what names them.
    texts: BTreeMap<[u8; 32], (&'static str, String)>,
    /// What names a content or a text, and as what.
    named: HashMap<[u8; 32], (String, &'static str)>,
}

fn find_in_history(shell: &mut Shell<'_>, wanted: &str, limit: usize) -> Done {
    let memory = shell.memory()?;
    let mut found = Found::default();
    memory.text_records(&mut |text_record| {
        match text_record {
            TextRecord::Version(object) => found.add_version(&object, wanted),
            TextRecord::Content(digest, said) => found.add_text("content", *digest.as_bytes(), &said, wanted),
            TextRecord::Text(digest, said) => found.add_text("text", *digest.as_bytes(), &said, wanted),
            TextRecord::Commit(info) => found.add_commit(&info, wanted),
            TextRecord::Reference(reference) => found.add_reference(&reference, wanted),
        }
        Ok(())
    })?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["is a", "digest", "of", "where", "found"]);
    for hit in found.into_hits().into_iter().take(limit) {
        let fields: Vec<Field> = vec![
            text(hit.is_a),
            hit.digest.map_or_else(absent, |bytes| digest(&bytes)),
            text(hit.of),
            text(hit.place),
            text(hit.found),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

impl Found {
    fn add_version(&mut self, object: &Object, wanted: &str) {
        if let Some((content, _)) = object.content_digest() {
            self.named
                .insert(*content.as_bytes(), (object.id().to_owned(), "content"));
        }
        let digest = *object.digest().as_bytes();
        if let Some((place, found)) = found_in(object, wanted)
            && self.seen.insert(digest)
        {
            self.hits.push(Hit {
                is_a: "version",
                digest: Some(digest),
                of: object.id().to_owned(),
                place,
                found,
            });
        }
    }

    fn add_text(&mut self, is_a: &'static str, digest: [u8; 32], said: &str, wanted: &str) {
        if let Some(found) = excerpt(said, wanted) {
            self.texts.insert(digest, (is_a, found));
        }
    }

    fn add_commit(&mut self, info: &CommitInfo, wanted: &str) {
        let commit = &info.commit;
        let of = format!("seq:{}", commit.seq);
        for (text, place) in [(commit.reason, "reason"), (commit.source, "source")] {
            if let Some(text) = text {
                self.named.insert(*text.as_bytes(), (of.clone(), place));
            }
        }
        let digest = *info.digest.as_bytes();
        let said = [
            (commit.actor.as_deref(), "actor"),
            (commit.session.as_deref(), "session"),
            (Some(commit.op.as_str()), "op"),
        ];
        let found = said
            .into_iter()
            .filter_map(|(said, place)| Some((excerpt(said?, wanted)?, place)));
        let found: Vec<_> = found.collect();
        // Every place of it; the record may come twice.
        if found.is_empty() || !self.seen.insert(digest) {
            return;
        }
        self.hits.extend(found.into_iter().map(|(found, place)| Hit {
            is_a: "commit",
            digest: Some(digest),
            of: of.clone(),
            place: place.to_owned(),
            found,
        }));
    }

    fn add_reference(&mut self, reference: &Reference, wanted: &str) {
        let of = reference.name.as_str().to_owned();
        if let Some(text) = reference.reason {
            self.named.insert(*text.as_bytes(), (of.clone(), "reason"));
        }
        let said = [
            (Some(of.as_str()), "name"),
            (reference.actor.as_deref(), "actor"),
            (reference.session.as_deref(), "session"),
            (reference.lane.as_deref(), "lane"),
        ];
        let found = said
            .into_iter()
            .find_map(|(said, place)| Some((excerpt(said?, wanted)?, place)));
        if let Some((found, place)) = found {
            self.hits.push(Hit {
                is_a: "reference",
                digest: None,
                of: of.clone(),
                place: place.to_owned(),
                found,
            });
        }
    }

    fn into_hits(mut self) -> Vec<Hit> {
        for (digest, (is_a, found)) in std::mem::take(&mut self.texts) {
            let (of, place) = self.named.remove(&digest).unwrap_or_default();
            self.hits.push(Hit {
                is_a,
                digest: Some(digest),
                of,
                place: place.to_owned(),
                found,
            });
        }
        self.hits
    }
}

/// Where in an object the text stands, and a little around it.
fn found_in(object: &Object, wanted: &str) -> Option<(String, String)> {
    let fields = [
        ("id", Some(object.id())),
        ("kind", Some(object.kind())),
        ("scope", Some(object.scope())),
        ("parent", object.parent()),
        ("position", object.position()),
        ("content", object.content()),
    ];
    let found = fields
        .into_iter()
        .find_map(|(name, text)| Some((name.to_owned(), excerpt(text?, wanted)?)));
    found.or_else(|| {
        object.attributes().iter().find_map(|(name, value)| {
            let shown = human::value(value);
            let found = excerpt(&shown, wanted).or_else(|| {
                let holds = excerpt(name, wanted).is_some() || says(value, wanted);
                holds.then_some(shown)
            })?;
            Some((name.clone(), found))
        })
    })
}

/// Whether a text in a value holds the words: what is shown of it has quotes and line breaks in another form.
fn says(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Text(text) => excerpt(text, wanted).is_some(),
        Value::List(values) => values.iter().any(|value| says(value, wanted)),
        Value::Map(values) => values
            .iter()
            .any(|(name, value)| excerpt(name, wanted).is_some() || says(value, wanted)),
        _ => false,
    }
}

fn excerpt(text: &str, wanted: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = lower.find(wanted)?;
    // Lower case may be longer or shorter in bytes, so the place is counted in characters.
    let from = lower[..at].chars().count().saturating_sub(FOUND_AROUND);
    let most = wanted.chars().count() + 2 * FOUND_AROUND;
    let start = if from > 0 { "..." } else { "" };
    let rest: String = text.chars().skip(from).take(most + 1).collect();
    Some(format!("{start}{}", human::cut(&human::one_line(&rest), most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_what_stands_around() {
        assert_eq!(
            excerpt("Ada drinks Green Tea", "green tea").as_deref(),
            Some("Ada drinks Green Tea")
        );
        let long = format!("{}needle{}", "x".repeat(100), "y".repeat(100));
        let found = excerpt(&long, "needle").unwrap();
        assert!(
            found.starts_with("...xxx") && found.contains("needle") && found.ends_with("..."),
            "{found}"
        );
        assert_eq!(
            excerpt("\u{130}stanbul", "stanbul").as_deref(),
            Some("\u{130}stanbul")
        );
        assert_eq!(excerpt("abc", "d"), None);
    }
}
