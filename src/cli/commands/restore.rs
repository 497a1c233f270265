//! `restore`: single objects as an earlier state had them.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde_json::json;

use super::snapshots::told_counts;
use crate::answers::commits::Moved;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::error::{Error, Result};
use crate::object::Id;

/// Bring back single objects as an earlier state had them
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "One commit for all of them: what else was written since stays. An object that was not there at REV is removed.\n\n\
                  Examples:\n  treering restore seq:3 facts/office\n  treering restore snap:0 notes/plan --recursive --dry-run\n  \
                  treering restore @-1 facts/office facts/hours -m 'the page was wrong'"
)]
pub(crate) struct Restore {
    /// The state to take them from
    #[arg(value_name = "REV")]
    pub(crate) revision: String,
    /// The objects
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Everything below them too
    #[arg(long)]
    pub(crate) recursive: bool,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Verb for Restore {
    const NAME: &'static str = "restore";

    fn run(self, context: &mut Context) -> Done {
        restore(context, &self)
    }
}

fn restore(context: &mut Context, verb: &Restore) -> Done {
    let memory = if verb.dry_run {
        context.open_to_read()?
    } else {
        context.open_to_write()?
    };
    let from = context.view_of(&memory, &verb.revision)?;
    let ids = verb
        .ids
        .iter()
        .map(|id| Id::new(id))
        .collect::<Result<Vec<_>>>()?;
    let mut draft = memory.draft(context.writer());
    for id in &ids {
        if !from.contains(id)? && !memory.view().contains(id)? {
            let missing = format!("there is no object '{id}', neither now nor at {}", verb.revision);
            let error = Error::not_found(missing);
            return Err(error
                .with_hint(format!("treering history '{id}' tells when there was one"))
                .into());
        }
        if verb.recursive {
            draft.restore_recursive(id, &from)?;
        } else {
            draft.restore(id, &from)?;
        }
    }
    if verb.dry_run {
        let counts = draft.counts();
        if context.output.is_json() {
            let ids: Vec<String> = draft
                .changes()
                .iter()
                .map(|change| change.id.to_string())
                .collect();
            context.output.document(&json!({
                "added": counts.added,
                "changed": counts.changed,
                "removed": counts.removed,
                "ids": ids,
                "dry_run": true,
            }))?;
        } else {
            for change in draft.changes() {
                context
                    .output
                    .line(format_args!("{} {}", change.kind().name(), change.id))?;
            }
            let told = told_counts(context, counts);
            context.output.line(format_args!("would restore: {told}"))?;
            context.output.note("dry_run", "nothing was changed");
        }
        return Ok(DONE);
    }
    let committed = memory.commit(draft, "restore")?;
    context.answer(&Moved::of(&memory, &committed)?)?;
    memory.close()?;
    Ok(DONE)
}
