//! Splits a text into words, numbers and marks, as the comparison of values needs them.
//!
//! Unlike the terms of the index, the tokens keep numbers with their fraction, clocks, codes such as `22F`, paths, the
//! possessive, and the marks that end a clause.
//!
//! # Layer
//! Knows `recall::text`.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::class::Classes;
use super::value::{Value, number};
use crate::recall::text::runs::{is_apostrophe, is_spaceless};
use crate::recall::text::terms::{TERM_BYTES_MAX, fold, term_of};

/// The largest number of characters of a text that are read.
const CHARS_MAX: usize = 8_192;
/// The largest number of tokens of a text that are read.
const TOKENS_MAX: usize = 512;
/// Letters that are a unit after a number; other single letters make a code of it.
const UNIT_LETTERS: &str = "hmglsb";
/// Endings of contractions that add nothing.
const ENDINGS: [&str; 5] = ["ll", "re", "ve", "d", "m"];
/// French and Italian words that lose their last letter before a vowel.
const ELIDED: [&str; 16] = [
    "l", "d", "c", "n", "s", "j", "m", "t", "qu", "jusqu", "un", "dell", "nell", "all", "sull", "dall",
];

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Word,
    /// A mark that ends a clause or a sentence; `text` has the mark.
    Mark,
    /// A colon, an equals sign or an arrow: between a label and its value.
    Separator,
}

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    /// The folded text.
    pub(super) text: String,
    /// The stem.
    pub(super) term: String,
    pub(super) kind: Kind,
    pub(super) value: Option<Value>,
    pub(super) classes: Classes,
    /// Whether it is a genitive with an apostrophe.
    pub(super) is_possessive: bool,
    /// Whether it begins with a capital letter.
    pub(super) is_capital: bool,
}

impl Token {
    /// Returns a token without its stem.
    fn new(text: String, kind: Kind) -> Self {
        Self {
            text,
            term: String::new(),
            kind,
            value: None,
            classes: Classes::default(),
            is_possessive: false,
            is_capital: false,
        }
    }

    pub(super) fn of_value(text: String, value: Value) -> Self {
        Self {
            term: term_of(&text),
            value: Some(value),
            ..Self::new(text, Kind::Word)
        }
    }

    /// Whether it is a word without a value.
    pub(super) fn is_word(&self) -> bool {
        self.kind == Kind::Word && self.value.is_none()
    }
}

/// Returns the folded form of a word: without accents on Latin letters, and with one spelling for letters that are
/// often replaced by others.
fn normal(raw: &str) -> String {
    let mut out = String::new();
    fold(raw, &mut out);
    out.truncate(out.floor_char_boundary(TERM_BYTES_MAX));
    out.replace('\u{df}', "ss").replace('\u{451}', "\u{435}")
}

/// Returns the tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = unstemmed(text);
    for token in &mut found {
        if token.kind == Kind::Word && token.term.is_empty() {
            token.term = term_of(&token.text);
        }
    }
    found
}

/// Returns the texts of the tokens of a text. Stems take most of the time, and the words of the lists need none.
pub(super) fn token_texts(text: &str) -> impl Iterator<Item = String> + use<> {
    unstemmed(text).into_iter().map(|token| token.text)
}

fn unstemmed(text: &str) -> Vec<Token> {
    let letters: Vec<char> = text.chars().take(CHARS_MAX).nfkc().take(CHARS_MAX).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() && found.len() < TOKENS_MAX {
        at += next(&letters, at, &mut found).max(1);
    }
    found
}

/// Adds the tokens that begin at a place, and returns their number of letters.
fn next(letters: &[char], at: usize, found: &mut Vec<Token>) -> usize {
    let rest = &letters[at..];
    let second = rest.get(1).copied().unwrap_or(' ');
    let starts = at == 0 || letters[at - 1].is_whitespace();
    let while_true = |is: fn(char) -> bool| rest.iter().take_while(|letter| is(**letter)).count();
    match rest[0] {
        '/' | '~' if starts && (second == '/' || second.is_alphanumeric()) => {
            let length = while_true(|letter| !letter.is_whitespace());
            let path: String = rest[..length].iter().collect();
            let path = normal(path.trim_end_matches(['.', ',', ';', ')', '?', '!']));
            found.push(Token::new(path, Kind::Word));
            length
        }
        '-' if second == '>' => mark(":", Kind::Separator, 2, found),
        '-' if starts && second.is_ascii_digit() => 1 + digits(&rest[1..], true, found),
        '=' | '\u{2192}' | ':' => mark(":", Kind::Separator, 1, found),
        '\u{b0}' => degrees(rest, found),
        '%' | '$' | '\u{20ac}' | '\u{a3}' | '\u{a5}' | '\u{2014}' => {
            mark(&rest[0].to_string(), Kind::Word, 1, found)
        }
        '?' | '.' | ',' | ';' | '!' | '(' => mark(&rest[0].to_string(), Kind::Mark, 1, found),
        '\u{3002}' | '\n' => mark(".", Kind::Mark, 1, found),
        '\u{3001}' => mark(",", Kind::Mark, 1, found),
        letter if letter.is_ascii_digit() => digits(rest, false, found),
        '\u{30a0}'..='\u{30ff}' => {
            let length = while_true(|letter| matches!(letter, '\u{30a0}'..='\u{30ff}'));
            let word: String = rest[..length].iter().collect();
            mark(&normal(&word), Kind::Word, length, found)
        }
        letter if is_spaceless(letter) => mark(&letter.to_string(), Kind::Word, 1, found),
        letter if letter.is_alphabetic() => word(rest, found),
        _ => 1,
    }
}

fn mark(text: &str, kind: Kind, length: usize, found: &mut Vec<Token>) -> usize {
    found.push(Token::new(text.to_owned(), kind));
    length
}

/// Adds the sign of degrees, with the letter of Celsius or Fahrenheit.
fn degrees(rest: &[char], found: &mut Vec<Token>) -> usize {
    let space = usize::from(rest.get(1) == Some(&' '));
    let scale = rest.get(1 + space).map(char::to_ascii_lowercase);
    let ends = !rest.get(2 + space).is_some_and(|letter| letter.is_alphanumeric());
    match scale {
        Some(scale @ ('c' | 'f')) if ends => mark(&format!("\u{b0}{scale}"), Kind::Word, 2 + space, found),
        _ => mark("\u{b0}", Kind::Word, 1, found),
    }
}

/// Adds a number, a clock, or a code that begins with a digit.
fn digits(rest: &[char], is_negative: bool, found: &mut Vec<Token>) -> usize {
    let end = number_end(rest);
    let text: String = rest[..end].iter().collect();
    let letters = rest[end..].iter();
    let letters: String = letters
        .take_while(|letter| letter.is_alphanumeric() && !is_spaceless(**letter))
        .collect();
    let suffix = normal(&letters);
    let number_of = |text: &str| text.parse::<f64>().ok();
    let minutes = suffix
        .strip_prefix('h')
        .filter(|minutes| minutes.len() == 2)
        .and_then(number_of);
    let is_ordinal = matches!(suffix.as_str(), "st" | "nd" | "rd" | "th");
    let is_one = suffix.chars().count() == 1 && !UNIT_LETTERS.contains(&suffix);
    let joined = match number_of(&text) {
        Some(hour) if minutes.is_some() => Some(Value::Clock(hour * 60.0 + minutes.unwrap_or_default())),
        Some(place) if is_ordinal => Some(Value::Ordinal(place)),
        _ if is_one || suffix.chars().any(char::is_numeric) => {
            Some(Value::Code(normal(&format!("{text}{suffix}"))))
        }
        _ => None,
    };
    if let Some(value) = joined {
        found.push(Token::of_value(format!("{text}{suffix}"), value));
        return end + letters.chars().count();
    }
    let signed = if is_negative { format!("-{text}") } else { text };
    let value = number(&signed);
    found.push(Token::of_value(signed, value));
    end
}

/// Returns the length of the number at the start of the rest, with the marks inside of it.
fn number_end(rest: &[char]) -> usize {
    let is_digit = |at: usize| rest.get(at).is_some_and(char::is_ascii_digit);
    let is_inside = |at: usize| match rest.get(at) {
        Some('.' | ',' | '/') => true,
        // A hyphen joins the parts of a date, and a colon those of a clock; other numbers are ranges and labels.
        Some('-') => (at == 4 || at == 7) && (0..4).all(is_digit),
        Some(':') => at <= 2 && is_digit(at + 2) && !is_digit(at + 3),
        _ => false,
    };
    let mut end = 0;
    while is_digit(end) || (end > 0 && is_inside(end) && is_digit(end + 1)) {
        end += 1;
    }
    end
}

/// Whether a word is a code such as "b14": one or two letters and a number.
fn is_code(word: &str) -> bool {
    let letters = word.chars().take_while(char::is_ascii_alphabetic).count();
    (1..=2).contains(&letters)
        && word.len() > letters
        && word[letters..].bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds a word, or its parts, or an address.
fn word(rest: &[char], found: &mut Vec<Token>) -> usize {
    let end = word_end(rest);
    // The letter of "v4.2".
    if end > 1 && matches!(rest[0], 'v' | 'V') && rest[1].is_ascii_digit() {
        return 1;
    }
    let raw: String = rest[..end].iter().collect();
    let is_capital = rest[0].is_uppercase() || raw.chars().any(|letter| letter.is_ascii_digit());
    let is_genitive = raw.ends_with('s') && rest.get(end).copied().is_some_and(is_apostrophe);
    // "Printer B": a single capital that begins no sentence.
    let is_inside = found.last().is_some_and(|last| last.kind != Kind::Mark);
    let is_letter = is_inside && end == 1 && rest[0].is_ascii_uppercase() && rest[0] != 'I';
    for (text, is_possessive) in parts(&normal(&raw), is_genitive) {
        let value = (is_letter || is_code(&text)).then(|| Value::Code(text.clone()));
        found.push(Token {
            value,
            is_possessive,
            is_capital,
            ..Token::new(text, Kind::Word)
        });
    }
    end.max(1)
}

/// Returns the length of the word at the start of the rest.
fn word_end(rest: &[char]) -> usize {
    let is_inside = |at: usize| {
        let letter = rest[at];
        let next = rest.get(at + 1).copied().unwrap_or(' ');
        let is_letter = letter.is_alphanumeric() || is_combining_mark(letter);
        is_letter && !is_spaceless(letter)
            || is_apostrophe(letter) && next.is_alphabetic()
            // "node.js", "dark_mode"
            || matches!(letter, '.' | '_') && next.is_alphanumeric() && at > 1
    };
    (0..rest.len()).take_while(|at| is_inside(*at)).count()
}

/// Returns the words that apostrophes join, and whether each is a genitive.
fn parts(word: &str, is_genitive: bool) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut head = String::new();
    let mut parts = word.split('\'').peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        if part == "s" && !head.is_empty() && is_last {
            found.push((std::mem::take(&mut head), true));
        } else if head.is_empty() && ELIDED.contains(&part) && !is_last {
            found.push((part.to_owned(), false));
        } else if head.is_empty() || !ENDINGS.contains(&part) {
            head.push_str(part);
        }
    }
    if !head.is_empty() {
        found.push((head, is_genitive));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_as_the_table_says() {
        let cases: &[(&str, &[&str])] = &[
            ("Anna's cat isn't here.", &["anna", "cat", "isnt", "here", "."]),
            ("L'été d’Ana", &["l", "ete", "d", "ana"]),
            ("port: 8080 -> v4.2", &["port", ":", "8080", ":", "4.2"]),
            ("1,100.5 m at 9:30", &["1,100.5", "m", "at", "9:30"]),
            ("2024-05-03, 9:30-11:00", &["2024-05-03", ",", "9:30", "11:00"]),
            ("seat 22F, 5km, 2nd", &["seat", "22f", ",", "5", "km", ",", "2nd"]),
            ("/var/log/x.txt, node.js", &["/var/log/x.txt", "node.js"]),
            ("20 °C or 68°F", &["20", "°c", "or", "68", "°f"]),
            ("９：３０、カメラを", &["9:30", ",", "カメラ", "を"]),
            ("Straße ёж", &["strasse", "еж"]),
            ("👩‍💻 \u{0}", &[]),
        ];
        for (text, wanted) in cases {
            let found: Vec<String> = tokens(text).into_iter().map(|token| token.text).collect();
            assert_eq!(found, *wanted, "of {text:?}");
        }
    }

    #[test]
    fn a_genitive_and_a_capital_are_seen() {
        let found = tokens("The Bakkers' house and Anna's");
        let genitives: Vec<&str> = found
            .iter()
            .filter(|token| token.is_possessive)
            .map(|token| token.text.as_str())
            .collect();
        assert_eq!(genitives, ["bakkers", "anna"]);
        assert!(found[1].is_capital && !found[2].is_capital);
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(tokens(&"a ".repeat(100_000)).len(), TOKENS_MAX);
        assert!(tokens(&"x".repeat(100_000))[0].text.len() <= TERM_BYTES_MAX);
    }
}
