//! The answers of an agent's verbs whose fields differ from the agent's own values.
//!
//! # Layer
//! Layer 8, part of answers.

pub(crate) mod guard;
pub(crate) mod items;
pub(crate) mod recall;
pub(crate) mod sessions;
