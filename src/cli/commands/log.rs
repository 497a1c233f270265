//! `log`, `diff`: what happened, and what is different.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use std::collections::HashMap;

use serde_json::json;

use super::snapshots::revision_of;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure, NO};
use crate::cli::human::{
    Cell, Mark, ROWS_ALIGNED, Table, Timeline, change_lines, coloured, drawing, erased_line, minor, number,
    plain, short_in,
};
use crate::cli::json;
use crate::cli::output::{Meaning, Output};
use crate::cli::time;
use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::{Change, ChangeKind, CommitInfo, Memory, Revision, View};
use crate::error::Result;
use crate::object::{Commit, Time};

/// The columns of `log`.
const LOG_HEADINGS: [&str; 11] = [
    "",
    "seq",
    "commit",
    "op",
    "+",
    "~",
    "-",
    "lane",
    "when",
    "snapshots",
    "reason",
];

/// List the commits, newest first
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "--actor A and --session S show only what that actor did, or was done in that session.\n\n\
                  Examples:\n  treering log --limit 10\n  treering log --session night-run --since 2h\n  \
                  treering log --at snap:0 --op rollback --json\n  treering log --refs"
)]
pub(crate) struct Log {
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// List the references instead: snapshots, drafts, rejected
    #[arg(long, conflicts_with = "op")]
    pub(crate) refs: bool,
    /// Only this operation: put, ingest, remove, rollback, undo, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or how long ago (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

impl Verb for Log {
    const NAME: &'static str = "log";

    fn run(self, context: &mut Context) -> Done {
        log(context, &self)
    }
}

/// Show what changed between two states
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering diff snap:0\n  treering diff @-5 @-2 --json\n  \
                  treering diff release-1 --exit-code"
)]
pub(crate) struct Diff {
    /// From this state
    #[arg(value_name = "REV")]
    pub(crate) from: String,
    /// To this one [default: @]
    #[arg(value_name = "REV2")]
    pub(crate) to: Option<String>,
    /// Exit with 1 where they differ
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for Diff {
    const NAME: &'static str = "diff";

    fn run(self, context: &mut Context) -> Done {
        diff(context, &self)
    }
}

fn log(context: &mut Context, verb: &Log) -> Done {
    if verb.refs {
        return references(context, verb);
    }
    let memory = context.open_to_read()?;
    let newest = context.view(&memory)?.commit().commit.seq;
    let now = memory.view().now();
    let mut table = Table::new(&LOG_HEADINGS);
    let names = snapshot_names(&memory, &context.lane())?;
    let wanted = Wanted::new(context, verb, now)?;
    let commits = memory
        .commits()
        .filter(|info| {
            info.as_ref().map_or(true, |info| {
                info.commit.seq <= newest && wanted.has_commit(&info.commit)
            })
        })
        .take(verb.limit.unwrap_or(usize::MAX));
    let (first, rest) = first_of(commits)?;
    let mut timeline = Timeline::new(first.iter().map(CommitInfo::lane));
    let mut newer = None;
    for info in first.into_iter().map(Ok).chain(rest) {
        let info = info?;
        let counts = memory.commit_counts(&info)?;
        if context.output.is_json() {
            context.output.document(&json::commit(&memory, &info, counts)?)?;
            continue;
        }
        let commit = &info.commit;
        let thinned = newer.map_or(0, |newer| memory.thinned_in(commit.seq..newer));
        if thinned > 0 {
            table.row(&mut context.output, gap_cells(thinned))?;
        }
        newer = Some(commit.seq);
        let target = target_of(&memory, commit)?;
        let is_rollback = commit.op.as_str() == "rollback";
        let marks = names
            .get(&commit.seq)
            .map(|names| names.join(", "))
            .unwrap_or_default();
        let graph = timeline.row(Mark {
            seq: commit.seq,
            lane: info.lane(),
            named: !marks.is_empty(),
            back_to: target.filter(|_| is_rollback),
        });
        let op = match target {
            Some(seq) if is_rollback => format!("rollback to {seq}"),
            Some(seq) => format!("{} of {seq}", commit.op.as_str()),
            None => commit.op.as_str().to_owned(),
        };
        let reason = json::told_text(&memory, commit.reason)?;
        let cells = vec![
            drawing(graph),
            number(commit.seq),
            minor(coloured(Meaning::Name, short_in(&memory, info.digest.as_bytes()))),
            plain(op),
            minor(coloured(Meaning::Good, format!("+{}", counts.added))),
            minor(coloured(Meaning::Changed, format!("~{}", counts.changed))),
            minor(coloured(Meaning::Bad, format!("-{}", counts.removed))),
            minor(plain(info.lane())),
            coloured(
                Meaning::Quiet,
                time::told(commit.time, now, context.output.style()),
            ),
            coloured(Meaning::Name, marks),
            plain(reason.unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    // What lies before the oldest, unless there is more to list.
    let left = newer.map_or(0, |newer| memory.thinned_in(0..newer));
    if left > 0 && verb.limit.is_none() && !context.output.is_json() {
        table.row(&mut context.output, gap_cells(left))?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

/// A row that stands for commits that are not there any more.
fn gap_cells(thinned: u64) -> Vec<Cell> {
    let mut cells: Vec<_> = LOG_HEADINGS.iter().map(|_| minor(plain(""))).collect();
    cells[0] = drawing(":");
    cells[3] = coloured(Meaning::Quiet, format!("... {thinned} thinned ..."));
    cells
}

/// The first commits, which tell how many lanes there are to draw, and the others.
fn first_of(
    mut commits: impl Iterator<Item = Result<CommitInfo>>,
) -> Result<(Vec<CommitInfo>, impl Iterator<Item = Result<CommitInfo>>)> {
    let first = commits.by_ref().take(ROWS_ALIGNED).collect::<Result<_>>()?;
    Ok((first, commits))
}

/// The commit that a rollback, undo or redo is about.
fn target_of(memory: &Memory, commit: &Commit) -> Result<Option<u64>> {
    let Some(target) = commit.target else {
        return Ok(None);
    };
    let found = memory.resolve(&Revision::Prefix(target.to_hex()), "")?;
    Ok(Some(found.commit.seq))
}

/// The snapshots of each commit, as they are typed in this lane; those of other rings with the name of theirs.
fn snapshot_names(memory: &Memory, lane: &str) -> Result<HashMap<u64, Vec<String>>> {
    let mut names: HashMap<u64, Vec<String>> = HashMap::new();
    for info in memory.snapshots()? {
        let other = info
            .lane
            .as_deref()
            .filter(|other| info.index.is_some() && *other != lane);
        let name = match other {
            Some(other) => format!("{} of {other}", revision_of(&info)),
            None => revision_of(&info),
        };
        names.entry(info.seq).or_default().push(name);
    }
    Ok(names)
}

/// What of the log is asked for.
struct Wanted {
    actor: Option<String>,
    session: Option<String>,
    op: Option<String>,
    since: Option<Time>,
    until: Option<Time>,
}

impl Wanted {
    fn new(context: &Context, verb: &Log, now: Time) -> Result<Self> {
        let moment = |text: &Option<String>| text.as_deref().map(|text| time::moment(text, now)).transpose();
        Ok(Self {
            actor: context.options.lane.actor.clone(),
            session: context.options.lane.session.clone(),
            op: verb.op.clone(),
            since: moment(&verb.since)?,
            until: moment(&verb.until)?,
        })
    }

    fn has(&self, actor: Option<&str>, session: Option<&str>, time: Time) -> bool {
        let fits =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        fits(&self.actor, actor)
            && fits(&self.session, session)
            && self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time <= until)
    }

    fn has_commit(&self, commit: &Commit) -> bool {
        self.has(commit.actor.as_deref(), commit.session.as_deref(), commit.time)
            && self.op.as_ref().is_none_or(|op| commit.op.as_str() == op)
    }
}

fn references(context: &mut Context, verb: &Log) -> Done {
    let memory = context.open_to_read()?;
    let until = context.view(&memory)?.commit().commit.time;
    let now = memory.view().now();
    let wanted = Wanted::new(context, verb, now)?;
    let of_the_past = context.options.at.is_some();
    let mut table = Table::new(&["reference", "commit", "made", "reason"]);
    let found = memory
        .references()
        .into_iter()
        .filter(|info| !of_the_past || info.time <= until)
        .filter(|info| wanted.has(info.actor.as_deref(), info.session.as_deref(), info.time));
    for info in found.take(verb.limit.unwrap_or(usize::MAX)) {
        if context.output.is_json() {
            context.output.document(&json!({
                "name": info.name,
                "commit": info.commit.map(CommitDigest::to_hex),
                "time": info.time.to_string(),
                "actor": info.actor,
                "session": info.session,
                "reason": info.reason,
            }))?;
            continue;
        }
        let commit = info.commit.map_or_else(
            || "deleted".to_owned(),
            |commit| short_in(&memory, commit.as_bytes()),
        );
        let cells = vec![
            coloured(Meaning::Name, &info.name),
            plain(commit),
            coloured(Meaning::Quiet, time::told(info.time, now, context.output.style())),
            plain(info.reason.as_deref().unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn diff(context: &mut Context, verb: &Diff) -> Done {
    if verb.to.is_some() && context.options.at.is_some() {
        return Err(Failure::usage(
            "--at and a second revision both say where to look",
            "write treering diff REV REV2",
        ));
    }
    let memory = context.open_to_read()?;
    let older = context.view_of(&memory, &verb.from)?;
    let newer = match &verb.to {
        Some(to) => context.view_of(&memory, to)?,
        None => context.view(&memory)?,
    };
    let changes = memory.diff(&older, &newer)?;
    let limit = verb.limit.unwrap_or(usize::MAX);
    show_changes(&mut context.output, &older, &newer, &changes, limit)?;
    Ok(if verb.exit_code && !changes.is_empty() {
        NO
    } else {
        DONE
    })
}

/// What changed between two states: at most `limit` changes, then how many there are.
pub(in crate::cli) fn show_changes(
    output: &mut Output,
    older: &View,
    newer: &View,
    changes: &[Change],
    limit: usize,
) -> Result<(), Failure> {
    for change in changes.iter().take(limit) {
        if output.is_json() {
            output.document(&json!({
                "id": change.id.as_str(),
                "change": change.kind().name(),
                "old": change.old.map(ObjectDigest::to_hex),
                "new": change.new.map(ObjectDigest::to_hex),
                "erased": change.erased,
            }))?;
        } else {
            show_change(output, older, newer, change)?;
        }
    }
    if !output.is_json() {
        summary(output, changes);
    }
    Ok(())
}

/// One change for people.
pub(in crate::cli) fn show_change(
    output: &mut Output,
    older: &View,
    newer: &View,
    change: &Change,
) -> Result<(), Failure> {
    if change.erased {
        return output.line(erased_line(output.style(), change));
    }
    let (old, new) = (older.get(&change.id)?, newer.get(&change.id)?);
    let lines = change_lines(output.style(), change.id.as_str(), old.as_ref(), new.as_ref());
    lines.into_iter().try_for_each(|line| output.line(line))
}

fn summary(output: &mut Output, changes: &[Change]) {
    if changes.is_empty() {
        output.note("no_difference", "no difference");
        return;
    }
    let count = |kind| changes.iter().filter(|change| change.kind() == kind).count();
    let (added, changed) = (count(ChangeKind::Added), count(ChangeKind::Changed));
    let removed = count(ChangeKind::Removed);
    output.note(
        "summary",
        format!("{added} added, {changed} changed, {removed} removed"),
    );
}
