//! Writes documents into a memory in one commit.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::HashSet;

use super::document::{DOCUMENT_KIND, Document};
use super::plan::{Change, Existing, IngestOptions, plan_beside};
use crate::digest::HashSuite;
use crate::engine::{Authorisation, Committed, Draft, Memory, Query, View, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Id, Kind, NewObject, Object};

/// Lets a plan read one state of a store.
struct InView<'a> {
    memory: &'a Memory,
    view: &'a View,
}

impl Existing for InView<'_> {
    fn hash(&self) -> HashSuite {
        self.memory.suite()
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

    fn check(&self, object: &NewObject) -> Result<()> {
        self.memory.limits().check(object)
    }
}

/// Returns the ids of the documents of a state, in the order of [`View::query`].
///
/// # Errors
/// The errors of [`View::query`].
pub fn documents(view: &View) -> Result<Vec<Id>> {
    let query = Query::default().kind(Kind::new(DOCUMENT_KIND)?).with_expired();
    view.query(&query)?
        .map(|object| Ok(object?.id().clone()))
        .collect()
}

/// Writes documents in one durable commit, after an automatic snapshot of the state. The result counts only the changes
/// of this call: an object counts as unchanged if another process wrote the same version at the same time.
///
/// # Errors
/// `Denied` (code `less_trusted`) if an untrusted object overwrites, or an untrusted writer removes, a more trusted one.
/// `InvalidInput` if two documents claim one id. Also the errors of [`Memory::commit`].
///
/// # Example
/// ```
/// use treering::ingest::{Document, IngestOptions, ingest};
/// use treering::{Memory, Writer};
///
/// let memory = Memory::in_memory()?;
/// let text = "# Tea\n\nGreen tea in the morning.\n";
/// let document = Document::read("notes/tea.md", text.as_bytes(), None)?;
/// let options = IngestOptions::default();
/// let (change, _) = ingest(&memory, &[document.clone()], &options, &Writer::person("vera"))?;
/// assert!(change.created > 0);
///
/// // The same file again changes nothing.
/// let root = memory.view().root();
/// ingest(&memory, &[document], &options, &Writer::person("vera"))?;
/// assert_eq!(memory.view().root(), root);
/// # Ok::<(), treering::Error>(())
/// ```
pub fn ingest(
    memory: &Memory,
    documents: &[Document],
    options: &IngestOptions,
    writer: &Writer,
) -> Result<(Change, Committed)> {
    ingest_beside(memory, documents, &[], options, writer)
}

/// Writes documents as [`ingest`] does. If some of the documents have texts that they lack in `documents`, `whole`
/// contains all documents with these texts. An object that already has its text from `whole` stays as it is.
///
/// # Errors
/// The errors of [`ingest`].
pub(crate) fn ingest_beside(
    memory: &Memory,
    documents: &[Document],
    whole: &[Document],
    options: &IngestOptions,
    writer: &Writer,
) -> Result<(Change, Committed)> {
    // INVARIANT TNT-4: a session is tainted when a call gives an untrusted class.
    memory.admit(writer.trust, writer.session.as_deref())?;
    let (mut draft, of_whole, mut change) = stage_documents(memory, documents, whole, options, writer)?;
    if !whole.is_empty() {
        let differs: HashSet<Id> = of_whole.changes().into_iter().map(|change| change.id).collect();
        let base = draft.base().clone();
        for one in draft.changes() {
            if !differs.contains(&one.id) {
                draft.restore(&one.id, &base)?;
            }
        }
    }
    draft.snapshot_before();
    let drafted = draft.counts();
    // The engine kept the version of some planned objects, because only their class would have changed.
    let same = change.updated.saturating_sub(drafted.changed);
    change.updated -= same;
    change.unchanged += same;
    let committed = memory
        .commit(draft, "ingest")
        .map_err(|error| located(documents, error))?;
    let others = memory.done_by_others(drafted, &committed)?;
    change.created = change.created.saturating_sub(others.added);
    change.updated = change.updated.saturating_sub(others.changed);
    change.removed = change.removed.saturating_sub(others.removed);
    change.unchanged += others.added + others.changed;
    Ok((change, committed))
}

/// Stages the change after which the memory contains the documents, and the change for `whole`, as [`ingest_beside`] has
/// it.
///
/// # Errors
/// The errors of [`ingest`].
pub(crate) fn stage_documents(
    memory: &Memory,
    documents: &[Document],
    whole: &[Document],
    options: &IngestOptions,
    writer: &Writer,
) -> Result<(Draft, Draft, Change)> {
    let mut draft = memory.draft(writer);
    let mut of_whole = memory.draft(writer);
    let view = draft.base();
    let existing = InView { memory, view };
    let (change, whole_change) = plan_beside(documents, whole, &existing, options)?;
    for (draft, change) in [(&mut draft, &change), (&mut of_whole, &whole_change)] {
        // A line or a session may make the objects of a trusted writer untrusted.
        draft.authorise(Authorisation::Replacements);
        super::sources::stage(draft, memory, change).map_err(|error| located(documents, error))?;
        for id in &change.remove {
            draft.remove(id)?;
        }
    }
    Ok((draft, of_whole, change))
}

/// Adds a file and a line to the error: the place where a document states one of the ids in the error. Such errors
/// occur if each object is valid, but the whole change breaks a rule, for example if a parent does not exist.
fn located(documents: &[Document], error: Error) -> Error {
    let location = |id: &String| {
        documents.iter().find_map(|document| {
            let mut stated = document.stated_ids();
            let (_, line) = stated.find(|(stated, _)| stated.as_str() == id)?;
            Some((document, line))
        })
    };
    match error.ids().iter().find_map(location) {
        Some((document, line)) if error.kind() == ErrorKind::InvalidInput => document.locate(line, error),
        _ => error,
    }
}
