//! The cosines between documents and a question, if the caller has a model.
//!
//! A cosine says little by itself: all texts of one topic are alike. So the median of the admitted documents is
//! subtracted, and what is below it counts as zero. `rank` divides the rest by its maximum.
//!
//! # Layer
//! Uses the vectors of texts, but not the embedder that computed them.
//!
//! # Invariants
//! - DNS-1: a centred cosine is at least zero, and depends only on the question and the admitted documents.

use std::sync::Arc;

use super::scope::Admission;
use super::signals::{DENSE_NEXT, DENSE_PREVIOUS};
use crate::recall::index::Index;
use crate::recall::vectors::{Nearest, VectorTable};

/// The number of unrelated texts, with a cosine of zero, that are assumed besides the documents. Without them, few texts
/// about the question would be their own median, and none would stand out.
const UNRELATED: usize = 10;
/// The number of documents whose cosines are computed first.
const RESCORED: usize = 2_000;

/// Computes the vectors of texts. The host may provide an embedder; recall works without one.
pub trait Embedder {
    /// Returns the vector of a text. All vectors must have the same length, which the embedder chooses.
    fn embed(&self, text: &str) -> Vec<f32>;

    /// Returns the vector of a question. Some models were taught to read questions and texts differently. By default, a
    /// question is a text.
    fn embed_question(&self, question: &str) -> Vec<f32> {
        self.embed(question)
    }

    /// Returns whether the embedder knows the language of a text. Recall answers questions in other languages by words
    /// alone, and texts in other languages get no vectors. A question is `among_others` if some of the searched texts are in
    /// another language than English: a few words may then be in that language too.
    fn knows(&self, _text: &str, _among_others: bool) -> bool {
        true
    }

    /// Reads what the first text needs, such as the weights. A host may call this in a thread of its own before the first
    /// text; otherwise the first text waits.
    fn prepare(&self) {}

    /// Returns why texts lack vectors that they should have, for example because the file of the model is damaged. Recall
    /// finds them by words. A text for which the model has no vector is no fault.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// What a query needs to search by meaning.
pub trait Meaning {
    /// Returns the vector of a question, or `None` if the model does not know its language; see [`Embedder::knows`].
    fn of_question(&self, question: &str, among_others: bool) -> Option<Vec<f32>>;

    /// Returns the vectors of texts by the same model.
    fn table(&self) -> Arc<VectorTable>;
}

/// The cosines of the admitted documents.
pub(crate) struct Cosines<'a> {
    nearest: Nearest<'a>,
    /// The documents with the highest cosines, the highest first.
    documents: Vec<(u32, f32)>,
    /// The centred cosine of the last of the best documents that pass.
    last: f32,
    median: f32,
}

impl<'a> Cosines<'a> {
    /// Returns `None` if the vector is unusable, or no document has a vector of its length. At least `count` documents that
    /// pass have a cosine, if there are so many.
    pub(crate) fn new(
        index: &'a Index,
        table: &'a VectorTable,
        admission: &Admission<'_>,
        vector: &[f32],
        count: usize,
        passes: impl Fn(u32) -> bool,
    ) -> Option<Self> {
        let nearest = Nearest::new(table, index.placed(table), vector)?;
        let admits = |number| index.columns.is_live(number) && admission.has(number);
        let median = median_with_unrelated(nearest.sample(admits));
        let mut rescored = RESCORED;
        loop {
            let documents = nearest.best(rescored, admits);
            let mut passing = documents.iter().filter(|(number, _)| passes(*number));
            let last = passing.nth(count.saturating_sub(1)).map(|(_, cosine)| *cosine);
            // Many near documents may not pass, for example because they expired.
            if documents.len() < rescored || last.is_some() {
                return (!documents.is_empty()).then_some(Self {
                    nearest,
                    documents,
                    last: last.map_or(0.0, |cosine| centred(cosine, median)),
                    median,
                });
            }
            rescored = rescored.saturating_mul(8);
        }
    }

    /// Returns the documents that may be among the best by their cosines, combined with those of neighbours.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = u32> {
        let first = self.documents.first();
        let most = first.map_or(0.0, |(_, cosine)| centred(*cosine, self.median));
        // The neighbours raise no document above the best ones that is lower than this.
        let least = self.last - (DENSE_PREVIOUS + DENSE_NEXT) * most;
        let may_be = move |(_, cosine): &&(u32, f32)| centred(*cosine, self.median) >= least;
        self.documents
            .iter()
            .take_while(may_be)
            .map(|(number, _)| *number)
    }

    /// Returns the cosine of a document, or 0 if it is not above the median.
    pub(crate) fn whole(&self, number: u32) -> f32 {
        let cosine = self.nearest.cosine(number).unwrap_or_default();
        if cosine > self.median { cosine } else { 0.0 }
    }

    /// Returns the cosine of two documents, if both have a vector.
    pub(crate) fn of_two(&self, one: u32, two: u32) -> Option<f32> {
        self.nearest.cosine_of(one, two)
    }

    fn centred(&self, number: u32) -> f32 {
        let cosine = self.nearest.cosine(number);
        cosine.map_or(0.0, |cosine| centred(cosine, self.median))
    }

    /// Returns the centred cosine of a document, combined with the weighted cosines of its neighbours.
    pub(crate) fn with_neighbours(&self, index: &Index, number: u32) -> f32 {
        self.centred(number) + self.of_neighbours(index, number)
    }

    fn of_neighbours(&self, index: &Index, number: u32) -> f32 {
        if index.sessions.are_none() {
            return 0.0;
        }
        let neighbour = index.neighbours(number);
        let cosine = |offset| neighbour(offset).map_or(0.0, |near| self.centred(near));
        DENSE_PREVIOUS * cosine(-1) + DENSE_NEXT * cosine(1)
    }
}

/// Returns the median of the cosines of documents and of unrelated texts.
fn median_with_unrelated(mut cosines: Vec<f32>) -> f32 {
    cosines.resize(cosines.len() + UNRELATED, 0.0);
    let middle = cosines.len() / 2;
    *cosines.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// Returns how far a cosine is above the median (DNS-1).
fn centred(cosine: f32, median: f32) -> f32 {
    (cosine - median).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn the_median_of_cosines_is_their_zero() {
        for few in [&[][..], &[0.5], &[0.9, 0.1, 0.3]] {
            assert!(same(median_with_unrelated(few.to_vec()), 0.0));
        }
        let many: Vec<f32> = (0..=100u8).map(|at| f32::from(at) / 100.0).collect();
        assert!(same(median_with_unrelated(many), 0.45));
        for (cosine, wanted) in [(0.25, 0.0), (0.5, 0.0), (0.75, 0.25)] {
            assert!(same(centred(cosine, 0.5), wanted), "DNS-1");
        }
    }
}
