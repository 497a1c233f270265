//! Cosines of documents to a question, if the caller has an embedder.
//!
//! # Layer
//! Knows the vectors of the index, but not their origin.

use super::scope::Admission;
use super::signals::{DENSE_NEXT, DENSE_PREVIOUS};
use crate::recall::index::{Index, Quantised};

/// Turns texts into vectors. The host may supply one; recall works without.
pub trait Embedder {
    /// Returns the vector of a text. It may have any length, but the same for all texts.
    fn embed(&self, text: &str) -> Vec<f32>;
}

/// The cosines of the admitted documents.
pub(crate) struct Cosines {
    by_number: Vec<f32>,
    documents: Vec<u32>,
}

impl Cosines {
    /// `None` if the vector is unusable, or no document has a vector of its length.
    pub(crate) fn new(index: &Index, admission: &Admission, vector: &[f32]) -> Option<Self> {
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

    /// The documents that have one.
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        self.documents.iter().copied()
    }

    /// The cosine of a document with a part of its neighbours'.
    pub(crate) fn with_neighbours(&self, index: &Index, number: u32) -> f32 {
        let session = index.columns.sessions[number as usize];
        let place = index.sessions.place(session, number, &index.columns);
        let cosine = |offset| {
            let near = index.sessions.neighbour(session, place, offset);
            near.map_or(0.0, |near| self.by_number[near as usize])
        };
        self.by_number[number as usize] + DENSE_PREVIOUS * cosine(-1) + DENSE_NEXT * cosine(1)
    }
}
