//! The one way from an item to a draft: reviewed, then staged, held back for a person, or refused.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - STA-1: nothing is staged that was not reviewed, and what the scan holds back is never in the draft that is
//!   committed.

use super::agent::Agent;
use super::item::NewItem;
use super::remember::unless_erased;
use super::room::Rooms;
use crate::engine::{Committed, Draft, Memory, Staged, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Id, NewObject, Origin};
use crate::scan::Verdict;

/// How often a change is made, at most, because somebody else committed in between.
const TRIES: usize = 16;

/// Two drafts on one state: what is to be committed, and what is to be held back.
pub(super) struct Staging {
    /// What is to be committed.
    pub(super) draft: Draft,
    held: Draft,
    reasons: Vec<String>,
    rooms: Rooms,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is in the draft.
    Staged(Staged),
    /// It waits for a person.
    Held,
    /// Nothing of it is kept.
    Refused,
}

/// An item that went through the review.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    /// What became of it.
    pub(super) fate: Fate,
    /// What the scan says is to be done with it.
    pub(super) verdict: Verdict,
    /// The rules that it met.
    pub(super) rules: Vec<&'static str>,
}

/// Commits of a [`Staging`].
pub(super) struct Done {
    /// The commit, or the head if nothing changed.
    pub(super) committed: Committed,
    /// Under which name a person finds what was held back.
    pub(super) held: Option<String>,
}

impl Staging {
    pub(super) fn new(agent: &Agent, writer: &Writer) -> Result<Self> {
        Ok(Self {
            draft: agent.draft(writer)?,
            held: agent.draft(writer)?,
            reasons: Vec::new(),
            rooms: Rooms::new(agent.settings().quotas.items_max),
        })
    }

    /// Reviews an item and stages it under `id`, with an origin of at most `class`; `place` says where it stands.
    pub(super) fn put(
        &mut self,
        agent: &Agent,
        id: Id,
        item: NewItem,
        class: Origin,
        place: impl FnOnce(&mut NewObject),
    ) -> Result<Passed> {
        let reviewed = agent.review(NewItem {
            id: Some(id.clone()),
            ..item
        })?;
        let (verdict, rules, reason) = (reviewed.verdict, reviewed.rules(), reviewed.reason());
        let mut object = reviewed.item.into_object(id)?;
        place(&mut object);
        // STA-1.
        let fate = match verdict {
            Verdict::Block => Fate::Refused,
            Verdict::Quarantine => {
                self.hold(object, class, reason)?;
                Fate::Held
            }
            Verdict::Allow | Verdict::Flag => {
                // INVARIANT ROO-2.
                let origin = self.draft.origin_at_most(&object, class)?;
                let present = unless_erased(self.draft.get(&object.id))?;
                self.rooms
                    .enter(agent, &mut self.draft, (&object, present.as_ref()), origin, 0)?;
                Fate::Staged(self.draft.put_at_most(object, class)?)
            }
        };
        Ok(Passed { fate, verdict, rules })
    }

    /// The same with nothing to commit: only what is held back stays.
    pub(super) fn only_held(self, agent: &Agent, writer: &Writer) -> Result<Self> {
        Ok(Self {
            draft: agent.draft(writer)?,
            ..self
        })
    }

    /// Holds an object back that was reviewed.
    pub(super) fn hold(&mut self, object: NewObject, class: Origin, reason: String) -> Result<()> {
        self.held.put_at_most(object, class)?;
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        Ok(())
    }

    /// Commits what is staged, and keeps what is held back.
    pub(super) fn commit(self, memory: &Memory, op: &str) -> Result<Done> {
        let committed = memory.commit(self.draft, op)?;
        let held = memory.quarantine(&self.held, &self.reasons.join("; "));
        let held = held.map_err(|error| not_held(&committed, error))?;
        Ok(Done { committed, held })
    }
}

/// The error of what was to be held back once the rest was committed; if that is done, it says so.
pub(super) fn not_held(committed: &Committed, error: Error) -> Error {
    if committed.changed {
        error.behind_change("what the scan held back may not be kept")
    } else {
        error
    }
}

/// Makes a change, again on the new head if somebody else changed the same in between.
pub(super) fn with_tries<T>(mut change: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..TRIES {
        match change() {
            Err(error) if error.code() == ErrorCode::Conflict => {}
            done => return done,
        }
    }
    change()
}

/// The refusal of a text by the scan.
pub(super) fn refused(rules: &[&'static str]) -> Error {
    Error::new(
        ErrorKind::Denied,
        format!("the text is refused: the scan found {}", rules.join(", ")),
    )
    .with_code(ErrorCode::Refused)
    .with_hint("nothing of it is stored; take out what was found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_committed_in_between_is_tried_again() {
        let tries_of = |error: &dyn Fn() -> Error| {
            let mut tries = 0;
            let done: Result<()> = with_tries(|| {
                tries += 1;
                Err(error())
            });
            assert!(done.is_err());
            tries
        };
        assert_eq!(tries_of(&|| Error::conflict("overtaken")), TRIES);
        assert_eq!(
            tries_of(&|| Error::conflict("elsewhere").with_code(ErrorCode::OtherScope)),
            1
        );
        assert_eq!(tries_of(&|| Error::invalid("wrong")), 1);
        let mut left = 3;
        let done = with_tries(|| {
            left -= 1;
            if left > 0 {
                Err(Error::conflict("overtaken"))
            } else {
                Ok(left)
            }
        });
        assert_eq!(done.unwrap(), 0);
    }
}
