//! Chronological summaries: which buckets of time are to be summarised, and which summaries lie around a time.
//!
//! Entries fall into days, weeks (from Monday, as ISO counts them) and months, all in UTC. A bucket is due when it is
//! over and holds an entry that its summary has not seen. The watermark is kept by bucket and counts arrivals, not
//! times: an entry that comes late makes its old bucket due again, and a clock that jumps loses nothing.
//!
//! # Layer
//! L7, inside `agent`. Pure: "now" comes from the caller.
//!
//! # Invariants
//! - SMB-1: every time is in exactly one bucket of each granularity.
//! - SMB-2: an entry of a bucket that is over is under its watermark, or the bucket is due.

mod around;
mod bucket;

use std::collections::BTreeMap;

pub use self::around::{SummaryHit, SummaryText, around, chronological, summary_score};
pub use self::bucket::{Bucket, Granularity};

/// An entry of a transcript, or a summary that is summarised further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryTime {
    /// When it happened, in microseconds since 1970.
    pub time_micros: i64,
    /// The number of its arrival, rising with every entry that is appended.
    pub arrival: u64,
}

/// The watermarks: for each bucket the arrival of the last entry that its summary covers.
pub type Watermarks = BTreeMap<Bucket, u64>;

/// A bucket that is to be summarised, again or for the first time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DueBucket {
    /// The bucket.
    pub bucket: Bucket,
    /// Places in the given entries of all that belong to it, by time, then arrival.
    pub entries: Vec<usize>,
    /// How many of them no summary has seen.
    pub unseen: usize,
    /// The watermark to keep with the new summary.
    pub watermark: u64,
}

/// Returns the buckets of `granularity` that are over at `now_micros` and hold an entry above their watermark, in
/// order of time. The caller gives all entries of a bucket, not only the new ones, since the summary is made anew.
pub fn due_buckets(
    entries: &[EntryTime],
    granularity: Granularity,
    watermarks: &Watermarks,
    now_micros: i64,
) -> Vec<DueBucket> {
    let mut by_bucket: BTreeMap<Bucket, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let bucket = Bucket::of(granularity, entry.time_micros);
        by_bucket.entry(bucket).or_default().push(place);
    }
    let is_over = |bucket: &Bucket| bucket.end_micros() <= now_micros;
    by_bucket
        .into_iter()
        .filter(|(bucket, _)| is_over(bucket))
        .filter_map(|(bucket, places)| due(entries, bucket, places, watermarks.get(&bucket).copied()))
        .collect()
}

fn due(
    entries: &[EntryTime],
    bucket: Bucket,
    mut places: Vec<usize>,
    seen: Option<u64>,
) -> Option<DueBucket> {
    let arrivals = || places.iter().map(|&place| entries[place].arrival);
    let unseen = arrivals()
        .filter(|&arrival| seen.is_none_or(|seen| arrival > seen))
        .count();
    // SMB-2.
    if unseen == 0 {
        return None;
    }
    // Something is unseen, so this is above the old one.
    let watermark = arrivals().max()?;
    places.sort_by_key(|&place| (entries[place].time_micros, entries[place].arrival));
    Some(DueBucket {
        bucket,
        entries: places,
        unseen,
        watermark,
    })
}

#[cfg(test)]
mod tests;
