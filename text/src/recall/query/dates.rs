//! Finds dates in a question, and computes how well a document fits them.
//!
//! The known forms are "7 May 2023", "May 7th, 2023", "21.01.2024" (day first), "2024-01-21", "May 2023", "May" and
//! "2023". Days relative to now are known if the caller passes the current time.
//!
//! # Layer
//! Uses the calendar, but not the index.

use super::phrases::Piece;
use crate::recall::text::calendar::{Day, Span, date_of, day_of, month_named, month_span, year_span};

/// A date that a question mentions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// A day of a given year.
    Day(Day),
    /// A day of any year.
    DayOfYear { month: i64, day: i64 },
    /// A month of a given year.
    Month { year: i64, month: i64 },
    /// A month of any year.
    MonthOfYear(i64),
    /// A year.
    Year(i64),
    /// Days relative to now.
    Relative(Span),
}

/// Returns the date that has these parts.
fn asked(year: Option<i64>, month: i64, day: Option<i64>) -> Option<Asked> {
    if !(1..=12).contains(&month) || day.is_some_and(|day| !(1..=31).contains(&day)) {
        return None;
    }
    match (year, day) {
        (Some(year), Some(day)) => {
            let at = day_of((year, month, day));
            (date_of(at) == (year, month, day)).then_some(Asked::Day(at))
        }
        (None, Some(day)) => Some(Asked::DayOfYear { month, day }),
        (Some(year), None) => Some(Asked::Month { year, month }),
        (None, None) => Some(Asked::MonthOfYear(month)),
    }
}

/// Finds dates in the pieces of a question. A piece belongs to one date only.
struct Finder<'a> {
    pieces: &'a [Piece<'a>],
    used: Vec<bool>,
    found: Vec<Asked>,
}

impl Finder<'_> {
    /// Returns the piece at `at`, if no date uses it yet and the text before it is one of `gaps`.
    fn piece(&self, at: usize, gaps: &[&str]) -> Option<&str> {
        let piece = self.pieces.get(at)?;
        let free = !self.used[at] && (gaps.is_empty() || gaps.contains(&piece.gap));
        free.then_some(piece.folded.as_str())
    }

    fn month(&self, at: usize, gaps: &[&str]) -> Option<i64> {
        month_named(self.piece(at, gaps)?)
    }

    /// Returns a number of one or two digits, with or without a suffix such as "th".
    fn ordinal(&self, at: usize, gaps: &[&str]) -> Option<i64> {
        let piece = self.piece(at, gaps)?;
        let bare = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|suffix| piece.strip_suffix(suffix));
        digits(bare.unwrap_or(piece), 1..=2)
    }

    /// Returns the year at `at`, or after an "of" there, and the number of pieces that the year uses.
    fn year(&self, at: usize, gaps: &[&str], of: bool) -> (Option<i64>, usize) {
        if let Some(year) = self.piece(at, gaps).and_then(|piece| digits(piece, 4..=4)) {
            return (Some(year), 1);
        }
        if of && self.piece(at, gaps) == Some("of") {
            let year = self.piece(at + 1, &[" "]).and_then(|piece| digits(piece, 4..=4));
            return (year, if year.is_some() { 2 } else { 0 });
        }
        (None, 0)
    }

    fn take(&mut self, at: usize, count: usize, date: Option<Asked>) {
        let end = (at + count).min(self.used.len());
        self.used[at..end].fill(true);
        self.found.extend(date);
    }

    /// Finds "7 May 2023" and "7th of May".
    fn day_first(&mut self, at: usize) {
        let Some(day) = self.ordinal(at, &[]) else { return };
        let of = usize::from(self.piece(at + 1, &[" "]) == Some("of"));
        let Some(month) = self.month(at + 1 + of, &[" "]) else {
            return;
        };
        let (year, taken) = self.year(at + 2 + of, &[" ", ". ", ", ", "., "], true);
        self.take(at, 2 + of + taken, asked(year, month, Some(day)));
    }

    /// Finds "May 7th, 2023".
    fn month_first(&mut self, at: usize) {
        let Some(month) = self.month(at, &[]) else { return };
        let Some(day) = self.ordinal(at + 1, &[" ", ". "]) else {
            return;
        };
        let (year, taken) = self.year(at + 2, &[" ", ", "], false);
        self.take(at, 2 + taken, asked(year, month, Some(day)));
    }

    /// Finds "21.01.2024" and "2024-01-21".
    fn numeric(&mut self, at: usize) {
        let number = |at, gaps: &[&str], count| digits(self.piece(at, gaps)?, count);
        let dotted = || {
            let (day, month) = (number(at, &[], 1..=2)?, number(at + 1, &["."], 1..=2)?);
            Some((number(at + 2, &["."], 4..=4)?, month, day))
        };
        let dashed = || {
            let (year, month) = (number(at, &[], 4..=4)?, number(at + 1, &["-"], 1..=2)?);
            Some((year, month, number(at + 2, &["-"], 1..=2)?))
        };
        if let Some((year, month, day)) = dotted().or_else(dashed) {
            self.take(at, 3, asked(Some(year), month, Some(day)));
        }
    }

    /// Finds "May 2023" and "May". A single "may" in lower case counts as the verb.
    fn month_alone(&mut self, at: usize) {
        let Some(month) = self.month(at, &[]) else { return };
        let (year, taken) = self.year(at + 1, &[" ", ", "], true);
        let piece = &self.pieces[at];
        let capital = piece.raw.starts_with(char::is_uppercase) && piece.start > 0;
        let verb = matches!(piece.folded.as_str(), "may" | "march" | "mar");
        if year.is_some() || capital || !verb {
            self.take(at, 1 + taken, asked(year, month, None));
        }
    }

    fn year_alone(&mut self, at: usize) {
        let year = self.piece(at, &[]).and_then(|piece| digits(piece, 4..=4));
        if let Some(year @ 1900..=2099) = year {
            self.take(at, 1, Some(Asked::Year(year)));
        }
    }
}

/// Returns the number in `piece`, if the piece consists only of digits, and has as many as `count` allows.
fn digits(piece: &str, count: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let all = count.contains(&piece.len()) && piece.bytes().all(|byte| byte.is_ascii_digit());
    if all { piece.parse().ok() } else { None }
}

/// Returns the dates in a question.
pub(crate) fn dates(pieces: &[Piece<'_>]) -> Vec<Asked> {
    let mut finder = Finder {
        pieces,
        used: vec![false; pieces.len()],
        found: Vec::new(),
    };
    let kinds = [
        Finder::day_first,
        Finder::month_first,
        Finder::numeric,
        Finder::month_alone,
        Finder::year_alone,
    ];
    for kind in kinds {
        for at in 0..pieces.len() {
            kind(&mut finder, at);
        }
    }
    finder.found
}

/// Returns how well a document fits the dates: for its own `day`, and for the `spans` that it mentions.
pub(crate) fn fit(asked: &[Asked], day: Day, spans: &[Span]) -> (f32, f32) {
    let (mut date, mut event) = (0.0f32, 0.0f32);
    for asked in asked {
        date = date.max(fit_day(*asked, day));
        for span in spans {
            event = event.max(fit_span(*asked, *span));
        }
    }
    (date, event)
}

/// Returns how well a distance of `days` fits. People write about an event on its day, soon after it, or a little
/// before it.
fn fit_distance(days: i64) -> f32 {
    match days {
        0 => 1.0,
        1 => 0.8,
        -1 | 2..=7 => 0.5,
        -7..=-2 | 8..=14 => 0.2,
        _ => 0.0,
    }
}

fn fit_day(asked: Asked, day: Day) -> f32 {
    match asked {
        Asked::Day(wanted) => fit_distance(day - wanted),
        Asked::DayOfYear { month, day: of_month } => {
            let (year, ..) = date_of(day);
            let of_month = of_month.min(if month == 2 { 28 } else { 30 });
            let distances = (year - 1..=year + 1).map(|year| day - day_of((year, month, of_month)));
            fit_distance(distances.min_by_key(|days| days.abs()).unwrap_or(i64::MAX))
        }
        Asked::Month { year, month } => fit_within(month_span(year, month), day, 10),
        Asked::MonthOfYear(month) => f32::from(u8::from(date_of(day).1 == month)),
        Asked::Year(year) => f32::from(u8::from(date_of(day).0 == year)) * 0.5,
        Asked::Relative(span) => fit_within(span, day, 7),
    }
}

/// Returns 1 for a day inside the span, and 0.4 for a day up to `after` days later.
fn fit_within(span: Span, day: Day, after: i64) -> f32 {
    if span.contains(day) {
        1.0
    } else if day > span.last && day <= span.last + after {
        0.4
    } else {
        0.0
    }
}

fn fit_span(asked: Asked, span: Span) -> f32 {
    let length = span.last - span.first;
    match asked {
        Asked::Day(day) if span.contains(day) => 1.0 / (1.0 + 0.1 * length as f32),
        Asked::Month { year, month } => {
            let month = month_span(year, month);
            let overlaps = span.first <= month.last && span.last >= month.first;
            f32::from(u8::from(overlaps && length < 40))
        }
        Asked::Year(year) => {
            let year = year_span(year);
            f32::from(u8::from(span.first >= year.first && span.last <= year.last)) * 0.5
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::query::phrases::pieces;

    #[test]
    fn dates_are_found_in_all_their_forms() {
        let may7 = Asked::Day(day_of((2023, 5, 7)));
        let cases: &[(&str, &[Asked])] = &[
            ("on 7 May 2023", &[may7]),
            ("on the 7th of May, 2023", &[may7]),
            ("May 7th, 2023?", &[may7]),
            ("2023-05-07", &[may7]),
            ("7.5.2023", &[may7]),
            ("May 7", &[Asked::DayOfYear { month: 5, day: 7 }]),
            ("in May 2023", &[Asked::Month { year: 2023, month: 5 }]),
            ("in May of 2023", &[Asked::Month { year: 2023, month: 5 }]),
            ("in May", &[Asked::MonthOfYear(5)]),
            ("May I ask what may be", &[]),
            ("they march in june", &[Asked::MonthOfYear(6)]),
            ("in 2023", &[Asked::Year(2023)]),
            ("30 February 2023, 31.13.2023", &[]),
            ("1234567890123 2023x", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(dates(&pieces(text)), *wanted, "of {text:?}");
        }
    }

    #[test]
    fn documents_fit_by_their_distance() {
        let day = day_of((2023, 5, 7));
        let at = |asked, other| fit_day(asked, other);
        for (days, wanted) in [
            (0, 1.0),
            (1, 0.8),
            (7, 0.5),
            (-1, 0.5),
            (-7, 0.2),
            (14, 0.2),
            (15, 0.0),
        ] {
            assert!((at(Asked::Day(day), day + days) - wanted).abs() < 1e-6, "{days}");
            let yearly = Asked::DayOfYear { month: 5, day: 7 };
            assert!((at(yearly, day + days) - wanted).abs() < 1e-6, "{days}");
        }
        let month = Asked::Month { year: 2023, month: 5 };
        assert!((at(month, day_of((2023, 6, 10))) - 0.4).abs() < 1e-6);
        let spans = [Span {
            first: day - 5,
            last: day + 5,
        }];
        assert!((fit(&[Asked::Day(day)], day + 90, &spans).1 - 0.5).abs() < 1e-6);
        assert!((fit(&[month], day + 90, &spans).1 - 1.0).abs() < 1e-6);
        assert!((fit(&[Asked::Year(2023)], 0, &spans).1 - 0.5).abs() < 1e-6);
    }
}
