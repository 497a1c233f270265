//! Tests of backups, clones and remotes.

mod backup;
mod machines;
