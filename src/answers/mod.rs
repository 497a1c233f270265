//! The answers of the verbs as typed values: the program prints them, and servers send them.
//!
//! A field is what programs read. A field that JSON leaves out (`serde(skip)`) is for people alone.
//!
//! # Layer
//! L8. Knows the engine and the verbs of an agent. Does not know the terminal.

#[cfg(feature = "agent")]
pub(crate) mod agent;
pub(crate) mod commits;
pub(crate) mod history;
pub(crate) mod objects;
pub(crate) mod program;
pub(crate) mod proof;
pub(crate) mod store;
