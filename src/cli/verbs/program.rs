//! The arguments of the verbs about the program itself.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{PlainOptions, ShellOptions, WriteOptions};
use crate::cli::output::Mode;

/// `debug`
#[derive(Args, Debug)]
pub(crate) struct Debug {
    /// Run this command and leave; may be repeated
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
    /// Run the commands in FILE (- is standard input), a line each, and leave; may be repeated, and comes before -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Allow snapshot, rollback, undo, redo, put, remove, gc and erase
    #[arg(long)]
    pub(crate) write: bool,
    /// How answers are written
    #[arg(long, value_name = "MODE", conflicts_with = "json")]
    pub(crate) mode: Option<Mode>,
    /// Go on after a command that failed; the exit code is still that of the first failure
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(super) options: ShellOptions,
}

/// `tour`
#[derive(Args, Debug)]
pub(crate) struct Tour {
    /// Keep the store of the tour in DIR, which must be empty or absent
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// `completions`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// `man`
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder to write treering.1, treering-put.1 and so on into
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// `schema`
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The verb, or `error` or `note`
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,
    #[command(flatten)]
    pub(super) options: PlainOptions,
}

/// The hidden verb that the tour kills.
#[derive(Args, Debug)]
pub(crate) struct TourWriter {
    #[command(flatten)]
    pub(super) options: WriteOptions,
}
