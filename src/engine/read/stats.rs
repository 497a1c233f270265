//! Counts and sizes of a store.
//!
//! # Layer
//! Layer 5.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::log::{Inspection, Record, RecordKind};

use crate::engine::memory::Memory;
use crate::engine::upkeep::Retention;

/// Counts and sizes of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of objects in the state at the head.
    pub objects: u64,
    /// The number of versions of objects that history keeps.
    pub history: u64,
    /// The number of kept commits.
    pub commits: u64,
    /// The number of commits that retention thinned; their digests stay in the chain.
    pub thinned: u64,
    /// The number of runs of thinned commits.
    pub gaps: u64,
    /// The number of versions of which the store keeps only the digest: erased versions, and lost versions that salvage
    /// could not restore. `verify` counts the two separately.
    pub erased: u64,
    /// The number of snapshots, named and automatic.
    pub snapshots: u64,
    /// The number of segments of the log.
    pub segments: u64,
    /// The size of the log's batches in bytes, as garbage collection counts them.
    pub log_bytes: u64,
    /// The size of all files of the store in bytes, including preallocated space.
    pub disk_bytes: u64,
    /// The size of the checkpoint files in bytes; a part of `disk_bytes`.
    pub checkpoint_bytes: u64,
    /// The preallocated bytes of the log's files; a part of `disk_bytes`.
    pub set_aside_bytes: u64,
    /// The size of the objects and contents of the head's state, in bytes.
    pub live_bytes: u64,
    /// The number of objects whose parent does not exist: 0 unless the store is damaged.
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
    /// Retention thinned the commit; its digest is still in the chain.
    Thinned,
    /// This history never had the commit or root.
    Absent,
}

/// The space that records of one kind use in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct KindSpace {
    /// The kind of the records.
    pub kind: &'static str,
    /// The number of records of this kind.
    pub records: u64,
    /// The size of their bodies in bytes.
    pub bytes: u64,
}

/// The space of a log, divided by the reason for keeping it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// The space by kind of record, the largest kind first.
    pub kinds: Vec<KindSpace>,
    /// The bytes of the log that the state at the head needs.
    pub present_bytes: u64,
    /// Further bytes that no retention removes, for snapshots and other references, erasures, and the targets of
    /// rollbacks, undos and redos.
    pub named_bytes: u64,
    /// Further bytes that the standard policy keeps because they are recent enough.
    pub policy_bytes: u64,
    /// The bytes that garbage collection with the standard policy would free.
    pub dead_bytes: u64,
}

impl Memory {
    /// Counts the objects, versions, commits and bytes of the store. Reads every object of the head.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let (view, store) = (self.inner.view(), self.inner.store());
        let (mut live_bytes, mut orphans) = (0, 0);
        let mut contents = HashSet::new();
        for object in view.kept_objects() {
            let object = object?;
            live_bytes += object.bytes().len() as u64;
            // A content that several objects share is counted once.
            if let Some((digest, length)) = object.content_digest()
                && !object.lacks_content()
                && contents.insert(digest)
            {
                live_bytes += length;
            }
            if let Some(parent) = object.parent() {
                let key = store.suite.key_path(parent);
                orphans += u64::from(view.state.entry_at(&key)?.is_none());
            }
        }
        let gaps = store.gaps();
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
            history: store.records.versions(),
            commits: store.kept() as u64,
            thinned: gaps.iter().map(|gap| gap.count).sum(),
            gaps: gaps.len() as u64,
            erased: store.records.erased(),
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

    /// Returns the space of the log by the reason for keeping it, and how much of it the standard
    /// [`Retention`](crate::Retention) would free. Reads the whole log.
    ///
    /// # Errors
    /// The errors of [`Self::gc`].
    pub(crate) fn space(&self) -> Result<Space> {
        let mut kinds: BTreeMap<RecordKind, KindSpace> = BTreeMap::new();
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        cut.read(self.inner.settings(), "read", &mut |batch| {
            let is_known = |record: &&Record| !matches!(record.kind, RecordKind::Ignorable(_));
            for record in batch.records.iter().filter(is_known) {
                let kind = kinds.entry(record.kind).or_insert(KindSpace {
                    kind: record.kind.name(),
                    records: 0,
                    bytes: 0,
                });
                kind.records += 1;
                kind.bytes += record.body.len() as u64;
            }
            Ok(())
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
