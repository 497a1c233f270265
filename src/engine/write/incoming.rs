//! Objects on their way into a draft. Encodes and hashes many objects at once.
//!
//! # Layer
//! Layer 5. Part of a draft.
//!
//! # Invariants
//! - INC-1: staging an object in a group has the same effect as staging it alone.

use crate::digest::{HashSuite, KeyPath};
use crate::error::Result;
use crate::object::{Encoded, NewObject, Object, Origin};

use super::{Draft, Staged};

/// The number of objects whose digests [`Draft::put_all`] computes together.
const OBJECTS_TOGETHER: usize = 256;

/// An object to stage, with what is already computed of it.
pub(super) struct Incoming {
    pub(super) object: NewObject,
    pub(super) key: KeyPath,
    /// The object encoded with an origin.
    encoded: Option<(Origin, Encoded)>,
}

impl Incoming {
    /// Returns the object encoded with `origin`.
    pub(super) fn encode(&mut self, origin: Origin, suite: HashSuite) -> Result<Encoded> {
        match self.encoded.take_if(|(known, _)| *known == origin) {
            Some((_, encoded)) => Ok(encoded),
            None => self.object.encode(origin, suite),
        }
    }
}

impl Draft {
    /// Stages `objects` in their order, as [`Self::put`] stages each. This costs less than as many calls of `put`,
    /// because the digests of many objects are computed together. After an error, the objects before the wrong one stay
    /// staged.
    ///
    /// ```
    /// use treering::{Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let note = |number: u32| Ok(NewObject::new(Id::new(&format!("notes/{number}"))?, Kind::new("note")?));
    /// let notes = (0..1_000).map(note).collect::<treering::Result<Vec<_>>>()?;
    /// let mut draft = memory.draft(&Writer::user());
    /// draft.put_all(notes)?;
    /// memory.commit(draft, "put")?;
    /// assert_eq!(memory.view().len(), 1_000);
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_all(&mut self, objects: impl IntoIterator<Item = NewObject>) -> Result<Vec<Staged>> {
        let (mut objects, mut staged) = (objects.into_iter(), Vec::new());
        loop {
            let together: Vec<_> = objects.by_ref().take(OBJECTS_TOGETHER).collect();
            if together.is_empty() {
                return Ok(staged);
            }
            for new in self.incoming_all(together) {
                let origin = self.origin_at_most(&new.object, self.writer.trust)?;
                staged.push(self.put_written(new, origin, true)?);
            }
        }
    }

    pub(super) fn incoming(&self, object: NewObject) -> Incoming {
        Incoming {
            key: self.base.key(&object.id),
            object,
            encoded: None,
        }
    }

    /// Encodes and hashes the objects with the writer's class as their origin, which most of them get. An object that
    /// breaks a rule stays as it is; staging it returns the error.
    fn incoming_all(&self, objects: Vec<NewObject>) -> Vec<Incoming> {
        let (suite, origin) = (self.base.state.store.suite, self.writer.trust);
        let limits = &self.base.settings().limits;
        let keys = suite.key_paths(objects.iter().map(|object| object.id.as_str()));
        // Loads the nodes and records that staging will read, for all objects at once. Staging reports a failed read.
        drop(self.base.state.entries_at(&keys));
        let unhashed: Vec<_> = objects
            .iter()
            .map(|object| {
                limits
                    .check(object)
                    .ok()
                    .and_then(|()| object.encode_unhashed(origin, suite).ok())
            })
            .collect();
        let bytes = unhashed.iter().flatten().map(|unhashed| &unhashed.bytes[..]);
        let mut digests = Object::hash_all(bytes, suite).into_iter();
        let incoming = objects.into_iter().zip(keys).zip(unhashed);
        let incoming = incoming.map(|((object, key), unhashed)| Incoming {
            object,
            key,
            encoded: unhashed.and_then(|unhashed| Some((origin, unhashed.with_digest(digests.next()?)))),
        });
        incoming.collect()
    }
}
