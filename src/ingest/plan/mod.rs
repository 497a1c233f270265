//! Plans a change: finds the objects to write and to remove so that a memory matches some documents.
//!
//! The file decides the content of its objects, and the memory decides their ids and order keys, which a recognised
//! object keeps. Objects that other writers put below a heading do not belong to the file. If their heading is removed,
//! they move up to the nearest remaining object.
//!
//! # Layer
//! Layer 6, inside `ingest`. Reads the memory through [`Existing`], and writes nothing.
//!
//! # Invariants
//! - ING-8: a plan of unchanged documents is empty.
//! - ING-9: the plan never gives a new object the id of an existing one.
//! - ING-10: after the change, the documents own exactly the objects of their files.

mod change;
mod changes;
mod ids;
mod known;
mod matching;
mod owners;
mod renames;

pub(crate) use self::change::Existing;
pub use self::change::{Change, IngestOptions, Write};
use super::document::Document;
use crate::error::Result;
use crate::object::Id;

/// Plans the change that makes the memory contain `documents`.
///
/// All documents of a call are planned together, so a heading that moves between them keeps its id.
///
/// # Errors `InvalidInput`, with file and line, if an id is repeated, belongs to another document or to an object of
/// another kind, or if an object breaks a rule or limit. The error contains the ids of the object and of the document.
/// Also the errors of reading the memory.
pub(crate) fn plan(
    documents: &[Document],
    existing: &dyn Existing,
    options: &IngestOptions,
) -> Result<Change> {
    plan_beside(documents, &[], existing, options).map(|(change, _)| change)
}

/// Plans the change as [`plan`] does, and the change for `whole`: the same documents with the texts that `documents`
/// lacks. Both give the same ids to the same sections. The ids are made of the titles in `documents`.
pub(crate) fn plan_beside(
    documents: &[Document],
    whole: &[Document],
    existing: &dyn Existing,
    options: &IngestOptions,
) -> Result<(Change, Change)> {
    let stated = ids::stated_ids(documents)?;
    let renames = renames::find(documents, existing, options)?;
    let former = renames.iter().map(|(former, _)| former.clone());
    let gone: Vec<Id> = options.gone.iter().cloned().chain(former).collect();
    let owners = owners::Owners::new(documents, existing, &gone);
    let known = known::Known::read(documents, &owners, existing, &gone, &renames)?;
    owners.check_lines(documents)?;
    let mut matched = matching::match_all(documents, &known, existing.hash());
    if !whole.is_empty() {
        matching::add(&mut matched, matching::match_all(whole, &known, existing.hash()));
    }
    let ids = ids::assign(documents, &known, &matched, &stated, existing)?;
    let mut change = changes::changes(documents, &known, &ids, existing, options)?;
    let mut of_whole = Change::default();
    if !whole.is_empty() {
        of_whole = changes::changes(whole, &known, &ids, existing, options)?;
    }
    change.renamed = renames;
    Ok((change, of_whole))
}
