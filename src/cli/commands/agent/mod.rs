//! The verbs of an agent, each as a function.
//!
//! # Layer
//! L10, part of cli.

mod audit;
pub(super) mod blocks;
mod command;
mod decay;
mod envelope;
mod folder;
mod forget;
mod guard;
mod import;
mod note;
mod promote;
mod quarantine;
mod recall;
mod remember;
mod session;

use serde_json::json;

use super::super::agent_context;
use super::super::args::Parsed;
use super::super::context::Context;
use super::super::errors::{DONE, Done};
use super::super::verb::{Entry, entry};

/// What people are told where `TREERING_DISABLE` is set.
const DISABLED: &str = "nothing was done: TREERING_DISABLE switches the memory off";

/// The verbs of an agent.
pub(super) static VERBS: &[Entry] = &[
    entry::<remember::Remember>(),
    entry::<recall::Recall>(),
    entry::<forget::Forget>(),
    entry::<forget::Unforget>(),
    entry::<forget::Forgotten>(),
    entry::<forget::Expire>(),
    entry::<decay::Decay>(),
    entry::<note::Note>(),
    entry::<session::Session>(),
    entry::<envelope::Envelope>(),
    entry::<guard::Guard>(),
    entry::<promote::Promote>(),
    entry::<quarantine::Quarantine>(),
    entry::<audit::Audit>(),
    entry::<import::Import>(),
];

/// Whether `TREERING_DISABLE` keeps a verb from running at all. `remember` has an answer of its own for that.
pub(super) fn is_switched_off(parsed: &Parsed) -> bool {
    let is_of_agent = VERBS.iter().any(|verb| verb.name == parsed.name());
    is_of_agent && parsed.commits() && parsed.name() != "remember" && agent_context::is_switched_off()
}

/// The answer of a verb that would write, and does nothing.
pub(super) fn answer_disabled(context: &mut Context) -> Done {
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "status": "disabled", "disabled": true }))?;
    } else {
        context.output.line(DISABLED)?;
    }
    Ok(DONE)
}
