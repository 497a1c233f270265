//! Erases here what another store erased.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - ELS-1: every record whose digest the other store erased goes. If its erasure names an id (ERA-5), the versions of the id that
//!   were written here before go too (EID-1).

use std::collections::{BTreeSet, HashSet};

use crate::digest::{CommitDigest, HashSuite, to_hex};
use crate::engine::inner::Inner;
use crate::engine::write::{LogHandle, Writer};
use crate::error::Result;
use crate::log::{Batch, CompactionLock, RecordKind, Seal};
use crate::object::{Object, Time};
use crate::store::{
    ErasedIds, ErasedRecords, ErasedSearch, Erasure, ForeignCommit, Live, Plan, REMOTE, add_erased_id,
    erased_ids_in, markers_in, object_of,
};

/// What the commits of another store erased.
#[derive(Default)]
pub(crate) struct Elsewhere {
    erasure: ErasedRecords,
    /// The ids of which the other store erased all versions.
    ids: ErasedIds,
}

impl Elsewhere {
    /// Returns what the commits in these batches erased, without the commits that are known here.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded; the errors of `is_known`.
    pub(crate) fn of(
        batches: &[Batch],
        suite: HashSuite,
        is_known: &mut dyn FnMut(CommitDigest) -> Result<bool>,
    ) -> Result<Self> {
        let mut elsewhere = Self::default();
        for batch in batches {
            // The batches of a remote come after all of this log.
            elsewhere.add(batch, u64::MAX, suite, is_known)?;
        }
        Ok(elsewhere)
    }

    /// Adds what the commit in a batch erased, of the records of this log before the batch `until`.
    fn add(
        &mut self,
        batch: &Batch,
        until: u64,
        suite: HashSuite,
        is_known: &mut dyn FnMut(CommitDigest) -> Result<bool>,
    ) -> Result<()> {
        let (mut markers, mut ids) = (markers_in(batch)?, erased_ids_in(batch)?);
        if markers.is_empty() && ids.is_empty() {
            return Ok(());
        }
        let Some(found) = ForeignCommit::of(batch, suite)? else {
            return Ok(());
        };
        // A retention keeps each erasing commit, so none is in a gap.
        markers.retain(|marker| marker.by == found.digest);
        ids.retain(|id| id.by == found.digest);
        if markers.is_empty() && ids.is_empty() || is_known(found.digest)? {
            return Ok(());
        }
        let markers = markers.into_iter();
        self.erasure
            .extend(markers.map(|marker| (marker.digest, (marker.by, until))));
        for id in ids {
            // Nothing is erased that is later than the commit which brings the erasure.
            let time = Time::from_micros(id.time).min(found.commit.time);
            add_erased_id(&mut self.ids, id, time);
        }
        Ok(())
    }
}

/// The records of this log that were erased elsewhere.
#[derive(Default)]
pub(crate) struct FoundHere {
    pub(crate) erasure: Erasure,
    /// What `erase` takes to erase them here: the ids of versions, and the digests of the other records.
    pub(crate) targets: BTreeSet<String>,
}

impl Inner {
    /// Finds the records of this log that were erased elsewhere (ELS-1). Reads the whole log if anything was.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(crate) fn erased_elsewhere(&self, elsewhere: &Elsewhere) -> Result<FoundHere> {
        if elsewhere.erasure.is_empty() && elsewhere.ids.is_empty() {
            return Ok(FoundHere::default());
        }
        let cut = self.main().cut(&self.log.lock());
        let (records, suite) = (&cut.store.records, cut.store.suite);
        let mut search = ErasedSearch::new(&elsewhere.erasure, &elsewhere.ids, suite);
        cut.read(self.settings(), "search", &mut |batch| search.read(batch))?;
        let (mut here, mut others, mut named) = (FoundHere::default(), HashSet::new(), HashSet::new());
        for (digest, by) in search.found() {
            if let Some(version) = records.find(RecordKind::Object, &digest)? {
                here.targets.insert(object_of(&version, suite).id().to_string());
                let content = Object::content_digest_in(&version.body);
                named.extend(content.map(|(content, _)| *content.as_bytes()));
            } else if cut.store.is_found(&digest)? {
                others.insert(digest);
            } else {
                // A version that holds its content has none in the log.
                continue;
            }
            here.erasure.insert(digest, by);
        }
        here.targets
            .extend(others.difference(&named).map(|digest| to_hex(digest)));
        Ok(here)
    }

    /// Returns what `erase` takes to erase what other stores erased and this one keeps, because their remote may not erase
    /// here. Reads the whole log, if a remote has a line in it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(crate) fn kept_of_elsewhere(&self) -> Result<BTreeSet<String>> {
        let cut = self.main().cut(&self.log.lock());
        let mut elsewhere = Elsewhere::default();
        let has_remote = cut.store.lines().live().any(|line| line.name.starts_with(REMOTE));
        if has_remote {
            let suite = cut.store.suite;
            cut.read(self.settings(), "search", &mut |batch| {
                elsewhere.add(batch, batch.number, suite, &mut |_| Ok(false))
            })?;
        }
        Ok(self.erased_elsewhere(&elsewhere)?.targets)
    }

    /// Returns all that was erased in this store, and the commits that erased it, without what others erased that may not erase
    /// here. Reads the whole log.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(crate) fn all_erasures(&self) -> Result<Erasure> {
        let cut = self.main().cut(&self.log.lock());
        let mut erasure = Erasure::new();
        cut.read(self.settings(), "search", &mut |batch| {
            let erased = markers_in(batch)?.into_iter().filter(|marker| !marker.is_lost());
            erasure.extend(erased.map(|marker| (marker.digest, marker.by)));
            Ok(())
        })?;
        // INVARIANT RML-4
        let by: HashSet<CommitDigest> = erasure.values().copied().collect();
        let mut counts = HashSet::new();
        for by in by {
            counts.extend(cut.store.counts_as_eraser(by)?.then_some(by));
        }
        erasure.retain(|_, by| counts.contains(by));
        // What was put again afterwards stays.
        let mut stays = HashSet::new();
        for digest in erasure.keys() {
            if cut.store.is_found(digest)? {
                stays.insert(*digest);
            }
        }
        erasure.retain(|digest, _| !stays.contains(digest));
        Ok(erasure)
    }

    /// Erases the versions of ids that came from a remote behind their erasure here, but were written before it (EID-1).
    /// Returns whether there were any.
    ///
    /// # Errors
    /// The errors of [`Self::erase_as_elsewhere`].
    pub(crate) fn erase_ids_here(&self, ids: &ErasedIds, writer: &Writer) -> Result<bool> {
        let (ids, erasure) = (ids.clone(), ErasedRecords::new());
        let found = self.erased_elsewhere(&Elsewhere { erasure, ids })?.erasure;
        if !found.is_empty() {
            self.main().erase_as_elsewhere(&found, writer)?;
        }
        Ok(!found.is_empty())
    }

    /// Rewrites the log without these records.
    ///
    /// # Errors
    /// `Busy` if another process rewrites the log; the errors of a write.
    ///
    /// # Durability
    /// After a crash, the erasure is done completely or not at all.
    pub(crate) fn erase_as_elsewhere(&self, erasure: &Erasure, writer: &Writer) -> Result<()> {
        self.opened().check_writable()?;
        let alone = CompactionLock::take(self.disk(), self.settings().wait)?;
        self.write_as(writer, |writing: &mut LogHandle| {
            let mut rewrite = writing.begin_rewrite(alone, Seal::WhenPublished)?;
            let cut = self.cut(writing);
            let plan = Plan {
                kept: &(0..cut.commits).collect::<Vec<_>>(),
                live: &Live::everything(),
                erasure,
                lines: &self.lines_to_keep(&cut.store, None)?,
            };
            let mut sink = |batch, commit| rewrite.push(batch, commit).map(drop);
            self.copy(&cut, &plan, &mut sink)?;
            let rewritten = rewrite.finish()?;
            let head = cut.store.head()?;
            self.forget_derived(&cut.store.state(&head)?, &cut.store)?;
            self.publish(writing, rewritten)
        })
    }
}
