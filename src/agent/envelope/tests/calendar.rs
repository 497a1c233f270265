//! Moments against a calendar that counts day by day.

use super::super::calendar::moment;

const SECOND: i64 = 1_000_000;

#[test]
fn moments_are_those_of_the_calendar() {
    let table = [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (951_782_400 * SECOND, "2000-02-29T00:00:00Z"),
        (1_787_306_400 * SECOND + 999_999, "2026-08-21T10:00:00Z"),
        (4_107_542_399 * SECOND, "2100-02-28T23:59:59Z"),
        (4_107_542_400 * SECOND, "2100-03-01T00:00:00Z"),
        (i64::MAX, "9999-12-31T23:59:59Z"),
        (i64::MIN, "0000-01-01T00:00:00Z"),
    ];
    for (time_us, expected) in table {
        assert_eq!(moment(time_us), expected);
    }
    // Day by day through more than one cycle of leap years.
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for days in 0..150_000 {
        assert!(moment(days * 86_400 * SECOND).starts_with(&format!("{year:04}-{month:02}-{day:02}T")));
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = [
            31,
            28 + i32::from(is_leap),
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
        ][month - 1];
        day += 1;
        if day > length {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}
