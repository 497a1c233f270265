//! The prompts of a person, as a hook of a client captures them.
//!
//! A prompt event gives the text that a person typed. The client writes the same text into its own transcript, where
//! only a role names the person. Both are one entry, whichever comes first, and only the event makes it the person's.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - PRM-1: only a prompt event makes a captured text the person's. The role in a transcript of a client does not.
//! - PRM-2: a prompt is one entry, however often its event and its copy in the transcript arrive, and in any order. Once it
//!   was taken back, neither brings it again (SAE-5).

use super::entries::{Append, NewEntry, is_entry_of, item_of, mark, place_in};
use super::lineage::session_id;
use crate::agent::Agent;
use crate::agent::change::{Change, Passed};
use crate::agent::item::{text_of, unless_erased};
use crate::agent::vocabulary::attribute;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Op, Origin, Position, Scope};

/// How a text came from a client to a session.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Captured {
    /// The caller gives it.
    #[default]
    No,
    /// A prompt event gave it, so it is the person's. The name of the event makes a repeated event change nothing.
    AtPrompt(String),
    /// The client's own transcript gives it the role of the person. The number counts the earlier entries there with the
    /// same text. It is a prompt only if a prompt event gave it, too.
    AsPrompt(u64),
    /// The client's own transcript, or an event, gives it as a text of the model.
    Said,
    /// A tool read it from outside the workspace. The name of the call makes a repeated event change nothing but the
    /// taint.
    Read(String),
}

/// Stages a text that a hook captured as the person's, unless the session has it. Equal texts of a session are numbered, so
/// the entry of a prompt event and its copy in the transcript of the client have one id, whichever comes first.
pub(super) fn stage_prompt(
    agent: &Agent,
    change: &mut Change<'_>,
    append: &Append,
    entry: &NewEntry,
    arrival: u64,
    key: &str,
) -> Result<Option<(Id, Passed)>> {
    let session = session_id(&append.session)?;
    let id_in = |session: &str, number: u64| {
        let text = entry.text.trim();
        let mark = mark(agent, &[session, &format!("prompt {number}"), text]);
        Id::new(&place_in(session, &mark))
    };
    let (id, event, known) = match &entry.captured {
        Captured::AtPrompt(event) => {
            let mut number = 0;
            loop {
                let id = id_in(&append.session, number)?;
                let is_entry = is_entry_of(change, &id, &session)?;
                let known = change.present(&id)?.filter(|_| is_entry);
                let is_there = known.is_some();
                let known = known.map_or_else(|| last_version(agent, &id), |known| Ok(Some(known)))?;
                if known.is_none() && agent.memory().has_had(&id)? {
                    // Somebody erased the text.
                    return Ok(None);
                }
                match known.as_ref().and_then(prompt_event) {
                    Some(known) if known == *event => return Ok(None),
                    // Another prompt with the same words, or one that was taken back.
                    Some(_) => number += 1,
                    None if known.is_some() && !is_there => number += 1,
                    None => break (id, Some(event), is_there),
                }
            }
        }
        Captured::AsPrompt(number) => {
            let id = id_in(&append.session, *number)?;
            let memory = agent.memory();
            // A session whose name is no name here was never captured.
            let elsewhere = entry.elsewhere.as_ref();
            let elsewhere = elsewhere.and_then(|session| id_in(session, *number).ok());
            let was_elsewhere = elsewhere.map_or(Ok(false), |id| memory.has_had(&id))?;
            if was_elsewhere || is_entry_of(change, &id, &session)? || memory.has_had(&id)? {
                return Ok(None);
            }
            (id, None, false)
        }
        Captured::No | Captured::Said | Captured::Read(_) => return Ok(None),
    };
    change.expect(&id, change.digest(&id)?);
    let mut position = Some(Position::new(key)?);
    if known && let Some(object) = change.present(&id)? {
        position = object.to_new()?.position;
    }
    let mut item = item_of(entry, &append.session, &append_scope(change, &session)?, arrival);
    let place = |object: &mut NewObject| {
        object.parent = Some(session.clone());
        object.position = position;
    };
    // INVARIANT PRM-1: only a prompt event makes a captured text the person's.
    let Some(event) = event else {
        return Ok(Some((id.clone(), change.put(id, item, Origin::Model, place)?)));
    };
    drop(item.others.insert(attribute::PROMPT, event.as_str()));
    Ok(Some((
        id.clone(),
        change.put_prompted(id, item, Origin::DirectUser, place)?,
    )))
}

/// Returns the last version of an object that is gone, unless it was erased.
pub(super) fn last_version(agent: &Agent, id: &Id) -> Result<Option<Object>> {
    let memory = agent.memory();
    if !memory.has_had(id)? {
        return Ok(None);
    }
    for change in memory.changes_of(id) {
        if let Some(digest) = change?.digest {
            return unless_erased(memory.version(digest));
        }
    }
    Ok(None)
}

/// Checks whether a revert, such as that of a turn, removed an object, and not somebody who wanted this object gone.
pub(super) fn was_reverted(agent: &Agent, id: &Id) -> Result<bool> {
    let last = agent.memory().changes_of(id).next().transpose()?;
    Ok(last.is_some_and(|last| {
        last.digest.is_none()
            && last
                .maker()
                .is_some_and(|maker| maker.commit.op.as_str() == Op::REVERT)
    }))
}

/// Returns the name of the prompt event that gave an entry. Another writer may write the attribute, but not the class.
pub(super) fn prompt_event(entry: &Object) -> Option<String> {
    text_of(entry, attribute::PROMPT).filter(|_| entry.origin() == Origin::DirectUser)
}

/// Returns the scope of a session that is staged or stored.
fn append_scope(change: &Change<'_>, session: &Id) -> Result<Scope> {
    change
        .get(session)?
        .map_or_else(|| Ok(Scope::default()), |object| Scope::new(object.scope()))
}
