//! `undo`: reverses the newest change of a lane.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::reversal::{Preview, show_preview};
use super::rollback::show_moved;
use crate::answers::commits::Moved;
use crate::object::Op;

/// Reverse your last change
///
/// It reverses the newest commit of your lane.
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
    const NAME: &'static str = "undo";
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<Preview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        if self.dry_run {
            let memory = context.open_to_read()?;
            let plan = memory.undo_preview(&context.writer())?;
            return context.answer(&Preview::of(&memory, Op::UNDO, plan), show_preview);
        }
        let memory = context.open_to_write()?;
        let committed = memory.undo(&context.writer())?;
        context.answer(&Moved::of(&memory, &committed)?, show_moved)
    }
}
