//! Tests of backups, clones and remotes.

mod backup;
mod fleet;
mod machines;
mod trust;
