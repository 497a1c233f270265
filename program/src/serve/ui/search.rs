//! Search: by words as `recall` does, and by a part of a text.
//!
//! # Layer
//! Layer 9, part of serve.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::objects::ObjectRow;
use super::reader::Reader;
use super::{ROWS_MAX, Rows};
use treering::agent::{Reach, RecallHit, RecallQuery};
use treering::{Id, Result};

/// The longest time that one request reads objects for a part of a text. The answer has the place of the next request.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(250);
/// The most hits by words.
const HITS_MAX: usize = 500;
/// The characters before a found part, and of the whole excerpt.
const BEFORE_CHARS: usize = 60;
const EXCERPT_CHARS: usize = 200;

/// The query of a search.
#[derive(Deserialize)]
pub(crate) struct SearchAsked {
    q: String,
    #[serde(default)]
    start: usize,
    count: Option<usize>,
}

/// A page of hits by words, best first.
#[derive(Serialize)]
pub(crate) struct Hits {
    start: usize,
    more: bool,
    rows: Vec<RecallHit>,
}

/// Returns a page of hits by words, in every scope and of every class.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn search(reader: &Reader, asked: &SearchAsked) -> Result<Hits> {
    let view = reader.head()?;
    let rows = Rows {
        start: asked.start,
        count: asked.count,
    };
    let places = rows.of(HITS_MAX);
    if asked.q.trim().is_empty() {
        return Ok(Hits {
            start: 0,
            more: false,
            rows: Vec::new(),
        });
    }
    let mut query = RecallQuery::new(asked.q.as_str(), Reach::All);
    query.with_untrusted = true;
    query.include_expired = true;
    query.touch = false;
    // One more shows whether a page follows.
    let recalled = reader.agent.recall(&view, &query.limit(places.end + 1))?;
    let more = recalled.hits.len() > places.end && places.end < HITS_MAX;
    let hits = recalled.hits.into_iter().skip(places.start).take(places.len());
    Ok(Hits {
        start: places.start,
        more,
        rows: hits.collect(),
    })
}

/// The part of a text that a request asks for.
#[derive(Deserialize)]
pub(crate) struct PartAsked {
    q: String,
    /// The place of the first id to read.
    #[serde(default)]
    from: usize,
    count: Option<usize>,
}

/// Objects with the part in their id or content.
#[derive(Serialize)]
pub(crate) struct Found {
    rows: Vec<FoundRow>,
    /// The place at which the next request begins; `None` at the end.
    next: Option<usize>,
    searched: usize,
    total: usize,
}

/// An object, with the text around the found part.
#[derive(Serialize)]
struct FoundRow {
    #[serde(flatten)]
    row: ObjectRow,
    excerpt: String,
}

/// Returns objects that contain a text, in any case, sorted by id.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn part(reader: &Reader, asked: &PartAsked) -> Result<Found> {
    let view = reader.head()?;
    let ids = reader.ids(&view)?;
    let begun = Instant::now();
    let wanted = asked.q.to_lowercase();
    let count = asked.count.unwrap_or(super::ROWS).clamp(1, ROWS_MAX);
    let mut place = asked.from.min(ids.len());
    let mut rows = Vec::new();
    while place < ids.len() && !wanted.is_empty() && rows.len() < count {
        // One object may be large, so the clock is read for each. Every request reads at least one.
        if place > asked.from && begun.elapsed() > SEARCH_TIME_MAX {
            break;
        }
        let id = ids.at(place);
        place += 1;
        let Some(id) = id else { continue };
        if let Some(excerpt) = excerpt(&view, &id, &wanted)? {
            let row = ObjectRow::of_id(&view, &id)?;
            rows.push(FoundRow { row, excerpt });
        }
    }
    Ok(Found {
        rows,
        next: (place < ids.len() && !wanted.is_empty()).then_some(place),
        searched: place,
        total: ids.len(),
    })
}

/// Returns the text around the first place of `wanted` in the content or id of an object.
fn excerpt(view: &treering::View, id: &Id, wanted: &str) -> Result<Option<String>> {
    let object = match view.get(id) {
        Err(error) if error.kind() == treering::ErrorKind::NotFound => None,
        found => found?,
    };
    let Some(object) = object else { return Ok(None) };
    let content = object.content().unwrap_or_default();
    let lower = content.to_lowercase();
    if let Some(at) = lower.find(wanted) {
        // Small letters may have other lengths, so the place is counted in characters.
        let at = lower[..at].chars().count().saturating_sub(BEFORE_CHARS);
        return Ok(Some(content.chars().skip(at).take(EXCERPT_CHARS).collect()));
    }
    let is_named = id.as_str().to_lowercase().contains(wanted);
    Ok(is_named.then(|| content.chars().take(EXCERPT_CHARS).collect()))
}
