//! `restore`: restores single objects from an earlier state.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::rollback::answer_moved;
use crate::answers::commits::{Moved, RestorePreview};
use crate::cli::hints::history_of;

/// Restore single objects
///
/// Each object gets the version that it had in an earlier state.
///
/// # Notes
/// Restores all named objects in one commit and leaves every other object unchanged. An object that did not exist at
/// REV is removed.
///
/// # Examples
/// ```text
/// treering restore seq:3 facts/office
/// treering restore snap:0 notes/plan --recursive --dry-run
/// treering restore @-1 facts/office facts/hours -m 'the page was wrong'
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Restore {
    /// The state to restore from
    #[arg(value_name = "REV")]
    revision: String,
    /// The objects to restore
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Also restore all objects below the named objects
    #[arg(long)]
    recursive: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Restore {
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<RestorePreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_plan(self.dry_run)?;
        let from = context.view_of(&memory, &self.revision)?;
        let ids = context.all_by_hand(&memory, &from, &self.ids, "restore")?;
        let mut draft = memory.draft(&context.writer());
        for named_by in &ids {
            let id = &named_by.id;
            if !from.contains(id)? && !memory.view().contains(id)? {
                let missing = format!("the object '{id}' exists neither now nor at {}", self.revision);
                let hint = format!("{} shows when the object existed", history_of(id));
                return Err(named_by.told(Error::not_found(missing).with_hint(hint)));
            }
            if self.recursive {
                draft.restore_recursive(id, &from)?;
            } else {
                draft.restore(id, &from)?;
            }
        }
        if !self.dry_run {
            let committed = memory.commit(draft, Op::RESTORE)?;
            return answer_moved(context, &memory, &committed);
        }
        let changes = draft.changes();
        let answer = RestorePreview {
            counts: draft.counts(),
            ids: changes.iter().map(|change| change.id.to_string()).collect(),
            dry_run: true,
        };
        context.answer(&answer, |answer, context| {
            for change in &changes {
                context.line(format_args!("{} {}", change.kind.name(), change.id))?;
            }
            let counts = context.counts_line(answer.counts);
            context.line(format_args!("would restore: {counts}"))
        })?;
        context.note_dry_run(true);
        Ok(DONE)
    }
}
