//! Writes out invisible characters as `\u{..}`, so that people and models read the same text.
//!
//! By Unicode property, invisible characters are default ignorable, control, format, private-use and unassigned
//! characters. Some of them have a legitimate use: in emoji of several parts, as joiners in scripts whose letters
//! change shape, and as direction marks after right-to-left letters. Characters in such a context stay as they are.
//!
//! The scan reads the same sets of characters. The rules here permit an invisible character in fewer contexts, because
//! a text must look the same wherever it is cut.
//!
//! # Layer
//! Layer 0. Pure: imports nothing of the crate.
//!
//! # Invariants
//! - VIS-1: an escaped character never decides whether another character is escaped. So escaping a text twice has the
//!   same result as escaping it once.
//! - VIS-2: a text that was written out controls no terminal.

mod ranges;

use std::borrow::Cow;
use std::sync::LazyLock;

pub(crate) use self::ranges::{JOINING, RIGHTWARD, Ranges};

const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
/// Joins characters to one sign, as in emoji of several parts.
pub const ZERO_WIDTH_JOINER: char = '\u{200D}';
const EMOJI_SELECTOR: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';
const BLACK_FLAG: char = '\u{1F3F4}';
/// The number of tag characters of a flag emoji, including the final cancel tag.
const TAGS: usize = 6;
/// The maximum distance between a right-to-left letter and a direction mark that stays unescaped, in characters.
const DIRECTION_REACH: usize = 8;

/// The tags that make a black flag the flag of England, Scotland or Wales: a name in tag characters, then the end tag.
pub(crate) const FLAGS: [&str; 3] = [
    "\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// Returns `text` with its invisible characters written out. Line feeds and tabs stay, and carriage returns do not.
pub fn written_out(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| is_invisible(char) || char == '\r') {
        return Cow::Borrowed(text);
    }
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 16);
    for (char, is_hidden) in chars.iter().zip(hidden(&chars)) {
        // INVARIANT VIS-2: a carriage return would move the cursor to the start of the line.
        if is_hidden || *char == '\r' {
            out.extend(char.escape_unicode());
        } else {
            out.push(*char);
        }
    }
    Cow::Owned(out)
}

/// Returns `text` with its invisible characters written out, as a text of its own (VIS-2).
pub fn printable(text: &str) -> String {
    written_out(text).into_owned()
}

/// Returns `text` on one line, with its invisible characters written out.
pub fn one_line(text: &str) -> String {
    if text.contains(|char: char| char.is_whitespace() && char != ' ') {
        printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        printable(text)
    }
}

/// Returns the first `most` characters of `text`, with a mark if the text was cut.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let mark = if most > 4 { "..." } else { "" };
    let start = text.chars().take(most - mark.len());
    start.chain(mark.chars()).collect()
}

/// Returns the number of characters that [`written_out`] writes out as invisible.
pub fn hidden_count(text: &str) -> usize {
    if !text.chars().any(is_invisible) {
        return 0;
    }
    let chars: Vec<char> = text.chars().collect();
    hidden(&chars).into_iter().filter(|is_hidden| *is_hidden).count()
}

/// Returns for each character of `chars` whether it is written out. Line breaks and tabs never are.
pub fn hidden(chars: &[char]) -> Vec<bool> {
    let is_hidden = |(at, char): (usize, &char)| is_invisible(*char) && !does_its_work(chars, at);
    chars.iter().enumerate().map(is_hidden).collect()
}

/// Checks whether `char` is an invisible character, whatever its context.
pub fn is_invisible(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control() && !matches!(char, '\t' | '\n' | '\r');
    }
    INVISIBLE.has(char)
}

/// Checks whether `char` extends the character before it, so that a cut must not separate the two characters.
pub fn extends(char: char) -> bool {
    !char.is_ascii() && (MARKS.has(char) || MODIFIERS.has(char) || INVISIBLE.has(char))
}

/// Checks whether the invisible character at `at` has a legitimate use in its context.
fn does_its_work(chars: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| chars[before]) else {
        return false;
    };
    match chars[at] {
        ZERO_WIDTH_JOINER => JOINING_SET.has(before) || joins_emoji(chars, at),
        ZERO_WIDTH_NON_JOINER => JOINING_SET.has(before),
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
    seen.any(|char| RIGHTWARD_SET.has(*char))
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
static JOINING_SET: LazyLock<Ranges> = LazyLock::new(|| visible(JOINING));
static EMOJI: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Emoji}"));
static PICTOGRAPHS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Extended_Pictographic}"));
static MODIFIERS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Emoji_Modifier}"));
static RIGHTWARD_SET: LazyLock<Ranges> = LazyLock::new(|| visible(RIGHTWARD));
static MONGOLIAN: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Mongolian}&&\p{L}"));
static HIEROGLYPHS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{Egyptian_Hieroglyphs}"));
static MARKS: LazyLock<Ranges> = LazyLock::new(|| visible(r"\p{M}"));

/// Returns the visible characters of `set`. Next to these characters, an invisible character may stay unescaped.
fn visible(set: &str) -> Ranges {
    Ranges::of(&format!("[[{set}]--[{UNSEEN}]]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_characters() {
        assert_eq!(cut("grün", 4), "grün");
        assert_eq!(cut("grüner Tee", 6), "grü...");
        assert_eq!(cut("grüner Tee", 3), "grü");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
        assert_eq!(one_line("a  b"), "a  b");
    }

    /// INVARIANT VIS-2: a text that was written out controls no terminal.
    #[test]
    fn what_nobody_sees_is_written_out_and_what_does_its_work_stays() {
        let plain = "Grüße, 你好\n\tשלום";
        assert!(matches!(written_out(plain), Cow::Borrowed(_)));
        for (text, shown) in [
            ("a\u{1b}[31mb\tc\n", "a\\u{1b}[31mb\tc\n"),
            ("a\rb", "a\\u{d}b"),
            ("abc\u{202e}cba\u{7f}\u{9b}", "abc\\u{202e}cba\\u{7f}\\u{9b}"),
            ("te\u{200b}a\u{2028}", "te\\u{200b}a\\u{2028}"),
            ("\u{E0041}\u{E000}", "\\u{e0041}\\u{e000}"),
            ("a\u{FE0F}", "a\\u{fe0f}"),
        ] {
            assert_eq!(written_out(text), shown);
            assert_eq!(written_out(shown), shown, "VIS-1");
        }
        // An emoji of several parts, and a Persian word with a non-joiner.
        for text in ["\u{1F469}\u{200D}\u{1F680}", "می\u{200C}خواهم"] {
            assert_eq!(written_out(text), text);
            assert_eq!(hidden_count(text), 0);
        }
        assert_eq!(hidden_count("a\u{200b}\u{E0041}b"), 2);
    }
}
