//! Compares documents with a memory and says what has to be written and removed.
//!
//! The file is the truth about its own objects, the memory about their ids and order keys: an object that is
//! recognisably the same keeps both. Objects that others put below a heading are not the file's; if their
//! heading goes, they move up to the nearest object that stays.
//!
//! # Layer
//! L6, inside `ingest`. Reads the memory through [`Existing`], writes nothing.
//!
//! # Invariants
//! - ING-8: the same documents again give an empty change.
//! - ING-9: an id that the plan makes is no live object's.
//! - ING-10: after the change every object that the documents own is one of the files'.

mod changes;
mod ids;
mod known;
mod matching;
mod owners;

use crate::digest::HashSuite;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin, Scope};

use super::document::Document;

/// What ingestion needs to know of the memory it writes into.
pub trait Existing {
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

    /// Whether the memory takes such an object.
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
    /// Documents of the memory whose files are gone: they go, with all that they own.
    pub gone: Vec<Id>,
}

/// An object to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The object.
    pub object: NewObject,
    /// The origin that it had or claims: the one that is stamped is the lower of this and the writer's.
    pub origin: Option<Origin>,
}

/// What has to be done so that a memory holds what documents say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// New and changed objects, parents before children.
    pub put: Vec<Write>,
    /// Earlier versions that the documents state, for history only, so that what is derived from them has its sources.
    pub past: Vec<Write>,
    /// Ids that go, children before parents.
    pub remove: Vec<Id>,
    /// The objects that stand for the documents, in the order of these.
    pub roots: Vec<Id>,
    /// Parents whose children got new order keys throughout, because there was no room between the old ones.
    pub respaced: Vec<Id>,
    /// Objects that did not exist.
    pub created: u64,
    /// Objects that are written anew.
    pub updated: u64,
    /// Objects of the documents that stay as they are.
    pub unchanged: u64,
    /// Objects that go.
    pub removed: u64,
}

impl Change {
    /// Whether nothing has to be done.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.remove.is_empty()
    }
}

/// Says what has to change so that the memory holds what `documents` say.
///
/// All documents of one call are looked at together: a heading that moves from one to another keeps its id.
///
/// # Errors
/// `InvalidInput`, naming file and line, its ids with that of the document: the same id in two places, an id that belongs to a document which is not
/// among these or that an object of another kind has, an object that breaks a rule or limit. Also whatever
/// reading the memory gives.
pub fn plan(documents: &[Document], existing: &dyn Existing, options: &IngestOptions) -> Result<Change> {
    let stated = ids::stated_ids(documents)?;
    owners::check(documents, existing, &options.gone)?;
    let known = known::Known::read(documents, existing, &options.gone)?;
    let matched = matching::match_all(documents, &known, existing.hash());
    let ids = ids::assign(documents, &known, &matched, &stated, existing)?;
    changes::changes(documents, &known, &matched, &ids, existing, options)
}
