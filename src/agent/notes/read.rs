//! Reading, listing and finding notes.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - NTR-1: reading makes no commit and moves no root, and shows notes of one scope only.

use super::rank::{Note, rank_notes};
use super::{is_note_in, note_objects};
use crate::agent::Agent;
use crate::agent::item::Item;
use crate::agent::session::root_session;
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, Object, Scope, Time};

/// A note as it is read.
#[derive(Clone, Debug)]
pub struct NoteRead {
    /// The note.
    pub item: Item,
    /// The session that it belongs to.
    pub owner: Option<String>,
    /// When it was written first.
    pub created: Option<Time>,
    /// When it was written last.
    pub updated: Option<Time>,
    /// When it was read last before, as far as that was kept.
    pub read: Option<Time>,
}

/// A note that fits a query.
#[derive(Clone, Debug)]
pub struct NoteFound {
    /// The note.
    pub note: NoteRead,
    /// Whether it belongs to the session that asks.
    pub is_own: bool,
    /// How well it fits, above 0 and at most 1.
    pub score: f64,
    /// The part of the text that fits.
    pub snippet: String,
}

/// See [`Agent::find_note`].
pub(in crate::agent) fn find_note(view: &View, id: &Id, scope: &Scope) -> Result<Option<NoteRead>> {
    let found = view.get(id)?.filter(|object| is_note_in(object, scope));
    found.map(|object| note_read(view, object)).transpose()
}

/// See [`Agent::read_note`].
pub(in crate::agent) fn read_note(
    agent: &Agent,
    view: &View,
    id: &Id,
    scope: &Scope,
) -> Result<Option<NoteRead>> {
    let found = find_note(view, id, scope)?;
    if found.is_some() {
        agent.memory().touch([id], view.now());
    }
    Ok(found)
}

/// See [`Agent::notes`].
pub(in crate::agent) fn notes(view: &View, scope: &Scope, session: Option<&str>) -> Result<Vec<NoteRead>> {
    let owner = session.map(|session| root_session(view, session)).transpose()?;
    let mut notes = note_objects(view, scope, owner.as_deref())?
        .map(|object| note_read(view, object?))
        .collect::<Result<Vec<_>>>()?;
    notes.sort_by(|one, other| {
        let key = |note: &NoteRead| note.updated;
        key(other)
            .cmp(&key(one))
            .then_with(|| one.item.object().id().cmp(other.item.object().id()))
    });
    Ok(notes)
}

/// See [`Agent::search_notes`].
pub(in crate::agent) fn search_notes(
    agent: &Agent,
    view: &View,
    query: &str,
    scope: &Scope,
    session: &str,
    limit: usize,
) -> Result<Vec<NoteFound>> {
    let own = root_session(view, session)?;
    let notes = notes(view, scope, None)?;
    let ranked = notes.iter().map(|note| Note {
        id: note.item.object().id(),
        text: note.item.text(),
        is_own: note.owner.as_deref() == Some(&own),
        updated_micros: note.updated.map(Time::as_micros),
        read_micros: note.read.map(Time::as_micros),
    });
    let hits = rank_notes(query, ranked, view.now().as_micros(), &agent.settings().notes);
    let find = |id: &str| notes.iter().position(|note| note.item.object().id() == id);
    Ok(hits
        .into_iter()
        .take(limit)
        .filter_map(|hit| {
            Some(NoteFound {
                note: notes[find(hit.note.id)?].clone(),
                is_own: hit.note.is_own,
                score: hit.score,
                snippet: hit.snippet,
            })
        })
        .collect())
}

fn note_read(view: &View, object: Object) -> Result<NoteRead> {
    let id = Id::new(object.id())?;
    let (created, updated) = view.stamps(&id)?.unzip();
    let item = Item::from(object);
    Ok(NoteRead {
        owner: item.owner(),
        item,
        created,
        updated,
        read: view.last_used(&id)?,
    })
}
