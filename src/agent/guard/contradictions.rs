//! The check for new texts that contradict an item above them: a pinned item, or an item that is more trusted.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - CON-1: only items above a text are compared with it. So no number of other items hides them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::counts::is_bulk;
use super::report::Failure;
use super::turn::Turn;
use crate::agent::item::item_of;
use crate::agent::judge::relation;
use crate::agent::search::key_of;
use crate::agent::superseding::{Superseding, object_at};
use crate::agent::{Agent, Item};
use crate::engine::View;
use crate::error::{Error, Result};
use crate::object::{Object, Origin, Scope};
use treering_text::recall::{Compare, Contradiction, Key, Relation};

/// The number of contradictions that the reason names.
const NAMED_MAX: usize = 3;

/// Refuses new texts that contradict a pinned item of their scope or of the global scope.
pub(super) fn of_pinned(
    agent: &Agent,
    turn: &Turn<'_>,
    pinned: &BTreeMap<String, Item>,
) -> Result<Option<Failure>> {
    let keys: HashSet<Key> = pinned.keys().map(|id| key_of(agent.memory(), id)).collect();
    let texts = turn.written().map(|(_, new)| new);
    let texts = texts.filter(|new| !keys.is_empty() && !pinned.contains_key(new.id().as_str()));
    let contradictions = Contradictions {
        agent,
        view: turn.draft.base(),
        is_above: &|old, _| Ok(keys.contains(old)),
        failed: RefCell::default(),
    };
    let advice = "change the text to agree with the pinned item, or ask a person which one is right";
    contradictions.refuse(texts, "pinned items", advice)
}

/// Refuses new texts that contradict a more trusted item of their scope or of the global scope. Leaves out transcripts
/// and documents, which may report what others say.
pub(super) fn of_trusted(agent: &Agent, turn: &Turn<'_>) -> Result<Option<Failure>> {
    let texts = turn.written().map(|(_, new)| new);
    let texts = texts.filter(|new| Origin::DirectUser.is_above(new.origin()) && !is_bulk(new.kind()));
    // The class of each compared item; `None` for a part of a transcript or document. Thousands of items may share a
    // word with a text, so each is read only once.
    let classes: RefCell<HashMap<Key, Option<Origin>>> = RefCell::default();
    let class_of = |old: &Key| -> Result<Option<Origin>> {
        if let Some(class) = classes.borrow().get(old) {
            return Ok(*class);
        }
        let object = object_at(turn.draft.base(), old)?;
        let class = object.filter(|old| !is_bulk(old.kind())).map(|old| old.origin());
        classes.borrow_mut().insert(*old, class);
        Ok(class)
    };
    let contradictions = Contradictions {
        agent,
        view: turn.draft.base(),
        is_above: &|old, new| Ok(class_of(old)?.is_some_and(|class| class.is_above(new.origin()))),
        failed: RefCell::default(),
    };
    let advice = "change the text to agree with the more trusted item, or ask a person which one is right";
    contradictions.refuse(texts, "more trusted items", advice)
}

/// Returns an item with one of these keys that contradicts `object`, in its scope or the global scope.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read; the error of the host's judge.
pub(in crate::agent) fn contradicting(
    agent: &Agent,
    view: &View,
    object: &Object,
    among: &HashSet<Key>,
) -> Result<Option<Object>> {
    let contradictions = Contradictions {
        agent,
        view,
        is_above: &|old, _| Ok(among.contains(old)),
        failed: RefCell::default(),
    };
    Ok(contradictions.first(object)?.map(|(old, _)| old))
}

/// The comparison of new texts with the items above them, in the state before the change.
struct Contradictions<'a> {
    agent: &'a Agent,
    view: &'a View,
    /// Whether the item with a key is above a new object.
    is_above: &'a dyn Fn(&Key, &Object) -> Result<bool>,
    /// The first failure of a comparison.
    failed: RefCell<Option<Error>>,
}

impl Contradictions<'_> {
    fn refuse<'t>(
        &self,
        texts: impl Iterator<Item = &'t Object>,
        above: &str,
        advice: &'static str,
    ) -> Result<Option<Failure>> {
        let (mut ids, mut pairs) = (Vec::new(), Vec::new());
        for new in texts {
            if let Some((old, how)) = self.first(new)? {
                ids.push(new.id().to_string());
                pairs.push(format!("'{}' against '{}' ({how})", new.id(), old.id()));
            }
        }
        pairs.truncate(NAMED_MAX);
        let why = format!("new texts contradict {above}: {}", pairs.join(", "));
        Ok(Failure::about(ids, why, advice))
    }

    /// Returns the item above `new` that `new` contradicts. Ignores expired and superseded items.
    fn first(&self, new: &Object) -> Result<Option<(Object, Contradiction)>> {
        let Some(text) = new.content().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let (view, itself) = (self.view, key_of(self.agent.memory(), new.id().as_str()));
        let scopes = [new.scope(), Scope::GLOBAL];
        let item = item_of(new.to_new()?);
        // CON-1: the filter selects before the nearest items are chosen.
        let filter = |old: &Key| *old != itself && self.or_failed((self.is_above)(old, new)).unwrap_or(false);
        let near = self.agent.with_index(view, |index, scratch| {
            let relate = |old: &Key, compare: Compare<'_>| -> Result<_> {
                let is_live = |old: &Object| old.expires().is_none_or(|expires| expires > view.now());
                let Some(old) = object_at(view, old)?.filter(is_live) else {
                    return Ok(None);
                };
                let similarity = compare(old.content().unwrap_or_default());
                Ok(Some((similarity, relation(self.agent, &old, &item, similarity)?)))
            };
            let mut relate = |old: &Key, compare: Compare<'_>| {
                let is_going_on = self.failed.borrow().is_none();
                is_going_on.then(|| self.or_failed(relate(old, compare)))??
            };
            // Few items are above a text, so their words find those about the same thing.
            Ok(index.compared(text, Some(&scopes), &filter, None, scratch, &mut relate))
        })?;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut superseding = Superseding::new(view);
        for one in near {
            let mut is_superseded = |old: &Key| {
                self.agent
                    .with_duplicate_index(view, |known| known.is_superseded(old, &mut superseding))
            };
            if let Relation::Conflict(how) = one.relation
                && let Some(old) = object_at(view, &one.key)?
                && !is_superseded(&one.key)?
            {
                return Ok(Some((old, how)));
            }
        }
        Ok(None)
    }

    /// Returns the value, or records the failure.
    fn or_failed<T>(&self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.failed.borrow_mut().get_or_insert(error);
                None
            }
        }
    }
}
