//! Splits a paragraph into sentences, in many languages.
//!
//! A full stop or other end mark before white space ends a sentence, unless it belongs to an abbreviation, an initial
//! or a list number. The end marks of scripts without spaces end a sentence anywhere. Thai and Lao have no end mark: a
//! space between two letters of the script separates phrases. A paragraph of one sentence is split into lines.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - SEN-1: sentences are trimmed, nonempty slices in rising order without overlaps, with only white space between
//!   them.

use std::ops::Range;

/// Abbreviations, in lower case and without stops.
#[rustfmt::skip]
const ABBREVIATIONS: [&str; 36] = [
    "al", "approx", "art", "bzw", "ca", "cf", "dr", "ed", "eg", "etc", "fig", "ggf", "hr", "ie", "inc", "jr", "ltd",
    "max", "min", "mr", "mrs", "ms", "mt", "nr", "pp", "prof", "sr", "sra", "st", "str", "usw", "vgl", "vol", "vs",
    "z.b", "zb",
];

/// Returns the sentences of `text[paragraph]`, as ranges of `text`.
pub(super) fn sentences(text: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    let part = &text[paragraph.clone()];
    let cut = |mut cuts: Vec<usize>| -> Vec<Range<usize>> {
        cuts.push(part.len());
        let ends = cuts.iter().map(|at| paragraph.start + at);
        let starts = [paragraph.start].into_iter().chain(ends.clone());
        let pieces = starts.zip(ends);
        pieces
            .filter_map(|(start, end)| trimmed(text, start..end))
            .collect()
    };
    let found = cut(ends(part));
    if found.len() < 2 {
        return cut(part.match_indices('\n').map(|(at, _)| at).collect());
    }
    found
}

/// Returns `range` without the white space at its ends. Returns `None` if the range contains only white space.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = &text[range.clone()];
    let start = range.end - part.trim_start().len();
    let end = range.start + part.trim_end().len();
    (start < end).then_some(start..end)
}

/// Checks whether `text` ends with an end mark that needs no space after it.
pub(super) fn ends_without_space(text: &str) -> bool {
    let bare = text.trim_end_matches(is_closer);
    bare.ends_with(is_stop_anywhere)
}

/// Returns the byte offsets at which sentences end.
fn ends(part: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut letters = part.char_indices().peekable();
    let mut before = None;
    while let Some((at, letter)) = letters.next() {
        if is_stop(letter) || is_stop_anywhere(letter) {
            // A sentence includes the whole run of end marks, and the closing quotes and brackets after it.
            let mut end = at + letter.len_utf8();
            let mut anywhere = is_stop_anywhere(letter);
            let mut run = 1;
            let goes_on = |next: char| is_stop(next) || is_stop_anywhere(next) || is_closer(next);
            while let Some((at, next)) = letters.next_if(|&(_, next)| goes_on(next)) {
                end = at + next.len_utf8();
                anywhere |= is_stop_anywhere(next);
                run += 1;
            }
            let is_followed = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
            let is_end = || letter != '.' || run > 1 || !is_abbreviated(&part[..at]);
            if anywhere || (is_followed && is_end()) {
                found.push(end);
            }
        } else if letter == ' '
            && before.is_some_and(is_thai_or_lao)
            && letters.peek().is_some_and(|&(_, next)| is_thai_or_lao(next))
        {
            found.push(at);
        }
        before = Some(letter);
    }
    found
}

/// Checks whether `before` ends with an abbreviation, an initial or a list number. A full stop after these does not end
/// a sentence.
fn is_abbreviated(before: &str) -> bool {
    let is_joint = |letter: char| !letter.is_alphanumeric() && letter != '.';
    let word = before.rsplit(is_joint).next().unwrap_or_default();
    let ahead = &before[..before.len() - word.len()];
    // An initial, as in "Mr J. Smith". A lower-case letter, as in "plan b.", is not an initial.
    if word.chars().count() == 1 && word.contains(char::is_uppercase) && !ahead.trim_end().is_empty() {
        return true;
    }
    if (1..=3).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) {
        let line = ahead.trim_end_matches([' ', '\t']);
        return line.is_empty() || line.ends_with('\n');
    }
    let lower = word.to_lowercase();
    [lower.replace('.', ""), lower]
        .iter()
        .any(|word| ABBREVIATIONS.contains(&word.as_str()))
}

/// End marks that need white space after them: of the Latin, Arabic, Urdu and Armenian scripts, and the ellipsis.
const STOPS: &str = ".!?\u{2026}\u{61F}\u{6D4}\u{589}\u{203C}\u{2047}\u{2048}\u{2049}";
/// End marks that need no white space after them: of Chinese, Japanese, Devanagari, Ethiopic, Khmer and Burmese.
const STOPS_ANYWHERE: &str =
    "\u{3002}\u{FF01}\u{FF1F}\u{FF61}\u{FF0E}\u{964}\u{965}\u{1362}\u{1367}\u{17D4}\u{17D5}\u{104B}";
/// Closing quotes and brackets. After an end mark, they belong to the sentence that the mark ends.
const CLOSERS: &str = "\"')]}*_`\u{BB}\u{2019}\u{201C}\u{201D}\u{203A}\u{300D}\u{300F}\u{FF09}\u{3011}";

fn is_stop(letter: char) -> bool {
    STOPS.contains(letter)
}

fn is_stop_anywhere(letter: char) -> bool {
    STOPS_ANYWHERE.contains(letter)
}

fn is_closer(letter: char) -> bool {
    CLOSERS.contains(letter)
}

fn is_thai_or_lao(letter: char) -> bool {
    matches!(u32::from(letter), 0x0E01..=0x0E4E | 0x0E81..=0x0ECE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<&str> {
        let found = sentences(text, 0..text.len());
        found.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_end_as_each_language_ends_them() {
        let cases: [(&str, &[&str]); 17] = [
            (
                "One is here. Two is there! Three?",
                &["One is here.", "Two is there!", "Three?"],
            ),
            ("lower case. goes on. too", &["lower case.", "goes on.", "too"]),
            (
                "It costs 3.50 in v1.2.3 of a.rs. Done",
                &["It costs 3.50 in v1.2.3 of a.rs.", "Done"],
            ),
            (
                "Ask Dr. Smith, e.g. today. He knows",
                &["Ask Dr. Smith, e.g. today.", "He knows"],
            ),
            ("By J. R. Smith. Read it", &["By J. R. Smith.", "Read it"]),
            (
                "He said \"Go.\" (Now.) They went",
                &["He said \"Go.\"", "(Now.)", "They went"],
            ),
            ("Wait... what?! Yes", &["Wait...", "what?!", "Yes"]),
            (
                "今日は雨です。明日は晴れ！本当？「はい。」そう",
                &["今日は雨です。", "明日は晴れ！", "本当？", "「はい。」", "そう"],
            ),
            ("यह एक है। वह दो है।", &["यह एक है।", "वह दो है।"]),
            ("هل هذا صحيح؟ نعم هو كذلك.", &["هل هذا صحيح؟", "نعم هو كذلك."]),
            ("یہ ایک ہے۔ وہ دو", &["یہ ایک ہے۔", "وہ دو"]),
            ("ሰላም ነው። ደህና", &["ሰላም ነው።", "ደህና"]),
            ("ฉันชอบแมว เขาชอบหมา", &["ฉันชอบแมว", "เขาชอบหมา"]),
            (
                "Das ist z.B. gut. Nr. 5 lebt",
                &["Das ist z.B. gut.", "Nr. 5 lebt"],
            ),
            ("`a. b", &["`a.", "b"]),
            ("host: alpha\nport: 80\n", &["host: alpha", "port: 80"]),
            ("  one line only ", &["one line only"]),
        ];
        for (text, expected) in cases {
            assert_eq!(all(text), expected, "{text}");
        }
        assert!(all(" \n ").is_empty());
    }

    #[test]
    fn abbreviations_are_in_order() {
        assert!(ABBREVIATIONS.is_sorted());
    }

    proptest! {
        #[test]
        fn sen_1_only_white_space_is_between_sentences(text in "[a-zA-Z0-9.!?`\"') \n\u{3002}\u{E01}\u{301}]{0,60}") {
            let found = sentences(&text, 0..text.len());
            let mut last = 0;
            for range in &found {
                prop_assert!(text[last..range.start].trim().is_empty());
                prop_assert!(range.start < range.end && text[range.clone()].trim() == &text[range.clone()]);
                last = range.end;
            }
            prop_assert!(text[last..].trim().is_empty());
        }
    }
}
