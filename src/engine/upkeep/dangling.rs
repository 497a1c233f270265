//! Dangling references: finds contents, texts, commits and versions that records name but the log lacks.
//!
//! # Layer
//! Layer 5. A part of verify: looks up digests only.
//!
//! # Invariants
//! - NAM-1: every named record that is neither present nor erased is reported, with the record that names it.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use crate::digest::{ContentDigest, DIGEST_LEN, TextDigest};
use crate::error::{Cause, Finding, Result, Severity};
use crate::log::{Batch, Locator, Record, RecordKind, segment_name};
use crate::object::{Commit, Reference, ReferenceName};
use crate::store::{Store, object_of};

/// Records that were named but not found so far. They may follow later in the log, because a rewrite moves records that
/// others share.
#[derive(Default)]
pub(crate) struct Dangling {
    /// Contents and texts that were found. Many records may name the same one, so each is searched only once.
    found: HashSet<[u8; DIGEST_LEN]>,
    contents: Vec<(ContentDigest, Locator)>,
    texts: Vec<(TextDigest, Locator)>,
    references: HashMap<ReferenceName, Locator>,
}

impl Dangling {
    /// Adds the records that a newly applied batch names.
    pub(crate) fn add(&mut self, store: &Store, batch: &Batch) -> Result<()> {
        for record in &batch.records {
            match record.kind {
                RecordKind::Object => {
                    let content = object_of(record, store.suite).content_digest();
                    if let Some((content, _)) = content
                        && !self.found.contains(content.as_bytes())
                    {
                        if store.records.find_content(content)?.is_some() {
                            self.found.insert(*content.as_bytes());
                        } else {
                            self.contents.push((content, record.locator));
                        }
                    }
                }
                RecordKind::Commit => {
                    if let Ok(commit) = Commit::decode(&record.body) {
                        self.add_texts(store, commit.reason.into_iter().chain(commit.source), record)?;
                    }
                }
                RecordKind::Reference => {
                    if let Ok(reference) = Reference::decode(&record.body) {
                        self.add_texts(store, reference.reason, record)?;
                        self.references.insert(reference.name, record.locator);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_texts(
        &mut self,
        store: &Store,
        texts: impl IntoIterator<Item = TextDigest>,
        record: &Record,
    ) -> Result<()> {
        for text in texts {
            if self.found.contains(text.as_bytes()) {
                continue;
            }
            if store.records.find_text(text)?.is_some() {
                self.found.insert(*text.as_bytes());
            } else {
                self.texts.push((text, record.locator));
            }
        }
        Ok(())
    }

    /// Returns the findings for all records still missing after the last batch (NAM-1).
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
                missing.push(finding(
                    by,
                    format_args!("the text {text}, a reason or a source,"),
                ));
            }
        }
        let references: Vec<_> = store
            .references()
            .iter()
            .map(|entry| entry.reference.clone())
            .collect();
        for reference in references {
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
                    missing.push(finding(
                        by,
                        format_args!("the version {digest} that {name} names"),
                    ));
                }
            }
        }
        Ok(missing)
    }
}

fn finding(by: Locator, what: impl Display) -> Finding {
    let cause = Cause::RecordMissing(what.to_string());
    Finding::new(Severity::Damage, &segment_name(by.segment()), by.offset(), cause)
}
