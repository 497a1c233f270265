//! Functions of single precision that the compiler can vectorise, and whose results are the same on every machine.
//!
//! # Layer
//! Layer 0, inside `model`.

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
    p * f32::from_bits(((k as i32 + 127) << 23) as u32)
}

/// Returns x times the share of the normal distribution below x: the activation of the model. The error function is
/// formula 7.1.26 of Abramowitz and Stegun, with an error below 1.5e-7.
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

/// Returns the inner product, summed in sixteen lanes.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

/// Returns the sum, in sixteen lanes.
#[inline(always)]
pub(crate) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    for values in values.chunks_exact(16) {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane += value;
        }
    }
    lanes.iter().sum()
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
}
