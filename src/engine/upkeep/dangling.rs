//! Dangling references: finds contents, texts, commits and versions that a record names but the log does not contain.
//!
//! # Layer
//! Layer 5. A part of `verify`, which only looks up digests.
//!
//! # Invariants
//! - NAM-1: every named record that is neither present nor erased is reported, with the record that names it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::{DIGEST_LEN, to_hex};
use crate::error::{Cause, Finding, Result, Severity};
use crate::log::{Batch, Locator, RecordKind, segment_name};
use crate::object::{Commit, Object, Reference, ReferenceName};
use crate::store::{Store, kept_commit, object_of};

use crate::engine::write::newest_references;

/// The contents and texts that records name, each with the position of the first record that names it, and the
/// references. A named record may come after the record that names it, because a rewrite moves shared records.
#[derive(Default)]
pub(crate) struct Dangling {
    /// Contents and texts, by their kind and digest.
    records: HashMap<(RecordKind, [u8; DIGEST_LEN]), Locator>,
    /// The position of the newest record of each reference.
    references: HashMap<ReferenceName, Locator>,
}

impl Dangling {
    /// Adds the records that a batch names.
    pub(crate) fn add(&mut self, batch: &Batch) {
        for record in &batch.records {
            let mut texts = [None, None];
            let mut content = None;
            match record.kind {
                RecordKind::Object => content = Object::content_digest_in(&record.body),
                RecordKind::Commit => {
                    if let Ok(commit) = Commit::decode(&record.body) {
                        texts = [commit.reason, commit.source];
                    }
                }
                RecordKind::Reference => {
                    if let Ok(reference) = Reference::decode(&record.body) {
                        texts = [reference.reason, None];
                        self.references.insert(reference.name, record.locator);
                    }
                }
                _ => {}
            }
            let texts = texts.iter().flatten();
            let texts = texts.map(|text| (RecordKind::Text, *text.as_bytes()));
            let content = content.map(|(content, _)| (RecordKind::Content, *content.as_bytes()));
            for named in texts.chain(content) {
                self.records.entry(named).or_insert(record.locator);
            }
        }
    }

    /// Returns a finding for each named record that the log does not contain (NAM-1), in the order of the log. Call
    /// this after the last batch.
    pub(crate) fn missing(self, store: &Arc<Store>) -> Result<Vec<Finding>> {
        let records = &store.records;
        let mut missing = Vec::new();
        for ((kind, digest), by) in self.records {
            if records.find(kind, &digest)?.is_some() || records.erasure(&digest)?.is_some() {
                continue;
            }
            let digest = to_hex(&digest);
            if kind == RecordKind::Content {
                let object = object_of(&records.record(by)?, store.suite);
                let what = format!("the content {digest} of {}", object.id());
                missing.push(finding(by, what));
            } else {
                let what = format!("the text {digest}, a reason or a source,");
                missing.push(finding(by, what));
            }
        }
        for reference in newest_references(store) {
            let Some(&by) = self.references.get(&reference.name) else {
                continue;
            };
            let name = &reference.name;
            // A collection may have thinned the commit of a taint or a signature (REF-4).
            if let Some(commit) = kept_commit(&reference)
                && store.commit_of_any(commit)?.is_none()
            {
                missing.push(finding(by, format!("the commit {commit} that {name} names")));
            }
            for digest in reference.changes.iter().filter_map(|change| change.digest) {
                if records.find_place(digest)?.is_none() && records.erasure(digest.as_bytes())?.is_none() {
                    missing.push(finding(by, format!("the version {digest} that {name} names")));
                }
            }
        }
        let place = |found: &Finding| (found.damage.file.clone(), found.damage.offset);
        missing.sort_by_key(place);
        Ok(missing)
    }
}

fn finding(by: Locator, what: String) -> Finding {
    let cause = Cause::RecordMissing(what);
    Finding::new(Severity::Damage, &segment_name(by.segment()), by.offset(), cause)
}
