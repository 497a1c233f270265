//! Formats ages for people. [`Time`] parses and formats times.
//!
//! # Layer
//! Layer 10, part of cli. Converts only: the engine supplies the current time.

use super::human::Style;
use super::output::Output;
use treering::Time;
pub(crate) use treering::inspect::ingest::moment::{after, duration, given, moment, span};

/// Formats the age of a time in words.
pub(crate) fn ago(time: Time, now: Time) -> String {
    let seconds = now.as_micros().saturating_sub(time.as_micros()) / 1_000_000;
    let (number, unit) = match seconds {
        ..=4 => return "now".to_owned(),
        5..=59 => (seconds, "s"),
        60..=3_599 => (seconds / 60, "min"),
        3_600..=86_399 => (seconds / 3_600, "h"),
        86_400..=2_591_999 => (seconds / 86_400, "day"),
        _ => return time.to_string().get(..10).unwrap_or_default().to_owned(),
    };
    let plural = if unit == "day" && number != 1 { "s" } else { "" };
    format!("{number} {unit}{plural} ago")
}

/// Formats a time for a line of text: with its age, unless the output must use few tokens.
pub(crate) fn with_age(time: Time, now: Time, output: &Output) -> String {
    if output.is_compact() {
        return in_column(time, now, output.style());
    }
    format!("{time}  ({})", ago(time, now))
}

/// Formats a time for a column: as an age on a terminal, else as a time.
pub(crate) fn in_column(time: Time, now: Time, style: Style) -> String {
    if style.width.is_some() {
        return ago(time, now);
    }
    let text = time.to_string();
    text.get(..19)
        .map_or_else(|| text.clone(), |seconds| format!("{seconds}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_unit() {
        let now = Time::from_micros(100 * 86_400 * 1_000_000);
        let before = |seconds: i64| ago(Time::from_micros(now.as_micros() - seconds * 1_000_000), now);
        assert_eq!(before(0), "now");
        assert_eq!(before(-60), "now");
        assert_eq!(before(30), "30 s ago");
        assert_eq!(before(60), "1 min ago");
        assert_eq!(before(7_200), "2 h ago");
        assert_eq!(before(86_400 * 3), "3 days ago");
        assert_eq!(before(86_400 * 90), "1970-01-11");
    }
}
