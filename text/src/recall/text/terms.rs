//! Turns text into terms, for the index and for queries.
//!
//! The tokeniser folds a word (compatibility forms, case, accents on Latin letters), and removes its possessive or
//! contraction. The tokeniser drops English stop words, replaces an irregular form by its base, and stems the other
//! words. `variants` adds the parts of identifiers, and other forms of numbers and dates. The words of a text in another
//! language are stemmed by the rules of that language. Text in a script without
//! spaces becomes single characters and pairs of characters. An emoji is one term.
//!
//! # Layer
//! Uses runs, languages, lists and the stemmers, but not the index.
//!
//! # Invariants
//! - TRM-1: a term is never empty, and never longer than `TERM_BYTES_MAX` bytes.
//! - TRM-2: the terms of a text depend only on the text.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::language::{Language, Languages};
use super::lists::{self, named};
use super::marks::{self, Class};
use super::runs::{Run, RunKind, Runs, is_apostrophe, is_emoji_mark};
use super::stem::{stem, stem_in};

/// The maximal length of a term in bytes. A longer word, such as a key or an encoded picture, is cut. A digest in
/// hexadecimal digits is not too long.
pub(crate) const TERM_BYTES_MAX: usize = 64;
/// The maximal length of a word in the lists, in bytes.
const FACT_BYTES_MAX: usize = 20;
/// The mark that begins and ends a code block.
const FENCE: &str = "```";

/// The entry of a word in the word lists.
#[derive(Clone, Copy, Default)]
pub(crate) struct WordFacts {
    /// Whether the word is a stop word.
    pub(crate) stop: bool,
    /// The base form, if the word is an irregular form.
    pub(crate) base: Option<&'static str>,
    /// The classes of marks that the word belongs to.
    pub(crate) class: Class,
}

impl WordFacts {
    /// Writes the term of `word` to `out`. `self` must be the entry of `word`.
    pub(crate) fn term<'t>(self, word: &str, out: &'t mut String) -> &'t str {
        out.clear();
        out.push_str(self.base.unwrap_or(word));
        stem(out);
        out
    }
}

/// The entries by word. The table contains only words of the lists, so a fast hash is safe.
type Facts = HashMap<&'static str, WordFacts, foldhash::fast::RandomState>;

static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let mut facts = Facts::default();
    for word in lists::words(lists::STOP) {
        facts.entry(word).or_default().stop = true;
    }
    for (base, forms) in named(lists::IRREGULAR) {
        for form in forms {
            facts.entry(form).or_default().base = Some(base);
        }
    }
    for (word, class) in lists::bits(lists::MARKS, &marks::CLASSES) {
        facts.entry(word).or_default().class = class;
    }
    facts
});

static FRAMES: LazyLock<HashSet<String>> =
    LazyLock::new(|| lists::words(lists::FRAME).map(term_of).collect());

static FRAMES_SAID: LazyLock<HashSet<String>> =
    LazyLock::new(|| lists::words(lists::FRAME_SAID).map(term_of).collect());

/// Returns the entry of a folded word.
pub(crate) fn facts_of(word: &str) -> WordFacts {
    // The lists contain no word that is longer than this.
    if word.len() > FACT_BYTES_MAX {
        return WordFacts::default();
    }
    FACTS.get(word).copied().unwrap_or_default()
}

/// Returns whether `term` frames a question. More terms frame a question about what was said.
pub(crate) fn is_frame(term: &str, is_about_said: bool) -> bool {
    FRAMES.contains(term) || is_about_said && FRAMES_SAID.contains(term)
}

/// Returns the term of a folded word, even of a stop word.
pub(crate) fn term_of(word: &str) -> String {
    let mut term = String::new();
    facts_of(word).term(word, &mut term);
    term
}

/// Writes the term of a word of a text in `languages` to `out`. `folded` is the folded form of the word, and `facts` is
/// its entry. Returns `None` for a stop word.
pub(crate) fn term_in<'t>(
    languages: Languages,
    raw: &str,
    folded: &str,
    facts: WordFacts,
    out: &'t mut String,
) -> Option<&'t str> {
    match languages.of_word(raw) {
        Some(Language::English) | None => (!facts.stop).then(|| facts.term(folded, out)),
        Some(language) => {
            stem_in(language, raw, out);
            Some(out)
        }
    }
}

/// Returns the term that each text in an unusual language has, so that questions are stemmed in that language too.
pub(crate) fn term_of_language(language: Language) -> String {
    format!("\u{1}{}", language.name())
}

/// Writes the folded form of `raw` to `out`. Texts that look the same get the same form.
pub(crate) fn fold(raw: &str, out: &mut String) {
    out.clear();
    if raw.is_ascii() {
        out.extend(raw.bytes().map(|byte| byte.to_ascii_lowercase() as char));
        return;
    }
    let mut base = ' ';
    let folded = raw
        .nfkd()
        .filter(|&letter| {
            let accent = is_combining_mark(letter);
            if !accent {
                base = letter;
            }
            !(accent && base.is_ascii())
        })
        .nfc();
    for letter in folded.flat_map(char::to_lowercase) {
        match letter {
            // Letters that people without them on their keyboard write in this way.
            '\u{DF}' => out.push_str("ss"),
            '\u{E6}' => out.push_str("ae"),
            '\u{153}' => out.push_str("oe"),
            '\u{F8}' => out.push('o'),
            '\u{142}' => out.push('l'),
            '\u{111}' | '\u{F0}' => out.push('d'),
            '\u{FE}' => out.push_str("th"),
            letter if is_apostrophe(letter) => out.push('\''),
            letter => out.push(letter),
        }
    }
}

/// Writes the folded form of `raw`, a run of letters, to `out`, without its possessive, contraction and apostrophes.
pub(crate) fn word_of(raw: &str, out: &mut String) {
    fold(raw, out);
    if let Some(at) = out.find('\'') {
        match &out[at + 1..] {
            "s" | "re" | "ve" | "ll" | "d" | "m" => out.truncate(at),
            _ => out.retain(|letter| letter != '\''),
        }
    }
    out.truncate(out.floor_char_boundary(TERM_BYTES_MAX));
}

/// Returns the folded words of a text, including stop words.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for run in Runs::new(text) {
        match run.kind {
            RunKind::Word => {
                let mut word = String::new();
                word_of(run.text, &mut word);
                if !word.is_empty() {
                    out.push(word);
                }
            }
            _ => for_each_sign(run, Side::Query, |sign| out.push(sign.to_owned())),
        }
    }
    out
}

/// Whether terms are for a document in the index or for a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// All terms that a query may use.
    Document,
    /// Only pairs of characters, because single characters would match too many documents. A run of a single character
    /// is used as it is.
    Query,
}

/// Calls `found` with each term of a run that is not a word.
pub(crate) fn for_each_sign(run: Run<'_>, side: Side, mut found: impl FnMut(&str)) {
    let mut folded = String::new();
    if run.kind == RunKind::Emoji {
        folded.extend(run.text.chars().filter(|&letter| !is_emoji_mark(letter)));
        // A joined emoji may have any number of parts, and the first parts identify it.
        folded.truncate(folded.floor_char_boundary(TERM_BYTES_MAX));
        if !folded.is_empty() {
            found(&folded);
        }
        return;
    }
    folded.extend(run.text.nfkc());
    let starts: Vec<usize> = folded
        .char_indices()
        .map(|(at, _)| at)
        .chain([folded.len()])
        .collect();
    let count = starts.len() - 1;
    if side == Side::Document || count == 1 {
        for pair in starts.windows(2) {
            found(&folded[pair[0]..pair[1]]);
        }
    }
    for three in starts.windows(3) {
        found(&folded[three[0]..three[2]]);
    }
}

/// Returns the parts of a text between code fences, and whether each part is code.
pub(crate) fn fenced(text: &str) -> impl Iterator<Item = (bool, &str)> {
    text.split(FENCE)
        .enumerate()
        .map(|(number, part)| (number % 2 == 1, part))
}

/// Returns the terms that a document with this text has, in order, with repeats.
#[cfg(test)]
pub(crate) fn terms(text: &str) -> Vec<String> {
    let (mut out, languages) = (Vec::new(), Languages::of(text));
    for run in Runs::new(text) {
        match run.kind {
            RunKind::Word => {
                let (mut word, mut term) = (String::new(), String::new());
                word_of(run.text, &mut word);
                let facts = facts_of(&word);
                if !word.is_empty() {
                    out.extend(term_in(languages, run.text, &word, facts, &mut term).map(str::to_owned));
                }
            }
            _ => for_each_sign(run, Side::Document, |sign| out.push(sign.to_owned())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_out_as_the_table_says() {
        let cases: &[(&str, &[&str])] = &[
            (
                "The children went to Jon's house",
                &["child", "go", "jon", "hous"],
            ),
            ("I isn't o'brien we've", &["obrien"]),
            ("Ｆｕｌｌ ｗｉｄｔｈ", &["full", "width"]),
            ("Café naïve résumé", &["cafe", "naiv", "resum"]),
            ("東京都", &["東", "京", "都", "東京", "京都"]),
            ("👍🏽 ❤️", &["👍", "❤"]),
            ("Straße Ärger", &["strass", "arger"]),
            ("Tromsø Łódź", &["tromso", "lodz"]),
            ("die Straßen der Stadt", &["die", "strass", "der", "stadt"]),
            ("мой йод", &["мо", "йод"]),
            ("книги 2023", &["книг", "2023"]),
            ("  \u{0} ", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(terms(text), *wanted, "TRM-2: of {text:?}");
        }
    }

    #[test]
    fn no_word_of_the_lists_is_too_long_to_be_looked_up() {
        assert!(FACTS.keys().all(|word| word.len() <= FACT_BYTES_MAX));
        assert!(facts_of("yourselves").stop);
    }

    #[test]
    fn a_query_of_a_stretch_asks_for_its_pairs() {
        let mut signs = Vec::new();
        for run in Runs::new("東京都 都") {
            for_each_sign(run, Side::Query, |sign| signs.push(sign.to_owned()));
        }
        assert_eq!(signs, ["東京", "京都", "都"]);
    }

    #[test]
    fn no_text_makes_an_endless_or_empty_term() {
        let texts = [
            "x".repeat(10_000),
            "ß’".repeat(500),
            "👨\u{200D}".repeat(300),
            "\u{FDFA}".repeat(99),
        ];
        for text in &texts {
            for term in terms(text) {
                assert!(
                    !term.is_empty() && term.len() <= TERM_BYTES_MAX + 4,
                    "TRM-1: {} bytes",
                    term.len()
                );
            }
        }
    }

    #[test]
    fn code_is_told_from_prose() {
        let parts: Vec<(bool, &str)> = fenced("a```b```c```d").collect();
        assert_eq!(parts, [(false, "a"), (true, "b"), (false, "c"), (true, "d")]);
    }
}
