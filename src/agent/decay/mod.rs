//! Decay: shortens unused items. History retains the originals.
//!
//! # Layer
//! Layer 7, inside `agent`.

pub(crate) mod extract;
mod original;
mod pass;
mod ticker;

pub(super) use original::{original_of, written};
pub(super) use pass::decay;
pub use pass::{Decayed, Level, Move, Pass, Summarizer};
pub use ticker::{Listener, Ticker};
