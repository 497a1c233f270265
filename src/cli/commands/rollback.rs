//! `rollback`: restores an earlier state, as a new commit.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::commits::{Moved, RollbackPreview};
use crate::engine::{self, Revision};

/// Restore an earlier state
///
/// The rollback is a new commit, so it can be undone.
///
/// # Examples
/// ```text
/// treering rollback snap:0 --dry-run
/// treering rollback snap:0
/// treering rollback @-5 -m 'the plan was wrong'
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Rollback {
    /// The state to restore
    #[arg(value_name = "REV")]
    revision: String,
    /// Also reverse commits of other lanes
    #[arg(long)]
    all: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Rollback {
    const NAME: &'static str = "rollback";
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<RollbackPreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        let target = self.revision.parse()?;
        if self.dry_run {
            let preview = preview(context, &target, self.all)?;
            return context.answer(&preview, show_rollback_preview);
        }
        let memory = context.open_to_write()?;
        let committed = rollback(&memory, &target, self.all).by(&context.writer())?;
        context.answer(&Moved::of(&memory, &committed)?, show_moved)
    }
}

fn rollback<'a>(memory: &'a Memory, target: &Revision, all: bool) -> engine::Rollback<'a> {
    let rollback = memory.rollback(target);
    if all { rollback.across_lanes() } else { rollback }
}

fn preview(context: &mut Context, target: &Revision, all: bool) -> Result<RollbackPreview> {
    let memory = context.open_to_read()?;
    let preview = |all| rollback(&memory, target, all).preview(&context.writer());
    let ((target, counts), refused) = match preview(all) {
        Err(refused) if refused.code() == ErrorCode::OtherLanes => (preview(true)?, Some(refused)),
        previewed => (previewed?, None),
    };
    let head = memory.view().commit();
    Ok(RollbackPreview {
        root: target.commit.root,
        commit: head.digest,
        seq: head.commit.seq,
        counts,
        target: target.digest,
        dry_run: true,
        needs: refused.as_ref().map(|_| "--all"),
        other_lanes: refused
            .as_ref()
            .map_or_else(Vec::new, |refused| refused.ids().to_vec()),
        target_seq: target.commit.seq,
        refusal: refused.map(|refused| refused.to_string()),
    })
}

fn show_rollback_preview(answer: &RollbackPreview, context: &mut Context) -> Result<(), Failure> {
    let root = context.output.paint(Meaning::Name, short(answer.root.as_bytes()));
    let counts = context.counts_line(answer.counts);
    context.line(format_args!(
        "would roll back to seq {}, root {root}: {counts}",
        answer.target_seq
    ))?;
    if let Some(refusal) = &answer.refusal {
        let note = format!("this rollback needs --all: {refusal}");
        context.output.note("needs", note);
    }
    context.output.note("dry_run", "nothing was changed");
    Ok(())
}

pub(super) fn show_moved(answer: &Moved, context: &mut Context) -> Result<(), Failure> {
    let (what, back) = match answer.op.as_deref() {
        None => {
            return context.line("nothing changed: the state is already the requested one");
        }
        Some("undo") => ("undone", "redo"),
        Some("redo") => ("done again", "undo"),
        Some("restore") => ("restored", "undo"),
        Some(_) => ("rolled back to", "undo"),
    };
    let head = context.state_line(answer.seq, answer.root);
    let counts = context.counts_line(answer.counts);
    // An undo reverses the newest commit of a lane, which may differ from the one the caller expects.
    let meant = answer
        .target
        .map(|target| context.resolve_opened(&target.to_hex()))
        .transpose()?;
    let of = meant.map_or_else(String::new, |meant| format!(" {}", human::heading(&meant)));
    context.line(format_args!("{what}{of}: {counts}; {head}"))?;
    let command = context.lane_options().way_back(back);
    context.output.note("undo", format!("reverse it with: {command}"));
    Ok(())
}
