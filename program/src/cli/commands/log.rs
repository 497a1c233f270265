//! `log`: lists the commits, or the references.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;

use super::cells::{recorded, trust_column, writer_columns};
use super::follow::follow;
use super::gists::Gists;
use super::log_graph::{self, GraphLine};
use super::prelude::*;
use crate::answers::history::{LogLine, SnapshotLine};
use crate::cli::context::quoted;
use crate::cli::human::{Cell, Mark, ROWS_ALIGNED, Timeline, blank, drawing, spare};
#[cfg(feature = "remote")]
use crate::cli::remotes::Remotes;
use crate::cli::turns::{Turn, quarantined, turns};
#[cfg(feature = "remote")]
use treering::inspect::engine::MAIN_LINE;
use treering::inspect::engine::ReferenceInfo;
use treering::revert::Selection;

/// The number of characters of the text of a changed object.
const WORDS_CHARS: usize = 40;
/// The number of forks that are searched for a writer.
const LINES_SEARCHED: usize = 50;
/// The number of characters of the prompt of a turn.
const PROMPT_CHARS: usize = 60;
/// The number of characters of what a turn read.
const SOURCES_CHARS: usize = 80;

/// List the commits, newest first
///
/// # Notes
/// For people, a line ends with the first words of an object that the commit changed. `show` lists all changes. With
/// --turns, a line has the prompt, the changes of the turn, whether the turn was taken back, and what it read from outside,
/// also if that was quarantined.
/// --actor A, --session S and --source SRC list only the commits of that writer. The mark ! stands before an untrusted
/// writer: a tool, a document or an import.
///
/// # Examples
/// ```text
/// treering log --limit 10
/// treering log --session night-run --since 2h
/// treering log --source mail
/// treering log --at snap:0 --op rollback --json
/// treering log --refs
/// treering log --turns --session 7f3c0a52
/// treering log --graph
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads_by_writer(), verbatim_doc_comment)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is an independent option")]
pub(crate) struct Log {
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print each new commit, until Ctrl-C or --limit
    #[arg(long, conflicts_with_all = ["refs", "until"])]
    follow: bool,
    /// List the references instead of the commits: snapshots, drafts, rejected changes
    #[arg(long, conflicts_with_all = ["op", "source"])]
    refs: bool,
    /// List the turns instead of the commits: from a prompt of the person to the next one
    #[arg(long, conflicts_with_all = ["op", "source", "refs", "follow"])]
    turns: bool,
    /// Draw the forks beside the commits: where each left, and where a merge brought it in
    #[arg(long, conflicts_with_all = ["follow", "refs", "turns"])]
    graph: bool,
    /// Only commits of this operation: put, ingest, remove, rollback, undo, ...
    #[arg(long, value_name = "OP")]
    op: Option<String>,
    /// Only commits since this time: a date, a time, an age (3d), or words (yesterday, last week, 2026-11)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only commits until this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Verb for Log {
    const ANSWERS: &'static [Form] = &[
        form::<LogLine>("one per line"),
        form::<GraphLine>("with --graph, one per line"),
        form::<ReferenceInfo>("with --refs, one per line"),
        form::<Turn>("with --turns, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_line_to_read()?;
        if self.follow {
            return follow(
                context,
                &memory,
                &context.written_by(),
                self.limit.unwrap_or(usize::MAX),
            );
        }
        let now = memory.view().now();
        let mut wanted = context.written_by();
        wanted.since = time::given(self.since.as_deref(), now)?;
        wanted.until = time::given(self.until.as_deref(), now)?;
        if self.refs {
            return references(context, &memory, &wanted, self.limit);
        }
        if self.turns {
            return list_turns(context, &memory, &wanted, self.limit);
        }
        let newest = context.view(&memory)?.commit().commit;
        let is_of = |memory: &Memory, CommitInfo { commit, .. }: &CommitInfo| {
            wanted.is_in_time(commit.time)
                && wanted.made(memory, commit)
                && self.op.as_ref().is_none_or(|op| commit.op.as_str() == op)
        };
        if self.graph {
            let wanted = log_graph::Wanted {
                own: &memory,
                most: self.limit.unwrap_or(usize::MAX),
                until: context.at().is_some().then_some(newest.time),
                is_wanted: &is_of,
            };
            return log_graph::list(context, &wanted);
        }
        let is_wanted = |info: &CommitInfo| info.commit.seq <= newest.seq && is_of(&memory, info);
        let commits = memory
            .commits()
            .filter(|info| info.as_ref().map_or(true, is_wanted));
        let mut commits = commits.take(self.limit.unwrap_or(usize::MAX));
        // The lanes of the first rows set the number of lanes in the graph.
        let first = commits.by_ref().take(ROWS_ALIGNED).collect::<Result<Vec<_>>>()?;
        let mut graph = Graph::new(context, &memory, first.iter().map(CommitInfo::lane))?;
        let mut commits = first.into_iter().map(Ok).chain(commits).peekable();
        let mut table = Table::default();
        let mut is_empty = true;
        while let Some(info) = commits.next().transpose()? {
            is_empty = false;
            let line = LogLine::of(&memory, &info)?;
            if context.output.json(&line)? {
                continue;
            }
            let cells = graph.cells(context, &memory, &info, &line, None)?;
            // The graph shows a gap below the oldest listed commit only if `--limit` did not shorten the list.
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
        table.end(&mut context.output)?;
        if is_empty {
            context.nothing_by(&memory, &wanted)?;
            let lines = if wanted.is_everyone() {
                Vec::new()
            } else {
                lines_of(&memory, &wanted)?
            };
            if let Some(line) = lines.first() {
                let line = quoted(Path::new(line));
                let text = format!(
                    "this line shows a merge as one commit; list what it brought in with: treering log --at {line}"
                );
                context.note_for_people("next", text);
            }
        }
        Ok(DONE)
    }
}

/// Returns the other lines with a commit of the writer, as revisions: forks, and lines of remotes.
fn lines_of(memory: &Memory, wanted: &Selection) -> Result<Vec<String>> {
    // The lines of remotes are forks of other names.
    let forks = memory.live_forks().into_iter();
    let forks = forks.filter(|fork| !fork.name.starts_with("remote:"));
    let forks = forks.map(|fork| (format!("fork:{}", fork.name), Revision::Fork(fork.name)));
    let remotes = Vec::new();
    #[cfg(feature = "remote")]
    let remotes = Remotes::of(memory).map_or(remotes, |remotes| remotes.entries());
    #[cfg(feature = "remote")]
    let remotes: Vec<_> = remotes
        .iter()
        .map(|remote| format!("{}/{MAIN_LINE}", remote.name))
        .map(|line| (format!("remote:{line}"), Revision::Remote(line)))
        .collect();
    let mut found = Vec::new();
    for (name, revision) in forks.take(LINES_SEARCHED).chain(remotes) {
        // Nothing may have been fetched from a remote.
        let Ok(view) = memory.view_at(&revision, "") else {
            continue;
        };
        let line = memory.on_line_of(&view)?;
        for info in line.commits() {
            if wanted.made(&line, &info?.commit) {
                found.push(name);
                break;
            }
        }
    }
    Ok(found)
}

/// Lists the turns of a session, or of all sessions.
fn list_turns(context: &mut Context, memory: &Memory, wanted: &Selection, limit: Option<usize>) -> Done {
    let session = wanted.sessions.first().map(String::as_str);
    let until = context.view(memory)?.commit().commit.time;
    let held = quarantined(memory);
    let found = turns(memory, session);
    let found = found.filter(|turn| {
        turn.as_ref()
            .map_or(true, |turn| turn.time <= until && wanted.is_in_time(turn.time))
    });
    let found = found.take(limit.unwrap_or(usize::MAX));
    let gists = Gists::new(context, memory, None);
    let found = found.map(|turn| {
        let mut turn = turn?.read(memory, &held)?;
        let prompt = turn.prompt.as_ref();
        turn.words = prompt.map(|prompt| cut(&gists.of(prompt), PROMPT_CHARS));
        Ok(turn)
    });
    context.rows_by(memory, wanted, found, |turn, context| {
        let sources: Vec<&str> = turn.sources.iter().map(String::as_str).collect();
        let mut cells = vec![
            ("turn", named(&turn.turn)),
            ("when", context.when(turn.time)),
            ("prompt", optional(turn.words.as_deref())),
        ];
        cells.extend(count_columns(turn.counts));
        let standing = match (turn.taken_back, turn.quarantined) {
            (true, _) => "taken back".to_owned(),
            (false, 0) => String::new(),
            (false, held) => format!("{held} quarantined"),
        };
        cells.extend([
            ("standing", plain(standing)),
            ("read", plain(cut(&sources.join(" "), SOURCES_CHARS))),
            ("session", minor(2, plain(&turn.session))),
        ]);
        cells
    })
}

/// The graph and the snapshots next to the commits in the output of `log`.
pub(super) struct Graph {
    timeline: Timeline,
    /// The snapshots of each commit by seq, in the form that the user types.
    snapshots: HashMap<u64, Vec<String>>,
    gists: Gists,
}

impl Graph {
    /// The timeline draws these lanes.
    pub(super) fn new<'a>(
        context: &Context,
        memory: &Memory,
        lanes: impl Iterator<Item = &'a str>,
    ) -> Result<Self> {
        Ok(Self {
            timeline: Timeline::new(lanes),
            snapshots: SnapshotLine::names(memory, &context.lane())?,
            gists: Gists::new(context, memory, None),
        })
    }

    /// Returns whether a commit has a snapshot.
    pub(super) fn is_named(&self, seq: u64) -> bool {
        self.snapshots.contains_key(&seq)
    }

    /// Returns the first words of an object that the commit changed. A model gets no untrusted text (STX-2).
    fn words_of(&self, memory: &Memory, info: &CommitInfo) -> Result<Option<String>> {
        let changed = memory.changed_in(info)?;
        Ok(changed.map(|object| cut(&self.gists.of(&object), WORDS_CHARS)))
    }

    /// Returns the columns of a commit for people. `drawn` takes the place of the timeline.
    pub(super) fn cells(
        &mut self,
        context: &Context,
        memory: &Memory,
        info: &CommitInfo,
        line: &LogLine,
        drawn: Option<String>,
    ) -> Result<Columns> {
        let found = |target: CommitDigest| memory.resolve(&Revision::Prefix(target.to_hex()), "");
        // The target may be missing, because a salvage can lose commits.
        let target = line.target.and_then(|target| found(target).ok());
        let target = target.map(|target| target.commit.seq);
        let snapshots = self.snapshots.get(&line.seq).map(|names| names.join(", "));
        let is_rollback = line.op == Op::ROLLBACK;
        let mark = Mark {
            seq: line.seq,
            lane: info.lane(),
            named: snapshots.is_some(),
            back_to: target.filter(|_| is_rollback),
        };
        // The open memory may not have a commit of another line.
        let commit = match drawn {
            Some(_) => short(line.commit.as_bytes()),
            None => context.short(line.commit.as_bytes()),
        };
        let graph = drawn.unwrap_or_else(|| self.timeline.row(mark));
        let op = match target {
            Some(seq) if is_rollback => format!("rollback to {seq}"),
            Some(seq) => format!("{} of {seq}", line.op),
            None => line.op.clone(),
        };
        let reason = recorded(line.reason.as_deref(), line.reason_erased, line.reason_lost);
        let mut cells = vec![
            ("", minor(4, drawing(graph))),
            ("seq", number(line.seq)),
            ("commit", minor(5, named(commit))),
            ("op", plain(op)),
        ];
        cells.extend(count_columns(line.counts));
        cells.push(trust_column(line.trust, context));
        let source = recorded(line.source.as_deref(), line.source_erased, line.source_lost);
        cells.extend(writer_columns(
            info.lane(),
            line.actor.as_deref(),
            source.as_deref(),
        ));
        cells.extend([
            ("when", minor(3, context.when(line.time))),
            ("snapshots", minor(2, named(snapshots.unwrap_or_default()))),
            ("reason", minor(1, spare(optional(reason.as_deref())))),
            (
                "text",
                minor(4, spare(optional(self.words_of(memory, info)?.as_deref()))),
            ),
        ]);
        Ok(cells)
    }
}

/// Returns the row that counts thinned commits, below the row of a commit.
fn thinned_cells(above: &Columns, thinned: u64) -> Columns {
    let cell = |(name, above): &(&'static str, Cell)| match *name {
        "" => minor(4, drawing(":")),
        "op" => coloured(Meaning::Quiet, format!("... {thinned} thinned ...")),
        _ => blank(above),
    };
    above.iter().map(|above| (above.0, cell(above))).collect()
}

fn references(context: &mut Context, memory: &Memory, wanted: &Selection, limit: Option<usize>) -> Done {
    let until = context.view(memory)?.commit().commit.time;
    let of_the_past = context.at().is_some();
    let found = memory
        .references()
        .into_iter()
        .filter(|info| !of_the_past || info.time <= until)
        .filter(|info| {
            wanted.is_in_time(info.time) && wanted.has(info.actor.as_deref(), info.session.as_deref())
        });
    let found = found.take(limit.unwrap_or(usize::MAX));
    context.rows_by(memory, wanted, found.map(Ok), |info, context| {
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
