//! How many items a scope has room for.
//!
//! What stands on its own counts: entries, summaries, episodes, sections and whatever else is below something do not, nor do
//! sessions and notes. The items of a scope are counted with the known texts, so that a full scope costs a look-up and not
//! a walk over the state.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - ROO-1: what has expired, or gave its place to another item, takes no room; what has expired goes from the state when its
//!   room is needed.
//! - ROO-2: whatever verb of the layer brings an item, its scope has room for it.

use std::collections::HashMap;

use super::agent::Agent;
use super::remember::unless_erased;
use super::vocabulary::kind;
use crate::engine::Draft;
use crate::error::{Error, Result};
use crate::object::{Id, NewObject, Object, Scope};

/// Kinds that take no room: a session and the notes of sessions.
const FREE: [&str; 2] = [kind::SESSION, kind::NOTE];

/// Whether an object counts among the items of its scope.
pub(super) fn takes_room(kind: &str, has_parent: bool) -> bool {
    !has_parent && !FREE.contains(&kind)
}

/// The room in the scopes of one draft; a scope is counted when its room may end.
pub(super) struct Rooms {
    items_max: usize,
    /// Items that came into the draft, whatever their scope.
    entered: usize,
    /// What of each scope that was counted is left.
    left: HashMap<Scope, usize>,
}

impl Rooms {
    pub(super) fn new(items_max: usize) -> Self {
        Self {
            items_max,
            entered: 0,
            left: HashMap::new(),
        }
    }

    /// Makes room for an object that is about to be staged, and takes the place of so many others.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): there is none.
    pub(super) fn enter(
        &mut self,
        agent: &Agent,
        draft: &mut Draft,
        object: &NewObject,
        gives_way: usize,
    ) -> Result<()> {
        if !takes_room(object.kind.as_str(), object.parent.is_some()) {
            return Ok(());
        }
        let most = usize::try_from(draft.base().len()).unwrap_or(usize::MAX);
        if most.saturating_add(self.entered) < self.items_max {
            self.entered += 1;
            return Ok(());
        }
        if !self.left.contains_key(&object.scope) {
            let left = self.counted(agent, draft, &object.scope)?;
            self.left.insert(object.scope.clone(), left);
        }
        let left = self.left.entry(object.scope.clone()).or_default();
        *left = left.saturating_add(gives_way);
        if *left == 0 {
            return Err(Error::invalid(format!(
                "the scope {} has {} items, and no more are allowed",
                object.scope, self.items_max
            ))
            .with_code("over_limit")
            .with_hint("forget some, let some expire, or raise items_max in the settings"));
        }
        *left -= 1;
        self.entered += 1;
        Ok(())
    }

    /// How much room a scope has; what has expired goes from the draft if it has less than that takes.
    fn counted(&self, agent: &Agent, draft: &mut Draft, scope: &Scope) -> Result<usize> {
        let view = draft.base().clone();
        let known = agent.with_known_texts(&view, |known| known.room(scope.as_str()))?;
        let mut entered = 0;
        for change in draft.changes().iter().filter(|change| change.old.is_none()) {
            let new = draft.get(&change.id)?;
            entered += usize::from(new.is_some_and(|object| counts_in(&object, scope)));
        }
        let live = known.live + entered;
        if live + known.expired.len() >= self.items_max {
            // ROO-1
            for key in known.expired {
                let Some(object) = unless_erased(view.object_at(&key))? else {
                    continue;
                };
                let id = Id::new(object.id())?;
                // One that was written again in this draft is live, and one with children stays for them.
                if draft.digest(&id)? == Some(object.digest()) && draft.children(&id)?.is_empty() {
                    draft.remove(&id)?;
                }
            }
        }
        Ok(self.items_max.saturating_sub(live))
    }
}

fn counts_in(object: &Object, scope: &Scope) -> bool {
    object.scope() == scope.as_str() && takes_room(object.kind(), object.parent().is_some())
}
