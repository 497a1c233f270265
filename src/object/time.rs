//! Points in time: microseconds since 1970 and their text form. This module reads no clock.
//!
//! # Layer
//! Layer 3, inside `object`.

use std::fmt;
use std::str::FromStr;

use crate::codec::{DecodeError, as_array};
use crate::error::Error;
use treering_text::calendar::{DAY_SECONDS, Moment, SECOND_MICROS, date_of, day_of};

/// A point in time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Returns the time `micros` microseconds after 1970-01-01T00:00:00Z; a negative number means a time before that.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970-01-01T00:00:00Z.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the time `micros` microseconds later, or the last possible time.
    #[must_use]
    #[doc(hidden)]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Returns the bytes of the field of a time.
    pub(super) fn encode(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// Decodes the field of a time.
    pub(super) fn decode(field: &[u8]) -> Result<Self, DecodeError> {
        as_array(field).map(i64::from_le_bytes).map(Self)
    }
}

impl fmt::Display for Time {
    /// Writes RFC 3339 in UTC with microseconds. Years outside 0000 to 9999 have a sign and six digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = Moment::of(self.0);
        write!(f, "{at}.{:06}Z", at.micro)
    }
}

text_in_json!(Time, { "type": "string", "format": "date-time" });

impl FromStr for Time {
    type Err = Error;

    /// Parses an RFC 3339 time with any offset. Drops digits after the microseconds. Reads a leap second as the second
    /// before it. Also accepts years outside 0000 to 9999 in the form that [`Time`] writes.
    fn from_str(text: &str) -> crate::error::Result<Self> {
        parse(text.as_bytes()).ok_or_else(|| {
            Error::invalid("the text is not a time: write a time of RFC 3339, such as 2026-01-31T08:15:00Z")
        })
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
        && date_of(day_of((year, month, day))) == (year, month, day)
        && hour <= 23
        && minute <= 59
        && second <= 60;
    if !valid {
        return None;
    }
    let micro = fraction(&mut rest)?;
    let offset_seconds = offset(rest)?;
    let second_of_day = hour * 3600 + minute * 60 + second.min(59) - offset_seconds;
    // Uses 128 bits, because the start of the second that contains the smallest [`Time`] does not fit into 64 bits.
    let seconds =
        i128::from(day_of((year, month, day))) * i128::from(DAY_SECONDS) + i128::from(second_of_day);
    let micros = seconds * i128::from(SECOND_MICROS) + i128::from(micro);
    i64::try_from(micros).ok().map(Time)
}

/// Skips `skip` bytes, then reads a number of `count` digits.
fn digits(rest: &mut &[u8], skip: usize, count: usize) -> Option<i64> {
    let (head, tail) = rest.get(skip..)?.split_at_checked(count)?;
    *rest = tail;
    head.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Reads one of `separators`, then a number of `count` digits.
fn digits_after(rest: &mut &[u8], separators: &[u8], count: usize) -> Option<i64> {
    separators.contains(rest.first()?).then_some(())?;
    digits(rest, 1, count)
}

/// Reads an optional fraction of a second, and returns it in microseconds.
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

/// Parses `rest`, the end of the text, as an offset from UTC. Returns the offset in seconds.
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
