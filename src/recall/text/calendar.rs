//! Days, months and years of the Gregorian calendar, and spans of days.
//!
//! # Layer
//! Pure arithmetic; reads no clock.

/// A day, counted from 1970-01-01.
pub(crate) type Day = i32;

/// Days from the first to the last, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Span {
    /// The first day, counted from 1970-01-01.
    pub(crate) first: Day,
    /// The last day.
    pub(crate) last: Day,
}

/// The day of the time `seconds` since 1970; far times stop at the ends of the range.
pub(crate) fn day_of(seconds: i64) -> Day {
    // Ten million years both ways: no sum with a day of this range overflows.
    const LIMIT: i64 = 3_650_000_000 / 10;
    seconds.div_euclid(86_400).clamp(-LIMIT, LIMIT) as Day
}

/// The day of a date; the date need not exist, a 31st of a short month runs over.
pub(crate) fn day_at(year: i32, month: i32, day: i32) -> Day {
    let months = i64::from(year) * 12 + i64::from(month) - 1;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (days + i64::from(day) - 1).clamp(i64::from(i32::MIN / 4), i64::from(i32::MAX / 4)) as Day
}

/// Year, month and day of the month of a day.
pub(crate) fn date_at(day: Day) -> (i32, i32, i32) {
    let shifted = i64::from(day) + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let part = (5 * of_year + 2) / 153;
    let month = if part < 10 { part + 3 } else { part - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (
        year as i32,
        month as i32,
        (of_year - (153 * part + 2) / 5 + 1) as i32,
    )
}

/// The day of the week, Monday = 0.
pub(crate) fn weekday(day: Day) -> i32 {
    (day + 3).rem_euclid(7)
}

/// The days of a month.
pub(crate) fn month_span(year: i32, month: i32) -> Span {
    Span {
        first: day_at(year, month, 1),
        last: day_at(year, month + 1, 1) - 1,
    }
}

/// The days of a year.
pub(crate) fn year_span(year: i32) -> Span {
    Span {
        first: day_at(year, 1, 1),
        last: day_at(year, 12, 31),
    }
}

/// The names of the months and their short forms.
pub(crate) fn month_named(word: &str) -> Option<i32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    if word == "sept" {
        return Some(9);
    }
    NAMES
        .iter()
        .position(|name| word == *name || (word.len() == 3 && name.starts_with(word)))
        .and_then(|at| i32::try_from(at + 1).ok())
}

/// The days of the week, whole names alone.
pub(crate) fn weekday_named(word: &str) -> Option<i32> {
    const NAMES: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    NAMES
        .iter()
        .position(|name| word == *name)
        .and_then(|at| i32::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_turn_into_each_other() {
        assert_eq!(day_at(1970, 1, 1), 0);
        assert_eq!(day_at(2000, 2, 29), 11_016);
        assert_eq!(day_at(2023, 2, 31), day_at(2023, 3, 3));
        assert_eq!(weekday(day_at(2023, 5, 8)), 0);
        for day in (-1_000_000..1_000_000).step_by(97) {
            let (year, month, of_month) = date_at(day);
            assert_eq!(day_at(year, month, of_month), day);
        }
        assert_eq!(month_span(2023, 12).last, year_span(2023).last);
        assert_eq!(
            (month_named("sep"), month_named("sept"), month_named("ma")),
            (Some(9), Some(9), None)
        );
        assert_eq!(day_of(-1), -1);
        for far in [i64::MIN, i64::MAX] {
            let (year, ..) = date_at(day_of(far));
            assert!(year_span(year).first.abs() < i32::MAX / 2);
        }
    }
}
