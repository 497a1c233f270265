//! Finds the invisible characters of a text, which the envelope shows as `\u{..}`.
//!
//! By Unicode property, invisible characters are default ignorable, control, format, private-use and unassigned
//! characters. Some of them have a legitimate use: in emoji of several parts, as joiners in scripts whose letters
//! change shape, and as direction marks after right-to-left letters. Characters in such a context stay unescaped.
//!
//! The sets of characters are the same as in the scan. The rules here permit an invisible character in fewer contexts,
//! because a text must look the same wherever it is cut.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - VIS-1: an escaped character never decides whether another character is escaped. So escaping a text twice has the
//!   same result as escaping it once.

use std::sync::LazyLock;

use crate::scan::unicode::{self, FLAGS, Ranges};

const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
pub(super) const ZERO_WIDTH_JOINER: char = '\u{200D}';
const EMOJI_SELECTOR: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';
const BLACK_FLAG: char = '\u{1F3F4}';
/// The number of tag characters of a flag emoji, including the final cancel tag.
const TAGS: usize = 6;
/// The maximum distance between a right-to-left letter and a direction mark that stays unescaped, in characters.
const DIRECTION_REACH: usize = 8;

/// Returns for each character of `chars` whether the envelope shows it as `\u{..}`. Never escapes line breaks and tabs.
pub(super) fn hidden(chars: &[char]) -> Vec<bool> {
    let is_hidden = |(at, char): (usize, &char)| is_invisible(*char) && !does_its_work(chars, at);
    chars.iter().enumerate().map(is_hidden).collect()
}

/// Checks whether `char` is an invisible character, whatever its context.
pub(super) fn is_invisible(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control() && !matches!(char, '\t' | '\n' | '\r');
    }
    INVISIBLE.has(char)
}

/// Checks whether `char` extends the character before it, so that a cut must not separate the two characters.
pub(super) fn extends(char: char) -> bool {
    !char.is_ascii() && (MARKS.has(char) || MODIFIERS.has(char) || INVISIBLE.has(char))
}

/// Checks whether the invisible character at `at` has a legitimate use in its context.
fn does_its_work(chars: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| chars[before]) else {
        return false;
    };
    match chars[at] {
        ZERO_WIDTH_JOINER => JOINING.has(before) || joins_emoji(chars, at),
        ZERO_WIDTH_NON_JOINER => JOINING.has(before),
        '\u{FE0E}' | EMOJI_SELECTOR if before.is_ascii() => {
            matches!(before, '0'..='9' | '#' | '*') && chars.get(at + 1) == Some(&KEYCAP)
        }
        '\u{FE0E}' | EMOJI_SELECTOR => EMOJI.has(before),
        '\u{180B}'..='\u{180F}' => MONGOLIAN.has(before),
        '\u{13430}'..='\u{1343F}' => HIEROGLYPHS.has(before),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => is_behind_rightward(&chars[..at]),
        '\u{E0020}'..='\u{E007F}' => is_in_flag(chars, at),
        _ => false,
    }
}

/// Checks whether the joiner at `at` joins two emoji into one.
fn joins_emoji(chars: &[char], at: usize) -> bool {
    let is_pictograph = |at: usize| chars.get(at).is_some_and(|char| PICTOGRAPHS.has(*char));
    let has_suffix = chars[at - 1] == EMOJI_SELECTOR || MODIFIERS.has(chars[at - 1]);
    let base = at - 1 - usize::from(has_suffix && at >= 2);
    is_pictograph(base) && is_pictograph(at + 1)
}

/// Checks whether the last [`DIRECTION_REACH`] characters of `before` contain a right-to-left letter, with no invisible
/// character after it.
fn is_behind_rightward(before: &[char]) -> bool {
    let near = before.iter().rev().take(DIRECTION_REACH);
    let mut seen = near.take_while(|char| !is_invisible(**char));
    seen.any(|char| RIGHTWARD.has(*char))
}

/// Checks whether the tag character at `at` belongs to the emoji of a known flag.
fn is_in_flag(chars: &[char], at: usize) -> bool {
    let start = (at.saturating_sub(TAGS)..at)
        .rev()
        .find(|start| chars[*start] == BLACK_FLAG);
    let Some(tags) = start.and_then(|start| chars.get(start + 1..=start + TAGS)) else {
        return false;
    };
    FLAGS.iter().any(|flag| flag.chars().eq(tags.iter().copied()))
}

/// The set of invisible characters. It excludes marks that enclose a number, which are visible format characters. It
/// includes line and paragraph separators, because people may see one line where a program reads two.
const UNSEEN: &str = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]--\p{Prepended_Concatenation_Mark}";

static INVISIBLE: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(&format!("[{UNSEEN}]")));
static JOINING: LazyLock<Ranges> = LazyLock::new(|| visible(unicode::JOINING));
static EMOJI: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Emoji}"));
static PICTOGRAPHS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Extended_Pictographic}"));
static MODIFIERS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Emoji_Modifier}"));
static RIGHTWARD: LazyLock<Ranges> = LazyLock::new(|| visible(unicode::RIGHTWARD));
static MONGOLIAN: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Mongolian}&&\p{L}"));
static HIEROGLYPHS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Egyptian_Hieroglyphs}"));
static MARKS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{M}"));

/// Returns the visible characters of `set`. Next to these characters, an invisible character may stay unescaped.
fn visible(set: &str) -> Ranges {
    Ranges::of(&format!("[[{set}]--[{UNSEEN}]]"))
}
