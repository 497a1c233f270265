//! `undo --dry-run` and `redo --dry-run`: a preview of the change.
//!
//! # Layer
//! Layer 10, part of cli.

use super::diff::show_changes;
use super::prelude::*;
use crate::answers::history::ChangeLine;
use crate::cli::human::heading;
use crate::digest::CommitDigest;
use crate::engine::{ChangeKind, Reversing};
use crate::store::ChangeCounts;

/// The effect that an undo or redo would have.
#[derive(Serialize, JsonSchema)]
pub(super) struct Preview {
    op: &'static str,
    /// The current head.
    commit: CommitDigest,
    seq: u64,
    /// The commit that would be reversed or repeated.
    target: CommitDigest,
    #[serde(flatten)]
    counts: ChangeCounts,
    changes: Vec<ChangeLine>,
    dry_run: bool,
    #[serde(skip)]
    head: View,
    #[serde(skip)]
    plan: Reversing,
}

impl Preview {
    pub(super) fn of(memory: &Memory, op: &'static str, plan: Reversing) -> Self {
        let head = memory.view();
        let mut counts = ChangeCounts::default();
        for change in &plan.changes {
            match change.kind() {
                ChangeKind::Added => counts.added += 1,
                ChangeKind::Changed => counts.changed += 1,
                ChangeKind::Removed => counts.removed += 1,
            }
        }
        Self {
            op,
            commit: head.commit().digest,
            seq: head.commit().commit.seq,
            target: plan.target.digest,
            counts,
            changes: plan.changes.iter().map(ChangeLine::from).collect(),
            dry_run: true,
            head,
            plan,
        }
    }
}

pub(super) fn show_preview(answer: &Preview, context: &mut Context) -> Result<(), Failure> {
    let Reversing {
        target,
        state,
        changes,
    } = &answer.plan;
    let output = &mut context.output;
    output.line(format_args!("would {} {}:", answer.op, heading(target)))?;
    show_changes(output, &answer.head, state, changes, usize::MAX)?;
    output.note("dry_run", "nothing was changed");
    Ok(())
}
