//! Imports from other memory systems. Files are data; nothing in them is evaluated.
//!
//! Each format is a folder or file that no other one needs: `server_memory`, `odek` and `snap` map a file to objects,
//! `intake` reviews and commits them.
//!
//! # Layer
//! L7, inside `agent`.

mod foreign;
mod intake;
mod mapped;
pub mod odek;
mod server_memory;
mod snap;

pub use self::foreign::{Foreign, ForeignFinding, ForeignFormat, ForeignTaken};
pub(in crate::agent) use self::intake::take;

#[cfg(test)]
mod tests;
