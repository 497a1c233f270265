//! Judges a value by its characters: placeholders, references to other values, passwords, random characters.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::check::entropy;

/// The lists in `placeholders.toml`; the file describes them.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Placeholders {
    filler: Vec<&'static str>,
    filler_at_edge: Vec<&'static str>,
    reference_start: Vec<&'static str>,
    reference: Vec<&'static str>,
    reference_end: Vec<&'static str>,
    file_end: Vec<&'static str>,
    algorithms: Vec<&'static str>,
    words: Vec<&'static str>,
}

static PLACEHOLDERS: LazyLock<Placeholders> = LazyLock::new(|| {
    toml::from_str(include_str!("../rules/placeholders.toml")).expect("a test parses the placeholders")
});

/// For each letter from `a`, one bit for each letter that often follows it.
static FOLLOW: LazyLock<[u32; 26]> = LazyLock::new(|| {
    let file = include_str!("../rules/letters.toml");
    let tables: BTreeMap<&str, BTreeMap<&str, &str>> =
        toml::from_str(file).expect("a test parses the letters");
    let mut follow = [0; 26];
    for (letter, next) in tables.values().flatten() {
        let bits = next.bytes().map(|byte| 1 << (byte - b'a'));
        follow[usize::from(letter.as_bytes()[0] - b'a')] = bits.sum();
    }
    follow
});

/// Returns how unlike words and names the letters and digits of `value` are: 0 for words, about 0.5 for random letters,
/// and more for random letters and digits. A pair of neighbours counts if words seldom have it. A change between letters
/// and digits counts too, and half of a change to upper case.
pub(super) fn surprise(value: &str) -> f64 {
    let (mut odd, mut pairs) = (0.0, 0_u32);
    for pair in value.as_bytes().windows(2) {
        let [one, next] = [pair[0], pair[1]];
        if !one.is_ascii_alphanumeric() || !next.is_ascii_alphanumeric() {
            continue;
        }
        pairs += 1;
        odd += match (one.is_ascii_alphabetic(), next.is_ascii_alphabetic()) {
            (true, true) if one.is_ascii_lowercase() && next.is_ascii_uppercase() => 0.5,
            (true, true) => {
                let at = |letter: u8| letter.to_ascii_lowercase() - b'a';
                f64::from(u8::from(FOLLOW[usize::from(at(one))] >> at(next) & 1 == 0))
            }
            (false, false) => 0.0,
            _ => 1.0,
        };
    }
    if pairs == 0 { 0.0 } else { odd / f64::from(pairs) }
}

/// Returns whether the characters of `value` are random, as those of a key. Words, names with a version number, and the
/// names of algorithms are not random.
pub(super) fn is_random(value: &str, length_min: usize) -> bool {
    let lower = value.to_ascii_lowercase();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let names_algorithm = || PLACEHOLDERS.algorithms.iter().any(|name| lower.contains(name));
    letters + digits >= length_min
        && letters > 0
        && surprise(value) >= if digits > 1 { 0.25 } else { 0.34 }
        && entropy(value) >= 2.5
        && !(value.len() < 32 && names_algorithm())
}

/// Returns whether the value is in the form of a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    let lengths = value.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && value.chars().all(|char| char.is_ascii_hexdigit() || char == '-')
}

/// Returns whether the text is filler for a secret: one character six times in a row, or a word such as `changeme`.
pub(super) fn has_filler(secret: &str) -> bool {
    let lists = &*PLACEHOLDERS;
    let lower = secret.to_ascii_lowercase();
    let mut runs = secret.as_bytes().chunk_by(|one, next| one == next);
    // Long tokens may contain a run of the letter A, which is zeros in base64.
    let is_zeros = |run: &[u8]| run[0] == b'A' && secret.len() >= run.len() + 30;
    runs.any(|run| run.len() >= 6 && !is_zeros(run))
        || lists.filler.iter().any(|word| lower.contains(word))
        || secret
            .split(|char: char| !char.is_ascii_alphanumeric())
            .any(|part| {
                let mut words = lists.filler_at_edge.iter();
                words.any(|word| part.starts_with(word) || part.ends_with(word))
            })
}

/// Returns whether all characters can be in the name of a variable or of its fields.
fn is_path_of_names(text: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "_.:$@>-?!&*".contains(char);
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    let surprise_max = if has(u8::is_ascii_digit) { 0.25 } else { 0.4 };
    let is_short = text.len() < 6 && !has(u8::is_ascii_digit);
    text.chars().all(is_part) && has(u8::is_ascii_alphabetic) && (is_short || surprise(text) < surprise_max)
}

/// Returns whether the value refers to another value: a variable, a template, an expression, a path.
pub(super) fn is_reference(value: &str) -> bool {
    let lists = &*PLACEHOLDERS;
    let is_identifier = |name: &str| {
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') && name.chars().all(is_part)
    };
    let starts = || {
        let rest = lists
            .reference_start
            .iter()
            .find_map(|start| value.strip_prefix(start));
        let is_letters = |rest: &str| rest.chars().all(|char| char.is_ascii_alphabetic() || char == '_');
        rest.is_some_and(|rest| {
            rest.starts_with(['{', '(', '$']) || is_letters(rest) || is_path_of_names(rest)
        })
    };
    let is_fragment = value.split_once('#').is_some_and(|(head, part)| {
        part.len() >= 3 && surprise(part) < 0.25 && is_path_of_names(head) && is_path_of_names(part)
    });
    let head = value.split(['(', '[', '{', '<']).next().unwrap_or_default();
    let is_call =
        head.len() < value.len() && (head.is_empty() || is_path_of_names(head)) && !head.ends_with('!');
    let is_template = [
        ("{", "}"),
        ("[", "]"),
        ("<", ">"),
        ("%", "%"),
        ("(", ")"),
        ("__", "__"),
    ];
    let is_number = value.len() <= 18 && value.starts_with("0x");
    is_call && (!head.is_empty() || surprise(value) < 0.34)
        || is_number
        || is_fragment
        || (is_identifier(value) && lists.reference_end.iter().any(|end| value.ends_with(end)))
        || starts()
        || lists.reference.iter().any(|part| value.contains(part))
        || is_template
            .iter()
            .any(|(open, close)| value.starts_with(open) && value.ends_with(close))
        || (value.contains('.') && value.split('.').all(is_identifier) && surprise(value) < 0.25)
}

/// Returns whether `value` is the name of an archive or package, with a version. Its parts are words or short, and those
/// of a key are neither.
pub(super) fn is_file_name(value: &str) -> bool {
    let value = value.trim_end_matches(['.', ':']);
    let stem = PLACEHOLDERS
        .file_end
        .iter()
        .find_map(|end| value.strip_suffix(end));
    let is_plain = |part: &str| part.len() < 10 || surprise(part) < 0.25;
    stem.is_some_and(|stem| {
        stem.split(|char: char| !char.is_ascii_alphanumeric())
            .all(is_plain)
    })
}

/// Returns whether `value` is a placeholder for a password.
pub(super) fn is_placeholder(value: &str) -> bool {
    let mut bare = value.to_ascii_lowercase();
    bare.retain(|char| char.is_ascii_alphanumeric());
    let is_word = PLACEHOLDERS.words.contains(&bare.as_str());
    is_reference(value) || is_word || has_filler(value) || bare.len() < 3
}

/// Returns whether a quoted value consists of four to eight words in lower case.
pub(super) fn is_passphrase(value: &str) -> bool {
    let is_part = |char: char| char.is_ascii_lowercase() || char == ' ';
    value.chars().all(is_part) && (4..=8).contains(&value.split(' ').count())
}

/// The signs that passwords contain, and words do not.
const SIGNS: [char; 11] = ['!', '#', '$', '%', '&', '*', '?', '@', '^', '+', '~'];

/// Returns whether `value` is a password by itself: random characters, or words with a number. If `is_direct`, the value
/// follows its name directly, so less must be random.
pub(super) fn is_strong_password(value: &str, is_direct: bool) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    let (digits, capitals) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase));
    let letters = count(u8::is_ascii_alphabetic);
    let has_sign = value.contains(SIGNS);
    let is_part = |char: char| char.is_ascii_alphanumeric() || SIGNS.contains(&char) || "-_.".contains(char);
    let odd = surprise(value);
    let is_random_letters =
        || digits == 0 && odd >= 0.34 && value.len() >= 10 && (capitals > 2 || value.len() >= 14);
    let is_odd = match (digits > 0, has_sign) {
        (true, true) => odd >= 0.25 || is_direct,
        (true, false) => is_random(value, 8) && capitals > 0,
        (false, true) => capitals > 1 && odd >= if is_direct { 0.25 } else { 0.34 },
        (false, false) => is_direct && is_random_letters(),
    };
    (8..=64).contains(&value.len())
        && value.starts_with(|char: char| char.is_ascii_alphanumeric())
        && value.chars().all(is_part)
        && letters >= 3
        && !is_placeholder(value)
        && (is_odd || is_capitalised_words_with_number(value))
}

/// Returns whether `value` is at least two words with capitals, a number, and possibly a sign.
fn is_capitalised_words_with_number(value: &str) -> bool {
    let bare = value.strip_suffix(SIGNS).unwrap_or(value);
    let words = bare.trim_end_matches(|char: char| char.is_ascii_digit());
    let ends = |at: usize| words.as_bytes().get(at).is_none_or(u8::is_ascii_uppercase);
    let mut starts = words
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_uppercase());
    (2..=5).contains(&(bare.len() - words.len()))
        && words.bytes().all(|byte| byte.is_ascii_alphabetic())
        && starts.clone().count() >= 2
        && starts.clone().next().is_some_and(|(at, _)| at == 0)
        && starts.all(|(at, _)| !(1..4).any(|length| ends(at + length)))
}

/// Returns whether `value` is at least three words in lower case and a number, with hyphens between them.
pub(super) fn is_passphrase_with_number(value: &str) -> bool {
    let mut groups = value.split('-');
    let is_number = |group: &str| group.len() <= 4 && group.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |group: &str| group.len() >= 3 && group.bytes().all(|byte| byte.is_ascii_lowercase());
    groups.next_back().is_some_and(is_number) && groups.clone().count() >= 3 && groups.all(is_word)
}

/// Returns whether `value` is the name of a variable or a type, and not a password: letters of words, with a few digits.
pub(super) fn is_name(value: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let is_start = |char: char| char.is_ascii_alphabetic() || char == '_';
    value.starts_with(is_start) && value.chars().all(is_part) && surprise(value) < 0.25
}
