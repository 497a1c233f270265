//! Which scopes a verb reads.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

/// The scopes that a verb reads.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ScopeOptions {
    /// Only this scope: global, project, session, agent, or a name such as project:tea; may be repeated
    /// [default: global and those at work here]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Every scope of the store
    #[arg(long, conflicts_with = "scopes")]
    pub(crate) all_scopes: bool,
}
