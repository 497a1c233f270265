//! Snapshots: names for commits. A writer chooses the name, or the engine makes an automatic snapshot in the ring of
//! the lane.
//!
//! A snapshot is one small record, however large the state is.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;

use crate::digest::{CommitDigest, Root};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Reference, ReferenceClass, ReferenceName, Time};
use crate::store::{Known, ReferenceEntry, Store};

use super::{LogHandle, Ready, Writer};
use crate::engine::inner::Inner;
use crate::engine::read::text_of;

/// A snapshot.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct SnapshotInfo {
    /// The name of the snapshot. An automatic snapshot also has a name.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub name: String,
    /// The position in the ring of its lane, 0 for the newest; `None` if the writer chose the name.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub index: Option<usize>,
    /// The root of the state that the snapshot names.
    pub root: Root,
    /// The commit that the snapshot names.
    pub commit: CommitDigest,
    /// The time at which the reference was made.
    pub time: Time,
    /// The seq of the commit that the snapshot names.
    pub seq: u64,
    /// The lane of an automatic snapshot.
    pub lane: Option<String>,
    /// The actor who made the reference.
    pub actor: Option<String>,
    /// The session in which the actor made the reference.
    pub session: Option<String>,
    /// The reason that the writer gave.
    pub reason: Option<String>,
}

/// A reference record of any class.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ReferenceInfo {
    /// The whole name, which begins with the class, such as `snapshots/before-lunch` or `rejected/17`.
    pub name: String,
    /// The commit that the reference names; for drafts and rejected changes, their base.
    pub commit: Option<CommitDigest>,
    /// The time at which the reference was made.
    pub time: Time,
    /// The actor who made the reference.
    pub actor: Option<String>,
    /// The session in which the actor made the reference.
    pub session: Option<String>,
    /// The fork of an automatic snapshot or a draft, if it is not of the main line.
    pub line: Option<String>,
    /// The reason that the writer gave.
    pub reason: Option<String>,
}

impl SnapshotInfo {
    /// Converts a reference to a snapshot. Returns `None` if the reference names no commit of this history, or is in the ring
    /// of another line. A name is store-wide, so its commit may be of any line.
    pub(super) fn of(store: &Arc<Store>, reference: &Reference) -> Result<Option<Self>> {
        let is_ours = reference.lane.is_none() || reference.line.as_deref() == store.line_name();
        let commit = reference.commit.filter(|_| is_ours);
        let target = commit.map_or(Ok(None), |commit| store.commit_of_any(commit))?;
        let Some((_, target)) = target else {
            return Ok(None);
        };
        let is_same = |other: &ReferenceEntry| other.reference.name == reference.name;
        let lane = reference.lane.as_ref();
        let line = reference.line.as_deref();
        let index = lane.and_then(|lane| store.references().ring(line, lane).position(is_same));
        Ok(Some(Self {
            name: reference.name.rest().to_owned(),
            index,
            lane: reference.lane.clone(),
            commit: target.digest,
            root: target.commit.root,
            seq: target.seq(),
            time: reference.time,
            actor: reference.actor.clone(),
            session: reference.session.clone(),
            reason: text_of(store, reference.reason),
        }))
    }
}

impl Inner {
    /// Makes a reference with `writer` as its author and the present time.
    pub(crate) fn reference(
        &self,
        batch: &mut BatchBuilder,
        name: ReferenceName,
        commit: Option<CommitDigest>,
        after: Time,
        writer: &Writer,
    ) -> Result<Reference> {
        let mut reference = Reference::new(name, commit, self.time_after(after));
        reference.actor.clone_from(&writer.actor);
        reference.session.clone_from(&writer.session);
        reference.reason = self.add_text(batch, writer.reason.as_deref())?;
        Ok(reference)
    }

    /// Writes a batch that contains no commit, so the head does not change. `references` are the references in the batch.
    pub(crate) fn write_references(
        &self,
        writing: &mut LogHandle,
        batch: BatchBuilder,
        references: Vec<Reference>,
    ) -> Result<()> {
        let known = Known {
            references,
            ..Known::default()
        };
        let head = self.main().store().head()?.mark();
        self.write_group(writing, vec![Ready::of(&self.source, batch, head, known)])
            .map(drop)
    }

    pub(super) fn take_snapshot(
        &self,
        writing: &mut LogHandle,
        name: Option<&str>,
        writer: &Writer,
    ) -> Result<SnapshotInfo> {
        let (store, head, tip) = self.tip(writing)?;
        let mut batch = BatchBuilder::new();
        let reference = match name {
            Some(name) => {
                let name = ReferenceName::of(ReferenceClass::Snapshots, name)?;
                if store.references().get(&name).is_some() {
                    let taken = format!("a snapshot named '{}' already exists", name.rest());
                    return Err(Error::invalid(taken).with_code(ErrorCode::NameTaken).with_hint(
                        "choose another name, or delete that snapshot: `snapshot --delete NAME`",
                    ));
                }
                let commit = Some(head.digest);
                let reference = self.reference(&mut batch, name, commit, tip.time, writer)?;
                batch.add(RecordKind::Reference, 0, &reference.encode()?);
                reference
            }
            None => self.add_ring_snapshot(&mut batch, &tip, writer)?,
        };
        let info = SnapshotInfo {
            name: reference.name.rest().to_owned(),
            // This thread holds the writer's mutex, so an automatic snapshot becomes the newest one of its ring.
            index: reference.lane.as_ref().map(|_| 0),
            root: head.commit.root,
            commit: head.digest,
            time: reference.time,
            seq: head.seq(),
            lane: reference.lane.clone(),
            actor: writer.actor.clone(),
            session: writer.session.clone(),
            reason: writer.reason.clone(),
        };
        self.write_references(writing, batch, vec![reference])?;
        Ok(info)
    }

    /// Returns the snapshot with this name. Returns `None` if there is no such snapshot, or if the snapshot names no
    /// commit of this history.
    pub(super) fn snapshot_named(&self, name: &ReferenceName) -> Result<Option<SnapshotInfo>> {
        let store = self.store();
        let found = store
            .references()
            .get(name)
            .map(|entry| Arc::clone(&entry.reference));
        // Looking for the commit may open a line, which waits for writers, who wait for the references.
        found.map_or(Ok(None), |reference| SnapshotInfo::of(&store, &reference))
    }

    /// Writes the deletion of a reference.
    pub(crate) fn drop_reference(
        &self,
        writing: &mut LogHandle,
        name: ReferenceName,
        writer: &Writer,
    ) -> Result<()> {
        let head = self.store().head()?;
        let mut batch = BatchBuilder::new();
        let reference = self.reference(&mut batch, name, None, head.commit.time, writer)?;
        batch.add(RecordKind::Reference, 0, &reference.encode()?);
        self.write_references(writing, batch, vec![reference])
    }
}

/// Returns the references, newest first.
pub(crate) fn newest_references(store: &Store) -> Vec<Reference> {
    let references = store.references();
    let mut entries: Vec<_> = references.iter().collect();
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.batch));
    entries
        .into_iter()
        .map(|entry| Reference::clone(&entry.reference))
        .collect()
}
