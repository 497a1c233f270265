//! The vectors of texts, by the digest of the text.
//!
//! A part of the table may lie in images, which are read where they lie. Their rows have the first numbers. Rows are in
//! the order in which their texts came, so documents that were stored together have vectors that lie together.
//!
//! # Layer
//! Inside `recall::vectors`. Uses tables.
//!
//! # Invariants
//! - VEC-1: all vectors have the same dimensions as the first vector; other vectors are refused.
//! - VEC-2: a vector is found only by the whole digest of the text that it was computed from.
//! - VEC-3: a number of a row never stands for another row, as long as [`VectorTable::id`] stays the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::FixedState;

use super::quantised::{Quantised, product, words_of};
use crate::tables::{Builder, Image, SortedRows, begin_with, rising_u32, row, u32_at, u32_of_rising};

/// The digest of a text, or its first half.
pub type TextKey = [u8; 16];

/// The number of the row of each text.
pub(super) type RowsByText = HashMap<TextKey, u32, FixedState>;

/// The version of the layout in an image.
const VERSION: u8 = 2;
/// The number of bytes of a digest in the sorted section. So few digests have an equal start that each is compared.
const KEY_START: usize = 8;
/// The largest number of dimensions.
const DIMENSIONS_MAX: usize = 1 << 16;

/// The sections of a table in an image. The first section has the version, the dimensions, the number of rows, and the
/// name of the model.
const HEAD: usize = 0;
const KEYS: usize = 1;
const SORTED: usize = 2;
const SIGNS: usize = 3;
const SCALES: usize = 4;
const PARTS: usize = 5;
/// The digests of the texts that the model does not know, sorted.
const FOREIGN: usize = 6;

/// The vectors of texts.
#[derive(Clone)]
pub struct VectorTable {
    id: u64,
    model: String,
    dimensions: usize,
    bases: Vec<Base>,
    base_len: u32,
    more: Rows,
    numbers: HashMap<TextKey, u32>,
    /// The texts of which the model has no vector now. Another process may get one, so no image has them.
    without: HashSet<TextKey>,
    /// The texts that the model does not know, for example because of their language, and that are in no image.
    foreign: HashSet<TextKey>,
    /// Counts the changes.
    revision: u64,
    /// The numbers of rows and of foreign texts in memory that are also in a file.
    saved: (usize, usize),
}

/// The rows of an image.
#[derive(Clone)]
struct Base {
    image: Arc<Image>,
    start: u32,
    len: u32,
    sorted: SortedRows<{ KEY_START + 4 }>,
    foreign: SortedRows<16>,
}

/// Rows in memory, as an image contains them.
#[derive(Clone, Default)]
struct Rows {
    keys: Vec<u8>,
    signs: Vec<u8>,
    scales: Vec<u8>,
    parts: Vec<u8>,
}

impl Rows {
    fn push(&mut self, key: &TextKey, signs: &[u8], scale: &[u8], parts: &[u8]) {
        self.keys.extend_from_slice(key);
        self.signs.extend_from_slice(signs);
        self.scales.extend_from_slice(scale);
        self.parts.extend_from_slice(parts);
    }
}

/// The signs of rows that lie together: the number of the first row, and the bytes.
pub(super) type Run<'a> = (u32, &'a [u8]);

impl VectorTable {
    /// Returns an empty table of the vectors of a model. The name must differ for models whose vectors differ.
    pub fn new(model: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            model: model.to_owned(),
            dimensions: 0,
            bases: Vec::new(),
            base_len: 0,
            more: Rows::default(),
            numbers: HashMap::new(),
            without: HashSet::new(),
            foreign: HashSet::new(),
            revision: 0,
            saved: (0, 0),
        }
    }

    /// Returns what tells this table from others (VEC-3), and the number of its changes.
    pub(super) fn id(&self) -> (u64, u64) {
        (self.id, self.revision)
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.base_len as usize + self.more.scales.len() / 4
    }

    /// Returns whether the table has no vector.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of vectors that are in no image.
    pub fn len_in_memory(&self) -> usize {
        self.more.scales.len() / 4
    }

    /// Returns whether the table has something that is in no file yet.
    pub fn has_news(&self) -> bool {
        self.saved != (self.len_in_memory(), self.foreign.len())
    }

    /// Records that everything is in a file.
    pub fn mark_saved(&mut self) {
        self.saved = (self.len_in_memory(), self.foreign.len());
    }

    /// Returns the number of components of a vector, or 0 if the table has no vector yet.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns whether a read found damage in an image. What was found may then be wrong.
    pub fn is_damaged(&self) -> bool {
        self.bases.iter().any(|base| base.image.is_damaged())
    }

    /// Returns whether the table has the vector of a text, or knows that the model has none.
    pub fn knows(&self, key: &TextKey) -> bool {
        self.without.contains(key) || self.is_foreign(key) || self.find(key).is_some()
    }

    fn is_foreign(&self, key: &TextKey) -> bool {
        self.foreign.contains(key) || self.bases.iter().any(|base| base.foreign.contains(key))
    }

    /// Records that the model does not know the language of a text, so that no process tries it again.
    pub fn leave_out(&mut self, key: TextKey) {
        if !self.knows(&key) {
            self.foreign.insert(key);
            self.revision += 1;
        }
    }

    /// Adds the vector of a text. A vector without a direction, or of other dimensions, counts as no vector (VEC-1).
    pub fn insert(&mut self, key: TextKey, vector: &[f32]) {
        self.revision += 1;
        let quantised = Quantised::new(vector).filter(|_| vector.len() <= DIMENSIONS_MAX);
        let fits = |of: &Quantised| self.dimensions == 0 || of.parts.len() == self.dimensions;
        let Some(quantised) = quantised.filter(fits).filter(|_| self.len() < u32::MAX as usize) else {
            self.without.insert(key);
            return;
        };
        if self.find(&key).is_some() {
            return;
        }
        self.dimensions = quantised.parts.len();
        self.numbers.insert(key, self.len() as u32);
        let parts: Vec<u8> = quantised.parts.iter().map(|part| part.cast_unsigned()).collect();
        self.more
            .push(&key, &quantised.signs(), &quantised.scale.to_le_bytes(), &parts);
    }

    /// Returns the vector of a row.
    pub(super) fn quantised(&self, number: u32) -> Option<Quantised> {
        let scale = f32::from_le_bytes(*self.bytes(number, SCALES, 4)?.first_chunk()?);
        let parts = self.bytes(number, PARTS, self.dimensions)?.iter();
        let parts = parts.map(|part| part.cast_signed()).collect();
        Some(Quantised { scale, parts })
    }

    /// Adds the rows of another table of the same model from number `from` on, unless the table knows their texts. Leaves
    /// out what cannot be read.
    pub fn merge(&mut self, other: &Self, from: usize) {
        for number in from as u32..other.len() as u32 {
            let key = other.key(number).and_then(<[u8]>::first_chunk);
            if let Some(key) = key.copied().filter(|key| !self.knows(key)) {
                self.copy(other, number, key);
            }
        }
        self.without.extend(&other.without);
        for &key in &other.foreign {
            self.leave_out(key);
        }
    }

    /// Returns the table with the `wanted` texts only. All of its rows are in memory. Leaves out what cannot be read.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&TextKey) -> bool) -> Self {
        let mut only = Self::new(&self.model);
        for number in 0..self.len() as u32 {
            let key = self.key(number).and_then(<[u8]>::first_chunk).copied();
            if let Some(key) = key.filter(|key| wanted(key) && self.find(key) == Some(number)) {
                only.copy(self, number, key);
            }
        }
        only.without = self.without.iter().filter(|key| wanted(key)).copied().collect();
        let foreign = self.bases.iter().flat_map(|base| base.foreign.iter());
        let foreign = foreign.chain(self.foreign.iter().copied());
        foreign
            .filter(|key| wanted(key))
            .for_each(|key| only.leave_out(key));
        only
    }

    fn copy(&mut self, other: &Self, number: u32, key: TextKey) -> Option<()> {
        let dimensions = other.dimensions;
        if ![0, dimensions].contains(&self.dimensions) {
            return None;
        }
        let signs = other.bytes(number, SIGNS, words_of(dimensions) * 8)?;
        let (scale, parts) = (
            other.bytes(number, SCALES, 4)?,
            other.bytes(number, PARTS, dimensions)?,
        );
        self.dimensions = dimensions;
        self.revision += 1;
        self.numbers.insert(key, self.len() as u32);
        self.more.push(&key, signs, scale, parts);
        Some(())
    }

    /// Returns the number of the row of a text.
    pub(super) fn find(&self, key: &TextKey) -> Option<u32> {
        let found = self.numbers.get(key).copied();
        found.or_else(|| self.bases.iter().find_map(|base| base.find(key)))
    }

    /// Returns the number of the row of each text, as [`Self::find`] finds it.
    pub(super) fn rows(&self) -> RowsByText {
        let mut rows = RowsByText::with_capacity_and_hasher(self.len(), FixedState::default());
        for number in (self.base_len..self.len() as u32).chain(0..self.base_len) {
            if let Some(key) = self.key(number).and_then(|key| key.first_chunk()) {
                rows.entry(*key).or_insert(number);
            }
        }
        rows
    }

    /// Returns the digest of the text of a row.
    pub(super) fn key(&self, number: u32) -> Option<&[u8]> {
        self.bytes(number, KEYS, 16)
    }

    /// Returns the cosine of the vector of a row and another vector of the same dimensions.
    pub(super) fn cosine(&self, number: u32, with: &Quantised) -> Option<f32> {
        let parts = self.bytes(number, PARTS, self.dimensions)?;
        let scale = self.bytes(number, SCALES, 4)?.first_chunk()?;
        let cosine = product(parts, &with.parts) as f32 * f32::from_le_bytes(*scale) * with.scale;
        // In a hostile image, a scale may be anything.
        cosine.is_finite().then_some(cosine)
    }

    /// Returns the cosine of a vector and the vector of a text, if the table has one.
    pub fn cosine_with(&self, vector: &[f32], key: &TextKey) -> Option<f32> {
        let with = Quantised::new(vector).filter(|with| with.parts.len() == self.dimensions)?;
        self.cosine(self.find(key)?, &with)
    }

    /// Returns the signs of all rows.
    pub(super) fn signs(&self) -> Vec<Run<'_>> {
        let width = words_of(self.dimensions) * 8;
        let mut runs: Vec<Run<'_>> = Vec::with_capacity(self.bases.len() + 1);
        for base in &self.bases {
            let signs = base.image.read(SIGNS, 0, base.len as usize * width);
            runs.push((base.start, signs.unwrap_or_default()));
        }
        runs.push((self.base_len, &self.more.signs));
        runs
    }

    /// Returns the bytes of a row in a section with rows of this width.
    fn bytes(&self, number: u32, section: usize, width: usize) -> Option<&[u8]> {
        if let Some(at) = number.checked_sub(self.base_len) {
            let rows = match section {
                KEYS => &self.more.keys,
                SIGNS => &self.more.signs,
                SCALES => &self.more.scales,
                _ => &self.more.parts,
            };
            let start = at as usize * width;
            return rows.get(start..start + width);
        }
        let base = self.bases.iter().rev().find(|base| base.start <= number)?;
        base.image
            .read(section, (number - base.start) as usize * width, width)
    }

    /// Appends the rows of an image that [`Self::write`] wrote for the same model. Returns whether the image has such
    /// rows. Call it before the first [`Self::insert`].
    pub fn append(&mut self, image: Image) -> bool {
        let appended = self.base_of(image);
        let is_new = self.more.scales.is_empty();
        let Some((base, dimensions)) = appended.filter(|_| is_new) else {
            return false;
        };
        self.dimensions = dimensions.max(self.dimensions);
        self.base_len += base.len;
        self.bases.push(base);
        true
    }

    fn base_of(&self, image: Image) -> Option<(Base, usize)> {
        let image = Arc::new(image);
        let (head, model) = image.read(HEAD, 0, image.length(HEAD))?.split_at_checked(9)?;
        let (dimensions, len) = (u32_at(head, 1) as usize, u32_at(head, 5));
        let is_mine = head.first() == Some(&VERSION) && model == self.model.as_bytes();
        // A table may have only texts that the model does not know.
        let fits = self.dimensions == 0 || self.dimensions == dimensions || len == 0;
        let widths = [
            (KEYS, 16),
            (SORTED, KEY_START + 4),
            (SIGNS, words_of(dimensions) * 8),
            (SCALES, 4),
            (PARTS, dimensions),
        ];
        let is_whole = |(section, width)| image.length(section) == len as usize * width;
        if !is_mine
            || !fits
            || dimensions > DIMENSIONS_MAX
            || (dimensions == 0) != (len == 0)
            || !image.length(FOREIGN).is_multiple_of(16)
            || !widths.into_iter().all(is_whole)
        {
            return None;
        }
        self.base_len.checked_add(len)?;
        let base = Base {
            start: self.base_len,
            len,
            sorted: SortedRows::of(&image, SORTED),
            foreign: SortedRows::of(&image, FOREIGN),
            image,
        };
        Some((base, dimensions))
    }

    /// Returns the bytes of an image with the rows from number `from` on whose texts are wanted, and with such texts that
    /// the model does not know. Returns `None` if there is neither, or if a row cannot be read.
    pub fn write(&self, from: usize, wanted: impl Fn(&TextKey) -> bool) -> Option<Vec<u8>> {
        let first = self.bases.first().map_or(0, |base| base.len);
        let mut rows = Rows::default();
        let mut sorted: Vec<[u8; KEY_START + 4]> = Vec::new();
        for number in from as u32..self.len() as u32 {
            let key: &TextKey = self.key(number)?.first_chunk()?;
            // After a crash, two images may have the same text.
            if !wanted(key) || number >= first && self.find(key) != Some(number) {
                continue;
            }
            let place = (rows.scales.len() / 4) as u32;
            sorted.push(row([&key[..KEY_START], &rising_u32(place)]));
            let signs = self.bytes(number, SIGNS, words_of(self.dimensions) * 8)?;
            let scale = self.bytes(number, SCALES, 4)?;
            rows.push(key, signs, scale, self.bytes(number, PARTS, self.dimensions)?);
        }
        // The rows of later images are from a number on.
        let later = self.bases.iter().filter(|base| base.start as usize >= from);
        let mut foreign: Vec<TextKey> = later.flat_map(|base| base.foreign.iter()).collect();
        foreign.extend(&self.foreign);
        foreign.retain(|key| wanted(key));
        if sorted.is_empty() && foreign.is_empty() {
            return None;
        }
        sorted.sort_unstable();
        foreign.sort_unstable();
        foreign.dedup();
        let dimensions = if sorted.is_empty() { 0 } else { self.dimensions };
        let mut image = Builder::default();
        image.section(|head| {
            head.push(VERSION);
            head.extend_from_slice(&(dimensions as u32).to_le_bytes());
            head.extend_from_slice(&(sorted.len() as u32).to_le_bytes());
            head.extend_from_slice(self.model.as_bytes());
        });
        image.section(|bytes| bytes.append(&mut rows.keys));
        image.section(|bytes| bytes.extend(sorted.iter().flatten()));
        for mut section in [rows.signs, rows.scales, rows.parts] {
            image.section(|bytes| bytes.append(&mut section));
        }
        image.section(|bytes| bytes.extend(foreign.iter().flatten()));
        Some(image.finish())
    }
}

impl Base {
    /// Returns the number of the row of a text.
    fn find(&self, key: &TextKey) -> Option<u32> {
        let (first, last) = begin_with(&key[..KEY_START]);
        let found = self.sorted.range(first, last);
        let mut places = found.filter_map(|row| row.last_chunk().map(|place| u32_of_rising(*place)));
        // VEC-2. In a hostile image, the place may be of no row.
        let is_it = |&place: &u32| {
            place < self.len && self.image.read(KEYS, place as usize * 16, 16) == Some(key.as_slice())
        };
        places.find(is_it).map(|place| self.start + place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: u16) -> Vec<f32> {
        (0..100u16)
            .map(|at| (f32::from(at) * 0.7 + f32::from(seed)).sin())
            .collect()
    }

    fn key(seed: u16) -> TextKey {
        let mut key = [9; 16];
        key[14..].copy_from_slice(&seed.to_le_bytes());
        key
    }

    fn reopened(bytes: Vec<u8>) -> Option<VectorTable> {
        let mut table = VectorTable::new("m");
        table.append(Image::open(bytes.into())?).then_some(table)
    }

    #[test]
    fn a_table_is_the_same_after_it_was_written_and_read() {
        let mut table = VectorTable::new("m");
        (0..300).for_each(|seed| table.insert(key(seed), &vector(seed)));
        table.insert(key(7), &vector(1));
        let first = table.write(0, |_| true).unwrap();
        let mut read = reopened(first.clone()).unwrap();
        (300..400).for_each(|seed| read.insert(key(seed), &vector(seed)));
        let second = Image::open(read.write(300, |_| true).unwrap().into()).unwrap();
        let mut both = reopened(first).unwrap();
        assert!(both.append(second));
        assert_eq!((both.len(), both.len_in_memory()), (400, 0));
        for seed in 0..400 {
            let row = both.find(&key(seed)).unwrap();
            let asked = Quantised::new(&vector(seed)).unwrap();
            assert_eq!(both.key(row), Some(&key(seed)[..]));
            assert!((both.cosine(row, &asked).unwrap() - 1.0).abs() < 0.01, "{seed}");
        }
        // VEC-2: the start of a digest finds nothing.
        let mut other = key(7);
        other[12] ^= 0x80;
        assert!(!both.knows(&other));
    }

    #[test]
    fn cosines_survive_a_byte_a_dimension() {
        let (one, two) = (vector(1), vector(2));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let wanted = dot(&one, &two) / (dot(&one, &one) * dot(&two, &two)).sqrt();
        let mut table = VectorTable::new("m");
        table.insert(key(1), &one);
        let cosine = table.cosine(0, &Quantised::new(&two).unwrap()).unwrap();
        assert!((cosine - wanted).abs() < 0.01, "{cosine} {wanted}");
    }

    #[test]
    fn vectors_of_other_dimensions_are_no_vectors() {
        let mut table = VectorTable::new("m");
        table.insert(key(1), &[1.0, 2.0]);
        table.insert(key(2), &[1.0]);
        table.insert(key(3), &[0.0, 0.0]);
        assert_eq!(
            (table.len(), table.knows(&key(2)), table.knows(&key(3))),
            (1, true, true)
        );
        assert!(table.find(&key(2)).is_none(), "VEC-1");
    }

    /// A text that the model does not know is known as such after the table was read; one without a vector is not.
    #[test]
    fn foreign_texts_are_written() {
        let mut table = VectorTable::new("m");
        table.leave_out(key(1));
        table.insert(key(2), &[]);
        assert!(table.has_news() && table.knows(&key(1)) && table.knows(&key(2)));
        let mut read = reopened(table.write(0, |_| true).unwrap()).unwrap();
        assert!(read.knows(&key(1)) && !read.knows(&key(2)) && !read.has_news());
        read.insert(key(3), &vector(3));
        let both = reopened(read.write(0, |of| *of != key(1)).unwrap()).unwrap();
        assert!(both.knows(&key(3)) && !both.knows(&key(1)));
        let second = reopened(read.write(0, |_| true).unwrap()).unwrap();
        assert!(second.knows(&key(3)) && second.knows(&key(1)));
    }

    #[test]
    fn only_wanted_rows_are_written() {
        let mut table = VectorTable::new("m");
        (0..10).for_each(|seed| table.insert(key(seed), &vector(seed)));
        let left = reopened(table.write(0, |of| of[14] % 2 == 0).unwrap()).unwrap();
        assert_eq!(
            (left.len(), left.knows(&key(4)), left.knows(&key(5))),
            (5, true, false)
        );
        assert!(table.write(0, |_| false).is_none());
    }

    /// A damaged byte gives no vector, or the right one; never a wrong one.
    #[test]
    fn damage_gives_no_wrong_vector() {
        let mut table = VectorTable::new("m");
        (0..100).for_each(|seed| table.insert(key(seed), &vector(seed)));
        let whole = table.write(0, |_| true).unwrap();
        let asked = Quantised::new(&vector(3)).unwrap();
        let expected: Vec<Option<f32>> = (0..100).map(|row| table.cosine(row, &asked)).collect();
        for at in (0..whole.len()).step_by(97) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            let Some(read) = reopened(bytes) else { continue };
            for seed in 0..100 {
                let cosine = read.find(&key(seed)).and_then(|row| read.cosine(row, &asked));
                assert!(cosine.is_none() || cosine == expected[usize::from(seed)], "{at}");
                assert!(cosine.is_some() || read.is_damaged(), "{at}");
            }
        }
    }

    #[test]
    fn rows_of_another_model_are_refused() {
        let mut table = VectorTable::new("m");
        table.insert(key(1), &vector(1));
        let bytes = table.write(0, |_| true).unwrap();
        let mut other = VectorTable::new("n");
        assert!(!other.append(Image::open(bytes.into()).unwrap()) && other.is_empty());
    }
}
