//! Other terms for words that people write in several ways: identifiers, numbers and dates.
//!
//! `parseHTTPRequest` is found by "http request", `5GB` by "5 GB", "1,000,000" by "1000000", and `2026-11-03` by
//! "3 November". A common word with a capital letter, as in "The Who", and a pair of common words have terms too.
//!
//! # Layer
//! Below the analysis and the questions, which add the terms.
//!
//! # Invariants
//! - VAR-1: a text has at most one variant for each digit and each boundary inside a word.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::lists::{VALUES, named};
use super::terms::{TERM_BYTES_MAX, term_of};

/// The first letter of a term of common words, so that no word has the same term.
const COMMON: char = '\u{2}';
/// The maximal number of parts of an identifier. A digest or key has more boundaries, and its parts mean nothing.
const PARTS_MAX: usize = 8;
/// Characters between the groups of a number.
const SEPARATORS: [char; 9] = [
    ',', '.', ' ', '_', '\'', '\u{2019}', '\u{A0}', '\u{202F}', '\u{2009}',
];
/// The month whose English name is a stop word.
const MAY: usize = 5;

/// The terms of the English names of the months.
static MONTHS: LazyLock<[String; 12]> = LazyLock::new(|| {
    let names = "january february march april may june july august september october november december";
    let mut terms = names.split(' ').map(term_of);
    let mut months = std::array::from_fn(|_| terms.next().unwrap_or_default());
    months[MAY - 1] = common(&["may"]);
    months
});

/// The number of each name of a month in the languages of the lists.
static NAMES: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let lines = VALUES.iter().flat_map(|(_, list)| named(list));
    let months = lines.filter(|(name, _)| *name == "months");
    let names = months.flat_map(|(_, words)| words.enumerate());
    let names = names.flat_map(|(at, names)| names.split(',').map(move |name| (name, at + 1)));
    names.collect()
});

/// Returns the term of a month by a folded name in any language of the lists.
pub(crate) fn month_term(folded: &str) -> Option<&'static str> {
    let month = NAMES.get(folded)?;
    Some(&MONTHS[month - 1])
}

/// Returns the term of common words: one with a capital letter, or a pair.
pub(crate) fn common(words: &[&str]) -> String {
    format!("{COMMON}{}", words.join(" "))
}

/// Returns whether a term is of common words.
pub(crate) fn is_common(term: &str) -> bool {
    term.starts_with(COMMON)
}

/// Returns whether a word has only capital letters, at least two, as in "IT".
pub(crate) fn is_acronym(raw: &str) -> bool {
    raw.chars().nth(1).is_some() && raw.chars().all(char::is_uppercase)
}

/// Returns whether a common word is written as a name: in capitals, or with a capital letter inside a sentence. `before`
/// is the text before it.
pub(crate) fn is_like_name(raw: &str, before: &str) -> bool {
    let mut letters = raw.chars();
    let has_capital = letters.next().is_some_and(char::is_uppercase) && letters.next().is_some();
    let last = before
        .trim_end_matches([' ', '"', '\'', '\u{201C}', '\u{2018}', '(', ',', '-'])
        .chars()
        .next_back();
    has_capital && (is_acronym(raw) || last.is_some_and(char::is_alphanumeric))
}

/// Returns the parts of an identifier, or none if the word has one part.
pub(crate) fn parts(raw: &str) -> Vec<&str> {
    if let Some(digits) = raw.strip_prefix("0x").or_else(|| raw.strip_prefix("0X"))
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return vec![digits];
    }
    let (mut parts, mut start, mut boundaries) = (Vec::new(), 0, 0);
    let mut letters = raw.char_indices().peekable();
    let mut before = None;
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        // The last capital letter of "HTTPRequest" begins a part, but that of "APIs" does not.
        let begins_word = || next.is_some_and(char::is_lowercase) && letters.clone().nth(1).is_some();
        let is_boundary = before.is_some_and(|before: char| {
            before.is_numeric() != letter.is_numeric()
                || (letter.is_uppercase() && (before.is_lowercase() || begins_word()))
        });
        if is_boundary {
            parts.push(&raw[start..at]);
            (start, boundaries) = (at, boundaries + 1);
        }
        before = Some(letter);
    }
    if boundaries == 0 || boundaries >= PARTS_MAX || raw.len() > TERM_BYTES_MAX {
        return Vec::new();
    }
    parts.push(&raw[start..]);
    let is_part = |part: &&str| {
        let is_ending = matches!(*part, "st" | "nd" | "rd" | "th");
        let is_digit = || part.starts_with(char::is_numeric);
        !is_ending && (part.chars().nth(1).is_some() || is_digit())
    };
    parts.retain(is_part);
    parts
}

/// Calls `each` with the other terms of the numbers and dates in a text, each with the range of what it stands for.
pub(crate) fn for_each_variant(text: &str, mut each: impl FnMut(Range<usize>, &str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(u8::is_ascii_digit) {
        let start = at + found;
        at = start + digits(&bytes[start..]);
        if text[..start]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
        {
            continue;
        }
        let date = date_parts(text, start, at - start);
        if let Some(date) = date.filter(|date| (1..=12).contains(&number(&text[date.month.clone()]))) {
            let month = number(&text[date.month.clone()]);
            each(date.month.clone(), &MONTHS[month - 1]);
            if let Some(day) = date.day.filter(|day| text[day.clone()].starts_with('0')) {
                each(day.clone(), text[day].trim_start_matches('0'));
            }
            at = date.end;
        } else if let Some(end) = group_end(text, start, at) {
            let joined: String = text[start..end].chars().filter(char::is_ascii_digit).collect();
            each(start..end, &joined);
            at = end;
        } else if matches!(bytes.get(at), Some(b'k' | b'K'))
            && !bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
            && at - start <= 6
        {
            each(start..at + 1, &format!("{}000", &text[start..at]));
        }
    }
}

/// The parts of a date in digits.
struct DateParts {
    month: Range<usize>,
    day: Option<Range<usize>>,
    end: usize,
}

/// Returns the parts of the date at `start`: "2026-11-03", "2026-11" or "03.11.2026". Its first number has `count`
/// digits.
fn date_parts(text: &str, start: usize, count: usize) -> Option<DateParts> {
    let bytes = text.as_bytes();
    // The digits after a sign at `at`.
    let after = |at: usize, sign: u8| {
        let is_sign = bytes.get(at) == Some(&sign);
        let length = if is_sign { digits(&bytes[at + 1..]) } else { 0 };
        (length > 0).then_some(at + 1..at + 1 + length)
    };
    let first = start..start + count;
    let (month, last) = match count {
        4 => {
            let month = after(first.end, b'-').filter(|month| month.len() == 2)?;
            let day = after(month.end, b'-').filter(|day| day.len() == 2);
            (month, day)
        }
        1 | 2 => {
            let month = after(first.end, b'.').filter(|month| month.len() <= 2)?;
            let year = after(month.end, b'.').filter(|year| year.len() == 4)?;
            return Some(DateParts {
                month,
                day: Some(first),
                end: year.end,
            });
        }
        _ => return None,
    };
    let end = last.as_ref().map_or(month.end, |day| day.end);
    Some(DateParts {
        month,
        day: last,
        end,
    })
}

/// Returns the end of a number whose digits stand in groups of three, as in "1,000,000". The first group ends at `at`.
fn group_end(text: &str, start: usize, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if at - start > 3 || bytes[start] == b'0' {
        return None;
    }
    let separator = text[at..]
        .chars()
        .next()
        .filter(|sign| SEPARATORS.contains(sign))?;
    let (mut end, mut groups) = (at, 0);
    while text[end..].starts_with(separator) {
        let from = end + separator.len_utf8();
        if digits(&bytes[from..]) != 3 || groups == 6 {
            break;
        }
        (end, groups) = (from + 3, groups + 1);
    }
    (groups > 0).then_some(end)
}

/// Returns the number of digits at the start.
fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn number(digits: &str) -> usize {
    digits.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_cut_into_words() {
        let cases: &[(&str, &[&str])] = &[
            ("parseHTTPRequest", &["parse", "HTTP", "Request"]),
            ("UserName", &["User", "Name"]),
            ("utf8Decoder", &["utf", "8", "Decoder"]),
            ("5GB", &["5", "GB"]),
            ("0xFF", &["FF"]),
            ("APIs", &[]),
            ("7th", &["7"]),
            ("iPhone", &["Phone"]),
            ("plain", &[]),
            ("Plain", &[]),
            ("IT", &[]),
            ("straßenName", &["straßen", "Name"]),
            ("a1b2c3d4e5f6a7b8c9", &[]),
        ];
        for (word, wanted) in cases {
            assert_eq!(parts(word), *wanted, "of {word}");
        }
    }

    #[test]
    fn numbers_and_dates_have_their_other_forms() {
        let cases: &[(&str, &[&str])] = &[
            ("1,000,000 and 1 000 000", &["1000000", "1000000"]),
            ("1.234.567,89", &["1234567"]),
            ("1'000 or 12\u{202F}345", &["1000", "12345"]),
            ("10k", &["10000"]),
            ("2026-11-03", &["novemb", "3"]),
            ("on 2026-05-12.", &["\u{2}may"]),
            ("03.11.2026", &["novemb", "3"]),
            ("2026-11", &["novemb"]),
            ("2026-13-01 1,00 v1,000 15:00 2024 100", &[]),
            ("0,123 1,0000 999", &[]),
        ];
        for (text, wanted) in cases {
            let mut found = Vec::new();
            for_each_variant(text, |range, term| {
                assert!(!text[range].is_empty());
                found.push(term.to_owned());
            });
            assert_eq!(found, *wanted, "of {text}");
        }
        let (digits, mut count) = ("1,234 2026-01-02 ".repeat(999), 0);
        for_each_variant(&digits, |_, _| count += 1);
        assert!(
            count <= digits.len() && parts(&"aB".repeat(999)).is_empty(),
            "VAR-1"
        );
        assert_eq!(month_term("novembre"), Some("novemb"));
        assert_eq!(month_term("ноября"), Some("novemb"));
    }

    #[test]
    fn a_common_word_may_be_a_name() {
        assert!(is_like_name("Who", "Her band is The "));
        assert!(is_like_name("IT", ""));
        assert!(!is_like_name("The", "It rains. "));
        assert!(!is_like_name("I", "So "));
        assert!(!is_like_name("the", "is "));
    }
}
