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
    entry::<remember::Remember>("remember"),
    entry::<recall::Recall>("recall").switchable(),
    entry::<forget::Forget>("forget").switchable(),
    entry::<forget::Unforget>("unforget").switchable(),
    entry::<forget::Forgotten>("forgotten").switchable(),
    entry::<forget::Expire>("expire").switchable(),
    entry::<decay::Decay>("decay").switchable(),
    entry::<note::Note>("note").switchable(),
    entry::<session::Session>("session").switchable(),
    entry::<envelope::Envelope>("envelope").switchable(),
    entry::<guard::Guard>("guard").switchable(),
    entry::<promote::Promote>("promote").switchable(),
    entry::<quarantine::Quarantine>("quarantine"),
    entry::<audit::Audit>("audit").switchable(),
    entry::<import::Import>("import").switchable(),
];
