//! Compares a new text with stored texts by a model of meaning.
//!
//! The vector of a new text takes milliseconds, and the first one of a process reads the model. So it is computed once,
//! and only if the caller always wants it, or if the words of a pair leave in doubt whether it is reported.
//!
//! # Layer
//! Knows vectors and the score of a pair, but no words.
//!
//! # Invariants
//! - CMP-1: whether the model is asked depends only on the texts and on the caller, never on what was computed before.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use crate::recall::index::{Index, Key};
use crate::recall::query::Filter;
use crate::recall::vectors::VectorTable;

/// The score of both: that of the words, as the argument of its logistic curve, and the cosine, with these weights. They
/// were fitted on one half of the pairs of `tests/recall/run.py`; `docs/decisions/0035` has the figures.
const WORDS: f32 = 0.5;
const COSINE: f32 = 7.7;
const OFFSET: f32 = -5.75;
/// The similarities by words at which the meaning may change whether a pair is reported.
const DOUBT: Range<f32> = 0.2..0.8;
/// The number of documents nearest in meaning that are compared.
const COMPARED: usize = 5;
/// The number of documents nearest in meaning among which those are searched that the caller wants.
const SEARCHED: usize = 40;

/// A model that compares a new text with stored texts.
pub trait TextMeaning {
    /// Returns the vector of a new text, or `None` if the model does not know its language. `among_others` is as in
    /// [`Embedder::knows`](crate::recall::Embedder::knows).
    fn of_new(&self, text: &str, among_others: bool) -> Option<Vec<f32>>;

    /// Returns the cosine of a vector and the vector of a stored text, which is computed if there is none yet.
    fn with_stored(&self, vector: &[f32], text: &str) -> Option<f32>;

    /// Returns the vectors of stored texts.
    fn table(&self) -> Arc<VectorTable>;
}

/// A model, and when it is asked.
#[derive(Clone, Copy)]
pub struct ByMeaning<'a> {
    /// The model.
    pub model: &'a dyn TextMeaning,
    /// Whether all candidates are compared by meaning, not only those that the words leave in doubt.
    pub always: bool,
}

/// The argument of the logistic curve of a similarity of both.
pub(super) fn of_both(words: f32, cosine: f32) -> f32 {
    WORDS * words + COSINE * cosine + OFFSET
}

/// The meaning of one new text.
pub(super) struct Meant<'a> {
    by: Option<ByMeaning<'a>>,
    index: &'a Index,
    text: &'a str,
    scopes: Option<&'a [&'a str]>,
    /// The vector, once the model was asked.
    vector: OnceCell<Option<Vec<f32>>>,
}

impl<'a> Meant<'a> {
    pub(super) fn new(
        by: Option<ByMeaning<'a>>,
        index: &'a Index,
        text: &'a str,
        scopes: Option<&'a [&'a str]>,
    ) -> Self {
        let vector = OnceCell::new();
        Self {
            by,
            index,
            text,
            scopes,
            vector,
        }
    }

    fn vector(&self, by: ByMeaning<'_>) -> Option<&[f32]> {
        let vector = self.vector.get_or_init(|| {
            let among_others = self.index.has_other_languages(self.scopes);
            by.model.of_new(self.text, among_others)
        });
        vector.as_deref()
    }

    /// Returns the cosine of the new text and a stored one, if it is wanted at this similarity by words (CMP-1).
    pub(super) fn cosine(&self, old: &str, by_words: f32) -> Option<f32> {
        let by = self.by.filter(|by| by.always || DOUBT.contains(&by_words))?;
        by.model.with_stored(self.vector(by)?, old)
    }

    /// Calls `compare` with the documents nearest in meaning, until it has compared enough of them. Calls it with none if
    /// nothing asked for the meaning.
    pub(super) fn for_each_nearest(&self, filter: Filter<'_>, mut compare: impl FnMut(Key) -> bool) {
        let Some(by) = self.by.filter(|by| by.always || self.vector.get().is_some()) else {
            return;
        };
        let Some(vector) = self.vector(by) else { return };
        let table = by.model.table();
        let found = self
            .index
            .nearest_by_meaning(&table, vector, self.scopes, filter, SEARCHED);
        let mut compared = 0;
        for key in found {
            compared += usize::from(compare(key));
            if compared == COMPARED {
                return;
            }
        }
    }
}
