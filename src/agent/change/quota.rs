//! The quota of a scope: the number of items that it may hold.
//!
//! Items without a parent count. Entries, summaries, episodes, sections and other children do not, nor do sessions and notes.
//! The duplicate index counts the items of a scope. A scope below its quota costs a look-up; a full one reads all superseded
//! items.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - A write into a full scope with expired or superseded items reads every superseded item of the store.
//!   `release`, `unforget`, `undo` and drafts of the library ignore the quota. `guard` also counts superseded
//!   items.
//!
//! # Invariants
//! - ROO-1: expired and superseded items do not count. Expired items leave the state when the quota needs it. A superseded
//!   item frees quota once.
//! - ROO-2: every verb of the layer that stores a new item reserves quota for it. A restored item needs none.
//! - ROO-3: trusted and untrusted items have separate quotas.

use std::collections::HashMap;

use crate::agent::agent::Agent;
use crate::agent::item::counts_in_quota;
use crate::agent::remember::unless_erased;
use crate::engine::Draft;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{NewObject, Object, Origin, Scope, Time};

/// The quotas of the scopes of one draft. A scope is counted only when it may be full.
pub(super) struct Quota {
    items_max: usize,
    /// The number of new items of the draft, in all scopes.
    reserved: usize,
    /// The number of superseded items that freed quota, for each half.
    superseded: HashMap<Half, usize>,
    /// The quota left, for each half that was counted.
    left: HashMap<Half, Left>,
}

/// A scope, and whether this is the half of its trusted or its untrusted items (ROO-3).
type Half = (Scope, bool);

/// The quota left in a scope.
#[derive(Clone, Copy)]
struct Left {
    count: usize,
    /// Whether expired and superseded items were subtracted.
    is_exact: bool,
}

impl Quota {
    pub(super) fn new(items_max: usize) -> Self {
        Self {
            items_max,
            reserved: 0,
            superseded: HashMap::new(),
            left: HashMap::new(),
        }
    }

    /// Reserves quota for an object before it is staged with this origin. `room_made` is the number of superseded items
    /// in its half that free quota. An object that is present and has not expired needs no quota.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): the scope is full.
    pub(super) fn reserve(
        &mut self,
        agent: &Agent,
        draft: &mut Draft,
        (object, present): (&NewObject, Option<&Object>),
        origin: Origin,
        room_made: usize,
    ) -> Result<()> {
        let half = (object.scope.clone(), origin.is_trusted());
        if !counts_in_quota(object.kind.as_str(), object.parent.is_some()) {
            return Ok(());
        }
        let now = draft.base().now();
        let has_room = present.is_some_and(|old| counts_in(old, &half, now));
        let most = usize::try_from(draft.base().len()).unwrap_or(usize::MAX);
        if has_room || most.saturating_add(self.reserved) < self.items_max {
            if let Some(left) = self.left.get_mut(&half) {
                left.count = left.count.saturating_add(room_made);
            }
            *self.superseded.entry(half.clone()).or_default() += room_made;
            self.reserved += usize::from(!has_room);
            return Ok(());
        }
        let mut left = match self.left.get(&half) {
            Some(left) => *left,
            None => self.counted(agent, draft, object, &half, false)?,
        };
        if left.count == 0 && room_made == 0 && !left.is_exact {
            left = self.counted(agent, draft, object, &half, true)?;
        }
        left.count = left.count.saturating_add(room_made);
        *self.superseded.entry(half.clone()).or_default() += room_made;
        self.left.insert(half.clone(), left);
        if left.count == 0 {
            let untrusted = if origin.is_trusted() { "" } else { "untrusted " };
            return Err(Error::invalid(format!(
                "the scope {} has {} {untrusted}items, and no more are allowed",
                object.scope, self.items_max
            ))
            .with_code(ErrorCode::OverLimit)
            .with_hint("forget some, let some expire, or raise items_max in the settings"));
        }
        left.count -= 1;
        self.left.insert(half.clone(), left);
        self.reserved += 1;
        Ok(())
    }

    /// Counts the quota left in the scope of a new object. Expired items leave the draft if the scope is full.
    fn counted(
        &self,
        agent: &Agent,
        draft: &mut Draft,
        object: &NewObject,
        half: &Half,
        is_exact: bool,
    ) -> Result<Left> {
        let view = draft.base().clone();
        let (scope, is_trusted) = half;
        let enough = if is_exact { 0 } else { self.items_max };
        let known =
            agent.with_duplicate_index(&view, |known| known.count_of(scope.as_str(), *is_trusted, enough))?;
        let counts = |found: Option<Object>| found.is_some_and(|one| counts_in(&one, half, view.now()));
        let mut live = known.live;
        for change in draft.changes() {
            let is_in = counts(unless_erased(draft.get(&change.id))?);
            if is_in && !counts(unless_erased(view.get(&change.id))?) {
                live += 1;
            }
        }
        if live + known.expired.len() >= self.items_max {
            // ROO-1: expired items leave the state when the quota needs it.
            for key in known.expired {
                let Some(old) = unless_erased(view.object_at(&key))? else {
                    continue;
                };
                let id = old.id().clone();
                // An item that this draft writes again is live. An item with children stays.
                let is_old = id != object.id && draft.digest(&id)? == Some(old.digest());
                if is_old && draft.children(&id)?.is_empty() {
                    draft.remove(&id)?;
                }
            }
        }
        let room_made = self.superseded.get(half).copied().unwrap_or(0);
        Ok(Left {
            count: self.items_max.saturating_add(room_made).saturating_sub(live),
            is_exact,
        })
    }
}

/// Whether an object counts in this half of a scope at that time.
fn counts_in(object: &Object, (scope, is_trusted): &Half, now: Time) -> bool {
    object.scope() == scope.as_str()
        && object.origin().is_trusted() == *is_trusted
        && object.expires().is_none_or(|expires| expires > now)
        && counts_in_quota(object.kind(), object.parent().is_some())
}
