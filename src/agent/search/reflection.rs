//! Implements recall with an empty question, which returns summaries in order of time.
//!
//! # Layer
//! Layer 7, inside `agent`.

use super::found::{Found, Recalled, time_of};
use super::query::RecallQuery;
use crate::agent::agent::Agent;
use crate::agent::item::{Item, known_kind, text_of};
use crate::agent::session::summaries::{Granularity, around, chronological};
use crate::agent::vocabulary::{attribute, kind};
use crate::engine::{Query, View};
use crate::error::Result;
use crate::object::Time;

/// Returns the summaries around the time of the query, in order of time. If the query has no time, returns the newest
/// summaries.
pub(in crate::agent) fn reflect(agent: &Agent, view: &View, query: &RecallQuery) -> Result<Recalled> {
    let mut summaries = summaries_of(view, query)?;
    let found = summaries.len();
    summaries.retain(|(.., item)| query.with_untrusted || item.object().origin().is_trusted());
    let left_out = (found - summaries.len()).min(query.limit);
    let mut chosen = match query.when {
        Some(when) => around(summaries, when, ""),
        None => chronological(summaries, ""),
    };
    let first = chosen.len().saturating_sub(query.limit);
    let mut hits = Found::new(agent, view, query, &[]);
    for summary in chosen.drain(first..) {
        let mut hit = hits.hit(&summary.item, summary.time)?;
        hit.why.push("a summary, in order of time");
        hits.add(hit);
    }
    hits.recalled.left_out = left_out;
    Ok(hits.recalled)
}

fn summaries_of(view: &View, query: &RecallQuery) -> Result<Vec<(Granularity, Time, Item)>> {
    let mut kept = Query::default().kind(known_kind(kind::SUMMARY));
    kept.include_expired = query.include_expired;
    let mut summaries = Vec::new();
    for object in view.query(&kept)? {
        let object = object?;
        let time = time_of(view, &object)?;
        if query.accepts(view, &object, time) {
            let item = Item::from(object);
            summaries.push((granularity_of(&item), time, item));
        }
    }
    Ok(summaries)
}

/// Returns the granularity of a summary, or a day if the summary states no granularity.
fn granularity_of(item: &Item) -> Granularity {
    let name = text_of(item.object(), attribute::GRANULARITY);
    name.and_then(|name| Granularity::from_name(&name))
        .unwrap_or(Granularity::Day)
}
