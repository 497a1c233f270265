//! The arguments of `import`.
//!
//! # Layer
//! L9, part of cli.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::args::WriteOptions;

/// What is imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// A folder of Markdown files, as `export --format blocks` writes it
    #[default]
    Blocks,
    /// The graph of the MCP reference server memory
    ServerMemory,
    /// A fact file of odek: user.md or env.md
    Odek,
    /// The memory.snap of the published core
    Snap,
}

/// What the facts of a file are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FactsAbout {
    User,
    Env,
}

/// `import`
#[derive(Args, Debug)]
pub(crate) struct Import {
    /// The folder of blocks, or the file; - reads a file from standard input
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// What it is
    #[arg(long, value_name = "FORMAT", default_value = "blocks")]
    pub(crate) format: ImportFormat,
    /// Where it belongs [default: what the file says, else the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// What facts are about, where the file is not named user.md or env.md
    #[arg(long, value_name = "WHAT")]
    pub(crate) about: Option<FactsAbout>,
    /// Remove blocks whose files are gone
    #[arg(long)]
    pub(crate) prune: bool,
    /// Take files also where the block was changed since they were written, or may have been
    #[arg(long)]
    pub(crate) force: bool,
    /// The edits are your own: blocks keep the trust they have. A program must not say it for a person
    #[arg(long)]
    pub(crate) as_me: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

impl Import {
    /// Whether it would read standard input.
    pub(super) fn reads_standard_input(&self) -> bool {
        self.path == Path::new("-")
    }
}
