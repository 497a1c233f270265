//! The base score: BM25 of each document, and of each session, for the terms of a question and their related terms.
//!
//! # Layer
//! Knows postings, columns and sessions, but not the other signals.
//!
//! # Invariants
//! - BSC-1: a score depends only on the admitted documents, not on their numbers.
//! - BSC-2: between two questions every cell of the [`Scratch`] is zero.

use super::forms::{Found, collect, collect_more};
use super::question::Question;
use super::relatives::nearly;
use super::scope::Admission;
use crate::recall::index::Index;

/// Parameter of BM25 for documents: how soon further repeats of a term stop raising the score.
const K1: f32 = 1.2;
/// Parameter of BM25 for documents: the weight of the length.
const B: f32 = 0.75;
/// The length that is added to each document and to the mean, in units of a quarter. Among texts of a sentence, the
/// shorter text is not more about its words than the longer one; among documents, it is.
const LENGTH_ADDED: f32 = 15.0 * 4.0;
/// Parameter of BM25 for sessions: the weight of the length.
const SESSION_B: f32 = 0.5;
/// The number of terms whose presence in a document is stored as bits. The signal `Context` ignores later terms.
pub(crate) const MASK_TERMS: usize = 32;
/// The maximal number of unknown terms for which similar terms are searched. Each search visits all terms of the index.
const UNKNOWN_MAX: usize = 8;

/// Working memory for one question at a time. The caller reuses it for later questions.
#[derive(Default)]
pub struct Scratch {
    pub(crate) base: Vec<f32>,
    part: Vec<f32>,
    /// For each document, one bit for each term of the question. A bit is set if the document contains the term, not
    /// only a related term.
    pub(crate) mask: Vec<u32>,
    /// The documents that have a base score.
    pub(crate) touched: Vec<u32>,
    pub(crate) session: Vec<f32>,
    pub(crate) sessions_touched: Vec<u32>,
    session_quarters: Vec<u32>,
    /// The admitted documents that contain one term of the question; the next field is for one related term.
    own: Vec<Found>,
    related: Vec<Found>,
    /// The documents that contain a term related to a term of the question. Each entry has the position of the term in
    /// the question, the document, and the weight.
    pub(crate) covered: Vec<(u32, u32, f32)>,
    parts_touched: Vec<u32>,
    counted: Vec<u32>,
}

impl Scratch {
    pub(super) fn prepare(&mut self, index: &Index) {
        let documents = index.columns.len();
        if self.base.len() < documents {
            // Allocating zeroed memory is cheaper than copying the old zeros.
            self.base = vec![0.0; documents + documents / 8];
            self.part = vec![0.0; documents + documents / 8];
            self.mask = vec![0; documents + documents / 8];
        }
        let sessions = index.sessions.len();
        if self.session.len() < sessions {
            self.session = vec![0.0; sessions];
            self.session_quarters = vec![0; sessions];
        }
    }

    /// Sets all cells to zero again.
    pub(crate) fn clear(&mut self) {
        for &document in &self.touched {
            self.base[document as usize] = 0.0;
            self.mask[document as usize] = 0;
        }
        for &session in &self.sessions_touched {
            self.session[session as usize] = 0.0;
        }
        self.touched.clear();
        self.sessions_touched.clear();
        self.covered.clear();
    }
}

/// Returns the weight of a term that `frequency` of `all` documents contain.
pub(super) fn rarity(all: u32, frequency: usize) -> f32 {
    let (all, frequency) = (all as f32, frequency as f32);
    ((all - frequency + 0.5) / (frequency + 0.5)).ln_1p()
}

/// Writes the scores of all admitted documents and of their sessions to `scratch`. Returns the rarity of each term of
/// the question.
pub(crate) fn score(
    index: &Index,
    admission: &Admission<'_>,
    question: &Question,
    scratch: &mut Scratch,
) -> Vec<f32> {
    let mut unknown = 0;
    let mut rarities = Vec::with_capacity(question.terms.len());
    for (place, term) in question.terms.iter().enumerate() {
        collect(index, admission, &term.forms, &mut scratch.own);
        let rarity = rarity(admission.documents, scratch.own.len());
        rarities.push(rarity);
        let pass = Pass {
            rarity,
            ..Pass::new(index, admission, term.weight, place)
        };
        if scratch.own.is_empty() {
            for (document, score) in pass.relatives(&term.forms, &mut unknown, scratch) {
                touch(&mut scratch.base, &mut scratch.touched, document, score);
            }
        }
        pass.add(scratch);
        pass.add_sessions(scratch);
    }
    rarities
}

/// Returns the BM25 score of a term with this rarity and count in a text. `length` is relative to the mean, and `b` is
/// the weight of the length.
#[inline]
fn bm25(rarity: f32, quarters: u32, b: f32, length: f32) -> f32 {
    let count = quarters as f32 / 4.0;
    rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - b + b * length))
}

/// The pass over the postings of one term of the question.
pub(super) struct Pass<'a> {
    pub(super) index: &'a Index,
    pub(super) admission: &'a Admission<'a>,
    pub(super) weight: f32,
    pub(super) rarity: f32,
    place: usize,
}

impl<'a> Pass<'a> {
    /// Returns the pass of the term at a place of the question. The caller sets the rarity.
    pub(super) fn new(index: &'a Index, admission: &'a Admission<'a>, weight: f32, place: usize) -> Self {
        Self {
            index,
            admission,
            weight,
            rarity: 0.0,
            place,
        }
    }

    /// Returns the bit of the term in [`Scratch::mask`], or 0 if it has none.
    pub(super) fn bit(&self) -> u32 {
        let is_in_mask = self.place < MASK_TERMS;
        u32::from(is_in_mask) << (self.place % MASK_TERMS)
    }

    /// Returns a number above the score of any document, despite rounding.
    pub(super) fn part_max(&self) -> f32 {
        self.rarity * (K1 + 1.0) * 1.001
    }

    /// Returns the BM25 score of one term in one document.
    #[inline]
    fn part(&self, found: Found, rarity: f32) -> f32 {
        let length = found.length as f32 + LENGTH_ADDED;
        let length = length / (self.admission.document_length + LENGTH_ADDED);
        bm25(rarity, found.quarters, B, length)
    }

    /// Returns the weighted score of a document that contains the term itself.
    #[inline]
    pub(super) fn weighted(&self, found: Found) -> f32 {
        self.weight * self.part(found, self.rarity)
    }

    fn add(&self, scratch: &mut Scratch) {
        let bit = self.bit();
        for &found in &scratch.own {
            let score = self.weighted(found);
            touch(&mut scratch.base, &mut scratch.touched, found.document, score);
            scratch.mask[found.document as usize] |= bit;
        }
    }

    /// Returns the weighted scores of the documents that contain a term spelled like the term, which no document
    /// contains. `unknown` is the number of such terms so far.
    pub(super) fn relatives(
        &self,
        forms: &[String],
        unknown: &mut usize,
        scratch: &mut Scratch,
    ) -> Vec<(u32, f32)> {
        let Some(form) = forms.first().filter(|_| *unknown < UNKNOWN_MAX) else {
            return Vec::new();
        };
        *unknown += 1;
        for (number, weight) in nearly(&self.index.postings, form) {
            scratch.related.clear();
            collect_more(self.index, self.admission, number, false, &mut scratch.related);
            let rarity = rarity(self.admission.documents, scratch.related.len()).min(self.rarity);
            for &found in &scratch.related {
                let score = weight * self.part(found, rarity);
                let cell = &mut scratch.part[found.document as usize];
                if *cell == 0.0 {
                    scratch.parts_touched.push(found.document);
                }
                *cell = cell.max(score);
                scratch.covered.push((self.place as u32, found.document, weight));
            }
        }
        let Scratch {
            part, parts_touched, ..
        } = scratch;
        let related = parts_touched.drain(..);
        related
            .map(|document| {
                (
                    document,
                    self.weight * std::mem::take(&mut part[document as usize]),
                )
            })
            .collect()
    }

    /// Adds the BM25 score of each session, taken as one text. Counts only the term itself, not related terms.
    fn add_sessions(&self, scratch: &mut Scratch) {
        for found in &scratch.own {
            let Some(session) = found.session else { continue };
            let cell = &mut scratch.session_quarters[session as usize];
            if *cell == 0 {
                scratch.counted.push(session);
            }
            *cell = cell.saturating_add(found.quarters);
        }
        let rarity = rarity(self.admission.sessions, scratch.counted.len());
        let (cells, touched) = (&mut scratch.session, &mut scratch.sessions_touched);
        for session in scratch.counted.drain(..) {
            let quarters = std::mem::take(&mut scratch.session_quarters[session as usize]);
            let length = self.index.sessions.length(session) as f32;
            let length = length / self.admission.session_length;
            let part = bm25(rarity, quarters, SESSION_B, length);
            touch(cells, touched, session, self.weight * part);
        }
    }
}

/// Adds to a cell and records that the cell is in use.
#[inline]
pub(super) fn touch(cells: &mut [f32], touched: &mut Vec<u32>, at: u32, value: f32) {
    let cell = &mut cells[at as usize];
    if *cell == 0.0 {
        touched.push(at);
    }
    *cell += value;
}
