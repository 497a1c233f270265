//! `quarantine`: what was held back, for a person to decide about.
//!
//! # Layer
//! L9, part of cli.

use serde_json::{Value, json};

use super::promote::person;
use crate::agent::trust::Quarantined;
use crate::cli::commands::put::tell_committed;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{Table, coloured, number, plain};
use crate::cli::json::with_commit;
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::cli::verbs::Quarantine;

pub(super) fn quarantine(context: &mut Context, verb: &Quarantine) -> Done {
    if let Some(name) = &verb.release {
        return release(context, name, verb.yes);
    }
    if let Some(name) = &verb.discard {
        return discard(context, name);
    }
    let agent = context.agent_to_read()?;
    let now = agent.memory().view().now();
    let mut table = Table::new(&["held back", "objects", "when", "reason", "text"]);
    for held in agent.quarantined()? {
        if context.output.is_json() {
            context.output.document(&document(&held))?;
            continue;
        }
        let cells = vec![
            coloured(Meaning::Name, &held.name),
            number(held.ids_total as u64),
            coloured(Meaning::Quiet, time::told(held.time, now, context.output.style())),
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
    let bare = |name: &str| name.trim_start_matches("rejected/").to_owned();
    let held = agent
        .quarantined()?
        .into_iter()
        .find(|held| bare(&held.name) == bare(name));
    let told = held
        .map(|held| format!("{}: {}\n", held.name, held.preview))
        .unwrap_or_default();
    let says = person(context, yes, &format!("{told}release it?"), "released")?;
    let committed = agent.release(name, says, &context.writer())?;
    if context.output.is_json() {
        let document = json!({
            "name": name,
            "released": true,
        });
        context
            .output
            .document(&with_commit(document, &committed.commit))?;
    } else {
        tell_committed(context, agent.memory(), &committed, &format!("released {name}"))?;
    }
    agent.memory().clone().close()?;
    Ok(DONE)
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
    agent.memory().clone().close()?;
    Ok(DONE)
}
