//! The verbs of an agent, one file for each.
//!
//! # Layer
//! Layer 10, part of cli.

mod agent_files;
mod audit;
pub(super) mod blocks;
mod command;
mod decay;
mod envelope;
mod folder;
mod forget;
mod forget_about;
mod guard;
mod import;
mod note;
mod project;
mod promote;
mod quarantine;
mod recall;
mod remember;
mod review;
mod session;

pub(super) use self::project::Project;
pub(super) use self::promote::person;
use crate::cli::context::Context;
use crate::cli::verb::{Entry, entry};
use treering::agent::Agent;
use treering::{Result, View};

/// The table of the agent's verbs. `remember` and `quarantine` themselves check `TREERING_DISABLE`, because their
/// answers differ.
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

impl Context {
    /// Opens the store for reading. Returns its agent, and the state of `--at` or of the head.
    fn agent_view(&mut self) -> Result<(Agent, View)> {
        let agent = self.agent_to_read()?;
        let view = self.view(agent.memory())?;
        Ok((agent, view))
    }
}
