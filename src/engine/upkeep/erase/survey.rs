//! Finds the records that an erasure removes, by reading every record of the log. Returns an error if the erasure is
//! not allowed.
//!
//! # Layer
//! Layer 5.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::digest::{DIGEST_LEN, Domain, to_hex};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Record, RecordKind};
use crate::object::Id;
use crate::store::{Erased, Store, object_of};

use super::targets::{Target, Targets};
use super::{ErasedKind, ErasedRecord, ErasedReport, Erasing};
use crate::engine::inner::Inner;
use crate::engine::read::{State, erased_by};
use crate::engine::upkeep::Cut;
use crate::engine::write::{Placed, conflict_id, named, tree};

type Digest = [u8; DIGEST_LEN];

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

/// The records that an erasure in parts has not erased yet. The first survey finds them, because a part takes away how
/// they were found: a version that was derived from an erased one, or the content of an erased version.
#[derive(Clone, Default)]
pub(super) struct Rest {
    digests: HashSet<Digest>,
    given: HashSet<Digest>,
    ids: BTreeSet<String>,
}

impl Rest {
    /// Removes the records that a part erased.
    pub(super) fn without(mut self, erased: &[ErasedRecord]) -> Self {
        for record in erased {
            self.digests.remove(&record.digest);
        }
        self
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
    /// The digests that the targets name.
    given: HashSet<Digest>,
    /// The ids of which the erasure removes all versions.
    ids: BTreeSet<String>,
    /// The digests of the contents to erase, including the contents that the targets name.
    contents: HashSet<Digest>,
}

impl Inner {
    /// Returns the report of an erasure before the erasure is committed, and its records. With `rest`, searches only for
    /// what earlier parts left.
    ///
    /// # Errors
    /// The reason why the erasure is refused; see [`crate::engine::memory::Memory::erase`].
    pub(super) fn survey(
        &self,
        cut: &Cut,
        erasing: &Erasing,
        rest: Option<&Rest>,
    ) -> Result<(ErasedReport, Rest)> {
        let mut survey = Survey {
            inner: self,
            cut,
            erasing,
            report: ErasedReport::default(),
            versions: HashMap::new(),
            given: HashSet::new(),
            ids: BTreeSet::new(),
            contents: HashSet::new(),
        };
        match rest {
            Some(rest) => survey.find_rest(rest)?,
            None => survey.find_targets()?,
        }
        survey.check_current()?;
        survey.check_others()?;
        survey.take_records()?;
        survey.report.ids.clone_from(&survey.ids);
        let rest = Rest {
            digests: survey.report.records.iter().map(|record| record.digest).collect(),
            given: survey.given,
            ids: survey.ids,
        };
        Ok((survey.report, rest))
    }
}

impl Survey<'_> {
    /// Passes each record of the log to `visit`.
    fn read(&self, visit: &mut dyn FnMut(&Record) -> Result<()>) -> Result<()> {
        let settings = self.inner.settings();
        self.cut.read(settings, "search", &mut |batch| {
            batch.records.iter().try_for_each(&mut *visit)
        })
    }

    /// Passes to `visit` every version of the log that this erasure does not remove.
    fn each_other(&self, visit: &mut dyn FnMut(Version)) -> Result<()> {
        self.read(&mut |record| {
            if record.kind == RecordKind::Object {
                let version = Version::of(&self.cut.store, record);
                if !self.versions.contains_key(&version.digest) {
                    visit(version);
                }
            }
            Ok(())
        })
    }

    /// Finds the records that the targets name and, with `derived`, the versions derived from them.
    fn find_targets(&mut self) -> Result<()> {
        let suite = self.cut.store.suite;
        let mut targets = Targets::of(self.erasing, suite)?;
        let mut lineage: Vec<Version> = Vec::new();
        let mut found: HashMap<Digest, Version> = HashMap::new();
        let mut texts: HashMap<Digest, ErasedRecord> = HashMap::new();
        let mut erased = Vec::new();
        self.read(&mut |record| {
            match record.kind {
                RecordKind::Object => {
                    let version = Version::of(&self.cut.store, record);
                    if targets.note(&version.digest, Some(&version.id)) {
                        found.insert(version.digest, version);
                    } else if self.erasing.derived && !version.sources.is_empty() {
                        lineage.push(version);
                    }
                }
                RecordKind::Content | RecordKind::Text => {
                    let is_content = record.kind == RecordKind::Content;
                    let domain = if is_content { Domain::Content } else { Domain::Text };
                    let digest = suite.hash_bytes(domain, &record.body);
                    if targets.note(&digest, None) {
                        texts.insert(digest, erased_text(record, digest));
                    }
                }
                RecordKind::Erased => {
                    if let Ok(marker) = Erased::decode(&record.body)
                        && targets.note_erased(&marker)
                    {
                        erased.push(marker.digest);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        for target in &targets.all {
            self.resolve(target, &mut texts)?;
        }
        let given = targets.all.iter().flat_map(|target| &target.digests);
        self.given = given.copied().collect();
        let conflicts = self
            .ids
            .iter()
            .map(|id| Ok(conflict_id(&suite.key_path(id))?.to_string()));
        let conflicts: HashSet<String> = conflicts.collect::<Result<_>>()?;
        let there = found.values().filter(|version| conflicts.contains(&version.id));
        self.ids.extend(there.map(|version| version.id.clone()));
        found.retain(|digest, version| self.ids.contains(&version.id) || self.given.contains(digest));
        self.versions = found;
        // An erased version of an id is a source, too: an erasure in parts may have stopped after it.
        self.add_derived(lineage, erased);
        Ok(())
    }

    /// Finds the records that earlier parts left. Also finds versions that another process wrote meanwhile.
    fn find_rest(&mut self, rest: &Rest) -> Result<()> {
        let suite = self.cut.store.suite;
        let mut lineage: Vec<Version> = Vec::new();
        let mut found: HashMap<Digest, Version> = HashMap::new();
        let (mut contents, mut texts) = (HashSet::new(), HashMap::new());
        self.read(&mut |record| {
            match record.kind {
                RecordKind::Object => {
                    let version = Version::of(&self.cut.store, record);
                    if rest.ids.contains(&version.id) || rest.digests.contains(&version.digest) {
                        found.insert(version.digest, version);
                    } else if self.erasing.derived && !version.sources.is_empty() {
                        lineage.push(version);
                    }
                }
                RecordKind::Content => {
                    let digest = suite.hash_bytes(Domain::Content, &record.body);
                    contents.extend(rest.digests.contains(&digest).then_some(digest));
                }
                RecordKind::Text => {
                    let digest = suite.hash_bytes(Domain::Text, &record.body);
                    if rest.digests.contains(&digest) {
                        texts.insert(digest, erased_text(record, digest));
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        self.report.records.extend(texts.into_values());
        (self.versions, self.contents) = (found, contents);
        (self.ids, self.given) = (rest.ids.clone(), rest.given.clone());
        self.add_derived(lineage, Vec::new());
        Ok(())
    }

    /// Resolves one target to an id or a digest.
    fn resolve(&mut self, target: &Target, texts: &mut HashMap<Digest, ErasedRecord>) -> Result<()> {
        let text = target.text.as_str();
        match (target.is_id, target.digests.len()) {
            (true, 0) => {
                self.ids.insert(text.to_owned());
            }
            (false, 1) => {
                let found = target.digests.iter().filter_map(|digest| texts.remove(digest));
                for record in found {
                    if record.kind == ErasedKind::Content {
                        self.contents.insert(record.digest);
                    } else {
                        self.report.records.push(record);
                    }
                }
            }
            (true, _) => {
                return Err(
                    Error::invalid(format!("'{text}' is an id and also matches a digest"))
                        .with_code(ErrorCode::Ambiguous)
                        .with_hint("give the digest in full"),
                );
            }
            (false, 0) if target.erased_by.is_some() => {
                return Err(erased_by(&self.cut.store, text, target.erased_by));
            }
            (false, 0) => {
                return Err(Error::not_found(format!(
                    "nothing in this history matches '{text}': no id, version, content, reason or source"
                ))
                .with_hint("`history ID` shows the digests of versions, including erased ones; `log --json` shows the digests of reasons and sources"));
            }
            (false, count) => {
                return Err(Error::invalid(format!("{count} digests start with {text}"))
                    .with_code(ErrorCode::Ambiguous)
                    .with_hint("give more digits"));
            }
        }
        Ok(())
    }

    /// Adds the versions that were derived from the versions to erase, or from erased ones, directly or indirectly.
    fn add_derived(&mut self, lineage: Vec<Version>, erased: Vec<Digest>) {
        let mut from: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (number, version) in lineage.iter().enumerate() {
            for source in &version.sources {
                from.entry(*source).or_default().push(number);
            }
        }
        let mut lineage: Vec<_> = lineage.into_iter().map(Some).collect();
        let mut open: Vec<Digest> = self.versions.keys().copied().chain(erased).collect();
        while let Some(source) = open.pop() {
            for number in from.remove(&source).unwrap_or_default() {
                if let Some(version) = lineage[number].take() {
                    open.push(version.digest);
                    self.versions.insert(version.digest, version);
                }
            }
        }
    }

    /// Checks the versions to erase that are current. The ids among the targets, and the ids of derived versions, leave
    /// the state. If a target is the digest of a current version, returns an error, because the caller did not name the
    /// id.
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
                return Err(Error::invalid(format!(
                    "{digest} cannot be erased alone, because this version of '{id}' is current"
                ))
                .with_code(ErrorCode::Current)
                .with_ids(vec![id.clone()])
                .with_hint("store another version first, or erase the id with all of its versions"));
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
                "erase the children in the same call by adding {ids}; `remove` would leave their content in history"
            ))
        })?;
        self.check_lines()?;
        self.report.unlinked = placed.into_values().map(|placed| placed.id).collect();
        Ok(())
    }

    /// Checks that no id to erase has children in a fork. A fork shows the placeholder of an erased version.
    fn check_lines(&self) -> Result<()> {
        let store = &self.cut.store;
        for head in store.live_heads()? {
            let (line, entry) = head;
            let state = State::of(&line, &entry)?;
            let mut placed = BTreeMap::new();
            for id in &self.ids {
                let key = store.suite.key_path(id);
                if state.entry_at(&key)?.is_some() {
                    let gone = Placed {
                        id: Id::new(id)?,
                        exists: false,
                        parent: None,
                        moved: true,
                    };
                    placed.insert(key, gone);
                }
            }
            tree::check(&self.inner.source, &state, &placed).map_err(|refused| {
                let name = line.line_name().unwrap_or_default();
                refused.context(format!("in the fork '{name}'"))
            })?;
        }
        Ok(())
    }

    /// Finds other versions that share a content to erase, or whose parent is an id to erase. Returns an error if there
    /// are some and the erasure is not `everywhere`.
    fn check_others(&mut self) -> Result<()> {
        let everywhere = self.erasing.everywhere;
        let contents = self.versions.values().filter_map(|version| version.content);
        self.contents.extend(contents);
        let mut below = HashMap::new();
        if !self.ids.is_empty() {
            self.each_other(&mut |version| {
                if version
                    .parent
                    .as_ref()
                    .is_some_and(|parent| self.ids.contains(parent))
                {
                    below.insert(version.digest, version);
                }
            })?;
        }
        let mut holders: BTreeSet<String> = below.values().map(|version| version.id.clone()).collect();
        // Collects the contents of the versions that are erased only because of their parent. A content that other
        // versions share is not erased.
        let mut unshared: HashSet<Digest> = below.values().filter_map(|version| version.content).collect();
        unshared.retain(|content| !self.contents.contains(content));
        self.versions.extend(below);
        let mut sharing = BTreeSet::new();
        if !(self.contents.is_empty() && unshared.is_empty()) {
            self.each_other(&mut |version| {
                if let Some(content) = version.content {
                    unshared.remove(&content);
                    sharing.extend(self.contents.contains(&content).then_some(version.id));
                }
            })?;
        }
        if !everywhere {
            refuse_shared("share a content that is to be erased", &sharing)?;
            refuse_shared("have a parent that is to be erased", &holders)?;
        }
        self.contents.extend(unshared);
        holders.append(&mut sharing);
        self.report.holders = holders.iter().filter_map(|id| Id::new(id).ok()).collect();
        Ok(())
    }

    /// Adds to the report the records of the versions and contents to erase, versions first.
    fn take_records(&mut self) -> Result<()> {
        let (store, records) = (&self.cut.store, &mut self.report.records);
        for content in &self.contents {
            if let Some(record) = store.records.find(RecordKind::Content, content)? {
                records.push(erased_text(&record, *content));
            }
        }
        let head = State::of(store, &*store.head()?)?;
        for version in self.versions.values() {
            let current = head.entry_at(&store.suite.key_path(&version.id))?;
            if current.is_some_and(|entry| entry.digest == version.digest) {
                self.report.current.insert(version.digest);
                self.report.current.extend(version.content);
            }
        }
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
        Ok(())
    }
}

fn erased_text(record: &Record, digest: Digest) -> ErasedRecord {
    ErasedRecord {
        kind: match record.kind {
            RecordKind::Content => ErasedKind::Content,
            _ => ErasedKind::Text,
        },
        digest,
        id: None,
        bytes: record.body.len() as u64,
    }
}

fn refuse_shared(what: &str, ids: &BTreeSet<String>) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(format!("other versions {what}: {}", named(ids)))
        .with_code(ErrorCode::Shared)
        .with_ids(ids.iter().cloned().collect())
        .with_hint("use --everywhere if these versions may be affected too"))
}
