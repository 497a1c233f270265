//! Columns of fixed-width values: the values of an image, and the values that changed or came since.
//!
//! # Layer
//! Layer 6, inside `recall`. Uses tables, and no other part of the index.
//!
//! # Invariants
//! - CLM-1: a value that is out of range or damaged reads as the default value, and marks the image as damaged.

use std::collections::HashMap;
use std::sync::Arc;

use super::compact::grow;
use crate::tables::{Image, partition_point, u32_at};

/// A value of fixed width.
pub(super) trait Fixed: Copy + Default {
    /// The number of bytes of a value.
    const BYTES: usize;

    /// Returns the value in `BYTES` bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Appends the `BYTES` bytes of the value.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Returns whether the numbers in a value of an image are within the limits.
    fn is_within(&self, limits: &Limits) -> bool;
}

/// The numbers of documents, sessions, scopes and speakers of an image.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) documents: u32,
    pub(super) sessions: u32,
    pub(super) scopes: u32,
    pub(super) speakers: u32,
}

/// The values of one column, by number.
#[derive(Clone)]
pub(super) struct Column<T> {
    base: Option<(Arc<Image>, usize)>,
    base_len: u32,
    limits: Limits,
    /// The values that differ from those of the image.
    changed: HashMap<u32, T>,
    /// The values that are not in the image, as an image contains them.
    more: Vec<u8>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self {
            base: None,
            base_len: 0,
            limits: Limits::default(),
            changed: HashMap::new(),
            more: Vec::new(),
        }
    }
}

impl<T: Fixed> Column<T> {
    /// Returns the column in a section of an image. Returns `None` if the section does not have `length` values.
    pub(super) fn of(image: &Arc<Image>, section: usize, length: u32, limits: Limits) -> Option<Self> {
        let is_whole = image.length(section) == (length as usize).checked_mul(T::BYTES)?;
        is_whole.then(|| Self {
            base: Some((Arc::clone(image), section)),
            base_len: length,
            limits,
            ..Self::default()
        })
    }

    /// Returns the number of values.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.base_len as usize + self.more.len() / T::BYTES
    }

    /// Returns the value with a number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> T {
        let Some(at) = number.checked_sub(self.base_len) else {
            let changed = (!self.changed.is_empty()).then(|| self.changed.get(&number));
            return changed.flatten().copied().unwrap_or_else(|| self.in_base(number));
        };
        let start = at as usize * T::BYTES;
        let bytes = self.more.get(start..start + T::BYTES);
        bytes.map_or_else(T::default, T::read)
    }

    #[inline]
    fn in_base(&self, number: u32) -> T {
        let Some((image, section)) = &self.base else {
            return T::default();
        };
        let bytes = image.read(*section, number as usize * T::BYTES, T::BYTES);
        let value = bytes.map_or_else(T::default, T::read);
        // CLM-1: no caller meets a number that is out of range.
        if value.is_within(&self.limits) {
            return value;
        }
        image.fail();
        T::default()
    }

    /// Returns the number of values in the image.
    #[inline]
    pub(super) fn base_len(&self) -> u32 {
        self.base_len
    }

    /// Returns the values that differ from those of the image, with their numbers, in any order.
    pub(super) fn changed(&self) -> impl Iterator<Item = (u32, &T)> {
        self.changed.iter().map(|(number, value)| (*number, value))
    }

    /// Replaces the value with a number.
    pub(super) fn set(&mut self, number: u32, value: T) {
        let Some(at) = number.checked_sub(self.base_len) else {
            self.changed.insert(number, value);
            return;
        };
        let start = at as usize * T::BYTES;
        if let Some(bytes) = self.more.get_mut(start..start + T::BYTES) {
            let mut new = Vec::with_capacity(T::BYTES);
            value.write(&mut new);
            bytes.copy_from_slice(&new);
        }
    }

    /// Appends a value.
    pub(super) fn push(&mut self, value: T) {
        grow(&mut self.more, T::BYTES);
        value.write(&mut self.more);
    }
}

/// Numbers in order: a run of an image, and then the numbers that changed or came since. A change near the end costs
/// little, however long the run is.
#[derive(Clone, Default)]
pub(super) struct Spliced {
    run: Option<Run>,
    /// How many numbers of the run are still the first ones.
    kept: usize,
    tail: Vec<u32>,
}

/// The numbers in a section of an image, from a place on. A number is hostile unless it is below the limit.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) image: Arc<Image>,
    pub(super) section: usize,
    pub(super) start: u32,
    pub(super) limit: u32,
}

impl Spliced {
    /// No numbers.
    pub(super) const EMPTY: Self = Self {
        run: None,
        kept: 0,
        tail: Vec::new(),
    };

    /// Returns the first `length` numbers of a run.
    pub(super) fn of(run: Run, length: u32) -> Self {
        Self {
            run: Some(run),
            kept: length as usize,
            tail: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept + self.tail.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number at a place.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<u32> {
        if let Some(at) = at.checked_sub(self.kept) {
            return self.tail.get(at).copied();
        }
        let run = self.run.as_ref()?;
        let at = (run.start as usize).checked_add(at)?.checked_mul(4)?;
        let number = u32_at(run.image.read(run.section, at, 4)?, 0);
        if number < run.limit {
            return Some(number);
        }
        run.image.fail();
        None
    }

    /// Returns the number of first numbers for which `is_before` is true.
    pub(super) fn partition_point(&self, is_before: impl Fn(u32) -> bool) -> usize {
        partition_point(0..self.len(), |at| self.get(at).is_some_and(&is_before))
    }

    pub(super) fn insert(&mut self, at: usize, number: u32) {
        self.own_from(at);
        grow(&mut self.tail, 1);
        self.tail.insert((at - self.kept).min(self.tail.len()), number);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.own_from(at);
        if at - self.kept < self.tail.len() {
            self.tail.remove(at - self.kept);
        }
    }

    /// Moves the numbers of the run from a place on to the tail.
    fn own_from(&mut self, at: usize) {
        if at < self.kept {
            let moved: Vec<u32> = (at..self.kept).filter_map(|at| self.get(at)).collect();
            self.kept = at;
            drop(self.tail.splice(0..0, moved));
        }
    }
}
