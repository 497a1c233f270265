//! The answers of an agent's verbs, where they have more or fewer fields than the agent's own values.
//!
//! # Layer
//! L8, part of answers.

pub(crate) mod guard;
pub(crate) mod items;
pub(crate) mod recall;
pub(crate) mod sessions;
