//! Functions of single precision that the compiler can vectorise, and whose results are the same on every machine.
//!
//! # Layer
//! Layer 0, inside `model`.
#![expect(
    clippy::inline_always,
    reason = "a function is compiled for the instruction set of its caller only if it is a part of the caller"
)]

/// The number of lanes of a sum.
pub(crate) const LANES: usize = 16;

/// Returns e to the power of `x`, with a relative error below 2e-7. `x` is limited to what has a normal result.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // e^x = 2^k * e^r with r in +-ln(2)/2; e^r by its Taylor polynomial. ln(2) has two parts, so that r is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let k = (x * std::f32::consts::LOG2_E + 0.5).floor();
    let r = x - k * LN2_HIGH - k * LN2_LOW;
    let p = 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    // The exponent is positive, because x is limited.
    p * f32::from_bits((k as i32 + 127).cast_unsigned() << 23)
}

/// Returns x times the share of the normal distribution below x: the activation of BERT. The error function is formula
/// 7.1.26 of Abramowitz and Stegun, with an error below 1.5e-7.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let p = 1.061_405_4;
    let p = p * t - 1.453_152;
    let p = p * t + 1.421_413_8;
    let p = p * t - 0.284_496_74;
    let p = p * t + 0.254_829_6;
    let tail = p * t * exp(-z * z);
    0.5 * x * if x < 0.0 { tail } else { 2.0 - tail }
}

/// Returns the largest number of which each value is at most one, and 0 at least.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    let mut most = [0.0f32; LANES];
    for values in values.chunks_exact(LANES) {
        for (most, value) in most.iter_mut().zip(values) {
            *most = most.max(value.abs());
        }
    }
    most.into_iter().fold(0.0, f32::max)
}

/// Returns the inner product, summed in sixteen lanes. The length is a multiple of 16.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    total(lanes)
}

/// Returns the sum, in sixteen lanes. The length is a multiple of 16.
#[inline(always)]
pub(crate) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for values in values.chunks_exact(LANES) {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane += value;
        }
    }
    total(lanes)
}

/// Adds up lanes by halves, which is fast with every instruction set.
#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    let mut eight = [0.0f32; 8];
    for (at, sum) in eight.iter_mut().enumerate() {
        *sum = lanes[at] + lanes[at + 8];
    }
    let four = [
        eight[0] + eight[4],
        eight[1] + eight[5],
        eight[2] + eight[6],
        eight[3] + eight[7],
    ];
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Returns a number of half precision (IEEE 754 binary16).
pub(crate) fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let (exponent, fraction) = (bits >> 10 & 31, bits & 1023);
    let size = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7f80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Returns the nearest number of half precision. Numbers that are too large become infinite.
pub(crate) fn to_half(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let size = value.abs();
    // Rounds in the grid of the result: 2^-24 below 2^-14, else 10 bits of the fraction. Adding 2^23 rounds to an integer.
    let unsigned = if size < 6.103_515_6e-5 {
        (size * 16_777_216.0 + 8_388_608.0).to_bits() as u16
    } else if size < 65_520.0 {
        let rounded = (bits & 0x7fff_ffff) + 0xfff + (bits >> 13 & 1);
        ((rounded >> 13) - (112 << 10)) as u16
    } else {
        0x7c00
    };
    (sign | unsigned).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_exact_function() {
        for step in -8_700..=8_800 {
            let x = step as f32 / 100.0;
            let exact = f64::from(x).exp();
            assert!(((f64::from(exp(x)) - exact) / exact).abs() < 5e-7, "{x}");
        }
    }

    #[test]
    fn gelu_has_known_values() {
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_344_7),
            (-1.0, -0.158_655_25),
            (3.0, 2.995_950_3),
            (-10.0, 0.0),
        ] {
            assert!((gelu(x) - expected).abs() < 1e-6, "{x}: {}", gelu(x));
        }
    }

    #[test]
    fn half_precision_has_known_values() {
        for (bits, expected) in [
            (0x3c00u16, 1.0f32),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x7bff, 65_504.0),
            (0x7c00, f32::INFINITY),
            (0, 0.0),
        ] {
            assert_eq!(half(bits.to_le_bytes()).to_bits(), expected.to_bits());
            assert_eq!(to_half(expected), bits.to_le_bytes());
        }
    }

    #[test]
    fn every_half_comes_back() {
        for bits in 0..0x7c00u16 {
            assert_eq!(to_half(half(bits.to_le_bytes())), bits.to_le_bytes());
        }
    }
}
