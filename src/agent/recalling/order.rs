//! The order in which entries, notes and summaries of one search are shown together.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::cmp::Ordering;

/// What a result is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultKind {
    /// An entry of a transcript.
    Entry,
    /// A note.
    Note,
    /// A summary.
    Summary,
}

/// What the order of a result depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResultKey<'a> {
    /// What it is.
    pub kind: ResultKind,
    /// How well it fits.
    pub score: f64,
    /// When it was made, in microseconds since 1970.
    pub created_micros: i64,
    /// Its name in answers, the last of the tie-breaks.
    pub reference: &'a str,
}

/// Compares two results of a query: entries and notes before summaries, each by score, newest first, then by name.
pub fn by_fit(left: &ResultKey<'_>, right: &ResultKey<'_>) -> Ordering {
    let is_summary = |key: &ResultKey<'_>| key.kind == ResultKind::Summary;
    is_summary(left)
        .cmp(&is_summary(right))
        .then_with(|| right.score.total_cmp(&left.score))
        .then_with(|| right.created_micros.cmp(&left.created_micros))
        .then_with(|| left.reference.cmp(right.reference))
}

/// Returns what an empty query shows: the summaries alone, in order of time, then by name.
pub fn reflection<'a>(results: impl IntoIterator<Item = ResultKey<'a>>) -> Vec<ResultKey<'a>> {
    let mut summaries: Vec<_> = results
        .into_iter()
        .filter(|key| key.kind == ResultKind::Summary)
        .collect();
    summaries.sort_by_key(|key| (key.created_micros, key.reference));
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(kind: ResultKind, reference: &str, score: f64, created_micros: i64) -> ResultKey<'_> {
        ResultKey {
            kind,
            score,
            created_micros,
            reference,
        }
    }

    const ALL: [ResultKey<'_>; 6] = [
        key(ResultKind::Summary, "summary-top", 1.0, 12),
        key(ResultKind::Entry, "entry-newest", 0.9, 11),
        key(ResultKind::Note, "note-zulu", 0.9, 10),
        key(ResultKind::Entry, "entry-alpha", 0.9, 10),
        key(ResultKind::Note, "note-best", 0.95, 1),
        key(ResultKind::Summary, "summary-older", 0.8, 2),
    ];

    #[test]
    fn entries_and_notes_go_before_summaries() {
        let mut all = ALL;
        all.sort_by(by_fit);
        assert_eq!(
            all.map(|key| key.reference),
            [
                "note-best",
                "entry-newest",
                "entry-alpha",
                "note-zulu",
                "summary-top",
                "summary-older"
            ]
        );
    }

    #[test]
    fn reflection_shows_summaries_in_order_of_time() {
        let shown: Vec<&str> = reflection(ALL).iter().map(|key| key.reference).collect();
        assert_eq!(shown, ["summary-older", "summary-top"]);
    }
}
