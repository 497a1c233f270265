//! The words of a text, prepared for the comparison with another.
//!
//! # Layer
//! Knows `recall::text` and the word lists.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::recall::text::lists;
use crate::recall::text::terms::{term_of, words};

/// Words that negate a statement.
const NEGATIONS: &str = "no not never none nobody nothing neither nor without isnt arent wasnt werent hasnt havent \
     hadnt doesnt dont didnt wont wouldnt shouldnt couldnt cant cannot aint";
/// Words that only join others.
const JOINING: &str = "a an the this that these those some any of to in on at by for with and or is are was were be \
     been being am it its as from into";
/// Numbers in words, by their value.
const NUMBERS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
     sixteen seventeen eighteen nineteen twenty";
/// Directions that exclude each other.
const OPPOSITE: [(&str, &str); 4] = [
    ("up", "down"),
    ("out off away", "in into inside on onto"),
    ("inside", "outside"),
    ("over above", "under below beneath"),
];
const AWAY: &str = "out off away";
/// The most words of a text that are compared.
const WORDS_MAX: usize = 512;

/// Roles of a word, as bits.
const NEGATES: u8 = 1;
const JOINS: u8 = 2;
const GOES_AWAY: u8 = 4;
/// The first way of a pair of opposite directions; the other way is the next bit.
const FIRST_WAY: u16 = 8;

static ROLES: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let mut roles: HashMap<&'static str, u16> = HashMap::new();
    let mut add = |list: &'static str, role: u16| {
        for word in list.split_whitespace() {
            *roles.entry(word).or_default() |= role;
        }
    };
    add(NEGATIONS, NEGATES.into());
    add(JOINING, JOINS.into());
    add(AWAY, GOES_AWAY.into());
    for (at, (one_way, other_way)) in OPPOSITE.iter().enumerate() {
        add(one_way, FIRST_WAY << (2 * at));
        add(other_way, FIRST_WAY << (2 * at + 1));
    }
    roles
});

static STOPS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let stops = lists::words(lists::STOP).filter(|word| role_of(word) & u16::from(NEGATES) == 0);
    stops.map(term_of).chain(["there".to_owned()]).collect()
});

fn role_of(word: &str) -> u16 {
    ROLES.get(word).copied().unwrap_or_default()
}

/// The words of a text.
pub(crate) struct Words {
    /// The roles of all its words together.
    roles: u16,
    /// The terms without stop words, each once, in order.
    pub(crate) terms: Vec<String>,
    /// The last term, stop word or not.
    pub(crate) last: Option<String>,
    /// The n-grams of four characters of all words.
    pub(crate) grams: Grams,
}

impl Words {
    pub(crate) fn new(text: &str) -> Self {
        let joined = join_digits(text);
        let mut in_order = words(&joined);
        in_order.truncate(WORDS_MAX);
        let silent = u16::from(JOINS | NEGATES);
        let counted: Vec<String> = in_order
            .iter()
            .filter(|word| role_of(word) & silent == 0)
            .map(|word| term(word))
            .collect();
        let mut seen = HashSet::new();
        let mut terms: Vec<String> = counted
            .iter()
            .filter(|term| !STOPS.contains(*term) && seen.insert(*term))
            .cloned()
            .collect();
        if terms.is_empty() {
            terms = counted
                .iter()
                .filter(|term| seen.insert(*term))
                .cloned()
                .collect();
        }
        let plain = if joined == text { None } else { Some(words(text)) };
        let plain = plain.as_ref().unwrap_or(&in_order);
        Self {
            roles: in_order.iter().fold(0, |roles, word| roles | role_of(word)),
            grams: grams(&plain[..plain.len().min(WORDS_MAX)].join(" "), 4),
            last: counted.last().cloned(),
            terms,
        }
    }

    pub(crate) fn is_negated(&self) -> bool {
        self.roles & u16::from(NEGATES) != 0
    }

    pub(crate) fn goes_away(&self) -> bool {
        self.roles & u16::from(GOES_AWAY) != 0
    }

    /// Whether this text has only one way of a pair of directions, and the other text only the opposite way.
    pub(crate) fn goes_against(&self, other: &Self) -> bool {
        (0..OPPOSITE.len()).any(|at| {
            let ways = |words: &Self| (words.roles / (FIRST_WAY << (2 * at))) & 3;
            matches!((ways(self), ways(other)), (1, 2) | (2, 1))
        })
    }
}

/// The term of a word, a number in words as its digits.
fn term(word: &str) -> String {
    match NUMBERS.split_whitespace().position(|number| number == word) {
        Some(value) => value.to_string(),
        None => term_of(word),
    }
}

/// Joins the digits of "1,100" and of "1.5", so that each is one word.
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

/// N-grams, packed, in order, each once.
pub(crate) type Grams = Vec<u128>;

/// The n-grams of `length` characters of a text; `length` is at most six.
pub(crate) fn grams(text: &str, length: usize) -> Grams {
    // A character has 21 bits.
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

/// Twice the common elements by all elements.
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

/// Whether a term is a number.
pub(crate) fn is_number(term: &str) -> bool {
    term.starts_with(|letter: char| letter.is_ascii_digit())
}
