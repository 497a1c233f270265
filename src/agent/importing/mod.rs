//! Memories of other systems, read as data and never evaluated.
//!
//! # Layer
//! L7, inside `agent`.

mod mapping;
pub mod odek;
pub mod server_memory;
pub mod snap;
mod taking;

pub use self::taking::{Foreign, ForeignFinding, ForeignFormat, ForeignTaken};

#[cfg(test)]
mod tests;
