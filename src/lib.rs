//! Treering: the memory of a long-running AI agent.

pub mod bytes;
pub mod codec;
pub mod digest;
pub mod disk;
pub mod error;
pub mod log;
pub mod object;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trie;
