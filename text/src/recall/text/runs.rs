//! Splits text into runs: words, text in scripts without spaces, and emoji.
//!
//! A word consists of letters and digits of any script, which apostrophes may join; all other characters separate
//! words. A script without spaces ends a word, so a Latin name in a Japanese sentence is a separate word. An emoji is
//! one run, with its joiners but without its variation marks and skin tones.
//!
//! `unicode-segmentation` would join words at full stops and underscores, and would split Thai, kana and Han in another
//! way. The ranking was tuned for the rules of this module.
//!
//! # Layer
//! Pure; uses Unicode properties, but no meaning of words.
//!
//! # Invariants
//! - TRN-1: runs are slices of the text, in ascending order, that do not overlap. Splitting never fails.
//! - TRN-2: every letter, digit and emoji of the text is in exactly one run.

use unicode_normalization::char::is_combining_mark;

/// The kind of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunKind {
    /// Letters and digits, possibly with apostrophes between them.
    Word,
    /// Characters of a script that puts no spaces between words.
    Spaceless,
    /// One emoji.
    Emoji,
}

/// A piece of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) kind: RunKind,
    pub(crate) text: &'a str,
    /// The offset of the start of the run in the text, in bytes.
    pub(crate) start: usize,
}

impl<'a> Run<'a> {
    /// Returns the parts of the run between apostrophes, each with its start in the text.
    pub(crate) fn pieces(self) -> impl Iterator<Item = (usize, &'a str)> {
        let pieces = self.text.split(is_apostrophe).filter(|piece| !piece.is_empty());
        // A piece is a slice of the run, so the difference of their addresses is its offset.
        pieces.map(move |piece| {
            (
                self.start + piece.as_ptr().addr() - self.text.as_ptr().addr(),
                piece,
            )
        })
    }
}

/// An iterator over the runs of a text.
pub(crate) struct Runs<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

/// Returns the kind of run that begins with `letter`, if there is one.
fn kind_of(letter: char) -> Option<RunKind> {
    if letter.is_ascii() {
        return letter.is_ascii_alphanumeric().then_some(RunKind::Word);
    }
    if is_spaceless(letter) {
        Some(RunKind::Spaceless)
    } else if is_emoji(letter) {
        Some(RunKind::Emoji)
    } else {
        letter.is_alphanumeric().then_some(RunKind::Word)
    }
}

/// Returns whether a letter is Han, kana, Hangul or bopomofo, or of a South-East Asian script without spaces between
/// words. Korean has spaces, but attaches endings to its words, so pairs of syllables find more.
pub fn is_spaceless(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x3005..=0x3007
        | 0x3031..=0x3035 | 0x3041..=0x30FA | 0x30FC..=0x318F | 0x31A0..=0x31BF | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F | 0x1B000..=0x1B2FF | 0x20000..=0x3FFFF)
        && (letter.is_alphanumeric() || is_combining_mark(letter))
}

/// Returns whether a letter is a pictograph or part of a flag.
fn is_emoji(letter: char) -> bool {
    matches!(u32::from(letter),
        0x231A..=0x231B | 0x23E9..=0x23FA | 0x2600..=0x27BF | 0x2B50 | 0x2B55 | 0x1F004 | 0x1F0CF
        | 0x1F18E | 0x1F191..=0x1F19A | 0x1F1E6..=0x1F1FF | 0x1F300..=0x1FAFF)
}

/// Returns whether a letter is a mark that follows an emoji and does not change its meaning: variation, skin tone or
/// keycap.
pub(crate) fn is_emoji_mark(letter: char) -> bool {
    matches!(u32::from(letter), 0xFE0E | 0xFE0F | 0x20E3 | 0x1F3FB..=0x1F3FF)
}

/// Returns whether a letter is one of the two apostrophes that occur inside words.
pub(crate) fn is_apostrophe(letter: char) -> bool {
    matches!(letter, '\'' | '\u{2019}')
}

/// Returns the end of the letters at the start of `text` that are part of a run. `is_part` decides by the previous
/// letter (`first` at the start) and the letter itself.
fn end_of(text: &str, first: char, is_part: impl Fn(char, char) -> bool) -> usize {
    let mut before = first;
    let end = text.char_indices().find(|&(_, letter)| {
        let previous = std::mem::replace(&mut before, letter);
        !is_part(previous, letter)
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Returns the end of the word at the start of `text`. One apostrophe between two letters is part of the word.
fn word_end(text: &str) -> usize {
    let end = end_of(text, ' ', |before, letter| {
        let is_mark = || is_combining_mark(letter) && !is_emoji_mark(letter);
        kind_of(letter) == Some(RunKind::Word)
            || !is_apostrophe(before) && (is_apostrophe(letter) || !letter.is_ascii() && is_mark())
    });
    text[..end].trim_end_matches(is_apostrophe).len()
}

/// Returns the end of the emoji at the start of `text`. A flag has two letters; a joined emoji has any number of parts.
fn emoji_end(text: &str) -> usize {
    const JOINER: char = '\u{200D}';
    let flags = text
        .chars()
        .take(2)
        .take_while(|letter| matches!(letter, '\u{1F1E6}'..='\u{1F1FF}'));
    let flag: usize = flags.map(char::len_utf8).sum();
    if flag > 0 {
        return flag;
    }
    let end = end_of(text, JOINER, |before, letter| match before {
        JOINER => is_emoji(letter),
        _ => letter == JOINER || is_emoji_mark(letter),
    });
    text[..end].trim_end_matches(JOINER).len()
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        let rest = &self.text[self.at..];
        let (skipped, kind) = rest
            .char_indices()
            .find_map(|(at, letter)| kind_of(letter).map(|kind| (at, kind)))?;
        let rest = &rest[skipped..];
        let length = match kind {
            RunKind::Word => word_end(rest),
            RunKind::Spaceless => end_of(rest, ' ', |_, letter| is_spaceless(letter)),
            RunKind::Emoji => emoji_end(rest),
        };
        let start = self.at + skipped;
        self.at = start + length;
        Some(Run {
            kind,
            text: &rest[..length],
            start,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{RunKind, Runs};

    #[test]
    fn text_is_cut_where_its_scripts_say() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("'' -- _", &[]),
            (
                "it's well-known, foo_bar",
                &["it's", "well", "known", "foo", "bar"],
            ),
            ("Jon’s dogs'", &["Jon’s", "dogs"]),
            ("iPhoneを買った。5台", &["iPhone", "を買った", "5", "台"]),
            ("안녕하세요 세계", &["안녕하세요", "세계"]),
            ("ok👍🏽👍", &["ok", "👍🏽", "👍"]),
            ("👨‍👩‍👧 ❤️ 🇩🇪🇫🇷", &["👨‍👩‍👧", "❤️", "🇩🇪", "🇫🇷"]),
            ("cafe\u{301} हिन्दी", &["cafe\u{301}", "हिन्दी"]),
            ("3.5 10:30", &["3", "5", "10", "30"]),
        ];
        for (text, wanted) in cases {
            let runs: Vec<&str> = Runs::new(text).map(|run| run.text).collect();
            assert_eq!(runs, *wanted, "of {text:?}");
        }
    }

    #[test]
    fn every_letter_is_in_one_run() {
        let text = "a\u{200D}👨\u{200D}b ไทย ❤\u{FE0F}x 漢字kana ﷽ 1️⃣ \u{0} é’ ’é ''x";
        let mut end = 0;
        for run in Runs::new(text) {
            assert!(run.start >= end, "TRN-1");
            assert_eq!(&text[run.start..run.start + run.text.len()], run.text, "TRN-1");
            assert!(!text[end..run.start].chars().any(char::is_alphanumeric), "TRN-2");
            end = run.start + run.text.len();
        }
        assert!(Runs::new("漢").all(|run| run.kind == RunKind::Spaceless));
    }
}
