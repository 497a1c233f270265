//! How many items a scope has room for.
//!
//! What stands on its own counts: entries, summaries, episodes, sections and whatever else is below something do not, nor do
//! sessions and notes. The items of a scope are counted with the known texts, so that a scope with room costs a
//! look-up, and a full one a look at what the items of the store name as superseded.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - ROO-1: what has expired, or gave its place to another item, takes no room; what has expired goes from the state when its
//!   room is needed. One place is given once.
//! - ROO-3: what is not trusted takes no room from what is, and makes none of it go: each has as much of its own.
//! - ROO-2: whatever verb of the layer brings a new item, its scope has room for it; what was there before comes back
//!   whether there is room or not.

use std::collections::HashMap;

use super::agent::Agent;
use super::remember::unless_erased;
use super::vocabulary::kind;
use crate::engine::Draft;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, NewObject, Object, Origin, Scope, Time};

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
    /// How many gave their place to what came.
    gave_way: HashMap<Kept, usize>,
    /// What of each that was counted is left.
    left: HashMap<Kept, Left>,
}

/// A scope, and whether of it what is trusted or what is not (ROO-3).
type Kept = (Scope, bool);

/// The room that is left in a scope.
#[derive(Clone, Copy)]
struct Left {
    count: usize,
    /// Whether it is all there is: else what expired or gave its place was taken for the rest.
    is_exact: bool,
}

impl Rooms {
    pub(super) fn new(items_max: usize) -> Self {
        Self {
            items_max,
            entered: 0,
            gave_way: HashMap::new(),
            left: HashMap::new(),
        }
    }

    /// Makes room for an object that is about to be staged with this origin, and takes the place of so many others that are trusted
    /// or not as it is. One that is there (`present`) and has not expired has its room.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): there is none.
    pub(super) fn enter(
        &mut self,
        agent: &Agent,
        draft: &mut Draft,
        (object, present): (&NewObject, Option<&Object>),
        origin: Origin,
        gives_way: usize,
    ) -> Result<()> {
        let kept = (object.scope.clone(), origin.is_trusted());
        if !takes_room(object.kind.as_str(), object.parent.is_some()) {
            return Ok(());
        }
        let now = draft.base().now();
        let has_room = present.is_some_and(|old| counts_in(old, &kept, now));
        let most = usize::try_from(draft.base().len()).unwrap_or(usize::MAX);
        if has_room || most.saturating_add(self.entered) < self.items_max {
            if let Some(left) = self.left.get_mut(&kept) {
                left.count = left.count.saturating_add(gives_way);
            }
            *self.gave_way.entry(kept.clone()).or_default() += gives_way;
            self.entered += usize::from(!has_room);
            return Ok(());
        }
        let mut left = match self.left.get(&kept) {
            Some(left) => *left,
            None => self.counted(agent, draft, object, &kept, false)?,
        };
        if left.count == 0 && gives_way == 0 && !left.is_exact {
            left = self.counted(agent, draft, object, &kept, true)?;
        }
        left.count = left.count.saturating_add(gives_way);
        *self.gave_way.entry(kept.clone()).or_default() += gives_way;
        self.left.insert(kept.clone(), left);
        if left.count == 0 {
            return Err(Error::invalid(format!(
                "the scope {} has {} items{}, and no more are allowed",
                object.scope,
                self.items_max,
                if origin.is_trusted() {
                    ""
                } else {
                    " that are not trusted"
                }
            ))
            .with_code(ErrorCode::OverLimit)
            .with_hint("forget some, let some expire, or raise items_max in the settings"));
        }
        left.count -= 1;
        self.left.insert(kept.clone(), left);
        self.entered += 1;
        Ok(())
    }

    /// How much room the scope of an object that comes has; what has expired goes from the draft if it has less than that
    /// takes.
    fn counted(
        &self,
        agent: &Agent,
        draft: &mut Draft,
        object: &NewObject,
        kept: &Kept,
        is_exact: bool,
    ) -> Result<Left> {
        let view = draft.base().clone();
        let (scope, is_trusted) = kept;
        let enough = if is_exact { 0 } else { self.items_max };
        let known = agent.with_known_texts(&view, |known| known.room(scope.as_str(), *is_trusted, enough))?;
        let counts = |found: Option<Object>| found.is_some_and(|one| counts_in(&one, kept, view.now()));
        let mut live = known.live;
        for change in draft.changes() {
            let is_in = counts(unless_erased(draft.get(&change.id))?);
            if is_in && !counts(unless_erased(view.get(&change.id))?) {
                live += 1;
            }
        }
        if live + known.expired.len() >= self.items_max {
            // ROO-1
            for key in known.expired {
                let Some(old) = unless_erased(view.object_at(&key))? else {
                    continue;
                };
                let id = Id::new(old.id())?;
                // One that is or was written again in this draft is live, and one with children stays for them.
                let is_old = id != object.id && draft.digest(&id)? == Some(old.digest());
                if is_old && draft.children(&id)?.is_empty() {
                    draft.remove(&id)?;
                }
            }
        }
        let gave_way = self.gave_way.get(kept).copied().unwrap_or(0);
        Ok(Left {
            count: self.items_max.saturating_add(gave_way).saturating_sub(live),
            is_exact,
        })
    }
}

/// Whether an object is one of the items of a scope that take room at that time.
fn counts_in(object: &Object, (scope, is_trusted): &Kept, now: Time) -> bool {
    object.scope() == scope.as_str()
        && object.origin().is_trusted() == *is_trusted
        && object.expires().is_none_or(|expires| expires > now)
        && takes_room(object.kind(), object.parent().is_some())
}
