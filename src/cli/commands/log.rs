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
use crate::engine::ReferenceInfo;

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
            snapshots: SnapshotLine::names(&memory, &context.lane())?,
        };
        let mut commits = first.into_iter().map(Ok).chain(commits).peekable();
        let mut table = Table::default();
        while let Some(info) = commits.next().transpose()? {
            let line = LogLine::of(&memory, &info)?;
            if context.output.json(&line)? {
                continue;
            }
            let cells = graph.cells(context, &memory, &info, &line);
            // Below the oldest listed commit, a gap is shown only if no limit cut the list off.
            let older = match commits.peek() {
                Some(Ok(older)) => Some(older.commit.seq),
                _ => self.limit.is_none().then_some(0),
            };
            let thinned = older.map_or(0, |older| memory.thinned_in(older..line.seq));
            let gap = (thinned > 0).then(|| thinned_cells(&cells, thinned));
            for row in [Some(cells), gap].into_iter().flatten() {
                table.row(&mut context.output, row)?;
            }
        }
        if table.end(&mut context.output)? == 0 {
            context.output.nothing_found();
        }
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
    /// Returns the cells of a commit, for people.
    fn cells(&mut self, context: &Context, memory: &Memory, info: &CommitInfo, line: &LogLine) -> Columns {
        let found = |target: CommitDigest| memory.resolve(&Revision::Prefix(target.to_hex()), "");
        // A salvage may have lost the target.
        let target = line.target.and_then(|target| found(target).ok());
        let target = target.map(|target| target.commit.seq);
        let snapshots = self.snapshots.get(&line.seq).map(|names| names.join(", "));
        let is_rollback = line.op == Op::ROLLBACK;
        let graph = self.timeline.row(Mark {
            seq: line.seq,
            lane: info.lane(),
            named: snapshots.is_some(),
            back_to: target.filter(|_| is_rollback),
        });
        let op = match target {
            Some(seq) if is_rollback => format!("rollback to {seq}"),
            Some(seq) => format!("{} of {seq}", line.op),
            None => line.op.clone(),
        };
        let reason = recorded(line.reason.as_deref(), line.reason_erased, line.reason_lost);
        let mut cells = vec![
            ("", drawing(graph)),
            ("seq", number(line.seq)),
            ("commit", minor(named(context.short(line.commit.as_bytes())))),
            ("op", plain(op)),
        ];
        cells.extend(count_columns(line.counts));
        cells.extend([
            ("lane", minor(plain(info.lane()))),
            ("when", context.when(line.time)),
            ("snapshots", named(snapshots.unwrap_or_default())),
            ("reason", optional(reason.as_deref())),
        ]);
        cells
    }
}

/// The row of thinned commits, below the row of a commit.
fn thinned_cells(above: &Columns, thinned: u64) -> Columns {
    let cell = |name: &'static str| match name {
        "" => drawing(":"),
        "op" => coloured(Meaning::Quiet, format!("... {thinned} thinned ...")),
        _ => minor(plain("")),
    };
    above.iter().map(|(name, _)| (*name, cell(name))).collect()
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
