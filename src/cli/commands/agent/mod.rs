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

use super::super::context::Context;
use super::super::errors::Done;
use super::super::verbs::AgentVerb;

/// Does what the verb says.
pub(super) fn run(context: &mut Context, verb: AgentVerb) -> Done {
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
