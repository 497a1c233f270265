//! The batches with which a remote gets the commits of a line.
//!
//! The batch of a commit does not depend on the batches of this log: versions may be in the batches of forks, or in those of
//! thinned commits. So each batch has the difference of two states, with every record that the remote may lack.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - OUT-1: a batch links a version only if an earlier batch of the remote has its record.
//! - OUT-2: a record that another store erased is not sent, also if this store still has it: its marker takes its place.
//! - OUT-3: the remote gets the versions from which those of a batch are derived, with or before them. So an open conflict can
//!   be decided on every machine, also if a fork wrote its sides.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::records::object_of;
use super::rewritten::{Erased, MapEntry, put_gap, put_state};
use super::written::Times;
use super::{CommitEntry, Store};
use crate::digest::{DIGEST_LEN, KeyPath, ObjectDigest};
use crate::error::Result;
use crate::log::{
    BODY_BYTES_MAX, BatchBuilder, LINK_BYTES, Locator, Record, RecordKind, UNLINK_BYTES, UNLINKED, cap_in,
    with_cap,
};
use crate::object::{Object, Time};
use crate::trie::{Entry, Trie};

type Digest = [u8; DIGEST_LEN];

/// The changes of ids in a batch, in rising order of their key paths.
#[derive(Default)]
pub(crate) struct Changed {
    links: Vec<u8>,
    unlinks: Vec<u8>,
}

impl Changed {
    /// Links an id to a version that is stored already.
    pub(crate) fn link(&mut self, entry: &Entry) {
        self.links.extend_from_slice(entry.key.as_bytes());
        self.links.extend_from_slice(&entry.digest);
    }

    pub(crate) fn unlink(&mut self, key: &KeyPath) {
        self.unlinks.extend_from_slice(key.as_bytes());
    }

    pub(crate) fn add_to(&self, batch: &mut BatchBuilder) {
        for part in self.links.chunks(BODY_BYTES_MAX / LINK_BYTES * LINK_BYTES) {
            batch.add(RecordKind::Link, 0, part);
        }
        for part in self.unlinks.chunks(BODY_BYTES_MAX / UNLINK_BYTES * UNLINK_BYTES) {
            batch.add(RecordKind::Unlink, 0, part);
        }
    }
}

/// The versions that a remote is known to have, for the batches of a push.
#[derive(Default)]
pub(crate) struct Has {
    /// The name of its main line here.
    main: Option<String>,
    /// Its newest state, with the line that has it.
    newest: Option<(Arc<Store>, Trie)>,
    /// The lines that were opened. They stay open, so that each is read once.
    opened: HashMap<u64, Arc<Store>>,
    /// The versions that earlier batches of the push brought because others are derived from them.
    sources: HashSet<ObjectDigest>,
    /// The versions in the newest batch of the push that an earlier commit may have written (WRT-1), each with the number of
    /// its batch in this log.
    moved: Vec<(Digest, u64)>,
}

impl Has {
    /// Returns what a remote has whose main line has the name `main` here, and whose newest commit is `head`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the state cannot be read.
    pub(crate) fn of(main: String, line: &Arc<Store>, head: &CommitEntry) -> Result<Self> {
        Ok(Self {
            main: Some(main),
            newest: Some((Arc::clone(line), line.state(head)?)),
            ..Self::default()
        })
    }

    /// Takes out the versions in the newest batch of the push that an earlier commit may have written.
    pub(crate) fn take_moved(&mut self) -> Vec<(Digest, u64)> {
        std::mem::take(&mut self.moved)
    }

    /// Returns whether the newest state of the remote has a version.
    fn is_current(&self, version: &Entry) -> Result<bool> {
        let Some((line, trie)) = &self.newest else {
            return Ok(false);
        };
        let now = trie.get(&version.key, &**line)?;
        Ok(now.is_some_and(|now| now.digest == version.digest))
    }
}

impl Store {
    /// Returns when these versions were written, each of the batch with the number.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub(crate) fn times_of(&self, versions: &[(Digest, u64)]) -> Result<HashMap<(Digest, u64), Time>> {
        let mut wanted: HashMap<u64, Vec<Digest>> = HashMap::new();
        for (digest, batch) in versions {
            wanted.entry(*batch).or_default().push(*digest);
        }
        let (Some(first), Some(last)) = (wanted.keys().min(), wanted.keys().max()) else {
            return Ok(HashMap::new());
        };
        let before = self.first_where(|commit| commit.batch >= *first)?.checked_sub(1);
        let before = before.map_or(Ok(None), |before| self.commit_at(before))?;
        let mut time = before.map_or(Time::from_micros(0), |before| before.commit.time);
        let mut found = HashMap::new();
        let reader = self.records.reader();
        reader.batches_behind(first - 1, *last, &mut |batch| {
            let times = Times::of(&batch)?;
            time = times.of_others(time);
            for digest in wanted.get(&batch.number).into_iter().flatten() {
                found.insert((*digest, batch.number), times.own_of(digest).unwrap_or(time));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the batch of a commit for a remote that has the kept commits of this line before it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record or state cannot be read.
    pub(crate) fn outgoing(self: &Arc<Self>, entry: &CommitEntry, has: &mut Has) -> Result<BatchBuilder> {
        let before = self.before(entry)?;
        let old = before.as_ref().map(|before| self.state(before)).transpose()?;
        let (next, new) = (
            before.as_ref().map_or(0, |before| before.seq() + 1),
            self.state(entry)?,
        );
        let gap = self.thinned_before(next, entry.seq())?;
        let flags = if gap.is_empty() { 0 } else { UNLINKED };
        let (mut batch, mut changed, mut added) = (BatchBuilder::new(), Changed::default(), Vec::new());
        for change in old.clone().unwrap_or_default().diff(&new, &**self) {
            let change = change?;
            match change.new {
                None => changed.unlink(&change.key),
                Some(new) if self.was_sent(entry, &new, has)? => changed.link(&new),
                Some(new) => {
                    self.add_version(&mut batch, &new, flags, (entry, has))?;
                    added.push(new);
                }
            }
        }
        self.add_sources(&mut batch, (entry, has), &added)?;
        for text in [entry.commit.reason, entry.commit.source].into_iter().flatten() {
            if let Some(text) = self.records.find(RecordKind::Text, text.as_bytes())? {
                self.add_unless_erased(&mut batch, &text, 0)?;
            }
        }
        if gap.is_empty() {
            changed.add_to(&mut batch);
        } else {
            put_gap(&mut batch, next, &gap);
            put_state(
                &mut batch,
                old.as_ref(),
                &new,
                &**self,
                entry.commit.time,
                |entry| {
                    let updated = self.updated(entry)?;
                    Ok(MapEntry {
                        key: entry.key,
                        digest: Some(ObjectDigest::from_bytes(entry.digest)),
                        created: entry.created,
                        updated: updated.map_or(entry.created, Time::as_micros),
                    })
                },
            )?;
        }
        let commit = self.records.record(entry.place)?;
        batch.add(commit.kind, commit.flags, &commit.body);
        Ok(batch)
    }

    /// Returns whether the remote has the record of a version: an earlier commit of this line, or one of its main line, has the
    /// version in its state and its record in its batch (OUT-1). Or the newest state of the remote has the version.
    ///
    /// The batch alone says nothing: a rewrite moves the records of thinned commits to the next batch, of whatever line. A side
    /// line here says nothing either: after a collection of the remote, its machine sends it anew, without what it thinned.
    fn was_sent(self: &Arc<Self>, entry: &CommitEntry, version: &Entry, has: &mut Has) -> Result<bool> {
        let batch = self.records.batch_of(version.place)?;
        let line = match self.line_of_batch(batch) {
            Some(line) if has.main.as_deref() != Some(&*line.name) => return has.is_current(version),
            Some(line) => match has.opened.entry(line.first_batch) {
                Slot::Occupied(opened) => opened.get().clone(),
                Slot::Vacant(slot) => slot.insert(self.line_of(line.first_batch)?).clone(),
            },
            None => Arc::clone(self),
        };
        let first = line.first_where(|commit| commit.batch >= batch)?;
        let Some(commit) = line.commit_at(first)?.filter(|commit| commit.batch == batch) else {
            return Ok(false);
        };
        if Arc::ptr_eq(&line, self) && commit.seq() >= entry.seq() {
            return Ok(false);
        }
        let then = line.state(&commit)?.get(&version.key, &*line)?;
        Ok(then.is_some_and(|then| then.digest == version.digest))
    }

    /// Adds the versions from which the added ones are derived, unless the remote has them (OUT-3).
    fn add_sources(
        self: &Arc<Self>,
        batch: &mut BatchBuilder,
        (entry, has): (&CommitEntry, &mut Has),
        added: &[Entry],
    ) -> Result<()> {
        has.sources
            .extend(added.iter().map(|new| ObjectDigest::from_bytes(new.digest)));
        for new in added {
            let record = self.records.record(Locator::from_u64(new.place))?;
            if record.kind != RecordKind::Object {
                continue;
            }
            let object = Object::from_verified(record.body, ObjectDigest::from_bytes(new.digest));
            for source in object.derived_from() {
                if !has.sources.insert(source) {
                    continue;
                }
                let Some(found) = self.records.find(RecordKind::Object, source.as_bytes())? else {
                    continue;
                };
                let version = Entry {
                    key: self.suite.key_path(object_of(&found, self.suite).id().as_str()),
                    digest: *source.as_bytes(),
                    place: found.locator.to_u64(),
                    created: 0,
                };
                if !self.was_sent(entry, &version, has)? {
                    self.add_version(batch, &version, UNLINKED, (entry, has))?;
                }
            }
        }
        Ok(())
    }

    /// Adds the record of a version, or its erasure marker, and the record of its content.
    fn add_version(
        &self,
        batch: &mut BatchBuilder,
        version: &Entry,
        flags: u8,
        (entry, has): (&CommitEntry, &mut Has),
    ) -> Result<()> {
        let record = self.records.record(Locator::from_u64(version.place))?;
        // The record of a fork or a draft, or one that a rewrite, a merge or a push moved.
        let is_moved = record.batch != entry.batch || entry.map_record.is_some() || entry.is_merge();
        if is_moved && record.kind == RecordKind::Object {
            has.moved.push((version.digest, record.batch));
        }
        let content = match record.kind {
            RecordKind::Object => Object::content_digest_in(&record.body),
            _ => None,
        };
        if let Some((digest, _)) = content {
            let digest = *digest.as_bytes();
            if let Some(content) = self.records.find(RecordKind::Content, &digest)? {
                self.add_unless_erased(batch, &content, 0)?;
            } else if let Some(by) = self.records.erasure(&digest)? {
                let marker = Erased {
                    key: None,
                    digest,
                    by,
                };
                batch.add(RecordKind::Erased, UNLINKED, &marker.encode());
            }
        }
        self.add_unless_erased(batch, &record, flags)
    }

    /// Adds a record, or the marker of another store that erased it (OUT-2).
    fn add_unless_erased(&self, batch: &mut BatchBuilder, record: &Record, flags: u8) -> Result<()> {
        let marker = match self.erasable(record) {
            Some(digest) if self.has_lines() => self.records.erased_after(&digest, record.batch)?,
            _ => None,
        };
        match marker {
            Some(marker) => {
                let marker = Erased::of(record, marker.digest, marker.by, self.suite);
                let flags = if marker.key.is_some() { flags } else { UNLINKED };
                batch.add(RecordKind::Erased, flags, &marker.encode());
            }
            // INVARIANT RCS-3: a class that was lowered here is not raised on the way.
            None => batch.add(record.kind, with_cap(flags, cap_in(record.flags)), &record.body),
        }
        Ok(())
    }
}
