//! `redo`: applies again the change that undo reversed.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::undo::{Preview, reverse};
use crate::answers::commits::Moved;

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
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<Preview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        reverse(context, Op::REDO, self.dry_run)
    }
}
