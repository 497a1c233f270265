//! The transcript of a session at its end: its entries, the turns of the person, and the trust of the whole session.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::VecDeque;

use super::due::SOURCES_MAX;
use super::entries::is_person;
use super::extraction::SessionState;
use super::lineage::{check_reach, no_session, session_id, session_of};
use crate::agent::item::Item;
use crate::agent::scope::Reach;
use crate::agent::vocabulary::kind;
use crate::digest::ObjectDigest;
use crate::engine::{Query, View};
use crate::error::Result;
use crate::object::{Object, Origin, Scope};

/// The maximum number of entries that a transcript contains: the newest entries of the session.
const TURNS_MAX: usize = 20_000;
/// The newest entries of a session, and the trust of the whole session.
pub(super) struct Transcript {
    pub(super) scope: Scope,
    /// The object of the session.
    pub(super) session: Object,
    /// The newest entries, oldest first.
    pub(super) items: Vec<Item>,
    pub(super) entries: u64,
    /// The class of the least trusted entry of the session and its child sessions.
    pub(super) class: Origin,
    pub(super) state: SessionState,
    pub(super) sources: Vec<ObjectDigest>,
}

/// Reads the transcript of a session. Child sessions only affect the trust; their entries are not in the transcript.
pub(super) fn read_transcript(view: &View, reach: &Reach, session: &str) -> Result<Transcript> {
    check_reach(view, reach, session)?;
    let id = session_id(session)?;
    let Some(object) = view.get(&id)?.filter(|object| session_of(object).is_some()) else {
        return Err(no_session(session));
    };
    let mut items = VecDeque::new();
    let mut transcript = Transcript {
        scope: Scope::new(object.scope())?,
        items: Vec::new(),
        entries: 0,
        class: if view.is_tainted(session)? {
            Origin::ToolExternal
        } else {
            object.origin()
        },
        state: SessionState {
            is_trusted: false,
            turns: 0,
        },
        sources: Vec::new(),
        session: object,
    };
    let mut waiting = vec![id.clone()];
    while let Some(parent) = waiting.pop() {
        let is_own = parent == id;
        let children = view.query(&Query::default().parent(parent))?;
        for child in children {
            let child = child?;
            match child.kind() {
                kind::SESSION => {
                    transcript.class = Origin::least(transcript.class, child.origin());
                    waiting.push(child.id().clone());
                }
                kind::ENTRY => {
                    transcript.class = Origin::least(transcript.class, child.origin());
                    if is_own && reach.has(child.scope()) {
                        let item = Item::from(child);
                        transcript.entries += 1;
                        transcript.state.turns += usize::from(is_person(&item, &transcript.session));
                        items.push_back(item);
                        if items.len() > TURNS_MAX {
                            items.pop_front();
                        }
                    }
                }
                _ => {}
            }
        }
    }
    transcript.state.is_trusted = transcript.class.is_trusted();
    transcript.items = items.into();
    let newest = transcript.items.iter().rev().take(SOURCES_MAX);
    transcript.sources = newest.map(|item| item.object().digest()).collect();
    Ok(transcript)
}
