//! `quarantine`: what was held back, for a person to decide about.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::agent_context::ScopeOptions;
use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::promote::person;
use crate::agent::trust::{HeldObject, Quarantined};
use crate::cli::commands::closing::print_committed;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{Table, coloured, counted, cut, number, plain};
use crate::cli::json::with_commit;
use crate::cli::output::{Meaning, printable};
use crate::cli::time;

/// Objects that a person is shown before they are released, and characters of each text.
const ASKED_MAX: usize = 200;
const ASKED_CHARS: usize = 100;

/// List what was held back
///
/// What is held back can be released or dropped.
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "The same change is kept once. There is room for 200; then the oldest goes of who has most, and the reason of the \
                  newest names it. gc drops what is older than 7 days. What is released stays as little trusted as it \
                  was; promote raises it.\n\n\
                  Examples:\n  treering quarantine\n  treering quarantine --release 17 --yes\n  treering quarantine --discard 17"
)]
pub(crate) struct Quarantine {
    /// Commit what is held back under this name, as little trusted as it was
    #[arg(long, value_name = "NAME", conflicts_with_all = ["discard", "scopes", "all_scopes"])]
    pub(crate) release: Option<String>,
    /// Drop what is held back under this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) discard: Option<String>,
    /// Release without asking: a person gives this, not a program for one
    #[arg(long, requires = "release")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
}

impl Verb for Quarantine {
    const NAME: &'static str = "quarantine";

    fn run(self, context: &mut Context) -> Done {
        quarantine(context, &self)
    }
}

fn quarantine(context: &mut Context, verb: &Quarantine) -> Done {
    if let Some(name) = &verb.release {
        return release(context, name, verb.yes);
    }
    if let Some(name) = &verb.discard {
        return discard(context, name);
    }
    let agent = context.agent_to_read()?;
    let now = agent.memory().view().now();
    let mut table = Table::new(&["held back", "objects", "when", "reason", "text"]);
    let reach = context.reach(&verb.scopes)?;
    let all = agent.quarantined(&reach)?;
    if let Some(scopes) = reach.names().filter(|_| all.is_empty()) {
        let text = format!("looked in {}; --all-scopes lists all", scopes.join(", "));
        context.output.note("scopes", text);
    }
    for held in all {
        if context.output.is_json() {
            context.output.document(&document(&held))?;
            continue;
        }
        let cells = vec![
            coloured(Meaning::Name, &held.name),
            number(held.ids_total as u64),
            coloured(
                Meaning::Quiet,
                time::in_column(held.time, now, context.output.style()),
            ),
            plain(held.reason.as_deref().unwrap_or_default()),
            plain(&held.preview),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn document(held: &Quarantined) -> Value {
    json!({
        "name": held.name,
        "reason": held.reason,
        "time": held.time.to_string(),
        "actor": held.actor,
        "session": held.session,
        "ids": held.ids,
        "ids_total": held.ids_total,
        "preview": held.preview,
    })
}

fn release(context: &mut Context, name: &str, yes: bool) -> Done {
    let agent = context.agent_to_write()?;
    let objects = agent.held_objects(name)?;
    let question = question(name, &objects);
    let says = person(context, yes, &question, "released")?;
    let committed = agent.release(name, says, &context.writer())?;
    if context.output.is_json() {
        let document = json!({
            "name": name,
            "released": true,
            "ids": objects.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
        });
        context
            .output
            .document(&with_commit(document, &committed.commit))?;
    } else {
        let what = counted(objects.len() as u64, "object");
        let text = format!("released {name} with {what}");
        print_committed(context, agent.memory(), &committed, &text)?;
    }
    Ok(DONE)
}

/// What a person is asked: everything that would be written, as far as it fits, and what is not shown.
fn question(name: &str, objects: &[HeldObject]) -> String {
    let mut text = format!("{name}: {}\n", counted(objects.len() as u64, "object"));
    for one in objects.iter().take(ASKED_MAX) {
        let preview = if one.is_removed {
            "is removed"
        } else {
            &one.preview
        };
        let line = format!("{} ({}): {}", one.id, one.scope, cut(preview, ASKED_CHARS));
        text.push_str(&printable(&line));
        text.push('\n');
    }
    let more = objects.len().saturating_sub(ASKED_MAX);
    if more > 0 {
        let _infallible = writeln!(
            text,
            "and {} that are not shown here",
            counted(more as u64, "object")
        );
    }
    text.push_str("release all of it?");
    text
}

fn discard(context: &mut Context, name: &str) -> Done {
    let agent = context.agent_to_write()?;
    agent.discard(name, &context.writer())?;
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "name": name, "discarded": true }))?;
    } else {
        context.output.line(format_args!("discarded {name}"))?;
    }
    Ok(DONE)
}
