//! Chronological summaries: finds the time buckets that are due, and the summaries around a time.
//!
//! Buckets are days, ISO weeks (from Monday) and months, all in UTC. A bucket is due when it contains an entry that its
//! summary does not cover, and it is over or is the present day. So the summary of a session exists on the same day, and
//! weeks and months are summarised once. The watermark of a bucket is an arrival number, not a time. So a late entry
//! makes its bucket due again, and a clock jump loses no entry.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure: "now" comes from the caller.
//!
//! # Invariants
//! - SMB-1: every time is in exactly one bucket of each granularity.
//! - SMB-2: a past bucket, and the present day, is due if it has an entry above its watermark.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::item::Item;
use crate::agent::notes::rank::rounded;
use crate::agent::words;
use crate::object::Time;
use treering_text::calendar::{DAY_MICROS, date_of, day_of, weekday_of};

/// An entry of a transcript, or a summary as the source of another summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntryTime {
    /// The time of the entry, or the start of the summary's time span, in microseconds since 1970.
    pub time_micros: i64,
    /// The arrival number of the entry, which rises with every appended entry, or the watermark of the summary.
    pub arrival: u64,
}

/// A bucket that needs its first summary or a new summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DueBucket<T> {
    /// The bucket.
    pub bucket: Bucket,
    /// All entries of the bucket, by time, then by arrival number.
    pub entries: Vec<T>,
    /// The number of entries that no summary covers.
    pub unseen: usize,
    /// The watermark to store with the new summary.
    pub watermark: u64,
}

/// Returns the buckets of `granularity` that are over at `now_micros`, or are the present day, and contain an entry above
/// their watermark, in order of time. `seen` returns the watermark of a bucket: the highest arrival number that its summary covers. The
/// caller must pass all entries of a bucket, because the new summary covers the whole bucket.
pub(crate) fn due_buckets<T>(
    entries: impl IntoIterator<Item = (EntryTime, T)>,
    granularity: Granularity,
    seen: impl Fn(Bucket) -> Option<u64>,
    now_micros: i64,
) -> Vec<DueBucket<T>> {
    let mut by_bucket: BTreeMap<Bucket, Vec<(EntryTime, T)>> = BTreeMap::new();
    for (time, entry) in entries {
        let bucket = Bucket::of(granularity, time.time_micros);
        by_bucket.entry(bucket).or_default().push((time, entry));
    }
    let mut due = Vec::new();
    for (bucket, mut entries) in by_bucket {
        let seen = seen(bucket);
        let is_unseen = |(time, _): &&(EntryTime, T)| seen.is_none_or(|seen| time.arrival > seen);
        let unseen = entries.iter().filter(is_unseen).count();
        // SMB-2: a past bucket, or the present day, with an uncovered entry is due.
        let is_day = granularity == Granularity::Day;
        let since = if is_day {
            bucket.start_micros()
        } else {
            bucket.end_micros()
        };
        if unseen == 0 || since > now_micros {
            continue;
        }
        entries.sort_by_key(|(time, _)| (time.time_micros, time.arrival));
        due.push(DueBucket {
            bucket,
            unseen,
            // At least one entry is above the old watermark, so the new watermark is higher.
            watermark: entries.iter().map(|(time, _)| time.arrival).max().unwrap_or(0),
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
        });
    }
    due
}

named! {
    /// The length of a bucket.
    #[derive(PartialOrd, Ord)]
    pub enum Granularity {
        /// A day, from midnight to midnight.
        Day => "day",
        /// A week, from Monday to Monday.
        Week => "week",
        /// A calendar month.
        Month => "month",
    }
}

/// The time span of one summary. Buckets are ordered by their first day, then from short to long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, JsonSchema)]
#[serde(into = "String")]
pub struct Bucket {
    /// The first day, counted from 1970-01-01.
    start_day: i64,
    granularity: Granularity,
}

impl Bucket {
    /// Returns the bucket that contains `time_micros`.
    pub(crate) fn of(granularity: Granularity, time_micros: i64) -> Self {
        let day = time_micros.div_euclid(DAY_MICROS);
        let start_day = match granularity {
            Granularity::Day => day,
            Granularity::Week => day - weekday_of(day),
            Granularity::Month => {
                let (year, month, _) = date_of(day);
                day_of((year, month, 1))
            }
        };
        Self {
            start_day,
            granularity,
        }
    }

    /// Returns the granularity of the bucket.
    pub(crate) fn granularity(self) -> Granularity {
        self.granularity
    }

    /// Returns the first microsecond of the bucket, clamped to the range of `i64`.
    pub(crate) fn start_micros(self) -> i64 {
        self.start_day.saturating_mul(DAY_MICROS)
    }

    /// Returns the first microsecond after the bucket, clamped to the range of `i64`.
    pub(crate) fn end_micros(self) -> i64 {
        let end_day = match self.granularity {
            Granularity::Day => self.start_day + 1,
            Granularity::Week => self.start_day + 7,
            Granularity::Month => {
                let (year, month, _) = date_of(self.start_day);
                day_of((year, month + 1, 1))
            }
        };
        end_day.saturating_mul(DAY_MICROS)
    }
}

impl From<Bucket> for String {
    fn from(bucket: Bucket) -> Self {
        bucket.to_string()
    }
}

impl fmt::Display for Bucket {
    /// Writes `2026-04-21`, `2026-W17` or `2026-04`. A week belongs to the year of its Thursday.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.start_day);
        match self.granularity {
            Granularity::Day => write!(f, "{year:04}-{month:02}-{day:02}"),
            Granularity::Week => {
                let thursday = self.start_day + 3;
                let (year, ..) = date_of(thursday);
                let week = (thursday - day_of((year, 1, 1))) / 7 + 1;
                write!(f, "{year:04}-W{week:02}")
            }
            Granularity::Month => write!(f, "{year:04}-{month:02}"),
        }
    }
}

/// A summary that matches a query.
#[derive(Clone, Debug)]
pub struct SummaryRead {
    /// The summary.
    pub item: Item,
    /// The length of the time span of the summary.
    pub granularity: Granularity,
    /// The start of the time span of the summary.
    pub time: Time,
    /// The score of the match with the query, above 0 and at most 1.
    pub score: f64,
}

impl SummaryRead {
    /// Returns the time span of the summary.
    pub fn bucket(&self) -> Bucket {
        Bucket::of(self.granularity, self.time.as_micros())
    }
}

/// Returns the relevance of a summary, in 0..=1 with six decimals: 1 if the text equals the query, 0.95 if the text
/// contains the query, otherwise the share of the query's words that the text contains. Every summary matches an empty
/// query.
pub(crate) fn summary_score(query: &str, text: &str) -> f64 {
    let query = words::normalised(query);
    if query.is_empty() {
        return 1.0;
    }
    let text = words::normalised(text);
    if text == query {
        return 1.0;
    }
    if text.contains(&query) {
        return 0.95;
    }
    rounded(words::covered(&query, &text).unwrap_or_default())
}

/// Returns the matching summaries in order of time. If times are equal, the longer time span is first, then the
/// lower id.
pub(crate) fn chronological(
    summaries: impl IntoIterator<Item = (Granularity, Time, Item)>,
    query: &str,
) -> Vec<SummaryRead> {
    let scored = summaries
        .into_iter()
        .map(|(granularity, time, item)| SummaryRead {
            score: summary_score(query, item.text()),
            item,
            granularity,
            time,
        });
    let mut hits: Vec<SummaryRead> = scored.filter(|hit| hit.score > 0.0).collect();
    hits.sort_by_cached_key(|hit| (hit.time, Reverse(hit.granularity), hit.item.object().id().clone()));
    hits
}

/// Returns the matching summaries around `when`, in order of time: the nearest summary before `when`, all summaries
/// with exactly this time, and the nearest summary after it.
pub(crate) fn around(
    summaries: impl IntoIterator<Item = (Granularity, Time, Item)>,
    when: Time,
    query: &str,
) -> Vec<SummaryRead> {
    let mut hits = chronological(summaries, query);
    let exact = hits.partition_point(|hit| hit.time < when);
    let after = hits.partition_point(|hit| hit.time <= when);
    hits.truncate(after + 1);
    hits.drain(..exact.saturating_sub(1));
    hits
}

#[cfg(test)]
mod tests;
