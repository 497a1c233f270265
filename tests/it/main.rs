//! Tests of the crate from outside, in one binary: what other programs and implementations rely on.
#![expect(
    clippy::unwrap_used,
    reason = "everything here runs in tests only; a panic is the failure"
)]

mod format_page;
mod processes;
mod tidy;
mod vectors;
mod vectors_trie;
