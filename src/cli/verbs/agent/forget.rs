//! The arguments of `forget`, `unforget`, `forgotten` and `expire`.
//!
//! # Layer
//! L9, part of cli.

use std::time::Duration;

use clap::Args;

use super::scopes::ScopeOptions;
use crate::cli::args::{ReadOptions, WriteOptions};
use crate::cli::time;

/// `forget`
#[derive(Args, Debug)]
pub(crate) struct Forget {
    /// Items by their ids, also pinned ones
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Items with this tag; with all of them, if given again
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Items with one of these tags
    #[arg(long, value_name = "TAG")]
    pub(crate) any_tag: Vec<String>,
    /// Items stored before this: a time, a date, or how long ago (30d)
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Items said in this session
    #[arg(long, value_name = "S")]
    pub(crate) in_session: Option<String>,
    /// Items from this source
    #[arg(long, value_name = "SRC")]
    pub(crate) from_source: Option<String>,
    /// Items of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `unforget`
#[derive(Args, Debug)]
pub(crate) struct Unforget {
    /// Items that were forgotten or shortened
    #[arg(value_name = "ID", required_unless_present = "last", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) ids: Vec<String>,
    /// All that was forgotten or shortened last in the scopes at work here
    #[arg(long, conflicts_with = "ids")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Say what would come back, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `forgotten`
#[derive(Args, Debug)]
pub(crate) struct Forgotten {
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `expire`
#[derive(Args, Debug)]
pub(crate) struct Expire {
    /// The item
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// From this time or date on it is no longer shown
    #[arg(long, value_name = "TIME", required_unless_present_any = ["in_", "never"])]
    pub(crate) at: Option<String>,
    /// After this long it is no longer shown: 12h, 30d, 8w
    #[arg(long = "in", id = "in_", value_name = "DURATION", value_parser = time::span, conflicts_with = "at")]
    pub(crate) after: Option<Duration>,
    /// It stays
    #[arg(long, conflicts_with_all = ["at", "in_"])]
    pub(crate) never: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
