//! The summaries around a time, and how well they fit a query.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use super::Granularity;
use crate::agent::notes::rank::rounded;
use crate::agent::words;

/// A summary to choose from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SummaryText<'a> {
    /// Its id, the last of the tie-breaks.
    pub id: &'a str,
    /// Its granularity.
    pub granularity: Granularity,
    /// The time that it stands for, in microseconds since 1970.
    pub time_micros: i64,
    /// Its text.
    pub text: &'a str,
}

/// A summary that was chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SummaryHit<'a> {
    /// The summary.
    pub summary: SummaryText<'a>,
    /// How well it fits, above 0 and at most 1.
    pub score: f64,
}

/// Returns how well a summary fits `query`, in 0..=1 with six decimals: 1 if they are equal, 0.95 if it holds the
/// query, else the share of the query's words in it. An empty query fits every summary.
pub fn summary_score(query: &str, text: &str) -> f64 {
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
    let tokens = words::query_tokens(&query);
    let found = tokens
        .iter()
        .filter(|token| text.contains(token.as_str()))
        .count();
    rounded(found as f64 / tokens.len().max(1) as f64)
}

/// Returns the summaries that fit `query` in order of time; of the same time the longer stretch first, then by id.
pub fn chronological<'a>(
    summaries: impl IntoIterator<Item = SummaryText<'a>>,
    query: &str,
) -> Vec<SummaryHit<'a>> {
    let mut hits: Vec<SummaryHit<'a>> = summaries
        .into_iter()
        .map(|summary| SummaryHit {
            summary,
            score: summary_score(query, summary.text),
        })
        .filter(|hit| hit.score > 0.0)
        .collect();
    hits.sort_by(|left, right| {
        let (left, right) = (left.summary, right.summary);
        (left.time_micros, right.granularity, left.id).cmp(&(right.time_micros, left.granularity, right.id))
    });
    hits
}

/// Returns what lies around `when_micros` of the summaries that fit `query`, in order of time: the nearest one before,
/// all of that very time, and the nearest one after.
pub fn around<'a>(
    summaries: impl IntoIterator<Item = SummaryText<'a>>,
    when_micros: i64,
    query: &str,
) -> Vec<SummaryHit<'a>> {
    let mut hits = chronological(summaries, query);
    let exact = hits.partition_point(|hit| hit.summary.time_micros < when_micros);
    let after = hits.partition_point(|hit| hit.summary.time_micros <= when_micros);
    hits.truncate(after + 1);
    hits.drain(..exact.saturating_sub(1));
    hits
}
