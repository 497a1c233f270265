//! Puts text right that is written so that people and models still read it, but no rule does.
//!
//! Letters with a space after each and more between words; digits for letters all over; lines behind the signs of a
//! quoted mail. Nearly no text is written so, and it is told by a look at each byte.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use crate::scan::unicode::is_latin;

/// Single letters in a row that make a spelled-out text.
const SPELLED_MIN: usize = 12;
/// Words with digits among their letters that make a text of such words.
const LEET_MIN: usize = 4;
/// One word in so many has to be one, then.
const LEET_SHARE: usize = 4;

/// Returns the parts of `text` that are written so, each with what it says.
pub(super) fn plain(text: &str) -> Vec<(Range<usize>, String)> {
    let mut parts = spelled(text);
    parts.extend(leet(text).map(|plain| (0..text.len(), plain)));
    parts.extend(tags(text).map(|plain| (0..text.len(), plain)));
    parts.extend(cyrillic(text));
    parts.extend(quoted(text));
    parts
}

/// Returns runs of single letters: one space between two of a word, more white space between words.
fn spelled(text: &str) -> Vec<(Range<usize>, String)> {
    let mut parts = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    // Nothing is spelled where no character stands between two spaces.
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b' ') {
        let (before, after) = (at + next, at + next + 1);
        at = after;
        let is_apart = text[after..]
            .chars()
            .next()
            .is_some_and(|char| !char.is_whitespace() && bytes.get(after + char.len_utf8()) == Some(&b' '));
        if !is_apart {
            continue;
        }
        let start = start_of_spelling(text, before);
        let mut plain = String::new();
        let (mut end, mut count) = (start, 0);
        while let Some(char) = text[end..].chars().next() {
            let next = end + char.len_utf8();
            let rest = &text[next..];
            let space = rest.len() - rest.trim_start().len();
            if char.is_whitespace() || (space == 0 && !rest.is_empty()) {
                break;
            }
            plain.push(char);
            count += 1;
            end = next + space;
            if &rest[..space] != " " {
                plain.push(if rest[..space].contains('\n') { '\n' } else { ' ' });
            }
        }
        if count >= SPELLED_MIN {
            parts.push((start..end, plain));
        }
        at = at.max(end);
    }
    parts
}

/// Returns where the single letters begin that end at `end`, with a word of one letter before them.
fn start_of_spelling(text: &str, end: usize) -> usize {
    let single = |end: usize| {
        let start = text[..end].char_indices().next_back().map(|(start, _)| start)?;
        text[..start]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
            .then_some(start)
    };
    let Some(start) = single(end) else {
        return end;
    };
    match text[..start].trim_end() {
        "" => start,
        before => single(before.len()).unwrap_or(start),
    }
}

/// Returns the text with digits as letters, if many of its words have digits among their letters.
fn leet(text: &str) -> Option<String> {
    let (mut words, mut odd) = (0, 0);
    for word in text
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| word.len() > 1)
    {
        words += 1;
        let bytes = word.as_bytes();
        odd += usize::from(bytes.windows(2).any(|pair| {
            is_leet(pair[0]) && pair[1].is_ascii_alphabetic()
                || pair[0].is_ascii_alphabetic() && is_leet(pair[1])
        }));
    }
    (odd >= LEET_MIN && odd * LEET_SHARE >= words).then(|| text.chars().map(letter).collect())
}

fn is_leet(byte: u8) -> bool {
    matches!(byte, b'0' | b'1' | b'3' | b'4' | b'5' | b'7')
}

fn letter(char: char) -> char {
    match char {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        _ => char,
    }
}

/// Returns the text with tag characters as the ASCII characters they are the ghosts of, if there are any.
fn tags(text: &str) -> Option<String> {
    let plain = |char| match char {
        '\u{E0020}'..='\u{E007E}' => char::from(char as u8 & 0x7f),
        _ => char,
    };
    let is_tagged = !text.is_ascii() && text.contains(|char| matches!(char, '\u{E0020}'..='\u{E007E}'));
    is_tagged.then(|| text.chars().map(plain).collect())
}

/// Returns the lines that have Latin letters in Cyrillic words, with those that they look like instead.
fn cyrillic(text: &str) -> Vec<(Range<usize>, String)> {
    if text.is_ascii() || is_latin(text) {
        return Vec::new();
    }
    let is_cyrillic = |char: char| matches!(char, '\u{400}'..='\u{45F}');
    let put_right = |line: &str| {
        let mut is_changed = false;
        let words = line.split_inclusive(|char: char| !char.is_alphabetic());
        let plain = words.map(|word| {
            let is_mixed =
                word.contains(is_cyrillic) && word.contains(|char: char| char.is_ascii_alphabetic());
            is_changed |= is_mixed;
            let letter = |char| if is_mixed { cyrillic_letter(char) } else { char };
            word.chars().map(letter).collect::<String>()
        });
        let plain = plain.collect();
        is_changed.then_some(plain)
    };
    let lines = lines(text).filter(|line| !text[line.clone()].is_ascii());
    lines
        .filter_map(|line| put_right(&text[line.clone()]).map(|plain| (line, plain)))
        .collect()
}

fn cyrillic_letter(char: char) -> char {
    const ALIKE: (&str, [char; 22]) = (
        "aceiopxyABCEHIKMOPTXYS",
        [
            '\u{430}', '\u{441}', '\u{435}', '\u{456}', '\u{43e}', '\u{440}', '\u{445}', '\u{443}',
            '\u{410}', '\u{412}', '\u{421}', '\u{415}', '\u{41d}', '\u{406}', '\u{41a}', '\u{41c}',
            '\u{41e}', '\u{420}', '\u{422}', '\u{425}', '\u{423}', '\u{405}',
        ],
    );
    ALIKE.0.find(char).map_or(char, |at| ALIKE.1[at])
}

/// Returns runs of lines quoted as in a mail, without the signs and line ends.
fn quoted(text: &str) -> Vec<(Range<usize>, String)> {
    let mut parts: Vec<(Range<usize>, String)> = Vec::new();
    if !text.contains("\n>") {
        return parts;
    }
    for line in lines(text).filter(|line| text[line.clone()].starts_with('>')) {
        let plain = text[line.clone()].trim_matches(['>', ' ', '\n', '\r']);
        match parts.last_mut() {
            Some((run, whole)) if run.end == line.start => {
                run.end = line.end;
                whole.push(' ');
                whole.push_str(plain);
            }
            _ => parts.push((line, plain.to_owned())),
        }
    }
    parts
}

/// Returns the lines of a text, with their ends.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive('\n').map(move |line| {
        end += line.len();
        end - line.len()..end
    })
}
