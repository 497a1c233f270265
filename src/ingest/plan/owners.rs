//! Refuses an id that belongs to a document outside this call.
//!
//! A heading with a stated id can move between documents that are ingested together. But if another file stated the
//! same id, each ingestion would take the object from the other file. So such an id is refused.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{HashMap, HashSet};

use super::super::document::{DOCUMENT_KIND, Document, ENTRY_KIND, HEADING_KIND};
use super::super::text::at;
use super::change::Existing;
use super::known::listed_ids;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object};

/// Checks every id that the documents state.
pub(super) fn check(documents: &[Document], existing: &dyn Existing, gone: &[Id]) -> Result<()> {
    // The objects of a list may be documents too.
    let stated = documents.iter().flat_map(|document| &document.sections);
    let seen = documents
        .iter()
        .map(|document| &document.path)
        .chain(stated.filter_map(|section| section.id.as_ref()));
    let mut owners = Owners {
        existing,
        seen: seen.chain(gone).collect(),
        lists: None,
    };
    for document in documents {
        for section in &document.sections {
            let Some(id) = &section.id else { continue };
            let Some(object) = existing.get(id)? else { continue };
            if let Some(owner) = owners.above(object)? {
                return Err(belongs(document, section.line, id, &owner));
            }
        }
        for object in document.live_objects() {
            let id = &object.stated.object.id;
            let Some(old) = existing.get(id)? else { continue };
            if let Some(owner) = owners.of_stated(id, old)? {
                return Err(belongs(document, object.line, id, &owner));
            }
        }
    }
    Ok(())
}

/// Finds the owners of objects among the documents outside this call.
struct Owners<'a> {
    existing: &'a dyn Existing,
    seen: HashSet<&'a Id>,
    /// The document of each object that a JSON Lines file stated. It is read at the first use.
    lists: Option<HashMap<Id, Id>>,
}

impl Owners<'_> {
    /// Returns the document that contains an object, or the object itself if it is a document.
    fn above(&self, object: Object) -> Result<Option<Id>> {
        let mut above = Some(object);
        while let Some(object) = above {
            if object.kind() == DOCUMENT_KIND {
                let owner = object.id().clone();
                return Ok((!self.seen.contains(&owner)).then_some(owner));
            }
            above = match object.parent() {
                Some(parent) => self.existing.get(&Id::new(parent)?)?,
                None => None,
            };
        }
        Ok(None)
    }

    /// Returns the document whose lines state an object, else the document that contains the heading or entry.
    fn of_stated(&mut self, id: &Id, object: Object) -> Result<Option<Id>> {
        let lists = match self.lists.take() {
            Some(lists) => lists,
            None => self.read_lists()?,
        };
        let list = lists.get(id).cloned();
        self.lists = Some(lists);
        match list {
            Some(list) => Ok((!self.seen.contains(&list)).then_some(list)),
            None if [DOCUMENT_KIND, HEADING_KIND, ENTRY_KIND].contains(&object.kind()) => self.above(object),
            None => Ok(None),
        }
    }

    fn read_lists(&self) -> Result<HashMap<Id, Id>> {
        let mut lists = HashMap::new();
        for document in self.existing.documents()? {
            if let Some(object) = self.existing.get(&document)? {
                lists.extend(listed_ids(&object).into_iter().map(|id| (id, document.clone())));
            }
        }
        Ok(lists)
    }
}

fn belongs(document: &Document, line: u64, id: &Id, owner: &Id) -> Error {
    at(
        &document.path,
        line,
        format_args!("the id `{id}` belongs to the document `{owner}`"),
    )
    .with_code(ErrorCode::IdInUse)
    .with_hint("an id names one object: change it here; if it moved here, ingest both files together")
    .with_ids(vec![id.to_string(), owner.to_string(), document.path.to_string()])
}
