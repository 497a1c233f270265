//! Counts and sizes of a store.
//!
//! # Layer
//! L5.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::log::{Inspection, Record, RecordKind};

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
    /// Versions of which only the digest is left: erased, or lost and not salvaged. `verify` distinguishes these.
    pub erased: u64,
    /// Snapshots, named and automatic.
    pub snapshots: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of batches in the log, as garbage collection counts them.
    pub log_bytes: u64,
    /// Bytes of all files of the store, including preallocated space.
    pub disk_bytes: u64,
    /// Bytes of checkpoint files, included in `disk_bytes`.
    pub checkpoint_bytes: u64,
    /// Preallocated bytes of the log's files, included in `disk_bytes`.
    pub set_aside_bytes: u64,
    /// Bytes of the objects and contents of the state at the head.
    pub live_bytes: u64,
    /// Objects whose parent does not exist: 0 unless the store is damaged.
    pub orphans: u64,
}

/// Whether a commit or root is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Containment {
    /// The commit or root is kept.
    Kept,
    /// Retention dropped it; its digest is still in the chain.
    Thinned,
    /// This history never had it.
    Absent,
}

/// The space that records of one kind use in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct KindSpace {
    /// The kind.
    pub kind: &'static str,
    /// Their number.
    pub records: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// The space of a log by use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// The space by kind of record, the largest first.
    pub kinds: Vec<KindSpace>,
    /// Bytes of log that the state at the head needs.
    pub present_bytes: u64,
    /// Additional bytes that no retention thins: for snapshots and other references, erasures, and the targets of
    /// rollbacks, undos and redos.
    pub named_bytes: u64,
    /// Additional bytes that the standard policy keeps for their age.
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
        let view = self.inner.view();
        let (mut live_bytes, mut orphans) = (0, 0);
        let mut contents = HashSet::new();
        for object in view.objects() {
            let object = object?;
            if object.is_placeholder() {
                continue;
            }
            live_bytes += object.bytes().len() as u64;
            // Counts a content that several objects share once.
            if let Some((digest, length)) = object.content_digest()
                && !object.lacks_content()
                && contents.insert(digest)
            {
                live_bytes += length;
            }
            if let Some(parent) = object.parent() {
                orphans += u64::from(view.entry_at(&view.store.suite.key_path(parent))?.is_none());
            }
        }
        let gaps = self.inner.store().gaps();
        let writing = self.inner.log.lock();
        let ((segments, used_bytes), log_bytes) = (writing.log.size(), writing.log.batch_bytes());
        drop(writing);
        let files = Inspection::new(Arc::clone(&self.inner.opened().disk)).files()?;
        let bytes_in = |folder: &str| {
            let inside = files.iter().filter(|(name, _)| name.starts_with(folder));
            inside.map(|(_, bytes)| bytes).sum::<u64>()
        };
        Ok(Stats {
            objects: view.len(),
            history: self.inner.store().records.versions(),
            commits: self.inner.store().kept() as u64,
            thinned: gaps.iter().map(|gap| gap.count).sum(),
            gaps: gaps.len() as u64,
            erased: self.inner.store().records.erased(),
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

    /// Returns the space of the log by use, and how much of it the standard [`Retention`](crate::Retention) would free.
    /// Reads the whole log.
    ///
    /// # Errors
    /// As [`Self::gc`].
    pub(crate) fn space(&self) -> Result<Space> {
        let mut kinds: BTreeMap<RecordKind, KindSpace> = BTreeMap::new();
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        let (mut done, total) = (0, cut.bytes);
        cut.store.read_log(cut.position.batch, &mut |batch| {
            let is_known = |record: &&Record| !matches!(record.kind, RecordKind::Ignorable(_));
            for record in batch.records.iter().filter(is_known) {
                let kind = kinds.entry(record.kind).or_insert(KindSpace {
                    kind: record.kind.name(),
                    records: 0,
                    bytes: 0,
                });
                kind.records += 1;
                kind.bytes += record.body.len() as u64;
                done += record.body.len() as u64;
            }
            self.inner.settings().step("read", done.min(total), total)
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
}
