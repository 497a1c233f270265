//! Phrases that restore a wallet: twelve to twenty-four words of one list (BIP 39).
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::collections::HashSet;

use bip39::{Language, Mnemonic};
use unicode_normalization::UnicodeNormalization;

/// The numbers of words that a phrase can have.
const WORDS: [usize; 5] = [12, 15, 18, 21, 24];
/// The number of words at the start of a value with a name that decide what it is, and how many of them are in one list.
const FIRST: usize = 12;
const LISTED: usize = 9;
/// A phrase with fewer different words counts only if its checksum is right. So a list of twelve equal words is none.
const DIFFERENT: usize = 6;
/// A line of less has fewer than twelve words, because the shortest ones have three letters.
const LINE_MIN: usize = 4 * WORDS[0] - 1;
/// A line of more has a longer text than twenty-four words with their numbers.
const LINE_MAX: usize = 512;

/// Returns whether a value whose name says so is a phrase: most of its first words are in one list. Somebody may have
/// mistyped one, or left the last ones out.
pub(super) fn is_mnemonic(value: &str) -> bool {
    let words: Vec<String> = words_of(value).take(FIRST).collect();
    words.len() == FIRST
        && Language::ALL.iter().any(|language| {
            let listed = words.iter().filter(|word| is_listed(*language, word));
            listed.count() >= LISTED
        })
}

/// Returns whether `line` consists of a phrase, and of numbers, commas and the like between its words.
pub(super) fn is_mnemonic_line(line: &str) -> bool {
    if !(LINE_MIN..=LINE_MAX).contains(&line.len()) || !WORDS.contains(&count_words(line)) {
        return false;
    }
    let words: Vec<String> = words_of(line).collect();
    Language::ALL.iter().any(|language| {
        let is_of = words.iter().all(|word| is_listed(*language, word));
        is_of && (has_many(&words) || Mnemonic::parse_in_normalized(*language, &words.join(" ")).is_ok())
    })
}

/// Returns the words of a text, as the lists have them.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    parts(text).map(|word| word.to_lowercase().nfkd().collect())
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphabetic())
        .filter(|word| !word.is_empty())
}

/// Counts without an allocation: most lines end here.
fn count_words(text: &str) -> usize {
    parts(text).take(WORDS[4] + 1).count()
}

fn is_listed(language: Language, word: &str) -> bool {
    language.find_word(word).is_some()
}

fn has_many(words: &[String]) -> bool {
    words.iter().collect::<HashSet<_>>().len() >= DIFFERENT
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTORS: [&str; 6] = [
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
        "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong",
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
        "1. Letter 2. advice 3. cage 4. absurd 5. amount 6. doctor 7. acoustic 8. avoid 9. letter 10. advice 11. cage 12. above",
        "zebra, wolf, table, chair, lemon, orbit, piano, river, stone, tiger, uncle, valve",
        "ábaco abdomen abeja abierto abogado abono aborto abrazo abrir abuelo abuso acabar",
    ];

    #[test]
    fn a_line_of_a_list_is_a_phrase() {
        for line in VECTORS {
            assert!(is_mnemonic_line(line), "{line}");
        }
    }

    #[test]
    fn a_line_of_other_words_is_none() {
        let equal = ["false"; 12].join(", ");
        let lines = [
            "fix broken login test after clock change because tests used local time",
            "raise memory limit lower worker count add swap file monitor disk usage",
            "dog needs walk twice every day avoid busy road bring water snack",
            "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima",
            "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
            "zebra wolf table chair lemon orbit piano river stone tiger uncle",
            &equal,
        ];
        for line in lines {
            assert!(!is_mnemonic_line(line), "{line}");
        }
    }

    #[test]
    fn a_value_with_a_name_may_have_mistyped_words() {
        assert!(is_mnemonic(
            "zebra wolf tabel chair lemon orbit piano river stone tiger uncle valv and more"
        ));
        assert!(!is_mnemonic(
            "raise memory limit lower worker count add swap file monitor disk usage"
        ));
        assert!(!is_mnemonic("zebra wolf table"));
    }
}
