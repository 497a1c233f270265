//! The linear classifier of passages. It finds text that resembles an injection, also if no rule knows its words.
//!
//! A rule knows the words of attacks that its author saw. The classifier weighs all words of a passage, their pairs and
//! their letters, and so finds attacks in new words. Each feature has a weight of eight bits in `weights.bin`. The score
//! of a passage is the bias plus the sum of the weights of its distinct features, divided by the square root of their
//! number and a constant.
//!
//! The weights are trained on the texts in `tests/scan/train` and in the tests of the scan (`training` says how). A test
//! trains them again and compares.
//!
//! Source: L2-regularised linear classification over hashed features, Weinberger et al., "Feature Hashing for Large
//! Scale Multitask Learning", ICML 2009; Hsieh et al., "A Dual Coordinate Descent Method for Large-scale Linear SVM",
//! ICML 2008.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-8: the weights are the result of training on the texts of the repository.

mod features;
mod passages;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod training;

use std::ops::Range;

use self::features::{FEATURES, Features};
use crate::scan::finding::Severity;

/// The first bytes of the weights: the scale of a weight and the bias, each a little-endian `f32`.
const HEADER: usize = 8;
/// The trained weights, one signed byte for each feature.
static WEIGHTS: &[u8; HEADER + FEATURES] = include_bytes!("weights.bin");

/// The number of features by which every passage counts as longer, so that a few words alone have no high score.
const PRIOR: f32 = 100.0;
/// The minimal score of a passage that is reported. docs/decisions/0033 has the rates with which it was chosen, and the
/// next ones too.
const MEDIUM: f32 = 0.4;
/// The minimal score of a passage of a stranger that is held back beside a finding of a rule.
const HIGH: f32 = 1.1;
/// The minimal score with which the classifier agrees with the rules about a text of a trusted author.
pub(super) const AGREED: f32 = 0.5;
/// A passage with a score below this one resembles no injection.
pub(super) const UNLIKE: f32 = -0.2;
/// How much a score falls with the number of passages, about as its logarithm. Each passage is one more chance of a mistake, so
/// without it the rate of mistakes would grow with the length of the text.
const FALL: f32 = 0.45;
/// The number of passages from which scores fall no more, so that no length hides an order.
const FALL_MAX: usize = 20;
/// The minimal number of words of a sentence that is scored by itself; a shorter one is joined to the next.
const SENTENCE_MIN: usize = 8;

/// A passage of a text, with its score.
pub(super) struct Passage {
    /// The bytes of the passage in the marks.
    pub(super) span: Range<usize>,
    /// How much the passage, or a sentence in it, resembles an injection, less what the number of passages takes off.
    /// Training gives attacks at least 1 and honest texts at most -1, as far as the features can tell them apart.
    pub(super) score: f32,
}

/// Returns the passages of `marks`, which is UTF-8, with their scores.
pub(super) fn find(marks: &[u8]) -> Vec<Passage> {
    let marks = String::from_utf8_lossy(marks);
    let mut features = Features::default();
    let mut found = Vec::new();
    passages::each(&marks, |words, span| {
        features.read(words);
        let mut best = score(features.of(0..words.len()));
        // A sentence may score higher than the passage, because the text around an order lowers the score.
        let mut start = 0;
        for sentence in passages::sentences(words, SENTENCE_MIN) {
            let end = start + sentence.len();
            if sentence.len() < words.len() {
                best = best.max(score(features.of(start..end)));
            }
            start = end;
        }
        found.push(Passage { span, score: best });
    });
    let fall = FALL * harmonic(found.len().min(FALL_MAX));
    for passage in &mut found {
        passage.score -= fall;
    }
    found
}

/// Returns the sum of the fractions from 1/2 to 1/`count`, which grows as the logarithm does. Every machine gets the same
/// bits.
fn harmonic(count: usize) -> f32 {
    (2..=count).map(|number| 1.0 / number as f32).sum()
}

/// Returns the severity of a passage with this score, or `None` if the passage is not worth a report.
pub(super) fn severity(score: f32) -> Option<Severity> {
    match score {
        score if score >= HIGH => Some(Severity::High),
        score if score >= MEDIUM => Some(Severity::Medium),
        _ => None,
    }
}

/// Returns the score of a passage with these distinct features.
fn score(features: &[u32]) -> f32 {
    let number = |at: usize| {
        let bytes = WEIGHTS[at..at + 4]
            .try_into()
            .expect("the header has two numbers");
        f32::from_le_bytes(bytes)
    };
    let sum: i32 = features
        .iter()
        .map(|feature| i32::from(WEIGHTS[HEADER + *feature as usize].cast_signed()))
        .sum();
    number(0) * sum as f32 / length(features) + number(4)
}

/// Returns the number by which the sum of the weights of these features is divided.
fn length(features: &[u32]) -> f32 {
    (features.len() as f32 + PRIOR).sqrt()
}
