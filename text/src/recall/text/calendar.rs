//! Days as the index stores them, spans of days, and the names of months and weekdays.
//!
//! # Layer
//! Layer 6, inside `recall`. Pure: reads no clock.

use crate::calendar::DAY_SECONDS;
pub(crate) use crate::calendar::{date_of, day_of, weekday_of};

/// A day, counted from 1970-01-01.
pub(crate) type Day = i64;

/// The days from the first to the last, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Span {
    /// The first day, counted from 1970-01-01.
    pub(crate) first: Day,
    /// The last day.
    pub(crate) last: Day,
}

impl Span {
    /// Returns the days from `first` to `last`.
    pub(crate) fn new(first: Day, last: Day) -> Self {
        Self { first, last }
    }

    /// Returns whether a day is within the span.
    pub(crate) fn contains(self, day: Day) -> bool {
        (self.first..=self.last).contains(&day)
    }
}

/// Returns the day of the time `seconds` since 1970.
pub(crate) fn day_at(seconds: i64) -> Day {
    seconds.div_euclid(DAY_SECONDS)
}

/// Returns the days of a month.
pub(crate) fn month_span(year: i64, month: i64) -> Span {
    Span::new(day_of((year, month, 1)), day_of((year, month + 1, 1)) - 1)
}

/// Returns the days of a year.
pub(crate) fn year_span(year: i64) -> Span {
    Span::new(day_of((year, 1, 1)), day_of((year, 12, 31)))
}

/// Returns the number of a month by its name, its first three letters, or "sept".
pub(crate) fn month_named(word: &str) -> Option<i64> {
    const NAMES: &str =
        "january february march april may june july august september october november december";
    if word == "sept" {
        return Some(9);
    }
    let is_meant = |name: &str| word == name || (word.len() == 3 && name.starts_with(word));
    let mut names = (1..).zip(NAMES.split(' '));
    Some(names.find(|(_, name)| is_meant(name))?.0)
}

/// Returns the number of a weekday by its whole name: 0 for Monday.
pub(crate) fn weekday_named(word: &str) -> Option<i64> {
    const NAMES: &str = "monday tuesday wednesday thursday friday saturday sunday";
    let mut names = (0..).zip(NAMES.split(' '));
    Some(names.find(|(_, name)| word == *name)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_turn_into_each_other() {
        assert_eq!(day_of((1970, 1, 1)), 0);
        assert_eq!(day_of((2000, 2, 29)), 11_016);
        assert_eq!(day_of((2023, 2, 31)), day_of((2023, 3, 3)));
        assert_eq!(weekday_of(day_of((2023, 5, 8))), 0);
        for day in (-1_000_000..1_000_000).step_by(97) {
            let (year, month, of_month) = date_of(day);
            assert_eq!(day_of((year, month, of_month)), day);
        }
        assert_eq!(month_span(2023, 12).last, year_span(2023).last);
        assert_eq!(
            (month_named("sep"), month_named("sept"), month_named("ma")),
            (Some(9), Some(9), None)
        );
        assert_eq!(day_at(-1), -1);
        for far in [i64::MIN, i64::MAX] {
            let (year, month, _) = date_of(day_at(far));
            let (month, year) = (month_span(year, month), year_span(year));
            assert!((year.first..=year.last).contains(&month.first));
        }
    }
}
