//! Tests of backups, clones and remotes.

mod backup;
mod encryption;
mod fleet;
mod machines;
#[cfg(feature = "signed")]
mod signing;
mod sync;
mod trust;
