//! Which characters are suspicious, by their Unicode properties, and which excuse them.
//!
//! The sets come from the property tables of the regex crate, so that a new version of Unicode is a new version of that
//! crate. Suspicious is what is ignorable by default, a control or format character, a separator of lines, of private
//! use, or not assigned; what excuses them (emoji, scripts that need joiners) is asked only for those few.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// Letters and marks of scripts in which joiners choose the shape of letters: the Arabic family, those of India and its
/// neighbours, and Mongolia's.
pub(crate) const JOINING: &str = r"[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mand}\p{scx=Nkoo}\p{scx=Mong}\p{scx=Phag}\p{scx=Adlm}\p{scx=Rohg}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Thai}\p{scx=Laoo}\p{scx=Tibt}\p{scx=Mymr}\p{scx=Khmr}\p{scx=Bali}\p{scx=Java}\p{scx=Sund}\p{scx=Cakm}\p{scx=Brah}\p{scx=Gran}\p{scx=Newa}]&&[\p{L}\p{M}]";
/// Letters of scripts written from right to left.
pub(crate) const RIGHTWARD: &str = r"[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Samr}\p{scx=Mand}\p{scx=Adlm}\p{scx=Rohg}]&&\p{L}";

/// A set of characters as sorted ranges.
pub(crate) struct Ranges(Vec<(char, char)>);

impl Ranges {
    /// Returns the set of a bracketed class.
    pub(crate) fn of(class: &str) -> Self {
        let parsed = regex_syntax::parse(class).expect("the classes of this crate parse");
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            panic!("the classes of this crate are sets of characters");
        };
        Self(class.iter().map(|range| (range.start(), range.end())).collect())
    }

    pub(crate) fn has(&self, char: char) -> bool {
        let after = self.0.partition_point(|(_, end)| *end < char);
        self.0.get(after).is_some_and(|(start, _)| *start <= char)
    }
}

/// One bit a code point: the test that every character beyond ASCII passes.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    fn of(ranges: &Ranges) -> Self {
        let mut bits = vec![0_u64; 0x11_0000 / 64];
        for &(start, end) in &ranges.0 {
            for code in start as usize..=end as usize {
                bits[code / 64] |= 1 << (code % 64);
            }
        }
        Self(bits)
    }

    pub(super) fn has(&self, char: char) -> bool {
        let code = char as usize;
        self.0[code / 64] >> (code % 64) & 1 == 1
    }
}

/// The sets that the scan asks.
pub(super) struct Classes {
    /// To be looked at.
    pub(super) suspicious: Bits,
    pub(super) private: Ranges,
    pub(super) unassigned: Ranges,
    pub(super) bidi: Ranges,
    pub(super) variation: Ranges,
    /// What a variation selector for emoji may follow.
    pub(super) emoji: Ranges,
    /// What a joiner may stand between, besides modifiers and selectors.
    pub(super) pictograph: Ranges,
    pub(super) modifier: Ranges,
    /// Letters and marks of scripts that shape by joiners.
    pub(super) joining: Ranges,
    /// Letters of scripts written from right to left.
    pub(super) rightward: Ranges,
    /// What a variation selector other than for emoji may follow.
    pub(super) varying: Ranges,
    pub(super) ideograph: Ranges,
    pub(super) mongolian: Ranges,
    pub(super) jamo: Ranges,
    pub(super) hieroglyph: Ranges,
    pub(super) musical: Ranges,
}

pub(super) static CLASSES: LazyLock<Classes> = LazyLock::new(|| Classes {
    // Marks that show a number sign are format characters that can be seen.
    suspicious: Bits::of(&Ranges::of(
        r"[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\p{Co}\p{Cn}\u{2800}]--[\p{Prepended_Concatenation_Mark}\t\n\r]]",
    )),
    private: Ranges::of(r"[\p{Co}]"),
    unassigned: Ranges::of(r"[\p{Cn}]"),
    bidi: Ranges::of(r"[\p{Bidi_Control}]"),
    variation: Ranges::of(r"[\p{Variation_Selector}]"),
    emoji: Ranges::of(r"[\p{Emoji}]"),
    pictograph: Ranges::of(r"[\p{Extended_Pictographic}]"),
    modifier: Ranges::of(r"[\p{Emoji_Modifier}]"),
    joining: Ranges::of(&format!("[{JOINING}]")),
    rightward: Ranges::of(&format!("[{RIGHTWARD}]")),
    varying: Ranges::of(
        r"[\p{Sm}\p{Han}\p{Myanmar}\p{Phags_Pa}\p{Manichaean}\u{3001}\u{3002}\u{FF01}-\u{FF1F}0]",
    ),
    ideograph: Ranges::of(r"[\p{Han}]"),
    mongolian: Ranges::of(r"[\p{Mongolian}]"),
    jamo: Ranges::of(r"[\u{1100}-\u{11FF}\u{A960}-\u{A97F}\u{D7B0}-\u{D7FF}]"),
    hieroglyph: Ranges::of(r"[\p{Egyptian_Hieroglyphs}]"),
    musical: Ranges::of(r"[\u{1D100}-\u{1D1FF}]"),
});
