//! The arguments of `remember`.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::agent::OnDuplicate;
use crate::cli::args::WriteOptions;
use crate::cli::time;

/// `remember`
#[derive(Args, Debug)]
pub(crate) struct Remember {
    /// The text; - reads it from standard input
    #[arg(
        value_name = "TEXT",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    pub(crate) text: Option<String>,
    /// Its name [default: one is made]
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) id: Option<String>,
    /// What sort of item: fact, decision, note, block, or any other word
    #[arg(long, value_name = "KIND", default_value = "fact")]
    pub(crate) kind: String,
    /// Where it belongs: global, project, session, agent, project:NAME, or any other text [default: the project of this folder, else global]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// A word to find it by; may be repeated
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "jsonl")]
    pub(crate) tags: Vec<String>,
    /// Who said it
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// Who or what it is about
    #[arg(long, visible_alias = "about", value_name = "WHAT", conflicts_with = "jsonl")]
    pub(crate) subject: Option<String>,
    /// Its place in the session
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        conflicts_with = "jsonl"
    )]
    pub(crate) order: Option<i64>,
    /// When it happened: a time, a date, or how long ago (2h, 3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// How long it is shown: 12h, 30d
    #[arg(long, value_name = "DURATION", value_parser = time::span, conflicts_with_all = ["expires", "jsonl"])]
    pub(crate) ttl: Option<Duration>,
    /// Until when it is shown
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) expires: Option<String>,
    /// Where it is written; may be repeated
    #[arg(long = "cite", value_name = "FILE[:LINE[:NOTE]]", conflicts_with = "jsonl")]
    pub(crate) citations: Vec<String>,
    /// How sure it is, 0 to 1
    #[arg(long, value_name = "P", conflicts_with = "jsonl")]
    pub(crate) confidence: Option<f64>,
    /// Who may see it: none, pii, internal or credentials
    #[arg(long, value_name = "LEVEL", conflicts_with = "jsonl")]
    pub(crate) sensitivity: Option<String>,
    /// Never shorten it, and never forget it by age
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) pin: bool,
    /// An item that it takes the place of; may be repeated
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) supersedes: Vec<String>,
    /// What to do if another item surely says the same
    #[arg(long, value_name = "CHOICE", default_value = "warn", conflicts_with = "jsonl")]
    pub(crate) on_duplicate: DuplicateChoice,
    /// Makes the id: the same key again stores nothing new
    #[arg(long, value_name = "KEY", conflicts_with_all = ["id", "jsonl"])]
    pub(crate) key: Option<String>,
    /// Store it only if the id has this version
    #[arg(long, value_name = "DIGEST", requires = "id", conflicts_with = "jsonl")]
    pub(crate) expected: Option<String>,
    /// Read items from FILE, one a line: {"id"?, "text", "kind"?, "scope"?, "tags"?, ...}; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines
    #[arg(long, value_name = "N", requires = "jsonl", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: u64,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// What to do with an item that surely says what another one says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuplicateChoice {
    /// Store it, and say so
    Warn,
    /// Store nothing
    Skip,
    /// Put what it adds into the other one
    Merge,
    /// Store it in the other one's place
    Supersede,
}

impl From<DuplicateChoice> for OnDuplicate {
    fn from(choice: DuplicateChoice) -> Self {
        match choice {
            DuplicateChoice::Warn => Self::Warn,
            DuplicateChoice::Skip => Self::Skip,
            DuplicateChoice::Merge => Self::Merge,
            DuplicateChoice::Supersede => Self::Supersede,
        }
    }
}
