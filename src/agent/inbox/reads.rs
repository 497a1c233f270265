//! Reads the groups of the inbox, and finds contradictions in them.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::HashSet;

use super::index::Group;
use crate::agent::Agent;
use crate::agent::guard::contradicting;
use crate::agent::item::{Item, unless_erased};
use crate::agent::scope::Reach;
use crate::agent::superseding::{Superseding, object_at};
use crate::agent::vocabulary::kind;
use crate::engine::View;
use crate::error::Result;
use crate::object::{Object, Time};
use treering_text::recall::Key;

/// The maximum number of objects of a group that a call reads. It counts the others without reading them.
const READ_MAX: usize = 2_000;
/// The maximum number of items that are compared with the others to find contradictions.
const COMPARED_MAX: usize = 60;
/// The maximum number of versions whose contradictions are remembered.
const KNOWN_MAX: usize = 2_000;

/// Returns the newest items of a group in `reach`, and the number of all of them. With `since`, only items that were
/// written at that time or later. Expired and superseded items are no learned items, but the number contains them if they
/// are older than the returned items.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub fn noted(
    agent: &Agent,
    view: &View,
    group: Group,
    reach: &Reach,
    since: Option<Time>,
    limit: usize,
) -> Result<(Vec<Item>, usize)> {
    let keys: Vec<Key> = agent.with_noted(view, |index| index.keys(group, since).collect())?;
    let mut superseding = Superseding::new(view);
    let (mut items, mut total) = (Vec::new(), 0);
    for (at, key) in keys.iter().enumerate() {
        let needs_no_more = items.len() == limit && *reach == Reach::All;
        if needs_no_more || at == READ_MAX {
            total += keys.len() - at;
            break;
        }
        let object = object_at(view, key)?.filter(|object| reach.has(object.scope()));
        let Some(object) = object else { continue };
        if group == Group::Learned {
            let is_over = object.expires().is_some_and(|expires| expires <= view.now());
            let mut is_old =
                || agent.with_duplicate_index(view, |known| known.is_superseded(key, &mut superseding));
            if is_over || is_old()? {
                continue;
            }
        }
        total += 1;
        if items.len() < limit {
            items.push(Item::from(object));
        }
    }
    Ok((items, total))
}

/// Returns pairs of learned items that contradict each other, each pair once: the newer item first. Compares the
/// newest items only. Notes are left out, because each one is about its own moment.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read; the errors of the judge of the host.
pub fn conflicts(agent: &Agent, view: &View, reach: &Reach) -> Result<Vec<(Item, Item)>> {
    let among: HashSet<Key> = agent.with_noted(view, |index| {
        index.keys(Group::Learned, None).take(READ_MAX).collect()
    })?;
    let (items, _) = noted(agent, view, Group::Learned, reach, None, COMPARED_MAX)?;
    let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
    let is_note = |object: &Object| object.kind() == kind::NOTE;
    for item in items.into_iter().filter(|item| !is_note(item.object())) {
        let found = contradicted_by(agent, view, item.object(), &among)?;
        let Some(other) = found.filter(|other| reach.has(other.scope()) && !is_note(other)) else {
            continue;
        };
        let (own, others) = (item.object().digest(), other.digest());
        if seen.insert((own.min(others), own.max(others))) {
            pairs.push((item, Item::from(other)));
        }
    }
    Ok(pairs)
}

/// Returns an item that contradicts `object`. A comparison takes milliseconds, so each version is compared once: what
/// contradicts it later is a newer version, which is compared itself. It is compared again if the other item is gone.
fn contradicted_by(
    agent: &Agent,
    view: &View,
    object: &Object,
    among: &HashSet<Key>,
) -> Result<Option<Object>> {
    let digest = object.digest();
    let known = agent.compared().lock().get(&digest).cloned();
    match known {
        Some(None) => return Ok(None),
        Some(Some((id, version))) => {
            let other = unless_erased(view.get(&id))?.filter(|other| other.digest() == version);
            if other.is_some() {
                return Ok(other);
            }
        }
        None => {}
    }
    let found = contradicting(agent, view, object, among)?;
    let mut compared = agent.compared().lock();
    if compared.len() >= KNOWN_MAX {
        compared.clear();
    }
    let other = found.as_ref().map(|other| (other.id().clone(), other.digest()));
    drop(compared.insert(digest, other));
    Ok(found)
}

/// Returns the scopes with learned items, sorted.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub fn learned_scopes(agent: &Agent, view: &View) -> Result<Vec<String>> {
    agent.with_noted(view, |index| index.scopes().cloned().collect())
}
