//! A layer that multiplies by a matrix of integers.
//!
//! Weights have 8 bits and one scale an output. Inputs get 12 bits and one scale a token when they arrive. Nearly all
//! the time of the model is here. A panel has the weights of 64 outputs: for each two inputs, the two weights of each
//! output. So one instruction multiplies and adds for many outputs, and nothing is summed across.
//!
//! # Layer
//! Layer 0, inside `model`.
//!
//! # Invariants
//! - LIN-1: no sum of products overflows 32 bits: 2^7 * 2^11 * 4,096 inputs is 2^30. So integers are exact in any order.

use multiversion::multiversion;
use multiversion::target::match_target;

use super::math::largest;

/// The largest number of inputs of a matrix (LIN-1).
pub(crate) const INPUTS_MAX: usize = 4_096;
/// The number of outputs in a panel. Each number of outputs is a multiple of it.
pub(crate) const PANEL: usize = 64;
/// The number of tokens in a block, which are multiplied in one loop.
const TOKENS: usize = 4;
/// The largest input after it became an integer.
const INPUT_MAX: f32 = 2_047.0;
/// Adding this number to a smaller one rounds it to an integer, which is then in the low bits.
pub(crate) const ROUNDING: f32 = 12_582_912.0;

/// The sums of a block: those of 64 outputs for each token.
type Sums = [[i32; PANEL]; TOKENS];

/// How to compute. The results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// With the best instructions of this machine.
    Best,
    /// With AVX2, where the machine has it. Tests compare it.
    #[cfg(test)]
    Avx2,
    /// Without special instructions. Tests compare it.
    #[cfg(test)]
    Plain,
}

/// A matrix with its bias.
#[derive(Clone)]
pub(crate) struct Linear {
    /// The weights, by panels.
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
    /// Takes weights by panels.
    pub(crate) fn new(units: Vec<i8>, scales: Vec<f32>, bias: Vec<f32>) -> Self {
        Self { units, scales, bias }
    }

    /// Makes a matrix whose weights are given by outputs.
    pub(crate) fn from_rows(rows: &[i8], scales: Vec<f32>, bias: Vec<f32>) -> Self {
        let width = rows.len() / scales.len();
        let mut units = vec![0; rows.len()];
        for (row, weights) in rows.chunks_exact(width).enumerate() {
            place(weights, row, &mut units);
        }
        Self::new(units, scales, bias)
    }

    /// The weights by panels, the scales and the bias.
    pub(crate) fn parts(&self) -> (&[i8], &[f32], &[f32]) {
        (&self.units, &self.scales, &self.bias)
    }

    /// Writes the outputs of all tokens, by token.
    pub(crate) fn apply(&self, inputs: &Inputs, outputs: &mut [f32], way: Way) {
        match way {
            Way::Best => multiply(self, inputs, outputs),
            #[cfg(test)]
            Way::Avx2 => multiply_with_avx2(self, inputs, outputs),
            #[cfg(test)]
            Way::Plain => multiply_with(self, inputs, outputs, products),
        }
    }
}

/// Places the weights of an output into its panel.
pub(crate) fn place(weights: &[i8], output: usize, units: &mut [i8]) {
    let width = weights.len();
    let panel = &mut units[output / PANEL * PANEL * width..][..PANEL * width];
    let (panel, _) = panel.as_chunks_mut::<2>();
    let (pairs, _) = weights.as_chunks::<2>();
    for (place, pair) in panel.iter_mut().skip(output % PANEL).step_by(PANEL).zip(pairs) {
        *place = *pair;
    }
}

/// Makes integers of a row, and returns their scale.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2+fma"))]
fn quantise(row: &[f32], units: &mut [i16]) -> f32 {
    let most = largest(row);
    if most == 0.0 {
        units.fill(0);
        return 0.0;
    }
    let factor = INPUT_MAX / most;
    for (unit, value) in units.iter_mut().zip(row) {
        *unit = (value * factor + ROUNDING).to_bits() as i16;
    }
    most / INPUT_MAX
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512vnni", "x86_64+avx2+fma"))]
fn multiply(linear: &Linear, inputs: &Inputs, outputs: &mut [f32]) {
    match_target! {
        "x86_64+avx512f+avx512bw+avx512vl+avx512vnni" => multiply_with(linear, inputs, outputs, |panel, rows| vnni::products(panel, rows)),
        "x86_64+avx2" => multiply_with(linear, inputs, outputs, |panel, rows| avx2::products(panel, rows)),
        _ => multiply_with(linear, inputs, outputs, products),
    }
}

#[cfg(test)]
#[multiversion(targets("x86_64+avx2+fma"))]
fn multiply_with_avx2(linear: &Linear, inputs: &Inputs, outputs: &mut [f32]) {
    match_target! {
        "x86_64+avx2" => multiply_with(linear, inputs, outputs, |panel, rows| avx2::products(panel, rows)),
        _ => multiply_with(linear, inputs, outputs, products),
    }
}

#[expect(
    clippy::inline_always,
    reason = "the function is compiled for the instruction set of its caller"
)]
#[inline(always)]
fn multiply_with(
    linear: &Linear,
    inputs: &Inputs,
    outputs: &mut [f32],
    products: impl Fn(&[[i8; 2 * PANEL]], &[i16]) -> Sums,
) {
    let count = linear.scales.len();
    let width = linear.units.len() / count;
    let (steps, _) = linear.units.as_chunks::<{ 2 * PANEL }>();
    for (number, panel) in steps.chunks_exact(width / 2).enumerate() {
        let scales = &linear.scales[number * PANEL..][..PANEL];
        let bias = &linear.bias[number * PANEL..][..PANEL];
        for (block, rows) in inputs.units.chunks_exact(TOKENS * width).enumerate() {
            let sums = products(panel, rows);
            for (token, sums) in (block * TOKENS..inputs.scales.len()).zip(sums) {
                let input = inputs.scales[token];
                let outputs = &mut outputs[token * count + number * PANEL..][..PANEL];
                for (((output, sum), scale), bias) in outputs.iter_mut().zip(sums).zip(scales).zip(bias) {
                    *output = sum as f32 * (scale * input) + bias;
                }
            }
        }
    }
}

/// Returns the inner products of the weights of a panel with the rows of a block.
fn products(panel: &[[i8; 2 * PANEL]], rows: &[i16]) -> Sums {
    let mut sums = [[0i32; PANEL]; TOKENS];
    for (sums, row) in sums.iter_mut().zip(rows.chunks_exact(2 * panel.len())) {
        let (pairs, _) = row.as_chunks::<2>();
        for (weights, [first, second]) in panel.iter().zip(pairs) {
            let (weights, _) = weights.as_chunks::<2>();
            for (sum, [a, b]) in sums.iter_mut().zip(weights) {
                *sum += i32::from(*a) * i32::from(*first) + i32::from(*b) * i32::from(*second);
            }
        }
    }
    sums
}

/// The same with instructions that the compiler does not find by itself.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_madd_epi16, _mm256_set1_epi32,
    };

    use bytemuck::{must_cast, must_cast_slice};

    use super::{PANEL, Sums, TOKENS};

    /// The number of outputs whose sums are in registers.
    const PART: usize = 16;

    #[target_feature(enable = "avx2")]
    pub(super) fn products(panel: &[[i8; 2 * PANEL]], rows: &[i16]) -> Sums {
        let mut sums = [[0i32; PANEL]; TOKENS];
        let pairs = super::pairs(rows, panel.len());
        for part in 0..PANEL / PART {
            let found = part_products(panel, pairs, part);
            for (sums, found) in sums.iter_mut().zip(found) {
                sums[part * PART..][..PART].copy_from_slice(must_cast_slice(&found));
            }
        }
        sums
    }

    #[target_feature(enable = "avx2")]
    fn part_products(
        panel: &[[i8; 2 * PANEL]],
        [a, b, c, d]: [&[[i16; 2]]; TOKENS],
        part: usize,
    ) -> [[__m256i; 2]; TOKENS] {
        let mut sums: [[__m256i; 2]; TOKENS] = must_cast([[0i32; PART]; TOKENS]);
        for ((((weights, a), b), c), d) in panel.iter().zip(a).zip(b).zip(c).zip(d) {
            let (vectors, _) = weights.as_chunks::<16>();
            let weights = [vectors[2 * part], vectors[2 * part + 1]]
                .map(|vector| _mm256_cvtepi8_epi16(must_cast(vector)));
            for (sums, input) in sums.iter_mut().zip([a, b, c, d]) {
                let input = _mm256_set1_epi32(must_cast(*input));
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(weights, input));
                }
            }
        }
        sums
    }
}

/// The same with 512 bits and one instruction that multiplies and adds.
#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::{__m512i, _mm512_cvtepi8_epi16, _mm512_dpwssd_epi32, _mm512_set1_epi32};

    use bytemuck::must_cast;

    use super::{PANEL, Sums, TOKENS};

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn products(panel: &[[i8; 2 * PANEL]], rows: &[i16]) -> Sums {
        let [a, b, c, d] = super::pairs(rows, panel.len());
        let mut sums: [[__m512i; PANEL / 16]; TOKENS] = must_cast([[0i32; PANEL]; TOKENS]);
        for ((((weights, a), b), c), d) in panel.iter().zip(a).zip(b).zip(c).zip(d) {
            let weights: [[i8; 32]; PANEL / 16] = must_cast(*weights);
            let weights = weights.map(|vector| _mm512_cvtepi8_epi16(must_cast(vector)));
            for (sums, input) in sums.iter_mut().zip([a, b, c, d]) {
                let input = _mm512_set1_epi32(must_cast(*input));
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_dpwssd_epi32(*sum, weights, input);
                }
            }
        }
        must_cast(sums)
    }
}

/// Splits the rows of a block into pairs of inputs.
#[cfg(target_arch = "x86_64")]
#[expect(
    clippy::inline_always,
    reason = "the function is compiled for the instruction set of its caller"
)]
#[inline(always)]
fn pairs(rows: &[i16], width: usize) -> [&[[i16; 2]]; TOKENS] {
    let (pairs, _) = rows.as_chunks::<2>();
    let (a, rest) = pairs.split_at(width);
    let (b, rest) = rest.split_at(width);
    let (c, d) = rest.split_at(width);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_the_products_in_every_way() {
        let (width, count, tokens) = (96, 128, 7);
        let units: Vec<i8> = (0..width * count)
            .map(|at| ((at * 37 % 255) as u8).cast_signed())
            .collect();
        let scales: Vec<f32> = (0..count).map(|at| 0.001 * (at + 1) as f32).collect();
        let bias: Vec<f32> = (0..count).map(|at| at as f32).collect();
        let values: Vec<f32> = (0..width * tokens)
            .map(|at| ((at * 29 % 97) as f32 - 48.0) / 10.0)
            .collect();
        let linear = Linear::from_rows(&units, scales.clone(), bias.clone());
        let mut inputs = Inputs::default();
        inputs.set(&values, width);
        let mut outputs = vec![0.0; count * tokens];
        linear.apply(&inputs, &mut outputs, Way::Plain);
        for token in 0..tokens {
            for output in 0..count {
                let row = &values[token * width..][..width];
                let weights = units[output * width..][..width]
                    .iter()
                    .map(|unit| f32::from(*unit) * scales[output]);
                let exact = row.iter().zip(weights).map(|(a, b)| a * b).sum::<f32>() + bias[output];
                let found = outputs[token * count + output];
                assert!((found - exact).abs() < 2.0, "{token} {output}: {found} {exact}");
            }
        }
        for way in [Way::Avx2, Way::Best] {
            let mut others = vec![0.0; count * tokens];
            linear.apply(&inputs, &mut others, way);
            assert!(
                outputs
                    .iter()
                    .zip(&others)
                    .all(|(a, b)| a.to_bits() == b.to_bits()),
                "{way:?}"
            );
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let units = vec![-127i8; INPUTS_MAX * PANEL];
        let linear = Linear::from_rows(&units, vec![1.0; PANEL], vec![0.0; PANEL]);
        let mut inputs = Inputs::default();
        inputs.set(&vec![INPUT_MAX; INPUTS_MAX], INPUTS_MAX);
        for way in [Way::Plain, Way::Avx2, Way::Best] {
            let mut outputs = vec![0.0; PANEL];
            linear.apply(&inputs, &mut outputs, way);
            let exact = -127.0 * INPUT_MAX * INPUTS_MAX as f32;
            assert!(
                outputs.iter().all(|output| (output - exact).abs() < 200.0),
                "{way:?}"
            );
        }
    }
}
