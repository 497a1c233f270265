//! The cosines between documents and a question, if the caller has an embedder.
//!
//! A cosine says little by itself: all texts of one topic are alike. So the median of the admitted documents is
//! subtracted, and what is below it counts as zero. `rank` divides the rest by its maximum.
//!
//! # Layer
//! Uses the vectors of the index, but not the embedder that computed them.
//!
//! # Invariants
//! - DNS-1: a centred cosine is at least zero, and depends only on the question and the admitted documents.

use super::scope::Admission;
use super::signals::{DENSE_NEXT, DENSE_PREVIOUS};
use crate::recall::index::{Index, Quantised};

/// Computes the vectors of texts. The host may provide an embedder; recall works without one.
pub trait Embedder {
    /// Returns the vector of a text. All vectors must have the same length, which the embedder chooses.
    fn embed(&self, text: &str) -> Vec<f32>;

    /// Returns whether the embedder knows the language of a text. Recall answers questions in other languages by words
    /// alone. A question is `among_others` if some of the searched texts are in another language than English: a few
    /// words may then be in that language too.
    fn knows(&self, _text: &str, _among_others: bool) -> bool {
        true
    }
}

/// The cosines of the admitted documents.
pub(crate) struct Cosines {
    /// The centred cosine of each document.
    by_number: Vec<f32>,
    documents: Vec<u32>,
    median: f32,
}

impl Cosines {
    /// Computes the cosines. Returns `None` if the vector is unusable, or no document has a vector of its length.
    pub(crate) fn new(index: &Index, admission: &Admission<'_>, vector: &[f32]) -> Option<Self> {
        let query = Quantised::new(vector)?;
        let mut documents = Vec::new();
        let mut cosines = Vec::new();
        index.vectors.for_each_cosine(&query, |number, cosine| {
            if index.columns.is_live(number) && admission.has(number) {
                documents.push(number);
                cosines.push(cosine);
            }
        });
        let median = median(&mut cosines.clone())?;
        let mut by_number = vec![0.0; index.columns.len()];
        for (&number, &cosine) in documents.iter().zip(&cosines) {
            by_number[number as usize] = centred(cosine, median);
        }
        Some(Self {
            by_number,
            documents,
            median,
        })
    }

    /// Returns the documents that have a cosine.
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        self.documents.iter().copied()
    }

    /// Returns the cosine of a document, or 0 if it is not above the median.
    pub(crate) fn whole(&self, number: u32) -> f32 {
        let centred = self.by_number[number as usize];
        if centred > 0.0 { centred + self.median } else { 0.0 }
    }

    /// Returns the centred cosine of a document, combined with the weighted cosines of its neighbours.
    pub(crate) fn with_neighbours(&self, index: &Index, number: u32) -> f32 {
        let neighbour = index.neighbours(number);
        let cosine = |offset| neighbour(offset).map_or(0.0, |near| self.by_number[near as usize]);
        self.by_number[number as usize] + DENSE_PREVIOUS * cosine(-1) + DENSE_NEXT * cosine(1)
    }
}

/// Returns the cosine of two documents, if both have a vector.
pub(crate) fn cosine_of(index: &Index, one: u32, two: u32) -> Option<f32> {
    let (one, two) = (index.vectors.get(one)?, index.vectors.get(two)?);
    let products = one.parts.iter().zip(&two.parts);
    let sum: i32 = products.map(|(&one, &two)| i32::from(one) * i32::from(two)).sum();
    Some(sum as f32 * one.scale * two.scale)
}

/// Returns the median of the cosines, whose order changes. Returns `None` if there are none.
fn median(cosines: &mut [f32]) -> Option<f32> {
    let middle = cosines.len() / 2;
    let is_empty = cosines.is_empty();
    (!is_empty).then(|| *cosines.select_nth_unstable_by(middle, f32::total_cmp).1)
}

/// Returns how far a cosine is above the median (DNS-1).
fn centred(cosine: f32, median: f32) -> f32 {
    (cosine - median).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_cosines_is_their_zero() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [0.5]), Some(0.5));
        assert_eq!(median(&mut [0.9, 0.1, 0.3]), Some(0.3));
        for (cosine, wanted) in [(0.25, 0.0), (0.5, 0.0), (0.75, 0.25)] {
            assert_eq!(centred(cosine, 0.5), wanted, "DNS-1");
        }
    }
}
