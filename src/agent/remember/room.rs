//! How many items a scope has room for.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - ROO-1: what has expired takes no room, and goes from the state when its room is needed.

use std::collections::HashMap;

use crate::engine::{Draft, Query};
use crate::error::{Error, Result};
use crate::object::{Id, Scope};

/// The room in the scopes of one draft; a scope is counted when its room may end.
pub(super) struct Rooms {
    items_max: usize,
    /// Items that came into the draft, whatever their scope.
    entered: usize,
    scopes: HashMap<Scope, Room>,
}

struct Room {
    live: usize,
    expired: Vec<Id>,
}

impl Rooms {
    pub(super) fn new(items_max: usize) -> Self {
        Self {
            items_max,
            entered: 0,
            scopes: HashMap::new(),
        }
    }

    /// Makes room for one more item that is about to be staged.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): there is none.
    pub(super) fn enter(&mut self, draft: &mut Draft, scope: &Scope) -> Result<()> {
        let most = usize::try_from(draft.base().len()).unwrap_or(usize::MAX);
        if most.saturating_add(self.entered) < self.items_max {
            self.entered += 1;
            return Ok(());
        }
        if !self.scopes.contains_key(scope) {
            self.scopes.insert(scope.clone(), Room::counted(draft, scope)?);
        }
        let Some(room) = self.scopes.get_mut(scope) else {
            return Ok(());
        };
        if room.live >= self.items_max {
            return Err(Error::invalid(format!(
                "the scope {scope} has {} items, and no more are allowed",
                room.live
            ))
            .with_code("over_limit")
            .with_hint("forget some, let some expire, or raise items_max in the settings"));
        }
        if room.live + room.expired.len() >= self.items_max {
            // ROO-1
            for id in room.expired.drain(..) {
                // One that was written again in this draft is live, and one with children stays for them.
                let is_staged = draft.digest(&id)? != draft.base().get(&id)?.map(|object| object.digest());
                if !is_staged && draft.children(&id)?.is_empty() {
                    draft.remove(&id)?;
                }
            }
        }
        room.live += 1;
        self.entered += 1;
        Ok(())
    }
}

impl Room {
    /// Counts the items of a scope as the draft leaves it.
    fn counted(draft: &Draft, scope: &Scope) -> Result<Self> {
        let view = draft.base();
        let now = view.now();
        let mut room = Self {
            live: 0,
            expired: Vec::new(),
        };
        let query = Query {
            scope: Some(scope.clone()),
            include_expired: true,
            ..Query::default()
        };
        for object in view.query(&query)? {
            let object = object?;
            if object.expires().is_some_and(|expires| expires <= now) {
                room.expired.push(Id::new(object.id())?);
            } else {
                room.live += 1;
            }
        }
        for change in draft.changes().iter().filter(|change| change.old.is_none()) {
            let new = draft.get(&change.id)?;
            room.live += usize::from(new.is_some_and(|object| object.scope() == scope.as_str()));
        }
        Ok(room)
    }
}
