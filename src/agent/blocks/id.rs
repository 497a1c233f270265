//! The id of a memory block: names in lower case, joined by dots and slashes.
//!
//! A name is letters a to z, digits, `_` and `-`, and begins and ends with a letter or digit. `.` joins names, and `/`
//! joins the results. An id of this form never leaves its folder, names no hidden file, and is never another spelling
//! of a second id.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - BID-1: an id has 1 to 256 ASCII characters, and no joint is first, last or next to another joint.

use std::fmt;

use super::block::Unfit;

/// The id of a memory block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BlockId(String);

impl BlockId {
    /// The longest id, in characters.
    pub(crate) const CHARS_MAX: usize = 256;

    /// Checks an id.
    ///
    /// # Errors
    /// The first fault, with its byte offset.
    pub(crate) fn new(text: &str) -> Result<Self, BlockIdError> {
        let is_inner = |byte: u8| byte == b'_' || byte == b'-';
        let is_joint = |byte: u8| byte == b'.' || byte == b'/';
        if text.is_empty() {
            return Err(BlockIdError::Empty);
        }
        let chars = text.chars().count();
        if chars > Self::CHARS_MAX {
            return Err(BlockIdError::TooLong(chars));
        }
        let mut before = b'/';
        for (at, sign) in text.char_indices() {
            let byte = u8::try_from(sign).unwrap_or(b' ');
            let is_letter = byte.is_ascii_lowercase() || byte.is_ascii_digit();
            if !is_letter && !is_inner(byte) && !is_joint(byte) {
                return Err(BlockIdError::Sign { at, sign });
            }
            // BID-1: a letter or digit is next to each joint.
            if (is_joint(before) && !is_letter) || (is_inner(before) && is_joint(byte)) {
                return Err(BlockIdError::Edge(at));
            }
            before = byte;
        }
        if is_inner(before) || is_joint(before) {
            return Err(BlockIdError::Edge(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why a text is not an id of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockIdError {
    /// It is empty.
    Empty,
    /// It has this number of characters, more than [`BlockId::CHARS_MAX`].
    TooLong(usize),
    /// It holds a character that no id may have.
    Sign {
        /// The byte offset of the character.
        at: usize,
        /// The character.
        sign: char,
    },
    /// A letter or digit is missing before this byte offset: a name is missing, or begins or ends with `_` or `-`.
    Edge(usize),
}

impl fmt::Display for BlockIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the id is empty"),
            Self::TooLong(chars) => {
                write!(
                    f,
                    "the id has {chars} characters, more than {}",
                    BlockId::CHARS_MAX
                )
            }
            Self::Sign { at, sign } => write!(
                f,
                "the id has {sign:?} at byte {at}; an id has a to z, 0 to 9, `_`, `-`, `.` and `/`"
            ),
            Self::Edge(at) => write!(
                f,
                "a letter or digit is missing at byte {at} of the id: each name begins and ends with one"
            ),
        }
    }
}

/// The extension of a block's file.
const ENDING: &str = ".md";

/// Returns the path of a block's file below the folder of blocks, with `/`.
///
/// # Errors
/// `FolderLikeFile`: the block `a.md/b` would need a folder where the block `a` has its file.
pub(super) fn path_of(id: &BlockId) -> Result<String, Unfit> {
    let is_like_file = |folders: &str| folders.split('/').any(|folder| folder.ends_with(ENDING));
    if id
        .as_str()
        .rsplit_once('/')
        .is_some_and(|(folders, _)| is_like_file(folders))
    {
        return Err(Unfit::FolderLikeFile);
    }
    Ok(format!("{id}{ENDING}"))
}

/// Returns the id of a path below the folder of blocks.
///
/// # Errors
/// An [`Unfit`] for a path that cannot have a block.
pub(super) fn id_of_path(path: &str) -> Result<BlockId, Unfit> {
    // BLF-2: the path never leaves the folder.
    if path.starts_with('/') || path.contains(['\\', ':', '\0']) {
        return Err(Unfit::Outside);
    }
    if path.split('/').any(|part| part.starts_with('.')) {
        return Err(Unfit::Hidden);
    }
    let text = path.strip_suffix(ENDING).ok_or(Unfit::NotMarkdown)?;
    let id = BlockId::new(text).map_err(Unfit::PathNoId)?;
    path_of(&id).map(|_| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The grammar as documented, checked name by name.
    fn is_id(text: &str) -> bool {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_name = |name: &str| {
            name.starts_with(is_letter)
                && name.ends_with(is_letter)
                && name.chars().all(|c| is_letter(c) || c == '_' || c == '-')
        };
        text.chars().count() <= 256 && text.split('/').all(|part| part.split('.').all(is_name))
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
            assert_eq!(BlockId::new(good).unwrap().as_str(), good);
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
            assert!(BlockId::new(bad).is_err(), "{bad}");
        }
        assert!(BlockId::new(&"a".repeat(256)).is_ok());
        assert_eq!(BlockId::new(&"a".repeat(257)), Err(BlockIdError::TooLong(257)));
    }

    #[test]
    fn the_refusal_says_where() {
        assert_eq!(BlockId::new("ab/C"), Err(BlockIdError::Sign { at: 3, sign: 'C' }));
        assert_eq!(BlockId::new("ab//c"), Err(BlockIdError::Edge(3)));
        assert_eq!(BlockId::new("ab-"), Err(BlockIdError::Edge(3)));
        assert_eq!(BlockId::new(""), Err(BlockIdError::Empty));
        assert!(
            BlockId::new("a\u{202E}b")
                .unwrap_err()
                .to_string()
                .contains("\\u{202e}")
        );
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
                assert_eq!(BlockId::new(text).is_ok(), is_id(text), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in any::<String>(), id in "[a-z0-9]([a-z0-9_-]{0,3}[a-z0-9])?([./][a-z0-9]([a-z0-9_-]{0,3}[a-z0-9])?){0,6}") {
            prop_assert_eq!(BlockId::new(&text).is_ok(), is_id(&text) && !text.is_empty());
            prop_assert!(BlockId::new(&id).is_ok());
        }
    }
}
