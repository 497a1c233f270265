//! `decay`: a pass over what nobody used.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde_json::{Value, json};

use super::forget::{dry_run, opened};
use crate::agent::Agent;
use crate::agent::decay::{Decayed, Pass};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{Table, coloured, counted, number, plain};
use crate::cli::output::{Meaning, Output};
use crate::cli::time;

/// Shorten what nobody uses
///
/// A text becomes a summary, then keywords, then leaves the memory.
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "After 24 hours without use a text becomes a summary, after 7 days keywords, after 30 days it is forgotten: one level a pass. \
                  What is pinned stays. `unforget` brings back the full text.\n\n\
                  Examples:\n  treering decay --dry-run\n  treering decay --now 2027-01-01"
)]
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

    fn run(self, context: &mut Context) -> Done {
        decay(context, &self)
    }
}

fn decay(context: &mut Context, verb: &Decay) -> Done {
    let agent = opened(context, verb.dry_run)?;
    let clock = agent.memory().view().now();
    let now = verb.now.as_deref();
    let pass = Pass {
        now: now.map(|text| time::moment(text, clock)).transpose()?,
        everything: verb.everything,
        dry_run: verb.dry_run,
        summarizer: None,
    };
    let done = agent.decay(&pass, &context.writer())?;
    if context.output.is_json() {
        context.output.document(&document(&agent, &done, verb.dry_run))?;
    } else {
        print(&mut context.output, &done, verb.dry_run)?;
    }
    let output = &mut context.output;
    if let Some(warning) = &done.warning {
        output.warn("clock", warning);
    }
    dry_run(output, verb.dry_run);
    Ok(DONE)
}

fn document(agent: &Agent, done: &Decayed, is_dry: bool) -> Value {
    let commits: Vec<_> = done.commits.iter().map(|info| info.digest.to_hex()).collect();
    json!({
        "now": done.now.to_string(),
        "items": done.items,
        "moves": done.moves,
        "commits": commits,
        "dry_run": is_dry,
        "root": agent.memory().view().root().to_hex(),
    })
}

/// For people: a line about each item, and how to take a pass back.
fn print(output: &mut Output, done: &Decayed, is_dry: bool) -> Result<(), Failure> {
    let mut table = Table::new(&["id", "from", "to", "chars", "left"]);
    for one in &done.moves {
        let cells = vec![
            coloured(Meaning::Name, one.id.as_str()),
            plain(one.from.name()),
            plain(one.to.name()),
            number(one.chars_before as u64),
            number(one.chars_after as u64),
        ];
        table.row(output, cells)?;
    }
    if !done.moves.is_empty() {
        table.finish(output)?;
    }
    let count = counted(done.moves.len() as u64, "item");
    let said = if is_dry { "would go" } else { "went" };
    output.line(format_args!("{count} of {} {said} a level down", done.items))?;
    if !done.commits.is_empty() {
        output.note(
            "undo",
            "bring back what one commit took with: treering unforget --last --all-scopes",
        );
    }
    Ok(())
}
