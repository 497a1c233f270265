//! Sets of characters, read from classes in regex syntax.
//!
//! # Layer
//! Layer 0, inside `visible`. Pure.

use regex_syntax::hir::{Class, HirKind};
use serde::Deserialize;

/// The letters and marks of scripts in which joiners change the shape of letters: the Arabic family, the scripts of
/// India and neighbouring countries, and the Mongolian script.
pub(crate) const JOINING: &str = r"[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mand}\p{scx=Nkoo}\p{scx=Mong}\p{scx=Phag}\p{scx=Adlm}\p{scx=Rohg}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Thai}\p{scx=Laoo}\p{scx=Tibt}\p{scx=Mymr}\p{scx=Khmr}\p{scx=Bali}\p{scx=Java}\p{scx=Sund}\p{scx=Cakm}\p{scx=Brah}\p{scx=Gran}\p{scx=Newa}]&&[\p{L}\p{M}]";
/// The letters of scripts that are written from right to left.
pub(crate) const RIGHTWARD: &str = r"[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Samr}\p{scx=Mand}\p{scx=Adlm}\p{scx=Rohg}]&&\p{L}";

/// A set of characters as sorted ranges.
#[derive(Deserialize)]
#[serde(from = "&str")]
pub(crate) struct Ranges(Vec<(char, char)>);

impl Ranges {
    /// Returns the set that a bracketed class of a regex describes.
    pub(crate) fn of(class: &str) -> Self {
        let parsed = regex_syntax::parse(class).expect("the character classes are valid");
        match parsed.kind() {
            HirKind::Class(Class::Unicode(class)) => {
                Self(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            // A class of one character.
            HirKind::Literal(one) => {
                let text = String::from_utf8_lossy(&one.0);
                Self(text.chars().map(|char| (char, char)).collect())
            }
            _ => panic!("a class of this crate is not a set of characters"),
        }
    }

    pub(crate) fn has(&self, char: char) -> bool {
        let after = self.0.partition_point(|(_, end)| *end < char);
        self.0.get(after).is_some_and(|(start, _)| *start <= char)
    }
}

impl From<&str> for Ranges {
    fn from(class: &str) -> Self {
        Self::of(class)
    }
}
