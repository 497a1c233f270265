//! The word lists, read from the files in `words/`. Those in `words/values/` are for several languages, the others for
//! English.
//!
//! A line that begins with `#` is a comment. Words are lower case, with spaces between them; a line may begin with a
//! name and a colon.
//!
//! # Layer
//! Pure data of `recall::text`.

use std::collections::HashMap;

/// The stop words in folded form, which the index and the queries drop.
pub(crate) const STOP: &str = include_str!("words/stop.txt");
/// Function words and letters by language. Each line starts with the name of the language.
pub(crate) const LANGUAGES: &str = include_str!("words/languages.txt");
/// Words that only frame a question ("mention", "detail"), and weigh less than its topic.
pub(crate) const FRAME: &str = include_str!("words/frame.txt");
/// Words that only frame a question about what was said ("the order in which I brought up").
pub(crate) const FRAME_SAID: &str = include_str!("words/frame_said.txt");
/// Irregular forms of words. Each line starts with the base form.
pub(crate) const IRREGULAR: &str = include_str!("words/irregular.txt");
/// Words that decide the marks of a text. Each line starts with the name of their class.
pub(crate) const MARKS: &str = include_str!("words/marks.txt");
/// Words by which a sentence asks, or says that its speaker does not know. Each line starts with their role.
pub(crate) const ASKING: &str = include_str!("words/asking.txt");
/// Words that have a role in the comparison of two texts. Each line starts with the role.
pub(crate) const ROLES: &str = include_str!("words/roles.txt");
/// Kinds and their members, for comparing two texts. Each line starts with the kind.
pub(crate) const KINDS: &str = include_str!("words/kinds.txt");
/// Synonyms, for comparing two texts. The first word of a line is a synonym of each other word of the line.
pub(crate) const SYNONYMS: &str = include_str!("words/synonyms.txt");
/// Synonyms that are used only for comparing two texts.
pub(crate) const CAPTION_SYNONYMS: &str = include_str!("words/caption_synonyms.txt");
/// Pairs of opposites, as in `above/below`.
pub(crate) const OPPOSITES: &str = include_str!("words/opposites.txt");

/// Units and their words, for all languages.
pub(crate) const UNITS: &str = include_str!("words/values/units.txt");
/// Words by their class, and words for values, by language. The first language is English.
pub(crate) const VALUES: [(&str, &str); 15] = [
    ("en", include_str!("words/values/en.txt")),
    ("de", include_str!("words/values/de.txt")),
    ("fr", include_str!("words/values/fr.txt")),
    ("es", include_str!("words/values/es.txt")),
    ("it", include_str!("words/values/it.txt")),
    ("pt", include_str!("words/values/pt.txt")),
    ("nl", include_str!("words/values/nl.txt")),
    ("sv", include_str!("words/values/sv.txt")),
    ("pl", include_str!("words/values/pl.txt")),
    ("cs", include_str!("words/values/cs.txt")),
    ("ru", include_str!("words/values/ru.txt")),
    ("uk", include_str!("words/values/uk.txt")),
    ("tr", include_str!("words/values/tr.txt")),
    ("zh", include_str!("words/values/zh.txt")),
    ("ja", include_str!("words/values/ja.txt")),
];

/// Returns the lines of a word list, without comments.
pub(crate) fn lines(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// Returns the words of all lines of a word list.
pub(crate) fn words(list: &str) -> impl Iterator<Item = &str> {
    lines(list).flat_map(str::split_whitespace)
}

/// Returns the named lines of a list: each name, and the words of its line.
pub(crate) fn named(list: &str) -> impl Iterator<Item = (&str, std::str::SplitWhitespace<'_>)> {
    let named = lines(list).filter_map(|line| line.split_once(':'));
    named.map(|(name, words)| (name, words.split_whitespace()))
}

/// Returns the words of a named list, each with the bits of its lines. The bit of a line is the position of its name in
/// `names`.
pub(crate) fn bits<'a>(list: &'a str, names: &[&str]) -> HashMap<&'a str, u16> {
    let mut bits: HashMap<&str, u16> = HashMap::new();
    for (name, words) in named(list) {
        let bit = names.iter().position(|known| *known == name);
        for word in words {
            *bits.entry(word).or_default() |= 1 << bit.expect("a test reads the list");
        }
    }
    bits
}
