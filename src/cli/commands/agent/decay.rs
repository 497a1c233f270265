//! `decay`: a pass over what nobody used.
//!
//! # Layer
//! L9, part of cli.

use serde_json::{Value, json};

use super::forget::{dry_run, opened};
use crate::agent::Agent;
use crate::agent::decay::{Decayed, Move, Pass};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{Table, coloured, counted, number, plain};
use crate::cli::output::{Meaning, Output};
use crate::cli::time;
use crate::cli::verbs::Decay;

pub(super) fn decay(context: &mut Context, verb: &Decay) -> Done {
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
        tell(&mut context.output, &done, verb.dry_run)?;
    }
    let output = &mut context.output;
    if let Some(warning) = &done.warning {
        output.warn("clock", warning);
    }
    dry_run(output, verb.dry_run);
    agent.clone().close()?;
    Ok(DONE)
}

fn document(agent: &Agent, done: &Decayed, is_dry: bool) -> Value {
    let moved = |one: &Move| {
        json!({
            "id": one.id.as_str(),
            "from": one.from.name(),
            "to": one.to.name(),
            "original": one.original.to_hex(),
            "chars_before": one.chars_before,
            "chars_after": one.chars_after,
        })
    };
    let commits: Vec<_> = done.commits.iter().map(|info| info.digest.to_hex()).collect();
    json!({
        "now": done.now.to_string(),
        "items": done.items,
        "moves": done.moves.iter().map(moved).collect::<Vec<_>>(),
        "commits": commits,
        "dry_run": is_dry,
        "root": agent.memory().view().root().to_hex(),
    })
}

/// For people: a line about each item, and how to take a pass back.
fn tell(output: &mut Output, done: &Decayed, is_dry: bool) -> Result<(), Failure> {
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
