//! Tests of backups, clones and remotes.

mod backup;
mod encryption;
mod erasure;
mod fleet;
mod machines;
#[cfg(feature = "signed")]
mod signing;
mod sync;
mod travel;
mod trust;
mod upkeep;
