//! How much there is of everything.
//!
//! # Layer
//! L5.

use std::collections::HashSet;

use crate::error::{Error, Result};

use super::memory::Memory;
use super::revision;

/// Counts and sizes of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Objects in the state at the head.
    pub objects: u64,
    /// Versions of objects that history keeps.
    pub history: u64,
    /// Kept commits.
    pub commits: u64,
    /// Commits that retention thinned; their digests stay in the chain.
    pub thinned: u64,
    /// Runs of thinned commits.
    pub gaps: u64,
    /// Versions that were erased.
    pub erased: u64,
    /// Snapshots, named and automatic.
    pub snapshots: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of log in use.
    pub log_bytes: u64,
    /// Bytes of the objects and contents of the state at the head.
    pub live_bytes: u64,
    /// Objects whose parent does not exist: none, unless something is wrong.
    pub orphans: u64,
}

/// Whether a commit or root is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Containment {
    /// It is kept.
    Kept,
    /// Retention dropped it; its digest is still in the chain.
    Thinned,
    /// This history never had it.
    Absent,
}

impl Memory {
    /// Counts everything; reads every object of the head.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let view = self.view();
        let (mut live_bytes, mut orphans) = (0, 0);
        let mut contents = HashSet::new();
        for object in view.objects() {
            let object = object?;
            if object.is_placeholder() {
                continue;
            }
            live_bytes += object.bytes().len() as u64;
            // A content that several objects share is kept once.
            if let Some((digest, length)) = object.content_digest()
                && !object.lacks_content()
                && contents.insert(digest)
            {
                live_bytes += length;
            }
            if let Some(parent) = object.parent() {
                orphans += u64::from(view.entry_at(&self.suite().key_path(parent))?.is_none());
            }
        }
        let gaps = self.inner.store().gaps();
        let (segments, log_bytes) = self.inner.writing.lock().log.size();
        Ok(Stats {
            objects: view.len(),
            history: self.history_len(),
            commits: self.inner.store().kept() as u64,
            thinned: gaps.iter().map(|gap| gap.count).sum(),
            gaps: gaps.len() as u64,
            erased: self.inner.store().records.erased(),
            snapshots: self.snapshots().len() as u64,
            segments: segments as u64,
            log_bytes,
            live_bytes,
            orphans,
        })
    }

    /// How many versions of objects history keeps.
    pub fn history_len(&self) -> u64 {
        self.inner.store().records.versions()
    }

    /// Whether this history has the commit or root whose digest starts with these 8 to 64 digits.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not that; `Corrupt` or `Io` if a record cannot be read.
    pub fn contains(&self, prefix: &str) -> Result<Containment> {
        if !(8..=64).contains(&prefix.len()) || revision::digest_range(prefix).is_none() {
            return Err(Error::invalid(format!(
                "`{prefix}` is not 8 to 64 hexadecimal digits"
            )));
        }
        let (store, prefix) = (self.inner.store(), prefix.to_ascii_lowercase());
        if !revision::by_prefix(&store, &prefix)?.is_empty() {
            return Ok(Containment::Kept);
        }
        for gap in store.gaps() {
            let digests = store.records.gap(gap.place)?;
            if digests.iter().any(|digest| digest.to_hex().starts_with(&prefix)) {
                return Ok(Containment::Thinned);
            }
        }
        Ok(Containment::Absent)
    }
}
