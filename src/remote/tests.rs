//! Tests of backups, clones and remotes.

mod backup;
mod erasure;
mod fleet;
mod machines;
mod travel;
mod upkeep;
