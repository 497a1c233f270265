//! The sets of characters that decide what is hidden, by their Unicode properties.
//!
//! They are read once from the tables of `regex-syntax`, which come with the regular expressions of the scan: a new
//! version of Unicode is a new version of that crate, and there is no table here to be kept up to date.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// A set of characters, as ranges in order.
pub(super) struct Set(Vec<(char, char)>);

impl Set {
    /// Reads a set in the notation of regular expressions.
    fn new(notation: &str) -> Self {
        let parsed = regex_syntax::parse(notation).expect("the notations below parse");
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            unreachable!("each notation below is a set of characters");
        };
        Self(
            class
                .ranges()
                .iter()
                .map(|range| (range.start(), range.end()))
                .collect(),
        )
    }

    pub(super) fn has(&self, char: char) -> bool {
        let place = self.0.partition_point(|(_, last)| *last < char);
        self.0.get(place).is_some_and(|(first, _)| *first <= char)
    }
}

/// What is invisible, and what may excuse it. What excuses is never invisible itself.
pub(super) struct Classes {
    pub(super) invisible: Set,
    /// Letters and marks of scripts in which joiners choose the shape of letters.
    pub(super) joining: Set,
    pub(super) emoji: Set,
    pub(super) pictographs: Set,
    pub(super) modifiers: Set,
    pub(super) rightward: Set,
    pub(super) mongolian: Set,
    pub(super) hieroglyphs: Set,
    pub(super) marks: Set,
}

/// Marks that enclose the number behind them are format characters that can be seen. Line separators are in, as
/// what people read as one line must be one.
const INVISIBLE: &str = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]--\p{Prepended_Concatenation_Mark}";

/// Scripts of the Arabic family, of India and its neighbours, and of Mongolia.
const JOINING: [&str; 30] = [
    "Arab", "Syrc", "Mand", "Nkoo", "Adlm", "Rohg", "Mong", "Phag", "Deva", "Beng", "Guru", "Gujr", "Orya",
    "Taml", "Telu", "Knda", "Mlym", "Sinh", "Thai", "Laoo", "Tibt", "Mymr", "Khmr", "Bali", "Java", "Sund",
    "Cakm", "Brah", "Gran", "Newa",
];

pub(super) static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    let visible = |set: &str| Set::new(&format!("[[{set}]--[{INVISIBLE}]]"));
    let joining = JOINING.map(|script| format!(r"\p{{scx={script}}}")).concat();
    Classes {
        invisible: Set::new(&format!("[{INVISIBLE}]")),
        joining: visible(&format!(r"[{joining}]&&[\p{{L}}\p{{M}}]")),
        emoji: visible(r"\p{Emoji}"),
        pictographs: visible(r"\p{Extended_Pictographic}"),
        modifiers: visible(r"\p{Emoji_Modifier}"),
        rightward: visible(
            r"[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Samr}\p{scx=Mand}\p{scx=Adlm}\p{scx=Rohg}]&&\p{L}",
        ),
        mongolian: visible(r"\p{Mongolian}&&\p{L}"),
        hieroglyphs: visible(r"\p{Egyptian_Hieroglyphs}"),
        marks: visible(r"\p{M}"),
    }
});
