//! The simplest memory, which is a map. The memory checks every change that it applies.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::digest::{HashAlgorithm, HashSuite};
use crate::error::Result;
use crate::ingest::{Change, DOCUMENT_KIND, Document, Existing, IngestOptions, plan};
use crate::object::{Id, NewObject, Object, Origin, Scope};

#[derive(Clone, Default)]
pub(super) struct Memory {
    objects: BTreeMap<Id, Object>,
    children: BTreeMap<Id, BTreeSet<Id>>,
    /// The number of objects and of lists of children that plans have asked for.
    reads: Cell<u64>,
}

impl Existing for Memory {
    fn hash(&self) -> HashSuite {
        HashSuite::new(HashAlgorithm::Blake3)
    }

    fn get(&self, id: &Id) -> Result<Option<Object>> {
        self.reads.update(|reads| reads + 1);
        Ok(self.objects.get(id).cloned())
    }

    fn children(&self, parent: &Id) -> Result<Vec<Object>> {
        self.reads.update(|reads| reads + 1);
        let ids = self.children.get(parent).into_iter().flatten();
        let mut children: Vec<Object> = ids.map(|id| self.objects[id].clone()).collect();
        children.sort_by_key(|child| {
            (
                child.position().is_none(),
                child.position().map(str::to_owned),
                child.id().to_string(),
            )
        });
        Ok(children)
    }

    fn documents(&self) -> Result<Vec<Id>> {
        let documents = self
            .objects
            .values()
            .filter(|object| object.kind() == DOCUMENT_KIND);
        documents.map(|object| Ok(object.id().clone())).collect()
    }
}

impl Memory {
    pub(super) fn reads(&self) -> u64 {
        self.reads.get()
    }

    pub(super) fn ingest(&mut self, files: &[(&str, &str)]) -> Change {
        self.try_ingest(files).unwrap()
    }

    pub(super) fn try_ingest(&mut self, files: &[(&str, &str)]) -> Result<Change> {
        self.ingest_without(files, &[])
    }

    /// Ingests files while the files of `gone` are missing.
    pub(super) fn ingest_without(&mut self, files: &[(&str, &str)], gone: &[&str]) -> Result<Change> {
        let options = IngestOptions {
            gone: gone.iter().map(|path| super::id(path)).collect(),
            ..IngestOptions::default()
        };
        self.ingest_by(files, &options)
    }

    /// Ingests files while the files of `absent` may have been renamed.
    pub(super) fn ingest_absent(&mut self, files: &[(&str, &str)], absent: &[&str]) -> Change {
        let options = IngestOptions {
            absent: absent.iter().map(|path| super::id(path)).collect(),
            ..IngestOptions::default()
        };
        self.ingest_by(files, &options).unwrap()
    }

    /// Ingests files into a scope.
    pub(super) fn ingest_in(&mut self, scope: &str, files: &[(&str, &str)]) -> Change {
        let options = IngestOptions {
            scope: Some(Scope::new(scope).unwrap()),
            ..IngestOptions::default()
        };
        self.ingest_by(files, &options).unwrap()
    }

    pub(super) fn ingest_by(&mut self, files: &[(&str, &str)], options: &IngestOptions) -> Result<Change> {
        let documents: Vec<Document> = files
            .iter()
            .map(|(path, text)| Document::read(path, text.as_bytes(), None))
            .collect::<Result<_>>()?;
        let change = plan(&documents, self, options)?;
        self.apply(&change);
        let again = plan(&documents, self, options)?;
        assert!(
            again.is_empty(),
            "ING-8: ingesting the same files again changes {again:?}"
        );
        Ok(change)
    }

    pub(super) fn apply(&mut self, change: &Change) {
        let (mut created, mut updated) = (0, 0);
        for write in &change.put {
            let old = self.put(write.object.clone(), write.origin.unwrap_or(Origin::DirectUser));
            *(if old { &mut updated } else { &mut created }) += 1;
        }
        for id in &change.remove {
            assert!(
                self.children.get(id).is_none_or(BTreeSet::is_empty),
                "{id} is removed before its children"
            );
            self.take(id).expect("what goes is there");
        }
        assert_eq!(
            (created, updated, change.remove.len() as u64),
            (change.created, change.updated, change.removed)
        );
        for object in self.objects.values() {
            if let Some(parent) = object.parent() {
                assert!(
                    self.objects.contains_key(parent),
                    "the parent {parent} of {} does not exist",
                    object.id()
                );
            }
        }
    }

    pub(super) fn put(&mut self, object: NewObject, origin: Origin) -> bool {
        let old = self.take(&object.id).is_some();
        if let Some(parent) = &object.parent {
            self.children
                .entry(parent.clone())
                .or_default()
                .insert(object.id.clone());
        }
        let encoded = object.encode(origin, self.hash()).unwrap();
        self.objects.insert(object.id, encoded.into_object());
        old
    }

    fn take(&mut self, id: &Id) -> Option<Object> {
        let old = self.objects.remove(id)?;
        if let Some(parent) = old.parent() {
            self.children.get_mut(parent).unwrap().remove(id);
        }
        Some(old)
    }

    pub(super) fn object(&self, id: &str) -> &Object {
        self.objects
            .get(id)
            .unwrap_or_else(|| panic!("{id} is not among {:?}", self.ids()))
    }

    pub(super) fn new_object(&self, id: &str) -> NewObject {
        self.object(id).to_new().unwrap()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.objects.contains_key(id)
    }

    pub(super) fn ids(&self) -> Vec<&str> {
        self.objects.keys().map(Id::as_str).collect()
    }

    pub(super) fn children_of(&self, id: &str) -> Vec<String> {
        let children = self.children(&super::id(id)).unwrap();
        children.iter().map(|child| child.id().to_string()).collect()
    }

    /// Returns the whole content. The content is equal for two memories exactly if their roots are equal.
    pub(super) fn state(&self) -> Vec<(String, String)> {
        self.objects
            .iter()
            .map(|(id, object)| (id.as_str().to_owned(), object.digest().to_hex()))
            .collect()
    }

    /// Returns the ids of objects that differ in `other`, or have a differing object below them.
    pub(super) fn changed_subtrees(&self, other: &Self) -> BTreeSet<String> {
        let digest = |memory: &Self, id: &Id| memory.objects.get(id).map(Object::digest);
        let ids = self.objects.keys().chain(other.objects.keys());
        let mut changed = BTreeSet::new();
        for id in ids.filter(|id| digest(self, id) != digest(other, id)) {
            for memory in [self, other] {
                let mut above = Some(id.as_str().to_owned());
                while let Some(next) = above {
                    above = memory
                        .objects
                        .get(next.as_str())
                        .and_then(|object| object.parent().map(str::to_owned));
                    changed.insert(next);
                }
            }
        }
        changed
    }
}
