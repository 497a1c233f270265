//! Tests of times as text, in both directions.

use super::*;
use crate::testing::random::SplitMix64;

#[test]
fn known_times_are_written_as_others_write_them() {
    for (micros, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (1_709_164_800_123_456, "2024-02-29T00:00:00.123456Z"),
        (4_107_542_399_000_000, "2100-02-28T23:59:59.000000Z"),
        (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
        (-62_167_219_200_000_001, "-000001-12-31T23:59:59.999999Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        (253_402_300_800_000_000, "+010000-01-01T00:00:00.000000Z"),
        (i64::MAX, "+294247-01-10T04:00:54.775807Z"),
        (i64::MIN, "-290308-12-21T19:59:05.224192Z"),
    ] {
        assert_eq!(Time::from_micros(micros).to_string(), text);
        assert_eq!(
            text.parse::<Time>().ok(),
            Some(Time::from_micros(micros)),
            "{text}"
        );
    }
}

#[test]
fn every_time_comes_back() {
    let mut random = SplitMix64::new(31);
    for _ in 0..100_000 {
        let scale = random.below(40);
        let time = Time::from_micros(random.next_u64().cast_signed() >> scale);
        assert_eq!(time.to_string().parse::<Time>().ok(), Some(time), "{time}");
    }
}

#[test]
fn other_forms_of_rfc_3339_are_read() {
    let noon = Time::from_micros(1_706_702_400_000_000);
    for text in [
        "2024-01-31T12:00:00Z",
        "2024-01-31t12:00:00z",
        "2024-01-31 12:00:00Z",
        "2024-01-31T14:30:00+02:30",
        "2024-01-30T23:00:00-13:00",
        "2024-01-31T12:00:00.0000009Z",
    ] {
        assert_eq!(text.parse::<Time>().ok(), Some(noon), "{text}");
    }
    assert_eq!(
        "2024-01-31T12:00:00.5Z".parse::<Time>().ok(),
        Some(noon.plus_micros(500_000))
    );
    assert_eq!(
        "2016-12-31T23:59:60Z".parse::<Time>().unwrap(),
        "2016-12-31T23:59:59Z".parse().unwrap()
    );
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        "2024",
        "2024-01-31",
        "2024-01-31T12:00:00",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-01-32T00:00:00Z",
        "2024-01-00T00:00:00Z",
        "2024-01-31T24:00:00Z",
        "2024-01-31T12:60:00Z",
        "2024-01-31T12:00:61Z",
        "2024-01-31T12:00:00.Z",
        "2024-01-31T12:00:00Zz",
        "2024-01-31T12:00:00+0230",
        "2024-01-31T12:00:00+24:00",
        "2024-01-31T12:00:00+02:60",
        "24-01-31T12:00:00Z",
        "+2024-01-31T12:00:00Z",
        "2024-1-31T12:00:00Z",
        "+999999-01-01T00:00:00Z",
        "20\u{662}4-01-31T12:00:00Z",
        "2024-01-31T12:00:00.1\u{e9}Z",
    ] {
        assert!(text.parse::<Time>().is_err(), "{text}");
    }
}

#[test]
fn adding_stops_at_the_last_time() {
    assert_eq!(
        Time::from_micros(i64::MAX).plus_micros(1),
        Time::from_micros(i64::MAX)
    );
    assert_eq!(Time::from_micros(1).plus_micros(1).as_micros(), 2);
}
