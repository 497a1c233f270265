//! Dangling references: finds contents, texts, commits and versions that records name but the log lacks.
//!
//! # Layer
//! Layer 5. A part of verify: looks up digests only.
//!
//! # Invariants
//! - NAM-1: every named record that is neither present nor erased is reported, with the record that names it.

use std::collections::HashMap;
use std::fmt::Display;

use crate::digest::{ContentDigest, TextDigest};
use crate::error::{Cause, Finding, Result, Severity};
use crate::log::{Batch, Locator, RecordKind, segment_name};
use crate::object::{Commit, Reference, ReferenceName};
use crate::store::{Store, object_of};

use crate::engine::write::snapshot::newest_references;

/// The contents, texts and references that records name, each with the first record that names it. The named record may
/// follow later in the log, because a rewrite moves records that others share.
#[derive(Default)]
pub(crate) struct Dangling {
    contents: HashMap<ContentDigest, Locator>,
    texts: HashMap<TextDigest, Locator>,
    references: HashMap<ReferenceName, Locator>,
}

impl Dangling {
    /// Adds the records that a newly applied batch names.
    pub(crate) fn add(&mut self, store: &Store, batch: &Batch) {
        for record in &batch.records {
            let (by, mut texts) = (record.locator, [None, None]);
            match record.kind {
                RecordKind::Object => {
                    if let Some((content, _)) = object_of(record, store.suite).content_digest() {
                        self.contents.entry(content).or_insert(by);
                    }
                }
                RecordKind::Commit => {
                    if let Ok(commit) = Commit::decode(&record.body) {
                        texts = [commit.reason, commit.source];
                    }
                }
                RecordKind::Reference => {
                    if let Ok(reference) = Reference::decode(&record.body) {
                        texts = [reference.reason, None];
                        self.references.insert(reference.name, by);
                    }
                }
                _ => {}
            }
            for text in texts.into_iter().flatten() {
                self.texts.entry(text).or_insert(by);
            }
        }
    }

    /// Returns the findings for all records that are missing after the last batch (NAM-1), in the order of the log.
    pub(crate) fn missing(self, store: &Store) -> Result<Vec<Finding>> {
        let records = &store.records;
        let mut missing = Vec::new();
        for (content, by) in self.contents {
            if records.find_content(content)?.is_none() && records.erasure(content.as_bytes())?.is_none() {
                let object = object_of(&records.record(by)?, store.suite);
                missing.push(finding(
                    by,
                    format_args!("the content {content} of {}", object.id()),
                ));
            }
        }
        for (text, by) in self.texts {
            if records.find_text(text)?.is_none() && records.erasure(text.as_bytes())?.is_none() {
                let what = format_args!("the text {text}, a reason or a source,");
                missing.push(finding(by, what));
            }
        }
        for reference in newest_references(store) {
            let Some(&by) = self.references.get(&reference.name) else {
                continue;
            };
            let name = &reference.name;
            if let Some(commit) = reference.commit
                && store.by_digest(commit)?.is_none()
            {
                missing.push(finding(by, format_args!("the commit {commit} that {name} names")));
            }
            for digest in reference.changes.iter().filter_map(|change| change.digest) {
                if records.find_place(digest)?.is_none() && records.erasure(digest.as_bytes())?.is_none() {
                    let what = format_args!("the version {digest} that {name} names");
                    missing.push(finding(by, what));
                }
            }
        }
        let place = |found: &Finding| (found.damage.file.clone(), found.damage.offset);
        missing.sort_by_key(place);
        Ok(missing)
    }
}

fn finding(by: Locator, what: impl Display) -> Finding {
    let cause = Cause::RecordMissing(what.to_string());
    Finding::new(Severity::Damage, &segment_name(by.segment()), by.offset(), cause)
}
