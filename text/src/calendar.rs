//! Days and dates of the Gregorian calendar in UTC. This module reads no clock.
//!
//! # Layer
//! Layer 0. Pure arithmetic.
//!
//! # Invariants
//! - CLD-1: every day number corresponds to exactly one valid date, and the two conversions are inverse to each other.

use std::fmt;

/// The number of microseconds in a second.
pub const SECOND_MICROS: i64 = 1_000_000;
/// The number of seconds in a day.
pub const DAY_SECONDS: i64 = 86_400;
/// The number of microseconds in a day.
pub const DAY_MICROS: i64 = DAY_SECONDS * SECOND_MICROS;
/// The number of days in 400 years, the period of the calendar.
const CYCLE_DAYS: i64 = 146_097;
/// The number of days from the first of March of the year 0 to 1970-01-01.
const MARCH_TO_EPOCH_DAYS: i64 = 719_468;

/// A date of the Gregorian calendar: year, month 1 to 12, day 1 to 31.
pub(crate) type Date = (i64, i64, i64);

/// Returns the number of days from 1970-01-01 to a date. The date may overflow: month 13 is the next January, and the
/// 31st of a short month is in the next month.
pub fn day_of((year, month, day): Date) -> i64 {
    // In this formula a year begins in March, so a leap day is the last day of its year.
    let months = year * 12 + month - 3;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // March to July have 153 days, and so have August to December, in the same order of long and short months.
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - MARCH_TO_EPOCH_DAYS
}

/// Returns the date of a day, counted from 1970-01-01.
pub fn date_of(day: i64) -> Date {
    let from_march = day + MARCH_TO_EPOCH_DAYS;
    let (cycle, day) = (
        from_march.div_euclid(CYCLE_DAYS),
        from_march.rem_euclid(CYCLE_DAYS),
    );
    let leap_days = day / 1460 - day / 36_524 + day / 146_096;
    let year = (day - leap_days) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (day_of_year * 5 + 2) / 153;
    let day_of_month = day_of_year - (month * 153 + 2) / 5 + 1;
    let year = cycle * 400 + year;
    if month < 10 {
        (year, month + 3, day_of_month)
    } else {
        (year + 1, month - 9, day_of_month)
    }
}

/// Returns the weekday of a day, counted from 1970-01-01: 0 for Monday.
pub fn weekday_of(day: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(7)
}

/// A time as a date and a time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The date.
    pub(crate) date: Date,
    /// The hour, 0 to 23.
    pub(crate) hour: i64,
    /// The minute, 0 to 59.
    pub(crate) minute: i64,
    /// The second, 0 to 59.
    pub(crate) second: i64,
    /// The microseconds within the second.
    pub micro: i64,
}

impl Moment {
    /// Returns the moment that is `micros` microseconds after the start of 1970.
    pub fn of(micros: i64) -> Self {
        let (seconds, micro) = (micros.div_euclid(SECOND_MICROS), micros.rem_euclid(SECOND_MICROS));
        let second = seconds.rem_euclid(DAY_SECONDS);
        Self {
            date: date_of(seconds.div_euclid(DAY_SECONDS)),
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            micro,
        }
    }

    /// Returns whether the year is from 0000 to 9999, the range of RFC 3339.
    pub(crate) fn has_plain_year(self) -> bool {
        (0..=9999).contains(&self.date.0)
    }
}

impl fmt::Display for Moment {
    /// Writes the time without its microseconds, as in `2026-01-31T08:15:00`. A year outside 0000 to 9999 has a sign
    /// and six digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date;
        if self.has_plain_year() {
            write!(f, "{year:04}")?;
        } else {
            write!(f, "{year:+07}")?;
        }
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(
            (
                day_of((1970, 1, 1)),
                day_of((2000, 2, 29)),
                day_of((1969, 12, 31))
            ),
            (0, 11_016, -1)
        );
        // Checks every day of 1,000 years against the lengths of the months.
        let mut date = (1600, 1, 1);
        for day in day_of(date)..day_of((2600, 1, 1)) {
            assert_eq!(date_of(day), date);
            assert_eq!(day_of(date), day);
            let is_leap = date.0 % 4 == 0 && (date.0 % 100 != 0 || date.0 % 400 == 0);
            let last = match date.1 {
                2 => 28 + i64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            date = match date {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == last => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
        }
        assert_eq!((weekday_of(day_of((2026, 11, 22))), weekday_of(-4)), (6, 6));
        assert_eq!(day_of((2023, 2, 31)), day_of((2023, 3, 3)));
        assert_eq!(day_of((2023, 13, 1)), day_of((2024, 1, 1)));
    }

    #[test]
    fn moments_are_written_to_the_second() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (-1, "1969-12-31T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (4_107_542_399, "2100-02-28T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (-62_167_219_200, "0000-01-01T00:00:00"),
            (253_402_300_799, "9999-12-31T23:59:59"),
            (253_402_300_800, "+010000-01-01T00:00:00"),
            (-62_167_219_201, "-000001-12-31T23:59:59"),
        ] {
            let at = Moment::of(seconds * SECOND_MICROS + 999_999);
            assert_eq!(at.to_string(), expected);
            assert_eq!(at.has_plain_year(), expected.len() == 19);
        }
    }

    proptest! {
        #[test]
        fn cld_1_days_and_dates_lead_back(day in -(1_i64 << 40)..1_i64 << 40) {
            prop_assert_eq!(day_of(date_of(day)), day);
        }

        #[test]
        fn any_time_has_a_moment(micros in any::<i64>()) {
            let at = Moment::of(micros);
            let second = (at.hour * 60 + at.minute) * 60 + at.second;
            let whole = i128::from(day_of(at.date)) * i128::from(DAY_SECONDS) + i128::from(second);
            let back = whole * i128::from(SECOND_MICROS) + i128::from(at.micro);
            prop_assert_eq!(back, i128::from(micros));
        }
    }
}
