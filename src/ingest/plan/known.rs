//! Finds the objects of a memory that documents own.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::HashMap;

use super::super::document::{DOCUMENT_KIND, Document, ENTRY_KIND, HEADING_KIND};
use super::super::format::Format;
use super::change::Existing;
use crate::error::{Error, Result};
use crate::object::{Id, Object, Value};

/// An object that a document owns.
pub(super) struct KnownObject {
    pub(super) id: Id,
    pub(super) object: Object,
    /// The indexes of the headings or entries below it, in order.
    pub(super) children: Vec<usize>,
}

/// The objects that the documents own: those below them, and those that will move into them.
#[derive(Default)]
pub(super) struct Known {
    pub(super) objects: Vec<KnownObject>,
    by_id: HashMap<Id, usize>,
    /// The ids that earlier versions of the documents stated.
    pub(super) listed: Vec<Id>,
}

impl Known {
    pub(super) fn read(documents: &[Document], existing: &dyn Existing, gone: &[Id]) -> Result<Self> {
        let mut known = Self::default();
        let paths = documents.iter().filter(|document| !document.is_list);
        for path in paths.map(|document| &document.path).chain(gone) {
            let Some(object) = existing.get(path)? else {
                continue;
            };
            if object.kind() != DOCUMENT_KIND {
                return Err(taken(path.as_str(), &object, DOCUMENT_KIND));
            }
            known.listed.extend(listed_ids(&object));
            known.walk(object, existing)?;
        }
        for document in documents {
            for section in &document.sections {
                let Some(id) = &section.id else { continue };
                if known.place(id).is_some() {
                    continue;
                }
                let Some(object) = existing.get(id)? else { continue };
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

    /// Returns the index of the object with that id.
    pub(super) fn place(&self, id: &Id) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Adds an object and the headings and entries below it.
    fn walk(&mut self, root: Object, existing: &dyn Existing) -> Result<()> {
        let Some(first) = self.add(root) else {
            return Ok(());
        };
        let mut open = vec![first];
        while let Some(place) = open.pop() {
            let id = self.objects[place].id.clone();
            let mut children = Vec::new();
            for child in existing.children(&id)? {
                if !matches!(child.kind(), HEADING_KIND | ENTRY_KIND) {
                    continue;
                }
                let known = self.by_id.get(child.id()).copied();
                let added = if known.is_some() { None } else { self.add(child) };
                open.extend(added);
                children.extend(known.or(added));
            }
            self.objects[place].children = children;
        }
        Ok(())
    }

    fn add(&mut self, object: Object) -> Option<usize> {
        let id = object.id().clone();
        let place = self.objects.len();
        if self.by_id.contains_key(&id) {
            return None;
        }
        self.by_id.insert(id.clone(), place);
        self.objects.push(KnownObject {
            id,
            object,
            children: Vec::new(),
        });
        Some(place)
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

/// Returns the error for an id that already belongs to an object of another kind.
fn taken(place: &str, object: &Object, wanted: &str) -> Error {
    Error::invalid(format!(
        "{place}: the id `{}` is that of an object of kind `{}`, not of a {wanted}",
        object.id(),
        object.kind()
    ))
    .with_hint("give it another id, or remove that object first")
    .with_ids(vec![object.id().to_string()])
}
