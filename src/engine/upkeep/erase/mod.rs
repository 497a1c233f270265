//! Erasure: permanently removes versions, contents and texts from every file of the store.
//!
//! Erasure rewrites the log without the erased records, under the lock. The commit of the erasure is the last batch of
//! the new log. So publishing the new log commits and erases in one step: after a crash, both are done or neither is.
//!
//! On a nearly full disk, an erasure writes anew only the segments that contain erased records. If there is no room for
//! a copy of all these segments, it erases earlier versions first, in parts with a commit each.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - ERA-1: no log contains both an erase commit and the records that it erases.
//! - ERA-2: a state without an erased id keeps its root, and all commits keep their digests.
//! - ERA-5: the batch of an erase commit names the ids of which the erasure removes all versions, so that other stores remove
//!   those that this one does not have.

#[cfg(feature = "remote")]
mod elsewhere;
mod parts;
mod survey;
mod targets;

use std::collections::BTreeSet;

use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::error::{Error, Result};
use crate::log::{BODY_BYTES_MAX, BatchBuilder, CompactionLock, Fixed, Seal, not_rewritten};
use crate::object::{Id, Op};
use crate::store::{ERASED_IDS, ErasedId, Live, Plan, markers_in};

use crate::trie::Shape;
#[cfg(feature = "remote")]
pub(crate) use elsewhere::{Elsewhere, FoundHere};
use parts::Places;
use survey::Rest;

use crate::engine::inner::Inner;
use crate::engine::memory::Memory;
use crate::engine::opened::done_anyway;
use crate::engine::read::CommitInfo;
use crate::engine::write::{LogHandle, Note, Writer, add_links, check_trusted};

/// The targets and options of an erasure.
#[derive(Clone, Debug, Default)]
pub struct Erasing {
    /// Ids or digests. An id erases all of its versions. A digest, or at least its first 8 digits, erases a single
    /// version, content, reason or source.
    pub targets: Vec<String>,
    /// Whether to also erase contents that other objects share, and earlier versions of other objects whose parent is
    /// an erased id.
    pub everywhere: bool,
    /// Whether to erase every version that was derived from an erased version, directly or indirectly.
    pub derived: bool,
}

named! {
    /// The kind of an erased record.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum ErasedKind {
        /// A version of an object.
        Version => "version",
        /// A content that is stored as a separate record.
        Content => "content",
        /// The text of a reason or a source.
        Text => "text",
    }
}

/// A record that was erased, or that a previewed erasure would erase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ErasedRecord {
    /// The kind of the erased record.
    pub kind: ErasedKind,
    /// The digest of the record. The store keeps this digest after the erasure.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "in_hex"),
        schemars(with = "String")
    )]
    pub digest: [u8; DIGEST_LEN],
    /// The id of the object, if the record is a version.
    pub id: Option<String>,
    /// The number of bytes of the record.
    pub bytes: u64,
}

#[cfg(feature = "serde")]
fn in_hex<S: serde::Serializer>(digest: &[u8], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&crate::digest::to_hex(digest))
}

/// The result of an erasure, or of its preview.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ErasedReport {
    /// The erased records, versions first.
    pub records: Vec<ErasedRecord>,
    /// The ids that the erasure removed from the head's state.
    pub unlinked: Vec<Id>,
    /// The ids of other objects that lost a shared content or an earlier version.
    pub holders: Vec<Id>,
    /// The commit of the erasure; `None` for a preview. On a nearly full disk, an erasure may take several commits, and
    /// this is the last one.
    pub commit: Option<CommitInfo>,
    /// The digests of the erased versions that are current, and of their contents.
    current: BTreeSet<[u8; DIGEST_LEN]>,
    /// The ids of which the erasure removes all versions. Only the last part of an erasure in parts has them.
    ids: BTreeSet<String>,
}

impl ErasedReport {
    /// Returns the number of erased bytes.
    #[doc(hidden)]
    pub fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.bytes).sum()
    }

    /// Returns the number of erased versions of objects.
    #[doc(hidden)]
    pub fn versions(&self) -> u64 {
        let is_version = |record: &&ErasedRecord| record.kind == ErasedKind::Version;
        self.records.iter().filter(is_version).count() as u64
    }
}

impl Inner {
    /// Rewrites the log without the records of `report`, and with the commit of the erasure. With `places`, writes only
    /// some segments anew.
    fn erase(
        &self,
        writing: &mut LogHandle,
        mut report: ErasedReport,
        writer: &Writer,
        alone: CompactionLock,
        places: Option<&Places>,
    ) -> Result<ErasedReport> {
        // Writes an empty batch first. In the new log, the commit of the erasure replaces that batch. If the rewrite
        // keeps segments, that batch has a segment of its own.
        let begun = if places.is_some() {
            writing.begin_segment()
        } else {
            Ok(())
        };
        begun
            .and_then(|()| self.write_references(writing, BatchBuilder::new(), Vec::new()))
            .map_err(not_rewritten)?;
        let (store, _, mut tip) = self.tip(writing)?;
        let (mut batch, mut left, mut unlinks) = (BatchBuilder::new(), tip.trie.clone(), Vec::new());
        for id in &report.unlinked {
            let key = store.suite.key_path(id.as_str());
            left.remove(&key, &*store)?;
            unlinks.extend_from_slice(key.as_bytes());
        }
        add_links(&mut batch, &[], &unlinks);
        let root = left.root(store.suite, Shape::State, &*store)?;
        let note = Note::new(Op::ERASE, None, writer);
        let time = self.time_after(tip.time);
        self.add_commit(&mut batch, &mut tip, left.clone(), root, time, &note)?;
        let mark = tip.mark;
        drop(tip);
        let mut ids = Vec::new();
        for id in &report.ids {
            let (key, time) = (store.suite.key_path(id), time.as_micros());
            let by = mark.commit;
            ErasedId { key, by, time }.put(&mut ids);
        }
        for part in ids.chunks(BODY_BYTES_MAX / ErasedId::BYTES * ErasedId::BYTES) {
            batch.add(ERASED_IDS, 0, part);
        }
        let mut rewrite = writing.begin_rewrite(alone, Seal::WhenPublished)?;
        rewrite.moves_head(mark);
        let cut = self.cut(writing);
        let erased = report.records.iter().map(|record| (record.digest, mark.commit));
        let erasure = erased.collect();
        if let Some(places) = places {
            self.copy_without(&cut, &erasure, places, &mut rewrite)?;
        } else {
            let plan = Plan {
                kept: &(0..cut.commits).collect::<Vec<_>>(),
                live: &Live::everything(),
                erasure: &erasure,
                lines: &self.lines_to_keep(&cut.store, None)?,
            };
            let mut sink = |batch, commit| rewrite.push(batch, commit).map(drop);
            self.copy(&cut, &plan, &mut sink)?;
        }
        rewrite.push(batch, mark.commit)?;
        let rewritten = rewrite.finish()?;
        // Removes derived files, because derived files may contain words of erased records. No other process can write
        // a new derived file meanwhile (DER-2).
        self.forget_derived(&left, &store)?;
        // INVARIANT ERA-1: the new log contains the commit and lacks the erased records.
        self.publish(writing, rewritten)?;
        let entry = self.store().by_digest(mark.commit).map_err(done_anyway)?;
        let missing = || done_anyway(Error::internal("an erase commit is not in the new log"));
        report.commit = Some(CommitInfo::of(&*entry.ok_or_else(missing)?));
        Ok(report)
    }
}

impl Memory {
    /// Erases the records that `erasing` names from every file of the store before it returns. In past states,
    /// placeholders replace the erased versions; the newest state loses the id. The commit of the erasure records the
    /// author, time and reason, and each placeholder contains the digest of that commit.
    ///
    /// Views that still have the old files open, in this or another process, can read the erased records until the
    /// views close.
    ///
    /// # Errors
    /// `NotFound` if no record matches a target, or if the record was erased before. `InvalidInput`, naming the
    /// affected ids, in these cases: an id has children; a version is current and its id was not given; a prefix
    /// matches several digests; or, without `everywhere`, other objects share the content, or earlier versions name the
    /// id as their parent. `Denied` (code `less_trusted`) if the writer's class is untrusted. Otherwise, the errors of
    /// [`Self::commit`].
    ///
    /// # Durability
    /// After a crash, the erasure is done completely or not at all. The exception is an erasure in parts, on a nearly full
    /// disk: after a crash, some records are erased, every state is complete, and the same call erases the others.
    ///
    /// # Example
    /// ```
    /// use treering::upkeep::Erasing;
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("people/ada")?;
    /// let mut person = NewObject::new(id.clone(), Kind::new("fact")?);
    /// person.content = Some("Ada lives in Porto.".to_owned());
    /// memory.put(person, &Writer::user())?;
    ///
    /// let mut erasing = Erasing::default();
    /// erasing.targets.push(id.to_string());
    /// memory.erase(&erasing, &Writer::person("vera").reason("Ada asked for it"))?;
    /// assert!(!memory.view().contains(&id)?);
    /// assert!(memory.history(&id)?.iter().any(|change| change.erased), "the history names the erased version");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn erase(&self, erasing: &Erasing, writer: &Writer) -> Result<ErasedReport> {
        self.inner.check_main()?;
        self.inner.opened().check_writable()?;
        // INVARIANT STN-2: an untrusted writer may not erase, delete the name of a snapshot, or delete a rejected
        // change.
        check_trusted(writer.trust, "erase")?;
        let (mut earlier, mut holders) = (Vec::new(), BTreeSet::new());
        let mut rest: Option<Rest> = None;
        let mut report = loop {
            let (report, left, is_done) = self.inner.with_room(|_| {
                let alone = CompactionLock::take(self.inner.disk(), self.inner.settings().wait)?;
                self.inner.write_as(writer, |writing| {
                    let cut = self.inner.cut(writing);
                    let (report, left) = self.inner.survey(&cut, erasing, rest.as_ref())?;
                    // A rewrite that a crash interrupted may have left files on a full disk.
                    writing.tidy(&alone)?;
                    // Checked first, so that a refused erasure writes nothing.
                    let (report, places, is_done) = self.inner.as_room_allows(writing, report)?;
                    let report = self
                        .inner
                        .erase(writing, report, writer, alone, places.as_ref())?;
                    Ok((report, left, is_done))
                })
            })?;
            holders.extend(report.holders.iter().cloned());
            if is_done {
                break report;
            }
            rest = Some(left.without(&report.records));
            earlier.extend(report.records);
        };
        report.holders = holders.into_iter().collect();
        report.records.extend(earlier);
        report.records.sort_unstable_by(|one, other| {
            (one.kind, &one.id, one.digest).cmp(&(other.kind, &other.id, other.digest))
        });
        Ok(report)
    }

    /// Returns the report that [`Self::erase`] would return. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Self::erase`].
    pub fn erase_preview(&self, erasing: &Erasing) -> Result<ErasedReport> {
        self.inner.check_main()?;
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        Ok(self.inner.survey(&cut, erasing, None)?.0)
    }

    /// Returns the digests of the records that this commit erased. Reads the whole log.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    #[doc(hidden)]
    pub fn erased_in(&self, commit: CommitDigest) -> Result<Vec<[u8; DIGEST_LEN]>> {
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        let mut digests = BTreeSet::new();
        cut.store.read_log(cut.position.batch, &mut |batch| {
            let markers = markers_in(batch)?.into_iter();
            digests.extend(
                markers
                    .filter(|marker| marker.by == commit)
                    .map(|marker| marker.digest),
            );
            Ok(())
        })?;
        Ok(digests.into_iter().collect())
    }
}
