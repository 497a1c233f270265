//! History: commits, versions of an object, snapshots, lanes, references.
//!
//! # Layer
//! L9, part of cli.

use std::time::Duration;

use super::arguments::Arguments;
use super::rows::{self, Rows, count, moment, name, text};
use super::shell::Shell;
use super::table::{Command, Completes};
use crate::cli::errors::{DONE, Done};
use crate::cli::human;
use crate::cli::json;
use crate::digest::{CommitDigest, to_hex};
use crate::engine::{CommitInfo, Revision};
use crate::error::Result;
use crate::object::Op;

pub(super) const COMMANDS: &[Command] = &[
    Command::verb("log").examples(&[
        ("log --limit 10", "the newest commits"),
        ("log --at snap:0", "what had happened by then"),
    ]),
    Command::own("commit", "[REV]", "Everything one commit says", commit)
        .examples(&[
            ("commit", "the newest one"),
            ("commit @-3", "the one three before it"),
        ])
        .completes(Completes::Revision),
    Command::verb("history")
        .examples(&[("history tea", "when the object changed, and in which commit")])
        .completes(Completes::Id),
    Command::verb("snapshots").examples(&[("snapshots", "the states with a name, newest first")]),
    Command::own(
        "watch",
        "[COUNT]",
        "Commits as they come, until Ctrl-C or COUNT of them",
        watch,
    )
    .examples(&[
        ("watch", "what others are doing right now"),
        ("watch 1", "wait for the next one"),
    ])
    .endless(),
    Command::own(
        "lanes",
        "",
        "Who committed: lanes with their commits and snapshots",
        lanes,
    )
    .examples(&[("lanes", "every session and actor, the most recent first")]),
    Command::own(
        "references",
        "[--limit N]",
        "Every reference: snapshots, drafts, rejected changes",
        references,
    )
    .aliases(&["refs"])
    .examples(&[("references", "what names a commit, newest first")]),
];

fn commit(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let memory = shell.memory()?;
    let info = match arguments.word(0) {
        Some(revision) => shell.context.resolve(&memory, revision)?,
        None => shell.view()?.commit(),
    };
    let counts = memory.commit_counts(&info)?;
    let erased = if info.commit.op.as_str() == Op::ERASE {
        memory.erased_in(info.digest)?
    } else {
        Vec::new()
    };
    let output = &mut shell.context.output;
    if output.is_json() {
        let mut document = json::commit(&memory, &info, counts)?;
        if !erased.is_empty() {
            document["erased"] = erased.iter().map(|digest| to_hex(digest)).collect();
        }
        output.document(&document)?;
        return Ok(DONE);
    }
    let now = memory.view().now();
    let commit = &info.commit;
    let mut fields = vec![
        ("commit", name(info.digest.to_hex())),
        ("seq", text(commit.seq.to_string())),
        ("root", name(commit.root.to_hex())),
        ("op", text(commit.op.as_str())),
        (
            "time",
            text(format!(
                "{}  ({})",
                commit.time,
                crate::cli::time::ago(commit.time, now)
            )),
        ),
        ("lane", text(info.lane())),
        ("trust", text(commit.trust.name())),
        (
            "changes",
            text(format!(
                "{} added, {} changed, {} removed",
                counts.added, counts.changed, counts.removed
            )),
        ),
    ];
    let mut optional = |label, value: Option<String>| fields.extend(value.map(|value| (label, text(value))));
    optional("actor", commit.actor.clone());
    optional("session", commit.session.clone());
    optional("source", json::told_text(&memory, commit.source)?);
    optional("reason", json::told_text(&memory, commit.reason)?);
    optional("target", commit.target.map(CommitDigest::to_hex));
    fields.extend(erased.iter().map(|digest| ("erased", name(to_hex(digest)))));
    for parent in &commit.parents {
        fields.push(("parent", name(parent.to_hex())));
    }
    fields.push(("history root", text(commit.history_root.to_hex())));
    rows::document(output, fields)?;
    Ok(DONE)
}

/// How often the log is looked at for new commits.
const LOOK_EVERY: Duration = Duration::from_millis(100);

fn watch(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let most = arguments
        .word(0)
        .map(|text| arguments.parse_number(text))
        .transpose()?;
    let mut left = most.unwrap_or(u64::MAX);
    shell.check_folder()?;
    let memory = shell.memory()?;
    let mut seen = memory.view().commit().commit.seq;
    let output = &mut shell.context.output;
    if !output.is_json() {
        output.note("watching", format!("watching from seq:{seen} on; Ctrl-C ends it"));
    }
    while left > 0 {
        shell.context.output.check_stop()?;
        std::thread::sleep(LOOK_EVERY);
        shell.check_folder()?;
        let output = &mut shell.context.output;
        let newest = memory.refresh()?.commit().commit.seq;
        while seen < newest && left > 0 {
            (seen, left) = (seen + 1, left - 1);
            let info = memory.resolve(&Revision::Seq(seen), "")?;
            let counts = memory.commit_counts(&info)?;
            if output.is_json() {
                output.document(&json::commit(&memory, &info, counts)?)?;
            } else {
                let commit = &info.commit;
                let reason = json::text(&memory, commit.reason)?.unwrap_or_default();
                output.line(format_args!(
                    "{}  seq:{seen} {} by {}  +{} ~{} -{}  {}",
                    commit.time,
                    commit.op.as_str(),
                    human::one_line(info.lane()),
                    counts.added,
                    counts.changed,
                    counts.removed,
                    human::one_line(&reason)
                ))?;
            }
            output.flush()?;
        }
    }
    Ok(DONE)
}

/// What one lane did.
struct Lane {
    name: String,
    commits: u64,
    snapshots: u64,
    first: CommitInfo,
    last: CommitInfo,
}

fn lanes(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let memory = shell.memory()?;
    let mut lanes: Vec<Lane> = Vec::new();
    for info in shell.commits()? {
        let info = info?;
        match lanes.iter_mut().find(|lane| lane.name == info.lane()) {
            Some(lane) => {
                lane.commits += 1;
                lane.first = info;
            }
            None => lanes.push(Lane {
                name: info.lane().to_owned(),
                commits: 1,
                snapshots: 0,
                first: info.clone(),
                last: info,
            }),
        }
    }
    for snapshot in memory.snapshots()? {
        let lane = lanes
            .iter_mut()
            .find(|lane| Some(&lane.name) == snapshot.lane.as_ref());
        if let Some(lane) = lane {
            lane.snapshots += 1;
        }
    }
    let now = memory.view().now();
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["lane", "commits", "snapshots", "first seq", "last seq", "last"]);
    for lane in lanes {
        let fields = vec![
            name(&lane.name),
            count(lane.commits),
            count(lane.snapshots),
            count(lane.first.commit.seq),
            count(lane.last.commit.seq),
            moment(output, lane.last.commit.time, now),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn references(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    match arguments.value("--limit") {
        Some(limit) => shell.run_as("log", &["--refs", "--limit", limit]),
        None => shell.run_as("log", &["--refs"]),
    }
}

/// The commit before this one, in its chain.
pub(super) fn before(shell: &Shell<'_>, info: &CommitInfo) -> Result<Option<crate::engine::View>> {
    shell.memory()?.view_before(info)
}
