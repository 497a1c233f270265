//! Objects: what is known, one by one, as a tree, found, and counted.
//!
//! What looks at every object goes through them in the order of the trie and holds no more of them than it
//! shows, so memory stays flat whatever there is.
//!
//! # Layer
//! L9, part of cli.

use std::collections::{BTreeMap, BinaryHeap, HashMap};

use serde_json::json;

use super::arguments::Arguments;
use super::rows::{Rows, absent, bytes, count, digest, marked, maybe, moment, name, shown, text};
use super::shell::Shell;
use super::table::{Command, Completes};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, counted};
use crate::cli::json;
use crate::cli::output::Meaning;
use crate::digest::ObjectDigest;
use crate::engine::{Memory, View};
use crate::error::{Error, Result};
use crate::object::{Id, Object, Time};

/// Objects of a tree that are shown unless more are asked for.
const TREE_SHOWN: usize = 1_000;
/// Characters around what was found.
const FOUND_AROUND: usize = 30;

pub(super) const COMMANDS: &[Command] = &[
    Command::verb("get")
        .examples(&[
            ("get tea", "one object, whole"),
            ("get tea --at @-3", "as it was three commits ago"),
        ])
        .completes(Completes::Id),
    Command::own(
        "about",
        "ID",
        "Everything known of one object: versions, origin, lineage",
        about,
    )
    .examples(&[("about tea", "since when, and from whom")])
    .completes(Completes::Id),
    Command::verb("list").examples(&[
        ("list --kind task --attr todo=TODO", "what is still to do"),
        ("list --scope work --limit 20", "the first of a scope"),
        ("list --since @-5", "what the last five commits wrote"),
    ]),
    Command::own(
        "tree",
        "[ID] [--depth N] [--limit N]",
        "Objects below one another: all, or below ID",
        tree,
    )
    .examples(&[
        ("tree", "from the top"),
        ("tree notes --depth 2", "two levels below one object"),
    ])
    .completes(Completes::Id),
    Command::own(
        "find",
        "TEXT [--limit N]",
        "Objects whose id, attributes or content hold TEXT",
        find,
    )
    .examples(&[("find 'green tea'", "in any case of letters")]),
    Command::own(
        "recent",
        "[--limit N]",
        "Objects by their last change, newest first",
        recent,
    )
    .examples(&[("recent --limit 5", "the five that changed last")]),
    Command::own(
        "lineage",
        "ID",
        "What an object is derived from, and what from it",
        lineage,
    )
    .examples(&[("lineage summary", "both ways, version by version")])
    .completes(Completes::Id),
    Command::own(
        "count",
        "[BY]",
        "Counts and sizes by kind, scope, origin, or an attribute's name",
        tally,
    )
    .examples(&[
        ("count", "by kind"),
        ("count origin", "how much is trusted"),
        ("count todo", "by an attribute"),
    ])
    .completes(Completes::Words(&["kind", "scope", "origin"])),
    Command::own(
        "inspect",
        "[--kind KIND] [--todo STATE] [--limit N]",
        "Totals, by kind, by TODO state, recent, snapshots, orphans",
        inspect,
    )
    .examples(&[
        ("inspect", "the whole memory at a glance"),
        ("inspect --kind task --limit 3", "of one kind"),
    ]),
    Command::own(
        "orphans",
        "[--limit N]",
        "Objects whose parent is missing: there should be none",
        orphans,
    )
    .examples(&[("orphans", "nothing found, unless something is wrong")]),
];

/// The versions of an id up to the state that is looked at, newest first; refused if there never was one.
fn versions(shell: &Shell<'_>, id: &Id) -> Result<Vec<crate::engine::HistoryEntry>> {
    let newest = shell.view()?.commit().commit.seq;
    let mut entries = shell.memory()?.history(id)?;
    entries.retain(|entry| entry.commit.commit.seq <= newest);
    if entries.is_empty() {
        let error = Error::not_found(format!(
            "there is no object '{id}', and never was up to seq:{newest}"
        ));
        return Err(error.with_hint("find TEXT looks for it; Tab completes ids"));
    }
    Ok(entries)
}

fn about(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let id = Id::new(arguments.needed(0)?)?;
    let (memory, view) = (shell.memory()?, shell.view()?);
    let entries = versions(shell, &id)?;
    let current = view.get(&id)?;
    let now = view.now();
    let output = &mut shell.context.output;
    let mut versions = Vec::new();
    for entry in &entries {
        let object = entry
            .digest
            .map(|digest| memory.version(digest))
            .transpose()?
            .flatten();
        let commit = &entry.commit.commit;
        versions.push(json!({
            "seq": commit.seq,
            "digest": entry.digest.map(ObjectDigest::to_hex),
            "origin": object.as_ref().map(|object| object.origin().name()),
            "op": commit.op.as_str(),
            "actor": commit.actor,
            "session": commit.session,
            "source": json::text(&memory, commit.source)?,
            "reason": json::text(&memory, commit.reason)?,
            "time": commit.time.to_string(),
        }));
    }
    let sources = match &current {
        Some(object) => sources(&memory, object)?,
        None => Vec::new(),
    };
    if output.is_json() {
        let object = current
            .as_ref()
            .map(|object| json::object(&view, object))
            .transpose()?;
        let sources: Vec<_> = sources
            .iter()
            .map(|(digest, id)| json!({ "digest": digest.to_hex(), "id": id }))
            .collect();
        output.document(&json!({
            "id": id.as_str(), "present": current.is_some(), "object": object,
            "versions": versions, "derived_from": sources,
        }))?;
        return Ok(DONE);
    }
    let heading = output.paint(Meaning::Heading, human::one_line(id.as_str()));
    output.line(match &current {
        Some(object) => format!(
            "{heading}: {} in {}, {}",
            object.kind(),
            object.scope(),
            object.origin().name()
        ),
        None => format!("{heading}: not in this state"),
    })?;
    let first = entries.last().map(|entry| &entry.commit);
    if let Some(first) = first {
        let commit = &first.commit;
        let line = format!(
            "known since {}, seq:{} {} by {}",
            commit.time,
            commit.seq,
            commit.op.as_str(),
            first.lane()
        );
        output.line(line)?;
    }
    for (digest, id) in &sources {
        let id = id.as_deref().unwrap_or("a version that is not kept");
        output.line(format_args!(
            "derived from {} {}",
            human::one_line(id),
            human::short(digest.as_bytes())
        ))?;
    }
    let mut table = Rows::new(&[
        "seq", "version", "op", "lane", "origin", "source", "when", "reason",
    ]);
    for (entry, version) in entries.iter().zip(&versions) {
        let fields = vec![
            count(entry.commit.commit.seq),
            entry.digest.map_or_else(
                || marked(Meaning::Bad, "removed"),
                |version| digest(version.as_bytes()),
            ),
            text(entry.commit.commit.op.as_str()),
            text(entry.commit.lane()),
            maybe(version["origin"].as_str()),
            maybe(version["source"].as_str()),
            moment(output, entry.commit.commit.time, now),
            maybe(version["reason"].as_str()),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

/// The versions that an object is derived from, with their ids where they are kept.
fn sources(memory: &Memory, object: &Object) -> Result<Vec<(ObjectDigest, Option<String>)>> {
    let found = object.derived_from().map(|digest| {
        let source = memory.version(digest)?;
        Ok((digest, source.map(|source| source.id().to_owned())))
    });
    found.collect()
}

fn tree(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let view = shell.view()?;
    let depth = arguments.number("--depth")?.unwrap_or(u64::MAX);
    let limit = arguments.limit_or(TREE_SHOWN)?;
    let mut waiting: Vec<(Id, u64)> = match arguments.word(0) {
        Some(id) => vec![(Id::new(id)?, 0)],
        None => top_objects(&view, limit)?.into_iter().map(|id| (id, 0)).collect(),
    };
    waiting.reverse();
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["object", "kind", "children", "gist"]);
    let mut written = 0;
    while let Some((id, level)) = waiting.pop() {
        if written == limit {
            table.finish(output)?;
            output.note(
                "more",
                format!("there is more: the first {limit} are shown, see --limit and --depth"),
            );
            return Ok(DONE);
        }
        let object = view.get(&id)?.ok_or_else(|| missing(&id, &view))?;
        let children = view.child_count(&id)?;
        if level < depth {
            let below = view.children(&id, Some(limit))?;
            waiting.extend(below.into_iter().rev().map(|child| (child, level + 1)));
        }
        let indented = format!(
            "{}{}",
            "  ".repeat(level.min(64) as usize),
            human::one_line(id.as_str())
        );
        if output.is_json() {
            output.document(&json!({
                "id": id.as_str(), "depth": level, "parent": object.parent(), "kind": object.kind(),
                "children": children, "gist": human::gist(&object),
            }))?;
        } else {
            let fields = vec![
                name(indented),
                text(object.kind()),
                if children == 0 { absent() } else { count(children) },
                marked(Meaning::Quiet, human::gist(&object)),
            ];
            table.row(output, fields)?;
        }
        written += 1;
    }
    if !output.is_json() {
        table.finish(output)?;
    }
    Ok(DONE)
}

fn missing(id: &Id, view: &View) -> Error {
    Error::not_found(format!(
        "there is no object '{id}' at seq:{}",
        view.commit().commit.seq
    ))
    .with_hint("find TEXT looks for it; Tab completes ids")
}

/// The first ids without a parent, and one more if there are more than `limit`.
fn top_objects(view: &View, limit: usize) -> Result<Vec<Id>> {
    let mut found: BinaryHeap<Id> = BinaryHeap::new();
    for object in view.objects() {
        let object = object?;
        if object.parent().is_none() {
            found.push(Id::new(object.id())?);
            if found.len() > limit.saturating_add(1) {
                found.pop();
            }
        }
    }
    Ok(found.into_sorted_vec())
}

fn find(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let wanted = arguments.needed(0)?.to_lowercase();
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

/// Where in an object the text stands, and a little around it.
fn found_in(object: &Object, wanted: &str) -> Option<(String, String)> {
    if let Some(found) = excerpt(object.id(), wanted) {
        return Some(("id".to_owned(), found));
    }
    if let Some(found) = object.content().and_then(|content| excerpt(content, wanted)) {
        return Some(("content".to_owned(), found));
    }
    object.attributes().iter().find_map(|(name, value)| {
        let value = human::value(value);
        let found = excerpt(&value, wanted).or_else(|| excerpt(name, wanted).map(|_| value.clone()))?;
        Some((name.clone(), found))
    })
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

/// The objects that changed last, newest first, among those that `wanted` takes.
fn newest(view: &View, limit: usize, wanted: impl Fn(&Object) -> bool) -> Result<Vec<(Time, Object)>> {
    let mut found: BinaryHeap<std::cmp::Reverse<(Time, std::cmp::Reverse<String>)>> = BinaryHeap::new();
    for object in view.objects() {
        let object = object?;
        if !wanted(&object) {
            continue;
        }
        let id = Id::new(object.id())?;
        let Some((_, updated)) = view.stamps(&id)? else {
            continue;
        };
        found.push(std::cmp::Reverse((
            updated,
            std::cmp::Reverse(id.as_str().to_owned()),
        )));
        if found.len() > limit {
            found.pop();
        }
    }
    let ids = found.into_sorted_vec().into_iter();
    let objects = ids.map(|std::cmp::Reverse((updated, std::cmp::Reverse(id)))| {
        let object = view.get(&Id::new(&id)?)?;
        Ok(object.map(|object| (updated, object)))
    });
    Ok(objects
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn recent(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let view = shell.view()?;
    let newest = newest(&view, arguments.limit_or(10)?, |_| true)?;
    show_recent(shell, &view, newest)?;
    Ok(DONE)
}

fn show_recent(shell: &mut Shell<'_>, view: &View, newest: Vec<(Time, Object)>) -> Result<(), Failure> {
    let now = view.now();
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["updated", "id", "kind", "gist"]);
    for (updated, object) in newest {
        let gist = marked(Meaning::Quiet, human::gist(&object));
        table.row(
            output,
            vec![
                moment(output, updated, now),
                name(object.id()),
                text(object.kind()),
                gist,
            ],
        )?;
    }
    table.finish(output)
}

/// How much there is of something.
#[derive(Clone, Copy, Default)]
struct Tally {
    objects: u64,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, object: &Object) {
        self.objects += 1;
        self.bytes += object.bytes().len() as u64 + object.content_digest().map_or(0, |(_, length)| length);
    }
}

fn tally(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let by = arguments.word(0).unwrap_or("kind");
    let view = shell.view()?;
    let mut tallies: BTreeMap<Option<String>, Tally> = BTreeMap::new();
    for object in view.objects() {
        let object = object?;
        let value = match by {
            "kind" => Some(object.kind().to_owned()),
            "scope" => Some(object.scope().to_owned()),
            "origin" => Some(object.origin().name().to_owned()),
            attribute => object.attribute(attribute).as_ref().map(human::value),
        };
        tallies.entry(value).or_default().add(&object);
    }
    let mut tallies: Vec<_> = tallies.into_iter().collect();
    tallies.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.objects));
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["value", "objects", "bytes", "share"]);
    for (value, tally) in tallies {
        let share = 100.0 * tally.objects as f64 / view.len().max(1) as f64;
        let value = value.map_or_else(|| shown(serde_json::Value::Null, "(none)"), name);
        let share = shown(share, format!("{share:.1} %"));
        table.row(
            output,
            vec![value, count(tally.objects), bytes(tally.bytes), share],
        )?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn inspect(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let (memory, view) = (shell.memory()?, shell.view()?);
    let (kind, todo) = (arguments.value("--kind"), arguments.value("--todo"));
    let state = |object: &Object| object.attribute("todo").as_ref().map(human::value);
    let wanted = |object: &Object| {
        kind.is_none_or(|kind| object.kind() == kind)
            && todo.is_none_or(|todo| state(object).as_deref() == Some(todo))
    };
    let mut parents = Parents::default();
    let (mut total, mut orphans) = (0_u64, 0_u64);
    let (mut by_kind, mut by_todo) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    for object in view.objects() {
        let object = object?;
        orphans += u64::from(parents.lacks(&view, &object)?);
        if wanted(&object) {
            total += 1;
            *by_kind.entry(object.kind().to_owned()).or_default() += 1;
            if let Some(state) = state(&object) {
                *by_todo.entry(state).or_default() += 1;
            }
        }
    }
    let newest = newest(&view, arguments.limit_or(10)?, wanted)?;
    let seq = view.commit().commit.seq;
    let snapshots = memory.snapshots().iter().filter(|info| info.seq <= seq).count();
    let output = &mut shell.context.output;
    if output.is_json() {
        let recent: Result<Vec<_>> = newest
            .iter()
            .map(|(_, object)| json::listed(&view, object))
            .collect();
        output.document(&json!({
            "total": total, "by_kind": by_kind, "by_todo": by_todo, "recent": recent?,
            "snapshots": snapshots, "orphans": orphans,
        }))?;
        return Ok(DONE);
    }
    let listed = |counts: &BTreeMap<String, u64>| {
        let parts = counts
            .iter()
            .map(|(name, count)| format!("{} {count}", human::one_line(name)));
        let parts = parts.collect::<Vec<_>>().join(", ");
        if parts.is_empty() {
            "(none)".to_owned()
        } else {
            parts
        }
    };
    output.line(format_args!(
        "{}, {}, {}",
        counted(total, "object"),
        counted(snapshots as u64, "snapshot"),
        counted(orphans, "orphan")
    ))?;
    output.line(format_args!("by kind  {}", listed(&by_kind)))?;
    output.line(format_args!("by todo  {}", listed(&by_todo)))?;
    show_recent(shell, &view, newest)?;
    Ok(DONE)
}

/// Parents that were looked for already: siblings come up again and again.
#[derive(Default)]
struct Parents(HashMap<String, bool>);

impl Parents {
    /// Parents that are remembered at most.
    const MOST: usize = 1 << 16;

    /// Whether an object's parent is missing.
    fn lacks(&mut self, view: &View, object: &Object) -> Result<bool> {
        let Some(parent) = object.parent() else {
            return Ok(false);
        };
        if let Some(lacks) = self.0.get(parent) {
            return Ok(*lacks);
        }
        let lacks = !view.contains(&Id::new(parent)?)?;
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(parent.to_owned(), lacks);
        Ok(lacks)
    }
}

fn orphans(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let view = shell.view()?;
    let output = &mut shell.context.output;
    let mut parents = Parents::default();
    let mut table = Rows::new(&["id", "kind", "missing parent"]);
    let mut left = arguments.limit()?;
    for object in view.objects() {
        let object = object?;
        if left > 0 && parents.lacks(&view, &object)? {
            left -= 1;
            table.row(
                output,
                vec![name(object.id()), text(object.kind()), maybe(object.parent())],
            )?;
        }
    }
    table.finish(output)?;
    Ok(DONE)
}

fn lineage(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let id = Id::new(arguments.needed(0)?)?;
    let (memory, view) = (shell.memory()?, shell.view()?);
    let own: Vec<ObjectDigest> = versions(shell, &id)?
        .iter()
        .filter_map(|entry| entry.digest)
        .collect();
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["relation", "id", "version", "origin", "in this state"]);
    let row = |relation: String, object: &Object| -> Result<Vec<_>> {
        let held = view.get(&Id::new(object.id())?)?;
        let state = match held {
            Some(held) if held.digest() == object.digest() => "yes",
            Some(_) => "as a later version",
            None => "no",
        };
        let version = digest(object.digest().as_bytes());
        Ok(vec![
            text(relation),
            name(object.id()),
            version,
            text(object.origin().name()),
            text(state),
        ])
    };
    // What it came from, level by level; a version is shown once.
    let mut waiting: Vec<ObjectDigest> = own.first().copied().into_iter().collect();
    let (mut seen, mut level) = (waiting.clone(), 0);
    while !waiting.is_empty() {
        let mut next = Vec::new();
        for source in &waiting {
            let Some(object) = memory.version(*source)? else {
                let fields = vec![
                    text("from"),
                    shown(serde_json::Value::Null, "(not kept)"),
                    digest(source.as_bytes()),
                    absent(),
                    text("no"),
                ];
                table.row(output, fields)?;
                continue;
            };
            let relation = if level == 0 {
                "itself".to_owned()
            } else {
                format!("from, {level} up")
            };
            table.row(output, row(relation, &object)?)?;
            next.extend(object.derived_from().filter(|digest| !seen.contains(digest)));
        }
        next.sort_unstable();
        next.dedup();
        seen.extend(&next);
        waiting = next;
        level += 1;
    }
    for object in view.objects() {
        let object = object?;
        if object.derived_from().any(|digest| own.contains(&digest)) {
            table.row(output, row("into".to_owned(), &object)?)?;
        }
    }
    table.finish(output)?;
    Ok(DONE)
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
