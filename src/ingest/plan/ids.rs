//! Assigns an id to each section: the id that the section states, else the id of the matching object, else a new id.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{HashMap, HashSet};

use super::super::derived_id::{join, slug};
use super::super::document::{Document, SectionKind};
use super::super::text::at;
use super::change::Existing;
use super::known::Known;
use crate::error::{Error, Result};
use crate::object::Id;

/// The document and the line of each stated id.
pub(super) type StatedIds<'a> = HashMap<&'a Id, (&'a Id, u64)>;

/// Returns the stated ids of the documents. Refuses an id that is stated twice.
pub(super) fn stated_ids(documents: &[Document]) -> Result<StatedIds<'_>> {
    let mut stated: StatedIds<'_> = HashMap::new();
    for document in documents.iter().filter(|document| !document.is_list) {
        if stated.insert(&document.path, (&document.path, 0)).is_some() {
            return Err(Error::invalid(format!(
                "the call contains the document `{}` twice",
                document.path
            )));
        }
    }
    for document in documents {
        for (id, line) in document.stated_ids() {
            if let Some(first) = stated.insert(id, (&document.path, line)) {
                return Err(twice(id, first, (&document.path, line)));
            }
        }
    }
    Ok(stated)
}

fn twice(id: &Id, first: (&Id, u64), second: (&Id, u64)) -> Error {
    let (path, line) = first;
    let earlier = if line == 0 {
        format!("is the path of the document `{path}`")
    } else {
        format!("is already used at {path}:{line}")
    };
    at(second.0, second.1, format_args!("the id `{id}` {earlier}"))
        .with_hint("an id names one object: change or remove one of the two")
        .with_ids(vec![id.to_string(), second.0.to_string()])
}

/// Assigns the ids of the sections of each document.
pub(super) fn assign(
    documents: &[Document],
    known: &Known,
    matched: &[Vec<Option<usize>>],
    stated: &StatedIds<'_>,
    existing: &dyn Existing,
) -> Result<Vec<Vec<Id>>> {
    let mut fresh = FreshIds {
        stated,
        existing,
        made: HashSet::new(),
        next: HashMap::new(),
    };
    let mut all = Vec::with_capacity(documents.len());
    for (number, document) in documents.iter().enumerate() {
        let mut ids: Vec<Id> = Vec::with_capacity(document.sections.len());
        // For each section, the prefix for the ids of its children: the section's id if the id is new, else the id that
        // would be derived from the titles.
        let mut bases: Vec<String> = Vec::with_capacity(document.sections.len());
        let mut entries = 0_u64;
        for (place, section) in document.sections.iter().enumerate() {
            let base = if section.kind == SectionKind::Entry {
                entries += 1;
                join(document.path.as_str(), '#', &format!("{entries:06}"))
            } else {
                let above = section.parent.map(|parent| (bases[parent].as_str(), '/'));
                let (above, separator) = above.unwrap_or((document.path.as_str(), '#'));
                join(above, separator, &slug(section.title()))
            };
            let old = matched[number][place].map(|old| known.objects[old].object.id());
            let (id, base) = match section.id.as_ref().or(old) {
                Some(id) => (id.clone(), base),
                None => {
                    let id = fresh.make(base)?;
                    let base = id.to_string();
                    (id, base)
                }
            };
            ids.push(id);
            bases.push(base);
        }
        all.push(ids);
    }
    Ok(all)
}

/// Makes ids that neither the memory nor the documents use (ING-9).
struct FreshIds<'a> {
    stated: &'a StatedIds<'a>,
    existing: &'a dyn Existing,
    made: HashSet<Id>,
    /// For each base, the number of the next id.
    next: HashMap<String, u64>,
}

impl FreshIds<'_> {
    fn make(&mut self, base: String) -> Result<Id> {
        let mut number = self.next.get(&base).copied().unwrap_or(1);
        loop {
            let id = if number == 1 {
                Id::new(&base)?
            } else {
                Id::new(&format!("{base}~{number}"))?
            };
            number += 1;
            let taken =
                self.stated.contains_key(&id) || self.made.contains(&id) || self.existing.get(&id)?.is_some();
            if !taken {
                self.next.insert(base, number);
                self.made.insert(id.clone());
                return Ok(id);
            }
        }
    }
}
