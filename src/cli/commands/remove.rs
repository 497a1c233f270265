//! `remove`: removes an object from the state.
//!
//! # Layer
//! L10, part of cli.

use super::prelude::*;
use crate::answers::commits::{Removed, counts};

/// Remove an object
///
/// The object leaves the state; history keeps it.
///
/// # Examples
/// ```text
/// treering remove tea -m 'no longer true'
/// treering remove notes/old --recursive
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Remove {
    /// The object
    id: String,
    /// Also all objects below it
    #[arg(long)]
    recursive: bool,
}

impl Verb for Remove {
    const NAME: &'static str = "remove";
    const ANSWERS: &'static [Form] = &[form::<Removed>("")];

    fn run(self, context: &mut Context) -> Done {
        let id = Id::new(&self.id)?;
        let memory = context.open_to_write()?;
        let committed = if self.recursive {
            memory.remove_recursive(&id, &context.writer())?
        } else {
            memory.remove(&id, &context.writer())?
        };
        context.answer(&Removed {
            removed: counts(&memory, &committed)?.removed,
            commit: committed.commit.clone(),
        })
    }
}

impl Answer for Removed {
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let head = context.head_line(&self.commit);
        let removed = counted(self.removed, "object");
        context.output.line(format_args!("removed {removed}; {head}"))?;
        context.note_way_back("restore it with");
        Ok(())
    }
}
