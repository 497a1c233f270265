//! Parses times as people say them: `yesterday`, `last week`, `2026-11`, `3 November 2026`, `2 days ago`.
//!
//! A period is its start, in UTC. A week begins on Monday.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure: the caller supplies the current time.

use crate::object::Time;
use treering_text::calendar::{DAY_MICROS, SECOND_MICROS, date_of, day_of, weekday_of};

const MONTHS: &str = "january february march april may june july august september october november december";
const WEEKDAYS: &str = "monday tuesday wednesday thursday friday saturday sunday";

/// Parses a time in words, or a month or year in digits, before or after `now`.
pub(super) fn spoken(text: &str, now: Time) -> Option<Time> {
    let lower = text.trim().to_lowercase().replace(',', " ");
    let words = lower
        .split_whitespace()
        .filter(|word| !matches!(*word, "the" | "of" | "on" | "in"));
    let words: Vec<&str> = words.collect();
    if let ["now"] = *words {
        return Some(now);
    }
    if let [count, unit, "ago"] = *words {
        return ago(count, unit, now);
    }
    let today = now.as_micros().div_euclid(DAY_MICROS);
    let (day, rest) = day_at_start(&words, today)?;
    let minutes = match *rest {
        [] => 0,
        ["at", clock] | [clock] => minutes(clock)?,
        _ => return None,
    };
    let micros = day.checked_mul(DAY_MICROS)?;
    Some(Time::from_micros(
        micros.checked_add(minutes * 60 * SECOND_MICROS)?,
    ))
}

/// Returns the day that the first words name, and the words after it.
fn day_at_start<'a, 'w>(words: &'a [&'w str], today: i64) -> Option<(i64, &'a [&'w str])> {
    let (year, month, _) = date_of(today);
    let monday = today - weekday_of(today);
    let period = |unit: &str, step: i64| match unit {
        "week" => Some(monday + 7 * step),
        "month" => Some(day_of((year, month + step, 1))),
        "year" => Some(day_of((year + step, 1, 1))),
        _ => place(WEEKDAYS, unit).map(|weekday| match step {
            // The last Monday is before today, the next one after it.
            -1 => today - 1 - (weekday_of(today) - 1 - weekday).rem_euclid(7),
            _ => today + step + (weekday - weekday_of(today) - step).rem_euclid(7),
        }),
    };
    let step = |word: &str| match word {
        "last" | "previous" | "past" => Some(-1),
        "this" => Some(0),
        "next" => Some(1),
        _ => None,
    };
    let after = |count: usize| words.get(count..).unwrap_or_default();
    match *words {
        ["today", ..] => Some((today, after(1))),
        ["yesterday", ..] => Some((today - 1, after(1))),
        ["tomorrow", ..] => Some((today + 1, after(1))),
        [which, unit, ..] if step(which).is_some() => Some((period(unit, step(which)?)?, after(2))),
        [weekday, ..] if place(WEEKDAYS, weekday).is_some() => Some((period(weekday, -1)?, after(1))),
        _ => date(words, today),
    }
}

/// Returns the day of a date at the start, and the words after it. A date without a year is the last one up to today.
fn date<'a, 'w>(words: &'a [&'w str], today: i64) -> Option<(i64, &'a [&'w str])> {
    let year_of = |word: Option<&&str>| word.and_then(|word| number(word, 4..=4));
    let day_of_month = |word: &str| {
        let bare = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|ending| word.strip_suffix(ending));
        number(bare.unwrap_or(word), 1..=2)
    };
    let (month, day, count) = match *words {
        [first, ..] if first.len() == 7 && first.as_bytes()[4] == b'-' => {
            let (year, month) = first.split_once('-')?;
            return Some((
                valid(number(year, 4..=4)?, number(month, 2..=2)?, 1)?,
                &words[1..],
            ));
        }
        [year] if number(year, 4..=4).is_some() => return Some((day_of((number(year, 4..=4)?, 1, 1)), &[])),
        [day, month, ..] if month_named(month).is_some() => {
            (month_named(month)?, Some(day_of_month(day)?), 2)
        }
        [month, day, ..] if day_of_month(day).is_some() => (month_named(month)?, day_of_month(day), 2),
        [month, ..] => (month_named(month)?, None, 1),
        [] => return None,
    };
    if let Some(year) = year_of(words.get(count)) {
        return Some((valid(year, month, day.unwrap_or(1))?, &words[count + 1..]));
    }
    let (year, ..) = date_of(today);
    let this_year = valid(year, month, day.unwrap_or(1));
    let past = this_year.filter(|day| *day <= today);
    Some((
        past.or_else(|| valid(year - 1, month, day.unwrap_or(1)))?,
        &words[count..],
    ))
}

/// Returns the day of a date that exists.
fn valid(year: i64, month: i64, day: i64) -> Option<i64> {
    let at = day_of((year, month, day));
    (date_of(at) == (year, month, day)).then_some(at)
}

/// Returns the time of "2 days ago".
fn ago(count: &str, unit: &str, now: Time) -> Option<Time> {
    let count = match count {
        "a" | "an" => 1,
        count => place("one two three four five six seven eight nine ten", count)
            .map(|at| at + 1)
            .or_else(|| number(count, 1..=5))?,
    };
    let seconds = match unit.strip_suffix('s').unwrap_or(unit) {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        "week" => 7 * 86_400,
        "month" => 30 * 86_400,
        "year" => 365 * 86_400,
        _ => return None,
    };
    Some(Time::from_micros(
        now.as_micros().saturating_sub(count * seconds * SECOND_MICROS),
    ))
}

/// Returns the minutes of a clock such as "15:00".
fn minutes(clock: &str) -> Option<i64> {
    let (hour, minute) = clock.split_once(':')?;
    let (hour, minute) = (number(hour, 1..=2)?, number(minute, 2..=2)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// Returns the number of a month by its name or the first letters of it, at least three.
fn month_named(word: &str) -> Option<i64> {
    let word = word.trim_end_matches('.');
    let mut names = (1..).zip(MONTHS.split(' '));
    let (month, _) = names.find(|(_, name)| word.len() >= 3 && name.starts_with(word))?;
    Some(month)
}

fn place(names: &str, word: &str) -> Option<i64> {
    let mut names = (0..).zip(names.split(' '));
    Some(names.find(|(_, name)| *name == word)?.0)
}

/// Returns a number in digits, as many as `count` allows.
fn number(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let is_number = count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words_are_parsed() {
        // A Saturday.
        let now: Time = "2026-11-28T08:15:00Z".parse().unwrap();
        for (text, wanted) in [
            ("now", "2026-11-28T08:15:00"),
            ("today", "2026-11-28T00:00:00"),
            ("Yesterday", "2026-11-27T00:00:00"),
            ("yesterday at 15:00", "2026-11-27T15:00:00"),
            ("tomorrow", "2026-11-29T00:00:00"),
            ("this week", "2026-11-23T00:00:00"),
            ("last week", "2026-11-16T00:00:00"),
            ("last month", "2026-10-01T00:00:00"),
            ("next month", "2026-12-01T00:00:00"),
            ("this year", "2026-01-01T00:00:00"),
            ("last Saturday", "2026-11-21T00:00:00"),
            ("monday", "2026-11-23T00:00:00"),
            ("next saturday", "2026-12-05T00:00:00"),
            ("2026-11", "2026-11-01T00:00:00"),
            ("2025", "2025-01-01T00:00:00"),
            ("November 2026", "2026-11-01T00:00:00"),
            ("3 November 2026", "2026-11-03T00:00:00"),
            ("3rd of Nov 2025, 9:05", "2025-11-03T09:05:00"),
            ("Nov 3, 2026", "2026-11-03T00:00:00"),
            ("3 december", "2025-12-03T00:00:00"),
            ("march", "2026-03-01T00:00:00"),
            ("2 days ago", "2026-11-26T08:15:00"),
            ("an hour ago", "2026-11-28T07:15:00"),
        ] {
            let read = spoken(text, now).map(|time| time.to_string());
            assert!(
                read.as_deref().unwrap_or("nothing").starts_with(wanted),
                "{text}: {read:?}"
            );
        }
        for bad in [
            "",
            "soon",
            "2026-13",
            "30 february 2026",
            "last",
            "yesterday 25:00",
            "99999 eons ago",
            "ma",
            "last x",
            "2026-1é",
            "next",
        ] {
            assert!(spoken(bad, now).is_none(), "{bad}");
        }
        for far in [i64::MIN, i64::MAX] {
            let now = Time::from_micros(far);
            for text in [
                "last year",
                "next year",
                "monday",
                "march",
                "99999 years ago",
                "tomorrow 15:00",
            ] {
                let _ = spoken(text, now);
            }
        }
    }
}
