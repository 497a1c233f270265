//! `undo` reverses the newest commit of a lane, and `redo` repeats the reversed commit.
//!
//! # Layer
//! Layer 10, part of cli.

use super::diff::show_changes;
use super::prelude::*;
use super::rollback::answer_moved;
use crate::answers::commits::{Moved, ReversalPreview};
use crate::cli::human::heading;
use treering::inspect::engine::Reversing;

/// Reverse your last change
///
/// Your last change is the newest commit of your lane.
///
/// # Examples
/// ```text
/// treering undo --dry-run
/// treering undo --session night-run
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Undo {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Undo {
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<ReversalPreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        reverse(context, Op::UNDO, self.dry_run)
    }
}

/// Repeat the change that was undone
///
/// # Examples
/// ```text
/// treering redo --dry-run
/// treering redo --session night-run
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Redo {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Redo {
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<ReversalPreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        reverse(context, Op::REDO, self.dry_run)
    }
}

/// Undoes or redoes a change. With `dry_run`, only prints a preview.
fn reverse(context: &mut Context, op: &'static str, dry_run: bool) -> Done {
    if !dry_run {
        let memory = context.open_to_write()?;
        let writer = context.writer();
        let committed = match op {
            Op::UNDO => memory.undo(&writer)?,
            _ => memory.redo(&writer)?,
        };
        return answer_moved(context, &memory, &committed);
    }
    let memory = context.open_to_read()?;
    let reversing = memory.reverse_preview(op, &context.writer())?;
    let head = memory.view();
    let answer = ReversalPreview::of(op, &head, &reversing);
    let Reversing {
        target,
        state,
        changes,
    } = reversing;
    context.answer(&answer, |_, context| {
        context.line(format_args!("would {op} {}:", heading(&target)))?;
        show_changes(&mut context.output, &head, &state, &changes, usize::MAX)?;
        context.note_dry_run(true);
        Ok(())
    })
}
