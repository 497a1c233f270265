//! The details of a text that decide whether two similar texts state the same fact: the order of the words, the
//! function words that give a direction or a role, numbers, flags, operators, signs, emoji and indentation.
//!
//! The score of a pair knows only which words two texts share. So "Ada pays Ben" and "Ben pays Ada" have the best score,
//! and so have `a == b` and `a != b`. Texts whose details differ may be similar, but neither replaces the other.
//!
//! # Layer
//! Uses `recall::text`, but not the score.
//!
//! # Invariants
//! - DTL-1: case, punctuation at the end of a word, fillers and the spacing of prose are no details.
//! - DTL-2: two texts with more than `WORDS_MAX` words differ, unless they are equal up to spacing.

use super::words::{WORDS_MAX, negates, term};
use crate::recall::text::marks::is_question;
use crate::recall::text::runs::{RunKind, Runs, is_emoji_mark};
use crate::recall::text::terms::{Side, facts_of, for_each_sign, word_of};

/// Words that add nothing to a statement.
const FILLERS: &str = "a also an actually basically indeed just please quite really simply so the very well";
/// Function words that one of two texts may omit, as in "on Monday" and "Monday". Another one in the same place is a
/// detail.
const WEAK: &str = "am are as at be been being did do does for had has have here in \
     is it its of on that then there these this those too was were";
/// Verbs that may stand on both sides of a phrase that moved.
const TURNING: &str = "am are be did do does had has have is was were";
/// Prepositions of a phrase that may move between the start and the end of a sentence.
const FRONTED: &str = "after at before during from in on since until";
/// Punctuation before a word.
const OPENING: &str =
    "\"'`\u{201C}\u{201D}\u{2018}\u{2019}\u{201E}\u{AB}\u{BB}([\u{FF08}\u{300C}\u{300E}\u{BF}\u{A1}";
/// Punctuation after a word.
const CLOSING: &str = "\"'`\u{201C}\u{201D}\u{2018}\u{2019}\u{AB}\u{BB})]\u{FF09}\u{300D}\u{300F}.,;:!?\u{2026}\u{2014}\
     \u{2013}-\u{3002}\u{3001}\u{FF0C}\u{FF01}\u{FF1F}\u{FF1A}\u{FF1B}";
/// Characters inside a word that are no details.
const INNER: &str = "'\u{2019},;\"\u{201C}\u{201D}\u{2018}\u{2019}\u{201E}\u{AB}\u{BB}\u{2026}\u{2014}\u{2013}-\u{2010}\
     \u{3002}\u{3001}\u{FF0C}\u{FF01}\u{FF1F}\u{FF1A}\u{FF1B}\u{FF08}\u{FF09}\u{300C}\u{300D}\u{300E}\
     \u{300F}";

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

/// The details of a text.
pub(super) struct Details {
    /// The words without fillers, in order, with repeats.
    words: Vec<String>,
    /// The words with signs, such as flags, operators and emoji, in order.
    signs: Vec<String>,
    is_question: bool,
    indents: Vec<String>,
    /// The whole text, if it has more words than are compared.
    long: Option<String>,
}

impl Details {
    /// Reads a text; in `joined`, the digits of each number are joined.
    pub(super) fn new(text: &str, joined: &str) -> Self {
        let (words, is_cut) = words(joined);
        Self {
            words,
            long: is_cut.then(|| text.split_whitespace().collect::<Vec<_>>().join(" ")),
            signs: text.split_whitespace().filter_map(sign).take(WORDS_MAX).collect(),
            is_question: is_question(text),
            indents: indents(text),
        }
    }

    /// Returns whether the details of two texts differ.
    pub(super) fn differ(&self, other: &Self) -> bool {
        // DTL-2: of long texts, only equal ones have no details that differ.
        self.long != other.long
            || self.signs != other.signs
            || self.is_question != other.is_question
            || differently_indented(&self.indents, &other.indents)
            || (self.words != other.words && differ_in_words(&self.words, &other.words))
    }
}

fn differ_in_words(one: &[String], two: &[String]) -> bool {
    let (only_one, only_two) = (without(one, two), without(two, one));
    let is_detail = |word: &&&String| !is_in(WEAK, word) && facts_of(word).stop;
    let is_number = |word: &&&String| word.starts_with(|letter: char| letter.is_ascii_digit());
    let mut only = only_one.iter().chain(&only_two);
    if only.any(|word| is_detail(&word) || is_number(&word)) {
        return true;
    }
    // Each text has a word that the other one lacks.
    if !only_one.is_empty() && !only_two.is_empty() {
        return true;
    }
    let common = one.len() - only_one.len();
    longest_common(one, two) < common && !is_fronted(one, two)
}

/// Returns the first words of a text without fillers, in order, and whether the text has more.
fn words(text: &str) -> (Vec<String>, bool) {
    let (mut words, mut folded, mut end) = (Vec::new(), String::new(), 0);
    for run in Runs::new(text) {
        if words.len() > WORDS_MAX {
            break;
        }
        if run.kind == RunKind::Spaceless {
            for_each_sign(run, Side::Query, |sign| words.push(sign.to_owned()));
        } else if run.kind == RunKind::Word {
            let starts_sentence = text[end..run.start].contains(['.', '!', '?', '\n']) || words.is_empty();
            end = run.start + run.text.len();
            word_of(run.text, &mut folded);
            // A single capital letter inside a sentence is a name, as in "service A".
            let is_name = run.text.len() == 1 && run.text != "I" && run.text.starts_with(char::is_uppercase);
            if is_name && !starts_sentence {
                words.push(run.text.to_owned());
            } else {
                push_word(&folded, &mut words);
            }
        }
    }
    let is_cut = words.len() > WORDS_MAX;
    words.truncate(WORDS_MAX);
    (words, is_cut)
}

/// Adds a word without its contraction, unless the word is a filler.
fn push_word(folded: &str, words: &mut Vec<String>) {
    let (verb, negation) = match folded {
        "cannot" | "cant" => ("can", "not"),
        "wont" => ("will", "not"),
        _ => match folded.strip_suffix("nt").filter(|_| negates(folded)) {
            Some(verb) => (verb, "not"),
            None => (folded, ""),
        },
    };
    for word in [verb, negation] {
        if word.is_empty() || is_in(FILLERS, word) {
            continue;
        }
        let is_plain = facts_of(word).stop;
        words.push(if is_plain { word.to_owned() } else { term(word) });
    }
}

/// Returns the words of `one` that `two` lacks; a repeated word counts as often as it is repeated.
fn without<'a>(one: &'a [String], two: &[String]) -> Vec<&'a String> {
    let (mut one, mut two): (Vec<&String>, Vec<&String>) = (one.iter().collect(), two.iter().collect());
    one.sort_unstable();
    two.sort_unstable();
    let mut others = two.into_iter().peekable();
    one.retain(|word| {
        while others.next_if(|other| *other < *word).is_some() {}
        others.next_if(|other| *other == *word).is_none()
    });
    one
}

/// Returns the length of the longest list of words that both texts have in the same order.
fn longest_common(one: &[String], two: &[String]) -> usize {
    let mut lengths = vec![0; two.len() + 1];
    for word in one {
        let mut before = 0;
        for (at, other) in two.iter().enumerate() {
            let above = lengths[at + 1];
            lengths[at + 1] = if word == other {
                before + 1
            } else {
                above.max(lengths[at])
            };
            before = above;
        }
    }
    lengths[two.len()]
}

/// Returns whether the texts differ only in the place of a phrase, as in "On Friday we meet" and "We meet on Friday".
fn is_fronted(one: &[String], two: &[String]) -> bool {
    let phrases = |words: &[String]| -> Vec<String> {
        let words = words.iter().filter(|word| !is_in(TURNING, word));
        words.cloned().collect()
    };
    let (one, two) = (&phrases(one)[..], &phrases(two)[..]);
    if one.len() != two.len() {
        return false;
    }
    (1..one.len()).any(|at| {
        let (front, back) = one.split_at(at);
        let is_turned = two.starts_with(back) && two[back.len()..] == *front;
        is_turned && [front, back].iter().any(|phrase| is_in(FRONTED, &phrase[0]))
    })
}

/// Returns the form of a word between spaces if it has a sign that matters.
fn sign(raw: &str) -> Option<String> {
    let bare = raw.trim_start_matches(|letter| OPENING.contains(letter));
    let bare = bare.trim_end_matches(|letter| CLOSING.contains(letter));
    if bare.is_empty() {
        // Punctuation alone is no detail, but ":)" is.
        let is_face = raw.contains(['(', ')']) && raw.contains([':', ';']);
        return is_face.then(|| raw.to_owned());
    }
    if bare.starts_with('-') {
        // Upper and lower case of a flag are different flags.
        return Some(bare.to_owned());
    }
    let mut letters = bare.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        let joins_digits = before.is_ascii_digit() && next.is_ascii_digit() && letter == '-';
        let is_plain = letter.is_alphanumeric()
            || unicode_normalization::char::is_combining_mark(letter)
            || is_emoji_mark(letter)
            || (INNER.contains(letter) && !joins_digits);
        if !is_plain {
            let shown = bare.chars().filter(|&letter| !is_emoji_mark(letter));
            return Some(shown.flat_map(char::to_lowercase).collect());
        }
        before = letter;
    }
    None
}

/// Returns the blanks before each line with text, without those that all lines have.
fn indents(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let blanks = lines.map(|line| &line[..line.len() - line.trim_start().len()]);
    let blanks: Vec<&str> = blanks.collect();
    let common = blanks.iter().map(|blank| blank.len()).min().unwrap_or_default();
    let relative = blanks.iter().map(|blank| blank.get(common..).unwrap_or(blank));
    relative.map(str::to_owned).collect()
}

/// Returns whether the lines of two texts have other indentations. Texts with other line breaks are prose.
fn differently_indented(one: &[String], two: &[String]) -> bool {
    one.len() == two.len() && one != two
}

/// Returns whether two texts with the same words differ in the indentation of their lines.
pub fn differ_in_indentation(one: &str, two: &str) -> bool {
    differently_indented(&indents(one), &indents(two))
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, similarity};
    use super::differ_in_indentation;

    #[test]
    fn other_facts_are_not_the_same() {
        let cases = [
            ("Alice manages Bob", "Bob manages Alice"),
            ("He moved from Oslo to Bergen", "He moved from Bergen to Oslo"),
            ("He moved to Oslo last year", "He moved from Oslo last year"),
            ("Service A depends on service B", "Service B depends on service A"),
            ("Anna paid Ben 50 euros", "Ben paid Anna 50 euros"),
            ("Anna hired Ben in May", "Anna was hired by Ben in May"),
            (
                "First wash the rice, then dry it",
                "First dry the rice, then wash it",
            ),
            (
                "git push --force is banned",
                "git push --force-with-lease is banned",
            ),
            ("run the tool with --no-verify", "run the tool with --verify"),
            ("The flag is -x", "The flag is x"),
            ("The flag is -x", "The flag is -X"),
            ("Fail if (a == b)", "Fail if (a != b)"),
            ("Set timeout < 30", "Set timeout > 30"),
            ("wait while x <= 3", "wait while x < 3"),
            ("temperature is 5 C", "temperature is -5 C"),
            ("Offset is +5 hours", "Offset is 5 hours"),
            ("The language is C", "The language is C++"),
            ("Server status 🟢", "Server status 🔴"),
            ("rating ★★★★☆", "rating ★★☆☆☆"),
            ("rating ***", "rating **"),
            ("The mood is :)", "The mood is :("),
            ("The file is .env", "The file is env"),
            ("Deploy to ./build", "Deploy to ../build"),
            ("The ratio is 1.5", "The ratio is 15"),
            ("Lunch before the talk", "Lunch after the talk"),
            ("The office is in Oslo", "Is the office in Oslo?"),
            ("if a:\n    b\nc", "if a:\n    b\n    c"),
            (
                "Alice manages the release of the large app on Friday at noon",
                "Bob manages the release of the large app on Friday at noon",
            ),
        ];
        for (one, two) in cases {
            for (one, two) in [(one, two), (two, one)] {
                let found = similarity(one, two);
                assert_ne!(found.relation(), Relation::Same, "{one:?} {two:?} {found:?}");
            }
        }
    }

    #[test]
    fn the_same_fact_in_other_dress_is_the_same() {
        let plain = "The planning meeting takes place on Monday at ten in the large room";
        for other in [
            "the planning meeting takes place on monday at ten in the large room",
            "The planning meeting takes place on Monday at ten in the large room!",
            "The planning  meeting takes\nplace on Monday at ten in the large room.",
            "So the planning meeting really takes place on Monday at ten, in the large room",
            "The planning meeting takes place Monday at 10 in the large room",
            "On Monday at ten in the large room the planning meeting takes place",
            "\"The planning meeting takes place on Monday at ten in the large room\"",
        ] {
            let found = similarity(plain, other);
            assert_eq!(found.relation(), Relation::Same, "DTL-1: {other:?} {found:?}");
        }
        let one = "It doesn't work on the big machine, it's broken since May";
        let two = "It does not work on the big machine, it is broken since May";
        assert_eq!(similarity(one, two).relation(), Relation::Same);
    }

    #[test]
    fn lines_are_indented_like_each_other_or_not() {
        for (one, two, differ) in [
            ("a:\n  b\n  c", "a:\n  b\nc", true),
            ("a:\n  b", "  a:\n    b\n", false),
            ("one\ntwo", "one two", false),
            ("a:\n\tb", "a:\n    b", true),
            ("a:\r\n  b", "a:\n  b", false),
        ] {
            assert_eq!(differ_in_indentation(one, two), differ, "{one:?} {two:?}");
        }
    }

    /// INVARIANT DTL-2: what stands behind the words that are compared counts, too.
    #[test]
    fn long_texts_that_differ_at_their_end_are_not_the_same() {
        let words: String = (0..super::WORDS_MAX + 50)
            .map(|at| format!("word{at} "))
            .collect();
        let text = |end: &str| format!("{words}and the office is in {end}");
        assert_ne!(
            similarity(&text("Oslo"), &text("Bergen")).relation(),
            Relation::Same
        );
        assert_eq!(
            similarity(&text("Oslo"), &text(" Oslo")).relation(),
            Relation::Same
        );
        // A run without spaces has many words.
        let run = "\u{6d4b}".repeat(200_000);
        assert_ne!(
            similarity(&run, &(run.clone() + "\u{8bd5}")).relation(),
            Relation::Same
        );
    }
}
