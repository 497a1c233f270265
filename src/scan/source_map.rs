//! Maps positions in a changed copy of a text to positions in the text.
//!
//! # Layer
//! Pure: imports nothing of the crate.

/// The position in the text for each byte of a copy.
#[derive(Default)]
pub(in crate::scan) struct SourceMap {
    /// Pairs in rising order: a position in the copy, and the distance to the source from that position on. Distances
    /// below zero wrap around.
    steps: Vec<(usize, usize)>,
    /// The distance in the last pair.
    distance: usize,
}

impl SourceMap {
    /// Maps the bytes from `copy` on to the bytes from `source` on. Calls must pass rising positions.
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

    /// Removes all pairs, and makes room for a copy of `bytes`.
    pub(in crate::scan) fn reset(&mut self, bytes: usize) {
        self.steps.clear();
        // Threads that scan at once would contend for the allocator if the list grew step by step.
        self.steps.reserve(bytes / 4);
        self.distance = 0;
    }
}
