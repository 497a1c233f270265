//! What people read after a change: the head now, and how to take the change back.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::context::Context;
use crate::cli::errors::Failure;
use crate::cli::human::short_in;
use crate::cli::output::{Meaning, Output};
use crate::engine::{CommitInfo, Committed, Memory};

/// What was done, the head now, and how to take it back.
pub(super) fn print_committed(
    context: &mut Context,
    memory: &Memory,
    committed: &Committed,
    what: &str,
) -> Result<(), Failure> {
    let head = head_line(&context.output, memory, &committed.commit);
    context.output.line(format_args!("{what}; {head}"))?;
    note_undo(context, committed);
    Ok(())
}

/// Says how to take a change back, if there was one.
pub(super) fn note_undo(context: &mut Context, committed: &Committed) {
    if committed.changed {
        context.note_way_back("take it back with");
    }
}

/// What the head is now, in a line.
pub(super) fn head_line(output: &Output, memory: &Memory, head: &CommitInfo) -> String {
    let root = output.paint(Meaning::Name, short_in(memory, head.commit.root.as_bytes()));
    format!("seq {}, root {root}", head.commit.seq)
}
