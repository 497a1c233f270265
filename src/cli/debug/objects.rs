//! Objects: what is known, one by one, found, and by their last change.
//!
//! What looks at every object goes through them in the order of the trie and holds no more of them than it
//! shows.
//!
//! # Layer
//! L9, part of cli.

use std::collections::BinaryHeap;

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::lineage::lineage;
use super::rows::{Rows, digest, made_at, marked, maybe, moment, name, text};
use super::search;
use super::shell::Shell;
use super::table::{Command, Completes};
use super::tallies::{inspect, orphans, tally};
use super::tree::tree;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human;
use crate::cli::json;
use crate::cli::output::Meaning;
use crate::digest::ObjectDigest;
use crate::engine::{HistoryEntry, Memory, View};
use crate::error::{Error, Result};
use crate::object::{Id, Object, Time};

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
    search::COMMAND,
    Command::own(
        "recent",
        "[--limit N]",
        "Objects by their last change, newest first",
        recent,
    )
    .examples(&[("recent --limit 5", "the five that changed last")]),
    Command::own(
        "lineage",
        "ID [--limit N]",
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
pub(super) fn versions(shell: &Shell<'_>, id: &Id) -> Result<Vec<HistoryEntry>> {
    let newest = shell.view()?.commit().commit.seq;
    let mut entries = shell.memory()?.history(id)?;
    entries.retain(|entry| entry.commit.commit.seq <= newest);
    if entries.is_empty() {
        let error = Error::not_found(format!(
            "there is no object '{id}' in any kept state up to seq:{newest}"
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
    let versions = told_versions(&memory, &entries)?;
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
    if let Some(first) = entries.last() {
        let by = match first.maker() {
            Some(made) => format!(
                "seq:{} {} by {}",
                made.commit.seq,
                made.commit.op.as_str(),
                made.lane()
            ),
            None => format!(
                "by a commit before seq:{} that was thinned",
                first.commit.commit.seq
            ),
        };
        output.line(format!("known since {}, {by}", first.time))?;
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
        let [op, lane] = human::made_by(entry);
        let fields = vec![
            made_at(entry),
            entry.digest.map_or_else(
                || marked(Meaning::Bad, "removed"),
                |version| digest(version.as_bytes()),
            ),
            text(op),
            text(lane),
            maybe(version["origin"].as_str()),
            maybe(version["source"].as_str()),
            moment(output, entry.time, now),
            maybe(version["reason"].as_str()),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

/// The versions of an id with what their commits say, as JSON has them.
fn told_versions(memory: &Memory, entries: &[HistoryEntry]) -> Result<Vec<Value>> {
    let mut versions = Vec::new();
    for entry in entries {
        let object = entry
            .digest
            .map(|digest| memory.version(digest))
            .transpose()?
            .flatten();
        let made = entry.maker().map(|made| &made.commit);
        versions.push(json!({
            "seq": entry.commit.commit.seq,
            "digest": entry.digest.map(ObjectDigest::to_hex),
            "origin": object.as_ref().map(|object| object.origin().name()),
            "op": made.map(|commit| commit.op.as_str()),
            "actor": made.and_then(|commit| commit.actor.as_deref()),
            "session": made.and_then(|commit| commit.session.as_deref()),
            "source": json::text(memory, made.and_then(|commit| commit.source))?,
            "reason": json::text(memory, made.and_then(|commit| commit.reason))?,
            "time": entry.time.to_string(),
            "thinned": entry.thinned,
        }));
    }
    Ok(versions)
}

/// The versions that an object is derived from, with their ids where they are kept.
fn sources(memory: &Memory, object: &Object) -> Result<Vec<(ObjectDigest, Option<String>)>> {
    let found = object.derived_from().map(|digest| {
        let source = memory.version(digest)?;
        Ok((digest, source.map(|source| source.id().to_owned())))
    });
    found.collect()
}

/// The objects that changed last, newest first, among those that `wanted` takes.
pub(super) fn newest(
    view: &View,
    limit: usize,
    wanted: impl Fn(&Object) -> bool,
) -> Result<Vec<(Time, Object)>> {
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

pub(super) fn show_recent(
    shell: &mut Shell<'_>,
    view: &View,
    newest: Vec<(Time, Object)>,
) -> Result<(), Failure> {
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
