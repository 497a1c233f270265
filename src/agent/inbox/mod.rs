//! The inbox of a person: what was learned, and what waits for a decision.
//!
//! # Layer
//! Layer 7, inside `agent`.

mod index;
mod reads;
#[cfg(test)]
mod tests;

pub use index::Group;
pub(super) use index::{Compared, Noted};
pub use reads::{conflicts, learned_scopes, noted};
