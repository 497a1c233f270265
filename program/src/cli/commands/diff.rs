//! `diff`: the differences between two states.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::written_by::check_known;
use crate::cli::human::{change_lines, erased_line, is_untrusted};
use treering::Change;

/// Show how two states differ
///
/// # Notes
/// --actor A, --session S and --source SRC show only the objects whose version in the second state that writer wrote, or
/// that it removed. A ! after an id marks an untrusted object, which came from a tool, a document or an import.
///
/// # Examples
/// ```text
/// treering diff snap:0
/// treering diff @-5 @-2 --json
/// treering diff release-1 --exit-code
/// treering diff before --session night-run
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads_by_writer(), verbatim_doc_comment)]
pub(crate) struct Diff {
    /// The older state, before the changes
    #[arg(value_name = "REV")]
    from: String,
    /// The newer state, after the changes [default: @]
    #[arg(value_name = "REV2")]
    to: Option<String>,
    /// Exit with 1 if the states differ
    #[arg(long)]
    exit_code: bool,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for Diff {
    const ANSWERS: &'static [Form] = &[form::<Change>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        if self.to.is_some() && context.options.at.is_some() {
            let text = "--at cannot be combined with a second revision";
            return Err(usage_error(text, "write treering diff REV REV2"));
        }
        let memory = context.open_to_read()?;
        let older = context.view_of(&memory, &self.from)?;
        let newer = match &self.to {
            Some(to) => context.view_of(&memory, to)?,
            None => context.view(&memory)?,
        };
        let by = context.written_by();
        let mut changes = Vec::new();
        for change in memory.diff(&older, &newer)? {
            if by.wrote(&memory, &newer, &change.id)? {
                changes.push(change);
            }
        }
        if changes.is_empty() {
            check_known(&memory, &by)?;
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        show_changes(&mut context.output, &older, &newer, &changes, limit)?;
        let differs = self.exit_code && !changes.is_empty();
        Ok(if differs { NO } else { DONE })
    }
}

/// Prints at most `limit` changes between two states, and then the number of all changes.
pub(in crate::cli) fn show_changes(
    output: &mut Output,
    older: &View,
    newer: &View,
    changes: &[Change],
    limit: usize,
) -> Result<()> {
    let mut is_marked = false;
    for change in changes.iter().take(limit) {
        if output.json(change)? {
            continue;
        }
        if change.erased {
            output.line(erased_line(output.style(), change))?;
            continue;
        }
        let (old, new) = (older.get(&change.id)?, newer.get(&change.id)?);
        is_marked |= is_untrusted(old.as_ref(), new.as_ref());
        let lines = change_lines(output.style(), change.id.as_str(), old.as_ref(), new.as_ref());
        lines.into_iter().try_for_each(|line| output.line(line))?;
    }
    if is_marked {
        output.note_untrusted();
    }
    summary(output, changes);
    Ok(())
}

fn summary(output: &mut Output, changes: &[Change]) {
    if changes.is_empty() {
        output.note_for_people("no_difference", "no difference");
        return;
    }
    let counts = counts_of(changes);
    let (added, changed, removed) = (counts.added, counts.changed, counts.removed);
    let summary = format!("{added} added, {changed} changed, {removed} removed");
    output.note_for_people("summary", summary);
}

/// Counts the changes by their kind.
pub(super) fn counts_of(changes: &[Change]) -> ChangeCounts {
    let sides = |change: &Change| (change.old.is_some(), change.new.is_some());
    ChangeCounts::of(changes.iter().map(sides))
}
