//! `decay`: a pass that shortens unused items.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::answers::agent::items::DecayPass;
use crate::cli::commands::prelude::*;
use treering::agent::Pass;

/// Shorten unused items
///
/// A pass shortens a text to a summary, later to keywords, and finally forgets the item.
///
/// # Notes
/// An unused text becomes a summary after 24 hours and keywords after 7 days. After 30 days the item is forgotten. Each
/// pass lowers an item by at most one level. Pinned items never change. `unforget` restores the full text.
///
/// # Examples
/// ```text
/// treering decay --dry-run
/// treering decay --now 2027-01-01
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Decay {
    /// Compute the ages of items at this time: a time, a date, or an age (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Also shorten entries, notes, sessions and summaries
    #[arg(long)]
    pub(crate) everything: bool,
    /// Print what would be shortened, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Verb for Decay {
    const ANSWERS: &'static [Form] = &[form::<DecayPass>("")];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_change(self.dry_run)?;
        let pass = Pass {
            now: time::given(self.now.as_deref(), agent.memory().view().now())?,
            everything: self.everything,
            dry_run: self.dry_run,
            summarizer: None,
        };
        let done = DecayPass {
            pass: agent.decay(&pass, &context.writer())?,
            dry_run: self.dry_run,
            root: agent.memory().view().root(),
        };
        context.answer(&done, show_decay_pass)?;
        if let Some(warning) = &done.pass.warning {
            context.output.warn("clock", warning);
        }
        context.note_dry_run(self.dry_run);
        Ok(DONE)
    }
}

/// Prints a line about each item, and the command that reverses the pass.
fn show_decay_pass(answer: &DecayPass, context: &mut Context) -> Result<()> {
    let moves = &answer.pass.moves;
    context.write_rows(moves.iter().map(Ok), |one, _| {
        vec![
            ("id", named(&one.id)),
            ("from", plain(one.from.name())),
            ("to", plain(one.to.name())),
            ("chars", number(one.chars_before as u64)),
            ("left", number(one.chars_after as u64)),
        ]
    })?;
    let items = counted(answer.pass.items, "item");
    let verb = if answer.dry_run { "would move" } else { "moved" };
    context.line(format_args!("{verb} {} of {items} one level down", moves.len()))?;
    if !answer.pass.commits.is_empty() {
        context.note_unforget("restore the items of the last commit with");
    }
    Ok(())
}
