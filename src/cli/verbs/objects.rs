//! The arguments of the verbs about objects and documents.
//!
//! # Layer
//! L9, part of cli.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::{ReadOptions, WriteOptions};

/// `put`
#[derive(Args, Debug)]
pub(crate) struct Put {
    /// The name of the object, for ever
    #[arg(required_unless_present = "jsonl", value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What kind of object it is
    #[arg(long, required_unless_present = "jsonl", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// An attribute: k=text, or k:=JSON (null: absent); may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// The scope [default: global]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// The object that this one belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<String>,
    /// The order key among the children of its parent
    #[arg(long, value_name = "KEY")]
    pub(crate) position: Option<String>,
    /// The text; - reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) content: Option<String>,
    /// Read objects from FILE, one a line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "kind", "attributes", "scope", "parent", "position", "content"])]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines [default: one commit for all]
    #[arg(long, value_name = "N", requires = "jsonl", conflicts_with = "id", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: Option<u64>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `get`
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `list`
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only this scope
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Only ids that start with this
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Only the children of this object
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<String>,
    /// Only where the attribute has this value: k=text, or k:=JSON; may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// Only what was written in or after this commit, or at or after this time
    #[arg(long, value_name = "REV")]
    pub(crate) since: Option<String>,
    /// Only what was last written in or before this commit, or at or before this time
    #[arg(long, value_name = "REV")]
    pub(crate) until: Option<String>,
    /// Also what has expired
    #[arg(long)]
    pub(crate) include_expired: bool,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `remove`
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Also everything below it
    #[arg(long)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// The form of a document to read; `auto` goes by the ending of the file's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    #[default]
    Auto,
    Org,
    Markdown,
    Jsonl,
}

/// `ingest`
#[derive(Args, Debug)]
pub(crate) struct Ingest {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The form of the documents
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: DocumentFormat,
    /// Leave out, and name, files that cannot be read; without it one of them refuses all
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// The scope of the objects
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Remove this document, or those below this folder, if the files are gone; may be given again
    #[arg(long, value_name = "PATH")]
    pub(crate) prune: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// The form to export in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    #[default]
    Jsonl,
    Org,
    Markdown,
    /// A picture, for Graphviz
    Dot,
    /// A picture
    Svg,
    /// A page with all pictures, to look around in
    Html,
    /// A folder with one Markdown file a block, to edit and import again
    #[cfg(feature = "agent")]
    Blocks,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureOf {
    /// The tree of objects
    Tree,
    /// Commits, snapshots and ways back
    History,
    /// The trie nodes that two states share and do not share
    Trie,
}

/// `export`
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The file to write, or for Org and Markdown a folder [default: standard output]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// The form to write
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// What a picture shows; a page shows all three [default: tree]
    #[arg(long, value_name = "WHAT")]
    pub(crate) picture: Option<PictureOf>,
    /// The older of the two states whose trie nodes are drawn [default: the newest snapshot before]
    #[arg(long, value_name = "REV")]
    pub(crate) from: Option<String>,
    /// Draw only this object and what is below it
    #[arg(long, value_name = "ID")]
    pub(crate) under: Option<String>,
    /// The most rows of a picture [default: 2000]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    /// The scope of the blocks [default: global, and the project, session and agent at work]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}
