//! `remove`: removes an object from the state.
//!
//! # Layer
//! Layer 10, part of cli.

use super::absent::with_nearest;
use super::prelude::*;
use crate::answers::commits::{Removed, counts};

/// Remove an object
///
/// The object is removed from the state; history still contains it.
///
/// # Examples
/// ```text
/// treering remove tea -m 'no longer true'
/// treering remove notes/old --recursive
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Remove {
    /// The object to remove
    id: String,
    /// Also remove all objects below the object
    #[arg(long)]
    recursive: bool,
}

impl Verb for Remove {
    const ANSWERS: &'static [Form] = &[form::<Removed>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_write()?;
        let named_by = context.by_hand(&memory, &memory.view(), &self.id, "remove")?;
        let id = named_by.id.clone();
        let committed = if self.recursive {
            memory.remove_recursive(&id, &context.writer())
        } else {
            memory.remove(&id, &context.writer())
        };
        let committed = committed.map_err(|error| named_by.told(with_nearest(error, &memory, &id)))?;
        let answer = Removed {
            removed: counts(&memory, &committed)?.removed,
            commit: committed.commit,
        };
        let head = context.head_line(&answer.commit);
        let removed = counted(answer.removed, "object");
        context.say(&answer, format_args!("removed {removed}; {head}"))?;
        context.note_way_back("reverse the removal with");
        Ok(DONE)
    }
}
