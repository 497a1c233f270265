//! Parses durations, and times with an age as another form, as people and models write them.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure: the caller supplies the current time.

use std::time::Duration;

use jiff::SignedDuration;

use super::json::loose_time;
use super::spoken_time::spoken;
use crate::engine::{Memory, Revision};
use crate::error::{Error, Result};
use crate::object::Time;

/// Parses a duration for `--wait`: `30s`, `500ms`, `2m`, or a number of seconds.
///
/// # Errors
/// `InvalidInput` if the text has another form.
pub fn duration(text: &str) -> Result<Duration> {
    let refused = || {
        Error::invalid(format!("'{text}' is not a duration"))
            .with_hint("write 500ms, 30s, 2m or a number of seconds")
    };
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| refused());
    }
    let signed: SignedDuration = text.parse().map_err(|_| refused())?;
    Duration::try_from(signed).map_err(|_| refused())
}

/// Parses a duration for `gc`: a [`duration`], or `30d`, `8w`, `2y` (of 365 days each), or `forever`.
///
/// # Errors
/// `InvalidInput` if the text has another form.
pub fn span(text: &str) -> Result<Duration> {
    if text == "forever" {
        return Ok(Duration::MAX);
    }
    for (unit, days) in [('d', 1), ('w', 7), ('y', 365)] {
        if let Some(count) = text
            .strip_suffix(unit)
            .and_then(|count| count.parse::<u32>().ok())
        {
            return Ok(Duration::from_hours(24 * days * u64::from(count)));
        }
    }
    let hint = "write 12h, 30d, 8w, 2y, 0 or forever";
    // Refuses a number without a unit, because the number would mean seconds, which are too short for
    // history.
    if text.parse::<f64>().is_ok_and(|count| count != 0.0) {
        return Err(Error::invalid(format!("'{text}' has no unit")).with_hint(hint));
    }
    duration(text).map_err(|error| error.with_hint(hint))
}

/// Parses a time: an RFC 3339 time, a date, an age before `now` (`90s`, `2h`, `3d`), or words such as `yesterday`,
/// `last week`, `2026-11` and `3 November 2026`. A period is its start, in UTC.
///
/// # Errors
/// `InvalidInput` if the text has another form.
pub fn moment(text: &str, now: Time) -> Result<Time> {
    let refused = || {
        Error::invalid(format!("'{text}' is not a time"))
            .with_hint("write 2026-01-31T08:15:00Z, 2026-01-31, 2026-01, yesterday, last week, or how long ago: 90s, 2h, 3d")
    };
    if let Some(time) = loose_time(text).or_else(|| spoken(text, now)) {
        return Ok(time);
    }
    let before = span(text).map_err(|_| refused())?;
    let before = i64::try_from(before.as_micros()).map_err(|_| refused())?;
    Ok(Time::from_micros(now.as_micros().saturating_sub(before)))
}

/// Returns the time that is `span` after `now`, or `None` if no time is that late.
pub fn after(span: Duration, now: Time) -> Option<Time> {
    let micros = i64::try_from(span.as_micros()).ok()?;
    Some(now.plus_micros(micros))
}

/// Parses the time of an option, if the user typed the option.
///
/// # Errors
/// The errors of [`moment`].
pub fn given(text: Option<&str>, now: Time) -> Result<Option<Time>> {
    text.map(|text| moment(text, now)).transpose()
}

/// Parses a revision, which may be a time in any form of [`moment`]. The name of a snapshot goes first.
///
/// # Errors
/// `InvalidInput` if the text is not a revision.
pub fn revision(text: &str, memory: &Memory, lane: &str) -> Result<Revision> {
    let revision = text.parse()?;
    if matches!(revision, Revision::Name(_))
        && let Ok(time) = moment(text, memory.view().now())
        && memory.resolve(&revision, lane).is_err()
    {
        return Ok(Revision::Time(time));
    }
    Ok(revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_or_are_seconds() {
        assert_eq!(duration("30s").unwrap(), Duration::from_secs(30));
        assert_eq!(duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("2m").unwrap(), Duration::from_mins(2));
        assert_eq!(duration("0").unwrap(), Duration::ZERO);
        assert_eq!(duration("1.5").unwrap(), Duration::from_millis(1500));
        for bad in ["", "soon", "-1", "-5s", "1e40", "NaN", "inf"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_have_larger_units() {
        assert_eq!(span("12h").unwrap(), Duration::from_hours(12));
        assert_eq!(span("30d").unwrap(), Duration::from_hours(720));
        assert_eq!(span("2w").unwrap(), Duration::from_hours(336));
        assert_eq!(span("1y").unwrap(), Duration::from_hours(8_760));
        assert_eq!(span("0").unwrap(), Duration::ZERO);
        assert_eq!(span("forever").unwrap(), Duration::MAX);
        for bad in ["", "never", "-1d", "99999999999d", "d", "30", "0.5"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_times_dates_or_ages() {
        let now: Time = "2026-01-31T08:15:00Z".parse().unwrap();
        let read = |text| moment(text, now).unwrap().to_string();
        assert_eq!(read("2026-01-01T00:00:01Z"), "2026-01-01T00:00:01.000000Z");
        assert_eq!(read("2026-01-01"), "2026-01-01T00:00:00.000000Z");
        assert_eq!(read("90s"), "2026-01-31T08:13:30.000000Z");
        assert_eq!(read("3d"), "2026-01-28T08:15:00.000000Z");
        assert_eq!(read("yesterday"), "2026-01-30T00:00:00.000000Z");
        assert_eq!(read("2025-11"), "2025-11-01T00:00:00.000000Z");
        for bad in [
            "",
            "some day",
            "-3d",
            "2026-13-01",
            "9999999999999999999h",
            "forever",
        ] {
            assert!(moment(bad, now).is_err(), "{bad}");
        }
    }
}
