//! Treering: the memory of a long-running AI agent.

pub mod bytes;
pub mod codec;
pub mod digest;
pub mod error;
pub mod object;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trie;
