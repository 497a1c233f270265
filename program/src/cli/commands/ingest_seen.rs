//! Recognises files that were ingested before and whose objects nobody changed since, so that they are neither reviewed
//! nor compared again.
//!
//! A mark is a digest of the file, of the options and settings, and of the subtree of its document in the state. So a
//! mark stays right whatever happens to the store: after any change, the same file has another mark. The marks are in the
//! state folder of the user. They are derived: without them, ingestion only takes longer.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - SEE-1: a known mark means that ingestion would change nothing.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;

use super::prelude::*;
use crate::cli::context::xdg_folder;
use treering::Writer;
use treering::ingest::{Document, IngestOptions};
use treering::inspect::digest::{Domain, HashAlgorithm, HashSuite};

/// The number of marks from which the file of marks begins anew.
const MARKS_MAX: usize = 200_000;
/// The number of bytes of a digest in a mark.
const MARK_BYTES: usize = 16;

/// The marks of ingested files.
pub(super) struct Seen {
    file: Option<PathBuf>,
    marks: HashSet<String>,
    /// What the result depends on beside the file and the state.
    conditions: String,
}

impl Seen {
    /// Reads the marks. A missing or unreadable file has none.
    pub(super) fn open(context: &Context, options: &IngestOptions, writer: &Writer) -> Result<Self> {
        let (settings, _) = context.settings()?;
        let scope = options.scope.as_ref().map(Scope::as_str);
        let conditions = format!(
            "{} {scope:?} {} {} {settings:?}",
            env!("CARGO_PKG_VERSION"),
            writer.trust,
            options.is_vouched
        );
        let file = xdg_folder("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("ingested"));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let marks = text.iter().flat_map(|text| text.lines()).map(str::to_owned);
        Ok(Self {
            marks: marks.collect(),
            file,
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
    pub(super) fn add(&mut self, documents: &[Document], withheld: &[String], view: &View) -> Result<()> {
        let has_withheld = |document: &Document| {
            let place = |place: &String| place.rsplit_once(':').map(|(path, _)| path.to_owned());
            withheld
                .iter()
                .any(|one| place(one).as_deref() == Some(document.id().as_str()))
        };
        let mut new = String::new();
        for document in documents.iter().filter(|document| !has_withheld(document)) {
            if let Some(mark) = self.mark(document, view)?
                && self.marks.insert(mark.clone())
            {
                new.extend([&mark, "\n"]);
            }
        }
        if let Some(file) = self.file.as_ref().filter(|_| !new.is_empty()) {
            let begins_anew = self.marks.len() > MARKS_MAX;
            // A failed write only makes the next ingestion longer.
            drop(append(file, &new, begins_anew));
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

fn append(file: &Path, text: &str, begins_anew: bool) -> std::io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    let mut options = OpenOptions::new();
    options
        .create(true)
        .write(true)
        .append(!begins_anew)
        .truncate(begins_anew);
    options.open(file)?.write_all(text.as_bytes())
}
