//! How much there is of everything.
//!
//! # Layer
//! L5.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Range;

use crate::disk::{Access, Disk, is_of_other_kind};
use crate::error::{Error, Result};
use crate::log::RecordKind;

use super::memory::Memory;
use super::retention::Retention;
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
    /// Versions of which only the digest is left: erased, or lost and not salvaged. `verify` tells them apart.
    pub erased: u64,
    /// Snapshots, named and automatic.
    pub snapshots: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of log in use.
    pub log_bytes: u64,
    /// Bytes of all files of the store, with what is set aside for what comes.
    pub disk_bytes: u64,
    /// Bytes of checkpoint files among them.
    pub checkpoint_bytes: u64,
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

/// How much of the log the records of one kind take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Bytes that garbage collection with the standard policy would free.
    pub dead_bytes: u64,
}

fn folder_bytes(disk: &dyn Disk, folder: &str) -> Result<u64> {
    let names = match disk.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_of_other_kind(&error) => return Ok(0),
        listed => listed.map_err(|error| Error::io(format!("cannot list the files of '{folder}'"), error))?,
    };
    let mut bytes = 0;
    for name in names {
        let name = if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        };
        // A folder, or a file that went meanwhile, has no length of its own.
        if let Ok(file) = disk.open(&name, Access::Read) {
            bytes += file.length().unwrap_or(0);
        }
    }
    Ok(bytes)
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
        let disk = &*self.inner.disk;
        let checkpoint_bytes = folder_bytes(disk, "checkpoint")?;
        let disk_bytes = folder_bytes(disk, "")? + folder_bytes(disk, "log")? + checkpoint_bytes;
        Ok(Stats {
            objects: view.len(),
            history: self.history_len(),
            commits: self.inner.store().kept() as u64,
            thinned: gaps.iter().map(|gap| gap.count).sum(),
            gaps: gaps.len() as u64,
            erased: self.erased_len(),
            snapshots: self.snapshots().len() as u64,
            segments: segments as u64,
            log_bytes,
            disk_bytes,
            checkpoint_bytes,
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
        let gc = self.gc_preview(&Retention::default(), None)?;
        Ok(Space {
            kinds,
            dead_bytes: gc.bytes_before.saturating_sub(gc.bytes),
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
