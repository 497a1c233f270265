//! `log`: lists the commits, or the references.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;

use super::cells::recorded;
use super::follow::follow;
use super::prelude::*;
use crate::answers::history::{LogLine, SnapshotLine};
use crate::cli::args::LaneOptions;
use crate::cli::human::{Mark, ROWS_ALIGNED, Timeline, drawing};
use crate::digest::CommitDigest;
use crate::engine::{ReferenceInfo, Revision};

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
    const ANSWERS: &'static [Form] = &[
        form::<LogLine>("one per line"),
        form::<ReferenceInfo>("with --refs, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        if self.follow {
            return follow(context, &memory, self.limit.unwrap_or(usize::MAX));
        }
        let now = memory.view().now();
        let wanted = Wanted {
            lane: context.options.lane.clone(),
            since: time::given(self.since.as_deref(), now)?,
            until: time::given(self.until.as_deref(), now)?,
        };
        if self.refs {
            return references(context, &memory, &wanted, self.limit);
        }
        let newest = context.view(&memory)?.commit().commit.seq;
        let is_wanted = |CommitInfo { commit, .. }: &CommitInfo| {
            commit.seq <= newest
                && wanted.has(commit.actor.as_deref(), commit.session.as_deref(), commit.time)
                && self.op.as_ref().is_none_or(|op| commit.op.as_str() == op)
        };
        let commits = memory
            .commits()
            .filter(|info| info.as_ref().map_or(true, is_wanted));
        let mut commits = commits.take(self.limit.unwrap_or(usize::MAX));
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
            let (line, shown) = line?;
            if !context.output.json(&line)? {
                let commit = cells_of(&line, &shown, context);
                let thinned = thinned_columns(&commit, shown.thinned_below);
                table.row(&mut context.output, commit)?;
                if shown.thinned_below > 0 {
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
    /// Returns the line of a commit, and its place in the graph. It counts the thinned commits below it, down to the
    /// number `older`.
    fn line(&mut self, memory: &Memory, info: &CommitInfo, older: Option<u64>) -> Result<(LogLine, Shown)> {
        let seq = info.commit.seq;
        let found = |target: CommitDigest| memory.resolve(&Revision::Prefix(target.to_hex()), "");
        let target = info.commit.target.map(found).transpose()?;
        let target = target.map(|target| target.commit.seq);
        let snapshots = self.snapshots.get(&seq).map(|names| names.join(", "));
        let line = LogLine::of(memory, info)?;
        let is_rollback = line.op == "rollback";
        let shown = Shown {
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
            thinned_below: older.map_or(0, |older| memory.thinned_in(older..seq)),
        };
        Ok((line, shown))
    }
}

/// What `log` shows to people beside the line of a commit.
struct Shown {
    /// The row of the drawing that shows lanes and rollbacks.
    graph: String,
    lane: String,
    op: String,
    /// The snapshots of its state, as the user types them.
    snapshots: String,
    /// The number of thinned commits between it and the next older one in the list.
    thinned_below: u64,
}

fn cells_of(row: &LogLine, shown: &Shown, context: &Context) -> Columns {
    let reason = recorded(row.reason.as_deref(), row.reason_erased, row.reason_lost);
    let mut cells = vec![
        ("", drawing(&shown.graph)),
        ("seq", number(row.seq)),
        ("commit", minor(named(context.short(row.commit.as_bytes())))),
        ("op", plain(&shown.op)),
    ];
    cells.extend(count_columns(row.counts));
    cells.extend([
        ("lane", minor(plain(&shown.lane))),
        ("when", context.when(row.time)),
        ("snapshots", named(&shown.snapshots)),
        ("reason", optional(reason.as_deref())),
    ]);
    cells
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
    lane: LaneOptions,
    since: Option<Time>,
    until: Option<Time>,
}

impl Wanted {
    fn has(&self, actor: Option<&str>, session: Option<&str>, time: Time) -> bool {
        let fits = |wanted: &Option<String>, found| wanted.is_none() || wanted.as_deref() == found;
        fits(&self.lane.actor, actor)
            && fits(&self.lane.session, session)
            && self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time <= until)
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
    context.rows(found.map(Ok), |info, context| {
        let short = |commit: CommitDigest| context.short(commit.as_bytes());
        vec![
            ("reference", named(&info.name)),
            (
                "commit",
                plain(info.commit.map_or_else(|| "deleted".to_owned(), short)),
            ),
            ("made", context.when(info.time)),
            ("reason", optional(info.reason.as_deref())),
        ]
    })
}
