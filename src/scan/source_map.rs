//! Maps positions in a changed copy of a text back to the text.
//!
//! # Layer
//! Pure: imports nothing of the crate.

/// For each byte of a copy, its position in the text.
#[derive(Default)]
pub(in crate::scan) struct SourceMap {
    /// Pairs of a position in the copy and the distance to the source from there on, ascending. The distance wraps
    /// below zero.
    steps: Vec<(usize, usize)>,
    /// The distance of the last step.
    distance: usize,
}

impl SourceMap {
    /// Maps the bytes from `copy` on to the bytes from `source` on. Positions ascend.
    #[inline]
    pub(in crate::scan) fn add(&mut self, copy: usize, source: usize) {
        let distance = source.wrapping_sub(copy);
        if distance != self.distance {
            self.distance = distance;
            self.steps.push((copy, distance));
        }
    }

    /// Returns the position in the text of the byte at `copy`.
    pub(in crate::scan) fn source(&self, copy: usize) -> usize {
        let step = self.steps.partition_point(|(start, _)| *start <= copy);
        let distance = step.checked_sub(1).map_or(0, |step| self.steps[step].1);
        copy.wrapping_add(distance)
    }

    /// Removes all positions.
    pub(in crate::scan) fn clear(&mut self) {
        self.steps.clear();
        self.distance = 0;
    }
}
