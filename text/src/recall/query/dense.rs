//! The cosines between documents and a question, if the caller has a model.
//!
//! # Layer
//! Uses the vectors of texts, but not the embedder that computed them.

use std::sync::Arc;

use super::scope::Admission;
use super::signals::{DENSE_NEXT, DENSE_PREVIOUS};
use crate::recall::index::Index;
use crate::recall::vectors::{Nearest, VectorTable};

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
}

/// What a query needs to search by meaning.
pub trait Meaning {
    /// Returns the vector of a question.
    fn embed_question(&self, question: &str) -> Vec<f32>;

    /// Returns the vectors of texts by the same model.
    fn table(&self) -> Arc<VectorTable>;
}

/// The cosines of the admitted documents.
pub(crate) struct Cosines<'a> {
    nearest: Nearest<'a>,
    documents: Vec<u32>,
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
        let mut rescored = RESCORED;
        loop {
            let found = nearest.best(rescored, admits);
            let documents: Vec<u32> = found.into_iter().map(|(number, _)| number).collect();
            let passing = documents.iter().filter(|&&number| passes(number)).take(count);
            // Many near documents may not pass, for example because they expired.
            if documents.len() < rescored || passing.count() == count {
                return (!documents.is_empty()).then_some(Self { nearest, documents });
            }
            rescored = rescored.saturating_mul(8);
        }
    }

    /// Returns the documents with the highest cosines.
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        self.documents.iter().copied()
    }

    fn cosine(&self, number: u32) -> f32 {
        self.nearest.cosine(number).unwrap_or_default().max(0.0)
    }

    /// Returns the cosine of a document, combined with the weighted cosines of its neighbours.
    pub(crate) fn with_neighbours(&self, index: &Index, number: u32) -> f32 {
        let neighbour = index.neighbours(number);
        let cosine = |offset| neighbour(offset).map_or(0.0, |near| self.cosine(near));
        self.cosine(number) + DENSE_PREVIOUS * cosine(-1) + DENSE_NEXT * cosine(1)
    }
}
