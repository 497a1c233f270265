//! The base scores of the best documents only, bit for bit as `base` computes them.
//!
//! The windows of the image are visited in order, which is the order of time. A window is skipped if the bounds of its
//! blocks add up to no more than the score of the last of the best documents so far: then each document of the window
//! comes after all of these. For the same reason, only the documents with a rarer term are read in a window where the
//! bounds of the frequent terms alone add up to no more.
//!
//! # Layer
//! Uses the base score, postings and blocks, but not the other signals.
//!
//! # Invariants
//! - PRN-1: the best documents have the scores that `base` gives them, and so have the candidates and the documents
//!   beside them after [`Pruned::complete`]. Another document has its score or no score.
//! - PRN-2: a bound is a sum of the same terms in the same order as a score, so that rounding puts no score above it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::base::{Pass, Scratch, rarity, touch};
use super::forms::{Found, collect, collect_more};
use super::question::Question;
use super::scope::Admission;
use crate::recall::index::{Block, Index, Posting, WINDOW, windows};

/// The largest count, in units of a quarter, up to which a score never falls by rounding if the count rises.
const QUARTERS_EXACT: u32 = 1_000;

/// The share of a score up to which bounds are added in another order than scores, so that rounding changes nothing
/// (PRN-2).
const ROUNDING: f32 = 0.9999;

/// Some documents of a window.
#[derive(Clone, Copy, Default)]
struct Marks([u64; WINDOW as usize / 64]);

impl Marks {
    fn set(&mut self, document: u32) {
        let at = document % WINDOW;
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    fn has(&self, document: u32) -> bool {
        let at = document % WINDOW;
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }
}

/// What a question asks of the documents of the image.
pub(super) struct Pruned<'a> {
    index: &'a Index,
    /// The number of the best documents.
    count: usize,
    /// Returns whether a document may be one of the best.
    passes: &'a dyn Fn(u32) -> bool,
    parts: Vec<Part<'a>>,
    /// The windows of the image where documents have no score, each with the documents that have one.
    skipped: HashMap<u32, Marks>,
}

/// One term of the question.
struct Part<'a> {
    pass: Pass<'a>,
    /// The number of the term and its blocks in the image, if the term is frequent.
    frequent: Option<(u32, Vec<Block>)>,
    /// The documents that contain the term or a related one, in order, with their scores; for a frequent term only
    /// those that are not in the image.
    found: Vec<(u32, f32)>,
    /// The bit of the term in [`Scratch::mask`], or 0 for related terms.
    bit: u32,
    /// The bound of the term in each window.
    bounds: Vec<f32>,
}

impl<'a> Part<'a> {
    fn new(
        pass: Pass<'a>,
        frequent: Option<(u32, Vec<Block>)>,
        found: Vec<(u32, f32)>,
        bit: u32,
        windows: usize,
    ) -> Self {
        let mut bounds = vec![0.0f32; windows];
        let mut raise = |window: usize, bound: f32| {
            if let Some(cell) = bounds.get_mut(window) {
                *cell = cell.max(bound);
            }
        };
        for block in frequent.iter().flat_map(|(_, blocks)| blocks) {
            raise(block.window(), pass.bound(block));
        }
        for &(document, score) in &found {
            raise((document / WINDOW) as usize, score);
        }
        Self {
            pass,
            frequent,
            found,
            bit,
            bounds,
        }
    }

    /// Returns the number of documents that contain the term in a window of the image.
    fn count(&self, window: u32) -> usize {
        let first = window * WINDOW;
        let at = |document: u32| self.found.partition_point(|(found, _)| *found < document);
        let block = self.frequent.iter().find_map(|(_, blocks)| {
            let at = blocks.binary_search_by_key(&(window as usize), Block::window);
            at.ok().map(|at| blocks[at].count as usize)
        });
        block.unwrap_or(0) + at(first.saturating_add(WINDOW)) - at(first)
    }

    /// Calls `each` with the documents from `first` to before `end` that contain the term and are wanted, and their scores.
    /// The documents are of one window if they are in the image.
    fn for_each(&self, first: u32, end: u32, wants: impl Fn(u32) -> bool, mut each: impl FnMut(u32, f32)) {
        if let Some((number, blocks)) = &self.frequent {
            let window = (first / WINDOW) as usize;
            if let Ok(at) = blocks.binary_search_by_key(&window, Block::window) {
                // What came since the image may begin within the last window of the image.
                let wants = |document: u32| document >= first && wants(document);
                self.pass.for_each_in(*number, blocks, at, wants, |found| {
                    each(found.document, self.pass.weighted(found));
                });
            }
        }
        let start = self.found.partition_point(|(document, _)| *document < first);
        let found = self.found[start..].iter();
        found
            .take_while(|(document, _)| *document < end)
            .filter(|(document, _)| wants(*document))
            .for_each(|&(document, score)| each(document, score));
    }
}

impl Pass<'_> {
    /// Returns a number that no score of the term in a document of the block exceeds (PRN-2).
    fn bound(&self, block: &Block) -> f32 {
        if block.quarters_max > QUARTERS_EXACT {
            return self.weight * self.part_max();
        }
        self.weighted(Found {
            document: block.last_document(),
            quarters: block.quarters_max,
            length: block.length_min,
            session: None,
        })
    }

    /// Calls `each` with the live documents of a block that are wanted.
    fn for_each_in(
        &self,
        number: u32,
        blocks: &[Block],
        at: usize,
        wants: impl Fn(u32) -> bool,
        mut each: impl FnMut(Found),
    ) {
        let index = self.index;
        let postings = &index.postings;
        postings.for_each_in(number, blocks, at, |Posting { document, quarters }| {
            if !wants(document) {
                return;
            }
            let of = index.columns.scored(document);
            if self.admission.admits(&of) {
                each(Found {
                    document,
                    quarters,
                    length: of.length,
                    session: of.session,
                });
            }
        });
    }
}

impl<'a> Pruned<'a> {
    /// Reads what a question needs, or returns `None` if no term of the question is frequent. The question must ask in
    /// all scopes that have documents.
    pub(super) fn new(
        index: &'a Index,
        admission: &'a Admission<'a>,
        question: &Question,
        count: usize,
        passes: &'a dyn Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Option<Self> {
        let postings = &index.postings;
        let number = |forms: &[String]| match forms {
            [form] => postings.find(form.as_bytes()),
            _ => None,
        };
        let frequent = |forms: &[String]| {
            let number = number(forms)?;
            let blocks = postings.blocks(number);
            (!blocks.is_empty()).then_some((number, blocks))
        };
        let frequent: Vec<_> = question.terms.iter().map(|term| frequent(&term.forms)).collect();
        if frequent.iter().all(Option::is_none) {
            return None;
        }
        let windows = windows(postings.base_documents());
        let vacant = index.columns.windows_with_vacant(WINDOW);
        let mut parts = Vec::with_capacity(question.terms.len());
        let (mut found, mut unknown) = (Vec::new(), 0);
        for (place, (term, frequent)) in question.terms.iter().zip(frequent).enumerate() {
            let mut pass = Pass::new(index, admission, term.weight, place);
            let mut in_image = 0;
            found.clear();
            if let Some((number, blocks)) = &frequent {
                collect_more(index, admission, *number, true, &mut found);
                for (at, block) in blocks.iter().enumerate() {
                    if vacant.contains(&(block.window() as u32)) {
                        pass.for_each_in(*number, blocks, at, |_| true, |_| in_image += 1);
                    } else {
                        in_image += block.count as usize;
                    }
                }
            } else {
                collect(index, admission, &term.forms, &mut found);
            }
            pass.rarity = rarity(admission.documents, in_image + found.len());
            let is_unknown = in_image == 0 && found.is_empty();
            let mut scores: Vec<(u32, f32)> = if is_unknown {
                pass.relatives(&term.forms, &mut unknown, scratch)
            } else {
                let scores = found.iter().map(|found| (found.document, pass.weighted(*found)));
                scores.collect()
            };
            scores.sort_unstable_by_key(|(document, _)| *document);
            let bit = if is_unknown { 0 } else { pass.bit() };
            parts.push(Part::new(pass, frequent, scores, bit, windows));
        }
        Some(Self {
            index,
            count,
            passes,
            parts,
            skipped: HashMap::new(),
        })
    }

    /// Writes the scores of the best documents to `scratch`. Returns the rarity of each term.
    pub(super) fn score(&mut self, scratch: &mut Scratch) -> Vec<f32> {
        let documents = self.index.postings.base_documents();
        let mut best: BinaryHeap<Reverse<u32>> = BinaryHeap::with_capacity(self.count + 1);
        // The score of the last of the best documents. The bits of positive numbers sort as the numbers.
        let mut last = 0.0;
        for window in 0..windows(documents) {
            let bounds = self.parts.iter().map(|part| part.bounds[window]);
            if bounds.fold(0.0, |sum, bound| sum + bound) <= last {
                self.skipped.insert(window as u32, Marks::default());
                continue;
            }
            let start = scratch.touched.len();
            match self.with_rare_terms(window as u32, last) {
                Some(marks) => {
                    self.score_window(window as u32, |document| marks.has(document), scratch);
                    self.skipped.insert(window as u32, marks);
                }
                None => self.score_window(window as u32, |_| true, scratch),
            }
            for at in start..scratch.touched.len() {
                let document = scratch.touched[at];
                let base = scratch.base[document as usize];
                if base <= last || !(self.passes)(document) {
                    continue;
                }
                best.push(Reverse(base.to_bits()));
                if best.len() > self.count {
                    best.pop();
                }
                if best.len() == self.count {
                    last = best.peek().map_or(0.0, |least| f32::from_bits(least.0));
                }
            }
        }
        self.score_range(documents, u32::MAX, |_| true, scratch);
        self.parts.iter().map(|part| part.pass.rarity).collect()
    }

    /// Returns the documents of a window that may score more than `last`: those with a term besides the most frequent ones.
    /// Returns `None` if it takes less time to read all.
    fn with_rare_terms(&self, window: u32, last: f32) -> Option<Marks> {
        let bound = |part: &usize| self.parts[*part].bounds[window as usize];
        let mut rarest_last: Vec<usize> = (0..self.parts.len()).collect();
        rarest_last.sort_unstable_by(|one, two| bound(one).total_cmp(&bound(two)));
        let mut sum = 0.0;
        let mut is_minor = |part: &usize| {
            sum += bound(part);
            sum <= last * ROUNDING
        };
        let minor = rarest_last.iter().take_while(|part| is_minor(part)).count();
        let (minor, rare) = rarest_last.split_at(minor);
        let count =
            |parts: &[usize]| -> usize { parts.iter().map(|part| self.parts[*part].count(window)).sum() };
        if count(rare) * 2 >= count(minor) {
            return None;
        }
        let mut marks = Marks::default();
        let (first, end) = self.range(window);
        for part in rare {
            self.parts[*part].for_each(first, end, |_| true, |document, _| marks.set(document));
        }
        Some(marks)
    }

    /// Returns the numbers of the documents of a window.
    fn range(&self, window: u32) -> (u32, u32) {
        let documents = self.index.postings.base_documents();
        let first = window * WINDOW;
        (first, documents.min(first.saturating_add(WINDOW)))
    }

    fn score_window(&self, window: u32, wants: impl Fn(u32) -> bool, scratch: &mut Scratch) {
        let (first, end) = self.range(window);
        self.score_range(first, end, wants, scratch);
    }

    fn score_range(&self, first: u32, end: u32, wants: impl Fn(u32) -> bool, scratch: &mut Scratch) {
        for part in &self.parts {
            let bit = part.bit;
            part.for_each(first, end, &wants, |document, score| {
                touch(&mut scratch.base, &mut scratch.touched, document, score);
                scratch.mask[document as usize] |= bit;
            });
        }
    }

    /// Scores the skipped windows of these candidates and of the documents beside them.
    pub(super) fn complete(&mut self, candidates: &[u32], scratch: &mut Scratch) {
        if self.skipped.is_empty() {
            return;
        }
        for &candidate in candidates {
            let neighbour = self.index.neighbours(candidate);
            for document in [Some(candidate), neighbour(-1), neighbour(1)]
                .into_iter()
                .flatten()
            {
                if let Some(marks) = self.skipped.remove(&(document / WINDOW)) {
                    self.score_window(document / WINDOW, |document| !marks.has(document), scratch);
                }
            }
        }
    }
}
