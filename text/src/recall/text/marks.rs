//! Features of a text besides its terms: five marks, the dates that it mentions, and the names that it addresses.
//!
//! A [`Marker`] reads the alphanumeric pieces of a text in order, with the class of each. The marker stores the last
//! three pieces, because each known phrase has at most four pieces. The marker supports only English. In other
//! languages most marks stay unset, and the ranking works without them.
//!
//! # Layer
//! Uses the calendar, but neither terms nor the index.
//!
//! # Invariants
//! - MRK-1: time and memory are bounded: one pass, at most `SPANS_MAX` spans and `CALLS_MAX` calls.

use super::asking::{Form, form_of};
use super::calendar::{Day, Span, date_of, day_of, month_span, weekday_named, weekday_of, year_span};
use super::runs::Run;
use super::terms::{TERM_BYTES_MAX, facts_of, fold};

/// The marks of a document, as bits.
pub(crate) type Marks = u16;
/// The text is a question.
pub(crate) const QUESTION: Marks = 1;
/// The text mentions a time.
pub(crate) const TIME: Marks = 2;
/// The text contains a number.
pub(crate) const NUMBER: Marks = 4;
/// The text is in the first person.
pub(crate) const FIRST_PERSON: Marks = 8;
/// The text is in the second person.
pub(crate) const SECOND_PERSON: Marks = 16;

/// The text only asks, or says that its speaker does not know.
pub(crate) const ASKS: Marks = 256;

/// The classes of a word, as bits.
pub(crate) type Class = u16;
const FIRST: Class = 1;
const SECOND: Class = 2;
const COUNT: Class = 4;
const WHEN: Class = 8;
const WHEN_HEAD: Class = 16;
const WHEN_UNIT: Class = 32;
const WHEN_PREPOSITION: Class = 64;
const CALENDAR: Class = 128;
const GREETING: Class = 256;
const EVENT: Class = 512;
const STANDING: Class = 1024;
const PREFERENCE: Class = 2048;

/// The names of the classes in the list of marks, in the order of their bits.
pub(crate) const CLASSES: [&str; 12] = [
    "first",
    "second",
    "count",
    "when",
    "when_head",
    "when_unit",
    "when_preposition",
    "calendar",
    "greeting",
    "event",
    "standing",
    "preference",
];

/// The term of a text that is a lasting instruction or a preference. No word is equal to it.
pub(crate) const STANDING_TERM: &str = "\u{2}standing";

/// The largest number of day spans kept for a text.
pub(crate) const SPANS_MAX: usize = 2;
/// The largest number of addressed names kept for a text.
pub(crate) const CALLS_MAX: usize = 2;

/// A piece of the text: a sequence of letters and digits. An apostrophe also separates pieces.
#[derive(Clone, Copy, Default)]
struct Piece {
    start: usize,
    end: usize,
}

/// Collects the marks of a text, piece by piece.
pub(crate) struct Marker<'a> {
    text: &'a str,
    day: Day,
    /// The last three pieces, the nearest first; empty pieces before the start of the text.
    before: [Piece; 3],
    /// Whether the last piece ended a greeting, so a name may follow.
    greeted: bool,
    pub(crate) marks: Marks,
    /// Whether the text begins like a lasting instruction ("Always ...") or names a preference.
    pub(crate) is_standing: bool,
    pub(crate) spans: Vec<Span>,
    /// The names that greetings address, in lower case.
    pub(crate) calls: Vec<String>,
}

impl<'a> Marker<'a> {
    /// Makes a marker that starts at the beginning of `text`, which was written on `day`.
    pub(crate) fn new(text: &'a str, day: Day) -> Self {
        Self {
            text,
            day,
            before: [Piece::default(); 3],
            greeted: false,
            marks: marks_of_form(text),
            is_standing: false,
            spans: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Returns the text of the piece that is `back` pieces before the current piece.
    fn prior(&self, back: usize) -> &'a str {
        self.before
            .get(back - 1)
            .map_or("", |piece| &self.text[piece.start..piece.end])
    }

    /// Returns whether the pieces before the piece at `start` are these words, joined by single spaces.
    fn follows(&self, start: usize, words: &[&str]) -> bool {
        let mut backwards = words.iter().rev().zip(1..);
        self.joined(words.len(), start)
            && backwards.all(|(word, back)| self.prior(back).eq_ignore_ascii_case(word))
    }

    /// Returns the text between the last piece and a piece that starts at `start`.
    fn gap(&self, start: usize) -> &'a str {
        &self.text[self.before[0].end..start]
    }

    /// Returns whether single spaces join the last `count` pieces and the piece at `start`.
    fn joined(&self, count: usize, start: usize) -> bool {
        let mut next = start;
        self.before.iter().take(count).all(|piece| {
            let joined = piece.end > piece.start && self.text.get(piece.end..next) == Some(" ");
            next = piece.start;
            joined
        })
    }

    /// Processes the next piece, which starts at `start`. `folded` is its folded form, and `class` has its classes.
    pub(crate) fn push(&mut self, start: usize, length: usize, folded: &str, class: Class) {
        let end = start + length;
        let called = self.greeted && self.take_call(start, end);
        if class & FIRST != 0 {
            self.marks |= FIRST_PERSON;
        }
        if class & SECOND != 0 {
            self.marks |= SECOND_PERSON;
        }
        let is_first = self.before[0].end == 0;
        self.is_standing |= class & PREFERENCE != 0 || is_first && class & STANDING != 0;
        let digits = folded.bytes().all(|byte| byte.is_ascii_digit());
        if class & COUNT != 0 || digits {
            self.marks |= NUMBER;
        }
        if self.is_time(start, folded, class, digits) {
            self.marks |= TIME;
        }
        if class & EVENT != 0 {
            self.take_event(start, folded);
        }
        self.greeted = !called && class & GREETING != 0 && self.is_greeting(start, folded);
        self.before = [Piece { start, end }, self.before[0], self.before[1]];
    }

    /// Processes the pieces of a word that starts at `start`. `folded` is a reused buffer.
    pub(crate) fn push_word(&mut self, start: usize, word: Run<'_>, folded: &mut String) {
        for (at, piece) in word.pieces() {
            fold(piece, folded);
            self.push(
                start + at - word.start,
                piece.len(),
                folded,
                facts_of(folded).class,
            );
        }
    }

    fn is_time(&self, start: usize, folded: &str, class: Class, digits: bool) -> bool {
        if class & WHEN != 0 {
            return true;
        }
        let four = digits && folded.len() == 4;
        if folded.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            if four && (folded.starts_with("19") || folded.starts_with("20")) {
                return true;
            }
            let number = folded.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            if number.len() <= 2 && matches!(&folded[number.len()..], "st" | "nd" | "rd" | "th") {
                return true;
            }
        }
        if class & WHEN_UNIT != 0 && self.joined(1, start) {
            let of = self.joined(2, start) && self.follows(start, &["of"]);
            let head = if of { 2 } else { 1 };
            if self.prior_class(head) & WHEN_HEAD != 0 {
                return true;
            }
        }
        (four || class & CALENDAR != 0)
            && self.joined(1, start)
            && self.prior_class(1) & WHEN_PREPOSITION != 0
    }

    fn prior_class(&self, back: usize) -> Class {
        let prior = self.prior(back);
        // Longer words are in none of the classes that the callers check.
        if prior.len() > 8 || !prior.is_ascii() {
            return 0;
        }
        facts_of(&prior.to_ascii_lowercase()).class
    }

    /// Returns whether a greeting ends with this piece. A greeting must be at the start or after punctuation.
    fn is_greeting(&self, start: usize, folded: &str) -> bool {
        let first = match folded {
            "you" if self.follows(start, &["thank"]) => self.before[0].start,
            "morning" | "evening" | "night" if self.follows(start, &["good"]) => self.before[0].start,
            "you" | "evening" | "night" => return false,
            _ => start,
        };
        first == 0 || self.text[..first].trim_end().ends_with(['.', '!', '?', ','])
    }

    /// Records a name after a greeting: at least three ASCII letters, with a capital first.
    fn take_call(&mut self, start: usize, end: usize) -> bool {
        let gap = self.gap(start);
        let name = &self.text[start..end];
        let called = !gap.is_empty()
            && gap.bytes().all(|byte| matches!(byte, b' ' | b',' | b'!'))
            && name.len() >= 3
            && name.len() <= TERM_BYTES_MAX
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
            && name.as_bytes()[0].is_ascii_uppercase();
        if called && self.calls.len() < CALLS_MAX {
            self.calls.push(name.to_ascii_lowercase());
        }
        called
    }

    fn take_event(&mut self, start: usize, folded: &str) {
        let last = self.follows(start, &["last"]);
        let next = self.follows(start, &["next"]);
        let past = self.follows(start, &["past"]);
        let day = self.day;
        let of_week = weekday_of(day);
        let (year, month, _) = date_of(day);
        let span = |first, last| Some(Span::new(first, last));
        let found = match folded {
            "yesterday" => span(day - 1, day - 1),
            "tomorrow" => span(day + 1, day + 1),
            "night" if last => span(day - 1, day - 1),
            "week" if last => span(day - of_week - 7, day - of_week - 1),
            "week" if next => span(day - of_week + 7, day - of_week + 13),
            "weekend" if last || past => span(day - of_week - 2, day - of_week - 1),
            "month" if last => Some(month_span(year, month - 1)),
            "month" if next => {
                let first = day_of((year, month + 1, 1));
                span(first, first + 29)
            }
            "year" if last => Some(year_span(year - 1)),
            "ago" => self.ago(start),
            _ => match weekday_named(folded) {
                Some(named) if last => {
                    let back = (of_week - named - 1).rem_euclid(7) + 1;
                    span(day - back, day - back)
                }
                _ => None,
            },
        };
        if let Some(found) = found
            && self.spans.len() < SPANS_MAX
            && !self.spans.contains(&found)
        {
            self.spans.push(found);
        }
    }

    /// Returns the span of days meant by a phrase such as "three weeks ago". The span is longer for more distant times.
    fn ago(&self, start: usize) -> Option<Span> {
        const DAYS_MAX: i64 = 20_000;
        if !self.joined(2, start) {
            return None;
        }
        let unit = self.prior(1).to_ascii_lowercase();
        let unit = match unit.strip_suffix('s').unwrap_or(&unit) {
            "day" => 1,
            "week" => 7,
            "month" => 30,
            "year" => 365,
            _ => return None,
        };
        let count = self.prior(2).to_ascii_lowercase();
        let count = match count.as_str() {
            "a" | "one" => 1,
            "two" => 2,
            "few" | "three" => 3,
            "four" => 4,
            "five" => 5,
            "six" => 6,
            "of" if self.joined(3, start) && self.prior(3).eq_ignore_ascii_case("couple") => 2,
            number => number.parse::<i64>().ok()?,
        };
        let days = count
            .checked_mul(unit)
            .filter(|days| (0..DAYS_MAX).contains(days))?;
        let middle = self.day - days;
        Some(Span::new(middle - unit / 3, middle + unit / 3))
    }
}

/// Returns the marks that follow from the sentences of a text.
fn marks_of_form(text: &str) -> Marks {
    let asks = form_of(text) != Form::States;
    let ends_so = is_question(text);
    (if asks { ASKS } else { 0 }) | (if ends_so { QUESTION } else { 0 })
}

/// Returns whether a text ends with a question, except for notes in brackets at its end.
pub(crate) fn is_question(text: &str) -> bool {
    let mut text = text;
    while let Some(inside) = text.trim_end().strip_suffix(']') {
        let after_last = inside.rfind(']').map_or(0, |at| at + 1);
        match inside[after_last..].find('[') {
            Some(at) => text = &text[..after_last + at],
            None => break,
        }
    }
    for letter in text.chars().rev() {
        if letter == '?' || letter == '\u{FF1F}' || letter == '\u{61F}' {
            return true;
        }
        if letter.is_alphanumeric() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests;
