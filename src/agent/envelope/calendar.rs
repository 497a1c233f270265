//! Moments as people and models read them: `2026-08-21T10:00:00Z`.
//!
//! # Layer
//! Pure: imports nothing.

const SECOND_US: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
/// The seconds of the first and of the last moment that four digits of a year can name.
const FIRST_S: i64 = -62_167_219_200;
const LAST_S: i64 = 253_402_300_799;

/// Writes a moment in UTC to the second. What is beyond the years 0 to 9999 is written as their first or last moment.
pub(super) fn moment(time_us: i64) -> String {
    let seconds = time_us.div_euclid(SECOND_US).clamp(FIRST_S, LAST_S);
    let (year, month, day) = date(seconds.div_euclid(DAY_S));
    let second = seconds.rem_euclid(DAY_S);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of the day that is `days` after 1970-01-01, in the Gregorian calendar.
///
/// Years are counted from March, so that the day that leap years add is the last of its year; 400 years have 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    // 1 March of the year 0 is 719,468 days before 1970.
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leaps = day / 1460 - day / 36_524 + day / 146_096;
    let year = (day - leaps) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months in turn have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_after_december = month >= 10;
    let month = if is_after_december { month - 9 } else { month + 3 };
    (cycle * 400 + year + i64::from(is_after_december), month, day)
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
