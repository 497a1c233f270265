//! The confidence that a document answers the question, comparable between questions.
//!
//! # Layer
//! Knows the scores of `base`, but not the other signals.

use std::collections::HashMap;

use super::base::{MASK_TERMS, Scratch};
use super::question::Question;
use crate::recall::index::Index;

/// The logistic curve: its offset, and the factors of the covered share of the question and of the base score.
const OFFSET: f32 = -3.8;
const COVERED: f32 = 5.1;
const BASE: f32 = 4.3 / 40.0;
/// The weights of a term that occurs in the message before or the message after.
const PREVIOUS: f32 = 0.7;
const NEXT: f32 = 0.56;

/// Returns the confidence of each of `numbers`, in order.
pub(crate) fn confidences(
    index: &Index,
    question: &Question,
    rarities: &[f32],
    scratch: &Scratch,
    numbers: &[u32],
) -> Vec<f32> {
    // Each document with the ones beside it, and where in `best` their terms are.
    let triples: Vec<[Option<u32>; 3]> = numbers
        .iter()
        .map(|&number| with_neighbours(index, number))
        .collect();
    let mut slots: HashMap<u32, usize> = HashMap::new();
    for &number in triples.iter().flatten().flatten() {
        let next = slots.len();
        slots.entry(number).or_insert(next);
    }
    let terms = question.terms.len();
    let mut best = vec![0.0f32; slots.len() * terms];
    for (&number, &slot) in &slots {
        for place in 0..terms.min(MASK_TERMS) {
            if scratch.mask[number as usize] >> place & 1 == 1 {
                best[slot * terms + place] = 1.0;
            }
        }
    }
    let (least, most) = slots.keys().fold((u32::MAX, 0), |(least, most), &number| {
        (least.min(number), most.max(number))
    });
    for &(place, document, weight) in &scratch.covered {
        if (least..=most).contains(&document)
            && let Some(slot) = slots.get(&document)
        {
            let cell = &mut best[slot * terms + place as usize];
            *cell = cell.max(weight);
        }
    }
    let whole: f32 = question
        .terms
        .iter()
        .zip(rarities)
        .map(|(term, rarity)| term.weight * rarity)
        .sum();
    let covered = |[own, before, after]: &[Option<u32>; 3]| -> f32 {
        let cell = |number: Option<u32>, place: usize| {
            let slot = number.and_then(|number| slots.get(&number));
            slot.map_or(0.0, |slot| best[slot * terms + place])
        };
        let parts = question
            .terms
            .iter()
            .zip(rarities)
            .enumerate()
            .map(|(place, (term, rarity))| {
                let near = (PREVIOUS * cell(*before, place)).max(NEXT * cell(*after, place));
                term.weight * rarity * cell(*own, place).max(near)
            });
        parts.sum()
    };
    let curve = |triple: &[Option<u32>; 3]| {
        let base = triple[0].map_or(0.0, |number| scratch.base[number as usize]);
        let share = if whole > 0.0 { covered(triple) / whole } else { 0.0 };
        1.0 / (1.0 + (-(OFFSET + COVERED * share + BASE * base)).exp())
    };
    triples.iter().map(curve).collect()
}

fn with_neighbours(index: &Index, number: u32) -> [Option<u32>; 3] {
    let session = index.columns.sessions[number as usize];
    let place = index.sessions.place(session, number, &index.columns);
    let near = |offset| index.sessions.neighbour(session, place, offset);
    [Some(number), near(-1), near(1)]
}
