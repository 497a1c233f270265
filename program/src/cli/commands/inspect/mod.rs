//! `inspect`: shows the files, bytes and nodes of a store, even of a damaged store.
//!
//! # Layer
//! Layer 10, part of cli. The names of fields come from the tables of `log`, `object` and `trie`.

mod digest;
mod files;
mod frames;
mod hex;
mod parts;
mod recovery;
mod trie;

use crate::cli::commands::prelude::*;

/// Show files, bytes and trie nodes
///
/// Also works on a store that cannot be opened.
///
/// # Examples
/// ```text
/// treering inspect files
/// treering inspect frames --limit 10
/// treering inspect hex 1:4096
/// treering inspect trie --path tea
/// treering inspect digest 5f0c
/// treering inspect recovery
/// ```
#[derive(Args, Debug)]
#[command(hide = true, verbatim_doc_comment)]
pub(crate) struct Inspect {
    #[command(subcommand)]
    what: What,
}

/// A part of a store.
#[derive(Debug, Subcommand)]
enum What {
    Files(files::Files),
    Frames(frames::Frames),
    Hex(hex::Hex),
    Trie(trie::Trie),
    Digest(digest::Digest),
    Recovery(recovery::Recovery),
}

impl Verb for Inspect {
    const ANSWERS: &'static [Form] = &[
        form::<files::File>("files, one per line"),
        form::<frames::FrameRow>("frames, one per line"),
        form::<hex::FileBytes>("hex, of a file"),
        form::<hex::FrameBytes>("hex, of a frame"),
        form::<trie::NodeBytes>("trie"),
        form::<trie::Step>("trie --path, one per line"),
        form::<digest::DigestRow>("digest, one per line"),
        form::<recovery::Plan>("recovery"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.what {
            What::Files(files::Files {}) => files::Files::run(context),
            What::Frames(verb) => verb.run(context),
            What::Hex(verb) => verb.run(context),
            What::Trie(verb) => verb.run(context),
            What::Digest(verb) => verb.run(context),
            What::Recovery(recovery::Recovery {}) => recovery::Recovery::run(context),
        }
    }
}
