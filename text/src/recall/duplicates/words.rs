//! The words of a text, prepared for the comparison with another text.
//!
//! # Layer
//! Uses `recall::text` and the word lists.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::details::Details;
use super::values::Statement;
use crate::recall::text::lists;
use crate::recall::text::terms::{term_of, words};

/// Number words, in the order of their values.
const NUMBERS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
     sixteen seventeen eighteen nineteen twenty";
/// The largest number of words of a text that are compared.
pub(super) const WORDS_MAX: usize = 512;

/// The roles of a word, as bits.
type Roles = u16;
/// The names of the roles in the list, in the order of their bits. The last eight names are pairs of opposite
/// directions.
const NAMES: [&str; 11] = [
    "negates", "joins", "away", "up", "down", "out", "in", "inside", "outside", "over", "under",
];
const NEGATES: Roles = 1;
const JOINS: Roles = 2;
const AWAY: Roles = 4;

static ROLES: LazyLock<HashMap<&'static str, Roles>> = LazyLock::new(|| lists::bits(lists::ROLES, &NAMES));

static STOPS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let stops = lists::words(lists::STOP).filter(|word| role_of(word) & NEGATES == 0);
    stops.map(term_of).chain(["there".to_owned()]).collect()
});

fn role_of(word: &str) -> Roles {
    ROLES.get(word).copied().unwrap_or_default()
}

/// Returns whether a word negates a statement.
pub(super) fn negates(word: &str) -> bool {
    role_of(word) & NEGATES != 0
}

/// The words of a text.
pub(crate) struct Words {
    /// The union of the roles of all words.
    roles: Roles,
    /// The terms without stop words, each once and in order.
    pub(crate) terms: Vec<String>,
    /// The last term, even if that term is a stop word.
    pub(crate) last: Option<String>,
    /// The n-grams of four characters of all words.
    pub(crate) grams: Grams,
    /// The text as a statement about values.
    pub(super) statement: Statement,
    /// The details in which another statement with the same words may differ.
    pub(super) details: Details,
}

impl Words {
    pub(crate) fn new(text: &str) -> Self {
        let joined = join_digits(text);
        let mut in_order = words(&joined);
        in_order.truncate(WORDS_MAX);
        let counted: Vec<String> = in_order
            .iter()
            .filter(|word| role_of(word) & (JOINS | NEGATES) == 0)
            .map(|word| term(word))
            .collect();
        let mut terms = unique(counted.iter().filter(|term| !STOPS.contains(*term)));
        if terms.is_empty() {
            terms = unique(counted.iter());
        }
        let plain = if joined == text { None } else { Some(words(text)) };
        let plain = plain.as_ref().unwrap_or(&in_order);
        Self {
            roles: in_order.iter().fold(0, |roles, word| roles | role_of(word)),
            grams: grams(&plain[..plain.len().min(WORDS_MAX)].join(" "), 4),
            last: counted.last().cloned(),
            terms,
            statement: Statement::new(text),
            details: Details::new(text, &joined),
        }
    }

    pub(crate) fn is_negated(&self) -> bool {
        self.roles & NEGATES != 0
    }

    pub(crate) fn goes_away(&self) -> bool {
        self.roles & AWAY != 0
    }

    /// Returns whether the two texts name opposite directions: for example, one text contains only `up`, and the other
    /// contains only `down`.
    pub(crate) fn goes_against(&self, other: &Self) -> bool {
        (3..NAMES.len()).step_by(2).any(|bit| {
            let directions = |words: &Self| words.roles >> bit & 3;
            matches!((directions(self), directions(other)), (1, 2) | (2, 1))
        })
    }
}

/// Returns the terms in order, without repeats.
fn unique<'a>(terms: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = HashSet::new();
    terms.filter(|term| seen.insert(*term)).cloned().collect()
}

/// Returns the term of a word; a number word becomes digits.
pub(super) fn term(word: &str) -> String {
    match NUMBERS.split_whitespace().position(|number| number == word) {
        Some(value) => value.to_string(),
        None => term_of(word),
    }
}

/// Joins the digits of numbers such as "1,100" and "1.5", so that each number is one word.
fn join_digits(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let inside =
        |at: usize| matches!(bytes[at], b',' | b'.') && digit(at.checked_sub(1)) && digit(Some(at + 1));
    if !(0..bytes.len()).any(inside) {
        return Cow::Borrowed(text);
    }
    let joined = text.char_indices().filter_map(|(at, letter)| match letter {
        ',' if inside(at) => None,
        '.' if inside(at) => Some('p'),
        _ => Some(letter),
    });
    Cow::Owned(joined.collect())
}

/// Packed n-grams, sorted and without repeats.
pub(crate) type Grams = Vec<u128>;

/// Returns the n-grams of `length` characters of a text; `length` is at most six.
pub(crate) fn grams(text: &str, length: usize) -> Grams {
    // A character needs 21 bits.
    let mask = (1u128 << (21 * length)) - 1;
    let mut packed = 0u128;
    let rolled = text.chars().map(|letter| {
        packed = (packed << 21 | u128::from(u32::from(letter))) & mask;
        packed
    });
    let mut grams: Grams = rolled.skip(length - 1).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Returns the Dice coefficient: twice the number of common elements, divided by the sum of both lengths.
pub(crate) fn dice(one: &Grams, two: &Grams) -> f32 {
    let (mut at, mut common) = (0, 0);
    for gram in one {
        while two.get(at).is_some_and(|other| other < gram) {
            at += 1;
        }
        common += usize::from(two.get(at) == Some(gram));
    }
    2.0 * common as f32 / (one.len() + two.len()).max(1) as f32
}

/// Returns whether a term is a number.
pub(crate) fn is_number(term: &str) -> bool {
    term.starts_with(|letter: char| letter.is_ascii_digit())
}
