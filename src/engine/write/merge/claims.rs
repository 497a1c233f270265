//! Finds new objects of both sides that supersede the same object, so that somebody must decide which one holds.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - MCL-1: the result does not depend on which side merges: of two rivals, the one with the larger key path is in conflict.
//!
//! # Cost
//! Proportional to what they added. Only if an object that they added supersedes one: also to what we changed since.

use std::collections::{BTreeMap, BTreeSet};

use super::bases::{Bases, ChangedIn, Was};
use crate::digest::KeyPath;
use crate::engine::read::State;
use crate::error::Result;
use crate::object::{Object, Value};
use crate::trie::{Change, Entry};

/// The attribute of an object that lists the ids of the objects which it supersedes.
pub(crate) const SUPERSEDES: &str = "supersedes";

/// Returns the objects that supersede an object which a new object of the other side supersedes, too. `known` returns an object
/// of theirs, if the merge has read it.
///
/// # Errors
/// `Corrupt` or `Io` if a state or object cannot be read.
pub(super) fn rivals<'k>(
    ours: &State,
    bases: &Bases<'_>,
    changed: &ChangedIn,
    known: &dyn Fn(&KeyPath) -> Option<&'k Object>,
) -> Result<BTreeSet<KeyPath>> {
    let (mut theirs, mut found) = (BTreeMap::<String, Vec<KeyPath>>::new(), BTreeSet::new());
    for change in changed.iter() {
        let Some(new) = added(bases, change)? else {
            continue;
        };
        let claimed = match known(&change.key) {
            Some(object) => claims(object),
            None => claims(&ours.load(&new)?),
        };
        for claimed in claimed {
            theirs.entry(claimed).or_default().push(change.key);
        }
    }
    if theirs.is_empty() {
        return Ok(found);
    }
    for change in bases.changed_in(ours)?.iter() {
        let Some(new) = added(bases, change)? else {
            continue;
        };
        for claimed in claims(&ours.load(&new)?) {
            let rivals = theirs.get(&claimed).into_iter().flatten();
            let rivals = rivals.filter(|rival| **rival != change.key);
            // MCL-1
            found.extend(rivals.map(|rival| *rival.max(&change.key)));
        }
    }
    Ok(found)
}

/// Returns the version of an object that no base had.
fn added(bases: &Bases<'_>, change: &Change) -> Result<Option<Entry>> {
    match change.new.filter(|_| change.old.is_none()) {
        Some(new) if matches!(bases.before(change)?, Was::Absent) => Ok(Some(new)),
        _ => Ok(None),
    }
}

/// Returns the ids that an object supersedes. An erased object supersedes none.
fn claims(object: &Object) -> Vec<String> {
    let listed = (!object.is_placeholder()).then(|| object.attribute(SUPERSEDES));
    match listed.flatten() {
        Some(Value::List(ids)) => ids
            .iter()
            .filter_map(|id| id.as_text().map(str::to_owned))
            .collect(),
        Some(Value::Text(id)) => vec![id],
        _ => Vec::new(),
    }
}
