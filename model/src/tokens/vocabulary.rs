//! A list of pieces, in which a reader finds all pieces that a text begins with, byte by byte.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::borrow::Cow;

/// The byte behind each piece of an installed model. UTF-8 has no such byte.
pub(crate) const SEPARATOR: u8 = 0xff;

/// The pieces. The number of a piece is its place in the list.
pub(crate) struct Vocabulary {
    /// The pieces, each with a separator behind it.
    text: Cow<'static, [u8]>,
    /// The start of each piece, and the end of the text.
    starts: Vec<u32>,
    /// The numbers of the pieces in the order of their bytes.
    order: Vec<u32>,
}

/// The pieces that begin with some bytes: a range of the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    low: usize,
    high: usize,
    length: usize,
}

impl Vocabulary {
    /// Takes the pieces, each with `separator` behind it, and the numbers of the pieces in the order of their bytes.
    /// Returns `None` if the two lists differ in length, or a number is too large.
    pub(crate) fn new(text: impl Into<Cow<'static, [u8]>>, separator: u8, order: Vec<u32>) -> Option<Self> {
        let text = text.into();
        let mut starts = Vec::with_capacity(order.len() + 1);
        starts.push(0);
        starts.extend(
            (1..)
                .zip(&*text)
                .filter_map(|(end, byte)| (*byte == separator).then_some(end)),
        );
        let count = starts.len() - 1;
        let fits = count == order.len() && order.iter().all(|number| (*number as usize) < count);
        fits.then_some(Self { text, starts, order })
    }

    /// Returns the bytes of the pieces with separators, and the numbers of the pieces in the order of their bytes.
    pub(crate) fn arrange<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<u32>) {
        let pieces: Vec<&[u8]> = pieces.collect();
        let mut order: Vec<u32> = (0..pieces.len() as u32).collect();
        order.sort_by_key(|number| pieces[*number as usize]);
        let mut text = Vec::new();
        for piece in pieces {
            text.extend_from_slice(piece);
            text.push(SEPARATOR);
        }
        (text, order)
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the bytes of a piece.
    pub(crate) fn piece(&self, number: u32) -> &[u8] {
        let at = number as usize;
        &self.text[self.starts[at] as usize..self.starts[at + 1] as usize - 1]
    }

    /// Returns all pieces.
    pub(crate) fn all(&self) -> Prefix {
        Prefix {
            low: 0,
            high: self.order.len(),
            length: 0,
        }
    }

    /// Returns the pieces among `prefix` that go on with `byte`, if there are any.
    pub(crate) fn after(&self, prefix: Prefix, byte: u8) -> Option<Prefix> {
        let order = &self.order[prefix.low..prefix.high];
        let next = |number: u32| self.piece(number).get(prefix.length).copied();
        let low = order.partition_point(|number| next(*number) < Some(byte));
        let count = order[low..].partition_point(|number| next(*number) == Some(byte));
        (count > 0).then_some(Prefix {
            low: prefix.low + low,
            high: prefix.low + low + count,
            length: prefix.length + 1,
        })
    }

    /// Returns the piece that has exactly the bytes of `prefix`.
    pub(crate) fn exact(&self, prefix: Prefix) -> Option<u32> {
        let first = *self.order.get(prefix.low)?;
        (prefix.low < prefix.high && self.piece(first).len() == prefix.length).then_some(first)
    }

    /// Returns the number of a piece.
    #[cfg(test)]
    pub(crate) fn number(&self, piece: &str) -> Option<u32> {
        let prefix = piece
            .bytes()
            .try_fold(self.all(), |prefix, byte| self.after(prefix, byte));
        prefix.and_then(|prefix| self.exact(prefix))
    }

    /// Returns the pieces that `text` begins with, from the shortest on: the number of each and its length. `prefix` is
    /// what comes before the text.
    pub(crate) fn beginnings(&self, prefix: Prefix, text: &[u8]) -> impl Iterator<Item = (u32, usize)> {
        let mut prefix = Some(prefix);
        text.iter()
            .zip(1..)
            .map_while(move |(byte, length)| {
                prefix = self.after(prefix?, *byte);
                prefix.map(|prefix| (prefix, length))
            })
            .filter_map(|(prefix, length)| self.exact(prefix).map(|number| (number, length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_beginnings_of_a_text_are_found() {
        let pieces = ["b", "abc", "a", "", "ab", "ä"];
        let (text, order) = Vocabulary::arrange(pieces.iter().map(|piece| piece.as_bytes()));
        let vocabulary = Vocabulary::new(text, SEPARATOR, order).unwrap();
        let found: Vec<_> = vocabulary.beginnings(vocabulary.all(), b"abcd").collect();
        assert_eq!(found, [(2, 1), (4, 2), (1, 3)]);
        assert_eq!(vocabulary.number("ä"), Some(5));
        assert_eq!(vocabulary.number("bc"), None);
        assert_eq!(vocabulary.beginnings(vocabulary.all(), b"x").count(), 0);
    }

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        assert!(Vocabulary::new(&b"a\nb\n"[..], b'\n', vec![0]).is_none());
        assert!(Vocabulary::new(&b"a\nb\n"[..], b'\n', vec![0, 2]).is_none());
    }
}
