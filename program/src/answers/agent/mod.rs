//! The answers of an agent's verbs whose JSON fields differ from the fields of the agent's types.
//!
//! # Layer
//! Layer 8, part of answers.

pub(crate) mod guard;
pub(crate) mod held;
pub(crate) mod inbox;
pub(crate) mod items;
pub(crate) mod recall;
pub(crate) mod sessions;
