//! A set of rows of one width: the sorted rows of an image, and the changes since the image was written.
//!
//! A change costs the same for any number of rows. A range of rows is found by binary search, and counted without
//! reading it.
//!
//! # Layer
//! Layer 0, inside `tables`. Compares rows as bytes, so rows contain numbers that sort as bytes.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use super::image::{Builder, Image};

/// A set of rows of `N` bytes. A clone is cheap, and shares the rows until one of the two changes.
#[derive(Clone, Debug)]
pub struct SortedRows<const N: usize> {
    /// The image and the section that contains the rows.
    base: Option<(Arc<Image>, usize)>,
    /// The rows that are not in the image.
    added: Arc<BTreeSet<[u8; N]>>,
    /// The rows of the image that are not in the set.
    removed: Arc<BTreeSet<[u8; N]>>,
}

impl<const N: usize> Default for SortedRows<N> {
    fn default() -> Self {
        Self {
            base: None,
            added: Arc::default(),
            removed: Arc::default(),
        }
    }
}

impl<const N: usize> SortedRows<N> {
    /// Returns the rows of a section of an image.
    pub fn of(image: &Arc<Image>, section: usize) -> Self {
        if !image.length(section).is_multiple_of(N) {
            image.fail();
        }
        Self {
            base: Some((Arc::clone(image), section)),
            ..Self::default()
        }
    }

    /// Adds a row. Returns whether the row is new.
    pub fn insert(&mut self, row: [u8; N]) -> bool {
        if self.removed.contains(&row) {
            return Arc::make_mut(&mut self.removed).remove(&row);
        }
        !self.is_in_base(&row) && Arc::make_mut(&mut self.added).insert(row)
    }

    /// Removes a row. Returns whether there was such a row.
    pub fn remove(&mut self, row: &[u8; N]) -> bool {
        if self.added.contains(row) {
            return Arc::make_mut(&mut self.added).remove(row);
        }
        self.is_in_base(row) && Arc::make_mut(&mut self.removed).insert(*row)
    }

    /// Returns whether there is such a row.
    pub fn contains(&self, row: &[u8; N]) -> bool {
        self.added.contains(row) || (!self.removed.contains(row) && self.is_in_base(row))
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.base_len() + self.added.len() - self.removed.len()
    }

    /// Returns the rows from `first` to `last`, both included, in order.
    pub fn range(&self, first: [u8; N], last: [u8; N]) -> impl Iterator<Item = [u8; N]> + '_ {
        let (start, end) = self.base_range(&first, &last);
        Merged {
            base: (start..end).map_while(|at| self.base_row(at)).peekable(),
            added: between(&self.added, first, last).copied().peekable(),
            removed: &self.removed,
        }
    }

    /// Returns all rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = [u8; N]> + '_ {
        self.range([0; N], [0xff; N])
    }

    /// Returns the number of rows from `first` to `last`, both included. Takes time for the changes since the image was
    /// written, not for its rows.
    pub fn count(&self, first: [u8; N], last: [u8; N]) -> usize {
        let (start, end) = self.base_range(&first, &last);
        let added = between(&self.added, first, last).count();
        let removed = between(&self.removed, first, last).count();
        (end - start + added).saturating_sub(removed)
    }

    /// Returns the first row that is not before `first`.
    pub fn next_from(&self, first: [u8; N]) -> Option<[u8; N]> {
        self.range(first, [0xff; N]).next()
    }

    /// Appends the rows to an image, as a section.
    pub fn write(&self, builder: &mut Builder) {
        builder.section(|bytes| {
            for row in self.iter() {
                bytes.extend_from_slice(&row);
            }
        });
    }

    fn base_len(&self) -> usize {
        self.base
            .as_ref()
            .map_or(0, |(image, section)| image.length(*section) / N)
    }

    fn base_row(&self, at: usize) -> Option<[u8; N]> {
        let (image, section) = self.base.as_ref()?;
        image.read(*section, at * N, N)?.try_into().ok()
    }

    fn is_in_base(&self, row: &[u8; N]) -> bool {
        let at = self.base_before(|other| other < row);
        at < self.base_len() && self.base_row(at).as_ref() == Some(row)
    }

    /// Returns the places in the image of the rows from `first` to `last`.
    fn base_range(&self, first: &[u8; N], last: &[u8; N]) -> (usize, usize) {
        let start = self.base_before(|row| row < first);
        // In a hostile image, the rows may have any order.
        (start, self.base_before(|row| row <= last).max(start))
    }

    /// Returns the number of rows of the image for which `is_before` is true. A damaged row counts as not before.
    fn base_before(&self, is_before: impl Fn(&[u8; N]) -> bool) -> usize {
        let is_before = |at| self.base_row(at).is_some_and(|row| is_before(&row));
        partition_point(0..self.base_len(), is_before)
    }
}

/// Returns the first number of a range for which `is_before` is false, by binary search. If `is_before` is false for a
/// number, it should be false for all later ones; otherwise the result is any number of the range.
pub fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the row of these parts. Bytes that do not fit are left out, and missing bytes are zero.
pub fn row<const M: usize, const N: usize>(parts: [&[u8]; M]) -> [u8; N] {
    let mut row = [0; N];
    let bytes = parts.into_iter().flatten();
    row.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    row
}

/// Returns the first and the last possible row that begins with `start`.
pub fn begin_with<const N: usize>(start: &[u8]) -> ([u8; N], [u8; N]) {
    (row([start]), row([start, &[0xff; 64]]))
}

/// Returns the rows from `first` to `last`. There are none if `first` is above `last`.
fn between<const N: usize>(
    rows: &BTreeSet<[u8; N]>,
    first: [u8; N],
    last: [u8; N],
) -> impl Iterator<Item = &[u8; N]> {
    let is_range = first <= last;
    is_range.then(|| rows.range(first..=last)).into_iter().flatten()
}

/// The rows of an image without the removed ones, and the added rows, in order.
struct Merged<'a, const N: usize, B: Iterator, A: Iterator> {
    base: Peekable<B>,
    added: Peekable<A>,
    removed: &'a BTreeSet<[u8; N]>,
}

impl<const N: usize, B, A> Iterator for Merged<'_, N, B, A>
where
    B: Iterator<Item = [u8; N]>,
    A: Iterator<Item = [u8; N]>,
{
    type Item = [u8; N];

    fn next(&mut self) -> Option<[u8; N]> {
        while self.base.next_if(|row| self.removed.contains(row)).is_some() {}
        match (self.base.peek(), self.added.peek()) {
            (Some(base), Some(added)) if added < base => self.added.next(),
            (Some(_), _) => self.base.next(),
            (None, _) => self.added.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mapped(rows: &SortedRows<2>) -> SortedRows<2> {
        let mut builder = Builder::default();
        rows.write(&mut builder);
        SortedRows::of(&Arc::new(Image::open(builder.finish().into()).unwrap()), 0)
    }

    proptest! {
        /// INVARIANT TAB-3: a set contains the same rows, whether an image holds them or not.
        #[test]
        fn a_set_on_an_image_is_a_set(
            steps in prop::collection::vec((0..8u8, 0..3u8, 0..9u8), 0..120),
            first in any::<[u8; 2]>(),
            last in (0..3u8, 0..9u8),
        ) {
            let (mut rows, mut model) = (SortedRows::<2>::default(), BTreeSet::new());
            let last = [last.0, last.1];
            let first = [first[0] % 3, first[1] % 9];
            for (step, one, two) in steps {
                let row = [one, two];
                match step {
                    0 => rows = mapped(&rows),
                    1..=3 => prop_assert_eq!(rows.remove(&row), model.remove(&row)),
                    _ => prop_assert_eq!(rows.insert(row), model.insert(row)),
                }
                prop_assert_eq!(rows.contains(&row), model.contains(&row));
                prop_assert_eq!((rows.len(), rows.is_empty()), (model.len(), model.is_empty()));
            }
            prop_assert!(rows.iter().eq(model.iter().copied()));
            let expected: Vec<_> = between(&model, first, last).copied().collect();
            prop_assert_eq!(rows.count(first, last), expected.len());
            prop_assert_eq!(rows.range(first, last).collect::<Vec<_>>(), expected);
        }

        /// INVARIANT TAB-1: no input makes a read panic, read outside of the image, or loop without end.
        #[test]
        fn rows_in_any_order_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut builder = Builder::default();
            builder.section(|section| section.extend(&bytes));
            let image = Arc::new(Image::open(builder.finish().into()).unwrap());
            let mut rows = SortedRows::<3>::of(&image, 0);
            prop_assert_eq!(image.is_damaged(), !bytes.len().is_multiple_of(3));
            for row in bytes.chunks_exact(3) {
                let row = [row[0], row[1], row[2]];
                rows.remove(&row);
                rows.insert([row[2], row[1], row[0]]);
            }
            prop_assert!(rows.iter().count() <= bytes.len());
            prop_assert!(rows.count([9; 3], [200; 3]) <= bytes.len());
        }
    }
}
