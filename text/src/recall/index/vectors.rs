//! Vectors of documents, with one byte for each dimension.
//!
//! A vector is scaled to length one. Then all components are scaled so that the largest component fits in a byte. The
//! cosine of two vectors is the sum of the products of their components, times both scales. The error of a component is
//! at most 1/254 of the largest component.
//!
//! # Layer
//! Uses numbers of documents, not embedders.
//!
//! # Invariants
//! - VEC-1: all vectors have the same dimensions as the first vector; other vectors are refused.

use super::compact::{append, grow};

/// A vector with one byte for each component.
#[derive(Clone, Debug)]
pub(crate) struct Quantised {
    pub(crate) scale: f32,
    pub(crate) parts: Vec<i8>,
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
}

/// The vectors of an index.
#[derive(Clone, Default)]
pub(crate) struct Vectors {
    dimensions: usize,
    /// The numbers of the documents that have a vector, in ascending order.
    numbers: Vec<u32>,
    scales: Vec<f32>,
    parts: Vec<i8>,
}

impl Vectors {
    /// Adds the vector of a document whose number is the highest so far. Returns whether the vector was added.
    pub(crate) fn push(&mut self, number: u32, vector: &Quantised) -> bool {
        if self.numbers.is_empty() {
            self.dimensions = vector.parts.len();
        }
        if vector.parts.len() != self.dimensions || self.numbers.last().is_some_and(|&last| last >= number) {
            return false;
        }
        append(&mut self.numbers, number);
        append(&mut self.scales, vector.scale);
        grow(&mut self.parts, self.dimensions);
        self.parts.extend_from_slice(&vector.parts);
        true
    }

    /// Returns the vector of a document.
    pub(crate) fn get(&self, number: u32) -> Option<Quantised> {
        let at = self.numbers.binary_search(&number).ok()?;
        Some(Quantised {
            parts: self.parts[at * self.dimensions..(at + 1) * self.dimensions].to_vec(),
            scale: self.scales[at],
        })
    }

    /// Calls `found` with each document and its cosine to `query`.
    pub(crate) fn for_each_cosine(&self, query: &Quantised, mut found: impl FnMut(u32, f32)) {
        if query.parts.len() != self.dimensions || self.dimensions == 0 {
            return;
        }
        let rows = self.parts.chunks_exact(self.dimensions);
        for ((parts, &scale), &number) in rows.zip(&self.scales).zip(&self.numbers) {
            let products = parts.iter().zip(&query.parts);
            let sum: i32 = products.map(|(&one, &two)| i32::from(one) * i32::from(two)).sum();
            found(number, sum as f32 * scale * query.scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_survive_a_byte_a_dimension() {
        let one: Vec<f32> = (0..384u16).map(|at| (f32::from(at) * 0.7).sin()).collect();
        let two: Vec<f32> = (0..384u16).map(|at| (f32::from(at) * 0.71).sin()).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let wanted = dot(&one, &two) / (dot(&one, &one) * dot(&two, &two)).sqrt();
        let mut vectors = Vectors::default();
        let (one, two) = (Quantised::new(&one).unwrap(), Quantised::new(&two).unwrap());
        assert!(vectors.push(3, &one));
        assert!(!vectors.push(3, &one));
        vectors.for_each_cosine(&two, |number, cosine| {
            assert_eq!(number, 3);
            assert!((cosine - wanted).abs() < 0.01, "{cosine} {wanted}");
        });
    }

    #[test]
    fn vectors_without_direction_or_of_another_kind_are_refused() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert!(Quantised::new(vector).is_none(), "{vector:?}");
        }
        let mut vectors = Vectors::default();
        assert!(vectors.push(0, &Quantised::new(&[1.0, 2.0]).unwrap()));
        assert!(!vectors.push(1, &Quantised::new(&[1.0]).unwrap()), "VEC-1");
    }
}
