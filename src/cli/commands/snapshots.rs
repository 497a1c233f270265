//! `snapshot`, `snapshots`, `rollback`, `undo`, `redo`: going back and forth in time.
//!
//! # Layer
//! L9, part of cli.

use super::store::{head_line, state_line};
use super::undo_command;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, Table, coloured, number, plain, short};
use crate::cli::json;
use crate::cli::output::Meaning;
use crate::cli::revision;
use crate::cli::time;
use crate::cli::verbs::{Rollback, Snapshot, Snapshots};
use crate::engine::{Committed, Memory, SnapshotInfo};
use crate::error::ErrorCode;
use crate::object::check_snapshot_name;
use crate::store::ChangeCounts;

pub(super) fn snapshot(context: &mut Context, verb: &Snapshot) -> Done {
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
    memory.close()?;
    Ok(DONE)
}

/// How the snapshot is typed.
pub(super) fn revision_of(info: &SnapshotInfo) -> String {
    info.index
        .map_or_else(|| info.name.clone(), |index| format!("snap:{index}"))
}

pub(super) fn snapshots(context: &mut Context, verb: &Snapshots) -> Done {
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

pub(super) fn rollback(context: &mut Context, verb: &Rollback) -> Done {
    let target = revision::parse(&verb.revision)?;
    if verb.dry_run {
        return preview(context, verb);
    }
    let memory = context.open_to_write()?;
    let committed = memory.rollback(&target, verb.all, &context.writer())?;
    tell(context, &memory, "rolled back to", &committed, "undo")?;
    memory.close()?;
    Ok(DONE)
}

fn preview(context: &mut Context, verb: &Rollback) -> Done {
    let target = revision::parse(&verb.revision)?;
    let memory = context.open_to_read()?;
    let preview = |all| memory.rollback_preview(&target, all, &context.writer());
    let ((info, counts), refused) = match preview(verb.all) {
        Err(refused) if refused.code() == ErrorCode::OtherLanes => (preview(true)?, Some(refused)),
        previewed => (previewed?, None),
    };
    let head = memory.view().commit();
    if context.output.is_json() {
        context.output.document(&serde_json::json!({
            "root": info.commit.root.to_hex(),
            "commit": head.digest.to_hex(),
            "seq": head.commit.seq,
            "added": counts.added,
            "changed": counts.changed,
            "removed": counts.removed,
            "target": info.digest.to_hex(),
            "dry_run": true,
            "needs": refused.as_ref().map(|_| "--all"),
            "other_lanes": refused.as_ref().map_or(&[][..], |refused| refused.ids()),
        }))?;
    } else {
        let root = context
            .output
            .paint(Meaning::Name, short(info.commit.root.as_bytes()));
        let told = told_counts(context, counts);
        context.output.line(format_args!(
            "would roll back to seq {}, root {root}: {told}",
            info.commit.seq
        ))?;
        if let Some(refused) = refused {
            let note = format!("this needs --all: {refused}");
            context.output.note("needs", note);
        }
        context.output.note("dry_run", "nothing was changed");
    }
    Ok(DONE)
}

pub(super) fn undo(context: &mut Context) -> Done {
    let memory = context.open_to_write()?;
    let committed = memory.undo(&context.writer())?;
    tell(context, &memory, "undone", &committed, "redo")?;
    memory.close()?;
    Ok(DONE)
}

pub(super) fn redo(context: &mut Context) -> Done {
    let memory = context.open_to_write()?;
    let committed = memory.redo(&context.writer())?;
    tell(context, &memory, "done again", &committed, "undo")?;
    memory.close()?;
    Ok(DONE)
}

/// Says what moved, and which verb moves it back.
pub(super) fn tell(
    context: &mut Context,
    memory: &Memory,
    what: &str,
    committed: &Committed,
    back: &str,
) -> Result<(), Failure> {
    let counts = json::counts(memory, committed)?;
    if context.output.is_json() {
        return context.output.document(&json::moved(committed, counts));
    }
    if !committed.changed {
        return context
            .output
            .line("nothing to change: the state is that one already");
    }
    let commit = &committed.commit.commit;
    let head = head_line(&context.output, memory, &committed.commit);
    let counts = told_counts(context, counts);
    // Which commit was meant: an undo takes the newest of a lane, which may not be the one that was thought of.
    let meant = commit
        .target
        .map(|target| context.resolve(memory, &target.to_hex()))
        .transpose()?;
    let of = meant.map_or_else(String::new, |meant| format!(" {}", human::heading(&meant)));
    context
        .output
        .line(format_args!("{what}{of}: {counts}; {head}"))?;
    let command = undo_command(&context.options).replacen("undo", back, 1);
    context
        .output
        .note("undo", format!("take that back with: {command}"));
    Ok(())
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
