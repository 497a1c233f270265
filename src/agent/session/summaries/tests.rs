//! Tests of buckets, due buckets, and the summaries around a time.

use proptest::prelude::*;

use super::*;
use crate::agent::NewItem;
use crate::object::Id;
use crate::{Memory, Time, Writer};
use treering_text::calendar::DAY_MICROS as DAY;

fn at(text: &str) -> i64 {
    text.parse::<Time>().unwrap().as_micros()
}

/// An entry with its index in the input.
type Numbered = (EntryTime, usize);

fn entries(times: &[&str]) -> Vec<Numbered> {
    let numbered = times.iter().zip(1..).enumerate();
    numbered
        .map(|(place, (time, arrival))| {
            let time_micros = at(time);
            (EntryTime { time_micros, arrival }, place)
        })
        .collect()
}

#[test]
fn buckets_are_days_iso_weeks_and_months() {
    let names =
        |text: &str| Granularity::ALL.map(|granularity| Bucket::of(granularity, at(text)).to_string());
    assert_eq!(
        names("2026-04-21T23:59:59.999999Z"),
        ["2026-04-21", "2026-W17", "2026-04"]
    );
    // ISO 8601 weeks at the turn of the year.
    for (day, week) in [
        ("2021-01-03", "2020-W53"),
        ("2021-01-04", "2021-W01"),
        ("2024-12-30", "2025-W01"),
        ("2027-01-01", "2026-W53"),
        ("2008-12-28", "2008-W52"),
        ("2008-12-29", "2009-W01"),
        ("2010-01-03", "2009-W53"),
        ("1969-12-31", "1970-W01"),
    ] {
        assert_eq!(names(&format!("{day}T12:00:00Z"))[1], week, "{day}");
    }
    let month = Bucket::of(Granularity::Month, at("2026-12-31T12:00:00Z"));
    assert_eq!(month.end_micros(), at("2027-01-01T00:00:00Z"));
    assert_eq!(Granularity::from_name("week"), Some(Granularity::Week));
    assert_eq!(Granularity::from_name("year"), None);
}

#[test]
fn a_bucket_is_due_when_it_is_over_and_a_day_from_its_first_entry() {
    let given = entries(&[
        "2026-04-21T10:00:00Z",
        "2026-04-21T09:00:00Z",
        "2026-04-22T08:00:00Z",
    ]);
    let due = |now: &str| due_buckets(given.clone(), Granularity::Day, |_| None, at(now));
    assert!(due("2026-04-20T23:59:59.999999Z").is_empty());
    // The present day is due, so that a session has its summary on the same day.
    let found = due("2026-04-21T12:00:00Z");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].entries.clone(), found[0].unseen, found[0].watermark),
        (vec![1, 0], 2, 2)
    );
    assert_eq!(due("2026-04-21T23:59:59.999999Z").len(), 1);
    assert_eq!(due("2026-04-22T00:00:00Z").len(), 2);
    assert_eq!(
        due_buckets(
            given.clone(),
            Granularity::Month,
            |_| None,
            at("2026-05-01T00:00:00Z")
        )[0]
        .entries,
        [1, 0, 2]
    );
}

#[test]
fn a_late_entry_makes_its_bucket_due_again_and_no_other_is_lost() {
    let mut given = entries(&["2026-04-21T10:00:00Z", "2026-04-22T08:00:00Z"]);
    let mut seen = BTreeMap::<Bucket, u64>::new();
    for due in due_buckets(
        given.clone(),
        Granularity::Day,
        |bucket| seen.get(&bucket).copied(),
        at("2026-04-22T12:00:00Z"),
    ) {
        seen.insert(due.bucket, due.watermark);
    }
    // An entry of the first day arrives on the second day, so its arrival number exceeds the arrival number of every
    // other entry.
    let late = EntryTime {
        time_micros: at("2026-04-21T11:00:00Z"),
        arrival: 3,
    };
    given.push((late, 2));
    let again = due_buckets(
        given.clone(),
        Granularity::Day,
        |bucket| seen.get(&bucket).copied(),
        at("2026-04-22T13:00:00Z"),
    );
    assert_eq!(
        (again.len(), again[0].unseen, again[0].entries.clone()),
        (1, 1, vec![0, 2])
    );
    seen.insert(again[0].bucket, again[0].watermark);
    assert!(
        due_buckets(
            given.clone(),
            Granularity::Day,
            |bucket| seen.get(&bucket).copied(),
            at("2026-04-22T13:00:00Z")
        )
        .is_empty()
    );
    // The day was summarised while it lasted, and its later entry makes it due again.
    let evening = EntryTime {
        time_micros: at("2026-04-22T20:00:00Z"),
        arrival: 4,
    };
    given.push((evening, 3));
    let next = due_buckets(
        given.clone(),
        Granularity::Day,
        |bucket| seen.get(&bucket).copied(),
        at("2026-04-23T00:00:00Z"),
    );
    assert_eq!((next.len(), next[0].entries.clone()), (1, vec![1, 3]));
}

#[test]
fn a_year_with_clock_jumps_of_ten_years_summarises_every_entry() {
    let mut given = Vec::new();
    let mut seen = BTreeMap::<Bucket, u64>::new();
    let mut summarised = 0;
    let start = at("2026-01-01T00:00:00Z");
    for step in 0..365_i64 {
        let jump = match step {
            100..=101 => 3653,
            200..=201 => -3653,
            _ => 0,
        };
        let now = start + (step + jump) * DAY;
        let time = EntryTime {
            time_micros: now + 3600,
            arrival: step.unsigned_abs(),
        };
        given.push((time, ()));
        for due in due_buckets(
            given.clone(),
            Granularity::Day,
            |bucket| seen.get(&bucket).copied(),
            now + DAY,
        ) {
            summarised += due.unseen;
            seen.insert(due.bucket, due.watermark);
        }
    }
    assert_eq!(summarised, 365);
}

fn summary(
    memory: &Memory,
    id: &str,
    granularity: Granularity,
    time: &str,
    text: &str,
) -> (Granularity, Time, Item) {
    let id = Id::new(id).unwrap();
    let object = NewItem::new(text).into_object(id.clone()).unwrap();
    drop(memory.put(object, &Writer::user()).unwrap());
    let item = Item::from(memory.view().get(&id).unwrap().unwrap());
    (granularity, time.parse().unwrap(), item)
}

fn ids(hits: &[SummaryRead]) -> Vec<String> {
    hits.iter()
        .map(|hit| hit.item.object().id().to_string())
        .collect()
}

#[test]
fn the_nearest_before_all_exact_and_the_nearest_after_are_chosen() {
    use Granularity::{Day, Month, Week};
    let memory = Memory::in_memory().unwrap();
    let all = [
        ("after2", Day, "2026-04-24T00:00:00Z", "parser"),
        ("day", Day, "2026-04-22T00:00:00Z", "parser work"),
        ("before", Day, "2026-04-21T00:00:00Z", "lexer"),
        ("week", Week, "2026-04-22T00:00:00Z", "the parser"),
        ("month", Month, "2026-04-01T00:00:00Z", "parser and lexer"),
        ("after1", Day, "2026-04-23T00:00:00Z", "lunch"),
    ]
    .map(|(id, granularity, time, text)| summary(&memory, id, granularity, time, text));
    let found = |when: &str, query: &str| ids(&around(all.clone(), when.parse().unwrap(), query));
    assert_eq!(
        found("2026-04-22T00:00:00Z", ""),
        ["before", "week", "day", "after1"]
    );
    assert_eq!(found("2026-04-22T12:00:00Z", ""), ["day", "after1"]);
    assert_eq!(found("2020-01-01T00:00:00Z", ""), ["month"]);
    assert_eq!(found("2030-01-01T00:00:00Z", ""), ["after2"]);
    // A summary that does not match the query is ignored in the search for the nearest summary.
    assert_eq!(
        found("2026-04-22T00:00:00Z", "parser"),
        ["month", "week", "day", "after2"]
    );
    assert_eq!(found("2026-04-22T00:00:00Z", "zebra"), Vec::<String>::new());
    assert_eq!(
        ids(&chronological(all.clone(), "")),
        ["month", "before", "week", "day", "after1", "after2"]
    );
}

#[test]
fn scores_are_exact_contained_or_covered() {
    for (query, text, expected) in [
        ("", "x", 1.0),
        ("The  Parser", "the parser", 1.0),
        ("parser", "the parser works", 0.95),
        ("parser lexer", "lexer, then parser", 1.0),
        ("parser lexer zebra", "lexer, then parser", 0.666_667),
        ("zebra", "lexer", 0.0),
        ("сервер база", "база и прочее", 0.5),
        ("?", "none", 0.0),
    ] {
        assert!(
            (summary_score(query, text) - expected).abs() < 1e-9,
            "{query} in {text}"
        );
    }
}

proptest! {
    #[test]
    fn smb_1_every_time_is_in_one_bucket(time in any::<i64>()) {
        for granularity in Granularity::ALL {
            let bucket = Bucket::of(granularity, time);
            prop_assert!(bucket.start_micros() <= time && time <= bucket.end_micros());
            prop_assert!(time < bucket.end_micros() || bucket.end_micros() == i64::MAX);
            prop_assert_eq!(Bucket::of(granularity, bucket.start_micros().max(i64::MIN + 1)), bucket);
            if bucket.end_micros() < i64::MAX {
                prop_assert_ne!(Bucket::of(granularity, bucket.end_micros()), bucket);
            }
            prop_assert!(!bucket.to_string().is_empty());
        }
    }

    #[test]
    fn smb_2_nothing_unseen_is_passed_over(
        times in prop::collection::vec((0..40_i64, 0..9_u64), 0..30),
        marks in prop::collection::vec((0..40_i64, 0..9_u64), 0..10),
        now in 0..45_i64,
    ) {
        let given: Vec<Numbered> = times.iter().enumerate()
            .map(|(place, &(day, arrival))| (EntryTime { time_micros: day * DAY + 5, arrival }, place)).collect();
        for granularity in Granularity::ALL {
            let seen: BTreeMap<Bucket, u64> = marks.iter().map(|&(day, mark)| (Bucket::of(granularity, day * DAY), mark)).collect();
            let due = due_buckets(given.clone(), granularity, |bucket| seen.get(&bucket).copied(), now * DAY);
            let is_day = granularity == Granularity::Day;
            for &(entry, place) in &given {
                let bucket = Bucket::of(granularity, entry.time_micros);
                let is_seen = seen.get(&bucket).is_some_and(|&mark| entry.arrival <= mark);
                let is_given = due.iter().any(|due| due.bucket == bucket && due.entries.contains(&place));
                let since = if is_day { bucket.start_micros() } else { bucket.end_micros() };
                prop_assert!(is_seen || is_given || since > now * DAY);
                prop_assert!(!is_given || since <= now * DAY);
            }
            prop_assert!(due.iter().all(|due| due.unseen > 0));
        }
    }
}
