//! What is not used becomes shorter, and the original stays in history.
//!
//! # Layer
//! L7, inside `agent`.

pub mod extract;
mod pass;
mod ticker;

pub(super) use pass::written;
pub use pass::{Decayed, Level, Move, Pass, Summarizer};
pub use ticker::{Listener, Ticker};
