//! The verbs, one file for each family.
//!
//! Each command opens what it needs through the [`Context`], does one thing, and answers in JSON or for people.
//!
//! # Layer
//! L9, part of cli.

#[cfg(feature = "agent")]
mod agent;
mod export;
#[cfg(feature = "agent")]
mod flags;
mod ingest;
mod input;
mod log;
mod objects;
mod pictures;
mod proof;
mod put;
mod reference;
mod restore;
mod retention;
mod salvage;
mod sent;
mod snapshots;
mod store;

pub(super) use input::input_error;
pub(super) use log::show_changes;
pub(super) use proof::{check as check_proof_document, document as proof_document};

use super::args::AnyOptions;
use super::context::Context;
use super::debug;
use super::errors::Done;
use super::tour;
use super::verbs::Verb;

/// Does what the verb says.
pub(super) fn run(context: &mut Context, verb: Verb) -> Done {
    match verb {
        Verb::Init(verb) => store::init(context, &verb),
        Verb::Ingest(verb) => ingest::ingest(context, &verb),
        Verb::Put(verb) => put::put(context, verb),
        Verb::Get(verb) => objects::get(context, &verb),
        Verb::List(verb) => objects::list(context, &verb),
        Verb::Remove(verb) => objects::remove(context, &verb),
        Verb::Head(_) => store::head(context),
        Verb::Snapshot(verb) => snapshots::snapshot(context, &verb),
        Verb::Snapshots(verb) => snapshots::snapshots(context, &verb),
        Verb::Rollback(verb) => snapshots::rollback(context, &verb),
        Verb::Restore(verb) => restore::restore(context, &verb),
        Verb::Undo(_) => snapshots::undo(context),
        Verb::Redo(_) => snapshots::redo(context),
        Verb::Log(verb) => log::log(context, &verb),
        Verb::History(verb) => objects::history(context, &verb),
        Verb::Diff(verb) => log::diff(context, &verb),
        Verb::Prove(verb) => proof::prove(context, &verb),
        Verb::CheckProof(verb) => proof::check_proof(context, &verb),
        Verb::Contains(verb) => proof::contains(context, &verb),
        Verb::Verify(verb) => store::verify(context, &verb),
        Verb::Doctor(_) => salvage::doctor(context),
        Verb::Salvage(verb) => salvage::salvage(context, &verb),
        Verb::Export(verb) => export::export(context, &verb),
        Verb::Gc(verb) => retention::gc(context, &verb),
        Verb::Erase(verb) => retention::erase(context, &verb),
        Verb::Stats(verb) => store::stats(context, &verb),
        Verb::Debug(verb) => debug::debug(context, &verb),
        Verb::Tour(verb) => tour::tour(context, verb.keep),
        Verb::Completions(verb) => reference::completions(context, &verb),
        Verb::Man(verb) => reference::man(context, &verb),
        Verb::Schema(verb) => reference::schema(context, &verb),
        #[cfg(feature = "agent")]
        Verb::Agent(verb) => agent::run(context, *verb),
        Verb::TourWriter(_) => tour::write_until_killed(context),
    }
}

/// The command that reverses what was just done.
fn undo_command(options: &AnyOptions) -> String {
    let mut command = String::from("treering undo");
    for (option, value) in [
        ("--session", &options.lane.session),
        ("--actor", &options.lane.actor),
    ] {
        if let Some(value) = value {
            command = format!("{command} {option} '{}'", value.replace('\'', r"'\''"));
        }
    }
    command
}
