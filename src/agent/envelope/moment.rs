//! Moments as people and models read them: `2026-08-21T10:00:00Z`.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use crate::calendar::{Moment, SECOND_MICROS};

/// The first and the last moment that four digits of a year can name.
const FIRST_US: i64 = -62_167_219_200 * SECOND_MICROS;
const LAST_US: i64 = 253_402_300_799 * SECOND_MICROS;

/// Writes a moment in UTC to the second. What is beyond the years 0 to 9999 is written as their first or last moment.
pub(super) fn moment(time_us: i64) -> String {
    format!("{}Z", Moment::of(time_us.clamp(FIRST_US, LAST_US)))
}

/// Whether `text` has the form that [`moment`] writes.
pub(super) fn is_moment(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    let fits = |(byte, form): (u8, &u8)| {
        if *form == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == *form
        }
    };
    text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_four_digits_of_a_year() {
        let table = [
            (-1, "1969-12-31T23:59:59Z"),
            (1_787_306_400 * SECOND_MICROS + 999_999, "2026-08-21T10:00:00Z"),
            (i64::MAX, "9999-12-31T23:59:59Z"),
            (i64::MIN, "0000-01-01T00:00:00Z"),
        ];
        for (time_us, expected) in table {
            assert_eq!(moment(time_us), expected);
            assert!(is_moment(expected));
        }
    }
}
