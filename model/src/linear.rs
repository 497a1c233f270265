//! A layer that multiplies by a matrix of integers.
//!
//! Weights have 8 bits and one scale an output. Inputs get 12 bits and one scale a token when they arrive, so the products
//! of 16-bit numbers add up without overflow: 2^7 * 2^11 * 1,536 is below 2^31. Nearly all the time of the model is here.
//!
//! # Layer
//! Layer 0, inside `model`.

use multiversion::multiversion;
use multiversion::target::match_target;

/// The largest number of inputs of a matrix.
const WIDTH_MAX: usize = 1_536;
/// The number of tokens in a block, which are multiplied in one loop.
const TOKENS: usize = 4;
/// The largest input after it became an integer.
const INPUT_MAX: f32 = 2_047.0;

/// A matrix with its bias.
pub(crate) struct Linear {
    /// The weights, by output.
    units: Vec<i8>,
    /// The scale of each output.
    scales: Vec<f32>,
    bias: Vec<f32>,
}

/// The inputs of all tokens as integers. Rows of zeros fill the last block.
#[derive(Default)]
pub(crate) struct Inputs {
    units: Vec<i16>,
    scales: Vec<f32>,
}

impl Inputs {
    /// Takes `values`, which has `width` numbers for each token.
    pub(crate) fn set(&mut self, values: &[f32], width: usize) {
        self.units.clear();
        self.units
            .resize(values.len().next_multiple_of(TOKENS * width), 0);
        self.scales.clear();
        for (row, units) in values.chunks_exact(width).zip(self.units.chunks_exact_mut(width)) {
            self.scales.push(quantise(row, units));
        }
    }
}

impl Linear {
    pub(crate) fn new(units: Vec<i8>, scales: Vec<f32>, bias: Vec<f32>) -> Self {
        Self { units, scales, bias }
    }

    /// Writes the outputs of all tokens, by token.
    pub(crate) fn apply(&self, inputs: &Inputs, outputs: &mut [f32]) {
        multiply(self, inputs, outputs);
    }
}

/// Makes integers of a row, and returns their scale.
#[multiversion(targets("x86_64+avx2+fma"))]
fn quantise(row: &[f32], units: &mut [i16]) -> f32 {
    let mut most = [0.0f32; 16];
    for row in row.chunks_exact(16) {
        for (most, value) in most.iter_mut().zip(row) {
            *most = most.max(value.abs());
        }
    }
    let most = most.into_iter().fold(0.0, f32::max);
    if most == 0.0 {
        units.fill(0);
        return 0.0;
    }
    let factor = INPUT_MAX / most;
    for (unit, value) in units.iter_mut().zip(row) {
        // As in `weights`: adding the constant rounds.
        *unit = (value * factor + 12_582_912.0).to_bits() as i16;
    }
    most / INPUT_MAX
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn multiply(linear: &Linear, inputs: &Inputs, outputs: &mut [f32]) {
    let count = linear.scales.len();
    let width = linear.units.len() / count;
    let mut wide = [0i16; WIDTH_MAX];
    let wide = &mut wide[..width];
    for (output, weights) in linear.units.chunks_exact(width).enumerate() {
        for (wide, weight) in wide.iter_mut().zip(weights) {
            *wide = i16::from(*weight);
        }
        let (scale, bias) = (linear.scales[output], linear.bias[output]);
        for (block, rows) in inputs.units.chunks_exact(TOKENS * width).enumerate() {
            let sums = match_target! {
                "x86_64+avx2" => avx2::products(wide, rows),
                _ => products(wide, rows),
            };
            for (token, sum) in (block * TOKENS..inputs.scales.len()).zip(sums) {
                outputs[token * count + output] = sum as f32 * (scale * inputs.scales[token]) + bias;
            }
        }
    }
}

/// Returns the inner products of the weights of one output with the rows of a block.
fn products(weights: &[i16], rows: &[i16]) -> [i32; TOKENS] {
    let mut sums = [0i32; TOKENS];
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(weights.len())) {
        for (input, weight) in row.iter().zip(weights) {
            *sum += i32::from(*input) * i32::from(*weight);
        }
    }
    sums
}

/// The same with instructions that the compiler does not find by itself.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{__m256i, _mm256_add_epi32, _mm256_madd_epi16};

    use bytemuck::must_cast;

    use super::TOKENS;

    #[target_feature(enable = "avx2")]
    pub(super) fn products(weights: &[i16], rows: &[i16]) -> [i32; TOKENS] {
        let (weights, _) = weights.as_chunks::<16>();
        let (rows, _) = rows.as_chunks::<16>();
        let (a, rows) = rows.split_at(weights.len());
        let (b, rows) = rows.split_at(weights.len());
        let (c, d) = rows.split_at(weights.len());
        let mut sums: [__m256i; TOKENS] = must_cast([[0i32; 8]; TOKENS]);
        for ((((weight, a), b), c), d) in weights.iter().zip(a).zip(b).zip(c).zip(d) {
            let weight = must_cast(*weight);
            for (sum, row) in sums.iter_mut().zip([a, b, c, d]) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(weight, must_cast(*row)));
            }
        }
        let lanes: [[i32; 8]; TOKENS] = must_cast(sums);
        let mut sums = [0; TOKENS];
        for (sum, lanes) in sums.iter_mut().zip(lanes) {
            for lane in lanes {
                *sum += lane;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_the_products() {
        let (width, count, tokens) = (64, 5, 7);
        let units: Vec<i8> = (0..width * count).map(|at| (at * 37 % 255) as i8).collect();
        let scales: Vec<f32> = (0..count).map(|at| 0.01 * (at + 1) as f32).collect();
        let bias: Vec<f32> = (0..count).map(|at| at as f32).collect();
        let values: Vec<f32> = (0..width * tokens)
            .map(|at| ((at * 29 % 97) as f32 - 48.0) / 10.0)
            .collect();
        let linear = Linear::new(units.clone(), scales.clone(), bias.clone());
        let mut inputs = Inputs::default();
        inputs.set(&values, width);
        let mut outputs = vec![0.0; count * tokens];
        linear.apply(&inputs, &mut outputs);
        for token in 0..tokens {
            for output in 0..count {
                let row = &values[token * width..][..width];
                let weights = units[output * width..][..width]
                    .iter()
                    .map(|unit| f32::from(*unit) * scales[output]);
                let exact = row.iter().zip(weights).map(|(a, b)| a * b).sum::<f32>() + bias[output];
                assert!(
                    (outputs[token * count + output] - exact).abs() < 0.5,
                    "{token} {output}"
                );
            }
        }
    }
}
