//! Objects on their way into a draft: the rules for their origins, and many objects encoded and hashed at once.
//!
//! # Layer
//! Layer 5. Part of a draft.
//!
//! # Invariants
//! - INC-1: staging an object in a group has the same effect as staging it alone.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::digest::{Domain, HashBatch, HashSuite, KeyPath, ObjectDigest};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Kind, NewObject, Object, Origin};
use crate::trie::Entry;

use super::authorisation::less_trusted;
use super::merge::conflict::{MERGE_CONFLICT, is_conflict_id};
use super::{Draft, Staged, StagedObject};

/// The rule that determines the origin of a staged object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginRule {
    /// The least trusted of this class, the writer's class, and the origins of the versions from which the object is
    /// derived. A source version that this store lacks has the origin `Import`.
    AtMost(Origin),
    /// As [`Self::AtMost`]. But if a trusted writer repeats an untrusted object, the object gets a new version with the
    /// origin of the trusted writer.
    Said(Origin),
    /// For an object with the same text as the current version, its origin, if the writer is at least as trusted
    /// (ORI-3). Otherwise as [`Self::AtMost`] with the current origin.
    Restated,
    /// The writer's class, whatever the lineage of the object (ORI-2), because a person has checked the object.
    Promoted,
    /// As [`Self::AtMost`], but the taint of a session does not lower it (TNT-5), because a person typed the text at the
    /// prompt of a client, or every word of it is from such texts.
    Prompted(Origin),
}

impl OriginRule {
    /// Returns the origin that most objects of a writer of class `writer` get by this rule.
    fn usual(self, writer: Origin) -> Origin {
        match self {
            Self::AtMost(class) | Self::Said(class) | Self::Prompted(class) => Origin::least(writer, class),
            Self::Restated | Self::Promoted => writer,
        }
    }
}

/// The number of objects whose digests [`Draft::stage_all`] computes together.
const OBJECTS_TOGETHER: usize = 256;

/// An object to stage, with what is already computed of it.
pub(super) struct Incoming {
    pub(super) object: NewObject,
    pub(super) key: KeyPath,
    /// The entry in the base state.
    pub(super) entry: Result<Option<Entry>>,
    /// The object encoded with an origin.
    encoded: Option<(Origin, StagedObject)>,
}

impl Incoming {
    /// Returns the object encoded with `origin`.
    pub(super) fn encode(&mut self, origin: Origin, suite: HashSuite) -> Result<StagedObject> {
        match self.encoded.take_if(|(known, _)| *known == origin) {
            Some((_, encoded)) => Ok(encoded),
            None => self.object.encode(origin, suite).map(StagedObject::new),
        }
    }
}

impl Draft {
    /// Stages `object` as the new version of its id. The origin of the new version is the least trusted of the writer's
    /// class and the origins of the versions that it is derived from. A source version that this store lacks has the
    /// origin `Import`.
    ///
    /// # Errors
    /// `InvalidInput` if the object breaks a rule or limit.
    pub fn put(&mut self, object: NewObject) -> Result<Staged> {
        self.stage(object, OriginRule::AtMost(self.writer.trust))
    }

    /// Stages `object` as the new version of its id, with the origin that `rule` determines.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn stage(&mut self, object: NewObject, rule: OriginRule) -> Result<Staged> {
        let new = self.incoming(object);
        self.stage_incoming(new, rule)
    }

    /// Stages `objects` in their order, as [`Self::put`] stages each. This costs less than as many calls of `put`,
    /// because the digests of many objects are computed together. After an error, the objects before the wrong one stay
    /// staged.
    ///
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let note = |number: u32| Ok(NewObject::new(Id::new(&format!("notes/{number}"))?, Kind::new("note")?));
    /// let notes = (0..1_000).map(note).collect::<treering::Result<Vec<_>>>()?;
    /// let mut draft = memory.draft(&Writer::user());
    /// draft.put_all(notes)?;
    /// memory.commit(draft, "put")?;
    /// assert_eq!(memory.view().len(), 1_000);
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_all(&mut self, objects: impl IntoIterator<Item = NewObject>) -> Result<Vec<Staged>> {
        let rule = OriginRule::AtMost(self.writer.trust);
        self.stage_all(objects.into_iter().map(|object| (object, rule)))
            .collect()
    }

    /// Stages `objects` in their order, as [`Self::stage`] stages each, and as fast as [`Self::put_all`]. The iterator
    /// stages what it passes. It may compute digests of objects that it does not reach.
    pub fn stage_all<'a>(
        &'a mut self,
        objects: impl IntoIterator<Item = (NewObject, OriginRule), IntoIter: 'a>,
    ) -> impl Iterator<Item = Result<Staged>> + 'a {
        let mut objects = objects.into_iter();
        let mut ready = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if ready.len() == 0 {
                let together = objects.by_ref().take(OBJECTS_TOGETHER).collect();
                ready = self.incoming_all(together).into_iter();
            }
            let (new, rule) = ready.next()?;
            Some(self.stage_incoming(new, rule))
        })
    }

    /// Stages an object by a rule, and notes what this means for the sessions of the draft.
    fn stage_incoming(&mut self, new: Incoming, rule: OriginRule) -> Result<Staged> {
        self.check_conflict(&new.object.id, Some(&new.object.kind))?;
        // Whether the version gets exactly this class. Then its origin also does not depend on the sessions of the draft.
        let (class, is_exact) = match rule {
            OriginRule::AtMost(class) | OriginRule::Said(class) => (class, false),
            OriginRule::Promoted => (self.writer.trust, true),
            // INVARIANT TNT-5: the taint of a session lowers no text of a prompt event. An untrusted text taints it as usual.
            OriginRule::Prompted(class) => {
                let class = self.lineage_at_most(&new.object, Origin::least(self.writer.trust, class))?;
                (class, class.is_trusted())
            }
            OriginRule::Restated => match self.get(&new.object.id)? {
                None => (self.writer.trust, false),
                Some(current) => {
                    let class = current.origin();
                    let is_same = current.content() == new.object.content.as_deref();
                    (class, is_same && !class.is_above(self.writer.trust))
                }
            },
        };
        let (origin, sessions) = if is_exact {
            (class, BTreeSet::new())
        } else {
            // INVARIANT ORI-1: a staged object is never more trusted than its writer, nor than any version that it is
            // derived from.
            let origin = self.origin_at_most(&new.object, class)?;
            (origin, self.sessions(new.object.parent.as_ref()))
        };
        self.admit_in(sessions, origin)?;
        self.stage_with(new, origin, matches!(rule, OriginRule::Said(_)))
    }

    /// Returns an error if the writer may not put this kind, or remove, at an id. Conflicts that an object hides or shows
    /// are for merges, and for people and hosts who copy them.
    ///
    /// # Errors
    /// `InvalidInput` (code `reserved_kind`); `Denied` (code `less_trusted`).
    pub(super) fn check_conflict(&self, id: &Id, kind: Option<&Kind>) -> Result<()> {
        let is_kind = kind.is_some_and(|kind| *kind == MERGE_CONFLICT);
        if !is_conflict_id(id.as_str()) {
            if !is_kind {
                return Ok(());
            }
            let text =
                format!("'{id}' cannot have the kind {MERGE_CONFLICT}, because only a merge makes conflicts");
            return Err(Error::invalid(text)
                .with_code(ErrorCode::ReservedKind)
                .with_hint("choose another kind; `conflicts` lists the open conflicts"));
        }
        if Origin::Host.is_above(self.writer.trust) {
            return Err(less_trusted(self.writer.trust, vec![id.to_string()])
                .with_hint("nothing was changed; `resolve` decides about an open conflict"));
        }
        Ok(())
    }

    /// Stages an object with this origin, for a caller that has checked the origin.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub(super) fn stage_as(&mut self, object: NewObject, origin: Origin) -> Result<Staged> {
        let new = self.incoming(object);
        self.stage_with(new, origin, false)
    }

    fn incoming(&self, object: NewObject) -> Incoming {
        let key = self.base.key(&object.id);
        Incoming {
            entry: self.base.state.entry_at(&key),
            key,
            object,
            encoded: None,
        }
    }

    /// Encodes and hashes the objects with the origin that most of them get, in one buffer. An object that breaks a rule
    /// stays as it is; staging it returns the error.
    fn incoming_all(&self, objects: Vec<(NewObject, OriginRule)>) -> Vec<(Incoming, OriginRule)> {
        let (suite, writer) = (self.base.state.store.suite, self.writer.trust);
        let limits = &self.base.settings().limits;
        let keys = suite.key_paths(objects.iter().map(|(object, _)| object.id.as_str()));
        // Loads the nodes and records that staging will read, for all objects at once.
        let entries = self.base.state.entries_at(&keys);
        let mut batch = HashBatch::new(suite, Domain::Object);
        let encoded: Vec<_> = objects
            .iter()
            .map(|(object, rule)| {
                limits.check(object).ok()?;
                let encode = |out: &mut Vec<u8>| object.encode_to(rule.usual(writer), suite, out);
                batch.push_bytes_with(encode).ok()
            })
            .collect();
        let (digests, bytes) = batch.finish_all();
        let mut digests = digests.into_iter().map(ObjectDigest::from_bytes);
        let bytes = Bytes::from(bytes);
        let incoming = objects.into_iter().zip(keys).zip(encoded).enumerate();
        let incoming = incoming.map(|(index, (((object, rule), key), encoded))| {
            let encoded = encoded.and_then(|(range, content)| {
                let object = Object::from_verified(bytes.slice(range), digests.next()?);
                let content = content.map(|(digest, bytes)| (digest, Bytes::from(bytes)));
                Some((rule.usual(writer), StagedObject::of(object, content)))
            });
            let entry = match &entries {
                Ok(entries) => Ok(entries[index]),
                Err(_) => self.base.state.entry_at(&key),
            };
            let new = Incoming {
                object,
                key,
                entry,
                encoded,
            };
            (new, rule)
        });
        incoming.collect()
    }
}
