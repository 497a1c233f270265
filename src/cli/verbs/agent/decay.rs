//! The arguments of `decay`.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

use crate::cli::args::WriteOptions;

/// `decay`
#[derive(Args, Debug)]
pub(crate) struct Decay {
    /// The moment that ages are judged at: a time, a date, or how long ago (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Entries, notes, sessions and summaries too
    #[arg(long)]
    pub(crate) everything: bool,
    /// Say what would get shorter, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
