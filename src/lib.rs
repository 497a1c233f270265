//! Treering: the memory of a long-running AI agent.

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "cli")]
pub(crate) mod answers;
pub mod bytes;
pub(crate) mod calendar;
#[cfg(feature = "cli")]
pub mod cli;
pub mod codec;
pub mod digest;
pub mod disk;
pub mod engine;
pub mod error;
#[cfg(feature = "ingest")]
pub mod ingest;
pub mod log;
pub mod object;
#[cfg(feature = "agent")]
pub mod recall;
#[cfg(feature = "agent")]
pub mod scan;
pub(crate) mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub(crate) mod threads;
pub mod trie;

// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use digest::{
    CommitDigest, HashAlgorithm, HashSuite, KeyPath, ObjectDigest, Root, SubtreeDigest, TextDigest,
};
pub use engine::*;
pub use error::{Error, ErrorCode, ErrorKind, Result};
pub use object::*;
pub use store::ChangeCounts;
pub use trie::{Proof, ProofError, Proven, verify_proof};
