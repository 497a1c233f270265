//! Writes documents into a memory in one commit.
//!
//! # Layer
//! L6, inside `ingest`.

use super::document::{DOCUMENT_KIND, Document};
use super::plan::{Change, Existing, IngestOptions, plan};
use crate::digest::HashSuite;
use crate::engine::{Committed, Memory, Query, View, Writer};
use crate::error::Result;
use crate::object::{Id, Kind, Object};

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

    fn documents(&self) -> Result<Vec<Id>> {
        documents(self.view)
    }
}

/// The ids of the documents of a state, in their order.
///
/// # Errors
/// As [`View::query`].
pub fn documents(view: &View) -> Result<Vec<Id>> {
    let query = Query {
        kind: Some(Kind::new(DOCUMENT_KIND)?),
        include_expired: true,
        ..Query::default()
    };
    view.query(&query)?.map(|object| Id::new(object?.id())).collect()
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
    super::sources::stage(&mut draft, memory, &change)?;
    for id in &change.remove {
        draft.remove(id)?;
    }
    let committed = memory.commit(draft, "ingest")?;
    Ok((change, committed))
}
