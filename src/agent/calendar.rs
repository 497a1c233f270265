//! Days, weeks and months in UTC, and times as text.
//!
//! # Layer
//! L7, inside `agent`. Pure: there is no clock here.
//!
//! # Invariants
//! - CLD-1: a time of the years 0000 to 9999 is read back from its text as the same time.

/// Microseconds of a day.
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;
/// Days in 400 years, after which the calendar repeats.
const CYCLE_DAYS: i64 = 146_097;
/// Days from the first of March of the year 0 to 1970.
const MARCH_TO_EPOCH_DAYS: i64 = 719_468;

/// A date of the Gregorian calendar: year, month 1 to 12, day 1 to 31.
pub(crate) type Date = (i64, i64, i64);

/// The days from 1970-01-01 to a date. The year begins in March for this, so that a leap day is its last.
pub(crate) fn day_of((year, month, day): Date) -> i64 {
    let months = year * 12 + month - 3;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // March to July and August to December have 153 days each, in the same order of long and short months.
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - MARCH_TO_EPOCH_DAYS
}

/// The date of a day since 1970-01-01.
pub(crate) fn date_of(day: i64) -> Date {
    let from_march = day + MARCH_TO_EPOCH_DAYS;
    let (cycle, rest) = (
        from_march.div_euclid(CYCLE_DAYS),
        from_march.rem_euclid(CYCLE_DAYS),
    );
    // The year so far is at most one too many, for the last days of a leap year.
    let mut year = cycle * 400 + rest * 400 / CYCLE_DAYS + 1;
    while day_of((year, 3, 1)) > day {
        year -= 1;
    }
    let day_of_year = day - day_of((year, 3, 1));
    let month = (day_of_year * 5 + 2) / 153;
    let day_of_month = day_of_year - (month * 153 + 2) / 5 + 1;
    if month < 10 {
        (year, month + 3, day_of_month)
    } else {
        (year + 1, month - 9, day_of_month)
    }
}

/// The day of a time, and the microseconds since its midnight.
pub(crate) fn day_and_rest(micros: i64) -> (i64, i64) {
    (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS))
}

/// The weekday of a day: 0 for Monday.
pub(crate) fn weekday_of(day: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(7)
}

/// Writes a time as in `2026-01-31T08:15:00.000Z`, with microseconds if there are any below the millisecond; `None` for
/// years that do not have four digits.
pub(crate) fn time_text(micros: i64) -> Option<String> {
    let (day, rest) = day_and_rest(micros);
    let (year, month, date) = date_of(day);
    if !(0..=9999).contains(&year) {
        return None;
    }
    let (seconds, micro) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if micro % 1000 == 0 {
        format!("{:03}", micro / 1000)
    } else {
        format!("{micro:06}")
    };
    Some(format!(
        "{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{fraction}Z"
    ))
}

/// Reads a time of RFC 3339: a date, a time with or without a fraction, and `Z` or an offset.
pub(crate) fn time_from_text(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, count: usize| -> Option<i64> {
        let digits = bytes.get(from..from + count)?;
        digits.iter().try_fold(0, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    };
    let is_any = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    let separators =
        is_any(4, b"-") && is_any(7, b"-") && is_any(10, b"Tt ") && is_any(13, b":") && is_any(16, b":");
    let date = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let day = day_of(date);
    if !separators || date_of(day) != date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (micro, end) = fraction(bytes, 19)?;
    let offset_minutes = match bytes.get(end)? {
        b'Z' | b'z' if bytes.len() == end + 1 => 0,
        sign @ (b'+' | b'-') if bytes.len() == end + 6 && is_any(end + 3, b":") => {
            let (hours, minutes) = (number(end + 1, 2)?, number(end + 4, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    // A leap second counts as the one before it.
    let seconds = (hour * 60 + minute - offset_minutes) * 60 + second.min(59);
    Some(day * DAY_MICROS + seconds * 1_000_000 + micro)
}

/// The microseconds of a fraction that may begin at `at`, and where it ends; finer digits are dropped.
fn fraction(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    if bytes.get(at) != Some(&b'.') {
        return Some((0, at));
    }
    let digits = bytes[at + 1..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits == 0 {
        return None;
    }
    let micro = (0..6).fold(0, |sum, place| {
        let digit = if place < digits {
            bytes[at + 1 + place] - b'0'
        } else {
            0
        };
        sum * 10 + i64::from(digit)
    });
    Some((micro, at + 1 + digits))
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
        // One day after the other for 1,000 years, checked by the lengths of months.
        let mut date = (1600, 1, 1);
        for day in day_of(date)..day_of((2600, 1, 1)) {
            assert_eq!(date_of(day), date);
            assert_eq!(day_of(date), day);
            let is_leap = date.0 % 4 == 0 && (date.0 % 100 != 0 || date.0 % 400 == 0);
            let last = [
                31,
                if is_leap { 29 } else { 28 },
                31,
                30,
                31,
                30,
                31,
                31,
                30,
                31,
                30,
                31,
            ][usize::try_from(date.1 - 1).unwrap()];
            date = match date {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == last => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
        }
        assert_eq!((weekday_of(day_of((2026, 11, 22))), weekday_of(-4)), (6, 6));
    }

    #[test]
    fn times_are_read_in_their_forms() {
        let at = |text| time_from_text(text);
        assert_eq!(at("1970-01-01T00:00:01Z"), Some(1_000_000));
        assert_eq!(
            at("2026-01-31t08:15:00.5+02:00"),
            at("2026-01-31T06:15:00.500000z")
        );
        assert_eq!(
            at("2026-01-31 08:15:00.1234567Z"),
            at("2026-01-31T08:15:00.123456Z")
        );
        assert!(at("2026-01-31T08:15:00.123456Z") > at("2026-01-31T08:15:00Z"));
        for bad in [
            "",
            "2026-01-31",
            "2026-02-30T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T08:15:00",
            "not-a-date",
            "2026-01-31T08:15:00.Z",
            "2026-01-31T08:15:00Zx",
            "2026-01-31T08:15:00+2:00",
            "\u{FF11}026-01-31T08:15:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-31T08:60:00Z",
            "2026-01-31T08:15:00+24:00",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
        assert_eq!(time_text(i64::MAX), None);
    }

    proptest! {
        #[test]
        fn cld_1_times_are_read_back(micros in -62_167_219_200_000_000..253_402_300_799_999_999_i64) {
            let text = time_text(micros).unwrap();
            prop_assert_eq!(time_from_text(&text), Some(micros));
        }

        #[test]
        fn any_text_and_time_is_taken(text in "[0-9TZ:.+\u{e9} -]{0,30}", micros in any::<i64>()) {
            let _: Option<i64> = time_from_text(&text);
            let (day, rest) = day_and_rest(micros);
            prop_assert!((0..DAY_MICROS).contains(&rest));
            prop_assert_eq!(day_of(date_of(day)), day);
        }
    }
}
