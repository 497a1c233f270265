//! `redo`: applies again the change that undo reversed.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::reversal::{Preview, show_preview};
use super::rollback::show_moved;
use crate::answers::commits::Moved;
use crate::object::Op;

/// Redo the change that was undone
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
    const NAME: &'static str = "redo";
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<Preview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        if self.dry_run {
            let memory = context.open_to_read()?;
            let plan = memory.redo_preview(&context.writer())?;
            return context.answer(&Preview::of(&memory, Op::REDO, plan), show_preview);
        }
        let memory = context.open_to_write()?;
        let committed = memory.redo(&context.writer())?;
        context.answer(&Moved::of(&memory, &committed)?, show_moved)
    }
}
