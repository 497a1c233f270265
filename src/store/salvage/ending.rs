//! Finishes a salvage: writes the last commit and the references, and reports the losses.
//!
//! # Layer
//! Layer 4. Part of salvage/.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::digest::{Domain, KeyPath, Root, TextDigest};
use crate::error::{Finding, Result, Severity};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Commit, Op, Origin, ReferenceName, Time};
use crate::trie::{NoSource, Trie};

use super::Salvager;
use super::guess::Left;
use crate::store::kept_commit;

/// The result of a salvage: the numbers of salvaged items, and the losses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct SalvageReport {
    /// The number of retained commits. Their digests are unchanged.
    pub commits: u64,
    /// The number of salvaged versions of objects.
    pub versions: u64,
    /// The number of objects in the newest state.
    pub objects: u64,
    /// The findings about lost data, by file and offset in the damaged store.
    pub lost: Vec<Finding>,
    /// Findings that may indicate a loss.
    pub unsure: Vec<Finding>,
    /// Findings that indicate no loss.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub derived: Vec<Finding>,
    /// The ids that were removed from the newest state because their versions are lost.
    pub lost_ids: Vec<String>,
    /// The key paths of lost objects whose id is unknown, because all their versions are lost.
    pub lost_keys: Vec<KeyPath>,
    /// The ids whose newest version is lost. The newest readable version of the id replaces the lost version.
    pub older_ids: Vec<String>,
    /// The ids in the newest state whose content is lost, although the object is readable.
    pub lost_contents: Vec<String>,
    /// The number of lost commits. Does not include thinned commits.
    pub lost_commits: u64,
    /// The number of other lost records that retained commits or versions name, such as versions of past states,
    /// contents and reasons.
    pub lost_records: u64,
    /// The snapshots and other references whose commit is lost.
    pub lost_references: Vec<String>,
    /// The root of the newest state.
    pub root: Option<Root>,
}

impl SalvageReport {
    /// Returns whether no loss was found.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
            && self.lost_ids.is_empty()
            && self.lost_keys.is_empty()
            && self.older_ids.is_empty()
            && self.lost_contents.is_empty()
            && self.lost_references.is_empty()
            && self.lost_commits + self.lost_records == 0
    }
}

impl Salvager<'_> {
    /// Writes the last commit if it is needed, and the references. Returns the report.
    pub(super) fn finish(mut self, now: Time) -> Result<SalvageReport> {
        let newest = self.line.last_key_value().map(|(seq, _)| *seq);
        self.follow_stored(u64::MAX)?;
        let told = self.states.root(&self.guess.state)?;
        let head = self.head.as_ref();
        let is_proven = head.is_some_and(|head| newest == Some(head.mark.seq) && head.mark.root == told);
        let Left {
            state: target,
            lost: lost_keys,
            older: older_keys,
        } = self.guess.without_lost(self.damaged, is_proven)?;
        let kept = self.kept.len() as u64;
        let root = self.states.root(&target)?;
        let is_newest = head.is_some_and(|head| head.mark.root == root && newest == Some(head.mark.seq));
        if head.is_none() && target.is_empty() && self.output.versions == 0 {
            return Err(self
                .damaged
                .nothing("no commit and no object of the store is complete"));
        }
        if !is_newest {
            self.put_last(target.clone(), root, newest, now)?;
        }
        let lost_forks = self.put_lines()?;
        let mut lost_references = self.put_references()?;
        lost_references.extend(lost_forks.into_iter().map(|name| format!("heads/{name}")));
        let (lost_contents, told) = self.without_content(&target)?;
        let (lost_ids, lost_keys) = self.names(lost_keys)?;
        let thinned = self.index.thinned.values();
        let thinned = thinned.filter(|digest| !self.kept.contains(digest)).count() as u64;
        let in_all = newest.map_or(0, |newest| newest + 1);
        let findings = |severity| {
            let findings = self.index.findings.iter();
            findings
                .filter(|found| found.severity == severity)
                .cloned()
                .collect()
        };
        Ok(SalvageReport {
            commits: kept,
            versions: self.output.versions,
            objects: target.len(),
            lost: findings(Severity::Damage),
            unsure: findings(Severity::Unsure),
            derived: findings(Severity::Derived),
            lost_ids,
            lost_keys,
            older_ids: self.names(older_keys)?.0,
            lost_commits: in_all.saturating_sub(kept).saturating_sub(thinned),
            lost_references,
            lost_contents,
            lost_records: self.output.lost.len() as u64 - told,
            root: Some(root),
        })
    }

    /// Returns the ids of a state whose content is lost, and the number of lost contents.
    fn without_content(&self, state: &Trie) -> Result<(Vec<String>, u64)> {
        let (mut ids, mut contents) = (BTreeSet::new(), HashSet::new());
        if self.output.lost.is_empty() {
            return Ok((Vec::new(), 0));
        }
        for entry in state.iter(NoSource) {
            if let Some(object) = self.index.object(self.damaged, entry?.digest)?
                && let Some((content, _)) = object.content_digest()
                && self.output.lost.contains(content.as_bytes())
            {
                ids.insert(object.id().to_string());
                contents.insert(content);
            }
        }
        Ok((ids.into_iter().collect(), contents.len() as u64))
    }

    /// Writes an additional commit with the newest state.
    fn put_last(&mut self, trie: Trie, root: Root, newest: Option<u64>, now: Time) -> Result<()> {
        let seq = newest.map(|newest| newest + 1);
        let known = seq.and_then(|seq| Some((seq, self.digests(seq)?)));
        let (seq, missed) = known.unwrap_or_else(|| (self.history.size(), Vec::new()));
        let parent = missed
            .last()
            .copied()
            .or_else(|| self.head.as_ref().map(|head| head.mark.commit));
        let times = self.index.commits.values().map(|commit| commit.time.as_micros());
        let after = times.max().map_or(0, |newest| newest.saturating_add(1));
        let time = now.max(Time::from_micros(after));
        let reason = "salvage of all intact data of a damaged store; unreadable records are omitted";
        let digest = self.damaged.suite().hash_bytes(Domain::Text, reason.as_bytes());
        let mut batch = BatchBuilder::new();
        batch.add(RecordKind::Text, 0, reason.as_bytes());
        self.add_gap(&missed, &mut batch);
        self.state(&trie, time, &mut batch)?;
        let commit = Commit {
            parents: parent.into_iter().collect(),
            root,
            seq,
            history_root: self.history.root(),
            time,
            op: Op::new(Op::SALVAGE)?,
            target: None,
            actor: None,
            session: None,
            source: None,
            trust: Origin::DirectUser,
            reason: Some(TextDigest::from_bytes(digest)),
            reserved: BTreeMap::new(),
        };
        let bytes = commit.encode()?;
        batch.add(RecordKind::Commit, 0, &bytes);
        self.put_commit(Commit::hash(&bytes, self.damaged.suite()), &commit, trie, batch)
    }

    /// Writes the references whose commit and versions were salvaged. Returns the names of the other references.
    fn put_references(&mut self) -> Result<Vec<String>> {
        self.output.put(BatchBuilder::new(), None)?;
        let references = std::mem::take(&mut self.references);
        let mut newest: Vec<_> = references.iter().collect();
        newest.sort_by_key(|entry| entry.batch);
        let mut lost = Vec::new();
        for entry in newest {
            let mut reference = (*entry.reference).clone();
            let is_kept = kept_commit(&reference).is_none_or(|commit| self.kept.contains(&commit));
            let mut versions = reference.changes.iter().filter_map(|change| change.digest);
            if !is_kept || !versions.all(|digest| self.index.objects.contains_key(digest.as_bytes())) {
                lost.push(reference.name.to_string());
                continue;
            }
            for change in &reference.changes {
                if let Some(digest) = change.digest {
                    self.output.need_version(change.key, digest)?;
                }
            }
            self.output.need_texts(reference.reason)?;
            if reference.lane.is_some() {
                // The name contains the batch number, so later snapshots cannot get the same name.
                reference.name = ReferenceName::of_ring(self.output.batches + 1);
            }
            let mut batch = BatchBuilder::new();
            batch.add(RecordKind::Reference, 0, &reference.encode()?);
            self.output.put(batch, None)?;
        }
        Ok(lost)
    }

    /// Returns the ids with these key paths, and the key paths whose id is unknown. An id is known if a readable
    /// version contains it.
    fn names(&self, keys: BTreeSet<KeyPath>) -> Result<(Vec<String>, Vec<KeyPath>)> {
        let mut names: HashMap<KeyPath, String> = HashMap::new();
        if !keys.is_empty() {
            for digest in self.index.objects.keys() {
                let object = self.index.object(self.damaged, *digest)?;
                if let Some(object) = object
                    && let key = self.damaged.suite().key_path(object.id().as_str())
                    && keys.contains(&key)
                {
                    names.insert(key, object.id().to_string());
                }
            }
        }
        let nameless = keys.into_iter().filter(|key| !names.contains_key(key)).collect();
        let names: BTreeSet<String> = names.into_values().collect();
        Ok((names.into_iter().collect(), nameless))
    }
}
