//! Every object of a state, one after the other, so that each can be written again when its turn comes.
//!
//! Parents come before their children and siblings in their order; what an object is derived from comes before it,
//! earlier versions too, because its origin is vouched for by theirs. A source whose turn would be later comes ahead
//! of it: as an object, with the objects above it, where none of these still waits for a source of its own; else for
//! history only, like an earlier version, and once more when its turn comes. So the order of both holds always,
//! also for a parent that is derived from its child.
//!
//! # Layer
//! L6, inside `ingest`.
//!
//! # Invariants
//! - EXP-1: every object of the state comes once as an object, after its parent and after every version that it is
//!   derived from and that history keeps.
//! - EXP-4: no version comes more than twice, and none is looked at more often than it has parents and sources to name
//!   or is named as one.

use std::collections::{BTreeSet, HashMap};

use crate::digest::ObjectDigest;
use crate::engine::{Memory, View};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object};

/// A version on its way out.
#[derive(Clone, Debug)]
pub struct Version {
    /// The version.
    pub object: Object,
    /// Whether it is for history only: an earlier one, which the state does not hold, or one whose turn comes later.
    pub past: bool,
    /// Whether the parent that it names is not there, erased, lost or damaged: elsewhere it can be stored without it only.
    pub is_orphan: bool,
}

/// Hands every object of `view` to `write`, and the earlier versions that they are derived from. The order is the same
/// for the same state. No objects are held, but ids: which children each object of the state has (the view lists them
/// once for all), those that are still to come, and, if anything is derived, the digest of each object.
///
/// What was erased is left out ([`left_out`]), and so is what a handle of a damaged store cannot read
/// ([`Memory::unreadable`]). Objects below such a one are written like the others.
///
/// # Errors
/// What `write` answers; `Corrupt` or `Io` if an object cannot be read; `Corrupt` if one is below none that is there.
pub fn for_each_version<E: From<Error>>(
    memory: &Memory,
    view: &View,
    write: &mut dyn FnMut(Version) -> Result<(), E>,
) -> Result<(), E> {
    let mut roots = Vec::new();
    let mut derived = false;
    let mut readable = 0;
    for object in view.objects() {
        let object = object?;
        if object.is_placeholder() {
            continue;
        }
        readable += 1;
        derived |= object.derived_from().len() > 0;
        if object.parent().is_none() {
            roots.push(Id::new(object.id())?);
        }
    }
    let mut out = Out {
        memory,
        view,
        write,
        states: derived.then(HashMap::new),
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
    if out.objects == readable {
        Ok(())
    } else {
        let unreached = Error::corrupt("some objects are below none that is there");
        Err(unreached.with_hint("see treering verify").into())
    }
}

/// How much an export leaves out because it was erased or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Objects.
    pub objects: u64,
    /// Contents of objects that are written without.
    pub contents: u64,
    /// Parents that objects name and that are not there: these are written without.
    pub parents: u64,
}

/// How much of a state an export leaves out because it was erased or lost. Reads every object.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub fn left_out(view: &View) -> Result<LeftOut, Error> {
    let mut left_out = LeftOut::default();
    let mut parents = BTreeSet::new();
    for object in view.objects() {
        let object = object?;
        if let Some(parent) = object.parent().map(Id::new).transpose()?
            && !view.contains(&parent)?
        {
            parents.insert(parent);
        }
        left_out.objects += u64::from(object.is_placeholder());
        left_out.contents += u64::from(!object.is_placeholder() && object.erased_by().is_some());
    }
    left_out.parents = parents.len() as u64;
    Ok(left_out)
}

/// The objects that others stand below, which say their ids, and that are not there to be read: erased or lost (salvage
/// may leave nothing of them), or, where a damaged store is read, damaged.
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
        Err(error) => matches!(error.code(), ErrorCode::Erased | ErrorCode::Lost) || error.is_corruption(),
    }
}

fn not_there() -> Error {
    Error::corrupt("an object that the index names is not there").with_hint("see treering verify")
}

/// How far a version has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not written when a source below it was wanted, because it waited for a source itself.
    Waits,
    /// For history only.
    Past,
    /// As an object.
    Written,
}

struct Out<'a, E> {
    memory: &'a Memory,
    view: &'a View,
    write: &'a mut dyn FnMut(Version) -> Result<(), E>,
    /// Nothing where nothing is derived: then each object comes when its turn does.
    states: Option<HashMap<ObjectDigest, State>>,
    objects: u64,
    /// Those whose parent is not there.
    orphans: BTreeSet<String>,
}

impl<E: From<Error>> Out<'_, E> {
    fn put(&mut self, object: Object, past: bool) -> Result<(), E> {
        if let Some(states) = &mut self.states {
            let state = if past { State::Past } else { State::Written };
            states.insert(object.digest(), state);
        }
        self.objects += u64::from(!past);
        let is_orphan = !past && self.orphans.contains(object.id());
        (self.write)(Version {
            object,
            past,
            is_orphan,
        })
    }

    /// Writes objects in order, each with all that is below it.
    fn put_below(&mut self, mut waiting: Vec<Id>) -> Result<(), E> {
        // From the last sibling to the first, so that the first is at the end.
        waiting.sort_unstable_by(|one, two| two.cmp(one));
        while let Some(id) = waiting.pop() {
            let object = match self.view.get(&id) {
                // Passed over where all objects were counted, by a handle of a damaged store.
                Err(error) if error.is_corruption() => continue,
                found => found?.ok_or_else(not_there)?,
            };
            self.put_in_turn(object)?;
            waiting.extend(self.view.children(&id, None)?.into_iter().rev());
        }
        Ok(())
    }

    /// Writes an object whose parent is written, after its sources, unless it came ahead.
    fn put_in_turn(&mut self, object: Object) -> Result<(), E> {
        if self.state(object.digest()) == Some(State::Written) {
            return Ok(());
        }
        if self.states.is_some() {
            self.put_sources(&object)?;
        }
        self.put(object, false)
    }

    /// Writes what an object is derived from, sources before what is derived from them. No version is its own source,
    /// not by way of others either, since it would have to hold its own digest.
    fn put_sources(&mut self, object: &Object) -> Result<(), E> {
        let mut waiting: Vec<(ObjectDigest, bool)> = Vec::new();
        waiting.extend(object.derived_from().map(|source| (source, false)));
        while let Some((digest, ready)) = waiting.pop() {
            if self.is_kept(digest) {
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

    /// Writes a version whose sources are written before its turn.
    fn put_ahead(&mut self, source: Object) -> Result<(), E> {
        let current = self.view.get(&Id::new(source.id())?)?;
        let is_current = current.is_some_and(|current| current.digest() == source.digest());
        if !is_current {
            return self.put(source, true);
        }
        let Some(above) = self.above(&source)? else {
            return self.put(source, true);
        };
        for id in above.iter().rev() {
            let object = self.view.get(id)?.ok_or_else(not_there)?;
            self.put(object, false)?;
        }
        self.put(source, false)
    }

    /// The objects above one that are not written yet, from the nearest up; nothing if one of them has to wait.
    fn above(&mut self, object: &Object) -> Result<Option<Vec<Id>>> {
        let (mut ids, mut digests) = (Vec::new(), Vec::new());
        let mut parent = object.parent().map(Id::new).transpose()?;
        while let Some(id) = parent.filter(|id| !is_missing(self.view, id)) {
            let above = self.view.get(&id)?.ok_or_else(not_there)?;
            digests.push(above.digest());
            match self.state(above.digest()) {
                Some(State::Written) => return Ok(Some(ids)),
                None if !self.lacks_source(&above)? => {}
                _ => {
                    // Noted, so that the way up is gone once and not for each object below.
                    for digest in digests {
                        self.states.iter_mut().for_each(|states| {
                            states.entry(digest).or_insert(State::Waits);
                        });
                    }
                    return Ok(None);
                }
            }
            parent = above.parent().map(Id::new).transpose()?;
            ids.push(id);
        }
        Ok(Some(ids))
    }

    fn lacks_source(&self, object: &Object) -> Result<bool> {
        for digest in object.derived_from() {
            if !self.is_kept(digest) && self.memory.version(digest)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a version is written, as an object or for history.
    fn is_kept(&self, digest: ObjectDigest) -> bool {
        matches!(self.state(digest), Some(State::Past | State::Written))
    }

    fn state(&self, digest: ObjectDigest) -> Option<State> {
        self.states.as_ref()?.get(&digest).copied()
    }
}
