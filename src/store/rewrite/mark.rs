//! Finding the records that are needed: by the states of kept commits, by references and by saved drafts.
//!
//! # Layer
//! L4.

use std::collections::HashSet;

use crate::digest::ObjectDigest;
use crate::error::Result;
use crate::log::Locator;
use crate::object::{Object, Reference};
use crate::store::Store;
use crate::store::commits::CommitEntry;

/// The places of the records that are needed.
#[derive(Default)]
pub(crate) struct Live {
    places: HashSet<u64>,
    /// Bytes of their bodies.
    bytes: u64,
    versions: u64,
}

impl Live {
    /// Whether the record at `place` is needed.
    pub(crate) fn holds(&self, place: Locator) -> bool {
        self.places.contains(&place.to_u64())
    }

    /// Bytes of the records that are needed, without frames.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many versions of objects are needed.
    pub(crate) fn versions(&self) -> u64 {
        self.versions
    }
}

impl Store {
    /// What the states of these commits need (places in the line), with all references and drafts. `step` is told of
    /// each object that is looked at.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; what `step` returns.
    pub(crate) fn mark(&self, kept: &[usize], step: &mut dyn FnMut() -> Result<()>) -> Result<Live> {
        let mut live = Live::default();
        let mut before = crate::trie::Trie::new();
        for &index in kept {
            let Some(entry) = self.commit_at(index)? else {
                continue;
            };
            self.mark_commit(&mut live, &entry)?;
            let trie = self.state(&entry)?;
            for change in before.diff(&trie, self) {
                if let Some(new) = change?.new {
                    step()?;
                    self.mark_object(&mut live, Locator::from_u64(new.place), true)?;
                }
            }
            before = trie;
        }
        let references: Vec<Reference> = self
            .references()
            .iter()
            .map(|entry| entry.reference.clone())
            .collect();
        for reference in references {
            if let Some(place) = reference
                .reason
                .map_or(Ok(None), |text| self.records.find_text_place(text))?
            {
                self.mark_place(&mut live, place)?;
            }
            for digest in reference.changes.iter().filter_map(|change| change.digest) {
                self.mark_version(&mut live, digest)?;
            }
        }
        Ok(live)
    }

    fn mark_commit(&self, live: &mut Live, entry: &CommitEntry) -> Result<()> {
        for text in [entry.commit.reason, entry.commit.source].into_iter().flatten() {
            if let Some(place) = self.records.find_text_place(text)? {
                self.mark_place(live, place)?;
            }
        }
        Ok(())
    }

    fn mark_version(&self, live: &mut Live, digest: ObjectDigest) -> Result<()> {
        match self.records.find_place(digest)? {
            Some(place) => self.mark_object(live, place, true),
            None => Ok(()),
        }
    }

    /// Marks the record of an object, its content, and the versions that it says it was derived from (`sources`).
    fn mark_object(&self, live: &mut Live, place: Locator, sources: bool) -> Result<()> {
        if live.holds(place) {
            return Ok(());
        }
        let Some(bytes) = self.mark_place(live, place)? else {
            return Ok(());
        };
        live.versions += 1;
        // Only its fields are read, so the digest does not matter.
        let object = Object::from_verified(bytes, ObjectDigest::from_bytes([0; 32]));
        if let Some((content, _)) = object.content_digest()
            && let Some(place) = self.records.find_content_place(content)?
        {
            self.mark_place(live, place)?;
        }
        if sources {
            for source in object.derived_from() {
                if let Some(place) = self.records.find_place(source)? {
                    self.mark_object(live, place, false)?;
                }
            }
        }
        Ok(())
    }

    /// Marks one record; its body if it is an object, a content or a text that was not marked before.
    fn mark_place(&self, live: &mut Live, place: Locator) -> Result<Option<crate::bytes::Bytes>> {
        if !live.places.insert(place.to_u64()) {
            return Ok(None);
        }
        let record = self.records.record(place)?;
        if record.kind == crate::log::RecordKind::Erased {
            return Ok(None);
        }
        live.bytes += record.body.len() as u64;
        Ok(Some(record.body))
    }
}
