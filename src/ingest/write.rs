//! Writes documents into a memory in one commit.
//!
//! # Layer
//! L6, inside `ingest`.

use super::document::Document;
use super::plan::{Change, Existing, IngestOptions, plan};
use crate::digest::HashSuite;
use crate::engine::{Committed, Memory, View, Writer};
use crate::error::Result;
use crate::object::{Id, Object};

/// A state, as ingestion looks at it.
struct InView<'a> {
    view: &'a View,
    suite: HashSuite,
}

impl Existing for InView<'_> {
    fn hash(&self) -> HashSuite {
        self.suite
    }

    fn get(&self, id: &Id) -> Result<Option<Object>> {
        self.view.get(id)
    }

    fn children(&self, parent: &Id) -> Result<Vec<Object>> {
        let ids = self.view.children(parent, None)?;
        ids.iter()
            .filter_map(|id| self.view.get(id).transpose())
            .collect()
    }
}

/// Writes what the documents say in one commit, with an automatic snapshot of the state before.
///
/// # Errors
/// As [`plan`] and [`Memory::commit`].
///
/// # Durability
/// As [`Memory::commit`].
pub fn ingest(
    memory: &Memory,
    documents: &[Document],
    options: &IngestOptions,
    writer: Writer,
) -> Result<(Change, Committed)> {
    let mut draft = memory.draft(writer);
    let existing = InView {
        view: draft.base(),
        suite: memory.suite(),
    };
    let change = plan(documents, &existing, options)?;
    draft.snapshot_before(true);
    for write in &change.put {
        match write.origin {
            Some(origin) => draft.put_at_most(write.object.clone(), origin)?,
            None => draft.put(write.object.clone())?,
        };
    }
    for id in &change.remove {
        draft.remove(id)?;
    }
    let committed = memory.commit(draft, "ingest")?;
    Ok((change, committed))
}
