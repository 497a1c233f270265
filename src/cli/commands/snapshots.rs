//! `snapshot`, `snapshots`, `rollback`, `undo`, `redo`: going back and forth in time.
//!
//! # Layer
//! L10, part of cli.

use super::store::state_line;
use crate::answers::commits::Moved;
use crate::cli::args;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{Table, coloured, number, plain, short};
use crate::cli::json;
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::cli::verb::Verb;
use crate::engine::SnapshotInfo;
use crate::object::check_snapshot_name;
use crate::store::ChangeCounts;
use clap::Args;

/// Take a snapshot of the present state
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Without a name it goes into the ring of your lane, which keeps the newest 20 (snap:0 is the \
                  newest). A named one stays until it is deleted.\n\n\
                  Examples:\n  treering snapshot -m 'before the refactoring'\n  treering snapshot release-1\n  \
                  treering snapshot --delete release-1"
)]
pub(crate) struct Snapshot {
    /// A name that stays; without it, the ring of your lane
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Delete the snapshot NAME; the state it names stays in the history
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    pub(crate) delete: Option<String>,
}

impl Verb for Snapshot {
    const NAME: &'static str = "snapshot";

    fn run(self, context: &mut Context) -> Done {
        snapshot(context, &self)
    }
}

/// List the snapshots, newest first
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering snapshots\n  treering snapshots --limit 5 --json"
)]
pub(crate) struct Snapshots {
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for Snapshots {
    const NAME: &'static str = "snapshots";

    fn run(self, context: &mut Context) -> Done {
        snapshots(context, &self)
    }
}

/// Reverse the last change of your lane
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering undo\n  treering undo --session night-run"
)]
pub(crate) struct Undo {}

impl Verb for Undo {
    const NAME: &'static str = "undo";

    fn run(self, context: &mut Context) -> Done {
        undo(context)
    }
}

/// Bring back what undo reversed
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering redo\n  treering redo --session night-run"
)]
pub(crate) struct Redo {}

impl Verb for Redo {
    const NAME: &'static str = "redo";

    fn run(self, context: &mut Context) -> Done {
        redo(context)
    }
}

fn snapshot(context: &mut Context, verb: &Snapshot) -> Done {
    if let Some(name) = &verb.name {
        check_snapshot_name(name)?;
    }
    let memory = context.open_to_write()?;
    let writer = context.writer();
    let (info, deleted) = match &verb.delete {
        Some(name) => (memory.delete_snapshot(name, &writer)?, true),
        None => (memory.snapshot(verb.name.as_deref(), &writer)?, false),
    };
    let revision = revision_of(&info);
    if context.output.is_json() {
        let mut document = json::snapshot(&info);
        if deleted {
            document["deleted"] = true.into();
        }
        context.output.document(&document)?;
    } else if deleted {
        context
            .output
            .line(format_args!("deleted the snapshot {revision}"))?;
        let name = verb.delete.as_deref().unwrap_or_default();
        let note = format!(
            "the state stays in the history: treering log --at seq:{} ({name})",
            info.seq
        );
        context.output.note("kept", note);
    } else {
        let head = state_line(&context.output, &memory, info.seq, info.root);
        let name = context.output.paint(Meaning::Name, &revision);
        context.output.line(format_args!("{name}: {head}"))?;
        context
            .output
            .note("next", format!("come back with: treering rollback {revision}"));
    }
    Ok(DONE)
}

/// How the snapshot is typed.
pub(super) fn revision_of(info: &SnapshotInfo) -> String {
    info.index
        .map_or_else(|| info.name.clone(), |index| format!("snap:{index}"))
}

fn snapshots(context: &mut Context, verb: &Snapshots) -> Done {
    let memory = context.open_to_read()?;
    let newest = context.view(&memory)?.commit().commit.seq;
    let now = memory.view().now();
    let mut table = Table::new(&["snapshot", "lane", "seq", "root", "taken", "reason"]);
    let found = memory.snapshots()?.into_iter().filter(|info| info.seq <= newest);
    for info in found.take(verb.limit.unwrap_or(usize::MAX)) {
        if context.output.is_json() {
            context.output.document(&json::snapshot(&info))?;
            continue;
        }
        let cells = vec![
            coloured(Meaning::Name, revision_of(&info)),
            plain(info.lane.as_deref().unwrap_or_default()),
            number(info.seq),
            plain(short(info.root.as_bytes())),
            coloured(Meaning::Quiet, time::told(info.time, now, context.output.style())),
            plain(info.reason.as_deref().unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn undo(context: &mut Context) -> Done {
    let memory = context.open_to_write()?;
    let committed = memory.undo(&context.writer())?;
    context.answer(&Moved::of(&memory, &committed)?)?;
    Ok(DONE)
}

fn redo(context: &mut Context) -> Done {
    let memory = context.open_to_write()?;
    let committed = memory.redo(&context.writer())?;
    context.answer(&Moved::of(&memory, &committed)?)?;
    Ok(DONE)
}

/// `3 added, 1 changed, 0 removed`
pub(super) fn told_counts(context: &Context, counts: ChangeCounts) -> String {
    let output = &context.output;
    format!(
        "{}, {}, {}",
        output.paint(Meaning::Good, format_args!("{} added", counts.added)),
        output.paint(Meaning::Changed, format_args!("{} changed", counts.changed)),
        output.paint(Meaning::Bad, format_args!("{} removed", counts.removed)),
    )
}
