//! The arguments of the verbs about states and history.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{PlainOptions, ReadOptions, WriteOptions};

/// `head`
#[derive(Args, Debug)]
pub(crate) struct Head {
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `snapshot`
#[derive(Args, Debug)]
pub(crate) struct Snapshot {
    /// A name that stays; without it, the ring of your lane
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Delete the snapshot NAME; the state it names stays in the history
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    pub(crate) delete: Option<String>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `snapshots`
#[derive(Args, Debug)]
pub(crate) struct Snapshots {
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `rollback`
#[derive(Args, Debug)]
pub(crate) struct Rollback {
    /// The state to bring back
    #[arg(value_name = "REV")]
    pub(crate) revision: String,
    /// Also over commits of other lanes
    #[arg(long)]
    pub(crate) all: bool,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `restore`
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// The state to take them from
    #[arg(value_name = "REV")]
    pub(crate) revision: String,
    /// The objects
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Everything below them too
    #[arg(long)]
    pub(crate) recursive: bool,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `undo`
#[derive(Args, Debug)]
pub(crate) struct Undo {
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `redo`
#[derive(Args, Debug)]
pub(crate) struct Redo {
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `log`
#[derive(Args, Debug)]
pub(crate) struct Log {
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// List the references instead: snapshots, drafts, rejected
    #[arg(long, conflicts_with = "op")]
    pub(crate) refs: bool,
    /// Only this operation: put, ingest, remove, rollback, undo, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or how long ago (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `history`
#[derive(Args, Debug)]
pub(crate) struct History {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `diff`
#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// From this state
    #[arg(value_name = "REV")]
    pub(crate) from: String,
    /// To this one [default: @]
    #[arg(value_name = "REV2")]
    pub(crate) to: Option<String>,
    /// Exit with 1 where they differ
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `prove`
#[derive(Args, Debug)]
pub(crate) struct Prove {
    /// The object, present or not
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `check-proof`
#[derive(Args, Debug)]
pub(crate) struct CheckProof {
    /// The proof document; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The root that it must be a proof against, all 64 digits
    #[arg(long, value_name = "ROOT")]
    pub(crate) root: Option<String>,
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// `contains`
#[derive(Args, Debug)]
pub(crate) struct Contains {
    /// A commit's or root's digest, or 8 or more digits of it
    #[arg(value_name = "DIGEST")]
    pub(crate) digest: String,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}
