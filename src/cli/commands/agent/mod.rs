//! The verbs of an agent, each as a function.
//!
//! # Layer
//! Layer 10, part of cli.

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

use crate::cli::verb::{Entry, entry};

/// The table of the verbs. `remember` has a different answer if `TREERING_DISABLE` is set.
pub(super) const VERBS: &[Entry] = &[
    entry::<remember::Remember>(),
    entry::<recall::Recall>().switchable(),
    entry::<forget::Forget>().switchable(),
    entry::<forget::Unforget>().switchable(),
    entry::<forget::Forgotten>().switchable(),
    entry::<forget::Expire>().switchable(),
    entry::<decay::Decay>().switchable(),
    entry::<note::Note>().switchable(),
    entry::<session::Session>().switchable(),
    entry::<envelope::Envelope>().switchable(),
    entry::<guard::Guard>().switchable(),
    entry::<promote::Promote>().switchable(),
    entry::<quarantine::Quarantine>(),
    entry::<audit::Audit>().switchable(),
    entry::<import::Import>().switchable(),
];
