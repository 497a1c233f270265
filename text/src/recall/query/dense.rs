//! The cosines between documents and a question, if the caller has an embedder.
//!
//! # Layer
//! Uses the vectors of the index, but not the embedder that computed them.

use super::scope::Admission;
use super::signals::{DENSE_NEXT, DENSE_PREVIOUS};
use crate::recall::index::{Index, Quantised};

/// Computes the vectors of texts. The host may provide an embedder; recall works without one.
pub trait Embedder {
    /// Returns the vector of a text. All vectors must have the same length, which the embedder chooses.
    fn embed(&self, text: &str) -> Vec<f32>;

    /// Returns the vector of a question. Some models were taught to read questions and texts differently. By default, a
    /// question is a text.
    fn embed_question(&self, question: &str) -> Vec<f32> {
        self.embed(question)
    }
}

/// The cosines of the admitted documents.
pub(crate) struct Cosines {
    by_number: Vec<f32>,
    documents: Vec<u32>,
}

impl Cosines {
    /// Computes the cosines. Returns `None` if the vector is unusable, or no document has a vector of its length.
    pub(crate) fn new(index: &Index, admission: &Admission<'_>, vector: &[f32]) -> Option<Self> {
        let query = Quantised::new(vector)?;
        let mut cosines = Self {
            by_number: vec![0.0; index.columns.len()],
            documents: Vec::new(),
        };
        index.vectors.for_each_cosine(&query, |number, cosine| {
            if index.columns.is_live(number) && admission.has(number) {
                cosines.by_number[number as usize] = cosine.max(0.0);
                cosines.documents.push(number);
            }
        });
        (!cosines.documents.is_empty()).then_some(cosines)
    }

    /// Returns the documents that have a cosine.
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        self.documents.iter().copied()
    }

    /// Returns the cosine of a document, combined with the weighted cosines of its neighbours.
    pub(crate) fn with_neighbours(&self, index: &Index, number: u32) -> f32 {
        let neighbour = index.neighbours(number);
        let cosine = |offset| neighbour(offset).map_or(0.0, |near| self.by_number[near as usize]);
        self.by_number[number as usize] + DENSE_PREVIOUS * cosine(-1) + DENSE_NEXT * cosine(1)
    }
}
