//! Reads the weights of the bundled model from the bytes that `model/make.py` writes.
//!
//! A matrix is stored by rows in groups of 32 weights. First come the scales of all groups, in half precision, then the
//! units: unsigned numbers with an offset. A weight is (unit - offset) times the scale of its group. Units of the word
//! embeddings have 4 bits (offset 8), two in a byte, the first one in the low half. All other matrices have 6 bits (offset
//! 32), four in three bytes, the first one lowest. Vectors are `f32`. All numbers are little-endian.
//!
//! `layers.bin` has: the positions (256 rows), the vector of the first text, scale and bias of the first norm; then for
//! each of six layers the matrices query, key, value, output, up and down, each by output dimension and with its bias.
//! Scale and bias of a norm follow `output` and `down`.
//!
//! # Layer
//! Layer 0, inside `model`.

use multiversion::multiversion;

use super::config::{Activation, Config, GROUP, Pooling};
use super::encoder::{Encoder, Layer, Norm};
use super::linear::{Linear, ROUNDING, place};
use super::math::half;

/// The bytes of a group with 6 bits a weight.
const BYTES_6: usize = GROUP / 4 * 3;

/// Returns the configuration of the bundled model.
fn config() -> Config {
    Config {
        layers: 6,
        heads: 12,
        width: 384,
        inner_width: 1_536,
        positions: 256,
        activation: Activation::Gelu,
        pooling: Pooling::Mean,
        epsilon: 1e-12,
        question_prefix: String::new(),
        text_prefix: String::new(),
    }
}

/// Reads the layers.
pub(crate) fn encoder(layers: &[u8]) -> Encoder {
    let config = config();
    let mut reader = Reader(layers);
    let mut positions = reader.rows(config.positions, config.width);
    let first_text = reader.vector(config.width);
    for row in positions.chunks_exact_mut(config.width) {
        for (position, text) in row.iter_mut().zip(&first_text) {
            *position += text;
        }
    }
    let norm = reader.norm(config.width);
    let layers = (0..config.layers).map(|_| reader.layer(&config)).collect();
    debug_assert!(
        reader.0.is_empty(),
        "the file of the layers has the size of its layout"
    );
    Encoder {
        config,
        positions,
        norm,
        layers,
    }
}

/// Reads one part of the file after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(size);
        self.0 = rest;
        taken
    }

    fn vector(&mut self, size: usize) -> Vec<f32> {
        let (numbers, _) = self.take(4 * size).as_chunks::<4>();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    fn norm(&mut self, width: usize) -> Norm {
        Norm {
            scale: self.vector(width),
            bias: self.vector(width),
        }
    }

    fn layer(&mut self, config: &Config) -> Layer {
        let (width, inner) = (config.width, config.inner_width);
        Layer {
            query: self.linear(width, width),
            key: self.linear(width, width),
            value: self.linear(width, width),
            output: self.linear(width, width),
            output_norm: self.norm(width),
            up: self.linear(width, inner),
            down: self.linear(inner, width),
            down_norm: self.norm(width),
        }
    }

    /// Takes the scales and the packed units of a matrix.
    fn matrix(&mut self, weights: usize) -> (&'a [[u8; 2]], &'a [u8]) {
        let groups = weights / GROUP;
        let (scales, _) = self.take(2 * groups).as_chunks::<2>();
        (scales, self.take(groups * BYTES_6))
    }

    /// Reads a matrix of positions.
    fn rows(&mut self, rows: usize, width: usize) -> Vec<f32> {
        let (scales, packed) = self.matrix(rows * width);
        let mut units = vec![0i8; rows * width];
        unpack(packed, &mut units);
        let groups = units.chunks_exact(GROUP).zip(scales);
        groups
            .flat_map(|(group, scale)| {
                let scale = half(*scale);
                group.iter().map(move |unit| f32::from(*unit) * scale)
            })
            .collect()
    }

    /// Reads a matrix and its bias, and gives each row one scale.
    fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let (scales, packed) = self.matrix(inputs * outputs);
        let mut units = vec![0i8; inputs * outputs];
        let mut row = vec![0i8; inputs];
        let mut group_scales = vec![0.0; inputs / GROUP];
        let rows = packed.chunks_exact(inputs / GROUP * BYTES_6);
        let row_scales = rows
            .zip(scales.chunks_exact(inputs / GROUP))
            .enumerate()
            .map(|(output, (packed, scales))| {
                for (number, bytes) in group_scales.iter_mut().zip(scales) {
                    *number = half(*bytes);
                }
                unpack(packed, &mut row);
                let scale = with_one_scale(&mut row, &group_scales);
                place(&row, output, &mut units);
                scale
            })
            .collect();
        Linear::new(units, row_scales, self.vector(outputs))
    }
}

/// Reads units of 6 bits, without their offset.
fn unpack(packed: &[u8], units: &mut [i8]) {
    let (packed, _) = packed.as_chunks::<3>();
    let (quads, _) = units.as_chunks_mut::<4>();
    for (quad, &[a, b, c]) in quads.iter_mut().zip(packed) {
        let parts = [a, (a >> 6) | (b << 2), (b >> 4) | (c << 4), c >> 2];
        *quad = parts.map(|part| (part & 63).cast_signed() - 32);
    }
}

/// Changes the units of a row, so that one scale is enough, which is returned. The largest unit becomes 127.
#[multiversion(targets("x86_64+avx2"))]
fn with_one_scale(row: &mut [i8], scales: &[f32]) -> f32 {
    let (groups, _) = row.as_chunks_mut::<GROUP>();
    let mut most = 0.0f32;
    for (group, scale) in groups.iter().zip(scales) {
        let largest = group.iter().fold(0, |most, unit| unit.unsigned_abs().max(most));
        most = most.max(f32::from(largest) * scale);
    }
    if most == 0.0 {
        return 0.0;
    }
    for (group, scale) in groups.iter_mut().zip(scales) {
        let factor = scale / most * 127.0;
        for unit in group {
            // The sum has the rounded number in its low bits, as two's complement.
            *unit = (f32::from(*unit) * factor + ROUNDING).to_bits() as i8;
        }
    }
    most / 127.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_with_one_scale_keeps_its_weights() {
        let mut row: Vec<i8> = (0..64).map(|at| (at % 63) as i8 - 31).collect();
        let before: Vec<f32> = row
            .iter()
            .enumerate()
            .map(|(at, unit)| f32::from(*unit) * [0.5, 2.0][at / 32])
            .collect();
        let scale = with_one_scale(&mut row, &[0.5, 2.0]);
        for (unit, before) in row.iter().zip(before) {
            assert!((f32::from(*unit) * scale - before).abs() <= scale * 0.501);
        }
    }

    #[test]
    fn four_units_are_in_three_bytes() {
        let mut units = [0; 4];
        unpack(&[0xc1, 0x30, 0x80], &mut units);
        assert_eq!(units, [-31, -29, -29, 0]);
    }
}
