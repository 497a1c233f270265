//! The engine above the files: the head, counts, proofs, digests.
//!
//! # Layer
//! L9, part of cli.

use super::table::{Command, Completes};

pub(super) const COMMANDS: &[Command] = &[
    Command::verb("head").examples(&[("head", "the root that names the whole state")]),
    Command::verb("stats").examples(&[("stats", "counts and sizes")]),
    Command::verb("verify").examples(&[("verify", "every byte, digest and commit")]),
    Command::verb("prove")
        .examples(&[("prove tea", "a proof that the object is in the state")])
        .completes(Completes::Id),
    Command::verb("contains")
        .examples(&[("contains 5f0c81d2", "whether a commit or root is kept")])
        .completes(Completes::Digest),
];
