//! The arguments of `quarantine`.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

use crate::cli::args::WriteOptions;

/// `quarantine`
#[derive(Args, Debug)]
pub(crate) struct Quarantine {
    /// Commit what is held back under this name, as little trusted as it was
    #[arg(long, value_name = "NAME", conflicts_with = "discard")]
    pub(crate) release: Option<String>,
    /// Drop what is held back under this name
    #[arg(long, value_name = "NAME")]
    pub(crate) discard: Option<String>,
    /// Release without asking: a person gives this, not a program for one
    #[arg(long, requires = "release")]
    pub(crate) yes: bool,
    /// List what would change this scope: global, project, session, agent, or a name; may be repeated
    /// [default: global and those at work here]
    #[arg(long = "scope", value_name = "SCOPE", conflicts_with_all = ["release", "discard"])]
    pub(crate) scopes: Vec<String>,
    /// List it for every scope of the store
    #[arg(long, conflicts_with_all = ["scopes", "release", "discard"])]
    pub(crate) all_scopes: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
