//! `restore`: single objects as an earlier state had them.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::snapshots::{tell, told_counts};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::verbs::Restore;
use crate::error::{Error, Result};
use crate::object::Id;

pub(super) fn restore(context: &mut Context, verb: &Restore) -> Done {
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
    tell(context, &memory, "restored", &committed, "undo")?;
    memory.close()?;
    Ok(DONE)
}
