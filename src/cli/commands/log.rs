//! `log`: lists the commits, or the references.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;

use super::follow::follow;
use super::prelude::*;
use crate::answers::history::{LogGraph, LogLine, RecordedText, SnapshotLine};
use crate::cli::human::{Mark, ROWS_ALIGNED, Timeline, drawing};
use crate::engine::{ReferenceInfo, Revision};
use crate::object::Commit;

/// List the commits, newest first
///
/// # Notes
/// --actor A and --session S show only the commits of that actor or session.
///
/// # Examples
/// ```text
/// treering log --limit 10
/// treering log --session night-run --since 2h
/// treering log --at snap:0 --op rollback --json
/// treering log --refs
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Log {
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print each new commit as it is made, until Ctrl-C or --limit
    #[arg(long, conflicts_with_all = ["refs", "until"])]
    follow: bool,
    /// List the references instead: snapshots, drafts, rejected
    #[arg(long, conflicts_with = "op")]
    refs: bool,
    /// Only this operation: put, ingest, remove, rollback, undo, ...
    #[arg(long, value_name = "OP")]
    op: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or an age (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Verb for Log {
    const NAME: &'static str = "log";
    const ANSWERS: &'static [Form] = &[
        form::<LogLine>("one per line"),
        form::<ReferenceInfo>("with --refs, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        if self.follow {
            return follow(context, &memory, self.limit.unwrap_or(usize::MAX));
        }
        let wanted = Wanted::new(context, &self, memory.view().now())?;
        if self.refs {
            return references(context, &memory, &wanted, self.limit);
        }
        let newest = context.view(&memory)?.commit().commit.seq;
        let is_wanted = |info: &CommitInfo| info.commit.seq <= newest && wanted.has_commit(&info.commit);
        let mut commits = memory
            .commits()
            .filter(|info| info.as_ref().map_or(true, is_wanted))
            .take(self.limit.unwrap_or(usize::MAX));
        // The first rows set the number of lanes in the graph.
        let first = commits.by_ref().take(ROWS_ALIGNED).collect::<Result<Vec<_>>>()?;
        let mut graph = Graph {
            timeline: Timeline::new(first.iter().map(CommitInfo::lane)),
            snapshots: snapshot_names(&memory, &context.lane())?,
        };
        let mut commits = first.into_iter().map(Ok).chain(commits).peekable();
        let lines = std::iter::from_fn(|| {
            let info = commits.next()?;
            let older = commits.peek().and_then(|older| older.as_ref().ok());
            // Below the oldest listed commit, a gap is shown only if no limit cut the list off.
            let to = match older {
                Some(older) => Some(older.commit.seq),
                None => self.limit.is_none().then_some(0),
            };
            Some(info.and_then(|info| graph.line(&memory, &info, to)))
        });
        let mut table = Table::default();
        for line in lines {
            let line = line?;
            if !context.output.json(&line)? {
                let commit = columns(&line, context);
                let thinned = thinned_columns(&commit, line.shown.thinned_below);
                table.row(&mut context.output, commit)?;
                if line.shown.thinned_below > 0 {
                    table.row(&mut context.output, thinned)?;
                }
            }
        }
        table.finish(&mut context.output)?;
        Ok(DONE)
    }
}

/// The graph and the snapshots that `log` shows next to the commits.
struct Graph {
    timeline: Timeline,
    /// The snapshots of each commit, as the user types them.
    snapshots: HashMap<u64, Vec<String>>,
}

impl Graph {
    /// Returns the line of a commit. It counts the thinned commits below it, down to the number `older`.
    fn line(&mut self, memory: &Memory, info: &CommitInfo, older: Option<u64>) -> Result<LogLine> {
        let seq = info.commit.seq;
        let target = target_of(memory, &info.commit)?;
        let snapshots = self.snapshots.get(&seq).map(|names| names.join(", "));
        let mut line = LogLine::of(memory, info)?;
        let is_rollback = line.op == "rollback";
        line.shown = LogGraph {
            graph: self.timeline.row(Mark {
                seq,
                lane: info.lane(),
                named: snapshots.is_some(),
                back_to: target.filter(|_| is_rollback),
            }),
            lane: info.lane().to_owned(),
            op: match target {
                Some(seq) if is_rollback => format!("rollback to {seq}"),
                Some(seq) => format!("{} of {seq}", line.op),
                None => line.op.clone(),
            },
            snapshots: snapshots.unwrap_or_default(),
            reason: RecordedText::of(memory, info.commit.reason)?.into_shown(),
            thinned_below: older.map_or(0, |older| memory.thinned_in(older..seq)),
        };
        Ok(line)
    }
}

fn columns(row: &LogLine, context: &Context) -> Columns {
    let [added, changed, removed] = human::change_counts(row.counts);
    vec![
        ("", drawing(&row.shown.graph)),
        ("seq", number(row.seq)),
        (
            "commit",
            minor(coloured(Meaning::Name, context.short(row.commit.as_bytes()))),
        ),
        ("op", plain(&row.shown.op)),
        added,
        changed,
        removed,
        ("lane", minor(plain(&row.shown.lane))),
        ("when", context.when(row.time)),
        ("snapshots", coloured(Meaning::Name, &row.shown.snapshots)),
        ("reason", plain(row.shown.reason.as_deref().unwrap_or_default())),
    ]
}

/// The row of thinned commits, below the row of a commit.
fn thinned_columns(above: &Columns, thinned: u64) -> Columns {
    let cell = |name: &'static str| match name {
        "" => drawing(":"),
        "op" => coloured(Meaning::Quiet, format!("... {thinned} thinned ...")),
        _ => minor(plain("")),
    };
    above.iter().map(|(name, _)| (*name, cell(name))).collect()
}

/// Returns the seq of the commit that a rollback, undo or redo refers to.
fn target_of(memory: &Memory, commit: &Commit) -> Result<Option<u64>> {
    let Some(target) = commit.target else {
        return Ok(None);
    };
    let found = memory.resolve(&Revision::Prefix(target.to_hex()), "")?;
    Ok(Some(found.commit.seq))
}

/// Returns the snapshots of each commit, as the user types them in this lane. The names of other rings include their
/// lane.
fn snapshot_names(memory: &Memory, lane: &str) -> Result<HashMap<u64, Vec<String>>> {
    let mut names: HashMap<u64, Vec<String>> = HashMap::new();
    for info in memory.snapshots()? {
        let snapshot = SnapshotLine::from(info);
        let other = snapshot.lane.as_deref();
        let name = match other.filter(|other| snapshot.index.is_some() && *other != lane) {
            Some(other) => format!("{} of {other}", snapshot.revision()),
            None => snapshot.revision(),
        };
        names.entry(snapshot.seq).or_default().push(name);
    }
    Ok(names)
}

/// The filter of the log.
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

fn references(context: &mut Context, memory: &Memory, wanted: &Wanted, limit: Option<usize>) -> Done {
    let until = context.view(memory)?.commit().commit.time;
    let of_the_past = context.at().is_some();
    let found = memory
        .references()
        .into_iter()
        .filter(|info| !of_the_past || info.time <= until)
        .filter(|info| wanted.has(info.actor.as_deref(), info.session.as_deref(), info.time));
    let found = found.take(limit.unwrap_or(usize::MAX));
    context.rows(found.map(Ok), columns_of_reference)
}

fn columns_of_reference(info: &ReferenceInfo, context: &Context) -> Columns {
    let commit = match info.commit {
        Some(commit) => context.short(commit.as_bytes()),
        None => "deleted".to_owned(),
    };
    vec![
        ("reference", coloured(Meaning::Name, &info.name)),
        ("commit", plain(commit)),
        ("made", context.when(info.time)),
        ("reason", plain(info.reason.as_deref().unwrap_or_default())),
    ]
}
