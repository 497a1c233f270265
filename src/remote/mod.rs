//! Backups, clones and remotes: copies of a store in a bucket.
//!
//! # Layer
//! Layer 6.

pub mod bucket;
