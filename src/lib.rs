//! Treering: the memory of a long-running AI agent.

pub mod bytes;
pub mod codec;
pub mod digest;
pub mod error;
pub mod object;
pub mod trie;
