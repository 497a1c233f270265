//! Erases here what another store erased.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - ELS-1: every record whose digest the other store erased goes. If an id lost all its versions there, the versions of the
//!   id that were written here before go too (EID-1).

use std::collections::HashSet;

use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite};
use crate::engine::inner::Inner;
use crate::engine::write::{LogHandle, Writer};
use crate::error::Result;
use crate::log::{Batch, CompactionLock, Seal};
use crate::store::{
    ErasedIds, ErasedSearch, Erasure, ForeignCommit, Live, Plan, changes_in, gaps_in, markers_in,
};

type Digest = [u8; DIGEST_LEN];

/// What the commits of another store erased.
pub(crate) struct Elsewhere {
    erasure: Erasure,
    /// The ids that lost all their versions.
    ids: ErasedIds,
}

impl Elsewhere {
    /// Returns an erasure of these ids.
    pub(crate) fn of_ids(ids: ErasedIds) -> Self {
        let erasure = Erasure::new();
        Self { erasure, ids }
    }

    /// Returns what the commits in these batches erased, without the commits that are known here.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded; the errors of `is_known`.
    pub(crate) fn of(
        batches: &[Batch],
        suite: HashSuite,
        is_known: &mut dyn FnMut(CommitDigest) -> Result<bool>,
    ) -> Result<Self> {
        let (mut erasure, mut ids) = (Erasure::new(), ErasedIds::new());
        for batch in batches {
            let mut markers = markers_in(batch)?;
            if markers.is_empty() {
                continue;
            }
            let Some(found) = ForeignCommit::of(batch, suite)? else {
                continue;
            };
            let mut erasers = HashSet::new();
            for by in gaps_in(batch)?.into_iter().chain([found.digest]) {
                if markers.iter().any(|marker| marker.by == by) && !is_known(by)? {
                    erasers.insert(by);
                }
            }
            markers.retain(|marker| erasers.contains(&marker.by));
            let removed = changes_in(batch)
                .into_iter()
                .filter(|(_, digest)| digest.is_none());
            let removed: HashSet<Digest> = removed.map(|(key, _)| key).collect();
            for marker in markers {
                erasure.insert(marker.digest, marker.by);
                if let Some(key) = marker.key.filter(|key| removed.contains(key.as_bytes())) {
                    ids.insert(*key.as_bytes(), (marker.by, found.commit.time));
                }
            }
        }
        Ok(Self { erasure, ids })
    }
}

impl Inner {
    /// Finds the records of this log that were erased elsewhere (ELS-1). Reads the whole log if anything was.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(crate) fn erased_elsewhere(&self, elsewhere: &Elsewhere) -> Result<Erasure> {
        if elsewhere.erasure.is_empty() && elsewhere.ids.is_empty() {
            return Ok(Erasure::new());
        }
        let cut = self.main().cut(&self.log.lock());
        let mut search = ErasedSearch::new(&elsewhere.erasure, &elsewhere.ids, cut.store.suite);
        cut.read(self.settings(), "search", &mut |batch| search.read(batch))?;
        let mut found = search.found();
        // A version that holds its content has none in the log, and a part of the records is erased already.
        let mut gone = Vec::new();
        for digest in found.keys() {
            if !cut.store.is_found(digest)? {
                gone.push(*digest);
            }
        }
        for digest in gone {
            found.remove(&digest);
        }
        Ok(found)
    }

    /// Returns all that was erased in this store, and the commits that erased it. Reads the whole log.
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
        let found = self.erased_elsewhere(&Elsewhere::of_ids(ids.clone()))?;
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
                lines: &self.lines_to_keep(&cut.store)?,
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
