//! Makes ids for sections without an explicit id, from the path of the document and the titles from the top heading
//! down to the section, as in `notes/work.org#projects/treering`.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.
//!
//! # Invariants
//! - ING-7: the same file gets the same ids in every store that does not contain it yet.

use unicode_normalization::UnicodeNormalization;

use crate::digest::{Domain, HashAlgorithm, HashSuite, to_hex};

/// The maximal length of a derived id in bytes, without the number that distinguishes equal ids.
const BYTES_MAX: usize = 240;
/// The number of bytes that a shortened id keeps; a digest of the whole id follows them.
const BYTES_KEPT: usize = 200;
/// The number of bytes of the digest in a shortened id, before the encoding as hexadecimal digits.
const DIGEST_BYTES: usize = 8;
/// The largest length of a title in an id, in bytes.
const TITLE_BYTES_MAX: usize = 64;

/// The slug for a title that has no letter or digit.
const UNTITLED: &str = "untitled";

/// Returns a title as part of an id: letters and digits in lower case, and a `-` for each run of other characters.
/// Drops control characters.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in title.nfc().filter(|character| !character.is_control()) {
        if character.is_alphanumeric() {
            slug.extend(character.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() > TITLE_BYTES_MAX {
            break;
        }
    }
    let slug: String = start_of(&slug, TITLE_BYTES_MAX)
        .trim_end_matches('-')
        .nfc()
        .collect();
    if slug.is_empty() {
        UNTITLED.to_owned()
    } else {
        slug
    }
}

/// Joins `base`, `separator` and `part` to an id. Shortens the id if the id is too long.
pub(super) fn join(base: &str, separator: char, part: &str) -> String {
    let whole: String = format!("{base}{separator}{part}").nfc().collect();
    if whole.len() <= BYTES_MAX {
        return whole;
    }
    // The hash is always the same, so the ids do not depend on the store (ING-7).
    let digest = HashSuite::new(HashAlgorithm::Blake3).hash_bytes(Domain::Text, whole.as_bytes());
    format!(
        "{}~{}",
        start_of(&whole, BYTES_KEPT),
        to_hex(&digest[..DIGEST_BYTES])
    )
}

/// Returns the longest prefix of `text` with at most `bytes` bytes that ends at a character boundary.
fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_letters_digits_and_dashes() {
        assert_eq!(slug("  Release 2.0: what's *new*?"), "release-2-0-what-s-new");
        assert_eq!(slug("Crème Brûlée"), "crème-brûlée");
        assert_eq!(slug("a\u{0}b\u{7}c"), "abc");
        assert_eq!(slug("!!!"), UNTITLED);
        assert_eq!(slug(""), UNTITLED);
        assert_eq!(slug("e\u{301}"), "é", "in normal form NFC");
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        let slug = slug(&"ä".repeat(1000));
        assert_eq!(slug, "ä".repeat(32));
    }

    #[test]
    fn a_long_id_is_shortened_and_stays_apart_from_others() {
        let mut ids = std::collections::BTreeSet::new();
        let (mut one, mut two) = ("a".to_owned(), "a".to_owned());
        for place in 0..200 {
            one = join(&one, '/', "chapter");
            two = join(&two, '/', if place == 0 { "section" } else { "chapter" });
            for id in [&one, &two] {
                assert!(id.len() <= BYTES_MAX);
                assert!(ids.insert(id.clone()), "{id} is the id of two paths");
            }
        }
    }
}
