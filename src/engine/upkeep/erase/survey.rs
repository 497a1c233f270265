//! Finds the records that an erasure removes, by reading the log once. Refuses an erasure that is not allowed.
//!
//! # Layer
//! Layer 5.
//!
//! # Limits
//! - The search holds the id, the digests and the parent of every version in the log, about 300 bytes for each version.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::digest::{DIGEST_LEN, Domain, to_hex};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Record, RecordKind};
use crate::object::Id;
use crate::store::{Erased, Store, object_of};

use super::{ErasedKind, ErasedRecord, ErasedReport, Erasing};
use crate::engine::inner::Inner;
use crate::engine::read::{State, digest_range, erased_by};
use crate::engine::upkeep::Cut;
use crate::engine::write::{Placed, named, tree};

type Digest = [u8; DIGEST_LEN];

/// The number of digits from which on a target may name a digest.
const DIGITS_MIN: usize = 8;

/// The fields of a version that an erasure reads.
struct Version {
    digest: Digest,
    id: String,
    parent: Option<String>,
    content: Option<Digest>,
    sources: Vec<Digest>,
    bytes: u64,
}

impl Version {
    fn of(store: &Store, record: &Record) -> Self {
        let object = object_of(record, store.suite);
        Self {
            digest: *object.digest().as_bytes(),
            id: object.id().to_string(),
            parent: object.parent().map(str::to_owned),
            content: object.content_digest().map(|(content, _)| *content.as_bytes()),
            sources: object.derived_from().map(|source| *source.as_bytes()).collect(),
            bytes: record.body.len() as u64,
        }
    }
}

/// The search of the log for the records to erase.
struct Survey<'a> {
    inner: &'a Inner,
    cut: &'a Cut,
    erasing: &'a Erasing,
    report: ErasedReport,
    /// The versions to erase, by digest.
    versions: HashMap<Digest, Version>,
    /// All other versions in the log, by digest.
    others: BTreeMap<Digest, Version>,
    /// All contents, reasons and sources in the log, by digest.
    texts: BTreeMap<Digest, ErasedRecord>,
    /// The markers of all records that were erased before.
    markers: Vec<Erased>,
    /// The digests that the targets name.
    given: HashSet<Digest>,
    /// The ids whose versions are all erased.
    ids: BTreeSet<String>,
    /// The contents to erase, including the ones that the targets name.
    contents: HashSet<Digest>,
}

impl Inner {
    /// Returns the report of an erasure that is not committed yet.
    ///
    /// # Errors
    /// The reason why the erasure is refused; see [`crate::engine::memory::Memory::erase`].
    pub(super) fn survey(&self, cut: &Cut, erasing: &Erasing) -> Result<ErasedReport> {
        let mut survey = Survey {
            inner: self,
            cut,
            erasing,
            report: ErasedReport::default(),
            versions: HashMap::new(),
            others: BTreeMap::new(),
            texts: BTreeMap::new(),
            markers: Vec::new(),
            given: HashSet::new(),
            ids: BTreeSet::new(),
            contents: HashSet::new(),
        };
        survey.find_targets()?;
        survey.check_current()?;
        survey.check_others()?;
        survey.take_records();
        Ok(survey.report)
    }
}

impl Survey<'_> {
    /// Finds the records that the targets name and, with `derived`, the versions derived from them.
    fn find_targets(&mut self) -> Result<()> {
        if self.erasing.targets.is_empty() {
            return Err(Error::invalid("name at least one id or digest to erase"));
        }
        let store = &self.cut.store;
        self.cut.read(self.inner.settings(), "search", &mut |batch| {
            for record in &batch.records {
                let (kind, domain) = match record.kind {
                    RecordKind::Object => {
                        let version = Version::of(store, record);
                        self.others.insert(version.digest, version);
                        continue;
                    }
                    RecordKind::Erased => {
                        self.markers.extend(Erased::decode(&record.body));
                        continue;
                    }
                    RecordKind::Content => (ErasedKind::Content, Domain::Content),
                    RecordKind::Text => (ErasedKind::Text, Domain::Text),
                    _ => continue,
                };
                let text = ErasedRecord {
                    kind,
                    digest: store.suite.hash_bytes(domain, &record.body),
                    id: None,
                    bytes: record.body.len() as u64,
                };
                self.texts.insert(text.digest, text);
            }
            Ok(())
        })?;
        let known: HashSet<&str> = self.others.values().map(|version| version.id.as_str()).collect();
        for text in &self.erasing.targets {
            match self.digest_of(text, known.contains(text.as_str()))? {
                Some(digest) => drop(self.given.insert(digest)),
                None => drop(self.ids.insert(text.clone())),
            }
        }
        for text in self.given.iter().filter_map(|digest| self.texts.get(digest)) {
            if text.kind == ErasedKind::Content {
                self.contents.insert(text.digest);
            } else {
                self.report.records.push(text.clone());
            }
        }
        let is_named =
            |digest: &_, version: &mut Version| self.ids.contains(&version.id) || self.given.contains(digest);
        self.versions = self.others.extract_if(.., is_named).collect();
        if self.erasing.derived {
            self.add_derived();
        }
        Ok(())
    }

    /// Returns the digest that a target names, or `None` if the target is an id.
    fn digest_of(&self, target: &str, is_id: bool) -> Result<Option<Digest>> {
        let range = digest_range(&target.to_ascii_lowercase()).filter(|_| target.len() >= DIGITS_MIN);
        let range = range.map(|(low, high)| low..=high);
        let within = range.iter().flat_map(|range| {
            let versions = self.others.range(range.clone()).map(|(digest, _)| *digest);
            versions.chain(self.texts.range(range.clone()).map(|(digest, _)| *digest))
        });
        let digests: Vec<Digest> = within.collect();
        let ambiguous = |what: String| Error::invalid(what).with_code(ErrorCode::Ambiguous);
        match (is_id, digests.len()) {
            (true, 0) => Ok(None),
            (true, _) => {
                let what = format!("'{target}' is an id and also matches a digest");
                Err(ambiguous(what).with_hint("give the digest in full"))
            }
            (false, 0) => {
                let key = self.cut.store.suite.key_path(target);
                let markers = self.markers.iter().filter(|erased| {
                    erased.key == Some(key)
                        || range.as_ref().is_some_and(|range| range.contains(&erased.digest))
                });
                // A marker with an author has priority over one of a lost record.
                let erased = markers.max_by_key(|erased| !erased.is_lost());
                Err(self.nothing_found(target, erased))
            }
            (false, 1) => Ok(digests.first().copied()),
            (false, count) => {
                let what = format!("{count} digests start with {target}");
                Err(ambiguous(what).with_hint("give more digits"))
            }
        }
    }

    fn nothing_found(&self, target: &str, erased: Option<&Erased>) -> Error {
        if let Some(erased) = erased {
            return erased_by(&self.cut.store, target, Some(erased.by));
        }
        Error::not_found(format!(
            "nothing in this history matches '{target}': no id, version, content, reason or source"
        ))
        .with_hint("`history ID` shows the digests of versions, erased ones too; `log --json` shows those of reasons and sources")
    }

    /// Adds the versions that were derived from erased ones, in any number of steps.
    fn add_derived(&mut self) {
        let mut from: HashMap<Digest, Vec<Digest>> = HashMap::new();
        for version in self.others.values() {
            for source in &version.sources {
                from.entry(*source).or_default().push(version.digest);
            }
        }
        let mut open: Vec<Digest> = self.versions.keys().copied().collect();
        while let Some(source) = open.pop() {
            for digest in from.remove(&source).unwrap_or_default() {
                if let Some(version) = self.others.remove(&digest) {
                    open.push(digest);
                    self.versions.insert(digest, version);
                }
            }
        }
    }

    /// Checks the versions to erase that are current. A given id leaves the state, and so do derived versions. A
    /// version given by its digest is refused, because the caller did not name its id.
    fn check_current(&mut self) -> Result<()> {
        let store = &self.cut.store;
        let head = State::of(store, &*store.head()?)?;
        let mut leaving: BTreeSet<&str> = BTreeSet::new();
        for id in &self.ids {
            if head.entry_at(&store.suite.key_path(id))?.is_some() {
                leaving.insert(id);
            }
        }
        let by_digest = self.versions.values();
        for version in by_digest.filter(|version| !self.ids.contains(&version.id)) {
            let current = head.entry_at(&store.suite.key_path(&version.id))?;
            if current.is_none_or(|entry| entry.digest != version.digest) {
                continue;
            }
            if self.given.contains(&version.digest) {
                let (id, digest) = (&version.id, to_hex(&version.digest));
                return Err(
                    Error::invalid(format!("{digest} is the current version of '{id}'"))
                        .with_code(ErrorCode::Current)
                        .with_ids(vec![id.clone()])
                        .with_hint("put another version first, or erase the id with all of its versions"),
                );
            }
            leaving.insert(&version.id);
        }
        let mut placed = BTreeMap::new();
        for id in leaving {
            let gone = Placed {
                id: Id::new(id)?,
                exists: false,
                parent: None,
                moved: true,
            };
            placed.insert(store.suite.key_path(id), gone);
        }
        tree::check(&self.inner.source, &head, &placed).map_err(|refused| {
            if refused.code() != ErrorCode::HasChildren {
                return refused;
            }
            let ids = refused.ids().join(" ");
            refused.with_hint(format!(
                "erase them in the same call: add {ids}; `remove` keeps their content in history"
            ))
        })?;
        self.report.unlinked = placed.into_values().map(|placed| placed.id).collect();
        Ok(())
    }

    /// Finds the objects that stay but have a content to erase, or an id to erase as their parent.
    fn check_others(&mut self) -> Result<()> {
        let contents = self.versions.values().filter_map(|version| version.content);
        self.contents.extend(contents);
        let is_below = |_: &_, version: &mut Version| {
            let parent = version.parent.as_ref();
            parent.is_some_and(|parent| self.ids.contains(parent))
        };
        let below: HashMap<_, _> = self.others.extract_if(.., is_below).collect();
        let mut holders: BTreeSet<String> = below.values().map(|version| version.id.clone()).collect();
        // The contents of versions that are erased only because of their parent stay if other objects share them.
        let mut unshared: HashSet<Digest> = below.values().filter_map(|version| version.content).collect();
        unshared.retain(|content| !self.contents.contains(content));
        self.versions.extend(below);
        let mut sharing = BTreeSet::new();
        for version in self.others.values() {
            if let Some(content) = version.content {
                unshared.remove(&content);
                sharing.extend(self.contents.contains(&content).then(|| version.id.clone()));
            }
        }
        if !self.erasing.everywhere {
            refuse_shared("share a content to erase", &sharing)?;
            refuse_shared("have an id to erase as their parent", &holders)?;
        }
        self.contents.extend(unshared);
        holders.append(&mut sharing);
        self.report.holders = holders.iter().filter_map(|id| Id::new(id).ok()).collect();
        Ok(())
    }

    /// Lists the records of the versions and contents to erase, versions first.
    fn take_records(&mut self) {
        let records = &mut self.report.records;
        let contents = self.contents.iter();
        records.extend(contents.filter_map(|content| self.texts.get(content).cloned()));
        let versions = std::mem::take(&mut self.versions).into_values();
        records.extend(versions.map(|version| ErasedRecord {
            kind: ErasedKind::Version,
            digest: version.digest,
            id: Some(version.id),
            bytes: version.bytes,
        }));
        records.sort_unstable_by(|one, other| {
            (one.kind, &one.id, one.digest).cmp(&(other.kind, &other.id, other.digest))
        });
    }
}

fn refuse_shared(what: &str, ids: &BTreeSet<String>) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    Err(
        Error::invalid(format!("versions that are not erased {what}: {}", named(ids)))
            .with_code(ErrorCode::Shared)
            .with_ids(ids.iter().cloned().collect())
            .with_hint("use --everywhere to erase it from these versions too"),
    )
}
