//! The model: six layers of attention and activation over the word pieces of a text, and the mean of the result.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::sync::OnceLock;

use multiversion::multiversion;

use super::DIMENSIONS;
use super::linear::{Inputs, Linear};
use super::math::{dot, exp, gelu, sum};
use super::pieces::Pieces;
use super::weights::{Norm, Reader, add_word};

/// The longest text, in word pieces.
const POSITIONS: usize = 256;
const LAYERS: usize = 6;
const HEADS: usize = 12;
const HEAD: usize = DIMENSIONS / HEADS;
/// The width of the activation.
const WIDE: usize = 4 * DIMENSIONS;

/// A sentence model with its weights. It needs 12 MB of memory, and the 6.6 MB of word embeddings in the program.
pub struct SentenceModel {
    pieces: Pieces,
    words: &'static [u8],
    positions: Vec<f32>,
    first_text: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    output_norm: Norm,
    up: Linear,
    down: Linear,
    down_norm: Norm,
}

impl std::fmt::Debug for SentenceModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SentenceModel").finish_non_exhaustive()
    }
}

impl SentenceModel {
    /// Returns the model that this package contains. The first call of a process reads its weights.
    pub fn bundled() -> &'static Self {
        static BUNDLED: OnceLock<SentenceModel> = OnceLock::new();
        BUNDLED.get_or_init(|| {
            Self::read(
                treering_model_table::VOCABULARY,
                treering_model_table::WORDS,
                treering_model_layers::LAYERS,
            )
        })
    }

    fn read(vocabulary: &'static str, words: &'static [u8], layers: &[u8]) -> Self {
        let mut reader = Reader::new(layers);
        let model = Self {
            pieces: Pieces::new(vocabulary),
            words,
            positions: reader.rows(POSITIONS),
            first_text: reader.vector(DIMENSIONS),
            norm: reader.norm(),
            layers: (0..LAYERS).map(|_| Layer::read(&mut reader)).collect(),
        };
        debug_assert!(
            reader.is_at_end(),
            "the file of the layers has the size that its layout gives"
        );
        model
    }

    /// Returns the vector of `text`, with length one. What is behind the first 256 word pieces is not read.
    pub fn embed(&self, text: &str) -> [f32; DIMENSIONS] {
        let pieces = self.pieces.split(text, POSITIONS);
        let mut state = self.embeddings(&pieces);
        let mut room = Room::new(pieces.len());
        for layer in &self.layers {
            layer.apply(&mut state, &mut room);
        }
        mean(&state)
    }

    /// Returns the sums of the embeddings of each piece, its position and the text, normed.
    fn embeddings(&self, pieces: &[u32]) -> Vec<f32> {
        let mut state = Vec::with_capacity(pieces.len() * DIMENSIONS);
        for (piece, position) in pieces.iter().zip(self.positions.chunks_exact(DIMENSIONS)) {
            let start = state.len();
            state.extend(position.iter().zip(&self.first_text).map(|(a, b)| a + b));
            add_word(
                self.words,
                self.pieces.len(),
                *piece as usize,
                &mut state[start..],
            );
        }
        normalise(&mut state, None, &self.norm);
        state
    }
}

/// The memory of the layers, used again by each.
struct Room {
    inputs: Inputs,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    mixed: Vec<f32>,
    wide: Vec<f32>,
}

impl Room {
    fn new(tokens: usize) -> Self {
        let rows = || vec![0.0; tokens * DIMENSIONS];
        Self {
            inputs: Inputs::default(),
            query: rows(),
            key: rows(),
            value: rows(),
            mixed: rows(),
            wide: vec![0.0; tokens * WIDE],
        }
    }
}

impl Layer {
    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            query: reader.linear(DIMENSIONS, DIMENSIONS),
            key: reader.linear(DIMENSIONS, DIMENSIONS),
            value: reader.linear(DIMENSIONS, DIMENSIONS),
            output: reader.linear(DIMENSIONS, DIMENSIONS),
            output_norm: reader.norm(),
            up: reader.linear(DIMENSIONS, WIDE),
            down: reader.linear(WIDE, DIMENSIONS),
            down_norm: reader.norm(),
        }
    }

    fn apply(&self, state: &mut [f32], room: &mut Room) {
        room.inputs.set(state, DIMENSIONS);
        self.query.apply(&room.inputs, &mut room.query);
        self.key.apply(&room.inputs, &mut room.key);
        self.value.apply(&room.inputs, &mut room.value);
        attend(&room.query, &room.key, &room.value, &mut room.mixed);
        room.inputs.set(&room.mixed, DIMENSIONS);
        self.output.apply(&room.inputs, &mut room.query);
        normalise(state, Some(&room.query), &self.output_norm);
        room.inputs.set(state, DIMENSIONS);
        self.up.apply(&room.inputs, &mut room.wide);
        activate(&mut room.wide);
        room.inputs.set(&room.wide, WIDE);
        self.down.apply(&room.inputs, &mut room.query);
        normalise(state, Some(&room.query), &self.down_norm);
    }
}

/// Mixes the values of all tokens for each token, weighted by how well its query and their keys agree.
#[multiversion(targets("x86_64+avx2+fma"))]
fn attend(query: &[f32], key: &[f32], value: &[f32], mixed: &mut [f32]) {
    let tokens = key.len() / DIMENSIONS;
    let mut weights = [0.0f32; POSITIONS];
    let weights = &mut weights[..tokens.next_multiple_of(16)];
    mixed.fill(0.0);
    for head in (0..DIMENSIONS).step_by(HEAD) {
        for (query, mixed) in query
            .chunks_exact(DIMENSIONS)
            .zip(mixed.chunks_exact_mut(DIMENSIONS))
        {
            let query = &query[head..head + HEAD];
            // Padding has no weight.
            weights.fill(f32::MIN);
            for (weight, key) in weights.iter_mut().zip(key.chunks_exact(DIMENSIONS)) {
                *weight = dot(query, &key[head..head + HEAD]) * (1.0 / 5.656_854_2);
            }
            let most = weights.iter().fold(f32::MIN, |most, weight| most.max(*weight));
            for weight in weights.iter_mut() {
                *weight = if *weight == f32::MIN {
                    0.0
                } else {
                    exp(*weight - most)
                };
            }
            let share = 1.0 / sum(weights);
            let mixed = &mut mixed[head..head + HEAD];
            for (weight, value) in weights.iter().zip(value.chunks_exact(DIMENSIONS)) {
                for (mixed, value) in mixed.iter_mut().zip(&value[head..head + HEAD]) {
                    *mixed += weight * share * value;
                }
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn activate(values: &mut [f32]) {
    for value in values {
        *value = gelu(*value);
    }
}

/// Adds `change` to the state and norms each token.
#[multiversion(targets("x86_64+avx2+fma"))]
fn normalise(state: &mut [f32], change: Option<&[f32]>, norm: &Norm) {
    const SHARE: f32 = 1.0 / DIMENSIONS as f32;
    if let Some(change) = change {
        for (value, change) in state.iter_mut().zip(change) {
            *value += change;
        }
    }
    for row in state.chunks_exact_mut(DIMENSIONS) {
        let mean = sum(row) * SHARE;
        for value in row.iter_mut() {
            *value -= mean;
        }
        let factor = 1.0 / (dot(row, row) * SHARE + 1e-12).sqrt();
        for (value, (scale, bias)) in row.iter_mut().zip(norm.scale.iter().zip(&norm.bias)) {
            *value = *value * factor * scale + bias;
        }
    }
}

/// Returns the mean of all tokens, with length one.
fn mean(state: &[f32]) -> [f32; DIMENSIONS] {
    let mut mean = [0.0; DIMENSIONS];
    for row in state.chunks_exact(DIMENSIONS) {
        for (mean, value) in mean.iter_mut().zip(row) {
            *mean += value;
        }
    }
    let length = dot(&mean, &mean).sqrt();
    mean.map(|value| value / length)
}
