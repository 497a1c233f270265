//! The verbs of an agent, each as a function.
//!
//! # Layer
//! L9, part of cli.

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

use super::super::agent_context::is_switched_off;
use super::super::args::VerbOptions;
use super::super::context::Context;
use super::super::errors::{DONE, Done};
use super::super::verbs::AgentVerb;

/// What people are told where `TREERING_DISABLE` is set.
const DISABLED: &str = "nothing was done: TREERING_DISABLE switches the memory off";

/// Does what the verb says.
pub(super) fn run(context: &mut Context, verb: AgentVerb) -> Done {
    // `remember` has an answer of its own for that.
    let is_writing =
        matches!(verb.options(), VerbOptions::Write(_)) && !matches!(verb, AgentVerb::Remember(_));
    if is_writing && is_switched_off() {
        return disabled(context);
    }
    match verb {
        AgentVerb::Remember(verb) => remember::remember(context, verb),
        AgentVerb::Recall(verb) => recall::recall(context, &verb),
        AgentVerb::Forget(verb) => forget::forget(context, &verb),
        AgentVerb::Unforget(verb) => forget::unforget(context, &verb),
        AgentVerb::Forgotten(verb) => forget::forgotten(context, &verb),
        AgentVerb::Expire(verb) => forget::expire(context, &verb),
        AgentVerb::Decay(verb) => decay::decay(context, &verb),
        AgentVerb::Envelope(verb) => envelope::envelope(context, verb),
        AgentVerb::Guard(verb) => guard::guard(context, verb.verb),
        AgentVerb::Promote(verb) => promote::promote(context, &verb),
        AgentVerb::Quarantine(verb) => quarantine::quarantine(context, &verb),
        AgentVerb::Audit(verb) => audit::audit(context, verb),
        AgentVerb::Note(verb) => note::note(context, verb),
        AgentVerb::Session(verb) => session::session(context, verb),
        AgentVerb::Import(verb) => import::import(context, &verb),
    }
}

/// The answer of a verb that would write, and does nothing.
fn disabled(context: &mut Context) -> Done {
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "status": "disabled", "disabled": true }))?;
    } else {
        context.output.line(DISABLED)?;
    }
    Ok(DONE)
}
