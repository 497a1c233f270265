//! Forgets items: removes them from the state in one commit. History keeps forgotten items until they are erased, or
//! until garbage collection deletes them.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - FGT-1: a pinned item is forgotten only if the request contains its id.
//! - FGT-2: `unforget` restores the forgotten version byte for byte. For a shortened item, it restores the version
//!   with the full text.
//! - FGT-3: no writer forgets or expires an item that is more trusted than the writer, and an expiry changes no origin.

mod restore;

use std::collections::BTreeSet;

pub use restore::{Forgotten, Restored};
pub(super) use restore::{forgotten, unforget, unforget_last};

use super::agent::Agent;
use super::change::{Rule, change};
use super::decay::written;
use super::item::Item;
use super::scope::Reach;
use super::session::unsay;
use super::vocabulary::kind;
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Query, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Kind, Time};

/// The conditions on the items to forget. An item is forgotten only if it meets every condition that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgetting {
    /// Only items with one of these ids. An empty list matches every item.
    pub ids: Vec<Id>,
    /// Only these versions, because a person saw them. An empty list matches every version.
    pub versions: Vec<ObjectDigest>,
    /// Only items with all of these tags.
    pub all_tags: Vec<String>,
    /// Only items with at least one of these tags. An empty list matches every item.
    pub any_tags: Vec<String>,
    /// Only items stored before this time.
    pub before: Option<Time>,
    /// Only items whose text was said in this session.
    pub session: Option<String>,
    /// Only items from this source.
    pub source: Option<String>,
    /// Only items of this kind.
    pub kind: Option<Kind>,
    /// Only items in these scopes. `None` matches every item.
    pub reach: Option<Reach>,
}

impl Forgetting {
    /// Returns whether no condition is set.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn accepts(&self, view: &View, item: &Item) -> Result<bool> {
        let is_same = |wanted: &Option<String>, found: Option<String>| wanted.is_none() || *wanted == found;
        let object = item.object();
        let is_seen = self.versions.is_empty() || self.versions.contains(&object.digest());
        let fits = is_seen
            && object.kind() != kind::MERGE_CONFLICT
            && item.has_tags(&self.all_tags, &self.any_tags)
            && is_same(&self.session, item.session())
            && is_same(&self.source, item.source())
            && self
                .kind
                .as_ref()
                .is_none_or(|kind| object.kind() == kind.as_str())
            && self.reach.as_ref().is_none_or(|reach| reach.has(object.scope()));
        Ok(match self.before {
            Some(before) if fits => written(view, item)? < before,
            _ => fits,
        })
    }
}

/// The result of [`Agent::forget`], or of its dry run.
#[derive(Clone, Debug, Default)]
pub struct Forgot {
    /// The forgotten items, in their last version. Behind them are the episodes and summaries that say the same as one that
    /// was learnt from their session.
    pub items: Vec<Item>,
    /// The ids of the pinned items that met the conditions. These items stay in the state.
    pub pinned: Vec<Id>,
    /// The ids of [`Forgetting::ids`] whose items fail another condition. These items stay in the state.
    pub others: Vec<Id>,
    /// The episodes and summaries that may still say what an item said that was learnt from their session. They are in
    /// other words, pinned, or more trusted than the writer.
    pub still: Vec<Id>,
    /// The commit; `None` in a dry run, or if no item was forgotten.
    pub commit: Option<CommitInfo>,
}

/// Implements [`Agent::forget`].
pub(super) fn forget(agent: &Agent, what: &Forgetting, writer: &Writer, dry_run: bool) -> Result<Forgot> {
    if what.is_empty() {
        return Err(Error::invalid("the request to forget has no condition")
            .with_code(ErrorCode::NoCriteria)
            .with_hint("give ids, tags, an age, a session, a source, a kind or a scope"));
    }
    let done = change(agent, writer, &Rule::FORGET, |change| {
        let view = change.base().clone();
        let mut forgot = selected(&view, what)?;
        for item in &forgot.items {
            change.remove(item.object().id())?;
        }
        let told = unsay(change, &forgot.items)?;
        forgot.items.extend(told.gone);
        forgot.still.extend(told.still);
        if dry_run {
            change.rehearse();
        }
        Ok(forgot)
    })?;
    let mut forgot = done.value;
    let is_done = !dry_run && !forgot.items.is_empty();
    forgot.commit = is_done.then_some(done.committed.commit);
    Ok(forgot)
}

/// Implements [`Agent::expire`].
pub(super) fn expire(
    agent: &Agent,
    id: &Id,
    at: Option<Time>,
    writer: &Writer,
) -> Result<Option<CommitInfo>> {
    let done = change(agent, writer, &Rule::EXPIRE, |change| {
        let object = change.get(id)?.ok_or_else(|| missing(std::slice::from_ref(id)))?;
        let mut new = object.to_new()?;
        new.expires = at;
        // INVARIANT FGT-3: an expiry changes no origin.
        change.restate(new)
    })?;
    Ok(done.committed.changed.then_some(done.committed.commit))
}

fn selected(view: &View, what: &Forgetting) -> Result<Forgot> {
    let (mut forgot, mut absent) = (Forgot::default(), Vec::new());
    if what.ids.is_empty() {
        let mut query = Query::default().with_expired();
        query.kind.clone_from(&what.kind);
        for object in view.query(&query)? {
            let item = Item::from(object?);
            if !what.accepts(view, &item)? {
                continue;
            }
            // INVARIANT FGT-1: a pinned item is forgotten only if the request contains its id.
            if item.is_pinned() {
                forgot.pinned.push(item.object().id().clone());
            } else {
                forgot.items.push(item);
            }
        }
    }
    for id in what.ids.iter().collect::<BTreeSet<_>>() {
        match view.get(id)?.map(Item::from) {
            None => absent.push(id.clone()),
            Some(item) if item.object().kind() == kind::MERGE_CONFLICT => {
                return Err(
                    Error::invalid(format!("'{id}' is an open conflict, which nobody forgets"))
                        .with_code(ErrorCode::NotOwner)
                        .with_hint("a person decides with: treering resolve"),
                );
            }
            Some(item) if what.accepts(view, &item)? => forgot.items.push(item),
            Some(_) => forgot.others.push(id.clone()),
        }
    }
    if absent.is_empty() {
        Ok(forgot)
    } else {
        Err(missing(&absent))
    }
}

fn missing(ids: &[Id]) -> Error {
    let names: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
    Error::not_found(format!("no item has the id {}", names.join(", ")))
        .with_ids(ids.iter().map(Id::to_string).collect())
        .with_hint("`list` lists the items, and `forgotten` lists the forgotten items")
}

#[cfg(test)]
pub(super) mod tests;
