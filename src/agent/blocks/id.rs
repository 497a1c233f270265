//! The id of a memory block, and the path of its file.
//!
//! An id consists of names that are joined by `.` or `/`. A name contains a to z, digits, `_` and `-`, and begins and
//! ends with a letter or digit. So the path of an id never leaves the folder of blocks, and never names a hidden file.
//! Two different ids never have the same path, even on a file system that ignores case.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - BID-1: an id has 1 to 256 ASCII characters. A `.` or `/` is never first, last or next to another `.` or `/`.

use super::block::Unfit;
use crate::object::Id;

/// A description of the grammar of ids, for error messages.
pub(crate) const GRAMMAR: &str = "an id consists of names joined by `.` or `/`; a name has a-z, 0-9, `_` and `-`, and begins and ends with a letter or digit";
/// The extension of a block's file.
const ENDING: &str = ".md";

/// Parses the id of a block. Returns `None` if the text is not valid.
pub(crate) fn block_id(text: &str) -> Option<Id> {
    let is_letter = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
    // BID-1: a letter or digit precedes and follows each `.` and `/`.
    let is_name = |name: &str| {
        name.starts_with(is_letter)
            && name.ends_with(is_letter)
            && name.chars().all(|sign| is_letter(sign) || "_-".contains(sign))
    };
    let id = Id::new(text).ok()?;
    text.split(['.', '/']).all(is_name).then_some(id)
}

/// Returns the path of a block's file below the folder of blocks, with `/`.
///
/// # Errors
/// `FolderLikeFile`: the id contains `.md/`. The block `a.md/b` would need a folder at the path of the file of
/// block `a`.
pub(super) fn path_of(id: &Id) -> Result<String, Unfit> {
    if id.as_str().contains(".md/") {
        return Err(Unfit::FolderLikeFile);
    }
    Ok(format!("{id}{ENDING}"))
}

/// Returns the id of a path below the folder of blocks. A path outside the folder is not a valid id (BLF-2).
///
/// # Errors
/// Returns an [`Unfit`] if the path is not a path of a block.
pub(super) fn id_of_path(path: &str) -> Result<Id, Unfit> {
    let id = path
        .strip_suffix(ENDING)
        .and_then(block_id)
        .ok_or(Unfit::NotAPath)?;
    path_of(&id).map(|_| id)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    /// The grammar of ids as a regular expression, as the original system defines it.
    static GRAMMAR_OF_OLD: LazyLock<Regex> = LazyLock::new(|| {
        let name = "[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?";
        Regex::new(&format!(r"^{name}(?:\.{name})*(?:/{name}(?:\.{name})*)*$")).unwrap()
    });

    fn is_id(text: &str) -> bool {
        text.len() <= 256 && GRAMMAR_OF_OLD.is_match(text)
    }

    #[test]
    fn ids_of_the_first_system_are_judged_as_there() {
        for good in [
            "a",
            "a/b/c",
            "v1.0/config",
            "my-block_2",
            "0config",
            "warehouse/snowflake",
            "a--b",
            "a_-b",
            "x1",
        ] {
            assert_eq!(block_id(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "..",
            ".",
            ".hidden",
            "a..b",
            "a/./b",
            "a/../b",
            "a//b",
            "a/b/",
            "/a/b",
            "a\\b",
            "a\0b",
            "a\nb",
            "a\n",
            "%2e%2e/%2e%2e/etc",
            "../../../etc/passwd",
            "a/..b",
            "a../b",
            "MyBlock",
            "my block",
            "-bad",
            "_bad",
            "bad-",
            "bad_",
            "a/-b",
            "a-/b",
            "a.-b",
            "a-.b",
            "caf\u{e9}",
            "\u{FF41}",
            "a.",
            ".a",
            "a/.b",
            "a/b.",
            "..%2f..%2fetc/passwd",
        ] {
            assert!(block_id(bad).is_none(), "{bad}");
        }
        assert!(block_id(&"a".repeat(256)).is_some());
        assert!(block_id(&"a".repeat(257)).is_none());
    }

    #[test]
    fn bid_1_every_short_text_is_judged_as_the_grammar_says() {
        const SIGNS: [char; 8] = ['a', '0', '-', '_', '.', '/', 'A', '\u{e9}'];
        let mut texts = vec![String::new()];
        for _ in 0..6 {
            texts = texts
                .iter()
                .flat_map(|text| SIGNS.map(|sign| format!("{text}{sign}")))
                .collect();
            for text in &texts {
                assert_eq!(block_id(text).is_some(), is_id(text), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in any::<String>(), id in "[a-z0-9]([a-z0-9_-]{0,3}[a-z0-9])?([./][a-z0-9]([a-z0-9_-]{0,3}[a-z0-9])?){0,6}") {
            prop_assert_eq!(block_id(&text).is_some(), is_id(&text));
            prop_assert!(block_id(&id).is_some());
        }
    }
}
