//! Recognises files that were ingested before and whose objects nobody changed since, so that they are neither reviewed
//! nor compared again.
//!
//! A mark is a digest of the file, of the options and settings, and of the subtree of its document in the state. So a
//! mark stays right whatever happens to the store: after any change, the same file has another mark. The marks are a
//! derived file of the store, which an erasure removes. Without them, ingestion only takes longer.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - SEE-1: a known mark means that ingestion would change nothing.

use std::collections::HashSet;

use super::prelude::*;
use treering::Writer;
use treering::ingest::{Document, IngestOptions};
use treering::inspect::digest::{Domain, HashAlgorithm, HashSuite};

/// The name of the derived file, which has a mark in each line.
const FILE: &str = "ingested";
/// The number of marks from which the file of marks begins anew.
const MARKS_MAX: usize = 200_000;
/// The number of bytes of a digest in a mark.
const MARK_BYTES: usize = 16;

/// The marks of ingested files.
pub(super) struct Seen {
    marks: HashSet<String>,
    /// What the result depends on beside the file and the state.
    conditions: String,
}

impl Seen {
    /// Reads the marks. A missing or unreadable file has none.
    pub(super) fn open(
        context: &Context,
        memory: &Memory,
        options: &IngestOptions,
        writer: &Writer,
    ) -> Result<Self> {
        let (settings, _) = context.settings()?;
        let scope = options.scope.as_ref().map(Scope::as_str);
        let conditions = format!(
            "{} {scope:?} {} {} {settings:?}",
            env!("CARGO_PKG_VERSION"),
            writer.trust,
            options.is_vouched
        );
        let bytes = memory.derived(FILE).ok().flatten().unwrap_or_default();
        let marks = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(Self {
            marks: marks
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect(),
            conditions,
        })
    }

    /// Removes and returns the documents whose ingestion would change nothing (SEE-1).
    pub(super) fn take(&self, documents: &mut Vec<Document>, view: &View) -> Result<Vec<Document>> {
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for document in std::mem::take(documents) {
            let is_known = !self.marks.is_empty()
                && self
                    .mark(&document, view)?
                    .is_some_and(|mark| self.marks.contains(&mark));
            if is_known { &mut known } else { &mut others }.push(document);
        }
        *documents = others;
        Ok(known)
    }

    /// Stores the marks of ingested documents. A document with withheld texts gets none, because a person decides about
    /// them.
    pub(super) fn add(&mut self, memory: &Memory, documents: &[Document], withheld: &[String]) -> Result<()> {
        let has_withheld = |document: &Document| {
            let place = |place: &String| place.rsplit_once(':').map(|(path, _)| path.to_owned());
            withheld
                .iter()
                .any(|one| place(one).as_deref() == Some(document.id().as_str()))
        };
        let (view, mut is_new) = (memory.view(), false);
        for document in documents.iter().filter(|document| !has_withheld(document)) {
            let Some(mark) = self
                .mark(document, &view)?
                .filter(|mark| !self.marks.contains(mark))
            else {
                continue;
            };
            if !is_new && self.marks.len() >= MARKS_MAX {
                self.marks.clear();
            }
            is_new |= self.marks.insert(mark);
        }
        if is_new {
            let lines: Vec<&str> = self.marks.iter().map(String::as_str).collect();
            // A failed write only makes the next ingestion longer.
            drop(memory.keep_derived(FILE, lines.join("\n").as_bytes(), &view));
        }
        Ok(())
    }

    /// Returns the mark of a document, if the state has it.
    fn mark(&self, document: &Document, view: &View) -> Result<Option<String>> {
        let Some((fingerprint, _)) = document.fingerprint() else {
            return Ok(None);
        };
        let Some(subtree) = view.subtree_digest(document.id())? else {
            return Ok(None);
        };
        let path = document.id().as_str();
        let whole = format!(
            "{}:{path} {fingerprint} {subtree} {}",
            path.len(),
            self.conditions
        );
        let digest = HashSuite::new(HashAlgorithm::Blake3).hash_bytes(Domain::Text, whole.as_bytes());
        Ok(Some(to_hex(&digest[..MARK_BYTES])))
    }
}
