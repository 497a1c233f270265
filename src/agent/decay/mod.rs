//! Decay: unused items become shorter, and history keeps the original.
//!
//! # Layer
//! L7, inside `agent`.

pub mod extract;
mod pass;
mod ticker;

pub use pass::{Decayed, Level, Move, Pass, Summarizer};
pub(super) use pass::{original_of, run, written};
pub use ticker::{Listener, Ticker};
