//! The tensors of a published encoder by their usual names, and the parts of a model that are made of them.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::config::{Config, GROUP};
use crate::encoder::{Layer, Norm};
use crate::error::{ModelError, Result};
use crate::linear::{Linear, ROUNDING};
use crate::math::{half, largest, to_half};

/// The type of the numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    F32,
    F16,
    Bf16,
    I8,
    U8,
}

impl Numbers {
    pub(super) fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 | Self::U8 => 1,
        }
    }
}

/// A tensor as a file has it. A clone copies no numbers, because a graph may name a tensor many times.
#[derive(Clone, Debug)]
pub(super) struct Tensor<'a> {
    pub(super) numbers: Numbers,
    pub(super) shape: Rc<[usize]>,
    pub(super) bytes: Rc<Cow<'a, [u8]>>,
    pub(super) scale: Option<Rc<Scale<'a>>>,
    /// Whether the file has the rows as columns.
    pub(super) is_turned: bool,
}

/// The factors of numbers of 8 bits, and their zeros.
#[derive(Clone, Debug)]
pub(super) struct Scale<'a> {
    /// One for all numbers, or one for each row or column.
    pub(super) factors: Tensor<'a>,
    /// As many, or none if all are zero.
    pub(super) zeros: Option<Tensor<'a>>,
    pub(super) is_by_row: bool,
}

impl Tensor<'_> {
    /// Whether there are as many bytes as the shape needs.
    pub(super) fn is_whole(&self) -> bool {
        let size = self
            .shape
            .iter()
            .try_fold(self.numbers.size(), |size, side| size.checked_mul(*side));
        size == Some(self.bytes.len())
    }

    /// Returns the numbers, by rows.
    pub(super) fn values(&self) -> Vec<f32> {
        let bytes: &[u8] = &self.bytes;
        let mut values: Vec<f32> = match self.numbers {
            Numbers::F32 => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| f32::from_le_bytes(*four))
                .collect(),
            Numbers::F16 => bytes.as_chunks::<2>().0.iter().map(|two| half(*two)).collect(),
            Numbers::Bf16 => {
                let whole = |two: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*two)) << 16);
                bytes.as_chunks::<2>().0.iter().map(whole).collect()
            }
            Numbers::I8 => bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect(),
            Numbers::U8 => bytes.iter().map(|byte| f32::from(*byte)).collect(),
        };
        let columns = self.shape.last().copied().unwrap_or(1).max(1);
        if let Some(scale) = &self.scale {
            let factors = scale.factors.values();
            let zeros = scale.zeros.as_ref().map(Tensor::values).unwrap_or_default();
            let of = |list: &[f32], at: usize| {
                let place = if scale.is_by_row {
                    at / columns
                } else {
                    at % columns
                };
                list.get(place).or(list.first()).copied().unwrap_or(0.0)
            };
            for (at, value) in values.iter_mut().enumerate() {
                *value = (*value - of(&zeros, at)) * of(&factors, at);
            }
        }
        if !self.is_turned {
            return values;
        }
        let rows = values.len() / columns;
        (0..values.len())
            .map(|at| values[at % rows * columns + at / rows])
            .collect()
    }

    /// Returns the shape as it is after turning.
    fn sides(&self) -> Vec<usize> {
        let mut sides = self.shape.to_vec();
        if self.is_turned {
            sides.reverse();
        }
        sides
    }
}

/// The tensors by name, from `embeddings.` or `encoder.` on.
pub(super) struct Tensors<'a>(BTreeMap<String, Tensor<'a>>);

impl<'a> Tensors<'a> {
    /// Takes tensors by the names of their file.
    pub(super) fn new(named: impl IntoIterator<Item = (String, Tensor<'a>)>) -> Self {
        let usual = |name: String| match name.find("embeddings.").or_else(|| name.find("encoder.layer.")) {
            Some(start) => name[start..].to_owned(),
            None => name,
        };
        Self(
            named
                .into_iter()
                .map(|(name, tensor)| (usual(name), tensor))
                .collect(),
        )
    }

    /// Returns the rows of a tensor of two sides.
    pub(super) fn sides(&self, name: &str) -> Result<(usize, usize)> {
        match self.get(name)?.sides()[..] {
            [rows, columns] => Ok((rows, columns)),
            ref sides => Err(ModelError::Unsupported(format!("{name} has the shape {sides:?}"))),
        }
    }

    fn get(&self, name: &str) -> Result<&Tensor<'a>> {
        self.0.get(name).ok_or_else(|| {
            ModelError::Unsupported(format!(
                "there is no tensor {name}, so this is no plain BERT encoder"
            ))
        })
    }

    /// Returns the numbers of a tensor with these sides.
    fn values(&self, name: &str, sides: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.get(name)?;
        if tensor.sides() != sides {
            let text = format!("{name} has the shape {:?}, expected {sides:?}", tensor.sides());
            return Err(ModelError::Unsupported(text));
        }
        let values = tensor.values();
        if values.iter().all(|value| value.is_finite()) {
            return Ok(values);
        }
        Err(ModelError::damaged(format_args!(
            "{name} has a number that is not finite"
        )))
    }

    fn norm(&self, name: &str, width: usize) -> Result<Norm> {
        let old = self.0.contains_key(&format!("{name}.gamma"));
        let (scale, bias) = if old {
            ("gamma", "beta")
        } else {
            ("weight", "bias")
        };
        Ok(Norm {
            scale: self.values(&format!("{name}.{scale}"), &[width])?,
            bias: self.values(&format!("{name}.{bias}"), &[width])?,
        })
    }

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let weights = self.values(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = self.values(&format!("{name}.bias"), &[outputs])?;
        Ok(linear(&weights, inputs, bias))
    }

    /// Returns the norm of the embeddings.
    pub(super) fn first_norm(&self, config: &Config) -> Result<Norm> {
        self.norm("embeddings.LayerNorm", config.width)
    }

    /// Returns a layer.
    pub(super) fn layer(&self, number: usize, config: &Config) -> Result<Layer> {
        let (width, inner) = (config.width, config.inner_width);
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        Ok(Layer {
            query: self.linear(&name("attention.self.query"), width, width)?,
            key: self.linear(&name("attention.self.key"), width, width)?,
            value: self.linear(&name("attention.self.value"), width, width)?,
            output: self.linear(&name("attention.output.dense"), width, width)?,
            output_norm: self.norm(&name("attention.output.LayerNorm"), width)?,
            up: self.linear(&name("intermediate.dense"), width, inner)?,
            down: self.linear(&name("output.dense"), inner, width)?,
            down_norm: self.norm(&name("output.LayerNorm"), width)?,
        })
    }

    /// Returns the sums of the embeddings of each position, from `first` on, and of the first text.
    pub(super) fn positions(&self, first: usize, config: &Config) -> Result<Vec<f32>> {
        let (rows, _) = self.sides("embeddings.position_embeddings.weight")?;
        let all = self.values("embeddings.position_embeddings.weight", &[rows, config.width])?;
        let (types, _) = self.sides("embeddings.token_type_embeddings.weight")?;
        let types = self.values("embeddings.token_type_embeddings.weight", &[types, config.width])?;
        let start = first.saturating_mul(config.width);
        let end = start.saturating_add(config.positions * config.width);
        let own = all.get(start..end).ok_or_else(|| {
            let text = format!(
                "there are {rows} positions, expected {} after the first {first}",
                config.positions
            );
            ModelError::Unsupported(text)
        })?;
        Ok(with_first_text(own, &types, config.width))
    }

    /// Returns the rows of the first `count` words, of 8 bits, with checksums.
    pub(super) fn word_rows(&self, count: usize, config: &Config) -> Result<Vec<u8>> {
        const NAME: &str = "embeddings.word_embeddings.weight";
        let (rows, _) = self.sides(NAME)?;
        if rows < count {
            let text = format!("there are {count} pieces, but embeddings of {rows}");
            return Err(ModelError::Unsupported(text));
        }
        let values = self.values(NAME, &[rows, config.width])?;
        let mut out = Vec::new();
        for row in values.chunks_exact(config.width).take(count) {
            let start = out.len();
            put_row(row, &mut out);
            let checksum = crc32c::crc32c(&out[start..]);
            out.extend_from_slice(&checksum.to_le_bytes());
        }
        Ok(out)
    }
}

/// Adds the embedding of the first text to each position.
pub(super) fn with_first_text(positions: &[f32], text: &[f32], width: usize) -> Vec<f32> {
    let rows = positions.chunks_exact(width);
    rows.flat_map(|row| row.iter().zip(text).map(|(a, b)| a + b))
        .collect()
}

/// Returns a matrix with weights of 8 bits. Each output has one scale.
pub(super) fn linear(weights: &[f32], inputs: usize, bias: Vec<f32>) -> Linear {
    let mut units = Vec::with_capacity(weights.len());
    let mut scales = Vec::with_capacity(bias.len());
    for row in weights.chunks_exact(inputs) {
        scales.push(quantise(row, &mut units));
    }
    Linear::from_rows(&units, scales, bias)
}

/// Appends the units of `row`, of which the largest is 127, and returns their scale.
fn quantise(row: &[f32], units: &mut Vec<i8>) -> f32 {
    let scale = largest(row) / 127.0;
    let factor = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let rounded = |value: &f32| (value * factor + ROUNDING).to_bits() as i8;
    units.extend(row.iter().map(rounded));
    scale
}

/// Appends the scales and units of a row of words.
fn put_row(row: &[f32], out: &mut Vec<u8>) {
    let mut units = Vec::with_capacity(row.len());
    for group in row.chunks_exact(GROUP) {
        // The scale is rounded up, so that no unit exceeds 127.
        let scale = to_half(largest(group) / 127.0 * 1.000_5);
        out.extend_from_slice(&scale);
        let scale = half(scale);
        let factor = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        units.extend(group.iter().map(|value| (value * factor).round_ties_even() as i8));
    }
    out.extend_from_slice(bytemuck::must_cast_slice(&units));
}
