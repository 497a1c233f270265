//! `redo`: what undo reversed comes back.
//!
//! # Layer
//! L10, part of cli.

use super::prelude::*;
use crate::answers::commits::Moved;

/// Bring back what undo reversed
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering redo\n  treering redo --session night-run"
)]
pub(crate) struct Redo {}

impl Verb for Redo {
    const NAME: &'static str = "redo";
    const ANSWERS: &'static [Form] = &[form::<Moved>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_write()?;
        let committed = memory.redo(&context.writer())?;
        context.answer(&Moved::of(&memory, &committed)?)?;
        Ok(DONE)
    }
}
