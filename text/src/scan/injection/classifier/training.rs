//! Trains the weights of the classifier on the texts of the repository.
//!
//! `TREERING_WRITE_WEIGHTS=1 cargo test --release --lib weights_are_those` trains, and writes `weights.bin`. Training uses
//! additions, multiplications, divisions and square roots only, so every machine gets the same bytes.
//!
//! A text that is an attack is represented by its passage with the highest score: the passage that has the order. An
//! honest text is represented by all its passages.

use super::features::{FEATURES, Features};
use super::{HEADER, passages};
use crate::scan::injection::views::{self, TextCopy};
use crate::scan::rules::tests::injection_examples;
use crate::scan::tests::corpus::Text;
use crate::scan::tests::{attacks, benign};

/// The cost of an error, relative to the length of the weights.
const COST: f64 = 3.0;
/// The number of rounds: after each, the passages that represent attacks are chosen anew.
const ROUNDS: usize = 3;
/// The number of passes over the passages in a round.
const PASSES: usize = 40;

/// Returns the texts of the tests of the scan: examples of the rules, orders, and honest texts in unusual encodings.
pub(super) fn own_texts() -> Vec<Text> {
    let mut texts = Vec::new();
    let mut add = |text: String, label| {
        let family = "own".to_owned();
        texts.push(Text {
            family,
            text,
            label,
            overt: false,
        });
    };
    for rule in injection_examples() {
        rule.matches.into_iter().for_each(|text| add(text, 1));
        rule.passes.into_iter().for_each(|text| add(text, 0));
    }
    for text in attacks::to_tune() {
        add(text, 1);
    }
    for text in benign::to_tune() {
        add(text, 0);
    }
    texts
}

/// The weights before they are rounded to bytes; the last one is the bias.
pub(super) struct Model {
    weights: Vec<f64>,
}

/// The features of a passage, and its dual variable (alpha in Hsieh et al.).
struct Example {
    features: Vec<u32>,
    is_attack: bool,
    dual: f64,
}

impl Model {
    /// Trains on `texts`.
    pub(super) fn train<'a>(texts: impl Iterator<Item = &'a Text>) -> Self {
        let texts: Vec<(Vec<Vec<u32>>, bool)> = texts
            .map(|text| (passages_of(&text.text), text.label == 1))
            .collect();
        let mut model = Self { weights: Vec::new() };
        for _ in 0..ROUNDS {
            let examples = model.examples(&texts);
            model = Self::fit(examples);
        }
        model
    }

    /// Returns the passages that represent the texts.
    fn examples(&self, texts: &[(Vec<Vec<u32>>, bool)]) -> Vec<Example> {
        let mut examples = Vec::new();
        for (passages, is_attack) in texts {
            let best = passages
                .iter()
                .max_by(|a, b| self.score(a).total_cmp(&self.score(b)));
            let chosen: Vec<&Vec<u32>> = if *is_attack && !self.weights.is_empty() {
                best.into_iter().collect()
            } else {
                passages.iter().collect()
            };
            examples.extend(chosen.into_iter().map(|features| Example {
                features: features.clone(),
                is_attack: *is_attack,
                dual: 0.0,
            }));
        }
        examples
    }

    /// Minimises the squared hinge loss by coordinates of the dual problem (Hsieh et al., algorithm 1).
    fn fit(mut examples: Vec<Example>) -> Self {
        let mut model = Self {
            weights: vec![0.0; FEATURES + 1],
        };
        let mut state = 1_u64;
        for _ in 0..PASSES {
            for last in (1..examples.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                examples.swap(last, (state >> 33) as usize % (last + 1));
            }
            for example in &mut examples {
                let sign = if example.is_attack { 1.0 } else { -1.0 };
                let count = example.features.len() as f64;
                let (slack, length) = (1.0 / (2.0 * COST), length(&example.features));
                let gradient = sign * model.score(&example.features) - 1.0 + slack * example.dual;
                let dual = (example.dual - gradient / (count / (length * length) + 1.0 + slack)).max(0.0);
                let step = (dual - example.dual) * sign;
                example.dual = dual;
                for feature in &example.features {
                    model.weights[*feature as usize] += step / length;
                }
                model.weights[FEATURES] += step;
            }
        }
        model
    }

    fn score(&self, features: &[u32]) -> f64 {
        if self.weights.is_empty() {
            return 0.0;
        }
        let sum: f64 = features
            .iter()
            .map(|feature| self.weights[*feature as usize])
            .sum();
        sum / length(features) + self.weights[FEATURES]
    }

    /// Returns the highest score of a passage in `text`.
    pub(super) fn score_of(&self, text: &str) -> f64 {
        let scores = passages_of(text).into_iter().map(|passage| self.score(&passage));
        scores.fold(f64::MIN, f64::max)
    }

    /// Returns the content of `weights.bin`.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let largest = self.weights[..FEATURES]
            .iter()
            .fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        let scale = largest / 127.0;
        let mut bytes = Vec::with_capacity(HEADER + FEATURES);
        bytes.extend((scale as f32).to_le_bytes());
        bytes.extend((self.weights[FEATURES] as f32).to_le_bytes());
        bytes.extend(
            self.weights[..FEATURES]
                .iter()
                .map(|weight| ((weight / scale).round() as i8).cast_unsigned()),
        );
        bytes
    }
}

/// Returns the number by which the sum of the weights of these features is divided.
fn length(features: &[u32]) -> f64 {
    f64::from(super::length(features))
}

/// Returns the features of each passage of `text`.
fn passages_of(text: &str) -> Vec<Vec<u32>> {
    let mut marks = TextCopy::default();
    views::marks(text, &mut marks);
    let mut features = Features::default();
    let mut found = Vec::new();
    passages::each(&String::from_utf8_lossy(&marks.bytes), |words, _| {
        features.read(words);
        found.push(features.of(0..words.len()).to_vec());
    });
    found
}
