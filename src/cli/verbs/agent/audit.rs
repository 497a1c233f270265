//! The arguments of `audit`.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

use crate::cli::args::ReadOptions;

/// `audit`
#[derive(Args, Debug)]
pub(crate) struct Audit {
    /// Only what came from this source
    #[arg(long = "from", value_name = "SRC")]
    pub(crate) source: Option<String>,
    /// Only what changed an object of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only this operation: remember, forget, decay, promote, guard, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only what changed this object
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or how long ago (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}
