//! Reads objects, contents and texts by locator or by digest.
//!
//! # Layer
//! Layer 4. Decodes objects, contents, texts and erasure markers, but no states.
//!
//! # Invariants
//! - RCS-1: before a lookup by digest returns a record, it compares the hash of the record with the digest, or the record
//!   with the bytes of that digest.
//! - RCS-2: if a record was erased and later written again, readers get the new record.
//! - RCS-3: a version has at most the class in the flags of its record, whoever reads or takes it, and from whichever line. Of
//!   several records of a version, the one that limits it least counts.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::digest::{
    CommitDigest, ContentDigest, DIGEST_LEN, Domain, HashSuite, KeyPath, ObjectDigest, TextDigest,
};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{Batch, Locator, LogReader, Record, RecordKind, cap_in};
use crate::object::{Commit, Id, Object, Origin};
use crate::threads::{Mutex, RwLock};

use super::base::Base;
use super::checkpoint::{CommitRow, DigestRow};
use super::commits::{CommitEntry, StateSlot};
use super::places::IdHash;
use super::rewritten::{Erased, MapEntry, MapRecord, decode_gap, unreadable};
use super::versions::DigestIndex;

/// Finds all objects, contents and texts in history by their digests.
pub(crate) struct Records {
    suite: HashSuite,
    reader: LogReader,
    objects: RwLock<DigestIndex>,
    /// The index of contents and texts. Their digests differ because they have different domains.
    texts: RwLock<DigestIndex>,
    /// The number of erasure markers in `objects` whose versions are gone.
    erased: AtomicU64,
    /// The number of rows of `objects` that are no further version: markers, and further records of a version.
    surplus: AtomicU64,
    /// The number of markers in `erased` that replace versions which were lost in damage, not erased.
    lost: AtomicU64,
    /// The checkpoint, if the store was opened from a checkpoint.
    base: Option<Arc<Base>>,
    /// The best class of origin that readers see.
    best_origin: OnceLock<Origin>,
    /// A cache of the record lists of maps in a rewritten log, by the locator of each map's first record.
    map_record: Mutex<HashMap<Locator, Arc<MapParts>>>,
}

/// The records of one map: the first key and the locator of each record.
type MapParts = Vec<(KeyPath, Locator)>;

/// The maximal number of cached [`MapParts`].
const MAPS_KEPT: usize = 1_024;

impl Records {
    pub(super) fn new(suite: HashSuite, reader: LogReader, base: Option<Arc<Base>>) -> Self {
        Self {
            suite,
            reader,
            objects: RwLock::default(),
            texts: RwLock::default(),
            erased: AtomicU64::new(0),
            surplus: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            base,
            best_origin: OnceLock::new(),
            map_record: Mutex::default(),
        }
    }

    /// Limits the class of trust of every object that is read from now on. The first limit stays.
    pub(crate) fn cap_origins(&self, best: Origin) {
        self.best_origin.get_or_init(|| best);
    }

    /// Returns the reader of the log.
    pub(super) fn reader(&self) -> &LogReader {
        &self.reader
    }

    fn rows_of_objects(&self) -> u64 {
        let base = self.base.as_ref().map_or(0, |base| base.checkpoint().versions());
        base + self.objects.read().len() as u64
    }

    /// Returns the number of kept versions of objects.
    pub(crate) fn versions(&self) -> u64 {
        self.rows_of_objects()
            .saturating_sub(self.surplus.load(Ordering::Relaxed))
    }

    /// Returns the number of indexed records that are newer than the checkpoint.
    pub(crate) fn newer(&self) -> usize {
        self.objects.read().len() + self.texts.read().len()
    }

    /// Returns the number of erased versions of objects.
    pub(crate) fn erased(&self) -> u64 {
        let base = self.base.as_ref().map_or(0, |base| base.checkpoint().erased());
        base + self.erased.load(Ordering::Relaxed)
    }

    /// Returns the number of versions after the checkpoint that were lost in damage. [`Self::erased`] includes them,
    /// although no commit erased them.
    pub(crate) fn lost_since(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn table(&self, of_objects: bool) -> &RwLock<DigestIndex> {
        if of_objects { &self.objects } else { &self.texts }
    }

    /// Returns the locators of records after the checkpoint that may have this digest.
    pub(super) fn candidates(&self, of_objects: bool, digest: &[u8; DIGEST_LEN]) -> Vec<Locator> {
        self.table(of_objects).read().candidates(digest).collect()
    }

    /// Returns the locator of the record that [`Self::search`] reads first.
    fn first_candidate(&self, of_objects: bool, digest: &[u8; DIGEST_LEN]) -> Result<Option<Locator>> {
        let newer = self.table(of_objects).read().candidates(digest).next();
        match &self.base {
            Some(base) if newer.is_none() => Ok(base.places(of_objects, digest)?.first().copied()),
            _ => Ok(newer),
        }
    }

    /// Returns the index rows of the batches after `from` up to `upto`, for the next checkpoint.
    pub(super) fn rows(&self, of_objects: bool, from: u64, upto: u64) -> Vec<DigestRow> {
        self.table(of_objects).read().rows(from, upto)
    }

    /// Keeps the index rows of the batches after `from` in the order of the log for checkpoints.
    pub(super) fn keep_order(&self, from: u64) {
        for table in [&self.objects, &self.texts] {
            table.write().keep_order(from);
        }
    }

    /// Forgets the order of the index rows up to a batch that a checkpoint covers.
    pub(super) fn forget_order(&self, upto: u64) {
        for table in [&self.objects, &self.texts] {
            table.write().forget_order(upto);
        }
    }

    /// Takes over the records of `other` after a batch, the last one of this checkpoint. `other` is the same store with an
    /// older checkpoint.
    pub(super) fn take_over(&self, other: &Self, after: u64) {
        for of_objects in [true, false] {
            let known = other.table(of_objects).read();
            self.table(of_objects).write().take_over(&known, after);
        }
        let surplus = self.rows_of_objects().saturating_sub(other.versions());
        self.surplus.store(surplus, Ordering::Relaxed);
        let erased = other.erased().saturating_sub(self.erased());
        self.erased.store(erased, Ordering::Relaxed);
        self.lost.store(other.lost_since().min(erased), Ordering::Relaxed);
        if let Some(best) = other.best_origin.get() {
            self.cap_origins(*best);
        }
    }

    /// Passes each record that may have this digest to `accept`. Returns the first value that `accept` returns.
    fn search<T>(
        &self,
        of_objects: bool,
        digest: &[u8; DIGEST_LEN],
        accept: impl Fn(Record) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let newer = std::iter::once_with(|| Ok(self.candidates(of_objects, digest)));
        let covered = self.base.iter().map(|base| base.places(of_objects, digest));
        for places in newer.chain(covered) {
            for place in places? {
                if let Some(found) = accept(self.reader.read(place)?)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Reads the object at `place` and its content. `digest` is the object's digest. Returns a placeholder if the
    /// object was erased.
    ///
    /// # Errors
    /// `Corrupt` if the record at `place` is not this object, or if the content is missing.
    pub(crate) fn object_at(&self, place: u64, digest: ObjectDigest) -> Result<Object> {
        Ok(self.object_placed(place, digest)?.0)
    }

    /// Returns the object that [`Self::object_at`] returns, and whether the record at `place` is this version without a limit of
    /// its class.
    ///
    /// # Errors
    /// The errors of [`Self::object_at`].
    pub(crate) fn object_placed(&self, place: u64, digest: ObjectDigest) -> Result<(Object, bool)> {
        let record = self.reader.read(Locator::from_u64(place))?;
        match record.kind {
            RecordKind::Object => {
                let object = Object::from_verified(record.body, digest);
                // INVARIANT RCS-3
                if is_lowered(&object, record.flags)
                    && let Some((_, object)) = self.find_object(digest)?
                {
                    return Ok((object, false));
                }
                let object = self.with_content(object, record.flags)?;
                Ok((object, cap_in(record.flags) == 0))
            }
            RecordKind::Erased => match self.find_object(digest)? {
                // INVARIANT RCS-2: if a record was erased and later written again, readers get the new record.
                Some((_, object)) => Ok((object, false)),
                None => Ok((placeholder(&record, digest)?, false)),
            },
            _ => Err(Error::corrupt(format!(
                "the record of version {digest} is not an object"
            ))),
        }
    }

    /// Returns the object at a place that the cache of places has for its id, unless it is another object, or `is_served` returns
    /// false for the batch of the record.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(super) fn object_named(
        &self,
        id: &Id,
        place: u64,
        is_served: impl FnOnce(u64) -> bool,
    ) -> Result<Option<Object>> {
        let record = self.reader.read(Locator::from_u64(place))?;
        if record.kind != RecordKind::Object || !is_served(record.batch) {
            return Ok(None);
        }
        let object = Object::undigested(record.body, self.suite);
        if !object.is_named(id) || is_lowered(&object, record.flags) {
            return Ok(None);
        }
        self.with_content(object, record.flags).map(Some)
    }

    /// Returns the id of the object at `place`, if its record was read or written before.
    pub(super) fn id_hash_again(&self, place: u64) -> Option<IdHash> {
        let record = self.reader.read_again(Locator::from_u64(place))?;
        let is_object = record.kind == RecordKind::Object;
        is_object.then(|| Object::id_in(&record.body).map(IdHash::of))?
    }

    /// Touches the records of the next objects that will be read, so that the processor loads them at the same time.
    pub(crate) fn touch(&self, places: impl Iterator<Item = u64>) {
        self.reader.touch(places.map(Locator::from_u64));
    }

    /// Adds the content and the limits of trust. `flags` are those of the record of the object.
    fn with_content(&self, object: Object, flags: u8) -> Result<Object> {
        let object = object.with_best_origin(cap_of(flags));
        let object = match self.best_origin.get() {
            Some(best) => object.with_best_origin(*best),
            None => object,
        };
        let Some((digest, _)) = object.content_digest() else {
            return Ok(object);
        };
        if let Some(content) = self.find_content(digest)? {
            return Ok(object.with_content(content));
        }
        match self.erasure(digest.as_bytes())? {
            Some(by) => Ok(object.without_content(by)),
            None => {
                let id = object.id();
                Err(Error::corrupt(format!("the content {digest} of {id} is missing")))
            }
        }
    }

    /// Returns the object, content or text record that has this kind and digest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn find(&self, kind: RecordKind, digest: &[u8; DIGEST_LEN]) -> Result<Option<Record>> {
        self.find_where(kind, digest, |record| is_of(record, kind, digest, self.suite))
    }

    /// Returns what [`Self::find`] returns. `is_it` tells whether a record has the kind and digest.
    fn find_where(
        &self,
        kind: RecordKind,
        digest: &[u8; DIGEST_LEN],
        is_it: impl Fn(&Record) -> bool,
    ) -> Result<Option<Record>> {
        let lowered = Cell::new(None);
        let found = self.search(kind == RecordKind::Object, digest, |record| {
            if !is_it(&record) {
                return Ok(None);
            }
            if kind == RecordKind::Object && cap_in(record.flags) != 0 {
                // INVARIANT RCS-3
                let best = lowered
                    .take()
                    .map_or_else(|| record.clone(), |known| better(known, &record));
                lowered.set(Some(best));
                return Ok(None);
            }
            Ok(Some(record))
        })?;
        Ok(found.or(lowered.take()))
    }

    /// Returns the commit that erased the record with this digest. Returns `None` if no marker exists.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn erasure(&self, digest: &[u8; DIGEST_LEN]) -> Result<Option<CommitDigest>> {
        Ok(self.find_erased(digest)?.map(|erased| erased.by))
    }

    fn find_erased(&self, digest: &[u8; DIGEST_LEN]) -> Result<Option<Erased>> {
        for of_objects in [true, false] {
            let found = self.search(of_objects, digest, |record| erased_in(&record, digest))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the marker of a record that was erased by another store, after this batch. The record may still be here,
    /// because a remote that is not trusted cannot erase.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    #[cfg(feature = "remote")]
    pub(super) fn erased_after(&self, digest: &[u8; DIGEST_LEN], batch: u64) -> Result<Option<Erased>> {
        for of_objects in [true, false] {
            let found = self.search(of_objects, digest, |record| {
                let erased = erased_in(&record, digest)?.filter(|_| record.batch > batch);
                Ok(erased.filter(|erased| !erased.is_lost()))
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the version with this digest and its locator. Searches the whole history.
    ///
    /// # Errors
    /// The errors of [`Self::object_at`].
    pub(crate) fn find_object(&self, digest: ObjectDigest) -> Result<Option<(Locator, Object)>> {
        let Some(found) = self.find(RecordKind::Object, digest.as_bytes())? else {
            return Ok(None);
        };
        let object = self.with_content(Object::from_verified(found.body, digest), found.flags)?;
        Ok(Some((found.locator, object)))
    }

    /// Returns the locator of the version with this digest.
    ///
    /// # Errors
    /// The errors of [`Self::object_at`].
    pub(crate) fn find_place(&self, digest: ObjectDigest) -> Result<Option<Locator>> {
        let found = self.find(RecordKind::Object, digest.as_bytes())?;
        Ok(found.map(|found| found.locator))
    }

    /// Returns the locator of a version, unless its readers see a lower class than the object has. Then a new record of it
    /// has effect (RCS-3). `read` is a place at which a caller read the version in this log, from a record without a limit: that
    /// record is not read again.
    ///
    /// # Errors
    /// The errors of [`Self::object_at`].
    pub(crate) fn find_place_of(&self, object: &Object, read: Option<Locator>) -> Result<Option<Locator>> {
        let digest = object.digest();
        if read.is_some() && self.first_candidate(true, digest.as_bytes())? == read {
            return Ok(read);
        }
        // RCS-1: the bytes of the version are here, so its record need not be hashed.
        let is_it = |record: &Record| record.kind == RecordKind::Object && record.body[..] == *object.bytes();
        let found = self.find_where(RecordKind::Object, digest.as_bytes(), is_it)?;
        let found = found.filter(|found| !object.origin().is_above(cap_of(found.flags)));
        Ok(found.map(|found| found.locator))
    }

    /// Returns the locator of the version with this digest, or of its erasure marker, in the batches up to `upto`. A later
    /// batch may have written an erased version again.
    ///
    /// # Errors
    /// The errors of [`Self::object_at`].
    pub(crate) fn find_trace(&self, digest: ObjectDigest, upto: u64) -> Result<Option<Locator>> {
        let digest = digest.as_bytes();
        let object = self.search(true, digest, |record| {
            let matches = record.batch <= upto && is_of(&record, RecordKind::Object, digest, self.suite);
            Ok(matches.then_some(record.locator))
        })?;
        if object.is_some() {
            return Ok(object);
        }
        self.search(true, digest, |record| {
            let erased = erased_in(&record, digest)?.filter(|_| record.batch <= upto);
            Ok(erased.map(|_| record.locator))
        })
    }

    /// Reads the commit that a row of a checkpoint refers to. Does not load its state.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the commit's record cannot be read or contains another commit.
    pub(super) fn commit(&self, row: &CommitRow) -> Result<CommitEntry> {
        let place = Locator::from_u64(row.place);
        let record = self.record(place)?;
        let commit = Commit::decode(&record.body).map_err(|error| unreadable(&record, &error))?;
        let digest = Commit::hash(&record.body, self.suite);
        if digest != row.digest {
            let (seq, wanted) = (row.seq, row.digest);
            return Err(Error::corrupt(format!(
                "commit {seq} has the digest {digest} instead of {wanted}"
            )));
        }
        Ok(CommitEntry {
            digest,
            commit,
            batch: row.batch,
            place,
            map_record: (row.delta != 0).then(|| Locator::from_u64(row.delta)),
            takes_state: false,
            touches_tree: true,
            changes: 0,
            counts: row.counts.map(OnceLock::from).unwrap_or_default(),
            trie: StateSlot::default(),
        })
    }

    /// Reads the record at a locator.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the record cannot be read.
    pub(crate) fn record(&self, place: Locator) -> Result<Record> {
        self.reader.read(place)
    }

    /// Returns the class of a commit (RCS-3).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn trust_of(&self, entry: &CommitEntry) -> Result<Origin> {
        Ok(Origin::least(entry.commit.trust, self.cap_of_commit(entry)?))
    }

    /// Returns the most trusted class that a commit has in this log, whoever wrote it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn cap_of_commit(&self, entry: &CommitEntry) -> Result<Origin> {
        Ok(cap_of(self.reader.read(entry.place)?.flags))
    }

    /// Returns the content record with this digest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn find_content(&self, digest: ContentDigest) -> Result<Option<Bytes>> {
        let found = self.find(RecordKind::Content, digest.as_bytes())?;
        Ok(found.map(|found| found.body))
    }

    /// Returns the reason or source text with this digest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if its record cannot be read.
    pub(crate) fn find_text(&self, digest: TextDigest) -> Result<Option<Bytes>> {
        let found = self.find(RecordKind::Text, digest.as_bytes())?;
        Ok(found.map(|found| found.body))
    }

    /// Returns the number of the batch that contains the record at `place`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the record cannot be read.
    pub(crate) fn batch_of(&self, place: u64) -> Result<u64> {
        Ok(self.reader.read(Locator::from_u64(place))?.batch)
    }

    /// Returns the entry of `key` in the map records of a commit. Returns `None` if the commit has no map records, or
    /// if they do not contain the key.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn map_record(&self, commit: &CommitEntry, key: &KeyPath) -> Result<Option<MapEntry>> {
        let Some(first) = commit.map_record else {
            return Ok(None);
        };
        let parts = self.map_parts(first)?;
        let behind = parts.partition_point(|(first, _)| first <= key);
        // `map_parts` does not verify the first keys, and a damaged key could hide an entry. So the loop reads two
        // neighbouring records.
        for (_, place) in parts.iter().take(behind + 1).skip(behind.saturating_sub(1)) {
            let record = self.reader.read(*place)?;
            let found = MapRecord::find(&record.body, key).map_err(|error| unreadable(&record, &error))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the first key and the locator of each record of the map that starts at `first`.
    fn map_parts(&self, first: Locator) -> Result<Arc<MapParts>> {
        if let Some(known) = self.map_record.lock().get(&first) {
            return Ok(Arc::clone(known));
        }
        let (mut parts, mut next) = (MapParts::new(), first);
        loop {
            let peeked = self.reader.peek(next, DIGEST_LEN)?;
            if !matches!(peeked.kind, RecordKind::Base | RecordKind::Delta) {
                break;
            }
            // The record of a map without changes is empty, so it contains no key.
            let key = peeked.start.first_chunk::<DIGEST_LEN>();
            parts.extend(key.map(|key| (KeyPath::from_bytes(*key), next)));
            next = peeked.next;
        }
        let parts = Arc::new(parts);
        let mut map_record = self.map_record.lock();
        if map_record.len() >= MAPS_KEPT {
            map_record.clear();
        }
        map_record.insert(first, Arc::clone(&parts));
        Ok(parts)
    }

    /// Returns the digests in the gap record at `place`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the record cannot be read.
    pub(crate) fn gap(&self, place: Locator) -> Result<Vec<CommitDigest>> {
        let record = self.reader.read(place)?;
        let gap = decode_gap(&record.body).map_err(|error| unreadable(&record, &error))?;
        Ok(gap.1)
    }

    /// Adds the records of a batch to the index, unless the index already contains their digests. `objects` are the key
    /// paths and digests of the object records. `is_new` states that history had none of these objects when the writer
    /// staged them.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(super) fn add_all(
        &self,
        batch: &Batch,
        objects: &[(KeyPath, ObjectDigest)],
        is_new: bool,
    ) -> Result<()> {
        let of_kind = |record: &&Record| record.kind == RecordKind::Object;
        let records = batch.records.iter().filter(of_kind).zip(objects);
        // A record whose digest may be known. `add` reads the known record to find out.
        let mut doubtful = Vec::new();
        if is_new || self.base.is_none() {
            let mut index = self.objects.write();
            for (record, (_, digest)) in records {
                if !index.insert_first(digest.as_bytes(), record.locator, record.batch) {
                    doubtful.push((record, *digest));
                }
            }
        } else {
            doubtful.extend(records.map(|(record, (_, digest))| (record, *digest)));
        }
        for (record, digest) in doubtful {
            self.add(record, Some(digest))?;
        }
        let mut others = batch
            .records
            .iter()
            .filter(|record| record.kind != RecordKind::Object);
        others.try_for_each(|record| self.add(record, None))
    }

    /// Adds a record to the index, unless the index already contains its digest. Adds only objects, contents, texts and
    /// erasure markers. `object` is the digest of an object record, if it is known.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    fn add(&self, record: &Record, object: Option<ObjectDigest>) -> Result<()> {
        let digest = match record.kind {
            RecordKind::Object => object.map(|object| *object.as_bytes()),
            RecordKind::Content | RecordKind::Text => None,
            RecordKind::Erased => return self.add_erased(record),
            _ => return Ok(()),
        };
        let digest = digest.unwrap_or_else(|| digest_of(record, self.suite));
        let known = self.find(record.kind, &digest)?;
        let of_object = record.kind == RecordKind::Object;
        let is_further = known.is_some() && of_object;
        if known.is_none_or(|known| cap_of(record.flags).is_above(cap_of(known.flags))) {
            let table = self.table(of_object);
            table.write().insert(&digest, record.locator, record.batch);
            self.surplus.fetch_add(u64::from(is_further), Ordering::Relaxed);
        }
        Ok(())
    }

    fn add_erased(&self, record: &Record) -> Result<()> {
        let erased = Erased::decode(&record.body).map_err(|error| unreadable(record, &error))?;
        if self.find_erased(&erased.digest)?.is_some() {
            return Ok(());
        }
        let of_object = erased.key.is_some();
        // The version stays if the remote that brought the marker may not erase here.
        let is_gone = of_object && self.find(RecordKind::Object, &erased.digest)?.is_none();
        self.table(of_object)
            .write()
            .insert(&erased.digest, record.locator, record.batch);
        let lost = is_gone && erased.is_lost();
        self.surplus.fetch_add(u64::from(of_object), Ordering::Relaxed);
        self.erased.fetch_add(u64::from(is_gone), Ordering::Relaxed);
        self.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
        Ok(())
    }
}

/// Returns whether a record has this kind and digest. RCS-1: the index contains only the first bytes of digests, so this
/// hashes the record.
fn is_of(record: &Record, kind: RecordKind, digest: &[u8; DIGEST_LEN], suite: HashSuite) -> bool {
    record.kind == kind && digest_of(record, suite) == *digest
}

/// Returns the most trusted class of the version or commit in a record with these flags. A number that is no class is the
/// least trusted one.
pub(crate) fn cap_of(flags: u8) -> Origin {
    match cap_in(flags) {
        0 => Origin::DirectUser,
        number => Origin::from_tag(number).unwrap_or(Origin::Import),
    }
}

/// Returns the flags of a record for a log in which its version or commit is at most of the class `cap`, besides earlier
/// limits.
#[cfg(feature = "remote")]
pub(crate) fn capped(record: &Record, cap: Origin) -> u8 {
    let cap = Origin::least(cap_of(record.flags), cap);
    let is_lower = match record.kind {
        // Nothing is above the best class, so most records need not be read.
        RecordKind::Object => {
            let digest = ObjectDigest::from_bytes([0; DIGEST_LEN]);
            // The digest has no effect here.
            let object = || Object::from_verified(record.body.clone(), digest);
            Origin::DirectUser.is_above(cap) && object().stored_origin().is_above(cap)
        }
        RecordKind::Commit => Origin::DirectUser.is_above(cap),
        _ => return record.flags,
    };
    crate::log::with_cap(record.flags, if is_lower { cap.tag() } else { 0 })
}

/// Returns whether the flags of its record lower the class of an object.
fn is_lowered(object: &Object, flags: u8) -> bool {
    cap_in(flags) != 0 && object.stored_origin().is_above(cap_of(flags))
}

/// Returns which of two records of one version limits its class less.
fn better(known: Record, other: &Record) -> Record {
    if cap_of(other.flags).is_above(cap_of(known.flags)) {
        other.clone()
    } else {
        known
    }
}

/// Returns the erasure marker in a record, if it replaces the record with this digest.
fn erased_in(record: &Record, digest: &[u8; DIGEST_LEN]) -> Result<Option<Erased>> {
    if record.kind != RecordKind::Erased {
        return Ok(None);
    }
    let erased = Erased::decode(&record.body).map_err(|error| unreadable(record, &error))?;
    Ok((erased.digest == *digest).then_some(erased))
}

/// Computes the digest of an object, a content or a text from its record.
pub(super) fn digest_of(record: &Record, suite: HashSuite) -> [u8; DIGEST_LEN] {
    let domain = match record.kind {
        RecordKind::Object => Domain::Object,
        RecordKind::Content => Domain::Content,
        _ => Domain::Text,
    };
    suite.hash_bytes(domain, &record.body)
}

/// Decodes the object in an object record. Does not read a content that is stored in a separate record.
pub(crate) fn object_of(record: &Record, suite: HashSuite) -> Object {
    Object::from_verified(record.body.clone(), Object::hash(&record.body, suite))
}

/// Returns the error for reading an erased record.
pub(crate) fn erased_error(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::NotFound, format!("{what} was erased")).with_code(ErrorCode::Erased)
}

fn placeholder(record: &Record, digest: ObjectDigest) -> Result<Object> {
    let erased = Erased::decode(&record.body).map_err(|error| unreadable(record, &error))?;
    match erased.key {
        Some(key) if erased.digest == *digest.as_bytes() => Object::erased(&key, digest, erased.by),
        _ => Err(Error::corrupt(format!(
            "the erasure marker of version {digest} names another digest"
        ))),
    }
}
