//! From documents with ids to the objects that have to be written and removed.
//!
//! # Layer
//! L6, inside `ingest`.

use std::collections::{HashMap, HashSet};

use super::super::document::{DOCUMENT_KIND, Document, Place, SectionKind};
use super::super::json::ObjectLine;
use super::super::order;
use super::super::statement::{self, Rest};
use super::known::Known;
use super::matching::{Matched, children_by_parent};
use super::{Change, Existing, IngestOptions, Write};
use crate::error::Result;
use crate::object::{Id, Kind, NewObject, Object, Origin, Position, Scope};

/// Collects the change.
pub(super) fn changes(
    documents: &[Document],
    known: &Known,
    matched: &Matched,
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
    for (number, document) in documents.iter().enumerate() {
        writer.put_document(document)?;
        writer.put_sections(document, &ids[number], &|section| matched.of(number, section))?;
        writer.put_objects(document)?;
    }
    writer.remove_others()?;
    Ok(writer.change)
}

/// What a file says of an object besides its parts.
struct Stated<'a> {
    scope: Option<&'a Scope>,
    origin: Option<Origin>,
    /// The other fields; nothing where a line states the whole object.
    rest: Option<&'a Rest>,
}

impl<'a> Stated<'a> {
    fn file(rest: &'a Rest) -> Self {
        Self {
            scope: rest.scope.as_ref(),
            origin: rest.origin,
            rest: Some(rest),
        }
    }

    fn line(line: &'a ObjectLine) -> Self {
        Self {
            scope: line.has_scope.then_some(&line.object.scope),
            origin: line.origin,
            rest: None,
        }
    }
}

/// The positions of siblings as the file states them: those of all, in their order. The top of a list of objects has
/// none but these.
fn stated_positions(
    document: &Document,
    ids: &[Id],
    parent: Option<usize>,
    children: &[usize],
) -> Option<Vec<Option<Position>>> {
    let top_of_list = document.is_list && parent.is_none();
    let stated = children
        .iter()
        .map(|child| match &document.sections[*child].rest.position {
            statement::Stated::As(position) => Some(Some(position.clone())),
            statement::Stated::Absent => Some(None),
            statement::Stated::Not => top_of_list.then_some(None),
        });
    let stated: Vec<Option<Position>> = stated.collect::<Option<_>>()?;
    let order = |(child, key): (&usize, &Option<Position>)| (key.is_none(), key.clone(), ids[*child].clone());
    let in_order = children.iter().zip(&stated).map(order).is_sorted();
    (in_order || top_of_list).then_some(stated)
}

struct Writer<'a> {
    known: &'a Known,
    existing: &'a dyn Existing,
    options: &'a IngestOptions,
    change: Change,
    /// Ids of everything that the documents say.
    stays: HashSet<Id>,
}

impl Writer<'_> {
    fn put_document(&mut self, document: &Document) -> Result<()> {
        if document.is_list {
            return Ok(());
        }
        let mut object = NewObject::new(document.path.clone(), Kind::new(DOCUMENT_KIND)?);
        object.attributes = document.attributes.clone();
        object.content.clone_from(&document.content);
        let old = self
            .known
            .place(&document.path)
            .map(|place| &self.known.objects[place].object);
        if let Some(old) = old {
            // Where a document hangs is not in the file.
            object.parent = old.parent().map(Id::new).transpose()?;
            object.position = old.position().map(Position::new).transpose()?;
            object.event_time = old.event_time();
        }
        match &document.rest.position {
            statement::Stated::Not => {}
            statement::Stated::Absent => object.position = None,
            statement::Stated::As(position) => object.position = Some(position.clone()),
        }
        self.change.roots.push(document.path.clone());
        self.put(object, old, &Stated::file(&document.rest), document.place(0))
    }

    fn put_sections(
        &mut self,
        document: &Document,
        ids: &[Id],
        matched: &dyn Fn(usize) -> Option<usize>,
    ) -> Result<()> {
        let old_of = |section: usize| {
            let old = &self.known.objects[matched(section)?];
            (old.id == ids[section]).then_some(&old.object)
        };
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
            // A key holds only among the siblings that it was made for.
            let old_key = |child: &usize| match &document.sections[*child].rest.position {
                statement::Stated::As(stated) => Some(stated.as_str()),
                statement::Stated::Absent => None,
                statement::Stated::Not => old_of(*child)?
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
        // Scope and origin go down to what is below, unless that has its own.
        let mut around: Vec<Rest> = Vec::with_capacity(document.sections.len());
        for (place, section) in document.sections.iter().enumerate() {
            let above = section.parent.map_or(&document.rest, |parent| &around[parent]);
            let rest = Rest {
                scope: section.rest.scope.clone().or_else(|| above.scope.clone()),
                origin: section.rest.origin.or(above.origin),
                ..Rest::default()
            };
            let mut object = NewObject::new(ids[place].clone(), Kind::new(section.kind_name())?);
            let top = (!document.is_list).then_some(&document.path);
            object.parent = section.parent.map_or(top, |parent| Some(&ids[parent])).cloned();
            object.position = keys[place].take();
            object.attributes = section.attributes.clone();
            object.content.clone_from(&section.content);
            object.event_time = section.event_time;
            let old = old_of(place);
            if section.kind == SectionKind::Heading {
                // A heading says nothing about when it happened, so what somebody set stays.
                object.event_time = old.and_then(Object::event_time);
            }
            let stated = Stated {
                scope: rest.scope.as_ref(),
                origin: rest.origin,
                rest: Some(&section.rest),
            };
            self.put(object, old, &stated, document.place(section.line))?;
            around.push(rest);
        }
        Ok(())
    }

    fn put_objects(&mut self, document: &Document) -> Result<()> {
        for stated in &document.objects {
            if stated.stated.past {
                self.change.past.push(Write {
                    object: stated.stated.object.clone(),
                    origin: stated.stated.origin,
                });
                continue;
            }
            let mut object = stated.stated.object.clone();
            object.parent.get_or_insert_with(|| document.path.clone());
            let old = self.existing.get(&object.id)?;
            let place = document.place(stated.line);
            self.put(object, old.as_ref(), &Stated::line(&stated.stated), place)?;
        }
        Ok(())
    }

    /// Adds an object to the change if it is new or says something else than before.
    ///
    /// What a file does not say is kept from the old version, unless a line states the whole object.
    fn put(
        &mut self,
        mut object: NewObject,
        old: Option<&Object>,
        stated: &Stated<'_>,
        place: Place<'_>,
    ) -> Result<()> {
        let before = old.map(Object::to_new).transpose()?;
        let kept = before.as_ref().map(|before| &before.scope);
        let scope = stated.scope.or(self.options.scope.as_ref()).or(kept);
        object.scope = scope.cloned().unwrap_or_default();
        if let Some(rest) = stated.rest {
            if let Some(before) = &before {
                object.derived_from.clone_from(&before.derived_from);
                object.expires = before.expires;
                object.reserved.clone_from(&before.reserved);
            }
            rest.apply(&mut object);
        }
        self.stays.insert(object.id.clone());
        if before.as_ref() == Some(&object) {
            self.change.unchanged += 1;
            return Ok(());
        }
        // Encoded here so that a broken rule is told with the line that breaks it.
        let origin = old.map_or(Origin::Document, Object::origin);
        let encoded = self
            .existing
            .check(&object)
            .and_then(|()| object.encode(origin, self.existing.hash()))
            .map_err(|error| place.name(&object.id, error))?;
        if old.is_some_and(|old| encoded.same_meaning(old)) {
            self.change.unchanged += 1;
            return Ok(());
        }
        *(if old.is_some() {
            &mut self.change.updated
        } else {
            &mut self.change.created
        }) += 1;
        self.change.put.push(Write {
            object,
            origin: stated.origin,
        });
        Ok(())
    }

    /// Removes what the documents owned and no longer say (ING-10).
    fn remove_others(&mut self) -> Result<()> {
        let mut leaving: HashMap<Id, Option<Id>> = HashMap::new();
        for known in &self.known.objects {
            if !self.stays.contains(&known.id) {
                leaving.insert(known.id.clone(), known.object.parent().map(Id::new).transpose()?);
            }
        }
        for id in &self.known.listed {
            if self.stays.contains(id) || leaving.contains_key(id) {
                continue;
            }
            if let Some(object) = self.existing.get(id)? {
                leaving.insert(id.clone(), object.parent().map(Id::new).transpose()?);
            }
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

    /// Hangs an object that is not the documents' below the nearest object that stays.
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

/// The ids of a map of ids to parents, children before parents, else in the order of their bytes.
fn children_first(parents: &HashMap<Id, Option<Id>>) -> Vec<Id> {
    let mut children: HashMap<&Id, usize> = HashMap::new();
    for parent in parents
        .values()
        .flatten()
        .filter(|parent| parents.contains_key(*parent))
    {
        *children.entry(parent).or_default() += 1;
    }
    let mut ready: Vec<&Id> = parents.keys().filter(|id| !children.contains_key(id)).collect();
    ready.sort_unstable_by(|one, two| two.cmp(one));
    let mut order = Vec::with_capacity(parents.len());
    while let Some(id) = ready.pop() {
        order.push(id.clone());
        let Some(parent) = &parents[id] else { continue };
        if let Some(left) = children.get_mut(parent) {
            *left -= 1;
            if *left == 0 {
                ready.push(parent);
            }
        }
    }
    order
}
