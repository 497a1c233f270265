//! The documents whose vectors are nearest to the vector of a question.
//!
//! The search compares one bit of each dimension of all vectors, and computes the cosines of the nearest of these. So it
//! reads a ninth of the bytes, and misses about one of a hundred of the hundred nearest documents.
//!
//! # Layer
//! Inside `recall::vectors`.
//!
//! # Invariants
//! - NEA-1: a cosine that is given is that of the document's own vector, to the error of a byte for each dimension.

use std::sync::Arc;

use multiversion::multiversion;

use super::Found;
use super::places::NONE;
use super::quantised::Quantised;
use super::table::{Run, VectorTable};

/// The number of documents up to which the cosines of all are computed.
const ALL_MAX: usize = 4_000;
/// The number of documents in a sample.
const SAMPLE: usize = 1_000;
/// The distance of a document without a vector.
const FAR: u16 = u16::MAX;

/// A question, and the vectors of the documents of an index.
pub(crate) struct Nearest<'a> {
    table: &'a VectorTable,
    placed: Arc<Found>,
    asked: Quantised,
}

impl<'a> Nearest<'a> {
    /// Returns `None` if the vector of the question has no direction, or other dimensions than the table.
    pub(crate) fn new(table: &'a VectorTable, placed: Arc<Found>, asked: &[f32]) -> Option<Self> {
        let asked = Quantised::new(asked)?;
        (asked.parts.len() == table.dimensions()).then_some(Self { table, placed, asked })
    }

    /// Returns the cosine of a document and the question, if the document has a vector.
    pub(crate) fn cosine(&self, number: u32) -> Option<f32> {
        self.table.cosine(self.placed.row(number)?, &self.asked)
    }

    /// Returns the cosine of two documents, if both have a vector.
    pub(crate) fn cosine_of(&self, one: u32, two: u32) -> Option<f32> {
        let other = self.table.quantised(self.placed.row(two)?)?;
        self.table.cosine(self.placed.row(one)?, &other)
    }

    /// Returns the cosines of a sample of the documents that `admits` admits. The sample is the same for the same
    /// documents.
    pub(crate) fn sample(&self, admits: impl Fn(u32) -> bool) -> Vec<f32> {
        let documents = self.placed.rows.len();
        let step = (documents / SAMPLE).max(1);
        let sampled = (0..documents as u32).step_by(step);
        let admitted = sampled.filter(|&number| admits(number));
        admitted.filter_map(|number| self.cosine(number)).collect()
    }

    /// Returns about `count` documents that `admits` admits, with their cosines, the highest first.
    pub(crate) fn best(&self, count: usize, admits: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let documents = self.placed.rows.len();
        let numbers = if documents <= ALL_MAX.max(count) {
            (0..documents as u32).filter(|&number| admits(number)).collect()
        } else {
            self.nearest_by_signs(count, admits)
        };
        let mut found = Vec::with_capacity(numbers.len());
        for number in numbers {
            found.extend(self.cosine(number).map(|cosine| (number, cosine)));
        }
        found.sort_unstable_by(|one: &(u32, f32), two| two.1.total_cmp(&one.1).then(one.0.cmp(&two.0)));
        found
    }

    /// Returns at least `count` admitted documents of which the fewest signs differ from the question's, or all of them.
    fn nearest_by_signs(&self, count: usize, admits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut distances = vec![FAR; self.placed.rows.len()];
        self.measure(&mut distances);
        let mut counts = vec![0usize; self.asked.parts.len() + 1];
        for &distance in &distances {
            if let Some(count) = counts.get_mut(usize::from(distance)) {
                *count += 1;
            }
        }
        // Takes all documents up to a distance, then all up to a greater one, until enough are admitted.
        let (mut near, mut found, mut next, mut batch) = (Vec::new(), Vec::new(), 0, count);
        while found.len() < count && next < counts.len() {
            let first = next;
            let mut taken = 0;
            while next < counts.len() && taken < batch {
                taken += counts[next];
                next += 1;
            }
            near.clear();
            collect_within(&distances, first as u16, next as u16, &mut near);
            for &number in &near {
                if admits(number) {
                    found.push(number);
                }
            }
            batch = batch.saturating_mul(2);
        }
        found
    }

    /// Computes how many signs of each document differ from the question's.
    fn measure(&self, distances: &mut [u16]) {
        let runs = self.table.signs();
        let signs = self.asked.signs();
        let rows = &self.placed.rows;
        // The usual models have 384 dimensions.
        match signs.as_chunks::<48>().0 {
            [signs] if rows.len() == distances.len() => {
                let whole: Vec<(u32, &[[u8; 48]])> = runs
                    .iter()
                    .map(|(start, bytes)| (*start, bytes.as_chunks::<48>().0))
                    .collect();
                distances_of_384(&whole, signs, rows, distances);
            }
            _ => distances_of_any(&runs, &signs, rows, distances),
        }
    }
}

/// Appends the numbers of the documents with a distance from `first` to before `end`.
fn collect_within(distances: &[u16], first: u16, end: u16, near: &mut Vec<u32>) {
    let width = end - first;
    let (groups, _) = distances.as_chunks::<32>();
    for (at, group) in groups.iter().enumerate() {
        // Few groups have a near document, and the compiler compares a group at once.
        let mut some = 0;
        for distance in group {
            some |= u16::from(distance.wrapping_sub(first) < width);
        }
        if some != 0 {
            collect_from(group, at * 32, first, width, near);
        }
    }
    let start = groups.len() * 32;
    collect_from(&distances[start..], start, first, width, near);
}

fn collect_from(distances: &[u16], start: usize, first: u16, width: u16, near: &mut Vec<u32>) {
    for (at, distance) in distances.iter().enumerate() {
        if distance.wrapping_sub(first) < width {
            near.push((start + at) as u32);
        }
    }
}

/// Computes how many of 384 signs of each document differ from the question's. `rows` has the row of each document.
/// The loops name no iterators, because those are not compiled for the instructions of this function.
#[multiversion(targets("x86_64+avx2+popcnt", "x86_64+popcnt"))]
fn distances_of_384(runs: &[(u32, &[[u8; 48]])], signs: &[u8; 48], rows: &[u32], distances: &mut [u16]) {
    let mut words = [0u64; 6];
    let (asked, _) = signs.as_chunks::<8>();
    let mut at = 0;
    while at < 6 {
        words[at] = u64::from_le_bytes(asked[at]);
        at += 1;
    }
    let mut run: (u32, &[[u8; 48]]) = (0, &[]);
    let mut number = 0;
    while number < rows.len() && number < distances.len() {
        let row = rows[number];
        let at = number;
        number += 1;
        if row == NONE {
            continue;
        }
        let mut place = row.wrapping_sub(run.0) as usize;
        if place >= run.1.len() {
            let Some(&found) = runs.iter().rev().find(|(first, _)| *first <= row) else {
                continue;
            };
            run = found;
            place = (row - run.0) as usize;
            if place >= run.1.len() {
                continue;
            }
        }
        let (stored, _) = run.1[place].as_chunks::<8>();
        let mut differing = 0;
        let mut word = 0;
        while word < 6 {
            differing += (u64::from_le_bytes(stored[word]) ^ words[word]).count_ones();
            word += 1;
        }
        distances[at] = differing as u16;
    }
}

/// Computes how many signs of each document differ from the question's. `rows` has the row of each document.
#[multiversion(targets("x86_64+avx2+popcnt", "x86_64+popcnt"))]
fn distances_of_any(runs: &[Run<'_>], signs: &[u8], rows: &[u32], distances: &mut [u16]) {
    let (words, _) = signs.as_chunks::<8>();
    let width = signs.len();
    for (distance, &row) in distances.iter_mut().zip(rows) {
        let run = runs.iter().rev().find(|(first, _)| *first <= row);
        let Some((first, bytes)) = run.filter(|_| row != NONE) else {
            continue;
        };
        let start = (row - first) as usize * width;
        let Some(stored) = bytes.get(start..start + width) else {
            continue;
        };
        let (stored, _) = stored.as_chunks::<8>();
        let mut differing = 0;
        for (one, two) in stored.iter().zip(words) {
            differing += (u64::from_le_bytes(*one) ^ u64::from_le_bytes(*two)).count_ones();
        }
        *distance = differing as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Places;
    use super::super::table::TextKey;
    use super::*;

    fn key(number: u32) -> TextKey {
        let mut key = [1; 16];
        key[..4].copy_from_slice(&number.to_le_bytes());
        key
    }

    /// Returns a vector in one of 50 directions, with noise.
    fn vector(seed: u32) -> Vec<f32> {
        let noise = |at: u32| {
            (seed.wrapping_mul(2_654_435_761).wrapping_add(at * 40_503) >> 16 & 255) as f32 / 255.0 - 0.5
        };
        let topic = |at: u32| ((seed % 50 * 97 + at * 31) as f32).sin();
        (0..128).map(|at| topic(at) + 1.2 * noise(at)).collect()
    }

    #[test]
    fn the_scan_of_signs_finds_what_all_cosines_find() {
        let documents = ALL_MAX as u32 * 3;
        let mut table = VectorTable::new("m");
        (0..documents).for_each(|number| table.insert(key(number), &vector(number)));
        let image = crate::tables::Image::open(table.write(0, |_| true).unwrap().into()).unwrap();
        let mut table = VectorTable::new("m");
        assert!(table.append(image));
        (documents..documents + 500).for_each(|number| table.insert(key(number), &vector(number)));
        let places = Places::default();
        let total = documents + 500;
        let admits = |number: u32| !number.is_multiple_of(3);
        let mut kept = 0;
        for asked in 0..20 {
            let asked = vector(asked + 1_000_000);
            let placed = places.of(&table, total as usize, key);
            let nearest = Nearest::new(&table, placed, &asked).unwrap();
            let mut all: Vec<(u32, f32)> = (0..total)
                .filter(|&number| admits(number))
                .map(|number| (number, nearest.cosine(number).unwrap()))
                .collect();
            all.sort_by(|one, two| two.1.total_cmp(&one.1));
            let found: Vec<u32> = nearest
                .best(1_000, admits)
                .iter()
                .map(|(number, _)| *number)
                .collect();
            assert!(found.iter().all(|&number| admits(number)));
            kept += all[..100]
                .iter()
                .filter(|(number, _)| found.contains(number))
                .count();
        }
        assert!(kept >= 20 * 97, "{kept} of 2000 found");
    }

    #[test]
    fn a_question_of_other_dimensions_finds_nothing() {
        let mut table = VectorTable::new("m");
        table.insert(key(0), &[1.0, 2.0]);
        let places = Places::default();
        let nearest = |asked: &[f32]| Nearest::new(&table, places.of(&table, 1, key), asked).is_some();
        assert!(nearest(&[1.0, 2.0]) && !nearest(&[1.0]) && !nearest(&[0.0, 0.0]));
    }

    /// Documents without a vector have no distance.
    #[test]
    fn documents_without_vectors_are_not_near() {
        let mut table = VectorTable::new("m");
        let documents = ALL_MAX as u32 + 100;
        (0..documents)
            .step_by(2)
            .for_each(|number| table.insert(key(number), &vector(number)));
        let places = Places::default();
        let placed = places.of(&table, documents as usize, key);
        let nearest = Nearest::new(&table, placed, &vector(4)).unwrap();
        let found = nearest.best(10, |_| true);
        assert!(found.len() >= 10 && found.iter().all(|(number, _)| number % 2 == 0));
        assert_eq!(found[0].0, 4);
        assert!((found[0].1 - 1.0).abs() < 0.01, "NEA-1");
    }
}
