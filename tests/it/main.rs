//! Tests of the crate from outside, in one binary: what other programs and implementations rely on.

mod vectors_trie;
