//! The quota of a scope, which limits the number of its items.
//!
//! Only items without a parent count, so entries, summaries, episodes, sections and other children do not count.
//! Sessions and notes do not count either. The duplicate index counts the items of a scope. A write into a scope below
//! its quota needs one look-up in this index. A write into a full scope reads all objects of the scope.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - A write into a full scope reads every object of the scope.
//! - `release`, `unforget`, `undo` and drafts of the library ignore the quota. `guard` also counts superseded
//!   items.
//!
//! # Invariants
//! - ROO-1: expired and superseded items do not count. Expired items are removed from the state when a new item needs
//!   their quota. A superseded item frees quota only once.
//! - ROO-2: every verb of the layer that stores a new item reserves quota for the item. A restored item needs no quota.
//! - ROO-3: trusted and untrusted items have separate quotas.

use std::collections::{HashMap, HashSet};

use crate::agent::agent::Agent;
use crate::agent::index_keys::key_at;
use crate::agent::item::counts_in_quota;
use crate::agent::superseding::Superseding;
use crate::engine::{Draft, Query, View};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, NewObject, Object, Origin, Scope, Time};

/// The quota that one draft uses in each scope. The items of a scope are counted only when the scope may be full.
pub(super) struct Quota {
    items_max: i64,
    /// For each half of a scope, the number of new items in the draft, minus the number of superseded items that freed
    /// quota.
    staged: HashMap<Half, i64>,
    /// The superseded items that freed quota.
    freed: HashSet<Id>,
    /// For each half of a scope that was counted, the number of live items in the base of the draft, at most
    /// `items_max`.
    live: HashMap<Half, i64>,
}

/// Half of a scope: its trusted items (`true`) or its untrusted items (`false`), which have separate quotas (ROO-3).
type Half = (Scope, bool);

impl Quota {
    pub(super) fn new(items_max: usize) -> Self {
        Self {
            items_max: i64::try_from(items_max).unwrap_or(i64::MAX),
            staged: HashMap::new(),
            freed: HashSet::new(),
            live: HashMap::new(),
        }
    }

    /// Reserves quota for an object before it is staged with the origin `origin`. First, the superseded items of the
    /// same half free their quota. An object that replaces a live object of the same half needs no quota.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): the scope is full.
    pub(super) fn reserve(
        &mut self,
        agent: &Agent,
        draft: &mut Draft,
        (object, present): (&NewObject, Option<&Object>),
        origin: Origin,
        superseded: &[Object],
    ) -> Result<()> {
        if !counts_in_quota(object.kind.as_str(), object.parent.is_some()) {
            return Ok(());
        }
        let half = (object.scope.clone(), origin.is_trusted());
        let view = draft.base().clone();
        let mut staged = self.staged.get(&half).copied().unwrap_or(0);
        let mut superseding = Superseding::new(&view);
        for old in superseded.iter().filter(|old| counts_in(old, &half, view.now())) {
            if !is_superseded(agent, &view, old.id(), &mut superseding)?
                && self.freed.insert(old.id().clone())
            {
                staged -= 1;
            }
        }
        let is_new = present.is_none_or(|old| !counts_in(old, &half, view.now()));
        let items_max = self.items_max;
        let is_full = |count: i64| count.saturating_add(staged) >= items_max;
        // Each of these counts is more exact than the previous count, and costs more.
        if is_new
            && is_full(view.len().cast_signed())
            && is_full(agent.with_duplicate_index(&view, |known| Ok(known.items(&half.0, half.1)))?)
            && is_full(self.live(agent, draft, &object.id, &half)?)
        {
            let untrusted = if origin.is_trusted() { "" } else { "untrusted " };
            return Err(Error::invalid(format!(
                "the scope {} already contains the maximum of {} {untrusted}items",
                object.scope, items_max
            ))
            .with_code(ErrorCode::OverLimit)
            .with_hint("forget items of the scope, or raise items_max in the settings"));
        }
        self.staged.insert(half, staged + i64::from(is_new));
        Ok(())
    }

    /// Counts the items of half a scope in the base that have neither expired nor been superseded. Removes expired
    /// items from the draft if the half is full.
    fn live(&mut self, agent: &Agent, draft: &mut Draft, new: &Id, half: &Half) -> Result<i64> {
        if let Some(live) = self.live.get(half) {
            return Ok(*live);
        }
        let view = draft.base().clone();
        let (mut live, mut expired) = (0, Vec::new());
        let mut superseding = Superseding::new(&view);
        for object in view.query(&Query::default().scope(half.0.clone()).with_expired())? {
            let object = object?;
            if counts_in(&object, half, view.now()) {
                live += i64::from(!is_superseded(agent, &view, object.id(), &mut superseding)?);
            } else if counts_in(&object, half, Time::from_micros(i64::MIN)) {
                expired.push(object);
            }
        }
        let staged = self.staged.get(half).copied().unwrap_or(0);
        let with_expired = live.saturating_add_unsigned(expired.len() as u64);
        if with_expired.saturating_add(staged) >= self.items_max {
            // ROO-1: expired items are removed because a new item needs their quota. An expired item stays if this
            // draft writes it again, or if it has children.
            for old in expired.iter().filter(|old| old.id() != new) {
                let id = old.id();
                if draft.digest(id)? == Some(old.digest()) && draft.children(id)?.is_empty() {
                    draft.remove(id)?;
                }
            }
        }
        self.live.insert(half.clone(), live.min(self.items_max));
        Ok(live.min(self.items_max))
    }
}

fn is_superseded(agent: &Agent, view: &View, id: &Id, superseding: &mut Superseding<'_>) -> Result<bool> {
    let key = key_at(&view.key(id));
    agent.with_duplicate_index(view, |known| known.is_superseded(&key, superseding))
}

/// Checks whether an object belongs to this half of a scope and counts towards its quota at the time `now`.
fn counts_in(object: &Object, (scope, is_trusted): &Half, now: Time) -> bool {
    object.scope() == scope.as_str()
        && object.origin().is_trusted() == *is_trusted
        && object.expires().is_none_or(|expires| expires > now)
        && counts_in_quota(object.kind(), object.parent().is_some())
}
