//! The input and the result of a plan: the memory, the options, the change.
//!
//! # Layer
//! L6, inside `ingest`.

use crate::digest::HashSuite;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin, Scope};

/// The memory that ingestion plans against.
pub(crate) trait Existing {
    /// The hash of the store.
    fn hash(&self) -> HashSuite;

    /// The live object of that id, with its content.
    ///
    /// # Errors
    /// As the memory reads.
    fn get(&self, id: &Id) -> Result<Option<Object>>;

    /// The children of an object in the order of siblings, with their content.
    ///
    /// # Errors
    /// As the memory reads.
    fn children(&self, parent: &Id) -> Result<Vec<Object>>;

    /// The ids of all documents.
    ///
    /// # Errors
    /// As the memory reads.
    fn documents(&self) -> Result<Vec<Id>>;

    /// Checks the limits of the memory.
    ///
    /// # Errors
    /// `InvalidInput`: it is over a limit of the memory.
    fn check(&self, object: &NewObject) -> Result<()> {
        let _ = object;
        Ok(())
    }
}

/// How documents are ingested.
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// The scope of all their objects. Without one, new objects have the default and others keep theirs.
    pub scope: Option<Scope>,
    /// Documents of the memory whose files are gone: they are removed, with all objects that they own.
    pub gone: Vec<Id>,
}

/// An object to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The object.
    pub object: NewObject,
    /// The origin that it had or claims. The engine stamps the lower of this and the writer's.
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
    /// Parents whose children all got new order keys, because there was no room between the old ones.
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
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.remove.is_empty()
    }
}
