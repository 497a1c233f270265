//! The judge of the host: decides whether a new item contradicts or repeats a stored item.
//!
//! Without a judge, the rules of `recall::duplicates` decide. They know negations, opposites and values, but not the
//! world. A host that has a model can let it decide instead.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - JDG-1: if a judge fails, nothing is stored, and the caller gets the error.

use super::agent::Agent;
use super::item::{Item, NewItem};
use crate::error::{Error, ErrorCode, Result};
use crate::object::Object;
use treering_text::recall::{Contradiction, Relation, Similarity};

/// A judge that the host provides, for example a model. [`Agent::with_judge`] sets it.
///
/// [`Agent::remember`] asks it about the stored items of the same scope and kind that are nearest to the new item, at
/// most eight. The guard asks it about the nearest items that are pinned or more trusted than the new text. A call that
/// another writer interrupts asks again.
///
/// ```
/// use treering::agent::{Agent, Item, Judge, Judgement, NewItem, RememberOptions, Settings};
/// use treering::{Memory, Result, Writer};
///
/// /// Knows that a person lives in one town only.
/// struct Towns;
///
/// impl Judge for Towns {
///     fn judge(&self, old: &Item, new: &NewItem) -> Result<Judgement> {
///         let town = |text: &str| text.split_once(" calls ").map(|(_, town)| town.to_owned());
///         Ok(match (town(old.text()), town(&new.text)) {
///             (Some(old), Some(new)) if old != new => Judgement::Contradiction,
///             _ => Judgement::Unsure,
///         })
///     }
/// }
///
/// let agent = Agent::new(Memory::in_memory()?, Settings::default()).with_judge(Towns);
/// let remember = |text: &str| agent.remember(NewItem::new(text), &RememberOptions::default(), &Writer::user());
/// remember("Vera calls Porto her home.")?;
/// let second = remember("Vera calls Lisbon her home.")?;
/// assert_eq!(second.conflicts.len(), 1);
/// # Ok::<(), treering::Error>(())
/// ```
pub trait Judge: Send + Sync {
    /// Decides how a new item relates to a stored item.
    ///
    /// # Errors
    /// An error of the judge ends the call that asked, before anything is stored. Its code becomes `judge_failed`.
    fn judge(&self, old: &Item, new: &NewItem) -> Result<Judgement>;
}

/// The decision of a [`Judge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Judgement {
    /// Both items cannot be true at the same time.
    Contradiction,
    /// Both items say the same, so `remember` may merge them or keep one.
    Same,
    /// The items are about different things, or are both true.
    Unrelated,
    /// The judge does not know, so the built-in rules decide.
    Unsure,
}

/// Returns how a new item relates to a stored object. `similarity` is the comparison of their texts.
///
/// # Errors
/// The error of the host's judge, with the code `judge_failed` (JDG-1).
pub(super) fn relation(
    agent: &Agent,
    old: &Object,
    new: &NewItem,
    similarity: Similarity,
) -> Result<Relation> {
    let Some(judge) = agent.judge() else {
        return Ok(similarity.relation());
    };
    let judged = judge.judge(&Item::from(old.clone()), new).map_err(failed)?;
    Ok(match judged {
        Judgement::Contradiction => Relation::Conflict(Contradiction::Judge),
        Judgement::Same => Relation::Same,
        Judgement::Unrelated => Relation::Different,
        Judgement::Unsure => similarity.relation(),
    })
}

fn failed(error: Error) -> Error {
    error
        .context("the judge of the host failed")
        .with_code(ErrorCode::JudgeFailed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{RememberOptions, Settings, Status};
    use crate::engine::{Memory, Writer};
    use crate::error::ErrorKind;

    /// Answers as the first word of the new text says.
    struct Told;

    impl Judge for Told {
        fn judge(&self, _: &Item, new: &NewItem) -> Result<Judgement> {
            Ok(match new.text.split(' ').next() {
                Some("against") => Judgement::Contradiction,
                Some("same") => Judgement::Same,
                Some("other") => Judgement::Unrelated,
                Some("broken") => return Err(Error::new(ErrorKind::Io, "no model answers")),
                _ => Judgement::Unsure,
            })
        }
    }

    #[test]
    fn the_judge_decides_for_remember() {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        let remember = |agent: &Agent, text: &str| {
            agent.remember(NewItem::new(text), &RememberOptions::default(), &Writer::user())
        };
        let count = |text: &str| {
            let agent = agent.clone().with_judge(Told);
            let done = remember(&agent, text).unwrap();
            agent.memory().undo(&Writer::user()).unwrap();
            (done.conflicts.len(), done.duplicates.len())
        };
        assert_eq!(
            remember(&agent, "the office is in Oslo").unwrap().status,
            Status::Created
        );
        assert_eq!(count("against the office"), (1, 0));
        assert_eq!(count("same office as in Oslo"), (0, 1));
        assert_eq!(count("other office is in Bergen"), (0, 0));
        assert_eq!(
            count("the office is in Bergen"),
            (1, 0),
            "the built-in rules decide"
        );
    }

    /// INVARIANT JDG-1: if a judge fails, nothing is stored, and the caller gets the error.
    #[test]
    fn the_failure_of_a_judge_stores_nothing() {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default()).with_judge(Told);
        let remember =
            |text| agent.remember(NewItem::new(text), &RememberOptions::default(), &Writer::user());
        drop(remember("the office is in Oslo").unwrap());
        let root = agent.memory().view().root();
        let error = remember("broken is the office").unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Io, ErrorCode::JudgeFailed)
        );
        assert_eq!(error.message(), "the judge of the host failed: no model answers");
        assert_eq!(agent.memory().view().root(), root);
    }
}
