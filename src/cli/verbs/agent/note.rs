//! The arguments of `note`.
//!
//! # Layer
//! L9, part of cli.

use clap::{Args, Subcommand};

use crate::cli::args::{ReadOptions, VerbOptions, WriteOptions};

/// `note`
#[derive(Args, Debug)]
pub(crate) struct Note {
    #[command(subcommand)]
    pub(crate) verb: NoteVerb,
}

/// What is done with notes.
#[derive(Debug, Subcommand)]
pub(crate) enum NoteVerb {
    /// Write a note, or replace one
    #[command(
        after_help = "The note belongs to the root of the session (--session). Only that session replaces it.\n\n\
                      Examples:\n  treering note write 'the build needs --locked' --session s1\n  \
                      treering note write 'done' --replace tea/note/0198c1de --session s1\n  \
                      treering note write '' --replace '*' --session s1"
    )]
    Write(NoteWrite),
    /// Show a note, and keep that it was read
    #[command(after_help = "Examples:\n  treering note read tea/note/0198c1de --json")]
    Read(NoteRead),
    /// List the notes of the project, newest first
    #[command(after_help = "Examples:\n  treering note list\n  treering note list --own --session s1 --json")]
    List(NoteList),
    /// Delete a note, whichever session wrote it; undo brings it back
    #[command(after_help = "Examples:\n  treering note delete tea/note/0198c1de -m 'settled'")]
    Delete(NoteDelete),
    /// Find notes by words, freshness, and when they were read
    #[command(after_help = "Examples:\n  treering note search 'build flags' --session s1 --limit 3")]
    Search(NoteSearch),
}

/// `note write`
#[derive(Args, Debug)]
pub(crate) struct NoteWrite {
    /// The text; - reads it from standard input; an empty one only takes away what --replace names
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// The note to replace, or * for every note of the session
    #[arg(long, value_name = "ID")]
    pub(crate) replace: Option<String>,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `note read`
#[derive(Args, Debug)]
pub(crate) struct NoteRead {
    /// The note
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `note list`
#[derive(Args, Debug)]
pub(crate) struct NoteList {
    /// Only notes of the session
    #[arg(long)]
    pub(crate) own: bool,
    /// The scope of the notes [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

/// `note delete`
#[derive(Args, Debug)]
pub(crate) struct NoteDelete {
    /// The note
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: WriteOptions,
}

/// `note search`
#[derive(Args, Debug)]
pub(crate) struct NoteSearch {
    /// What to look for
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// The most notes that are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// The scope of the notes [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

impl Note {
    /// Its share of the options that may also stand before it.
    pub(super) fn options(&self) -> VerbOptions<'_> {
        match &self.verb {
            NoteVerb::Write(verb) => VerbOptions::Write(&verb.options),
            NoteVerb::Read(verb) => VerbOptions::Read(&verb.options),
            NoteVerb::List(verb) => VerbOptions::Read(&verb.options),
            NoteVerb::Delete(verb) => VerbOptions::Write(&verb.options),
            NoteVerb::Search(verb) => VerbOptions::Read(&verb.options),
        }
    }

    /// Whether it would read standard input.
    pub(super) fn reads_standard_input(&self) -> bool {
        matches!(&self.verb, NoteVerb::Write(verb) if verb.text == "-")
    }
}
