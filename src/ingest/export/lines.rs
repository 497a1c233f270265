//! Exports all objects of a state, in an order in which they can be written again.
//!
//! Parents come before their children, and siblings are in their order. Sources, including earlier versions, come
//! before the objects derived from them, because the reader limits the origin of a derived object by the origins of its
//! sources. A source that comes later in the tree is written early if its parent is already written. Otherwise it is
//! written twice: early, for history only, like an earlier version, and again at its own position. So both orders are
//! kept, even for a parent that is derived from its child.
//!
//! # Layer
//! Layer 6, inside `ingest`.
//!
//! # Invariants
//! - EXP-1: every object of the state is written exactly once as a current object. An object comes after its parent,
//!   and after every version that it is derived from and that history keeps.
//! - EXP-4: a version is written at most twice. The number of visits to a version is limited by its links as child,
//!   source and derived object.

use std::collections::{BTreeSet, HashMap};

use crate::digest::ObjectDigest;
use crate::engine::{Memory, View};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object};

/// A version to export.
#[derive(Clone, Debug)]
pub struct Version {
    /// The version itself.
    pub object: Object,
    /// Whether the version is only for history: an earlier version, or a version that is written again at its own
    /// position.
    pub past: bool,
    /// Whether the parent of the object is missing, because the parent was erased, lost or damaged. Another store
    /// accepts the version only without its parent.
    pub is_orphan: bool,
}

/// Passes every object of `view` to `write`, with the earlier versions from which objects are derived. The order is
/// always the same for a state. During the export, memory contains only ids and digests, no objects.
///
/// Omits erased objects ([`omitted`]), and objects that a degraded handle cannot read ([`Memory::unreadable`]). The
/// children of omitted objects are written like other objects.
///
/// # Errors
/// The errors of `write`. `Corrupt` or `Io` if an object cannot be read. `Corrupt` if the parent of an object is
/// missing.
pub fn for_each_version<E: From<Error>>(
    memory: &Memory,
    view: &View,
    write: &mut dyn FnMut(Version) -> Result<(), E>,
) -> Result<(), E> {
    let mut derived = false;
    let (roots, readable) = roots(view, |object| derived |= object.derived_from().len() > 0)?;
    let mut out = Out {
        memory,
        view,
        write,
        written: derived.then(HashMap::new),
        objects: 0,
        orphans: BTreeSet::new(),
    };
    out.put_below(roots)?;
    if out.objects < readable {
        let mut below_missing = Vec::new();
        for parent in missing_parents(view)? {
            below_missing.extend(view.children(&parent, None)?);
        }
        out.orphans = below_missing.iter().map(Id::to_string).collect();
        out.put_below(below_missing)?;
    }
    Ok(check_all_reached(out.objects, readable)?)
}

/// Passes every readable object of a state to `visit`. Returns the ids of the objects without a parent, and the number
/// of all visited objects.
pub(super) fn roots(view: &View, mut visit: impl FnMut(&Object)) -> Result<(Vec<Id>, u64)> {
    let mut roots = Vec::new();
    let mut readable = 0;
    for object in view.kept_objects() {
        let object = object?;
        readable += 1;
        visit(&object);
        if object.parent().is_none() {
            roots.push(object.id().clone());
        }
    }
    Ok((roots, readable))
}

/// Returns an error if the export did not reach every readable object.
pub(super) fn check_all_reached(reached: u64, readable: u64) -> Result<()> {
    if reached == readable {
        return Ok(());
    }
    let unreached = Error::corrupt("the export did not reach every object, because some parents are missing");
    Err(unreached.with_hint("run `treering verify`"))
}

/// The erased or lost parts of a state that an export omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// The number of omitted objects.
    pub objects: u64,
    /// The number of objects that are written without their content.
    pub contents: u64,
    /// The number of missing parents; their children are written without a parent.
    pub parents: u64,
}

/// Counts the erased or lost parts of a state that an export omits. Reads every object.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub fn omitted(view: &View) -> Result<Omitted, Error> {
    let mut omitted = Omitted {
        parents: missing_parents(view)?.len() as u64,
        ..Omitted::default()
    };
    for object in view.objects() {
        let object = object?;
        omitted.objects += u64::from(object.is_placeholder());
        omitted.contents += u64::from(!object.is_placeholder() && object.erased_by().is_some());
    }
    Ok(omitted)
}

/// Returns the parents that objects name but that cannot be read, because the parents were erased, lost or damaged.
/// After a salvage, only their ids may remain.
pub(super) fn missing_parents(view: &View) -> Result<BTreeSet<Id>, Error> {
    let mut parents = BTreeSet::new();
    for object in view.objects() {
        if let Some(parent) = object?.parent().map(Id::new).transpose()?
            && is_missing(view, &parent)
        {
            parents.insert(parent);
        }
    }
    Ok(parents)
}

fn is_missing(view: &View, id: &Id) -> bool {
    match view.get(id) {
        Ok(object) => object.is_none(),
        Err(error) => is_gone(&error),
    }
}

/// Returns whether a state shows a version. In place of another one, it may name one that was erased, lost or damaged.
pub(super) fn is_current(view: &View, version: &Object) -> Result<bool, Error> {
    match view.get(version.id()) {
        Err(error) if is_gone(&error) => Ok(false),
        found => Ok(found?.is_some_and(|current| current.digest() == version.digest())),
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::Erased | ErrorCode::Lost) || error.is_corruption()
}

struct Out<'a, E> {
    memory: &'a Memory,
    view: &'a View,
    write: &'a mut dyn FnMut(Version) -> Result<(), E>,
    /// For each written version, whether it was written for history only. `None` if no object is derived, because the
    /// order of the tree is then sufficient.
    written: Option<HashMap<ObjectDigest, bool>>,
    objects: u64,
    /// The objects whose parent is missing.
    orphans: BTreeSet<String>,
}

impl<E: From<Error>> Out<'_, E> {
    fn put(&mut self, object: Object, past: bool) -> Result<(), E> {
        if let Some(written) = &mut self.written {
            written.insert(object.digest(), past);
        }
        self.objects += u64::from(!past);
        let is_orphan = !past && self.orphans.contains(object.id().as_str());
        (self.write)(Version {
            object,
            past,
            is_orphan,
        })
    }

    /// Writes objects in order, each followed by its subtree.
    fn put_below(&mut self, mut waiting: Vec<Id>) -> Result<(), E> {
        // Sorts the last sibling first, because the stack is read from its end.
        waiting.sort_unstable_by(|one, two| two.cmp(one));
        while let Some(id) = waiting.pop() {
            let object = match self.view.get(&id) {
                // Skips a damaged object, which the number of readable objects does not include either.
                Err(error) if error.is_corruption() => continue,
                found => found?.ok_or_else(|| {
                    Error::corrupt("an object that the index names is missing")
                        .with_hint("run `treering verify`")
                })?,
            };
            // The parent of the object is already written. The object itself is already written if an earlier object is
            // derived from it.
            if !self.is_written(object.digest()) {
                self.put_sources(&object)?;
                self.put(object, false)?;
            }
            waiting.extend(self.view.children(&id, None)?.into_iter().rev());
        }
        Ok(())
    }

    /// Writes the sources of an object, each after the sources from which it is derived. A cycle is impossible, because
    /// a version would have to contain its own digest.
    fn put_sources(&mut self, object: &Object) -> Result<(), E> {
        let mut waiting: Vec<(ObjectDigest, bool)> = Vec::new();
        waiting.extend(object.derived_from().map(|source| (source, false)));
        while let Some((digest, ready)) = waiting.pop() {
            if self
                .written
                .as_ref()
                .is_some_and(|written| written.contains_key(&digest))
            {
                continue;
            }
            let Some(source) = self.memory.version(digest)? else {
                continue;
            };
            if ready {
                self.put_ahead(source)?;
            } else {
                waiting.push((digest, true));
                waiting.extend(source.derived_from().map(|source| (source, false)));
            }
        }
        Ok(())
    }

    /// Writes a version before its position in the order. The sources of the version are already written.
    fn put_ahead(&mut self, source: Object) -> Result<(), E> {
        let is_current = is_current(self.view, &source)?;
        let is_placed = match source.parent().map(Id::new).transpose()? {
            None => true,
            Some(parent) => {
                // Ignores an error, because the walk down the tree reports a parent that cannot be read.
                let above = self.view.get(&parent).ok().flatten();
                above.is_some_and(|above| self.is_written(above.digest()))
            }
        };
        self.put(source, !(is_current && is_placed))
    }

    /// Returns whether a version was written as a current object, and not only for history.
    fn is_written(&self, digest: ObjectDigest) -> bool {
        let written = self.written.as_ref();
        written.and_then(|written| written.get(&digest)) == Some(&false)
    }
}
