//! The arguments of `envelope`.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;

use clap::Args;

use super::scopes::ScopeOptions;
use crate::cli::args::ReadOptions;

/// `envelope`
#[derive(Args, Debug)]
pub(crate) struct Envelope {
    /// What the facts shall be about; without it the pinned and the newest are shown
    #[arg(value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// At most so many tokens, of four characters each [default: 5000]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// The context of the session (--session) is being compacted: its notes are shown too
    #[arg(long)]
    pub(crate) compaction: bool,
    /// Also what is not trusted, in a section of its own
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Leave out what is more sensitive: none, pii, internal, credentials [default: internal]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) sensitivity: Option<String>,
    /// A word of 16 to 64 letters and digits, drawn at random for the session, for the first and last line
    #[arg(long, value_name = "WORD")]
    pub(crate) boundary: Option<String>,
    /// Take envelopes out of a text instead; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "budget", "scopes", "all_scopes", "compaction", "with_untrusted", "sensitivity", "boundary"])]
    pub(crate) scrub: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}
