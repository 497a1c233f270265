//! What was stated to be kept comes before what was said about it in a conversation.
//!
//! A turn has the words of a question because it asks for the same, because its neighbours do, or because it answers. A
//! fact that answers has fewer of them, and no neighbours. So their scores cannot be compared, and this rule compares the
//! confidence that each of them answers.
//!
//! # Layer
//! Uses candidates, and the confidences that the caller computes.
//!
//! # Invariants
//! - STF-1: stated documents keep their order among each other, and the others too.
//! - STF-2: a document that may answer falls by at most [`RISES_MAX`] places.

use super::signals::Signal;
use super::{Hit, Moved};

/// The share of its score and of its confidence that a text loses if it only asks.
pub(crate) const NO_ANSWER: f32 = 0.75;
/// The share of the match of a turn that a fact needs to come before the turn.
const SHARE: f32 = 0.5;
/// The share of the match of the best fact that another fact needs to come before a turn.
const SHARE_OF_BEST: f32 = 0.5;
/// The number of facts that rise above a turn that may answer.
const RISES_MAX: usize = 2;
/// The number of turns that are compared with facts.
pub(crate) const COMPARED_MAX: usize = 50;

/// What a document is to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    /// A text that may answer, or of which nothing is known.
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
        matches!(self, Self::Tells | Self::Stated)
    }

    /// Returns whether the document asks what the question asks.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::Asks | Self::Itself)
    }
}

/// Returns how well a hit itself matches the question.
fn own(hit: &Hit) -> f32 {
    hit.signals[Signal::Base as usize].max(hit.signals[Signal::Vector as usize])
}

/// Merges two lists, each best first: a stated hit comes before the others that match hardly better. The confidences of
/// the stated hits and of the first others must be known.
pub(crate) fn put_stated_first(stated: Vec<Hit>, others: Vec<Hit>) -> Vec<Hit> {
    let mut merged = Vec::with_capacity(stated.len() + others.len());
    let surest = stated.iter().map(|hit| hit.confidence).fold(0.0, f32::max);
    let mut stated = stated.into_iter().peekable();
    let mut rises = 0;
    for (place, other) in others.into_iter().enumerate() {
        let is_bounded = other.role.may_answer();
        let may_rise = |first: &Hit, rises: usize| {
            place < COMPARED_MAX
                && first.confidence >= SHARE * other.confidence
                && first.confidence >= SHARE_OF_BEST * surest
                && (!is_bounded || rises < RISES_MAX && own(first) >= SHARE * own(&other))
        };
        let comes_first = |first: &Hit, rises: usize| first.score >= other.score || may_rise(first, rises);
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
