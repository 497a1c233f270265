//! What was stated to be kept comes before what was said about it in a conversation.
//!
//! A turn has the words of a question because it asks for the same, because its neighbours do, or because it answers. A
//! fact that answers has fewer of them. So the scores of both cannot be compared, and this rule compares what each text
//! itself has of the question.
//!
//! # Layer
//! Uses candidates and their signals, but neither the index nor the other rules.
//!
//! # Invariants
//! - STF-1: stated documents keep their order among each other, and the others too.
//! - STF-2: a document that may answer falls by at most [`RISES_MAX`] places.

use super::signals::Signal;
use super::{Hit, Moved};

/// The share of its score that a text loses if it only asks what the question asks.
pub(crate) const NO_ANSWER: f32 = 0.75;
/// The share of the match of a turn that a fact needs to come before the turn.
const SHARE: f32 = 0.5;
/// The same before a turn that only asks.
const SHARE_OF_ASKING: f32 = 0.2;
/// The number of facts that rise above a turn that may answer.
const RISES_MAX: usize = 2;

/// What a document is to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    /// A text that was said and may answer, or of which nothing is known.
    #[default]
    Tells,
    /// A text that was stated to be kept.
    Stated,
    /// A text that was said and only asks, in part for something else.
    AsksMore,
    /// A text that was said and asks what the question asks, or says nothing beyond its words.
    Asks,
    /// A text that was said and is the question.
    Itself,
}

impl Role {
    /// Returns whether the document may answer the question.
    pub(crate) fn may_answer(self) -> bool {
        !matches!(self, Self::Asks | Self::Itself)
    }
}

/// Returns how well a hit itself matches the question, or answers a turn that does.
fn own(hit: &Hit) -> f32 {
    let signals = [Signal::Base, Signal::Vector, Signal::Answer];
    let values = signals.map(|signal| hit.signals[signal as usize]);
    values.into_iter().fold(0.0, f32::max)
}

/// Merges two lists, each best first: a stated hit comes before the others that match hardly better.
pub(crate) fn put_stated_first(stated: Vec<Hit>, others: Vec<Hit>) -> Vec<Hit> {
    let mut merged = Vec::with_capacity(stated.len() + others.len());
    let mut stated = stated.into_iter().peekable();
    let mut rises = 0;
    for other in others {
        let (share, is_bounded) = match other.role {
            Role::Tells | Role::Stated => (SHARE, true),
            Role::AsksMore | Role::Asks | Role::Itself => (SHARE_OF_ASKING, false),
        };
        let comes_first = |first: &Hit, rises: usize| {
            let may_rise = !is_bounded || rises < RISES_MAX;
            first.score >= other.score || may_rise && own(first) >= share * own(&other)
        };
        while let Some(mut first) = stated.next_if(|first| comes_first(first, rises)) {
            if first.score < other.score {
                first.moved = Some(Moved::Stated);
                rises += 1;
            }
            merged.push(first);
        }
        merged.push(other);
    }
    merged.extend(stated);
    merged
}
