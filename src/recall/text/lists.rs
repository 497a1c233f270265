//! The word lists of English, read from the files in `words/`.
//!
//! A line that begins with `#` is a comment. Words are lower case, with spaces between them; a line may begin with a
//! name and a colon.
//!
//! # Layer
//! Pure data of `recall::text`.

/// Stop words, folded: the index and the queries drop them.
pub(crate) const STOP: &str = include_str!("words/stop.txt");
/// Words that frame a question ("mention", "detail"); they count less than its topic.
pub(crate) const FRAME: &str = include_str!("words/frame.txt");
/// Irregular forms, each line under its base form.
pub(crate) const IRREGULAR: &str = include_str!("words/irregular.txt");
/// Words that mark a text, each line under the name of its class.
pub(crate) const MARKS: &str = include_str!("words/marks.txt");
/// Words by their role in the comparison of two texts.
pub(crate) const ROLES: &str = include_str!("words/roles.txt");
/// Members of kinds, each line under its kind.
pub(crate) const KINDS: &str = include_str!("words/kinds.txt");
/// Synonyms: the first word of a line and each of the others.
pub(crate) const SYNONYMS: &str = include_str!("words/synonyms.txt");
/// Synonyms that only the comparison of two texts uses.
pub(crate) const CAPTION_SYNONYMS: &str = include_str!("words/caption_synonyms.txt");
/// Pairs of opposites, as in `above/below`.
pub(crate) const OPPOSITES: &str = include_str!("words/opposites.txt");

/// Returns the lines of a list.
pub(crate) fn lines(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// Returns the words of a list.
pub(crate) fn words(list: &str) -> impl Iterator<Item = &str> {
    lines(list).flat_map(str::split_whitespace)
}

/// Returns the named lines of a list: each name with its words.
pub(crate) fn named(list: &str) -> impl Iterator<Item = (&str, std::str::SplitWhitespace<'_>)> {
    let named = lines(list).filter_map(|line| line.split_once(':'));
    named.map(|(name, words)| (name, words.split_whitespace()))
}
