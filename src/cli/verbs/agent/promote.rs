//! The arguments of `promote`.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

use crate::cli::args::WriteOptions;

/// `promote`
#[derive(Args, Debug)]
pub(crate) struct Promote {
    /// The item
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The version that you looked at, all 64 digits; another one is not promoted [default: the present one]
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
    /// Do it without asking: a person gives this, not a program for one
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
