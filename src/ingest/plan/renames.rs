//! Recognises renamed and moved files: a new document, and a known document whose file is missing.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{HashMap, HashSet};

use super::super::document::{DOCUMENT_KIND, Document, title_of};
use super::change::{Existing, IngestOptions};
use crate::error::Result;
use crate::object::{Attributes, Id, Object, hash_content};

/// The former and the new id of each renamed document.
pub(super) type Renames = Vec<(Id, Id)>;

/// Finds the renamed documents. A new document is the new form of a missing one if it states an id of its headings, and
/// the new documents state all of them, or if it has the same texts and the same file name or top folder. The file name comes
/// first. So a rename never removes a heading: the file of the missing
/// document may exist, because its path may be relative to another folder.
pub(super) fn find(
    documents: &[Document],
    existing: &dyn Existing,
    options: &IngestOptions,
) -> Result<Renames> {
    let mut renames = Renames::new();
    let here: HashSet<&Id> = documents.iter().map(|document| &document.path).collect();
    let mut absent: Vec<&Id> = options.absent.iter().filter(|id| !here.contains(id)).collect();
    let mut new = Vec::new();
    for document in documents
        .iter()
        .filter(|document| !document.is_list && !absent.is_empty())
    {
        if existing.get(&document.path)?.is_none() {
            new.push(document);
        }
    }
    if new.is_empty() || absent.is_empty() {
        return Ok(renames);
    }
    let stated: HashSet<&Id> = new
        .iter()
        .flat_map(|document| document.stated_ids().map(|(id, _)| id))
        .collect();
    let mut left = Vec::new();
    for document in new {
        let former = owner_of_stated(document, existing, &absent)?;
        match former.filter(|former| states_all(former, existing, &stated).unwrap_or(false)) {
            Some(former) => take(&mut absent, &former, document, &mut renames),
            None => left.push(document),
        }
    }
    let mut by_text: HashMap<Vec<u8>, Vec<Id>> = HashMap::new();
    for id in absent.clone() {
        if let Some(text) = text_of_stored(id, existing)? {
            by_text.entry(text).or_default().push(id.clone());
        }
    }
    for same_name in [true, false] {
        left.retain(|document| {
            let candidates = text_of(document, existing).and_then(|text| by_text.get_mut(&text));
            let Some(candidates) = candidates else { return true };
            let fits = |id: &Id| {
                if same_name {
                    return file_name(id) == file_name(&document.path);
                }
                top_folder(id) == top_folder(&document.path)
            };
            let Some(place) = candidates.iter().position(fits) else {
                return true;
            };
            renames.push((candidates.remove(place), document.path.clone()));
            false
        });
    }
    Ok(renames)
}

fn take(absent: &mut Vec<&Id>, former: &Id, document: &Document, renames: &mut Renames) {
    absent.retain(|id| *id != former);
    renames.push((former.clone(), document.path.clone()));
}

fn top_folder(id: &Id) -> Option<&str> {
    id.as_str().split_once('/').map(|(folder, _)| folder)
}

/// Returns whether the new documents state the id of each object below a former document. An id that was made of its path
/// counts as stated.
fn states_all(former: &Id, existing: &dyn Existing, stated: &HashSet<&Id>) -> Result<bool> {
    let of_path = format!("{former}#");
    let mut waiting = existing.children(former)?;
    while let Some(object) = waiting.pop() {
        if !stated.contains(object.id()) && !object.id().as_str().starts_with(&of_path) {
            return Ok(false);
        }
        waiting.extend(existing.children(object.id())?);
    }
    Ok(true)
}

fn file_name(id: &Id) -> &str {
    id.as_str().rsplit('/').next().unwrap_or_default()
}

/// Returns the missing document that has the first known id that a document states.
fn owner_of_stated(document: &Document, existing: &dyn Existing, absent: &[&Id]) -> Result<Option<Id>> {
    for (id, _) in document.stated_ids() {
        let mut above = existing.get(id)?;
        while let Some(object) = above {
            if object.kind() == DOCUMENT_KIND {
                let found = absent.iter().find(|absent| **absent == object.id());
                if let Some(found) = found {
                    return Ok(Some((*found).clone()));
                }
                break;
            }
            above = match object.parent() {
                Some(parent) => existing.get(&Id::new(parent)?)?,
                None => None,
            };
        }
    }
    Ok(None)
}

/// The texts of a document: the titles and contents in order. Collects them as bytes that two documents share only if
/// their texts are equal.
#[derive(Default)]
struct Texts(Vec<u8>, bool);

impl Texts {
    fn add(&mut self, title: &str, content: Option<&str>, existing: &dyn Existing) {
        for text in [title, content.unwrap_or_default()] {
            self.1 |= !text.trim().is_empty();
            let digest = hash_content(existing.hash(), text.as_bytes());
            self.0.extend_from_slice(digest.as_bytes());
        }
    }

    /// Returns the bytes, or `None` if the document has no text by which it could be recognised.
    fn finish(self) -> Option<Vec<u8>> {
        self.1.then_some(self.0)
    }
}

fn text_of(document: &Document, existing: &dyn Existing) -> Option<Vec<u8>> {
    let mut texts = Texts::default();
    texts.add("", document.root.content.as_deref(), existing);
    for section in &document.sections {
        texts.add(section.title(), section.content.as_deref(), existing);
    }
    texts.finish()
}

fn text_of_stored(id: &Id, existing: &dyn Existing) -> Result<Option<Vec<u8>>> {
    let mut texts = Texts::default();
    let mut waiting: Vec<Object> = existing.get(id)?.into_iter().collect();
    while let Some(object) = waiting.pop() {
        let is_root = object.kind() == DOCUMENT_KIND;
        let attributes: Attributes = object.attributes();
        texts.add(
            if is_root { "" } else { title_of(&attributes) },
            object.content(),
            existing,
        );
        let children = existing.children(object.id())?;
        waiting.extend(
            children
                .into_iter()
                .rev()
                .filter(|child| child.kind() != DOCUMENT_KIND),
        );
    }
    Ok(texts.finish())
}
