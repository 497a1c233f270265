//! `decay`: a pass over what nobody used.
//!
//! # Layer
//! L10, part of cli.

use crate::agent::decay::Pass;
use crate::answers::agent::items::DecayPass;
use crate::cli::commands::prelude::*;

/// Shorten what nobody uses
///
/// A text becomes a summary, then keywords, then leaves the memory.
///
/// # Notes
/// After 24 hours without use a text becomes a summary, after 7 days keywords, after 30 days it is forgotten: one
/// level a pass. What is pinned stays. `unforget` brings back the full text.
///
/// # Examples
/// ```text
/// treering decay --dry-run
/// treering decay --now 2027-01-01
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Decay {
    /// The moment that ages are judged at: a time, a date, or how long ago (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Entries, notes, sessions and summaries too
    #[arg(long)]
    pub(crate) everything: bool,
    /// Say what would get shorter, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Verb for Decay {
    const NAME: &'static str = "decay";
    const ANSWERS: &'static [Form] = &[form::<DecayPass>("")];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_change(self.dry_run)?;
        let clock = agent.memory().view().now();
        let now = self.now.as_deref();
        let pass = Pass {
            now: now.map(|text| time::moment(text, clock)).transpose()?,
            everything: self.everything,
            dry_run: self.dry_run,
            summarizer: None,
        };
        let done = DecayPass {
            pass: agent.decay(&pass, &context.writer())?,
            dry_run: self.dry_run,
            root: agent.memory().view().root(),
        };
        context.answer(&done)?;
        if let Some(warning) = &done.pass.warning {
            context.output.warn("clock", warning);
        }
        context.note_dry_run(self.dry_run);
        Ok(DONE)
    }
}

impl Answer for DecayPass {
    /// A line about each item, and the command that reverses the pass.
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let moves = &self.pass.moves;
        let mut table = Table::new(&["id", "from", "to", "chars", "left"]);
        for one in moves {
            let cells = vec![
                coloured(Meaning::Name, one.id.as_str()),
                plain(one.from.name()),
                plain(one.to.name()),
                number(one.chars_before as u64),
                number(one.chars_after as u64),
            ];
            table.row(&mut context.output, cells)?;
        }
        table.end(&mut context.output)?;
        let count = counted(moves.len() as u64, "item");
        let verb = if self.dry_run { "would go" } else { "went" };
        let items = self.pass.items;
        context
            .output
            .line(format_args!("{count} of {items} {verb} a level down"))?;
        if !self.pass.commits.is_empty() {
            let text = "bring back what one commit took with: treering unforget --last --all-scopes";
            context.output.note("undo", text);
        }
        Ok(())
    }
}
