//! The answers of the verbs as typed values, which the program prints and servers send.
//!
//! Programs read the JSON of the fields. Only the output for people uses a field that JSON omits (`serde(skip)`).
//!
//! # Layer
//! Layer 8. Knows the engine and the verbs of an agent. Does not know the terminal.

pub(crate) mod agent;
pub(crate) mod commits;
pub(crate) mod field_changes;
pub(crate) mod history;
pub(crate) mod json;
pub(crate) mod line_diff;
pub(crate) mod objects;
pub(crate) mod program;
pub(crate) mod proof;
pub(crate) mod store;
pub(crate) mod words;
