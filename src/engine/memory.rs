//! The handle of a memory, and its calls for reading and writing.
//!
//! # Layer
//! Layer 5.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::Receiver;

use crate::digest::{HashAlgorithm, HashSuite, ObjectDigest, TextDigest};
use crate::error::{Error, Result};
use crate::object::{Id, NewObject, Object, Time};
use crate::store::{ChangeCounts, CommitEntry, Store};
use crate::trie::Entry;

use super::inner::Inner;
use super::opened::{HeadMoved, done_anyway};
use super::read::{
    Change, ChangeKind, CommitInfo, Commits, Containment, HistoryEntry, Revision, State, View, erased_by,
    history, not_kept, revision,
};
use super::settings::Limits;
use super::upkeep::{checkpoint_if_due, derived_content};
use super::write::{Authorisation, Committed, Draft, Writer};

/// The maximal time that a closing handle waits for a rewrite of the log to end, before the handle can write the
/// last-access times.
const STAMPS_PATIENCE: Duration = Duration::from_secs(1);
/// The number of changes of a commit among which [`Memory::changed_in`] looks for an object with a text.
const CHANGES_LOOKED_AT: usize = 8;

/// The memory of an agent: a handle to one open store. A clone is another handle to the same store.
///
/// Read through a [`View`]. Write by staging changes in a [`Draft`](crate::Draft) and committing it. All calls are
/// synchronous, and any thread may use a handle.
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let id = Id::new("facts/editor")?;
/// let mut fact = NewObject::new(id.clone(), Kind::new("fact")?);
/// fact.content = Some("The user edits with Helix.".to_owned());
/// memory.put(fact, &Writer::user())?;
///
/// let snapshot = memory.snapshot(Some("good"), &Writer::user())?;
/// memory.remove(&id, &Writer::user())?;
/// assert!(memory.view().get(&id)?.is_none());
///
/// memory.rollback("good").by(&Writer::user())?;
/// assert_eq!(memory.view().root(), snapshot.root);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) inner: Arc<Inner>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// Returns the state of the newest commit that this process has read. Never blocks and never reads the disk.
    pub fn view(&self) -> View {
        self.inner.view()
    }

    /// Reads the commits of other processes and returns the state at the head. Takes no file lock. While another thread
    /// writes through this memory, returns the newest state that this process has already read.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    pub fn refresh(&self) -> Result<View> {
        self.inner.refresh()
    }

    /// Returns the hash algorithm of the store, for example for [`Proof::verify`](crate::proof::Proof::verify).
    pub fn hash(&self) -> HashAlgorithm {
        self.suite().algorithm()
    }

    /// Returns the limits on the objects that this handle writes.
    pub(crate) fn limits(&self) -> Limits {
        self.inner.settings().limits
    }

    /// Returns the functions that compute the digests of the store.
    #[doc(hidden)]
    pub fn suite(&self) -> HashSuite {
        self.inner.store().suite
    }

    /// Returns the random bytes that identify the store and all its copies.
    pub(crate) fn lineage(&self) -> [u8; 16] {
        self.inner.opened().lineage
    }

    /// Fills `bytes` with random bytes.
    ///
    /// # Errors
    /// `Io` if the system has no random bytes.
    #[doc(hidden)]
    pub fn random(&self, bytes: &mut [u8]) -> Result<()> {
        let drawn = self.inner.disk().random(bytes);
        drawn.map_err(|error| Error::io("cannot read random bytes", error))
    }

    /// Returns the folder of the store. Returns `None` if the memory exists only in this process.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Returns whether the path of the store still leads to the opened folder. Otherwise every call that reads the log
    /// fails with the code `store_moved`, and the host opens the store again.
    #[doc(hidden)]
    pub fn is_in_place(&self) -> bool {
        self.inner.disk().is_in_place()
    }

    /// Returns whether both are handles of one open store.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Returns warnings for the owner, such as a torn tail, a wrong clock, or commits of an interrupted writer that recovery
    /// brought in.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.inner.main().opened().warnings();
        let own = self.inner.opened().warnings();
        let own: Vec<_> = own.into_iter().filter(|own| !warnings.contains(own)).collect();
        warnings.extend(own);
        warnings
    }

    /// Takes in the complete commits of an interrupted writer, which no reader has seen yet. The next write would take them
    /// in first, so a caller that plans a write calls this before. [`Self::warnings`] names the commits. Without such commits,
    /// or for reading only, this is [`Self::refresh`].
    ///
    /// # Errors
    /// The errors of [`Self::refresh`] and [`Self::commit`].
    #[doc(hidden)]
    pub fn recover(&self) -> Result<View> {
        let view = self.refresh()?;
        if self.inner.opened().check_writable().is_err() || self.pending()? == 0 {
            return Ok(view);
        }
        self.inner.write(|_| Ok(self.view()))
    }

    /// Returns the number of complete batches that no reader sees, because their writer was interrupted before it
    /// acknowledged them, or is about to. The next writer brings them in.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read.
    #[doc(hidden)]
    pub fn pending(&self) -> Result<u64> {
        let writing = self.inner.log.lock();
        if writing.has_lock() {
            return Ok(0);
        }
        writing.log.pending()
    }

    /// Returns the damage at which a degraded handle ([`Options::degraded`](crate::Options::degraded)) stopped reading.
    /// The handle does not know later commits, so an id that the handle does not find may still exist.
    #[doc(hidden)]
    pub fn damage(&self) -> Option<&str> {
        self.inner.opened().damage.get().map(String::as_str)
    }

    /// Returns the number of damaged objects that lists and exports of a degraded handle have skipped so far. For each
    /// skipped object, [`View::get`](super::View::get) returns the error.
    #[doc(hidden)]
    pub fn unreadable(&self) -> usize {
        self.inner.opened().unreadable()
    }

    /// Returns a channel that receives a message for each new head. [`Self::refresh`] and commits of this handle detect
    /// the heads of other processes. A full channel drops messages; [`Self::view`] still returns the newest head.
    pub fn watch(&self) -> Receiver<HeadMoved> {
        self.inner.opened().watch()
    }

    /// Makes every acknowledged commit durable. Has an effect only with
    /// [`Durability::Interval`](super::Durability::Interval), because otherwise a commit is durable when it is
    /// acknowledged.
    ///
    /// # Errors
    /// `Io` if the sync failed; the handle is then poisoned.
    pub fn sync(&self) -> Result<()> {
        let mut writing = self.inner.log.lock();
        let synced = writing.sync();
        writing.release(self.inner.settings().exclusive);
        drop(writing);
        self.inner.main().keep_stamps(Duration::ZERO);
        synced
    }

    /// Makes every commit durable, does the upkeep that is due, and releases this handle. Clones of the handle stay
    /// open.
    ///
    /// # Errors
    /// The errors of [`Self::sync`].
    pub fn close(self) -> Result<()> {
        if let Some(main) = &self.inner.main {
            let main = Self {
                inner: Arc::clone(main),
            };
            drop(self);
            return main.close();
        }
        self.sync()?;
        if !self.is_in_place() {
            return Ok(());
        }
        let mut writing = self.inner.log.lock();
        // A handle that has written nothing does no upkeep.
        if writing.has_written {
            checkpoint_if_due(&self.inner.source, &mut writing, true);
            drop(writing);
            self.collect_if_due();
        }
        Ok(())
    }

    /// Returns the state that `revision` names, for example `memory.at("before")?`. `snap:0` is the newest automatic
    /// snapshot of the lane `default`; [`Self::snapshots`] lists the snapshots of every lane.
    ///
    /// # Errors
    /// `NotFound` if there is no such commit; `InvalidInput` if the text is not a revision, or if a prefix matches
    /// several commits.
    pub fn at(&self, revision: impl TryInto<Revision, Error: Into<Error>>) -> Result<View> {
        let revision = revision.try_into().map_err(Into::into)?;
        self.view_at(&revision, crate::object::lane_of(None, None))
    }

    /// Returns the state that `revision` names. A revision such as `snap:0` refers to the snapshots of `lane`.
    ///
    /// # Errors
    /// The errors of [`Self::at`].
    #[doc(hidden)]
    pub fn view_at(&self, revision: &Revision, lane: &str) -> Result<View> {
        let (store, entry) = revision::resolve_in(&self.inner.store(), revision, lane)?;
        View::new(&self.inner.source, &store, entry)
    }

    /// Returns the commit that `revision` names. A revision such as `snap:0` refers to the snapshots of `lane`.
    ///
    /// # Errors
    /// The errors of [`Self::at`].
    #[doc(hidden)]
    pub fn resolve(&self, revision: &Revision, lane: &str) -> Result<CommitInfo> {
        let (_, entry) = revision::resolve_in(&self.inner.store(), revision, lane)?;
        Ok(CommitInfo::of(&entry))
    }

    /// Returns the version with this digest, current or past, if history keeps it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the version's record cannot be read.
    #[doc(hidden)]
    pub fn version(&self, digest: ObjectDigest) -> Result<Option<Object>> {
        let found = self.inner.store().records.find_object(digest)?;
        Ok(found.map(|(_, object)| object))
    }

    /// Returns the text of a reason or source.
    ///
    /// # Errors
    /// `NotFound` if history does not keep the text. The code is `erased` or `lost` if the text was erased, or lost to
    /// damage.
    pub fn text(&self, digest: &TextDigest) -> Result<String> {
        let store = self.inner.store();
        if let Some(text) = store.records.find_text(*digest)? {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        let what = format!("the text {digest}");
        Err(not_kept(&store, digest.as_bytes(), &what)?)
    }

    /// Returns an error if the version was erased and was not written again since.
    ///
    /// # Errors
    /// `NotFound` with the code `erased`, naming the author of the erasure; `Corrupt` or `Io` if a record cannot be
    /// read.
    #[doc(hidden)]
    pub fn check_kept(&self, version: ObjectDigest) -> Result<()> {
        let store = self.inner.store();
        if store.records.find_place(version)?.is_some() {
            return Ok(());
        }
        match store.records.erasure(version.as_bytes())? {
            Some(by) => Err(erased_by(&store, &format!("version {version}"), Some(by))),
            None => Ok(()),
        }
    }

    /// Iterates the kept commits, newest first, from the head.
    pub fn commits(&self) -> Commits {
        history::commits(self.inner.store())
    }

    fn entry_of(&self, commit: &CommitInfo) -> Result<(Arc<Store>, Arc<CommitEntry>)> {
        let store = self.inner.store();
        let entry = store.by_digest(commit.digest)?;
        let missing = || Error::not_found(format!("history does not contain commit {}", commit.digest));
        Ok((store, entry.ok_or_else(missing)?))
    }

    /// Returns the state of the kept commit before `commit`: the parent of `commit`, unless the parent was thinned.
    /// Returns `None` if no kept commit precedes `commit`.
    ///
    /// # Errors
    /// `NotFound` if `commit` is not kept; `Corrupt` or `Io` if a commit or state cannot be read.
    #[doc(hidden)]
    pub fn view_before(&self, commit: &CommitInfo) -> Result<Option<View>> {
        let (store, entry) = self.entry_of(commit)?;
        let before = store.before(&entry)?;
        let view = before.map(|before| View::new(&self.inner.source, &store, before));
        view.transpose()
    }

    /// Returns every change of `id` between kept commits, newest first. The list is empty if no kept commit contains
    /// `id`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    ///
    /// # Example
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("facts/tea")?;
    /// memory.put(NewObject::new(id.clone(), Kind::new("fact")?), &Writer::user())?;
    /// memory.remove(&id, &Writer::user().reason("out of date"))?;
    ///
    /// let history = memory.history(&id)?;
    /// assert_eq!(history.len(), 2);
    /// assert_eq!(history[0].digest, None, "the newest change removed it");
    /// let reason = history[0].commit.commit.reason.unwrap();
    /// assert_eq!(memory.text(&reason)?, "out of date");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn history(&self, id: &Id) -> Result<Vec<HistoryEntry>> {
        self.changes_of(id).collect()
    }

    /// Returns whether the newest state or an earlier one contains `id`. The cost does not depend on the number of commits.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state or a checkpoint cannot be read.
    #[doc(hidden)]
    pub fn has_had(&self, id: &Id) -> Result<bool> {
        let store = self.inner.store();
        let key = store.suite.key_path(id.as_str());
        store.has_had(&key)
    }

    /// Iterates the changes that [`Self::history`] returns. Reads commits only as far back as the caller iterates.
    #[doc(hidden)]
    pub fn changes_of(&self, id: &Id) -> impl Iterator<Item = Result<HistoryEntry>> + use<> {
        let store = self.inner.store();
        let key = store.suite.key_path(id.as_str());
        history::changes_of(Arc::clone(&self.inner.source), store, key)
    }

    /// Returns the differences from `older` to `newer`, sorted by id. The cost depends only on the number of
    /// differences. If every version of an id in the two states was erased, the result contains `erased:` and the key
    /// path in place of the id.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object or node cannot be read.
    pub fn diff(&self, older: &View, newer: &View) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        self.each_change(older, newer, &mut |change| {
            changes.push(change);
            Ok(ControlFlow::Continue(()))
        })?;
        changes.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(changes)
    }

    /// Passes each difference from `older` to `newer` to `visit`, in no fixed order, until `visit` ends the walk.
    ///
    /// # Errors
    /// The errors of [`Self::diff`] and of `visit`.
    #[doc(hidden)]
    pub fn each_change(
        &self,
        older: &View,
        newer: &View,
        visit: &mut dyn FnMut(Change) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (older, newer) = (&older.state, &newer.state);
        let (most, nodes) = (older.trie.len() + newer.trie.len(), older.nodes_with(newer));
        for (done, change) in (1..).zip(older.diff(newer, &nodes)) {
            self.inner.settings().step("diff", done, most)?;
            let change = change?;
            let load =
                |state: &State, entry: Option<Entry>| entry.map(|entry| state.load(&entry)).transpose();
            let mut object = load(newer, change.new)?;
            // If the newer version was erased, its id is unknown. The older version may still contain the id.
            if object.as_ref().is_none_or(Object::is_placeholder) {
                object = load(older, change.old)?.or(object);
            }
            let object =
                object.ok_or_else(|| Error::internal("a difference has neither an old nor a new version"))?;
            let digest = |entry: Option<Entry>| entry.map(|e| ObjectDigest::from_bytes(e.digest));
            let visited = visit(Change {
                id: object.id().clone(),
                kind: ChangeKind::of(change.old.is_some(), change.new.is_some()),
                old: digest(change.old),
                new: digest(change.new),
                erased: object.is_placeholder(),
            })?;
            if visited.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the counts of changes from the kept commit before `commit` to `commit`. The kept commit before `commit`
    /// is its parent, unless the parent was thinned. The first call computes the counts; later calls return the stored
    /// counts.
    ///
    /// # Errors
    /// `NotFound` if the commit is not kept; the errors of [`Self::diff`].
    #[doc(hidden)]
    pub fn commit_counts(&self, commit: &CommitInfo) -> Result<ChangeCounts> {
        let (store, entry) = self.entry_of(commit)?;
        if let Some(counts) = entry.counts.get() {
            return Ok(*counts);
        }
        let counts = match store.before(&entry)? {
            Some(before) => store.count(&before, &entry)?,
            None => ChangeCounts {
                added: store.state(&entry)?.len(),
                ..ChangeCounts::default()
            },
        };
        Ok(*entry.counts.get_or_init(|| counts))
    }

    /// Returns an object that a commit changed: its new version, or the removed version. Prefers the oldest object with a
    /// text among the first changes. Returns `None` if no changed version can be read.
    ///
    /// # Errors
    /// The errors of [`Self::commit_counts`].
    #[doc(hidden)]
    pub fn changed_in(&self, commit: &CommitInfo) -> Result<Option<Object>> {
        let (store, entry) = self.entry_of(commit)?;
        let Some(before) = store.before(&entry)? else {
            return Ok(None);
        };
        let (before, now) = (store.state(&before)?, store.state(&entry)?);
        let first = before.diff(&now, &*store).take(CHANGES_LOOKED_AT);
        let changed = first.map(|change| change.map(|change| change.new.or(change.old)));
        let mut changed: Vec<Entry> = changed.filter_map(Result::transpose).collect::<Result<_>>()?;
        // The order of the keys is that of digests, which says nothing to a reader.
        changed.sort_by_key(|version| (version.created, version.key));
        let mut found = None;
        for version in changed {
            let digest = ObjectDigest::from_bytes(version.digest);
            let Some(object) = self.version(digest).ok().flatten() else {
                continue;
            };
            if object.content().is_some_and(|text| !text.is_empty()) {
                return Ok(Some(object));
            }
            found.get_or_insert(object);
        }
        Ok(found)
    }

    /// Returns the counts of the drafted changes that the commit omitted because other writers had already made them.
    ///
    /// # Errors
    /// The errors of [`Self::commit_counts`]. The error states that the commit took effect.
    #[doc(hidden)]
    pub fn done_by_others(&self, drafted: ChangeCounts, committed: &Committed) -> Result<ChangeCounts> {
        let mut own = ChangeCounts::default();
        if committed.changed {
            own = self.commit_counts(&committed.commit).map_err(done_anyway)?;
        }
        Ok(ChangeCounts {
            added: drafted.added.saturating_sub(own.added),
            changed: drafted.changed.saturating_sub(own.changed),
            removed: drafted.removed.saturating_sub(own.removed),
        })
    }

    /// Returns the number of thinned commits whose seq is in `numbers`.
    #[doc(hidden)]
    pub fn thinned_in(&self, numbers: Range<u64>) -> u64 {
        history::thinned_in(&self.inner.store(), &numbers)
    }

    /// Returns the number of versions of objects that history keeps.
    #[doc(hidden)]
    pub fn history_len(&self) -> u64 {
        self.inner.store().records.versions()
    }

    /// Returns whether this history keeps, has thinned, or never had the commit or root whose digest starts with
    /// `prefix`, which has 8 to 64 hexadecimal digits.
    ///
    /// # Errors
    /// `InvalidInput` if `prefix` is not such a text; `Corrupt` or `Io` if a record cannot be read.
    #[doc(hidden)]
    pub fn contains(&self, prefix: &str) -> Result<Containment> {
        if !(8..=64).contains(&prefix.len()) || revision::digest_range(prefix).is_none() {
            return Err(Error::invalid(format!(
                "`{prefix}` is not 8 to 64 hexadecimal digits"
            )));
        }
        let (store, prefix) = (self.inner.store(), prefix.to_ascii_lowercase());
        if !revision::by_prefix(&store, &prefix)?.is_empty() {
            return Ok(Containment::Kept);
        }
        for gap in store.gaps() {
            let digests = store.records.gap(gap.place)?;
            if digests.iter().any(|digest| digest.to_hex().starts_with(&prefix)) {
                return Ok(Containment::Thinned);
            }
        }
        Ok(Containment::Absent)
    }

    /// Returns the newest time that [`Self::touch`] recorded for the object. [`Self::refresh`] reads the times that
    /// other processes recorded. Returns `None` if no time was recorded, or if the recorded time was dropped since.
    ///
    /// # Errors
    /// `Io` if the last-access times cannot be read.
    pub fn last_used(&self, id: &Id) -> Result<Option<Time>> {
        self.view().last_used(id)
    }

    /// Returns the content of the derived file `name`. Returns `None` if the file does not exist, is damaged, or
    /// belongs to another store.
    ///
    /// # Errors
    /// `InvalidInput` if the name is not 1 to 32 of the characters `a` to `z`, digits and `-`; `Io` if the file cannot
    /// be read.
    #[doc(hidden)]
    pub fn derived(&self, name: &str) -> Result<Option<Bytes>> {
        derived_content(self.inner.opened(), name)
    }

    /// Writes bytes that derive from the state of `view`, as [`Memory::derived`] reads them. Returns false and
    /// writes nothing if a record was erased since.
    ///
    /// # Errors
    /// The errors of [`Memory::derived`]; `Io` with the code `read_only` if the handle is read-only.
    #[doc(hidden)]
    pub fn keep_derived(&self, name: &str, bytes: &[u8], view: &View) -> Result<bool> {
        super::upkeep::derived_writer::keep_derived(self, name, bytes, view.state())
    }

    /// Returns how often this handle took the lock of the writer, and how long it waited for other processes.
    #[doc(hidden)]
    pub fn lock_waits(&self) -> (u64, Duration) {
        let (count, micros) = &*self.inner.opened().lock_waits;
        let waited = Duration::from_micros(micros.load(Ordering::Relaxed));
        (count.load(Ordering::Relaxed), waited)
    }

    /// Starts a draft on the newest state that this process has read (see [`Self::refresh`]).
    pub fn draft(&self, writer: &Writer) -> Draft {
        Draft::new(self.view(), writer.clone())
    }

    /// Starts a draft as [`Self::draft`] does, after the taint of an untrusted writer's session is durable (TNT-4).
    fn admitted(&self, writer: &Writer) -> Result<Draft> {
        self.admit(writer.trust, writer.session.as_deref())?;
        Ok(self.draft(writer))
    }

    /// Commits one object.
    ///
    /// # Errors
    /// The errors of [`Draft::put`] and [`Self::commit`]. `Conflict` if another process wrote the id after the newest state
    /// that this one has read (see [`Self::refresh`]).
    pub fn put(&self, object: NewObject, writer: &Writer) -> Result<Committed> {
        let mut draft = self.admitted(writer)?;
        draft.put(object)?;
        draft.authorise(Authorisation::Replacements);
        self.commit(draft, "put")
    }

    /// Commits the removal of one object.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` if the object has children; the errors of
    /// [`Self::commit`].
    pub fn remove(&self, id: &Id, writer: &Writer) -> Result<Committed> {
        let mut draft = self.admitted(writer)?;
        let removed = u64::from(draft.remove(id)?);
        self.commit_removal(id, draft, removed)
    }

    /// Commits the removal of an object and of every object below it.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; the errors of [`Self::commit`].
    pub fn remove_recursive(&self, id: &Id, writer: &Writer) -> Result<Committed> {
        let mut draft = self.admitted(writer)?;
        let removed = draft.remove_recursive(id)?;
        self.commit_removal(id, draft, removed)
    }

    fn commit_removal(&self, id: &Id, draft: Draft, removed: u64) -> Result<Committed> {
        if removed == 0 {
            return Err(
                Error::not_found(format!("there is no object '{id}'")).with_hint("`list` shows the objects")
            );
        }
        self.commit(draft, "remove")
    }

    /// Records that the objects were used at `time`. Makes no version and no commit. Retains the latest time of each
    /// object. A writable handle writes the times when the handle is synced or closed; a crash before then loses the
    /// times.
    pub fn touch<'a>(&self, ids: impl IntoIterator<Item = &'a Id>, time: Time) {
        self.inner.source.stamps.lock().touch(self.suite(), ids, time);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The main line, which this fork kept open, syncs and tidies up.
        if self.main.is_some() {
            return;
        }
        // `drop` cannot return this error. A host that needs the error calls `close`.
        drop(self.log.lock().sync());
        // This is the last handle, so no other thread can hold this mutex.
        if let Some(mut writing) = self.log.try_lock().filter(|writing| writing.has_written) {
            checkpoint_if_due(&self.source, &mut writing, true);
        }
        self.keep_stamps(STAMPS_PATIENCE);
        self.free_beside();
    }
}
