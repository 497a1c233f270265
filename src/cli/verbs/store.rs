//! The arguments of the verbs about the store as a whole.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::args::{PlainOptions, ReadOptions, UpkeepOptions, WriteOptions};
use crate::cli::time;

/// The hash of a new store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HashName {
    #[default]
    Blake3,
    Sha256,
}

/// `init`
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The hash that names everything in the store
    #[arg(long, value_name = "HASH", default_value = "blake3")]
    pub(crate) hash: HashName,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `stats`
#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// Also what takes the space of the log, and what gc would free: reads all of it
    #[arg(long)]
    pub(crate) space: bool,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `verify`
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Check frames and seals only, no digest of an object
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `doctor`
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// `salvage`
#[derive(Args, Debug)]
pub(crate) struct Salvage {
    /// The folder of the damaged store
    pub(crate) from: PathBuf,
    /// The folder of the new store
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// `gc`
#[derive(Args, Debug)]
pub(crate) struct Gc {
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Thin by a stricter policy than the standard one: nothing brings it back
    #[arg(long)]
    pub(crate) yes: bool,
    /// Keep every commit younger than this [default: 7d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) keep_all: Option<Duration>,
    /// But no more than the N newest because of --keep-all [default: 5000]
    #[arg(long, value_name = "N")]
    pub(crate) newest: Option<u64>,
    /// Keep the last commit of each hour younger than this [default: 30d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) hourly: Option<Duration>,
    /// Keep the last commit of each day younger than this [default: 365d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) daily: Option<Duration>,
    /// Keep the last commit of each week younger than this [default: forever]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) weekly: Option<Duration>,
    /// The moment that ages are judged at: an RFC 3339 time, a date, or how long ago (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    #[command(flatten)]
    pub(super) options: UpkeepOptions,
}

/// `erase`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Erase {
    /// Objects, and digests of versions, contents, reasons or sources
    #[arg(value_name = "ID|DIGEST", required = true)]
    pub(crate) targets: Vec<String>,
    /// Also contents that other objects share, and earlier versions that name an erased parent
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Also every version that was derived from an erased one
    #[arg(long)]
    pub(crate) derived: bool,
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do it: nothing brings it back
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
