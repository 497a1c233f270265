//! `undo`: the newest change of a lane is reversed.
//!
//! # Layer
//! L10, part of cli.

use super::prelude::*;
use crate::answers::commits::Moved;

/// Reverse your last change
///
/// That is the newest commit of your lane.
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering undo\n  treering undo --session night-run"
)]
pub(crate) struct Undo {}

impl Verb for Undo {
    const NAME: &'static str = "undo";
    const ANSWERS: &'static [Form] = &[form::<Moved>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_write()?;
        let committed = memory.undo(&context.writer())?;
        context.answer(&Moved::of(&memory, &committed)?)?;
        Ok(DONE)
    }
}
