//! Tests of backups, clones and remotes.

mod backup;
mod fleet;
mod machines;
#[cfg(feature = "signed")]
mod signing;
mod sync;
