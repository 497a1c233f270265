//! The methods of [`Memory`] that verify, count and inspect.
//!
//! # Layer
//! Layer 5.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::engine::read::CommitInfo;
use crate::engine::read::bisect::{self, Bisected};
use crate::engine::read::blame::{self, BlamedPart};
use crate::engine::read::inspect::{Meaning, erased};
use crate::engine::read::stats::{KindSpace, Space, Stats};
use crate::engine::read::text_records::{TextRecord, text_record};
use crate::engine::read::{View, revision};
use crate::engine::trace::{self, Timer};
use crate::engine::upkeep::verify::VerifyReport;
use crate::engine::upkeep::{Kept, Retention, VerifyDepth, examine};
use crate::error::{Error, Result};
use crate::log::{Inspection, Locator, Record, RecordKind};
use crate::object::{Id, Object};

impl Memory {
    /// Reads and checks the whole store, and compares the log on disk with the head that this handle has read.
    ///
    /// # Errors
    /// `Io` if the store cannot be read at all; damage is in the report.
    ///
    /// # Example
    /// ```
    /// use treering::upkeep::VerifyDepth;
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// memory.put(NewObject::new(Id::new("tea")?, Kind::new("fact")?), &Writer::user())?;
    /// let report = memory.verify(VerifyDepth::Full)?;
    /// assert!(report.ok && report.damage.is_empty());
    /// assert_eq!(report.versions, 1);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn verify(&self, depth: VerifyDepth) -> Result<VerifyReport> {
        let timer = Timer::start();
        // The log on disk must contain at least the head that this handle knows.
        let head = self.inner.main().store().head()?;
        if !self.inner.settings().read_only {
            self.sync()?;
        }
        let (disk, settings) = (&self.inner.opened().disk, self.inner.settings());
        let report = examine(disk, settings, depth, Some(&head))?;
        let (damage, derived) = (report.damage.len(), report.derived.len());
        trace::verified(report.ok, report.commits, damage, derived, report.bytes, timer);
        Ok(report)
    }

    /// Returns each part of `id` in the state of `view` with the change that wrote it: the fields, the attributes and the
    /// lines of the content. A version that an undo, a rollback or another change brought back counts for its first
    /// writer. The list is empty if the state has no such object.
    ///
    /// # Errors
    /// `NotFound` with the code `erased` if the version in this state was erased; `Corrupt` or `Io` if a version or
    /// commit cannot be read.
    ///
    /// # Example
    /// ```
    /// use treering::blame::Part;
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("facts/office")?;
    /// let mut fact = NewObject::new(id.clone(), Kind::new("fact")?);
    /// fact.content = Some("The office is in Bremen.\nVera works there.".to_owned());
    /// memory.put(fact.clone(), &Writer::user().session("monday"))?;
    /// fact.content = Some("The office is in Frankfurt.\nVera works there.".to_owned());
    /// memory.put(fact, &Writer::model("agent").session("tuesday"))?;
    ///
    /// let parts = memory.blame(&memory.view(), &id)?;
    /// let line = |number| parts.iter().find(|blamed| blamed.part == Part::Line(number)).unwrap();
    /// assert_eq!(line(1).change.commit.lane(), "tuesday");
    /// assert_eq!(line(2).change.commit.lane(), "monday");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn blame(&self, view: &View, id: &Id) -> Result<Vec<BlamedPart>> {
        blame::blame(view, id)
    }

    /// Finds the commit between the states `good` and `bad` that turned a good state into a bad one. `is_bad` decides
    /// about a state, whose time is the time of its commit. The search halves the commits, so it tests about 14 states of
    /// 10,000 commits.
    ///
    /// If all states after the first bad one are bad, the found commit is the first bad one. Otherwise it is one of the
    /// commits after which a good state became bad.
    ///
    /// # Errors
    /// `InvalidInput` if `good` is not older than `bad` (`wrong_order`), `good` is bad (`good_is_bad`), or `bad` is good
    /// (`bad_is_good`); the errors of `is_bad`; `Corrupt` or `Io` if a commit or state cannot be read.
    ///
    /// # Example
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let kind = Kind::new("fact")?;
    /// for number in 0..100 {
    ///     let id = Id::new(&format!("facts/{number}"))?;
    ///     memory.put(NewObject::new(id, kind.clone()), &Writer::user())?;
    /// }
    /// let wanted = Id::new("facts/57")?;
    /// let found = memory.bisect(&memory.at("seq:0")?, &memory.view(), |view| view.contains(&wanted))?;
    /// assert_eq!(found.first_bad.commit.seq, 58);
    /// assert!(found.steps <= 7);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn bisect(
        &self,
        good: &View,
        bad: &View,
        mut is_bad: impl FnMut(&View) -> Result<bool>,
    ) -> Result<Bisected> {
        bisect::bisect(self, good, bad, &mut is_bad)
    }

    /// Counts the objects, versions, commits and bytes of the store. Reads every object of the head.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let (view, store) = (self.inner.view(), self.inner.store());
        let (mut live_bytes, mut orphans) = (0, 0);
        let mut contents = HashSet::new();
        for object in view.kept_objects() {
            let object = object?;
            live_bytes += object.bytes().len() as u64;
            // Counts a content once, even if several objects share it.
            if let Some((digest, length)) = object.content_digest()
                && !object.lacks_content()
                && contents.insert(digest)
            {
                live_bytes += length;
            }
            if let Some(parent) = object.parent() {
                let key = store.suite.key_path(parent);
                orphans += u64::from(view.state.entry_at(&key)?.is_none());
            }
        }
        let gaps = store.gaps();
        let writing = self.inner.log.lock();
        let ((segments, used_bytes), log_bytes) = (writing.log.size(), writing.log.batch_bytes());
        drop(writing);
        let files = Inspection::new(Arc::clone(&self.inner.opened().disk)).files()?;
        let bytes_in = |folder: &str| {
            let inside = files.iter().filter(|(name, _)| name.starts_with(folder));
            inside.map(|(_, bytes)| bytes).sum::<u64>()
        };
        Ok(Stats {
            objects: view.len(),
            history: store.records.versions(),
            commits: store.kept() as u64,
            thinned: gaps.iter().map(|gap| gap.count).sum(),
            gaps: gaps.len() as u64,
            erased: store.records.erased(),
            snapshots: self.snapshots()?.len() as u64,
            segments: segments as u64,
            log_bytes,
            disk_bytes: bytes_in(""),
            checkpoint_bytes: bytes_in("checkpoint/"),
            set_aside_bytes: bytes_in("log/").saturating_sub(used_bytes),
            live_bytes,
            orphans,
        })
    }

    /// Returns the number of kept commits and the size of all files of the store in bytes. Reads no object.
    ///
    /// # Errors
    /// `Io` if the files cannot be listed.
    #[doc(hidden)]
    pub fn sizes(&self) -> Result<(u64, u64)> {
        let files = Inspection::new(Arc::clone(&self.inner.opened().disk)).files()?;
        let bytes = files.iter().map(|(_, bytes)| bytes).sum();
        Ok((self.inner.store().kept() as u64, bytes))
    }

    /// Returns the number of kept commits.
    #[doc(hidden)]
    pub fn kept_commits(&self) -> usize {
        self.inner.store().kept()
    }

    /// Returns the kept commits with these indexes, newest first. Index 0 is the oldest kept commit.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn commits_at(&self, indexes: impl Iterator<Item = usize>) -> Result<Vec<CommitInfo>> {
        let store = self.inner.store();
        let found = indexes
            .map(|index| store.commit_at(index))
            .filter_map(Result::transpose);
        found.map(|entry| Ok(CommitInfo::of(&*entry?))).collect()
    }

    /// Returns the index of the kept commit `seq`, or of the next one if it was thinned.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn index_of(&self, seq: u64) -> Result<usize> {
        let (Ok(index) | Err(index)) = self.inner.store().position(seq)?;
        Ok(index)
    }

    /// Returns the bytes of the log, divided by the reason why they are kept, and the bytes that garbage collection
    /// with the standard [`Retention`](crate::upkeep::Retention) would free. Reads the whole log.
    ///
    /// # Errors
    /// The errors of [`Self::gc`].
    #[doc(hidden)]
    pub fn space(&self) -> Result<Space> {
        let mut kinds: BTreeMap<RecordKind, KindSpace> = BTreeMap::new();
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        cut.read(self.inner.settings(), "read", &mut |batch| {
            let is_known = |record: &&Record| !matches!(record.kind, RecordKind::Ignorable(_));
            for record in batch.records.iter().filter(is_known) {
                let kind = kinds.entry(record.kind).or_insert(KindSpace {
                    kind: record.kind.name(),
                    records: 0,
                    bytes: 0,
                });
                kind.records += 1;
                kind.bytes += record.body.len() as u64;
            }
            Ok(())
        })?;
        let mut kinds: Vec<_> = kinds.into_values().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
        let bytes_with = |kept: &Kept| Ok::<_, Error>(self.inner.preview(&cut, kept)?.bytes);
        let standard = Retention::default();
        let now = self.inner.retention_time(&cut.store, None)?;
        let mut least = self.inner.choose(&Retention::nothing(), &cut, now)?;
        let named = bytes_with(&least)?;
        least.commits = vec![cut.commits.saturating_sub(1)];
        let present_bytes = bytes_with(&least)?;
        let kept = bytes_with(&self.inner.choose(&standard, &cut, now)?)?;
        Ok(Space {
            kinds,
            present_bytes,
            named_bytes: named.saturating_sub(present_bytes),
            policy_bytes: kept.saturating_sub(named),
            dead_bytes: cut.bytes.saturating_sub(kept),
        })
    }

    /// Returns the positions in the log of a version's record and, if its content is a separate record, of the content.
    ///
    /// # Errors
    /// `NotFound` if the version is not kept; `Corrupt` or `Io` if a record cannot be read.
    #[doc(hidden)]
    pub fn places(&self, object: &Object) -> Result<Vec<Locator>> {
        let store = self.inner.store();
        let (records, digest) = (&store.records, object.digest());
        let own = records.find_place(digest)?;
        let own =
            own.ok_or_else(|| Error::not_found(format!("history does not contain the version {digest}")))?;
        let content = object.content_digest();
        let content = content.map(|(content, _)| records.find(RecordKind::Content, content.as_bytes()));
        let content = content.transpose()?.flatten().map(|record| record.locator);
        Ok([Some(own), content].into_iter().flatten().collect())
    }

    /// Returns everything whose digest starts with `digits`, at most `limit` of each sort: kept commits and roots,
    /// versions of objects in all of history, and key paths and nodes of `view`. Reads every change of history.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not 1 to 64 hexadecimal digits; `Corrupt` or `Io` if a record or node cannot be
    /// read.
    #[doc(hidden)]
    pub fn meanings(&self, digits: &str, view: &View, limit: usize) -> Result<Vec<Meaning>> {
        let digits = digits.to_ascii_lowercase();
        let range = revision::digest_range(&digits).filter(|_| !digits.is_empty());
        let invalid = || Error::invalid(format!("`{digits}` is not 1 to 64 hexadecimal digits"));
        let (low, high) = range.ok_or_else(invalid)?;
        let mut found = self.inner.commits_and_roots(low, high, limit)?;
        found.extend(self.inner.versions_between(low, high, limit)?);
        let is_told = |told: &Meaning| matches!(told, Meaning::Erased(..));
        // A digest that no kept state contains is found only if all of its digits are given.
        if low == high && !found.iter().any(is_told) {
            let by = view.state.store.records.erasure(&low)?;
            found.extend(by.map(|by| erased(low, by)));
        }
        for entry in view.entries_below(&digits, limit)? {
            let id = view.state.load(&entry)?.id().clone();
            found.push(Meaning::KeyPath(entry.key, id));
        }
        view.nodes_named(&digits, &mut Vec::new(), limit, &mut found)?;
        Ok(found)
    }

    /// Passes to `visit` every record of the log that contains text, in the order of the log. May pass a record twice,
    /// and omits erased records. Reads the whole log.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the log cannot be read; the errors of `visit`.
    #[doc(hidden)]
    pub fn text_records(&self, visit: &mut dyn FnMut(TextRecord) -> Result<()>) -> Result<()> {
        self.inner.refresh()?;
        let cut = self.inner.cut(&self.inner.log.lock());
        let settings = self.inner.settings();
        cut.read(settings, "search", &mut |batch| {
            let texts = batch.records.iter();
            let mut texts = texts.filter_map(|record| text_record(&cut.store, record));
            texts.try_for_each(&mut *visit)
        })
    }
}
