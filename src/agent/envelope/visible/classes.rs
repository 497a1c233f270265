//! The sets of characters that decide what is hidden, by their Unicode properties.
//!
//! The sets themselves are those of the scan; what excuses is less here, as what is shown has to look the same wherever
//! it is cut.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::sync::LazyLock;

use crate::scan::unicode::{JOINING, RIGHTWARD, Ranges};

/// What is invisible, and what may excuse it. What excuses is never invisible itself.
pub(super) struct Classes {
    pub(super) invisible: Ranges,
    pub(super) joining: Ranges,
    pub(super) emoji: Ranges,
    pub(super) pictographs: Ranges,
    pub(super) modifiers: Ranges,
    pub(super) rightward: Ranges,
    pub(super) mongolian: Ranges,
    pub(super) hieroglyphs: Ranges,
    pub(super) marks: Ranges,
}

/// Marks that enclose the number behind them are format characters that can be seen. Line separators are in, as
/// what people read as one line must be one.
const INVISIBLE: &str = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]--\p{Prepended_Concatenation_Mark}";

pub(super) static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    let visible = |set: &str| Ranges::of(&format!("[[{set}]--[{INVISIBLE}]]"));
    Classes {
        invisible: Ranges::of(&format!("[{INVISIBLE}]")),
        joining: visible(JOINING),
        emoji: visible(r"\p{Emoji}"),
        pictographs: visible(r"\p{Extended_Pictographic}"),
        modifiers: visible(r"\p{Emoji_Modifier}"),
        rightward: visible(RIGHTWARD),
        mongolian: visible(r"\p{Mongolian}&&\p{L}"),
        hieroglyphs: visible(r"\p{Egyptian_Hieroglyphs}"),
        marks: visible(r"\p{M}"),
    }
});
