//! A list of short literals, and the places in a text at which they stand.
//!
//! The literals are the keywords of rules or the words of frames: a few thousand, of which an ordinary text has few. So
//! two sets of bits for the first bytes of the literals pass over most positions of a text. Making the
//! list takes one look-up for each literal, where an automaton would need a state for each of their bytes.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

/// The end of a chain of literals.
const NONE: u16 = u16::MAX;
/// The number of bytes of a literal that chooses its chain.
const HEAD: usize = 4;
/// The bits of the first three bytes.
const THREE_MASK: u32 = 0x00FF_FFFF;
/// The number of bits of the hash of a head.
const BITS: u32 = 16;

/// A set of numbers of 16 bits.
type Numbers = Box<[u64; 1 << (BITS - 6)]>;

/// One literal.
struct Literal {
    /// The first four bytes, or all bytes of a shorter literal.
    head: u32,
    /// The bits of `head` that count.
    mask: u32,
    /// The bytes behind the first four, in the bytes of all literals.
    rest: (u32, u32),
    /// The number of bytes.
    length: u16,
    /// The next literal of the chain.
    next: u16,
}

/// The literals of some length: a set for their beginnings, and chains.
struct Chains {
    /// The bits of a head that count.
    mask: u32,
    /// The hashes of the heads.
    heads: Numbers,
    /// The first literal of each chain, by the upper bits of the hash.
    first: Vec<u16>,
    /// The number of bits of the hash that do not choose a chain.
    unused: u32,
}

impl Chains {
    fn new(mask: u32, bits: u32) -> Self {
        Self {
            mask,
            heads: Box::new([0; 1 << (BITS - 6)]),
            first: vec![NONE; 1 << bits],
            unused: BITS - bits,
        }
    }

    /// Returns the hash of a head.
    #[inline]
    fn hash(&self, head: u32) -> u32 {
        hash(head & self.mask)
    }

    /// Returns whether a literal may begin so.
    #[inline]
    fn may_have(&self, hash: u32) -> bool {
        self.heads[(hash >> 6) as usize & (self.heads.len() - 1)] >> (hash & 63) & 1 == 1
    }

    /// Adds a head. Returns the place of the first literal of its chain.
    fn insert(&mut self, head: u32) -> &mut u16 {
        let hash = self.hash(head);
        self.heads[(hash >> 6) as usize] |= 1 << (hash & 63);
        &mut self.first[(hash >> self.unused) as usize]
    }
}

/// Returns the hash of a head, or of a part of it.
#[inline]
fn hash(head: u32) -> u32 {
    head.wrapping_mul(0x9E37_79B1) >> (32 - BITS)
}

/// A list of literals. Each has a number, from zero, in the order in which they were added.
pub(in crate::scan) struct Literals {
    list: Vec<Literal>,
    bytes: Vec<u8>,
    /// The literals of at least four bytes, of three, of two and of one.
    chains: [Chains; HEAD],
    /// How many of these there are, from the longest. Most lists have no short literals.
    used: usize,
}

impl Literals {
    /// Makes an empty list with room for about `count` literals. More make the search slower.
    pub(in crate::scan) fn with_capacity(count: usize) -> Self {
        let bits = (count * 2).next_power_of_two().trailing_zeros().clamp(8, BITS);
        Self {
            list: Vec::with_capacity(count),
            bytes: Vec::with_capacity(count * 4),
            chains: [
                Chains::new(u32::MAX, bits),
                Chains::new(THREE_MASK, 10),
                Chains::new(0xFFFF, 8),
                Chains::new(0xFF, 8),
            ],
            used: 1,
        }
    }

    /// Adds a literal, which is not empty and has no NUL. Returns its number, which is the old one if it is there.
    pub(in crate::scan) fn add(&mut self, literal: &[u8]) -> usize {
        let head = head_of(literal);
        let length = literal.len().clamp(1, HEAD);
        let mask = u32::MAX >> (32 - 8 * length);
        let tail = literal.get(HEAD..).unwrap_or_default();
        self.used = self.used.max(HEAD - length + 1);
        let slot = self.chains[HEAD - length].insert(head);
        let mut known = *slot;
        while let Some(old) = self.list.get(usize::from(known)) {
            let rest = &self.bytes[old.rest.0 as usize..old.rest.1 as usize];
            if usize::from(old.length) == literal.len() && old.head == head && rest == tail {
                return usize::from(known);
            }
            known = old.next;
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(tail);
        let number = self.list.len();
        self.list.push(Literal {
            head,
            mask,
            rest: (start, self.bytes.len() as u32),
            length: literal.len() as u16,
            next: *slot,
        });
        *slot = number as u16;
        number
    }

    /// Returns the number of literals.
    pub(in crate::scan) fn len(&self) -> usize {
        self.list.len()
    }

    /// Calls `found` with the number and the length of each literal that stands at `at`, in any order.
    #[inline]
    pub(in crate::scan) fn each_at(&self, text: &[u8], at: usize, mut found: impl FnMut(usize, usize)) {
        let rest = &text[at..];
        let head = head_of(rest);
        for chains in &self.chains[..self.used] {
            let hash = chains.hash(head);
            if chains.may_have(hash) {
                self.each_in_chain(
                    chains.first[(hash >> chains.unused) as usize],
                    rest,
                    head,
                    &mut found,
                );
            }
        }
    }

    /// Calls `found` with each literal of a chain with which `text` begins.
    fn each_in_chain(&self, mut number: u16, text: &[u8], head: u32, found: &mut impl FnMut(usize, usize)) {
        while let Some(literal) = self.list.get(usize::from(number)) {
            if head & literal.mask == literal.head && self.has_rest(literal, text) {
                found(usize::from(number), usize::from(literal.length));
            }
            number = literal.next;
        }
    }

    /// Returns whether `text`, which begins with the head of the literal, has all of its bytes.
    fn has_rest(&self, literal: &Literal, text: &[u8]) -> bool {
        let (start, end) = literal.rest;
        start == end
            || text
                .get(HEAD..)
                .is_some_and(|text| text.starts_with(&self.bytes[start as usize..end as usize]))
    }

    /// Calls `found` with each literal in `text` and its place. The places are in the order of their starts.
    pub(in crate::scan) fn each(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        for (at, head) in text.windows(HEAD).enumerate() {
            // Few positions come further than these tests.
            let head = head_of(head);
            let [long, three, two, one] = &self.chains;
            let is_long = long.may_have(hash(head)) | three.may_have(hash(head & THREE_MASK));
            let is_short = || two.may_have(hash(head & 0xFFFF)) | one.may_have(hash(head & 0xFF));
            if is_long || self.used > 2 && is_short() {
                self.each_at(text, at, |literal, length| found(literal, at..at + length));
            }
        }
        for at in text.len().saturating_sub(HEAD - 1)..text.len() {
            self.each_at(text, at, |literal, length| found(literal, at..at + length));
        }
    }

    /// Returns whether a literal stands in `text`.
    pub(in crate::scan) fn is_in(&self, text: &[u8]) -> bool {
        (0..text.len()).any(|at| {
            let mut is_here = false;
            self.each_at(text, at, |_, _| is_here = true);
            is_here
        })
    }
}

/// The owners of each literal of a list, for example the rules that have it as a keyword.
pub(in crate::scan) struct Owners<T> {
    /// The owners of the first literal, then those of the next.
    all: Vec<T>,
    /// For each literal, where its owners begin. One more number is the end of the last.
    starts: Vec<u32>,
}

impl<T: Copy> Owners<T> {
    /// Takes the owners of `count` literals. Those of one literal stay in their order.
    pub(in crate::scan) fn new(count: usize, pairs: &[(usize, T)]) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for (literal, _) in pairs {
            starts[*literal + 1] += 1;
        }
        for literal in 1..starts.len() {
            starts[literal] += starts[literal - 1];
        }
        let mut free = starts.clone();
        let mut all: Vec<T> = pairs.iter().map(|(_, owner)| *owner).collect();
        for (literal, owner) in pairs {
            all[free[*literal] as usize] = *owner;
            free[*literal] += 1;
        }
        Self { all, starts }
    }

    /// Returns the owners of a literal.
    #[inline]
    pub(in crate::scan) fn of(&self, literal: usize) -> &[T] {
        &self.all[self.starts[literal] as usize..self.starts[literal + 1] as usize]
    }
}

/// Returns the first four bytes as a number, with NUL for those that are missing.
#[inline]
fn head_of(bytes: &[u8]) -> u32 {
    if let Some(head) = bytes.first_chunk::<HEAD>() {
        return u32::from_le_bytes(*head);
    }
    let mut head = [0; HEAD];
    for (to, from) in head.iter_mut().zip(bytes) {
        *to = *from;
    }
    u32::from_le_bytes(head)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Literals;

    proptest! {
        /// The look-ups find what a comparison at each place finds.
        #[test]
        fn every_place_of_every_literal_is_found(
            literals in prop::collection::vec("[abc]{1,7}|[é忽]{1,2}", 1..40),
            text in "[abcé忽]{0,60}",
        ) {
            let mut list = Literals::with_capacity(literals.len());
            let numbers: Vec<usize> = literals.iter().map(|literal| list.add(literal.as_bytes())).collect();
            let mut found = BTreeSet::new();
            list.each(text.as_bytes(), |number, place| {
                found.insert((number, place.start, place.end));
            });
            let mut expected = BTreeSet::new();
            for (literal, number) in literals.iter().zip(numbers) {
                for at in 0..text.len() {
                    if text.as_bytes()[at..].starts_with(literal.as_bytes()) {
                        expected.insert((number, at, at + literal.len()));
                    }
                }
            }
            prop_assert_eq!(list.is_in(text.as_bytes()), !expected.is_empty());
            prop_assert_eq!(found, expected);
        }
    }
}
