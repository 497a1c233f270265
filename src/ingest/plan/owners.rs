//! Refuses an id that belongs to a document outside this call.
//!
//! A heading with a stated id can move between documents that are ingested together. But if another file stated the
//! same id, each ingestion would take the object from the other file. So such an id is refused.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{HashMap, HashSet};

use super::super::document::{DOCUMENT_KIND, Document, ENTRY_KIND, HEADING_KIND};
use super::super::format::Format;
use super::super::text::at;
use super::change::Existing;
use crate::error::{ErrorCode, Result};
use crate::object::{Id, Object, Value};

/// Finds the owners of objects among the documents outside this call.
pub(super) struct Owners<'a> {
    existing: &'a dyn Existing,
    seen: HashSet<&'a Id>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(documents: &'a [Document], existing: &'a dyn Existing, gone: &'a [Id]) -> Self {
        // A list may also contain documents, each as a section.
        let stated = documents.iter().flat_map(|document| &document.sections);
        let stated = stated.filter_map(|section| section.id.as_ref());
        let paths = documents.iter().map(|document| &document.path);
        Self {
            existing,
            seen: paths.chain(stated).chain(gone).collect(),
        }
    }

    /// Refuses an object that `document` states at `line`, if the object is in another document, or is another
    /// document.
    pub(super) fn check(&self, document: &Document, line: u64, object: &Object) -> Result<()> {
        let mut above = Some(object.clone());
        while let Some(next) = above {
            if next.kind() == DOCUMENT_KIND {
                return self.check_owner(document, line, object.id(), next.id());
            }
            above = match next.parent() {
                Some(parent) => self.existing.get(&Id::new(parent)?)?,
                None => None,
            };
        }
        Ok(())
    }

    fn check_owner(&self, document: &Document, line: u64, id: &Id, owner: &Id) -> Result<()> {
        if self.seen.contains(owner) {
            return Ok(());
        }
        let why = format!("the id `{id}` belongs to the document `{owner}`");
        Err(at(&document.path, line, why)
            .with_code(ErrorCode::IdInUse)
            .with_hint("use another id here; if the object moved to this file, ingest both files together")
            .with_ids(vec![id.to_string(), owner.to_string(), document.path.to_string()]))
    }

    /// Checks the objects of JSON Lines files. Such an object belongs to the document whose lines state it. Without
    /// such a document, a heading or entry belongs to the document above it.
    pub(super) fn check_lines(&self, documents: &[Document]) -> Result<()> {
        let mut lists = None;
        for document in documents {
            for (line, stated) in document.live_objects() {
                let id = &stated.object.id;
                let Some(old) = self.existing.get(id)? else {
                    continue;
                };
                let lists = match &mut lists {
                    Some(lists) => lists,
                    None => lists.insert(self.lists()?),
                };
                match lists.get(id) {
                    Some(list) => self.check_owner(document, *line, id, list)?,
                    None if [DOCUMENT_KIND, HEADING_KIND, ENTRY_KIND].contains(&old.kind()) => {
                        self.check(document, *line, &old)?;
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the document of each object that a JSON Lines file stated.
    fn lists(&self) -> Result<HashMap<Id, Id>> {
        let mut lists = HashMap::new();
        for document in self.existing.documents()? {
            if let Some(object) = self.existing.get(&document)? {
                lists.extend(listed_ids(&object).into_iter().map(|id| (id, document.clone())));
            }
        }
        Ok(lists)
    }
}

/// Returns the ids of the objects that a JSON Lines file stated, from the content of its document. Any writer may put
/// such a document, so a line that is not an id is skipped.
pub(super) fn listed_ids(document: &Object) -> Vec<Id> {
    let format = document.attribute("format");
    if format.as_ref().and_then(Value::as_text) != Some(Format::JsonLines.name()) {
        return Vec::new();
    }
    let lines = document.content().unwrap_or_default().lines();
    lines.filter_map(|line| Id::new(line).ok()).collect()
}
