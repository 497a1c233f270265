//! Drafts: staged changes to a state, as a value that can be read, compared, committed or dropped.
//!
//! # Layer
//! Layer 5. A draft touches neither the log nor the lock.
//!
//! # Limits
//! - If a staged version is replaced, and another staged version is derived from it, the commit adds even the replaced
//!   version to history.
//!
//! # Invariants
//! - DRA-1: a staged version differs from the base state; staging the base version again unstages the id.
//! - DRA-2: if a staged version got its origin from another staged version, the commit keeps that version in history,
//!   even if it was replaced since.
//! - DRA-3: the commit links a version of history only if history still keeps it. Garbage collection and erasure may
//!   have taken it since it was staged, and a draft does not bring it back.
//! - ORI-1: a staged object is never more trusted than its writer, nor than any version that it is derived from.
//!   Merging, summarising, importing and restoring can only lower the trust. ORI-2 and ORI-3 are exceptions.
//! - ORI-2: only `OriginRule::Promoted` ignores the lineage, and only a promotion by a person uses that rule.
//! - ORI-3: a new version with the same text keeps its origin if the writer is no less trusted and changes only other
//!   fields.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::digest::{ContentDigest, DigestHash, KeyPath, ObjectDigest};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Locator, framed_bytes};
use crate::object::{Encoded, Id, NewObject, Object, Origin};
use crate::store::{ChangeCounts, Store};
use crate::trie::{Entry, Trie};

use super::changes::Changes;
use super::incoming::Incoming;
use super::{Authorisation, Writer};
use crate::engine::read::{Change, ChangeKind, Family, View, erased_by, id_of, keys_of};

/// The effect of staging an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    /// The id is new.
    Created,
    /// The id gets a new version.
    Updated,
    /// The id already has an object with the same fields.
    Unchanged,
}

/// An object ready to be written.
pub(crate) struct StagedObject {
    pub(crate) object: Object,
    /// The content, if the content is stored as a separate record.
    pub(crate) content: Option<(ContentDigest, Bytes)>,
    /// Whether the draft only links this version, because history already had it when it was staged (DRA-3).
    pub(crate) is_linked: bool,
    /// The place of the record that a linked version was read from, in the log of the base state, if the record limits no class.
    pub(crate) read_at: Option<Locator>,
}

impl StagedObject {
    pub(super) fn new(encoded: Encoded) -> Self {
        let content = encoded
            .content
            .map(|(digest, bytes)| (digest, Bytes::from(bytes)));
        Self::of(
            Object::from_verified(Bytes::from(encoded.bytes), encoded.digest),
            content,
        )
    }

    /// Returns a new version, with its content if that is stored as a separate record.
    pub(super) fn of(mut object: Object, content: Option<(ContentDigest, Bytes)>) -> Self {
        if let Some((_, bytes)) = &content {
            object = object.with_content(bytes.clone());
        }
        Self {
            object,
            content,
            is_linked: false,
            read_at: None,
        }
    }
}

pub(crate) struct StagedChange {
    pub(crate) id: Id,
    /// The version in the base state.
    pub(crate) old: Option<ObjectDigest>,
    /// The parent in the base state.
    pub(crate) old_parent: Option<Id>,
    /// The new version; `None` removes the id.
    pub(crate) new: Option<StagedObject>,
}

impl StagedChange {
    pub(crate) fn new_digest(&self) -> Option<ObjectDigest> {
        self.new.as_ref().map(|staged| staged.object.digest())
    }

    /// Returns two flags: whether the base state has the id, and whether the state with the change has the id.
    pub(crate) fn sides(&self) -> (bool, bool) {
        (self.old.is_some(), self.new.is_some())
    }
}

/// Uncommitted changes to one state.
pub struct Draft {
    pub(crate) base: View,
    pub(crate) writer: Writer,
    pub(crate) staged: Changes,
    /// The origins of the versions that the draft adds, which limit the origins of objects derived from them. Empty until
    /// an object is derived from something.
    origins: OnceLock<HashMap<ObjectDigest, Origin, DigestHash>>,
    /// Staged versions that another staged version is derived from.
    sources: HashSet<ObjectDigest, DigestHash>,
    /// Versions that the commit adds to history but not to the state (DRA-2).
    pub(crate) past: BTreeMap<ObjectDigest, StagedObject>,
    /// Staged children by their parent's key path.
    children: BTreeMap<KeyPath, BTreeSet<KeyPath>>,
    pub(crate) expected: Vec<(Id, Option<ObjectDigest>)>,
    /// Versions of a saved draft that were erased after it was saved.
    pub(crate) left_out: Vec<ObjectDigest>,
    pub(crate) snapshot_before: bool,
    /// The session in which the draft writes, besides the session of the writer.
    pub(super) entered: Option<String>,
    /// The sessions that the commit taints (TNT-1).
    pub(super) tainted: BTreeSet<String>,
    /// The sessions in which the draft wrote trusted versions (TNT-3).
    pub(super) trusted_in: BTreeSet<String>,
    pub(crate) authorisation: Authorisation,
    /// Whether the commit fails if the base state is no longer the head.
    pub(crate) only_on_base: bool,
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft")
            .field("base", &self.base)
            .field("changes", &self.staged.len())
            .finish_non_exhaustive()
    }
}

impl Draft {
    pub(crate) fn new(base: View, mut writer: Writer) -> Self {
        writer.trust = base.opened().capped(writer.trust);
        Self {
            base,
            writer,
            staged: Changes::default(),
            origins: OnceLock::new(),
            sources: HashSet::default(),
            past: BTreeMap::new(),
            children: BTreeMap::new(),
            expected: Vec::new(),
            left_out: Vec::new(),
            snapshot_before: false,
            entered: None,
            tainted: BTreeSet::new(),
            trusted_in: BTreeSet::new(),
            authorisation: Authorisation::default(),
            only_on_base: false,
        }
    }

    /// Returns the newest store, which also contains the versions that were written since the base state.
    pub(super) fn store(&self) -> Arc<Store> {
        self.base.opened().store()
    }

    /// Returns the writer of the draft.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Returns the base state of the changes.
    pub fn base(&self) -> &View {
        &self.base
    }

    /// Returns whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// Returns whether a commit of the draft writes nothing, not even a taint.
    #[cfg(feature = "agent")]
    pub(crate) fn is_idle(&self) -> bool {
        self.staged.is_empty() && self.tainted.is_empty()
    }

    /// Makes the commit add an automatic snapshot to the ring of the writer's lane. The snapshot names the state before
    /// the commit.
    pub fn snapshot_before(&mut self) {
        self.snapshot_before = true;
    }

    /// Moves the base to the newest head that this process knows. If the head changes after that, the commit fails. So
    /// results that were computed from the draft stay valid until the draft is committed.
    ///
    /// # Errors
    /// `Conflict`, naming the ids that another writer changed since; `Corrupt` or `Io`.
    pub(crate) fn rebase(&mut self) -> Result<()> {
        let head = View::head(&self.base.source);
        for key in self.done_in(&head.state.store, &head.state.trie)? {
            self.unstage(&key);
        }
        self.base = head;
        self.only_on_base = true;
        Ok(())
    }

    /// Returns the keys of the staged changes that a newer state already contains.
    ///
    /// # Errors
    /// `Conflict`, naming the ids that another writer changed since; `Corrupt` or `Io`.
    fn done_in(&self, store: &Store, trie: &Trie) -> Result<Vec<KeyPath>> {
        let (mut done, mut conflicts) = (Vec::new(), self.unexpected(store, trie)?);
        for (key, change) in self.staged.iter() {
            let now = current(store, trie, &key)?;
            if now == change.new_digest() {
                done.push(key);
            } else if now != change.old {
                conflicts.insert(change.id.to_string());
            }
        }
        if conflicts.is_empty() {
            return Ok(done);
        }
        Err(changed_meanwhile(conflicts.into_iter().collect()))
    }

    /// Returns the ids that have another version than the draft expects.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the state cannot be read.
    pub(super) fn unexpected(&self, store: &Store, trie: &Trie) -> Result<BTreeSet<String>> {
        let mut unexpected = BTreeSet::new();
        for (id, version) in &self.expected {
            if current(store, trie, &store.suite.key_path(id.as_str()))? != *version {
                unexpected.insert(id.to_string());
            }
        }
        Ok(unexpected)
    }

    /// Returns the number of bytes that the records of new versions take in a batch, if history has none of them.
    pub(super) fn framed_bytes(&self) -> u64 {
        let new = self.staged.values().filter_map(|change| change.new.as_ref());
        let new = new.filter(|new| !new.is_linked);
        new.map(|new| framed_bytes(new.object.bytes().len()) as u64).sum()
    }

    /// Returns whether a change could break the tree of parents: it removes an id, or the new or the old version has a
    /// parent.
    pub(super) fn touches_tree(&self) -> bool {
        self.staged.values().any(|change| {
            let new = change.new.as_ref();
            change.old_parent.is_some() || new.is_none_or(|new| new.object.parent().is_some())
        })
    }

    /// Makes the commit fail with `Conflict` if `id` has another version than `version`. `None` means that `id` must
    /// not exist.
    pub fn expect(&mut self, id: &Id, version: Option<ObjectDigest>) {
        self.expected.push((id.clone(), version));
    }

    /// Returns the object named `id`, with the staged changes applied.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object cannot be read.
    pub fn get(&self, id: &Id) -> Result<Option<Object>> {
        match self.staged.get(&self.base.key(id)) {
            Some(change) if change.id == *id => Ok(change.new.as_ref().map(|staged| staged.object.clone())),
            _ => self.base.get(id),
        }
    }

    /// Returns the digest of the version of `id`, with the staged changes applied, even if that version was erased.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    #[doc(hidden)]
    pub fn digest(&self, id: &Id) -> Result<Option<ObjectDigest>> {
        let key = self.base.key(id);
        match self.staged.get(&key) {
            Some(change) if change.id == *id => Ok(change.new_digest()),
            _ => Ok(self.base_object(id, &key)?.map(|object| object.digest())),
        }
    }

    /// Returns the children of `id`, with the staged changes applied, in sibling order.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn children(&self, id: &Id) -> Result<Vec<Id>> {
        let staged = self.children.get(&self.base.key(id)).into_iter().flatten();
        let added = staged.filter_map(|key| self.staged.get(key).filter(|change| change.new.is_some()));
        let added: Vec<Id> = added.map(|change| change.id.clone()).collect();
        let mut children = self.base.children(id, None)?;
        // `added` already contains each staged child whose parent is still `id`.
        children.retain(|child| !self.staged.contains_key(&self.base.key(child)));
        if added.is_empty() {
            return Ok(children);
        }
        let mut keys = Vec::with_capacity(children.len() + added.len());
        for child in children.into_iter().chain(added) {
            if let Some(object) = self.get(&child)? {
                keys.extend(keys_of(Family::Children, &object)?);
            }
        }
        keys.sort_unstable();
        Ok(keys.iter().filter_map(|key| id_of(key)).collect())
    }

    /// Returns the origin that `object` would get from the rule [`OriginRule::AtMost`](super::OriginRule::AtMost).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a version of its lineage cannot be read.
    pub(crate) fn origin_at_most(&self, object: &NewObject, origin: Origin) -> Result<Origin> {
        let class = self.class_below(origin, object.parent.as_ref())?;
        self.lineage_at_most(object, class)
    }

    /// Returns the least trusted of `least` and the origins of the versions that `object` is derived from.
    ///
    /// # Errors
    /// The errors of [`Self::origin_at_most`].
    pub(super) fn lineage_at_most(&self, object: &NewObject, mut least: Origin) -> Result<Origin> {
        for digest in &object.derived_from {
            let source = match self.origins().get(digest) {
                Some(staged) => Some(*staged),
                None => {
                    let found = self.store().records.find_object(*digest)?;
                    found.map(|(_, object)| object.origin())
                }
            };
            // A version that this store does not keep has the origin `Import`.
            least = Origin::least(least, source.unwrap_or(Origin::Import));
        }
        Ok(least)
    }

    /// Returns the origins of the versions that the draft adds.
    fn origins(&self) -> &HashMap<ObjectDigest, Origin, DigestHash> {
        self.origins.get_or_init(|| {
            let staged = self.staged.values().filter_map(|change| change.new.as_ref());
            let added = staged.chain(self.past.values()).map(|staged| &staged.object);
            added.map(|object| (object.digest(), object.origin())).collect()
        })
    }

    /// Stages an object with this origin, whatever the sessions of the draft are. If the current version has the same
    /// fields, keeps that version with its origin. With `trusts_again`, only a trusted version is kept.
    pub(super) fn stage_with(
        &mut self,
        mut new: Incoming,
        origin: Origin,
        trusts_again: bool,
    ) -> Result<Staged> {
        self.base.settings().limits.check(&new.object)?;
        let (key, suite) = (new.key, self.base.state.store.suite);
        let old = self.base_version(&new.object.id, &key, new.entry.clone())?;
        let staged = self.staged.get(&key);
        let current = match staged {
            Some(change) => change.new.as_ref().map(|staged| &staged.object),
            None => old.as_ref(),
        };
        let existed = current.is_some();
        let erased = current.and_then(Object::erased_by);
        let is_untrusted = |current: &Object| !current.is_placeholder() && !current.origin().is_trusted();
        let raises = trusts_again && origin.is_trusted() && current.is_some_and(is_untrusted);
        let like = |version: &Object| if raises { origin } else { version.origin() };
        let mut encoded = new.encode(current.map_or(origin, like), suite)?;
        let is_current =
            |new: &StagedObject| current.is_some_and(|current| current.digest() == new.object.digest());
        if erased.is_none() && is_current(&encoded) {
            return Ok(Staged::Unchanged);
        }
        if let (Some(_), Some(base)) = (staged, &old)
            && new.encode(like(base), suite)?.object.digest() == base.digest()
        {
            // DRA-1: the id has its base version again, so its staged change is dropped.
            self.unstage(&key);
            return Ok(Staged::Updated);
        }
        if current.is_some_and(|current| like(current) != origin) {
            encoded = new.encode(origin, suite)?;
        }
        if erased.is_some() && is_current(&encoded) {
            let what = format!("this version of '{}'", new.object.id);
            return Err(erased_by(&self.base.state.store, &what, erased)
                .with_hint("to store this version again, first remove the object"));
        }
        self.replace(key, new.object.id, old.as_ref(), encoded);
        Ok(if existed { Staged::Updated } else { Staged::Created })
    }

    /// Adds an earlier version of an object, as a source of derived objects. The commit adds the version to history but
    /// not to the state. The rule [`OriginRule::AtMost`](super::OriginRule::AtMost) with `origin` gives the origin of
    /// that version. A draft that contains only earlier versions makes no commit.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    #[doc(hidden)]
    pub fn put_past(&mut self, object: &NewObject, origin: Origin) -> Result<ObjectDigest> {
        self.base.settings().limits.check(object)?;
        let origin = self.origin_at_most(object, origin)?;
        let encoded = object.encode(origin, self.store().suite)?;
        let digest = encoded.digest;
        if self.origins().contains_key(&digest) {
            // The version is also staged for the state. Because it is marked as a source, it stays in history even if
            // another version of the id is staged later.
            self.sources.insert(digest);
        } else if self.store().records.find_place(digest)?.is_none() {
            let past = StagedObject::new(encoded);
            self.note_sources(&past.object);
            self.note_origin(digest, Some(origin));
            self.past.insert(digest, past);
        }
        Ok(digest)
    }

    /// Returns the earlier versions that the commit adds to history.
    pub(crate) fn past(&self) -> Vec<Object> {
        self.past.values().map(|staged| staged.object.clone()).collect()
    }

    /// Drops an earlier version, added by [`Self::put_past`], if no staged object is derived from it.
    pub(crate) fn drop_past(&mut self, version: ObjectDigest) {
        if self.past.remove(&version).is_some() {
            self.note_origin(version, None);
        }
    }

    /// Stages a version that history already keeps. The commit links the version (DRA-3). If its record limits its class
    /// (RCS-3), stages it anew with that class, so the class goes wherever the version goes.
    pub(crate) fn stage_version(&mut self, object: Object) -> Result<()> {
        let key = self.base.key(object.id());
        let old = self.base_version(object.id(), &key, self.base.state.entry_at(&key))?;
        self.stage_over(key, old.as_ref(), object, None)
    }

    /// Stages a version as [`Self::stage_version`] does, for a caller that has read `old`, the version of the base state, and
    /// the version itself from a record at `read_at` that limits no class.
    pub(super) fn stage_over(
        &mut self,
        key: KeyPath,
        old: Option<&Object>,
        object: Object,
        read_at: Option<Locator>,
    ) -> Result<()> {
        let id = object.id().clone();
        let seen = Origin::least(object.stored_origin(), self.base.settings().best_origin);
        let is_lowered = seen.is_above(object.origin()) && !object.lacks_content();
        let staged = if is_lowered {
            StagedObject::new(
                object
                    .to_new()?
                    .encode(object.origin(), self.base.state.store.suite)?,
            )
        } else {
            StagedObject {
                object,
                content: None,
                is_linked: true,
                read_at,
            }
        };
        let digest = staged.object.digest();
        if old.is_some_and(|old| old.digest() == digest) {
            // INVARIANT DRA-1: a staged version differs from the base state.
            self.unstage(&key);
            return Ok(());
        }
        self.replace(key, id, old, staged);
        Ok(())
    }

    /// Stages the version `then`. If `then` is `None`, stages the removal of the base version `now`.
    pub(crate) fn stage_entry(&mut self, now: Option<Entry>, then: Option<Entry>) -> Result<()> {
        if let Some(then) = then {
            return self.stage_version(self.base.state.load(&then)?);
        }
        if let Some(now) = now {
            let object = self.base.state.load(&now)?;
            self.insert(now.key, object.id().clone(), Some(&object), None);
        }
        Ok(())
    }

    /// Replaces the staged change of the id with `new`; `old` is the version of the base state.
    fn replace(&mut self, key: KeyPath, id: Id, old: Option<&Object>, new: StagedObject) {
        // Runs before the previous staged version is dropped, because the new version may be derived from it.
        self.note_sources(&new.object);
        let digest = new.object.digest();
        let origin = self.origins.get().map(|_| new.object.origin());
        let parent = new
            .object
            .parent()
            .map(|parent| self.store().suite.key_path(parent));
        if let Some(replaced) = self.insert(key, id, old, Some(new)) {
            self.forget(&key, replaced);
        }
        if let Some(parent) = parent {
            self.children.entry(parent).or_default().insert(key);
        }
        if origin.is_some() {
            self.note_origin(digest, origin);
        }
        if self.past.remove(&digest).is_some() {
            self.sources.insert(digest);
        }
    }

    /// Adds a staged change, and returns the change of the same id that it replaces.
    fn insert(
        &mut self,
        key: KeyPath,
        id: Id,
        old: Option<&Object>,
        new: Option<StagedObject>,
    ) -> Option<StagedChange> {
        let change = StagedChange {
            id,
            old: old.map(Object::digest),
            old_parent: old.and_then(|old| Id::new(old.parent()?).ok()),
            new,
        };
        self.staged.insert(key, change)
    }

    /// Records which versions of this draft the object is derived from.
    fn note_sources(&mut self, object: &Object) {
        for digest in object.derived_from() {
            if self.origins().contains_key(&digest) {
                self.sources.insert(digest);
            }
        }
    }

    /// Notes that the draft adds a version of this origin, or adds it no more.
    fn note_origin(&mut self, version: ObjectDigest, origin: Option<Origin>) {
        match (self.origins.get_mut(), origin) {
            (Some(origins), Some(origin)) => drop(origins.insert(version, origin)),
            (Some(origins), None) => drop(origins.remove(&version)),
            (None, _) => {}
        }
    }

    /// Returns the object of the base state at the key path, whose entry there is `entry`. Returns an error if that object
    /// has another id.
    fn base_version(&self, id: &Id, key: &KeyPath, entry: Result<Option<Entry>>) -> Result<Option<Object>> {
        let taken = |other: &str| {
            Error::invalid(format!(
                "the ids '{id}' and '{other}' have the same digest, so one state cannot contain both"
            ))
            .with_code(ErrorCode::KeyPathTaken)
        };
        if let Some(change) = self.staged.get(key).filter(|change| change.id != *id) {
            return Err(taken(change.id.as_str()));
        }
        match entry?.map(|entry| self.base.state.load(&entry)).transpose()? {
            // The id of an erased version is unknown, but its key path identifies it.
            Some(object) if !object.is_named(id) && !object.is_placeholder() => {
                Err(taken(object.id().as_str()))
            }
            object => Ok(object),
        }
    }

    /// Returns the base state's object of this id, or its placeholder if the object was erased.
    fn base_object(&self, id: &Id, key: &KeyPath) -> Result<Option<Object>> {
        let object = self.base.state.object_at(key)?;
        Ok(object.filter(|object| object.id() == id || object.is_placeholder()))
    }

    fn unstage(&mut self, key: &KeyPath) {
        if let Some(change) = self.staged.remove(key) {
            self.forget(key, change);
        }
    }

    /// Forgets a staged change that was removed from, or replaced in, the staged changes.
    fn forget(&mut self, key: &KeyPath, change: StagedChange) {
        let Some(staged) = change.new else { return };
        let digest = staged.object.digest();
        let parent = staged.object.parent();
        let parent = parent.map(|parent| self.store().suite.key_path(parent));
        if let Some(siblings) = parent.and_then(|parent| self.children.get_mut(&parent)) {
            siblings.remove(key);
        }
        // INVARIANT DRA-2: if a staged version got its origin from another staged version, the commit keeps that
        // version in history, even if it was replaced since.
        if self.sources.remove(&digest) {
            self.past.insert(digest, staged);
        } else {
            self.note_origin(digest, None);
        }
    }

    /// Stages the removal of `id`. Returns false if `id` does not exist. The caller must also remove or move the
    /// children of `id` before the commit.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn remove(&mut self, id: &Id) -> Result<bool> {
        if self.digest(id)?.is_none() {
            return Ok(false);
        }
        self.check_conflict(id, None)?;
        self.stage_removal(id)?;
        Ok(true)
    }

    /// Stages the removal of an id, for a caller that may remove it.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(super) fn stage_removal(&mut self, id: &Id) -> Result<()> {
        let key = self.base.key(id);
        let old = self.base_object(id, &key)?;
        self.unstage(&key);
        if let Some(old) = old {
            self.insert(key, id.clone(), Some(&old), None);
        }
        Ok(())
    }

    /// Stages the removal of `id` and everything below it. Returns the number of removed objects.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn remove_recursive(&mut self, id: &Id) -> Result<u64> {
        let mut waiting = vec![id.clone()];
        let mut removed = 0;
        while let Some(next) = waiting.pop() {
            waiting.extend(self.children(&next)?);
            removed += u64::from(self.remove(&next)?);
        }
        Ok(removed)
    }

    /// Returns the staged changes, sorted by id.
    pub fn changes(&self) -> Vec<Change> {
        let change = |change: &StagedChange| Change {
            id: change.id.clone(),
            kind: ChangeKind::of(change.old.is_some(), change.new_digest().is_some()),
            old: change.old,
            new: change.new_digest(),
            erased: false,
        };
        let mut changes: Vec<_> = self.staged.values().map(change).collect();
        changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        changes
    }

    /// Returns the counts of the staged changes.
    pub fn counts(&self) -> ChangeCounts {
        ChangeCounts::of(self.staged.values().map(StagedChange::sides))
    }
}

/// Returns the digest of the version at `key`.
fn current(store: &Store, trie: &Trie, key: &KeyPath) -> Result<Option<ObjectDigest>> {
    let entry = trie.get(key, store)?;
    Ok(entry.map(|entry| ObjectDigest::from_bytes(entry.digest)))
}

/// Formats the first ten ids, quoted, and the number of the other ids.
pub(crate) fn named<'a>(ids: impl IntoIterator<Item = &'a String, IntoIter: ExactSizeIterator>) -> String {
    const NAMED: usize = 10;
    let ids = ids.into_iter();
    let more = ids.len().saturating_sub(NAMED);
    let shown: Vec<_> = ids.take(NAMED).map(|id| format!("'{id}'")).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns the error for a change that conflicts with another writer's change of these ids.
pub(crate) fn changed_meanwhile(ids: Vec<String>) -> Error {
    Error::conflict(format!("another writer changed {} meanwhile", named(&ids)))
        .with_ids(ids)
        .with_hint("read these objects again, then repeat the change")
}
