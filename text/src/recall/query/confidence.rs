//! The confidence that a document answers the question. Confidences of different questions can be compared.
//!
//! Words and meaning are two witnesses. The confidence is the probability that at least one of them is right.
//!
//! # Layer
//! Uses the scores of a ranking, and the signals that name a time or a speaker.

use std::collections::HashMap;

use super::Hit;
use super::base::MASK_TERMS;
use super::rank::Ranking;
use super::signals::{NO_ANSWER, Signal};

/// The offset of the logistic curve of the confidence. The factors were fitted on questions with an answer, and on the
/// same questions asked of another conversation.
const OFFSET: f32 = -4.6;
/// The factor of the covered share of the question in the logistic curve of the confidence.
const COVERED: f32 = 5.1;
/// The factor of the base score in the logistic curve of the confidence.
const BASE: f32 = 4.3 / 40.0;
/// The factor of the number of matching terms in the logistic curve: one word in common may be chance.
const COUNTED: f32 = 0.4;
/// The number of matching terms above which more of them say nothing new.
const COUNTED_MAX: f32 = 3.0;
/// The factor of a time that the question names in the logistic curve.
const TIME: f32 = 1.5;
/// The factor of a speaker that the question names in the logistic curve.
const SPEAKER: f32 = 0.3;
/// The weight of a term that occurs in the previous message.
const PREVIOUS: f32 = 0.7;
/// The weight of a term that occurs in the next message.
const NEXT: f32 = 0.56;

/// The cosine at which the meaning alone is as likely right as wrong.
const MEANING: f32 = 0.38;
/// The same in a session: its messages are about one topic, so they are more alike.
const MEANING_IN_SESSION: f32 = 0.52;
/// The factor of the cosine in its logistic curve.
const MEANING_STEEP: f32 = 15.0;

/// The confidence below which a text that has nothing of the question is chance: less than one such text in ten answers.
const CHANCE: f32 = 0.1;

/// Sets the confidence of each hit.
pub(crate) fn judge(ranking: &Ranking<'_>, hits: &mut [Hit]) {
    let confidences = confidences(ranking, hits);
    for (hit, confidence) in hits.iter_mut().zip(confidences) {
        hit.confidence = confidence;
    }
}

/// Returns whether a hit that was judged is one only by chance: it has no word, time or speaker of the question, and its
/// meaning is far from it. Some text is always the nearest one. In a conversation, the neighbours of a message may be the
/// reason for it.
pub(crate) fn is_chance(hit: &Hit) -> bool {
    use Signal::{Base, Date, Event, Speaker};
    let own = [Base, Speaker, Date, Event];
    let has_none = own.iter().all(|&signal| hit.signals[signal as usize] <= 0.0);
    has_none && hit.confidence < CHANCE && !hit.conversation && hit.moved.is_none()
}

/// Returns the confidence of each hit, in the same order.
fn confidences(ranking: &Ranking<'_>, hits: &[Hit]) -> Vec<f32> {
    let (scratch, terms) = (ranking.scratch, &ranking.question.terms);
    // Each document, with the previous and the next document of its session.
    let triples: Vec<[Option<u32>; 3]> = hits
        .iter()
        .map(|hit| {
            let neighbour = ranking.index.neighbours(hit.number);
            [Some(hit.number), neighbour(-1), neighbour(1)]
        })
        .collect();
    let mut read: Vec<u32> = triples.iter().flatten().flatten().copied().collect();
    read.sort_unstable();
    read.dedup();
    // For each term of the question (by its position) and each document, the largest weight of a related term in that
    // document.
    let mut related: HashMap<(u32, u32), f32> = HashMap::new();
    for &(place, document, weight) in &scratch.covered {
        if read.binary_search(&document).is_ok() {
            let cell = related.entry((place, document)).or_default();
            *cell = cell.max(weight);
        }
    }
    let cell = |number: Option<u32>, place: usize| match number {
        Some(number) if place < MASK_TERMS && scratch.mask[number as usize] >> place & 1 == 1 => 1.0,
        Some(number) => related.get(&(place as u32, number)).copied().unwrap_or_default(),
        None => 0.0,
    };
    let weights: Vec<f32> = terms
        .iter()
        .zip(ranking.rarities)
        .map(|(term, rarity)| term.weight * rarity)
        .collect();
    let whole: f32 = weights.iter().sum();
    let covered = |[own, before, after]: [Option<u32>; 3]| -> f32 {
        let parts = weights.iter().enumerate().map(|(place, weight)| {
            let near = (PREVIOUS * cell(before, place)).max(NEXT * cell(after, place));
            weight * cell(own, place).max(near)
        });
        parts.sum()
    };
    let curve = |(&triple, hit): (&[Option<u32>; 3], &Hit)| {
        let base = triple[0].map_or(0.0, |number| scratch.base[number as usize]);
        let share = if whole > 0.0 { covered(triple) / whole } else { 0.0 };
        let own = terms
            .iter()
            .enumerate()
            .map(|(place, term)| term.weight * cell(triple[0], place));
        let count = own.sum::<f32>().min(COUNTED_MAX);
        let signal = |signal: Signal| hit.signals[signal as usize];
        let time = signal(Signal::Date).max(signal(Signal::Event));
        let sum = OFFSET
            + COVERED * share
            + BASE * base
            + COUNTED * count
            + TIME * time
            + SPEAKER * signal(Signal::Speaker);
        let by_words = logistic(sum);
        let by_meaning = ranking.dense.map_or(0.0, |dense| {
            let middle = if hit.in_session {
                MEANING_IN_SESSION
            } else {
                MEANING
            };
            logistic(MEANING_STEEP * (dense.whole(hit.number) - middle))
        });
        let confidence = 1.0 - (1.0 - by_words) * (1.0 - by_meaning);
        // A text that only asks answers nothing, whatever words it has.
        if hit.role.may_answer() {
            confidence
        } else {
            confidence * (1.0 - NO_ANSWER)
        }
    };
    triples.iter().zip(hits).map(curve).collect()
}

fn logistic(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum).exp())
}
