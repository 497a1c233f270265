//! Stop words in English and six other languages.
//!
//! The words are in `stop_words.txt`, one per line, sorted by their characters. All have four letters or more, because
//! no shorter word is a keyword.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::HashSet;
use std::sync::LazyLock;

static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("stop_words.txt").lines().collect());

/// Whether `word`, in lower case, is a stop word.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_has_long_words_only() {
        let words: Vec<&str> = include_str!("stop_words.txt").lines().collect();
        assert!(words.is_sorted());
        assert_eq!((words.len(), STOP_WORDS.len()), (244, 244));
        assert!(words.iter().all(|word| word.chars().count() >= 4));
        assert!(is_stop_word("should") && is_stop_word("für") == is_stop_word("der"));
        assert!(!is_stop_word("treering"));
    }
}
