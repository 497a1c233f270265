//! Every object of a state, one after the other, so that each can be written again when its turn comes.
//!
//! Parents come before their children and siblings in their order; what an object is derived from comes before it,
//! earlier versions too, because its origin is vouched for by theirs. Where both cannot be had (a parent that is
//! derived from its child), the source comes first.
//!
//! # Layer
//! L6, inside `ingest`.
//!
//! # Invariants
//! - EXP-1: every object of the state comes once, after every version that it is derived from and that history keeps.

use std::collections::HashMap;

use crate::digest::ObjectDigest;
use crate::engine::{Memory, View};
use crate::error::{Error, Result};
use crate::object::{Id, Object};

/// A version on its way out.
#[derive(Clone, Debug)]
pub struct Version {
    /// The version.
    pub object: Object,
    /// Whether it is an earlier one, which the state does not hold.
    pub past: bool,
}

/// Hands every object of `view` to `write`, and the earlier versions that they are derived from. The order is the same
/// for the same state. Holds the ids of siblings and, if anything is derived, a digest for each object, but no objects.
///
/// # Errors
/// What `write` answers; `Corrupt` or `Io` if an object cannot be read; `Corrupt` if the parent of one is not there.
pub fn for_each_version<E: From<Error>>(
    memory: &Memory,
    view: &View,
    write: &mut dyn FnMut(Version) -> Result<(), E>,
) -> Result<(), E> {
    let mut roots = Vec::new();
    let mut derived = false;
    for object in view.objects() {
        let object = object?;
        derived |= object.derived_from().len() > 0;
        if object.parent().is_none() {
            roots.push(Id::new(object.id())?);
        }
    }
    roots.sort_unstable_by(|one, two| two.cmp(one));
    let mut out = Out {
        memory,
        view,
        write,
        states: derived.then(HashMap::new),
        objects: 0,
    };
    // From the last sibling to the first, so that the first is at the end.
    let mut waiting = roots;
    while let Some(id) = waiting.pop() {
        let object = view.get(&id)?.ok_or_else(not_there)?;
        out.put_whole(object)?;
        waiting.extend(view.children(&id, None)?.into_iter().rev());
    }
    if out.objects == view.len() {
        Ok(())
    } else {
        let orphans = Error::corrupt("some objects name a parent that is not there");
        Err(orphans.with_hint("see treering verify").into())
    }
}

fn not_there() -> Error {
    Error::corrupt("an object that the index names is not there").with_hint("see treering verify")
}

/// How far a version has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Begun,
    Written,
}

struct Out<'a, E> {
    memory: &'a Memory,
    view: &'a View,
    write: &'a mut dyn FnMut(Version) -> Result<(), E>,
    /// Nothing where nothing is derived: then each object comes when its turn does.
    states: Option<HashMap<ObjectDigest, State>>,
    objects: u64,
}

impl<E: From<Error>> Out<'_, E> {
    fn put(&mut self, version: Version) -> Result<(), E> {
        if let Some(states) = &mut self.states {
            states.insert(version.object.digest(), State::Written);
        }
        self.objects += u64::from(!version.past);
        (self.write)(version)
    }

    /// Writes an object after its sources and their parents.
    fn put_whole(&mut self, object: Object) -> Result<(), E> {
        let first = Version { object, past: false };
        if self.states.is_none() {
            return self.put(first);
        }
        let mut waiting = vec![(first, false)];
        while let Some((version, ready)) = waiting.pop() {
            let digest = version.object.digest();
            if ready {
                if self.lacks_source(&version.object)? {
                    // A source waits for what is being written, by way of a parent: this one's turn comes again.
                    self.set(digest, None);
                } else {
                    self.put(version)?;
                }
            } else if self.state(digest).is_none() {
                self.set(digest, Some(State::Begun));
                let before = self.before(&version)?;
                waiting.push((version, true));
                waiting.extend(before.into_iter().map(|version| (version, false)));
            }
        }
        Ok(())
    }

    /// What should come before a version: its sources, and last, so that it is looked at first, its parent.
    fn before(&self, version: &Version) -> Result<Vec<Version>> {
        let mut before = Vec::new();
        for digest in version.object.derived_from() {
            if self.state(digest).is_none()
                && let Some(object) = self.memory.version(digest)?
            {
                let past = !self.is_current(&object)?;
                before.push(Version { object, past });
            }
        }
        if let (Some(parent), false) = (version.object.parent(), version.past)
            && let Some(object) = self.view.get(&Id::new(parent)?)?
        {
            before.push(Version { object, past: false });
        }
        Ok(before)
    }

    fn lacks_source(&self, object: &Object) -> Result<bool> {
        for digest in object.derived_from() {
            if self.state(digest) != Some(State::Written) && self.memory.version(digest)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_current(&self, object: &Object) -> Result<bool> {
        let current = self.view.get(&Id::new(object.id())?)?;
        Ok(current.is_some_and(|current| current.digest() == object.digest()))
    }

    fn state(&self, digest: ObjectDigest) -> Option<State> {
        self.states.as_ref()?.get(&digest).copied()
    }

    fn set(&mut self, digest: ObjectDigest, state: Option<State>) {
        let Some(states) = &mut self.states else { return };
        match state {
            Some(state) => states.insert(digest, state),
            None => states.remove(&digest),
        };
    }
}
