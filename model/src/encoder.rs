//! The encoder: layers of attention and activation over the word pieces of a text, as BERT has them.
//!
//! # Layer
//! Layer 0, inside `model`.
//!
//! # Invariants
//! - SEN-1: the order of all operations is fixed, so the same text has the same vector on every machine.

use multiversion::multiversion;

use super::config::{Activation, Config, POSITIONS_MAX, Pooling};
use super::linear::{Inputs, Linear, Way};
use super::math::{LANES, dot, exp, gelu, sum};

/// Scale and bias of a norm.
#[derive(Clone)]
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// One layer.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) output: Linear,
    pub(crate) output_norm: Norm,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
    pub(crate) down_norm: Norm,
}

/// All weights but the embeddings of the words.
pub(crate) struct Encoder {
    pub(crate) config: Config,
    /// The sum of the embeddings of each position and of the first text.
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

impl Encoder {
    /// Returns the vector of a text, with length one. `state` has the embedding of each word piece. Positions and the
    /// layers change it.
    pub(crate) fn run(&self, mut state: Vec<f32>, way: Way) -> Vec<f32> {
        let width = self.config.width;
        for (value, position) in state.iter_mut().zip(&self.positions) {
            *value += position;
        }
        normalise(&mut state, None, &self.norm, self.config.epsilon, way);
        let mut room = Room::new(state.len() / width, &self.config);
        for layer in &self.layers {
            layer.apply(&mut state, &mut room, &self.config, way);
        }
        let mut pooled = match self.config.pooling {
            Pooling::Mean => total(&state, width),
            Pooling::First => state[..width].to_vec(),
        };
        let length = dot(&pooled, &pooled).sqrt();
        for value in &mut pooled {
            *value /= length;
        }
        pooled
    }
}

/// The memory of the layers, used again by each.
struct Room {
    inputs: Inputs,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
}

impl Room {
    fn new(tokens: usize, config: &Config) -> Self {
        let rows = || vec![0.0; tokens * config.width];
        Self {
            inputs: Inputs::default(),
            query: rows(),
            key: rows(),
            value: rows(),
            mixed: rows(),
            inner: vec![0.0; tokens * config.inner_width],
        }
    }
}

impl Layer {
    fn apply(&self, state: &mut [f32], room: &mut Room, config: &Config, way: Way) {
        let width = config.width;
        room.inputs.set(state, width);
        self.query.apply(&room.inputs, &mut room.query, way);
        self.key.apply(&room.inputs, &mut room.key, way);
        self.value.apply(&room.inputs, &mut room.value, way);
        attend(&room.query, &room.key, &room.value, &mut room.mixed, config, way);
        room.inputs.set(&room.mixed, width);
        self.output.apply(&room.inputs, &mut room.query, way);
        normalise(state, Some(&room.query), &self.output_norm, config.epsilon, way);
        room.inputs.set(state, width);
        self.up.apply(&room.inputs, &mut room.inner, way);
        activate(&mut room.inner, config.activation, way);
        room.inputs.set(&room.inner, config.inner_width);
        self.down.apply(&room.inputs, &mut room.query, way);
        normalise(state, Some(&room.query), &self.down_norm, config.epsilon, way);
    }
}

/// Defines a function that is compiled for several instruction sets, and a plain form that tests compare with it.
macro_rules! in_each_way {
    ($(#[doc = $text:literal])* $name:ident($($argument:ident: $type:ty),*)) => {
        $(#[doc = $text])*
        fn $name($($argument: $type,)* way: Way) {
            #[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2+fma"))]
            fn best($($argument: $type),*) {
                plain::$name($($argument),*);
            }
            match way {
                Way::Best => best($($argument),*),
                #[cfg(test)]
                Way::Avx2 | Way::Plain => plain::$name($($argument),*),
            }
        }
    };
}

in_each_way! {
    /// Mixes the values of all tokens for each token, weighted by how well its query and their keys agree.
    attend(query: &[f32], key: &[f32], value: &[f32], mixed: &mut [f32], config: &Config)
}
in_each_way! {
    /// Applies the activation.
    activate(values: &mut [f32], activation: Activation)
}
in_each_way! {
    /// Adds `change` to the state and norms each token.
    normalise(state: &mut [f32], change: Option<&[f32]>, norm: &Norm, epsilon: f32)
}

/// The functions without an instruction set.
#[expect(
    clippy::inline_always,
    reason = "a function is compiled for the instruction set of its caller only if it is a part of the caller"
)]
mod plain {
    use super::{Activation, Config, LANES, Norm, POSITIONS_MAX, dot, exp, gelu, sum};

    /// The number of tokens whose weights are computed at once.
    const PART: usize = 2 * LANES;

    #[inline(always)]
    pub(super) fn attend(query: &[f32], key: &[f32], value: &[f32], mixed: &mut [f32], config: &Config) {
        let width = config.width;
        let head_width = width / config.heads;
        let share = 1.0 / (head_width as f32).sqrt();
        let tokens = key.len() / width;
        let padded = tokens.next_multiple_of(PART);
        let mut weights = [0.0f32; POSITIONS_MAX.next_multiple_of(PART)];
        let weights = &mut weights[..padded];
        // The keys of a head, by dimension. So a vector has the same dimension of many tokens, and nothing is summed across.
        let mut turned = vec![0.0f32; head_width * padded];
        for head in (0..width).step_by(head_width) {
            for (token, key) in key.chunks_exact(width).enumerate() {
                for (row, key) in turned.chunks_exact_mut(padded).zip(&key[head..head + head_width]) {
                    row[token] = *key;
                }
            }
            for (query, mixed) in query.chunks_exact(width).zip(mixed.chunks_exact_mut(width)) {
                for (part, weights) in weights.chunks_exact_mut(PART).enumerate() {
                    let mut sums = [0.0f32; PART];
                    for (query, row) in query[head..head + head_width]
                        .iter()
                        .zip(turned.chunks_exact(padded))
                    {
                        for (sum, key) in sums.iter_mut().zip(&row[part * PART..][..PART]) {
                            *sum += query * key;
                        }
                    }
                    for (weight, sum) in weights.iter_mut().zip(sums) {
                        *weight = sum * share;
                    }
                }
                let most = weights[..tokens]
                    .iter()
                    .fold(f32::MIN, |most, weight| most.max(*weight));
                for weight in weights.iter_mut() {
                    *weight = exp(*weight - most);
                }
                weights[tokens..].fill(0.0);
                let share = 1.0 / sum(weights);
                let mixed = &mut mixed[head..head + head_width];
                for (part, mixed) in mixed.chunks_exact_mut(LANES).enumerate() {
                    let mut sums = [0.0f32; LANES];
                    for (weight, value) in weights.iter().zip(value.chunks_exact(width)) {
                        for (sum, value) in sums.iter_mut().zip(&value[head + part * LANES..][..LANES]) {
                            *sum += weight * value;
                        }
                    }
                    for (mixed, sum) in mixed.iter_mut().zip(sums) {
                        *mixed = sum * share;
                    }
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn activate(values: &mut [f32], activation: Activation) {
        match activation {
            Activation::Gelu => {
                for value in values {
                    *value = gelu(*value);
                }
            }
            Activation::Relu => {
                for value in values {
                    *value = value.max(0.0);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn normalise(state: &mut [f32], change: Option<&[f32]>, norm: &Norm, epsilon: f32) {
        let width = norm.scale.len();
        let share = 1.0 / width as f32;
        if let Some(change) = change {
            for (value, change) in state.iter_mut().zip(change) {
                *value += change;
            }
        }
        for row in state.chunks_exact_mut(width) {
            let mean = sum(row) * share;
            for value in row.iter_mut() {
                *value -= mean;
            }
            let factor = 1.0 / (dot(row, row) * share + epsilon).sqrt();
            for (value, (scale, bias)) in row.iter_mut().zip(norm.scale.iter().zip(&norm.bias)) {
                *value = *value * factor * scale + bias;
            }
        }
    }
}

/// Returns the sum of all tokens.
fn total(state: &[f32], width: usize) -> Vec<f32> {
    let mut total = vec![0.0; width];
    for row in state.chunks_exact(width) {
        for (total, value) in total.iter_mut().zip(row) {
            *total += value;
        }
    }
    total
}
