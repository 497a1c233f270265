//! Vectors with one byte for each dimension, and one bit for each dimension.
//!
//! A vector is scaled to length one. Then all components are scaled so that the largest component fits in a byte. The
//! cosine of two vectors is the sum of the products of their components, times both scales. The error of a component is
//! at most 1/254 of the largest component.
//!
//! The bits are the signs of the components. The fewer signs of two vectors differ, the higher their cosine probably is.
//!
//! # Layer
//! Inside `recall::vectors`. Pure.

use multiversion::multiversion;

/// A vector with one byte for each component.
#[derive(Clone, Debug)]
pub(crate) struct Quantised {
    pub(crate) scale: f32,
    pub(crate) parts: Vec<i8>,
}

/// Returns a vector of the same direction with whole numbers from -127 to 127, as a table has it. Returns `None` if the
/// vector has no direction.
pub fn rounded(vector: &[f32]) -> Option<Vec<i8>> {
    Quantised::new(vector).map(|quantised| quantised.parts)
}

impl Quantised {
    /// Converts a vector. Returns `None` if the vector has no direction: the vector is empty, all zero, or not finite.
    pub(crate) fn new(vector: &[f32]) -> Option<Self> {
        let norm = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
        let largest = vector
            .iter()
            .fold(0.0f32, |largest, part| largest.max(part.abs()));
        if !norm.is_finite() || norm <= 0.0 || largest <= 0.0 {
            return None;
        }
        let parts = vector
            .iter()
            .map(|part| (part / largest * 127.0).round() as i8)
            .collect();
        let scale = largest / 127.0 / norm;
        Some(Self { scale, parts })
    }

    /// Returns the signs, one bit for each component, in whole words of 64 bits, little-endian.
    pub(super) fn signs(&self) -> Vec<u8> {
        let mut signs = vec![0; words_of(self.parts.len()) * 8];
        for (at, &part) in self.parts.iter().enumerate() {
            signs[at / 8] |= u8::from(part > 0) << (at % 8);
        }
        signs
    }
}

/// Returns the number of words of 64 bits that hold the signs of a vector.
pub(super) fn words_of(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// Returns the sum of the products of the components of two vectors. The bytes of `stored` are signed. The loop names no
/// iterators, because those are not compiled for the instructions of this function.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(super) fn product(stored: &[u8], parts: &[i8]) -> i32 {
    let length = stored.len().min(parts.len());
    let (stored, parts) = (&stored[..length], &parts[..length]);
    let mut sum = 0;
    let mut at = 0;
    while at < length {
        // The product of two signed bytes fits in 16 bits, for which there are faster instructions.
        sum += i32::from(i16::from(stored[at].cast_signed()) * i16::from(parts[at]));
        at += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_without_direction_are_refused() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert!(Quantised::new(vector).is_none(), "{vector:?}");
        }
    }

    #[test]
    fn signs_fill_whole_words() {
        let signs = |vector: &[f32]| Quantised::new(vector).unwrap().signs();
        assert_eq!(signs(&[1.0, -1.0, 0.0, 0.5]), [0b1001, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(signs(&[1.0; 65]).len(), 16);
    }
}
