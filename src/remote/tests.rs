//! Tests of backups, clones and remotes.

mod backup;
mod caps;
mod encryption;
mod erasers;
mod erasure;
mod fleet;
mod images;
mod limits;
mod machines;
mod races;
mod rest;
#[cfg(feature = "signed")]
mod signing;
mod sync;
mod thinned;
mod times;
mod travel;
mod trust;
mod two;
mod upkeep;
mod verify;
