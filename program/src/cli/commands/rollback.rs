//! `rollback`: restores an earlier state, as a new commit.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::commits::{Moved, RollbackPreview};
use treering::Committed;
use treering::inspect::engine;

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
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<RollbackPreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        let target = self.revision.parse()?;
        if self.dry_run {
            return preview(context, &target, self.all);
        }
        let memory = context.open_to_plan(false)?;
        let committed = rollback(&memory, &target, self.all).by(&context.writer())?;
        answer_moved(context, &memory, &committed)
    }
}

fn rollback<'a>(memory: &'a Memory, target: &'a Revision, all: bool) -> engine::Rollback<'a> {
    let rollback = memory.rollback(target);
    if all { rollback.across_lanes() } else { rollback }
}

fn preview(context: &mut Context, target: &Revision, all: bool) -> Done {
    let memory = context.open_to_read()?;
    let (answer, target, refused) = RollbackPreview::of(&memory, target, all, &context.writer())?;
    let counts = answer.counts;
    context.answer(&answer, |_, context| {
        let root = short(target.commit.root.as_bytes());
        let root = context.output.paint(Meaning::Name, root);
        let (seq, counts) = (target.commit.seq, context.counts_line(counts));
        context.line(format_args!(
            "would roll back to seq {seq}, root {root}: {counts}"
        ))?;
        if let Some(refused) = refused {
            context.note("needs", format!("this rollback needs --all: {refused}"));
        }
        Ok(())
    })?;
    context.note_dry_run(true);
    Ok(DONE)
}

/// Prints the answer of a rollback, restore, undo or redo.
pub(super) fn answer_moved(context: &mut Context, memory: &Memory, committed: &Committed) -> Done {
    let answer = Moved::of(memory, committed)?;
    let (what, to, back) = match answer.op.as_deref() {
        None => {
            return context.say(
                &answer,
                "nothing changed, because the current state equals the requested state",
            );
        }
        Some("undo") => ("undone", "", "redo"),
        Some("redo") => ("redone", "", "undo"),
        Some("restore") => ("restored", "", "undo"),
        Some(_) => ("rolled back", " to", "undo"),
    };
    let head = context.state_line(answer.seq, answer.root);
    let counts = context.counts_line(answer.counts);
    // The output names the target, because an undo may reverse another commit than the user expects.
    let found = |target: CommitDigest| context.resolve(memory, &target.to_hex()).ok();
    let meant = answer.target.and_then(found);
    // A commit of another line is not among the commits of this one.
    let of = meant.map_or_else(String::new, |meant| format!("{to} {}", human::heading(&meant)));
    let back = context.lane_command(back);
    let note = format!("reverse the change with: {back}");
    let text = format!("{what}{of}: {counts}; {head}");
    context.say_with_note(&answer, text, "undo", note)
}
