//! `snapshot` names the current state, and `snapshots` lists the names.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::history::{SnapshotLine, SnapshotTaken};
use treering::inspect::object::check_snapshot_name;

/// Name the current state
///
/// # Notes
/// Without a name, the snapshot joins the ring of your lane. A ring keeps its newest 20 snapshots (snap:0 is the
/// newest). A named snapshot stays until you delete it.
///
/// # Examples
/// ```text
/// treering snapshot -m 'before the refactoring'
/// treering snapshot release-1
/// treering snapshot --delete release-1
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Snapshot {
    /// A permanent name; a lane keeps only its newest 20 snapshots without a name
    name: Option<String>,
    /// Delete the snapshot NAME; its state stays in the history
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    delete: Option<String>,
}

impl Verb for Snapshot {
    const ANSWERS: &'static [Form] = &[form::<SnapshotTaken>("")];

    fn run(self, context: &mut Context) -> Done {
        if let Some(name) = &self.name {
            check_snapshot_name(name)?;
        }
        let memory = context.open_to_write()?;
        treering::inspect::agent::refuse_secret_name(
            "the name of the snapshot",
            self.name.as_deref().unwrap_or_default(),
        )?;
        let writer = context.writer();
        let info = match &self.delete {
            Some(name) => memory.delete_snapshot(name, &writer)?,
            None => memory.snapshot(self.name.as_deref(), &writer)?,
        };
        let (seq, root) = (info.seq, info.root);
        let answer = SnapshotTaken {
            snapshot: info.into(),
            deleted: self.delete.is_some(),
        };
        let revision = answer.snapshot.revision();
        if answer.deleted {
            let note = format!("the state stays in history; see it with: treering log --at seq:{seq}");
            let text = format!("deleted the snapshot {revision}");
            return context.say_with_note(&answer, text, "next", note);
        }
        let name = context.output.paint(Meaning::Name, &revision);
        let text = format!("{name}: {}", context.state_line(seq, root));
        let back = context.lane_command(&format!("rollback {revision}"));
        let note = format!("return to this state with: {back}");
        context.say_with_note(&answer, text, "next", note)
    }
}

/// List the snapshots, newest first
///
/// # Examples
/// ```text
/// treering snapshots
/// treering snapshots --limit 5 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Snapshots {
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for Snapshots {
    const ANSWERS: &'static [Form] = &[form::<SnapshotLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let newest = context.view(&memory)?.commit().commit.seq;
        let found = memory.snapshots()?.into_iter().filter(|info| info.seq <= newest);
        let found = found.take(self.limit.unwrap_or(usize::MAX));
        context.rows(found.map(|info| Ok(SnapshotLine::from(info))), |row, context| {
            let mut cells = columns(row, &["lane", "seq", "root", "time", "reason"], context);
            cells.insert(0, ("snapshot", named(row.revision())));
            cells
        })
    }
}
