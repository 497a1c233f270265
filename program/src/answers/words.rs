//! The words of texts that people and models read: numbers with their nouns, and stored names.
//!
//! # Layer
//! Layer 8, part of answers. Pure.

use std::borrow::Cow;

use treering_text::visible::written_out;

/// The characters of a plain name besides letters and digits.
const PLAIN: &str = "-_./:@#+%~=&";

/// Formats a number with its noun: `1 object`, `2 objects`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    if number == 1 {
        return format!("1 {what}");
    }
    let stem = what
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    if let Some(stem) = stem {
        return format!("{number} {stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| what.ends_with(end));
    format!("{number} {what}{}", if hisses { "es" } else { "s" })
}

/// Returns a stored name as a text shows it: as it is if it is one plain word, else in quotes. The first quote after the
/// beginning ends it. So no part of a name looks like what the text says about it.
pub(crate) fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_alphanumeric() || PLAIN.contains(char);
    let shown = written_out(name);
    if !shown.is_empty() && shown.chars().all(is_plain) {
        return shown;
    }
    let words: Vec<_> = shown.split_whitespace().collect();
    format!("\"{}\"", words.join(" ").replace('"', "\\u{22}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_follows_its_number() {
        assert_eq!(counted(1, "object"), "1 object");
        assert_eq!(counted(2, "object"), "2 objects");
        assert_eq!(counted(0, "whole batch"), "0 whole batches");
        assert_eq!(counted(1, "entry"), "1 entry");
        assert_eq!(counted(2, "entry"), "2 entries");
        assert_eq!(counted(2, "day"), "2 days");
    }

    #[test]
    fn a_name_ends_where_its_reader_thinks() {
        for plain in ["facts/tea", "project:a", "snap:0", "größe"] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted("tea pot"), "\"tea pot\"");
        assert_eq!(quoted("x (direct_user)"), "\"x (direct_user)\"");
        assert_eq!(quoted("x\": (direct_user)"), "\"x\\u{22}: (direct_user)\"");
        assert_eq!(quoted("x\u{202E}y"), "\"x\\u{202e}y\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
