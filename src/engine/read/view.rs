//! Views: one read-only state of memory, at the head, a snapshot or any other kept commit.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - VIE-1: a view always returns the same results, whatever is committed after it was opened.

use std::sync::Arc;

use crate::digest::{KeyPath, Root, SubtreeDigest};
use crate::error::{ErrorKind, Result};
use crate::object::{Commit, Id, Object, Time};
use crate::store::{CommitEntry, IdHash, Store};
use crate::trie::{self, Entry};

use super::{Family, Source, State, erased_by, until_error};
use crate::engine::opened::Opened;
use crate::engine::settings::{CLOCK_OFF_MICROS_MAX, Settings};

/// The number of objects that [`View::get_all`] loads together. The starts of their records fit into a processor's first
/// cache.
const OBJECTS_TOGETHER: usize = 64;

/// A kept commit and its digest. The JSON of a kept commit has the fields `commit` (the digest), `seq` and `root`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(into = "CommitName"), schemars(with = "CommitName"))]
pub struct CommitInfo {
    /// The digest that names the commit.
    pub digest: crate::digest::CommitDigest,
    /// The commit itself.
    pub commit: Commit,
}

/// The fields that name a commit in JSON.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, schemars::JsonSchema)]
struct CommitName {
    commit: crate::digest::CommitDigest,
    seq: u64,
    root: Root,
}

#[cfg(feature = "serde")]
impl From<CommitInfo> for CommitName {
    fn from(info: CommitInfo) -> Self {
        Self {
            commit: info.digest,
            seq: info.commit.seq,
            root: info.commit.root,
        }
    }
}

impl CommitInfo {
    pub(crate) fn of(entry: &CommitEntry) -> Self {
        Self {
            digest: entry.digest,
            commit: entry.commit.clone(),
        }
    }

    /// Returns the lane of the commit: its session, else its actor, else `default`.
    pub fn lane(&self) -> &str {
        self.commit.lane()
    }
}

/// One state of memory. Cloning and keeping a view is cheap, whatever the size of the state.
#[derive(Clone)]
pub struct View {
    pub(crate) source: Arc<Source>,
    pub(crate) entry: Arc<CommitEntry>,
    /// The map of the commit, which never changes, and the store with its records and nodes. The view keeps that store,
    /// because the log may be rewritten while the view is open (VIE-1).
    pub(crate) state: State,
    now: Option<Time>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("seq", &self.entry.seq())
            .field("root", &self.root())
            .finish_non_exhaustive()
    }
}

impl View {
    /// Returns the state of a commit of `store`.
    pub(crate) fn new(source: &Arc<Source>, store: &Arc<Store>, entry: Arc<CommitEntry>) -> Result<Self> {
        Ok(Self {
            source: Arc::clone(source),
            state: State::of(store, &entry)?,
            entry,
            now: None,
        })
    }

    /// Returns the state of the newest commit that this process has read.
    pub(crate) fn head(source: &Arc<Source>) -> Self {
        loop {
            let store = source.opened.store();
            let head = store.head().expect("an open memory always has a head");
            let digest = head.digest;
            match Self::new(source, &store, head) {
                Ok(view) => return view,
                // Many commits may have followed since, and the state has left memory. Then there is a newer head.
                Err(_)
                    if source
                        .opened
                        .store()
                        .head()
                        .is_ok_and(|head| head.digest != digest) => {}
                Err(error) => panic!("the state of the head is in memory, but: {error}"),
            }
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.source.opened.settings
    }

    /// Returns the opened store.
    pub(crate) fn opened(&self) -> &Opened {
        &self.source.opened
    }

    /// Returns the state, without the caches of the view.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the commit of this state.
    pub fn commit(&self) -> CommitInfo {
        CommitInfo::of(&self.entry)
    }

    /// Returns the root that names this state.
    pub fn root(&self) -> Root {
        self.entry.commit.root
    }

    /// Returns the number of objects, including expired objects.
    pub fn len(&self) -> u64 {
        self.state.trie.len()
    }

    /// Returns whether the state has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time that decides which objects are expired. If [`Self::with_now`] set a time, this is that time.
    /// Otherwise it is the commit's time for a past state, and the later of the clock and the commit's time for the
    /// head. The time of a head that is more than a day ahead of the clock is ignored.
    pub fn now(&self) -> Time {
        let committed = self.entry.commit.time;
        if let Some(now) = self.now {
            return now;
        }
        let head = self.source.opened.store().head();
        let is_head = head.is_ok_and(|head| head.digest == self.entry.digest);
        if !is_head {
            return committed;
        }
        let wall = self.settings().clock.now();
        // A head that is more than a day ahead comes from a wrong clock, and must not make every object expire.
        if committed.as_micros() > wall.as_micros().saturating_add(CLOCK_OFF_MICROS_MAX) {
            wall
        } else {
            wall.max(committed)
        }
    }

    /// Returns a view of the same state for which the time `now` decides which objects are expired.
    #[must_use]
    pub fn with_now(mut self, now: Time) -> Self {
        self.now = Some(now);
        self
    }

    pub(crate) fn key(&self, id: &Id) -> KeyPath {
        self.state.store.suite.key_path(id.as_str())
    }

    /// Returns the object named `id`, expired or not.
    ///
    /// # Errors
    /// `NotFound` with the code `erased` if the version in this state was erased since; `Corrupt` or `Io` if the
    /// version's record cannot be read.
    pub fn get(&self, id: &Id) -> Result<Option<Object>> {
        let hash = IdHash::of(id.as_str());
        if let Some(object) = self.state.store.cached(id, hash, self.entry.batch) {
            return Ok(Some(object));
        }
        let entry = self.state.entry_at(&self.key(id))?;
        self.load_named(id, hash, entry)
    }

    /// Returns the object of each id, in the order of the ids; see [`Self::get`]. This is several times as fast as one
    /// [`Self::get`] after the other, because it hashes many ids at once and waits for many objects at the same time.
    ///
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let ids = [Id::new("here")?, Id::new("not here")?];
    /// let mut draft = memory.draft(&Writer::user());
    /// draft.put(NewObject::new(ids[0].clone(), Kind::new("note")?))?;
    /// memory.commit(draft, "put")?;
    /// let found = memory.view().get_all(&ids)?;
    /// assert!(found[0].is_some() && found[1].is_none());
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn get_all<'a>(&self, ids: impl IntoIterator<Item = &'a Id>) -> Result<Vec<Option<Object>>> {
        let ids: Vec<&Id> = ids.into_iter().collect();
        let mut objects = Vec::with_capacity(ids.len());
        for ids in ids.chunks(OBJECTS_TOGETHER) {
            self.get_together(ids, &mut objects)?;
        }
        Ok(objects)
    }

    fn get_together(&self, ids: &[&Id], objects: &mut Vec<Option<Object>>) -> Result<()> {
        let (store, first) = (&self.state.store, objects.len());
        let hashes: Vec<IdHash> = ids.iter().map(|id| IdHash::of(id.as_str())).collect();
        objects.extend(store.cached_together(ids, &hashes, self.entry.batch));
        let rest: Vec<usize> = (0..ids.len())
            .filter(|at| objects[first + at].is_none())
            .collect();
        let keys = store.suite.key_paths(rest.iter().map(|at| ids[*at].as_str()));
        for (at, entry) in rest.into_iter().zip(self.state.entries_at(&keys)?) {
            objects[first + at] = self.load_named(ids[at], hashes[at], entry)?;
        }
        Ok(())
    }

    fn load_named(&self, id: &Id, hash: IdHash, entry: Option<Entry>) -> Result<Option<Object>> {
        let Some(entry) = entry else { return Ok(None) };
        let object = self.load_kept(&entry, || format!("the version of '{id}' in this state"))?;
        // Ignores an object with another id and the same key path, which would be a hash collision.
        if !object.is_named(id) {
            return Ok(None);
        }
        let (store, batch) = (&self.state.store, self.entry.batch);
        // An id without room is read from the trie again and again.
        if store.cache_place(id, hash, entry.place, (batch, self.len())) {
            store.cache_beside(&entry.key, &self.state.trie, batch);
        }
        Ok(Some(object))
    }

    /// Returns the object whose key path (`HashSuite::key_path`) starts with these bytes,
    /// for callers that store key paths in short form.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub(crate) fn object_at(&self, prefix: &[u8; 16]) -> Result<Option<Object>> {
        let Some(entry) = self.state.trie.get_by_prefix(prefix, &*self.state.store)? else {
            return Ok(None);
        };
        let what = || format!("the object of this state at {}", crate::digest::to_hex(prefix));
        self.load_kept(&entry, what).map(Some)
    }

    pub(super) fn load_kept(&self, entry: &Entry, what: impl FnOnce() -> String) -> Result<Object> {
        let object = self.state.load(entry)?;
        if object.is_placeholder() {
            return Err(erased_by(&self.state.store, &what(), object.erased_by()));
        }
        Ok(object)
    }

    /// Returns whether there is an object named `id`.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    pub fn contains(&self, id: &Id) -> Result<bool> {
        Ok(self.state.entry_at(&self.key(id))?.is_some())
    }

    /// Returns at most `limit` ids of the children of `id`, in sibling order.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn children(&self, id: &Id, limit: Option<usize>) -> Result<Vec<Id>> {
        let children = self.source.children(&self.state, id)?;
        Ok(children.take(limit.unwrap_or(usize::MAX)).collect())
    }

    /// Returns the first ids that [`Self::children`] returns, at most `limit`, and the number of all children.
    ///
    /// # Errors
    /// The errors of [`Self::children`].
    #[doc(hidden)]
    pub fn first_children(&self, id: &Id, limit: usize) -> Result<(Vec<Id>, u64)> {
        let mut children = self.source.children(&self.state, id)?;
        let first: Vec<Id> = children.by_ref().take(limit).collect();
        let total = (first.len() + children.count()) as u64;
        Ok((first, total))
    }

    /// Returns the number of children of `id`.
    ///
    /// # Errors
    /// The errors of [`Self::children`].
    #[doc(hidden)]
    pub fn child_count(&self, id: &Id) -> Result<u64> {
        Ok(self.source.children(&self.state, id)?.count() as u64)
    }

    /// Builds the index for [`Self::indexed_ids`]. Reads every object, or only the changes since a state whose index is
    /// cached.
    ///
    /// # Errors
    /// The errors of [`Self::children`].
    #[doc(hidden)]
    pub fn index_ids(&self) -> Result<()> {
        self.index(Family::Ids).map(drop)
    }

    /// Returns the ids that start with `prefix`, in order. Returns `None` unless [`Self::index_ids`] was called. Reads
    /// no object and never waits.
    #[doc(hidden)]
    pub fn indexed_ids(&self, prefix: &str) -> Option<impl Iterator<Item = Id> + use<>> {
        let index = self.source.index_at_hand(Family::Ids, &self.state)?;
        Some(index.value().from(&[], prefix.as_bytes()))
    }

    pub(crate) fn index(&self, family: Family) -> Result<super::index::Index> {
        let index = self.source.index(family, &self.state)?;
        Ok(index.value().clone())
    }

    /// Iterates every object in the order of the trie. Uses no index and keeps one object in memory at a time. An
    /// erased object appears as a placeholder ([`Object::is_placeholder`]). The iterator ends after an error.
    pub fn objects(&self) -> impl Iterator<Item = Result<Object>> + Send + use<> {
        let view = self.clone();
        let read = move |(done, entry): (u64, Result<Entry>)| {
            let (entry, opened) = (entry?, view.opened());
            opened.settings.step("read", done, view.len())?;
            opened.or_passed_over(entry.key, view.state.load(&entry))
        };
        let entries = (1..).zip(self.state.entries());
        until_error(entries.filter_map(move |entry| read(entry).transpose()))
    }

    /// Iterates the objects as [`Self::objects`] does, but omits erased objects.
    #[doc(hidden)]
    pub fn kept_objects(&self) -> impl Iterator<Item = Result<Object>> + Send + use<> {
        let is_kept = |object: &Result<Object>| !object.as_ref().is_ok_and(Object::is_placeholder);
        self.objects().filter(is_kept)
    }

    /// Returns the digest of `id` and everything below it. Returns `None` if `id` does not exist, or if an object of
    /// this state was erased, because the erased object may have been below `id`. The first call reads the whole
    /// subtree; later calls read only changes.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    #[doc(hidden)]
    pub fn subtree_digest(&self, id: &Id) -> Result<Option<SubtreeDigest>> {
        let Some(top) = self.state.entry_at(&self.key(id))? else {
            return Ok(None);
        };
        // An erased version may have been below `id`, so the subtree digest of `id` cannot be computed.
        if self.state.store.records.erased() > 0 && self.index(Family::Children)?.erased() > 0 {
            return Ok(None);
        }
        self.source.subtree_digest(&self.state, id, top).map(Some)
    }

    /// Returns the times of the first write of the id and of this version. Returns `None` if `id` does not exist, or if
    /// a degraded handle cannot read the commit.
    ///
    /// # Errors
    /// The errors of [`Self::get`].
    #[doc(hidden)]
    pub fn stamps(&self, id: &Id) -> Result<Option<(Time, Time)>> {
        let Some(entry) = self.state.entry_at(&self.key(id))? else {
            return Ok(None);
        };
        let updated = match self.state.store.updated(&entry) {
            Err(error) if self.settings().degraded && error.kind() == ErrorKind::Corrupt => {
                return Ok(None);
            }
            updated => updated?.unwrap_or(self.entry.commit.time),
        };
        let created = Time::from_micros(entry.created);
        Ok(Some((created, updated)))
    }

    /// Returns the kept commit that first wrote the version of `id` in this state. Returns `None` if `id` does not exist,
    /// or if that commit was thinned.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn writer_of(&self, id: &Id) -> Result<Option<CommitInfo>> {
        let Some(entry) = self.state.entry_at(&self.key(id))? else {
            return Ok(None);
        };
        let writer = self.state.store.writer_of(&entry)?;
        Ok(writer.map(|writer| CommitInfo::of(&writer)))
    }

    /// Returns the node of the state trie at the digits of `path`; see [`trie::Trie::node`].
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a node cannot be read.
    #[doc(hidden)]
    pub fn trie_node(&self, path: &[u8]) -> Result<Option<trie::Node>> {
        let State { trie, store, .. } = &self.state;
        trie.node(path, store.suite, trie::Shape::State, &**store)
    }

    /// Returns the last-access time of the object, as [`Memory::last_used`](crate::Memory::last_used) does. Even a view
    /// of a past state returns the newest recorded time.
    ///
    /// # Errors
    /// `Io` if the last-access times cannot be read.
    pub(crate) fn last_used(&self, id: &Id) -> Result<Option<Time>> {
        self.source.stamps.lock().last_used(self.opened(), id)
    }

    /// Returns a proof that this state has a certain version of `id`, or that it has no version of `id`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a node cannot be read.
    pub fn prove(&self, id: &Id) -> Result<trie::Proof> {
        let State { trie, store, .. } = &self.state;
        trie.prove(&self.key(id), store.suite, &**store)
    }
}
