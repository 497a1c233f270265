//! Points in time: microseconds since 1970 and their text form. There is no clock here.
//!
//! # Layer
//! L3, inside `object`.

use std::fmt;
use std::str::FromStr;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Days in 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAY: i64 = 719_468;

/// A point in time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The time `micros` microseconds after (or, if negative, before) 1970-01-01T00:00:00Z.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The time `micros` microseconds later, or the last one there is.
    #[must_use]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    fn from_parts(date: (i64, i64, i64), second_of_day: i64, micro: i64) -> Option<Self> {
        // Wide, because the first microseconds there are lie in a second that starts before them.
        let seconds = i128::from(days_of(date)) * i128::from(SECONDS_PER_DAY) + i128::from(second_of_day);
        let micros = seconds * i128::from(MICROS_PER_SECOND) + i128::from(micro);
        i64::try_from(micros).ok().map(Self)
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. Years start in March here, so that the leap
/// day is the last of its year.
fn days_of((year, month, day): (i64, i64, i64)) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH_DAY
}

/// The date of a day, the reverse of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAY;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Time {
    /// RFC 3339 in UTC with microseconds. Years outside 0000 to 9999 have a sign and six digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(MICROS_PER_SECOND);
        let micro = self.0.rem_euclid(MICROS_PER_SECOND);
        let (year, month, day) = date_of(seconds.div_euclid(SECONDS_PER_DAY));
        let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        if (0..=9999).contains(&year) {
            write!(f, "{year:04}")?;
        } else {
            write!(f, "{year:+07}")?;
        }
        let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        write!(
            f,
            "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}Z"
        )
    }
}

/// Why a text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTextError;

impl fmt::Display for TimeTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time is written as in RFC 3339, such as 2026-01-31T08:15:00Z")
    }
}

impl std::error::Error for TimeTextError {}

impl FromStr for Time {
    type Err = TimeTextError;

    /// Reads a time of RFC 3339 with any offset; digits finer than a microsecond are dropped, and a leap
    /// second counts as the second before it. Also reads the long years that [`Time`] writes.
    fn from_str(text: &str) -> Result<Self, TimeTextError> {
        parse(text.as_bytes()).ok_or(TimeTextError)
    }
}

fn parse(text: &[u8]) -> Option<Time> {
    let mut rest = text;
    let year = match rest.first()? {
        b'+' => digits(&mut rest, 1, 6)?,
        b'-' => -digits(&mut rest, 1, 6)?,
        _ => digits(&mut rest, 0, 4)?,
    };
    let month = digits_after(&mut rest, b"-", 2)?;
    let day = digits_after(&mut rest, b"-", 2)?;
    let hour = digits_after(&mut rest, b"Tt ", 2)?;
    let minute = digits_after(&mut rest, b":", 2)?;
    let second = digits_after(&mut rest, b":", 2)?;
    let valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && date_of(days_of((year, month, day))) == (year, month, day)
        && hour <= 23
        && minute <= 59
        && second <= 60;
    if !valid {
        return None;
    }
    let micro = fraction(&mut rest)?;
    let offset_seconds = offset(rest)?;
    Time::from_parts(
        (year, month, day),
        hour * 3600 + minute * 60 + second.min(59) - offset_seconds,
        micro,
    )
}

/// Takes `count` digits that follow `skip` bytes.
fn digits(rest: &mut &[u8], skip: usize, count: usize) -> Option<i64> {
    let (head, tail) = rest.get(skip..)?.split_at_checked(count)?;
    *rest = tail;
    head.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Takes one of `separators`, then `count` digits.
fn digits_after(rest: &mut &[u8], separators: &[u8], count: usize) -> Option<i64> {
    separators.contains(rest.first()?).then_some(())?;
    digits(rest, 1, count)
}

/// Takes a fraction of a second, if there is one, as microseconds.
fn fraction(rest: &mut &[u8]) -> Option<i64> {
    let Some(after) = rest.strip_prefix(b".") else {
        return Some(0);
    };
    let count = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, tail) = after.split_at_checked(count)?;
    *rest = tail;
    if digits.is_empty() {
        return None;
    }
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(6);
    Some(padded.fold(0, |micro, byte| micro * 10 + i64::from(byte - b'0')))
}

/// Reads what is left as an offset from UTC in seconds.
fn offset(mut rest: &[u8]) -> Option<i64> {
    let sign = match rest.first()? {
        b'Z' | b'z' => return (rest.len() == 1).then_some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hour = digits(&mut rest, 1, 2)?;
    let minute = digits_after(&mut rest, b":", 2)?;
    (rest.is_empty() && hour <= 23 && minute <= 59).then_some(sign * (hour * 3600 + minute * 60))
}
