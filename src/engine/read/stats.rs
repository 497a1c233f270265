//! How much there is of everything.
//!
//! # Layer
//! L5.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::log::{Inspection, RecordKind};

use super::revision;
use crate::engine::memory::Memory;
use crate::engine::upkeep::retention::Retention;

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
    /// Versions of which only the digest is left: erased, or lost and not salvaged. `verify` tells them apart.
    pub erased: u64,
    /// Snapshots, named and automatic.
    pub snapshots: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of batches in the log, as garbage collection counts them.
    pub log_bytes: u64,
    /// Bytes of all files of the store, with what is set aside for what comes.
    pub disk_bytes: u64,
    /// Bytes of checkpoint files among them.
    pub checkpoint_bytes: u64,
    /// Bytes of the log's files that are set aside for what comes, among them.
    pub set_aside_bytes: u64,
    /// Bytes of the objects and contents of the state at the head.
    pub live_bytes: u64,
    /// Objects whose parent does not exist: none, unless something is wrong.
    pub orphans: u64,
}

/// Whether a commit or root is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Containment {
    /// It is kept.
    Kept,
    /// Retention dropped it; its digest is still in the chain.
    Thinned,
    /// This history never had it.
    Absent,
}

/// How much of the log the records of one kind take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct KindSpace {
    /// The kind.
    pub kind: &'static str,
    /// How many there are.
    pub records: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// What takes the space of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// By kind of record, the largest first.
    pub kinds: Vec<KindSpace>,
    /// Bytes of log that the state at the head needs.
    pub present_bytes: u64,
    /// Bytes that it takes besides to keep what snapshots and other references name, erasures, and what a rollback, undo or
    /// redo went back to: what no policy thins.
    pub named_bytes: u64,
    /// Bytes that the standard policy keeps besides, for their age.
    pub policy_bytes: u64,
    /// Bytes that garbage collection with the standard policy would free.
    pub dead_bytes: u64,
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
        let writing = self.inner.writing.lock();
        let ((segments, used_bytes), log_bytes) = (writing.log.size(), writing.log.batch_bytes());
        drop(writing);
        let files = Inspection::new(Arc::clone(&self.inner.disk)).files()?;
        let bytes_in = |folder: &str| {
            let inside = files.iter().filter(|(name, _)| name.starts_with(folder));
            inside.map(|(_, bytes)| bytes).sum::<u64>()
        };
        Ok(Stats {
            objects: view.len(),
            history: self.history_len(),
            commits: self.inner.store().kept() as u64,
            thinned: gaps.iter().map(|gap| gap.count).sum(),
            gaps: gaps.len() as u64,
            erased: self.erased_len(),
            snapshots: self.snapshots()?.len() as u64,
            segments: segments as u64,
            log_bytes,
            disk_bytes: bytes_in(""),
            checkpoint_bytes: bytes_in("checkpoint/"),
            set_aside_bytes: bytes_in("log/").saturating_sub(used_bytes),
            live_bytes,
            orphans,
        })
    }

    /// What takes the space of the log, and how much of it the standard [`Retention`] would free. Reads all of it.
    ///
    /// # Errors
    /// As [`Self::gc`].
    pub fn space(&self) -> Result<Space> {
        let mut kinds: BTreeMap<RecordKind, KindSpace> = BTreeMap::new();
        self.refresh()?;
        let cut = self.inner.cut(&self.inner.writing.lock());
        let (mut done, total) = (0, cut.bytes);
        cut.store.read_log(cut.position.batch, &mut |batch| {
            for record in &batch.records {
                let kind = kinds.entry(record.kind).or_insert(KindSpace {
                    kind: record.kind.name(),
                    records: 0,
                    bytes: 0,
                });
                kind.records += 1;
                kind.bytes += record.body.len() as u64;
                done += record.body.len() as u64;
            }
            self.inner.options.step("read", done.min(total), total)
        })?;
        let mut kinds: Vec<_> = kinds.into_values().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
        let bytes_with = |kept: &[usize]| Ok::<_, Error>(self.inner.preview(&cut, kept)?.bytes);
        let standard = Retention::default();
        let now = self.inner.retention_time(&cut.store, None)?;
        let present_bytes = bytes_with(&[cut.commits.saturating_sub(1)])?;
        let named = bytes_with(&Retention::nothing().choose(&cut.store, cut.commits, now)?)?;
        let kept = bytes_with(&standard.choose(&cut.store, cut.commits, now)?)?;
        Ok(Space {
            kinds,
            present_bytes,
            named_bytes: named.saturating_sub(present_bytes),
            policy_bytes: kept.saturating_sub(named),
            dead_bytes: cut.bytes.saturating_sub(kept),
        })
    }

    /// How many of the commits with these numbers were thinned.
    pub fn thinned_in(&self, numbers: Range<u64>) -> u64 {
        let gaps = self.inner.store().gaps();
        let within = gaps.iter().map(|gap| {
            let (first, end) = (
                gap.first.max(numbers.start),
                (gap.first + gap.count).min(numbers.end),
            );
            end.saturating_sub(first)
        });
        within.sum()
    }

    /// How many versions of objects were erased.
    pub fn erased_len(&self) -> u64 {
        self.inner.store().records.erased()
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
