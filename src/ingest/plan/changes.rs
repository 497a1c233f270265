//! Compares documents, whose sections have ids already, with their known objects. Lists the objects to write and to
//! remove.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::super::document::{Document, Section, SectionKind};
use super::super::json::{Fields, Stated};
use super::super::order;
use super::change::{Change, Existing, IngestOptions, Write};
use super::known::Known;
use super::matching::children_by_parent;
use crate::error::Result;
use crate::object::{Id, Kind, NewObject, Object, Origin, Position, Scope};

/// Returns the change that makes the memory contain the documents.
pub(super) fn changes(
    documents: &[Document],
    known: &Known,
    ids: &[Vec<Id>],
    existing: &dyn Existing,
    options: &IngestOptions,
) -> Result<Change> {
    let mut writer = Writer {
        known,
        existing,
        options,
        change: Change::default(),
        stays: HashSet::new(),
    };
    for (document, ids) in documents.iter().zip(ids) {
        writer.put_document(document)?;
        writer.put_sections(document, ids)?;
        writer.put_objects(document)?;
    }
    writer.remove_others()?;
    Ok(writer.change)
}

/// Returns the stated positions of siblings. Returns `None` if the file omits a position, or if the siblings are not in
/// the order of their positions. For the top objects of a list, allows both, and an omitted position is `None`.
fn stated_positions(
    document: &Document,
    ids: &[Id],
    parent: Option<usize>,
    children: &[usize],
) -> Option<Vec<Option<Position>>> {
    let top_of_list = document.is_list && parent.is_none();
    let stated = children
        .iter()
        .map(|child| match &document.sections[*child].stated.position {
            Stated::As(position) => Some(Some(position.clone())),
            Stated::Absent => Some(None),
            Stated::Not => top_of_list.then_some(None),
        });
    let stated: Vec<Option<Position>> = stated.collect::<Option<_>>()?;
    let order = |(child, key): (&usize, &Option<Position>)| (key.is_none(), key.clone(), ids[*child].clone());
    let in_order = children.iter().zip(&stated).map(order).is_sorted();
    (in_order || top_of_list).then_some(stated)
}

/// Returns the object of a section, without its parent and position.
fn object_of(section: &Section, id: &Id, old: Option<&Object>) -> Result<NewObject> {
    let mut object = NewObject::new(id.clone(), Kind::new(section.kind_name())?);
    object.attributes = section.attributes.clone();
    object.content.clone_from(&section.content);
    object.event_time = match section.kind {
        SectionKind::Entry => section.event_time,
        // Files and headings state no time, so their objects keep the old time.
        SectionKind::Document | SectionKind::Heading => old.and_then(Object::event_time),
    };
    Ok(object)
}

/// The scope and origin that the file states for an object or its nearest ancestor.
type Inherited<'a> = (Option<&'a Scope>, Option<Origin>);

/// Collects the change.
struct Writer<'a> {
    known: &'a Known,
    existing: &'a dyn Existing,
    options: &'a IngestOptions,
    change: Change,
    /// The ids of all objects that the documents state.
    stays: HashSet<Id>,
}

impl Writer<'_> {
    fn put_document(&mut self, document: &Document) -> Result<()> {
        if document.is_list {
            return Ok(());
        }
        let old = self.known.place_of_document(&document.path);
        let old = old.map(|place| &self.known.objects[place].object);
        let mut object = object_of(&document.root, &document.path, old)?;
        if let Some(old) = old {
            // A file does not state the parent of its document, so the old parent is kept.
            object.parent = old.parent().map(Id::new).transpose()?;
            object.position = old.position().map(Position::new).transpose()?;
        }
        let stated = &document.root.stated;
        if stated.position != Stated::Not {
            object.position = stated.position.clone().value();
        }
        self.change.roots.push(document.path.clone());
        let own = (stated.scope.as_ref(), stated.origin);
        self.put(object, old, own, Some(stated), (document, 0))
    }

    fn put_sections(&mut self, document: &Document, ids: &[Id]) -> Result<()> {
        let old_of = |section: usize| self.known.object(&ids[section]);
        let mut keys: Vec<Option<Position>> = vec![None; document.sections.len()];
        for (parent, children) in children_by_parent(document) {
            if let Some(stated) = stated_positions(document, ids, parent, &children) {
                children
                    .iter()
                    .zip(stated)
                    .for_each(|(child, key)| keys[*child] = key);
                continue;
            }
            let parent = parent.map_or(&document.path, |parent| &ids[parent]);
            // Keeps the old key only if the parent is the same, because a key is valid only among the siblings for
            // which it was made.
            let old_key = |child: &usize| match &document.sections[*child].stated.position {
                Stated::As(stated) => Some(stated.as_str()),
                Stated::Absent => None,
                Stated::Not => old_of(*child)?
                    .position()
                    .filter(|_| old_of(*child).and_then(Object::parent) == Some(parent.as_str())),
            };
            let assigned = order::assign(&children.iter().map(old_key).collect::<Vec<_>>());
            if assigned.respaced {
                self.change.respaced.push(parent.clone());
            }
            for (child, key) in children.into_iter().zip(assigned.keys) {
                keys[child] = Some(Position::new(&key)?);
            }
        }
        // A section that does not state scope or origin inherits them from its parent.
        let root = &document.root.stated;
        let of_document = (root.scope.as_ref(), root.origin);
        let mut inherited: Vec<Inherited<'_>> = Vec::with_capacity(document.sections.len());
        for (place, section) in document.sections.iter().enumerate() {
            let (scope, origin) = section.parent.map_or(of_document, |parent| inherited[parent]);
            let own = (
                section.stated.scope.as_ref().or(scope),
                section.stated.origin.or(origin),
            );
            let old = old_of(place);
            let mut object = object_of(section, &ids[place], old)?;
            let top = (!document.is_list).then_some(&document.path);
            object.parent = section.parent.map_or(top, |parent| Some(&ids[parent])).cloned();
            object.position = keys[place].take();
            self.put(object, old, own, Some(&section.stated), (document, section.line))?;
            inherited.push(own);
        }
        Ok(())
    }

    fn put_objects(&mut self, document: &Document) -> Result<()> {
        for (number, line) in &document.objects {
            let mut stated = line.object.clone();
            if line.past {
                self.change.past.push(Write {
                    object: stated,
                    origin: line.origin,
                });
                continue;
            }
            stated.parent.get_or_insert_with(|| document.path.clone());
            let old = self.existing.get(&stated.id)?;
            let own = (line.has_scope.then_some(&line.object.scope), line.origin);
            self.put(stated, old.as_ref(), own, None, (document, *number))?;
        }
        Ok(())
    }

    /// Adds an object to the change if the object is new or differs from its old version.
    ///
    /// Fields that the file does not state keep their old values. If `stated` is `None`, the object comes from a JSON
    /// line, which states all of its fields.
    fn put(
        &mut self,
        mut object: NewObject,
        old: Option<&Object>,
        (scope, origin): Inherited<'_>,
        stated: Option<&Fields>,
        (document, line): (&Document, u64),
    ) -> Result<()> {
        let before = old.map(Object::to_new).transpose()?;
        let kept = before.as_ref().map(|before| &before.scope);
        let scope = scope.or(self.options.scope.as_ref()).or(kept);
        object.scope = scope.cloned().unwrap_or_default();
        if let Some(stated) = stated {
            if let Some(before) = &before {
                object.derived_from.clone_from(&before.derived_from);
                object.expires = before.expires;
                object.reserved.clone_from(&before.reserved);
            }
            stated.apply(&mut object);
        }
        self.stays.insert(object.id.clone());
        let is_raised = self.options.is_vouched
            && old.is_some_and(|old| !old.origin().is_trusted())
            && origin.is_none_or(Origin::is_trusted);
        if before.as_ref() == Some(&object) && !is_raised {
            self.change.unchanged += 1;
            return Ok(());
        }
        // Encoding here lets the error name the line that breaks a rule.
        let old_origin = old.map_or(Origin::Document, Object::origin);
        let encoded = self
            .existing
            .check(&object)
            .and_then(|()| object.encode(old_origin, self.existing.hash()))
            .map_err(|error| document.locate(line, error.with_ids(vec![object.id.to_string()])))?;
        if old.is_some_and(|old| encoded.same_meaning(old)) && !is_raised {
            self.change.unchanged += 1;
            return Ok(());
        }
        // A renamed document is a new object.
        let count = match old.filter(|old| *old.id() == object.id) {
            Some(_) => &mut self.change.updated,
            None => &mut self.change.created,
        };
        *count += 1;
        self.change.put.push(Write { object, origin });
        Ok(())
    }

    /// Removes the objects that the documents owned and no longer state (ING-10).
    fn remove_others(&mut self) -> Result<()> {
        let mut leaving: HashMap<Id, Option<Id>> = HashMap::new();
        let mut leave = |object: &Object| -> Result<()> {
            if !self.stays.contains(object.id()) {
                leaving.insert(object.id().clone(), object.parent().map(Id::new).transpose()?);
            }
            Ok(())
        };
        for known in &self.known.objects {
            leave(&known.object)?;
        }
        for id in self.known.listed.iter().filter(|id| !self.stays.contains(*id)) {
            self.existing.get(id)?.as_ref().map_or(Ok(()), &mut leave)?;
        }
        let order = children_first(&leaving);
        for id in &order {
            for child in self.existing.children(id)? {
                if !leaving.contains_key(child.id()) && !self.stays.contains(child.id()) {
                    self.move_up(&child, id, &leaving)?;
                }
            }
        }
        self.change.removed = order.len() as u64;
        self.change.remove = order;
        Ok(())
    }

    /// Moves an object of another owner to the nearest ancestor that is not removed.
    fn move_up(&mut self, child: &Object, parent: &Id, leaving: &HashMap<Id, Option<Id>>) -> Result<()> {
        let mut above = Some(parent);
        while let Some(next) = above.and_then(|id| leaving.get(id)) {
            above = next.as_ref();
        }
        let mut object = child.to_new()?;
        object.parent = above.cloned();
        self.change.updated += 1;
        self.change.put.push(Write {
            object,
            origin: Some(child.origin()),
        });
        Ok(())
    }
}

/// Sorts the ids of a map from ids to parents: children before parents, then by their bytes.
fn children_first(parents: &HashMap<Id, Option<Id>>) -> Vec<Id> {
    let mut depths: HashMap<&Id, usize> = HashMap::new();
    for id in parents.keys() {
        let mut path = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| parents.contains_key(*id) && !depths.contains_key(id)) {
            depths.insert(id, 0);
            path.push(id);
            next = parents[id].as_ref();
        }
        let depth = next.and_then(|id| depths.get(id)).map_or(0, |above| above + 1);
        depths.extend(path.into_iter().rev().zip(depth..));
    }
    let mut order: Vec<&Id> = parents.keys().collect();
    order.sort_unstable_by_key(|id| (Reverse(depths[id]), *id));
    order.into_iter().cloned().collect()
}
