//! The embeddings of the word pieces: rows of 4 or 8 bits a weight, with one scale for each 32 weights.
//!
//! A text needs few rows, so rows stay where they are: in the program, or in the file of an installed model.
//!
//! # Layer
//! Layer 0, inside `model`.
//!
//! # Invariants
//! - ROW-1: a row of a file is used only if its checksum fits.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::config::GROUP;
use super::math::half;

/// The offset of a weight of 4 bits.
const OFFSET: i8 = 8;
/// The number of bytes of the checksum at the end of a row in a file.
pub(crate) const CHECKSUM: usize = 4;

/// The rows.
pub(crate) enum Words {
    /// The rows of the bundled model, of 4 bits: the scales of all rows, and then their units.
    Bundled { bytes: &'static [u8], count: usize },
    /// The rows of a file, each with its scales, units and checksum.
    Stored { file: File, start: u64, bits: usize },
}

/// Returns the number of bytes of a row in a file.
pub(crate) fn row_size(width: usize, bits: usize) -> usize {
    2 * (width / GROUP) + width * bits / 8 + CHECKSUM
}

impl Words {
    /// Adds the embedding of the word piece `piece` to `sum`. Returns whether the row could be read (ROW-1).
    pub(crate) fn add(&self, piece: usize, sum: &mut [f32]) -> bool {
        let groups = sum.len() / GROUP;
        match self {
            Self::Bundled { bytes, count } => {
                let scales = &bytes[2 * groups * piece..][..2 * groups];
                let units = &bytes[2 * groups * count + sum.len() / 2 * piece..][..sum.len() / 2];
                add_row(scales, units, 4, sum);
                true
            }
            Self::Stored { file, start, bits } => {
                let mut row = vec![0; row_size(sum.len(), *bits)];
                let at = start + (piece * row.len()) as u64;
                if file.read_exact_at(&mut row, at).is_err() {
                    return false;
                }
                let (row, checksum) = row.split_at(row.len() - CHECKSUM);
                if crc32c::crc32c(row).to_le_bytes() != checksum {
                    return false;
                }
                let (scales, units) = row.split_at(2 * groups);
                add_row(scales, units, *bits, sum);
                true
            }
        }
    }
}

fn add_row(scales: &[u8], units: &[u8], bits: usize, sum: &mut [f32]) {
    let (scales, _) = scales.as_chunks::<2>();
    let groups = units.chunks_exact(GROUP * bits / 8);
    for ((group, scale), sum) in groups.zip(scales).zip(sum.chunks_exact_mut(GROUP)) {
        let scale = half(*scale);
        if bits == 8 {
            for (unit, sum) in group.iter().zip(sum) {
                *sum += f32::from(unit.cast_signed()) * scale;
            }
        } else {
            let unit = |bits: u8| f32::from(bits.cast_signed() - OFFSET);
            for (byte, sum) in group.iter().zip(sum.chunks_exact_mut(2)) {
                sum[0] += unit(byte & 15) * scale;
                sum[1] += unit(byte >> 4) * scale;
            }
        }
    }
}
