//! The arguments of `guard`.
//!
//! # Layer
//! L9, part of cli.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::scopes::ScopeOptions;
use crate::cli::args::{ReadOptions, VerbOptions, WriteOptions};

/// `guard`
#[derive(Args, Debug)]
pub(crate) struct Guard {
    #[command(subcommand)]
    pub(crate) verb: GuardVerb,
}

/// What is done with a change.
#[derive(Debug, Subcommand)]
pub(crate) enum GuardVerb {
    /// Stage a change from JSON Lines; the state does not move
    #[command(
        after_help = "A line is an object as put --jsonl reads it, or {\"remove\":\"ID\"}.\n\n\
                      Examples:\n  treering guard stage turn-7 --jsonl changes.jsonl\n  \
                      my-agent | treering guard stage turn-7 --jsonl - --session s1 --trust untrusted"
    )]
    Stage(GuardStage),
    /// Say what each check finds; changes nothing
    #[command(
        after_help = "Examples:\n  treering guard check turn-7\n  treering guard check turn-7 --policy strict.toml --json"
    )]
    Check(GuardWith),
    /// Check it, and commit it if everything passes
    #[command(
        after_help = "Examples:\n  treering guard commit turn-7 -m 'turn 7'\n  treering guard commit turn-7 --json"
    )]
    Commit(GuardWith),
    /// Drop a staged change
    #[command(after_help = "Examples:\n  treering guard drop turn-7")]
    Drop(GuardDrop),
    /// Show what a staged change would do
    #[command(after_help = "Examples:\n  treering guard show turn-7\n  treering guard show turn-7 --json")]
    Show(GuardShow),
    /// Compare what questions recall in two states: what a turn or a rollback did to the answers
    #[command(
        after_help = "Examples:\n  treering guard recall snap:0 --query 'which database'\n  \
                      treering guard recall @-5 @ --queries questions.txt --exit-code --json"
    )]
    Recall(GuardRecall),
    /// List what is staged
    #[command(after_help = "Examples:\n  treering guard list\n  treering guard list --json")]
    List(GuardList),
}

/// `guard stage`
#[derive(Args, Debug)]
pub(crate) struct GuardStage {
    /// A name for the change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The lines of the change; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: PathBuf,
    /// Who may rewrite what, in TOML [default: guard.toml beside the store's folder, else the standard policy]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `guard check`, `guard commit`
#[derive(Args, Debug)]
pub(crate) struct GuardWith {
    /// The change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What is checked, in TOML [default: guard.toml beside the store's folder, else the standard policy]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `guard drop`
#[derive(Args, Debug)]
pub(crate) struct GuardDrop {
    /// The change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `guard show`
#[derive(Args, Debug)]
pub(crate) struct GuardShow {
    /// The change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `guard recall`
#[derive(Args, Debug)]
pub(crate) struct GuardRecall {
    /// The older state
    #[arg(value_name = "REV")]
    pub(crate) from: String,
    /// The newer one [default: @]
    #[arg(value_name = "REV2")]
    pub(crate) to: Option<String>,
    /// A question; may be repeated
    #[arg(long = "query", value_name = "TEXT")]
    pub(crate) queries: Vec<String>,
    /// Questions, one a line
    #[arg(long = "queries", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// At most K hits of each [default: 10]
    #[arg(long, value_name = "K")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Also what comes from sources that are not trusted
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Exit with 1 where an answer differs
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `guard list`
#[derive(Args, Debug)]
pub(crate) struct GuardList {
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

impl GuardVerb {
    /// Its share of the options that may also stand before it.
    pub(super) fn options(&self) -> VerbOptions<'_> {
        match self {
            Self::Stage(verb) => VerbOptions::Write(&verb.options),
            Self::Check(verb) | Self::Commit(verb) => VerbOptions::Write(&verb.options),
            Self::Drop(verb) => VerbOptions::Write(&verb.options),
            Self::Show(verb) => VerbOptions::Read(&verb.options),
            Self::Recall(verb) => VerbOptions::Read(&verb.options),
            Self::List(verb) => VerbOptions::Read(&verb.options),
        }
    }

    /// Whether it would read standard input.
    pub(super) fn reads_standard_input(&self) -> bool {
        match self {
            Self::Stage(verb) => verb.jsonl == Path::new("-"),
            Self::Recall(verb) => verb.file.as_deref() == Some(Path::new("-")),
            _ => false,
        }
    }
}
