//! Reads the weights from the bytes that `model/make.py` writes.
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

use super::DIMENSIONS;
use super::linear::Linear;

/// The number of weights that share a scale.
const GROUP: usize = 32;
/// The bytes of a group with 4 and 6 bits a weight.
const BYTES_4: usize = GROUP / 2;
const BYTES_6: usize = GROUP / 4 * 3;

/// Scale and bias of a norm.
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// Reads one part of the file after the other.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether everything was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, size: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(size);
        self.0 = rest;
        taken
    }

    pub(crate) fn vector(&mut self, size: usize) -> Vec<f32> {
        let (numbers, _) = self.take(4 * size).as_chunks::<4>();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    pub(crate) fn norm(&mut self) -> Norm {
        Norm {
            scale: self.vector(DIMENSIONS),
            bias: self.vector(DIMENSIONS),
        }
    }

    /// Reads a matrix of 6 bits by rows: the units without their offset, and the scales of the groups.
    fn matrix(&mut self, rows: usize, columns: usize) -> (Vec<i8>, Vec<f32>) {
        let groups = rows * columns / GROUP;
        let (scales, _) = self.take(2 * groups).as_chunks::<2>();
        let scales = scales.iter().map(|bytes| half(*bytes)).collect();
        let mut units = vec![0i8; rows * columns];
        let (packed, _) = self.take(groups * BYTES_6).as_chunks::<3>();
        let (quads, _) = units.as_chunks_mut::<4>();
        for (quad, &[a, b, c]) in quads.iter_mut().zip(packed) {
            let parts = [a, (a >> 6) | (b << 2), (b >> 4) | (c << 4), c >> 2];
            *quad = parts.map(|part| (part & 63) as i8 - 32);
        }
        (units, scales)
    }

    /// Reads a matrix of positions.
    pub(crate) fn rows(&mut self, rows: usize) -> Vec<f32> {
        let (units, scales) = self.matrix(rows, DIMENSIONS);
        let weight = |(at, &unit): (usize, &i8)| f32::from(unit) * scales[at / GROUP];
        units.iter().enumerate().map(weight).collect()
    }

    /// Reads a matrix and its bias, and gives each row one scale.
    pub(crate) fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let (mut units, scales) = self.matrix(outputs, inputs);
        let mut row_scales = Vec::with_capacity(outputs);
        for (row, scales) in units
            .chunks_exact_mut(inputs)
            .zip(scales.chunks_exact(inputs / GROUP))
        {
            row_scales.push(with_one_scale(row, scales));
        }
        Linear::new(units, row_scales, self.vector(outputs))
    }
}

/// Changes the units of a row, so that one scale is enough, which is returned. The largest unit becomes 127.
fn with_one_scale(row: &mut [i8], scales: &[f32]) -> f32 {
    let (groups, _) = row.as_chunks_mut::<GROUP>();
    let largest = |(group, scale): (&[i8; GROUP], &f32)| {
        f32::from(group.iter().map(|unit| unit.unsigned_abs()).max().unwrap_or(0)) * scale
    };
    let most = groups
        .iter()
        .map(|group| &*group)
        .zip(scales)
        .map(largest)
        .fold(0.0, f32::max);
    if most == 0.0 {
        return 0.0;
    }
    for (group, scale) in groups.iter_mut().zip(scales) {
        let factor = scale / most * 127.0;
        for unit in group {
            // Adding this constant rounds to the nearest integer, which is then in the low bits.
            let rounded =
                (f32::from(*unit) * factor + 12_582_912.0).to_bits() as i32 - 12_582_912f32.to_bits() as i32;
            *unit = rounded as i8;
        }
    }
    most / 127.0
}

/// Adds the embedding of the word piece `piece`, times `one`, to `sum`.
pub(crate) fn add_word(words: &[u8], count: usize, piece: usize, sum: &mut [f32]) {
    const GROUPS: usize = DIMENSIONS / GROUP;
    let scales = &words[2 * GROUPS * piece..][..2 * GROUPS];
    let units = &words[2 * GROUPS * count + BYTES_4 * GROUPS * piece..][..BYTES_4 * GROUPS];
    let (scales, _) = scales.as_chunks::<2>();
    for ((group, scale), sum) in units
        .chunks_exact(BYTES_4)
        .zip(scales)
        .zip(sum.chunks_exact_mut(GROUP))
    {
        let scale = half(*scale);
        for (byte, sum) in group.iter().zip(sum.chunks_exact_mut(2)) {
            sum[0] += f32::from((byte & 15) as i8 - 8) * scale;
            sum[1] += f32::from((byte >> 4) as i8 - 8) * scale;
        }
    }
}

/// Returns a number of half precision (IEEE 754 binary16). The weights have no infinity.
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let (exponent, fraction) = (bits >> 10 & 31, bits & 1023);
    let size = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_has_known_values() {
        for (bits, expected) in [
            (0x3c00u16, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0, 0.0),
        ] {
            assert_eq!(half(bits.to_le_bytes()), expected);
        }
    }

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
}
