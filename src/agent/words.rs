//! Cuts a text into words, to compare or shorten it. Recall has its own tokeniser.
//!
//! A word is a run of letters, digits and combining marks. In scripts without spaces, such as Chinese, a run is cut
//! into pairs of characters.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - WRD-1: runs are slices of the text in ascending order, and every letter and digit is in exactly one run.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use treering_text::recall::differ_in_indentation;
pub(crate) use treering_text::recall::is_spaceless;

/// Marks that end a statement, in several scripts.
const ENDS: [char; 8] = [
    '.', '!', '\u{2026}', '\u{3002}', '\u{FF01}', '\u{FF0E}', '\u{964}', '\u{6D4}',
];

/// Checks whether `letter` can be part of a word.
pub(crate) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || is_combining_mark(letter)
}

/// Returns the runs of word characters in `text`, cut where a script without spaces begins or ends.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|letter| !is_word(letter));
        let first = rest.chars().next()?;
        let spaceless = is_spaceless(first);
        // A combining mark stays with its base character, even if the Unicode block of the mark belongs to another
        // script.
        let goes_on = |letter: char| {
            is_word(letter) && (is_spaceless(letter) == spaceless || is_combining_mark(letter))
        };
        let end = rest.find(|letter| !goes_on(letter)).unwrap_or(rest.len());
        let run;
        (run, rest) = rest.split_at(end);
        Some(run)
    })
}

/// Returns the number of words in `text`; two characters of a script without spaces count as one word.
pub(crate) fn count(text: &str) -> usize {
    let of_run = |run: &str| match run.chars().next() {
        Some(first) if is_spaceless(first) => run.chars().count().div_ceil(2),
        _ => 1,
    };
    runs(text).map(of_run).sum()
}

/// Returns `text` in a form for comparison: lower case, composed Unicode, trimmed, with one space for each run of white
/// space.
pub(crate) fn normalised(text: &str) -> String {
    collapsed(&text.to_lowercase()).into_owned()
}

/// Returns `text` in composed Unicode, trimmed, with one space for each run of white space.
pub(crate) fn collapsed(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_even = text
        .split(' ')
        .all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes if is_even => Cow::Borrowed(text),
        IsNormalized::Yes => Cow::Owned(joined(text)),
        _ => Cow::Owned(joined(&text.nfc().collect::<String>())),
    }
}

/// Returns a statement as [`collapsed`] does, without a mark that ends a sentence, and with a small first letter. Texts
/// that differ only in these say the same. A question mark stays, because a question is no statement.
pub(crate) fn plain_statement(text: &str) -> Cow<'_, str> {
    let text = collapsed(text);
    let bare = text.trim_end_matches(ENDS).trim_end();
    let capital = bare.chars().next().filter(|first| first.is_uppercase());
    match capital {
        _ if bare.is_empty() => text,
        None if bare.len() == text.len() => text,
        None => Cow::Owned(bare.to_owned()),
        Some(first) => Cow::Owned(first.to_lowercase().chain(bare.chars().skip(1)).collect()),
    }
}

/// Checks whether `text` consists of words of visible ASCII characters with one space between them, as most texts do.
fn is_plain(text: &str) -> bool {
    let mut last = b' ';
    let is_next = |byte: u8| {
        let is_one = byte.is_ascii_graphic() || byte == b' ' && last != b' ';
        last = byte;
        is_one
    };
    text.bytes().all(is_next) && last != b' '
}

/// Checks whether two texts are the same but for the spacing of prose. The indentation of lines is part of a text.
pub(crate) fn are_same(one: &str, two: &str) -> bool {
    collapsed(one) == collapsed(two) && !differ_in_indentation(one, two)
}

/// Checks whether two texts state the same: as [`are_same`], but for a mark at the end and a capital at the start.
pub(crate) fn state_the_same(one: &str, two: &str) -> bool {
    plain_statement(one) == plain_statement(two) && !differ_in_indentation(one, two)
}

/// Returns the distinct search tokens of a normalised text, in order. A token is a word of at least two characters. In
/// scripts without spaces, a token is a pair of adjacent characters, or a single character between other scripts.
pub(crate) fn tokens(normalised: &str) -> Vec<String> {
    let parts = |run: &str| -> Vec<String> {
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        let is_spaceless = run.chars().next().is_some_and(is_spaceless);
        match starts.len() - 1 {
            1 if !is_spaceless => Vec::new(),
            2.. if is_spaceless => starts
                .windows(3)
                .map(|pair| run[pair[0]..pair[2]].to_owned())
                .collect(),
            _ => vec![run.to_owned()],
        }
    };
    let mut seen = std::collections::HashSet::new();
    let tokens = runs(normalised).flat_map(parts);
    tokens.filter(|token| seen.insert(token.clone())).collect()
}

/// Returns the fraction of the search tokens of `query` that `text` contains. Both texts must be normalised. Returns
/// `None` if `query` has no tokens.
pub(crate) fn covered(query: &str, text: &str) -> Option<f64> {
    let tokens = query_tokens(query);
    let found = tokens.iter().filter(|token| text.contains(token.as_str()));
    (!tokens.is_empty()).then(|| found.count() as f64 / tokens.len() as f64)
}

/// Returns the search tokens of a query, at most the first 256.
pub(crate) fn query_tokens(normalised: &str) -> Vec<String> {
    const TOKENS_MAX: usize = 256;
    let mut found = tokens(normalised);
    found.truncate(TOKENS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_plain_if_nothing_in_it_changes() {
        for text in ["a", "a b!", "x=1 \u{7f}"] {
            assert_eq!(collapsed(text), text);
        }
        assert!(is_plain("The office moved to Oslo, in June."));
        for (text, even) in [
            ("", ""),
            (" a", "a"),
            ("a ", "a"),
            ("a  b", "a b"),
            ("a\tb", "a b"),
            ("e\u{301}", "\u{e9}"),
        ] {
            assert!(!is_plain(text), "{text:?}");
            assert_eq!(collapsed(text), even);
        }
    }

    #[test]
    fn a_statement_is_the_same_without_its_last_mark() {
        for (text, plain) in [
            ("We use pnpm.", "we use pnpm"),
            ("we  use\npnpm !", "we use pnpm"),
            ("Is it so?", "is it so?"),
            ("We use US dates", "we use US dates"),
            ("...", "..."),
            ("v1.2", "v1.2"),
        ] {
            assert_eq!(plain_statement(text), plain);
        }
    }

    #[test]
    fn words_of_many_scripts_are_found() {
        let all = |text| runs(text).collect::<Vec<_>>();
        assert_eq!(all("foo_bar, v1.0"), ["foo", "bar", "v1", "0"]);
        assert_eq!(all("Treeringは速い"), ["Treering", "は速い"]);
        assert_eq!(all("cafe\u{301} — Привет"), ["cafe\u{301}", "Привет"]);
        assert_eq!(all("🚀 !?"), Vec::<&str>::new());
        assert_eq!((count("one two, three"), count("漢字かな"), count("")), (3, 2, 0));
    }

    #[test]
    fn tokens_are_pairs_where_no_spaces_are() {
        assert_eq!(tokens("a bc de bc"), ["bc", "de"]);
        assert_eq!(tokens("数据仓 x"), ["数据", "据仓"]);
        assert_eq!(tokens("猫"), ["猫"]);
        assert_eq!(tokens("сервер é"), ["сервер"]);
        assert_eq!(normalised("  CAFE\u{301}\n\tX "), "café x");
    }

    #[test]
    fn texts_are_even_but_not_equal() {
        assert_eq!(collapsed("a  b\n\tc "), "a b c");
        assert_eq!(collapsed("e\u{301}"), "\u{e9}");
        assert_eq!(collapsed("A"), "A");
        assert_eq!(collapsed(""), "");
        assert!(matches!(collapsed("a b"), Cow::Borrowed(_)));
        assert!(are_same("a  b\nc", " a b c "));
        assert!(state_the_same("We use pnpm", "we use pnpm. "));
        assert!(!state_the_same("We use pnpm", "We use pnpm?") && !are_same("We use pnpm", "We use pnpm."));
        assert!(!are_same("if a:\n  b\n  c", "if a:\n  b\nc"));
    }

    proptest! {
        #[test]
        fn wrd_1_every_letter_is_in_one_run(text in any::<String>()) {
            let joined: String = runs(&text).collect();
            let letters: String = text.chars().filter(|c| is_word(*c)).collect();
            prop_assert_eq!(joined, letters);
        }
    }
}
