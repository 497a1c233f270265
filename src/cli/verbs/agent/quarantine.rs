//! The arguments of `quarantine`.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

use super::scopes::ScopeOptions;
use crate::cli::args::WriteOptions;

/// `quarantine`
#[derive(Args, Debug)]
pub(crate) struct Quarantine {
    /// Commit what is held back under this name, as little trusted as it was
    #[arg(long, value_name = "NAME", conflicts_with_all = ["discard", "scopes", "all_scopes"])]
    pub(crate) release: Option<String>,
    /// Drop what is held back under this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) discard: Option<String>,
    /// Release without asking: a person gives this, not a program for one
    #[arg(long, requires = "release")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
