//! The input and the result of a plan: the memory, the options, the change.
//!
//! # Layer
//! L6, inside `ingest`.

use crate::digest::HashSuite;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin, Scope};

/// The memory against which ingestion plans.
pub(crate) trait Existing {
    /// Returns the hash of the store.
    fn hash(&self) -> HashSuite;

    /// Returns the live object with this id, with its content.
    ///
    /// # Errors
    /// The errors of reading the memory.
    fn get(&self, id: &Id) -> Result<Option<Object>>;

    /// Returns the children of an object in the order of siblings, with their content.
    ///
    /// # Errors
    /// The errors of reading the memory.
    fn children(&self, parent: &Id) -> Result<Vec<Object>>;

    /// Returns the ids of all documents.
    ///
    /// # Errors
    /// The errors of reading the memory.
    fn documents(&self) -> Result<Vec<Id>>;

    /// Checks the limits of the memory.
    ///
    /// # Errors
    /// `InvalidInput` if it exceeds a limit of the memory.
    fn check(&self, object: &NewObject) -> Result<()> {
        let _ = object;
        Ok(())
    }
}

/// The options of an ingestion.
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// The scope of all their objects. Without it, new objects have the default scope and others keep theirs.
    pub scope: Option<Scope>,
    /// Documents of the memory whose files are missing. They are removed, with all objects that they own.
    pub gone: Vec<Id>,
}

/// An object to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The object.
    pub object: NewObject,
    /// The current or claimed origin. The engine stamps the lower of this and the writer's.
    pub origin: Option<Origin>,
}

/// The change that brings some documents into a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// New and changed objects, parents before children.
    pub put: Vec<Write>,
    /// Earlier versions that the documents state, for history only: sources of derived objects.
    pub past: Vec<Write>,
    /// Ids to remove, children before parents.
    pub remove: Vec<Id>,
    /// The ids of the documents, in the order of the call.
    pub roots: Vec<Id>,
    /// Parents whose children all got new order keys, because there was no free key between the old ones.
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
    /// Whether the change is empty.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.remove.is_empty()
    }
}
