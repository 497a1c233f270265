//! Marks the live records: the records that the states of kept commits, the references or the saved drafts need.
//!
//! # Layer
//! Layer 4.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::digest::{DIGEST_LEN, ObjectDigest, Root};
use crate::error::Result;
use crate::log::{Locator, RecordKind, cap_in};
use crate::object::{Object, Reference};
use crate::store::Store;
use crate::store::commits::CommitEntry;
use crate::store::records::digest_of;
use crate::trie::Trie;

/// The value of `first` for a record that a reference or a draft needs, even if no kept commit needs it: no batch may wait
/// for another one to have it.
pub(super) const NO_COMMIT: u64 = 0;

/// The first commit that needs a record, and whether the record's sources are needed too.
#[derive(Clone, Copy)]
struct Need {
    /// The batch of the first kept commit of any line that needs the record, or [`NO_COMMIT`].
    first: u64,
    /// Whether the sources from which the record was derived are also marked. Sources of sources are not marked.
    with_sources: bool,
}

/// The set of live records, by locator.
#[derive(Default)]
pub(crate) struct Live {
    places: HashMap<u64, Need>,
    versions: u64,
    /// Whether all records are live, even records that nothing needs.
    everything: bool,
}

impl Live {
    /// Returns a set that contains every record. A rewrite then leaves each record in its batch.
    pub(crate) fn everything() -> Self {
        Self {
            everything: true,
            ..Self::default()
        }
    }

    /// Returns the batch of the first kept commit that needs the record at `place`, or [`NO_COMMIT`] if only a
    /// reference or draft needs it. Returns `None` if the record is not live.
    pub(super) fn first_need(&self, place: Locator) -> Option<u64> {
        let need = self.places.get(&place.to_u64()).map(|need| need.first);
        need.or_else(|| self.everything.then_some(NO_COMMIT))
    }

    /// Lets the records that no commit up to batch `cut` needs stay in their batches, because a rewrite of the oldest
    /// segments does not write the batches of the later commits.
    pub(crate) fn keep_for_later(&mut self, cut: u64) {
        for need in self.places.values_mut().filter(|need| need.first > cut) {
            need.first = NO_COMMIT;
        }
    }

    /// Returns the number of live versions of objects.
    pub(crate) fn versions(&self) -> u64 {
        self.versions
    }
}

impl Store {
    /// Marks the records that the states of the kept commits, the references and the drafts need. `kept` contains the
    /// indexes of these commits. Calls `step` for each object.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; the errors of `step`.
    pub(crate) fn mark(&self, kept: &[usize], step: &mut dyn FnMut() -> Result<()>) -> Result<Live> {
        let mut live = Live::default();
        self.mark_states(&mut live, Trie::new(), kept, step)?;
        self.mark_references(&mut live)?;
        Ok(live)
    }

    /// Marks the records that `commits` and the references need. `commits` contains the newest commit up to batch
    /// `cut`, which must be kept, and all later commits. Returns true if every newly marked record is after `cut`.
    ///
    /// # Errors
    /// The errors of [`Self::mark`].
    pub(crate) fn mark_behind(&self, live: &mut Live, commits: &[usize], cut: u64) -> Result<bool> {
        let Some(first) = commits.first() else {
            return Ok(true);
        };
        let before = self.commit_at(*first)?;
        let before = before.map_or_else(|| Ok(Trie::new()), |before| self.state(&before))?;
        let known = live.places.clone();
        self.mark_states(live, before, commits, &mut || Ok(()))?;
        self.mark_references(live)?;
        for place in live.places.keys().filter(|place| !known.contains_key(place)) {
            if self.records.batch_of(*place)? <= cut {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether the states of all commits from index `count` on stay available. If such a commit reuses the
    /// state of an older commit, a commit in `kept` or another commit from `count` on must have the same root.
    ///
    /// # Errors
    /// The errors of [`Self::mark`].
    pub(crate) fn finds_states(&self, kept: &[usize], count: usize) -> Result<bool> {
        let entries = |indexes: Vec<usize>| -> Result<Vec<Arc<CommitEntry>>> {
            let entries = indexes.into_iter().map(|index| self.commit_at(index));
            entries.filter_map(Result::transpose).collect()
        };
        let behind = entries((count..self.kept()).collect())?;
        if !behind.iter().any(|entry| entry.takes_state) {
            return Ok(true);
        }
        let kept = entries(kept.to_vec())?;
        let mut roots: HashSet<Root> = kept.iter().map(|entry| entry.commit.root).collect();
        let mut lacks_state = |entry: &Arc<CommitEntry>| roots.insert(entry.commit.root) && entry.takes_state;
        Ok(!behind.iter().any(&mut lacks_state))
    }

    fn mark_states(
        &self,
        live: &mut Live,
        mut before: Trie,
        commits: &[usize],
        step: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        for &index in commits {
            let Some(entry) = self.commit_at(index)? else {
                continue;
            };
            let need = entry.batch;
            for text in [entry.commit.reason, entry.commit.source].into_iter().flatten() {
                self.mark_content(live, RecordKind::Text, text.as_bytes(), need)?;
            }
            let trie = self.state(&entry)?;
            for change in before.diff(&trie, self) {
                if let Some(new) = change?.new {
                    step()?;
                    self.mark_object(live, Locator::from_u64(new.place), need, true)?;
                }
            }
            before = trie;
        }
        Ok(())
    }

    fn mark_references(&self, live: &mut Live) -> Result<()> {
        let references: Vec<Reference> = self
            .references()
            .iter()
            .map(|entry| Reference::clone(&entry.reference))
            .collect();
        for reference in references {
            if let Some(text) = reference.reason {
                self.mark_content(live, RecordKind::Text, text.as_bytes(), NO_COMMIT)?;
            }
            for digest in reference.changes.iter().filter_map(|change| change.digest) {
                if let Some(place) = self.records.find_place(digest)? {
                    self.mark_object(live, place, NO_COMMIT, true)?;
                }
            }
        }
        Ok(())
    }

    /// Marks the content or text with this digest, if the log contains it.
    pub(super) fn mark_content(
        &self,
        live: &mut Live,
        kind: RecordKind,
        digest: &[u8; DIGEST_LEN],
        first: u64,
    ) -> Result<()> {
        if let Some(record) = self.records.find(kind, digest)? {
            let new = Need {
                first,
                with_sources: false,
            };
            let need = live.places.entry(record.locator.to_u64()).or_insert(new);
            // An object of a draft belongs to no commit, so its content must not wait for the batch of a later commit.
            need.first = need.first.min(first);
        }
        Ok(())
    }

    /// Marks the record of an object and its content, and also its sources if `with_sources` is true.
    pub(super) fn mark_object(
        &self,
        live: &mut Live,
        place: Locator,
        need: u64,
        with_sources: bool,
    ) -> Result<()> {
        let known = live.places.get(&place.to_u64()).copied();
        // Another line may need the record before the commit that is known to need it.
        let is_sooner = known.is_some_and(|known| need != NO_COMMIT && need < known.first);
        // An object that is marked as a source may be needed again together with its sources.
        if !is_sooner && known.is_some_and(|known| known.with_sources || !with_sources) {
            return Ok(());
        }
        let first = known.filter(|_| !is_sooner).map_or(need, |known| known.first);
        let with_sources = with_sources || known.is_some_and(|known| known.with_sources);
        live.places.insert(place.to_u64(), Need { first, with_sources });
        let record = self.records.record(place)?;
        if record.kind == RecordKind::Erased {
            return Ok(());
        }
        // RCS-3: the record of the version that limits its class least stays, too.
        if cap_in(record.flags) != 0
            && let Some(best) = self.records.find(record.kind, &digest_of(&record, self.suite))?
            && best.locator != place
        {
            self.mark_object(live, best.locator, need, with_sources)?;
        }
        // The digest has no effect here, because only fields of the object are read.
        let object = Object::from_verified(record.body, ObjectDigest::from_bytes([0; 32]));
        live.versions += u64::from(known.is_none());
        if (known.is_none() || is_sooner)
            && let Some((content, _)) = object.content_digest()
        {
            self.mark_content(live, RecordKind::Content, content.as_bytes(), need)?;
        }
        if with_sources {
            for source in object.derived_from() {
                if let Some(place) = self.records.find_place(source)? {
                    self.mark_object(live, place, need, false)?;
                }
            }
        }
        Ok(())
    }
}
