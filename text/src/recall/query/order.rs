//! Rules for the order of hits after the scores: the newer of two leading hits comes first, what was stated to be kept
//! comes before what was said about it, what states something before what asks the same, and successors come before
//! superseded documents.
//!
//! A turn has the words of a question because it asks for the same, because its neighbours do, or because it answers. A
//! fact that answers has fewer of them, and no neighbours. So their scores cannot be compared, and the rule for facts
//! compares the confidence that each of them answers.
//!
//! # Layer
//! Uses candidates, chronology and links, but does not compute scores.
//!
//! # Invariants
//! - ORD-1: a superseded document never ranks above its successor, if the successor is a candidate.
//! - ORD-2: freshness swaps at most the first two stated documents, and the first two others.
//! - ORD-4: stated documents keep their order among each other, and so do those that may answer. One that may answer
//!   falls by at most `RISES_MAX` places for stated ones.
//! - ORD-3: no hit has a lower score than a hit below it. The signal `Order` is what a moved hit lacks.

use super::confidence::judge;
use super::rank::Ranking;
use super::signals::{Role, Signal};
use super::{Hit, Moved};
use std::collections::HashMap;

/// The lead over the third hit that the first two hits need in a conversation, as a factor.
const STANDS_OUT_CONVERSATION: f32 = 1.1;
/// The lead over the third hit that the first two hits need outside of conversations, as a factor.
const STANDS_OUT: f32 = 0.8;
/// The smallest share of the best score that the second hit must have.
const SECOND_MIN: f32 = 0.4;
/// The share of the confidence of a hit that a better kind of hit needs to come before it.
const RISES_MIN: f32 = 0.5;
/// The share of the confidence of the surest of its kind that a hit needs to rise.
const RISES_BESIDE_MIN: f32 = 0.5;
/// The number of facts that rise above a turn that may answer, and of turns that rise above those that ask.
const RISES_MAX: usize = 2;
/// The number of turns that are compared with facts.
const COMPARED_MAX: usize = 50;
/// The smallest cosine of two states of one fact, if both have a vector.
const ONE_FACT_MIN: f32 = 0.5;

/// Sorts the candidates by score and applies the rules.
pub(crate) fn arrange(ranking: &Ranking<'_>, mut candidates: Vec<Hit>) -> Vec<Hit> {
    sort(ranking, &mut candidates);
    ranking.mark_quotes(&mut candidates);
    let (mut stated, mut others): (Vec<Hit>, Vec<Hit>) =
        candidates.into_iter().partition(|hit| hit.role == Role::Stated);
    if ranking.question.asks.state {
        put_fresher_first(ranking, &mut stated);
        put_fresher_first(ranking, &mut others);
    }
    let asks = others.iter().any(|hit| hit.role.repeats());
    if asks || !stated.is_empty() {
        let compared = others.len().min(COMPARED_MAX);
        judge(ranking, &mut stated);
        judge(ranking, &mut others[..compared]);
    }
    if asks {
        let (asking, telling) = others.into_iter().partition(|hit| hit.role.repeats());
        others = put_first(telling, asking, Moved::Tells);
    }
    let mut ordered = put_successors_first(ranking, put_first(stated, others, Moved::Stated));
    raise_moved(&mut ordered);
    ordered
}

fn sort(ranking: &Ranking<'_>, candidates: &mut [Hit]) {
    candidates.sort_unstable_by(|one, two| ranking.order((one.score, one.number), (two.score, two.number)));
}

/// Raises the score of each moved hit to the best score below it (ORD-3).
fn raise_moved(hits: &mut [Hit]) {
    let mut best = f32::MIN;
    for hit in hits.iter_mut().rev() {
        if hit.score < best {
            hit.signals[Signal::Order as usize] = best - hit.score;
            hit.score = best;
        }
        best = hit.score;
    }
}

/// Puts the newer of the two leading candidates first. If two documents lead all others, they are probably two states
/// of one fact.
fn put_fresher_first(ranking: &Ranking<'_>, candidates: &mut [Hit]) {
    let [first, second, rest @ ..] = candidates else {
        return;
    };
    let third = rest.first().map_or(0.0, |third| third.score).max(1e-9);
    let least = if first.conversation {
        STANDS_OUT_CONVERSATION
    } else {
        STANDS_OUT
    };
    let (of_first, of_second) = (first.score, second.score);
    if of_second > 0.0
        && of_second >= SECOND_MIN * of_first
        && of_second * of_second >= least * of_first * third
        && may_be_one_fact(ranking, first.number, second.number)
        && ranking.is_fresher(second.number, first.number)
    {
        std::mem::swap(first, second);
        first.moved = Some(Moved::Fresher);
    }
}

/// Returns whether two documents may be two states of one fact, as far as their vectors tell.
fn may_be_one_fact(ranking: &Ranking<'_>, one: u32, two: u32) -> bool {
    let cosine = ranking.dense.and_then(|dense| dense.of_two(one, two));
    cosine.is_none_or(|cosine| cosine >= ONE_FACT_MIN)
}

/// Returns how well a hit itself matches the question.
fn own(hit: &Hit) -> f32 {
    hit.signals[Signal::Base as usize].max(hit.signals[Signal::Vector as usize])
}

/// Merges two lists, each best first: the hits of the first list come before those of the second that match hardly
/// better (ORD-4). The confidences of the first hits must be known.
fn put_first(rising: Vec<Hit>, others: Vec<Hit>, why: Moved) -> Vec<Hit> {
    let mut merged = Vec::with_capacity(rising.len() + others.len());
    let surest = rising.iter().map(|hit| hit.confidence).fold(0.0, f32::max);
    let mut rising = rising.into_iter().peekable();
    let mut rises = 0;
    for (place, other) in others.into_iter().enumerate() {
        let may_rise = |first: &Hit, rises: usize| {
            let has_room = rises < RISES_MAX || why == Moved::Stated && !other.role.may_answer();
            place < COMPARED_MAX
                && has_room
                && first.confidence >= RISES_MIN * other.confidence
                && first.confidence >= RISES_BESIDE_MIN * surest
                && (!other.role.may_answer() || own(first) >= RISES_MIN * own(&other))
        };
        let comes_first = |first: &Hit, rises: usize| first.score >= other.score || may_rise(first, rises);
        while let Some(mut first) = rising.next_if(|first| comes_first(first, rises)) {
            if first.score < other.score {
                first.moved = Some(why);
                rises += 1;
            }
            merged.push(first);
        }
        merged.push(other);
    }
    merged.extend(rising);
    merged
}

/// Moves each successor that is a candidate before the document that it supersedes.
fn put_successors_first(ranking: &Ranking<'_>, candidates: Vec<Hit>) -> Vec<Hit> {
    let numbers: Vec<u32> = candidates.iter().map(|hit| hit.number).collect();
    let places: HashMap<u32, usize> = numbers
        .iter()
        .enumerate()
        .map(|(place, &number)| (number, place))
        .collect();
    let successors = |place: usize| {
        let successors = ranking.successors(numbers[place]);
        let among = successors.filter_map(|number| places.get(&number).copied());
        among.collect::<Vec<usize>>().into_iter()
    };
    let mut order = Vec::with_capacity(numbers.len());
    let mut entered = vec![false; numbers.len()];
    for at in 0..numbers.len() {
        if std::mem::replace(&mut entered[at], true) {
            continue;
        }
        // Every entry of the stack waits for the entry above it. A cycle of links ends at a document that is already on
        // the stack.
        let mut stack = vec![(at, successors(at))];
        while let Some((top, waits_for)) = stack.last_mut() {
            let top = *top;
            if let Some(place) = waits_for.find(|&place| !entered[place]) {
                entered[place] = true;
                stack.push((place, successors(place)));
                continue;
            }
            stack.pop();
            order.push((top, !stack.is_empty()));
        }
    }
    let mut slots: Vec<Option<Hit>> = candidates.into_iter().map(Some).collect();
    let ordered = order.into_iter().filter_map(|(place, moved)| {
        let mut hit = slots[place].take()?;
        if moved {
            hit.moved = Some(Moved::Successor);
        }
        Some(hit)
    });
    ordered.collect()
}
