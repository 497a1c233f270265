//! The derived caches of an agent on disk, so that the next process need not read every object again.
//!
//! A cache is a value of one state. The next process reads it and follows to the head by the difference. A file of another
//! layout, a damaged file, and a file of a state that history no longer keeps count as no file.
//!
//! # Layer
//! L7, inside `agent`. Derived: dropping a file costs time only.
//!
//! # Format
//! Of each derived file: postcard of the layout, the digest of the commit, and the value.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::digest::CommitDigest;
use crate::engine::{Memory, Revision, View};
use crate::error::{Error, Result};

/// The layout of all files. It changes with any of the values.
const LAYOUT: u32 = 1;
/// Fewer changes than these are made again faster than a file is written and read.
const CHANGES_MIN: u64 = 500;
/// A cache is kept again when one in so many of its entries changed.
const SHARE: u64 = 8;

/// Whether so many changes in a cache of `count` entries are worth a new file.
pub(super) fn is_worth_keeping(changes: u64, count: u64) -> bool {
    changes >= CHANGES_MIN && changes.saturating_mul(SHARE) >= count
}

/// Keeps the value of the state `of` under `name`. Returns `false` if an erasure or a rewrite is in the way.
///
/// # Errors
/// `Io` if the file cannot be written; with the code `read_only` for a handle that only reads.
pub(super) fn keep<T: Serialize>(memory: &Memory, name: &str, of: &View, value: &T) -> Result<bool> {
    let commit = of.commit().digest;
    let bytes = postcard::to_allocvec(&(LAYOUT, commit.as_bytes(), value));
    let bytes = bytes.map_err(|error| Error::internal(format!("the cache {name} has no bytes: {error}")))?;
    memory.keep_derived(name, &bytes, of)
}

/// The value that an earlier process kept, and the commit of its state.
pub(super) fn load<T: DeserializeOwned>(memory: &Memory, name: &str) -> Option<(CommitDigest, T)> {
    let bytes = memory.derived(name).ok()??;
    let ((layout, commit), rest): ((u32, [u8; 32]), _) = postcard::take_from_bytes(&bytes).ok()?;
    if layout != LAYOUT {
        return None;
    }
    let value = postcard::from_bytes(rest).ok()?;
    Some((CommitDigest::from_bytes(commit), value))
}

/// The state of a commit, if history still keeps it.
pub(super) fn view_of(memory: &Memory, commit: CommitDigest) -> Option<View> {
    let view = memory.view_at(&Revision::Prefix(commit.to_hex()), "").ok()?;
    (view.commit().digest == commit).then_some(view)
}
