//! Finds the objects of a memory that documents own.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::HashMap;

use super::super::document::{DOCUMENT_KIND, Document, ENTRY_KIND, HEADING_KIND};
use super::change::Existing;
use super::owners::{Owners, listed_ids};
use crate::error::{Error, Result};
use crate::object::{Id, Object};

/// An object that a document owns.
pub(super) struct KnownObject {
    pub(super) object: Object,
    /// The indexes of the headings or entries below the object, in order.
    pub(super) children: Vec<usize>,
}

/// The objects that the documents own: the objects below the documents, and the objects that will move into the
/// documents.
#[derive(Default)]
pub(super) struct Known {
    pub(super) objects: Vec<KnownObject>,
    by_id: HashMap<Id, usize>,
    /// The ids that earlier versions of the documents stated.
    pub(super) listed: Vec<Id>,
    /// The former id of each renamed document, by its new id.
    former: HashMap<Id, Id>,
}

impl Known {
    pub(super) fn read(
        documents: &[Document],
        owners: &Owners<'_>,
        existing: &dyn Existing,
        gone: &[Id],
        renames: &[(Id, Id)],
    ) -> Result<Self> {
        let former = renames.iter().map(|(former, new)| (new.clone(), former.clone()));
        let mut known = Self {
            former: former.collect(),
            ..Self::default()
        };
        let paths = documents.iter().filter(|document| !document.is_list);
        for path in paths.map(|document| &document.path).chain(gone) {
            let Some(object) = existing.get(path)? else {
                continue;
            };
            if object.kind() != DOCUMENT_KIND {
                return Err(taken(path.as_str(), &object, DOCUMENT_KIND));
            }
            known.listed.extend(listed_ids(&object));
            if known.place(path).is_none() {
                known.walk(object, existing)?;
            }
        }
        for document in documents {
            for section in &document.sections {
                let Some(id) = &section.id else { continue };
                if known.place(id).is_some() {
                    continue;
                }
                let Some(object) = existing.get(id)? else { continue };
                owners.check(document, section.line, &object)?;
                if object.kind() != section.kind_name() {
                    return Err(taken(
                        &format!("{}:{}", document.path, section.line),
                        &object,
                        section.kind_name(),
                    ));
                }
                known.walk(object, existing)?;
            }
        }
        Ok(known)
    }

    /// Returns the index of the object with this id.
    pub(super) fn place(&self, id: &Id) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns the index of a document, or of its former object if its file was renamed.
    pub(super) fn place_of_document(&self, path: &Id) -> Option<usize> {
        self.place(path).or_else(|| self.place(self.former.get(path)?))
    }

    /// Returns the object with this id.
    pub(super) fn object(&self, id: &Id) -> Option<&Object> {
        self.place(id).map(|place| &self.objects[place].object)
    }

    /// Adds an object that is not yet known, with the headings and entries below it.
    fn walk(&mut self, root: Object, existing: &dyn Existing) -> Result<()> {
        let mut open = vec![self.add(root)];
        while let Some(place) = open.pop() {
            let id = self.objects[place].object.id().clone();
            for child in existing.children(&id)? {
                if !matches!(child.kind(), HEADING_KIND | ENTRY_KIND) {
                    continue;
                }
                let known = self.place(child.id());
                let child = known.unwrap_or_else(|| self.add(child));
                if known.is_none() {
                    open.push(child);
                }
                self.objects[place].children.push(child);
            }
        }
        Ok(())
    }

    fn add(&mut self, object: Object) -> usize {
        let place = self.objects.len();
        self.by_id.insert(object.id().clone(), place);
        self.objects.push(KnownObject {
            object,
            children: Vec::new(),
        });
        place
    }
}

/// Returns the error for an id that already belongs to an object of another kind.
fn taken(place: &str, object: &Object, wanted: &str) -> Error {
    Error::invalid(format!(
        "{place}: the id `{}` belongs to an object of kind `{}`, not to a {wanted}",
        object.id(),
        object.kind()
    ))
    .with_hint("use another id here, or remove the existing object first")
    .with_ids(vec![object.id().to_string()])
}
