//! What is not used becomes shorter, and the original stays in history.
//!
//! # Layer
//! L7, inside `agent`.

pub mod extract;
mod pass;
mod ticker;

pub use pass::{Decayed, Level, Move, Pass, Summarizer};
pub(super) use pass::{original_of, run, written};
pub use ticker::{Listener, Ticker};
