//! The input and the result of a plan: the memory, the options and the change.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use crate::digest::HashSuite;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin, Scope};

/// The memory with which ingestion compares the documents. With the default methods, the memory is empty.
///
/// # Errors
/// The errors of reading the memory.
pub(crate) trait Existing {
    /// Returns the hash of the store.
    fn hash(&self) -> HashSuite;

    /// Returns the object of the state with this id, with its content.
    fn get(&self, _id: &Id) -> Result<Option<Object>> {
        Ok(None)
    }

    /// Returns the children of an object in the order of siblings, with their content.
    fn children(&self, _parent: &Id) -> Result<Vec<Object>> {
        Ok(Vec::new())
    }

    /// Returns the ids of all documents.
    fn documents(&self) -> Result<Vec<Id>> {
        Ok(Vec::new())
    }

    /// Refuses an object that exceeds a limit of the memory.
    fn check(&self, _object: &NewObject) -> Result<()> {
        Ok(())
    }
}

/// The options of an ingestion.
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// The scope for all objects. Without this scope, new objects get the default scope, and existing objects keep
    /// their scope.
    pub scope: Option<Scope>,
    /// Documents of the memory whose files are missing. These documents are removed with all objects that they own.
    pub gone: Vec<Id>,
    /// Documents of the memory whose files are missing. If a new document is one of them under another path, its objects
    /// move there.
    pub absent: Vec<Id>,
    /// Whether the writer vouches for the documents. If so, unchanged objects that are untrusted get the class of the
    /// writer, as new versions.
    pub is_vouched: bool,
}

/// An object to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The object itself.
    pub object: NewObject,
    /// The current origin, or the origin that the file claims. The engine sets the less trusted of this and the
    /// writer's origin.
    pub origin: Option<Origin>,
}

/// The change after which a memory contains the ingested documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The new and changed objects, parents before children.
    pub put: Vec<Write>,
    /// Earlier versions that the documents state. These versions are only for history, as sources of derived objects.
    pub past: Vec<Write>,
    /// The ids to remove, children before parents.
    pub remove: Vec<Id>,
    /// The ids of the documents, in the order of the call.
    pub roots: Vec<Id>,
    /// The former and the new id of each document whose file was renamed or moved.
    pub renamed: Vec<(Id, Id)>,
    /// The parents whose children all got new order keys, because no key was free between the old keys.
    pub respaced: Vec<Id>,
    /// The number of new objects.
    pub created: u64,
    /// The number of changed objects.
    pub updated: u64,
    /// The number of unchanged objects of the documents.
    pub unchanged: u64,
    /// The number of removed objects.
    pub removed: u64,
}

impl Change {
    /// Returns whether the change is empty.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.remove.is_empty()
    }
}
