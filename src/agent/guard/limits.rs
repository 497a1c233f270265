//! Checks that count: how much of the memory a change touches, and how much there may be.
//!
//! # Layer
//! L7, inside `agent`.

use std::collections::BTreeMap;

use super::policy::QuotaLimits;
use super::report::Failure;
use super::turn::{ChangedObject, Turn};
use crate::agent::Agent;
use crate::agent::item::counts_in_quota;
use crate::engine::Query;
use crate::error::Result;
use crate::object::{Object, Scope};

/// Limits the objects that a change touches in one way, in number and as a share of all objects. Up to `free` objects pass
/// whatever their share.
pub(super) fn touched(
    turn: &Turn<'_>,
    word: &str,
    free: u64,
    most: Option<u64>,
    share_most: Option<f64>,
) -> Option<Failure> {
    let before = turn.draft.base().len();
    let touched = turn.changes.iter().filter(|one| one.kind().name() == word);
    let ids: Vec<String> = touched.map(|one| one.id.to_string()).collect();
    let count = ids.len() as u64;
    let share = count as f64 / before.max(1) as f64;
    let why = match (most, share_most) {
        (Some(most), _) if count > most => format!("{count} objects are {word}, {most} are allowed"),
        (_, Some(most)) if count > free && share > most => format!(
            "{count} of {before} objects are {word} ({:.0} %), {:.0} % are allowed",
            share * 100.0,
            most * 100.0
        ),
        _ => return None,
    };
    let advice = "leave alone what need not be touched, or ask a person and do it in several turns";
    Failure::about(ids, advice, || why)
}

/// Whether an object counts among the items of its scope.
fn counts(object: &Object) -> bool {
    counts_in_quota(object.kind(), object.parent().is_some())
}

/// Where an object is counted (ROO-3).
fn place(object: &Object) -> (&str, bool) {
    (object.scope(), object.origin().is_trusted())
}

/// How many items a scope holds, and how long a text is.
pub(super) fn quota(agent: &Agent, turn: &Turn<'_>, limits: &QuotaLimits) -> Result<Option<Failure>> {
    let quotas = agent.settings().quotas;
    let chars_max = limits.text_chars_max.unwrap_or(quotas.text_chars_max);
    let items_max = limits.items_max.unwrap_or(quotas.items_max);
    let chars = |one: &ChangedObject| {
        let content = one.new.as_ref().and_then(|object| object.content());
        content.map_or(0, |text| text.chars().count())
    };
    let long: Vec<String> = turn
        .changes
        .iter()
        .filter(|one| chars(one) > chars_max)
        .map(|one| one.id.to_string())
        .collect();
    let why = || format!("texts of more than {chars_max} characters");
    let too_long = Failure::about(long, "shorten them, or split each into several", why);
    if too_long.is_some() {
        return Ok(too_long);
    }
    let mut gained: BTreeMap<(&str, bool), (usize, usize)> = BTreeMap::new();
    for one in &turn.changes {
        if let Some(new) = one.new.as_ref().filter(|new| counts(new)) {
            gained.entry(place(new)).or_default().0 += 1;
        }
        if let Some(old) = one.old.as_ref().filter(|old| counts(old)) {
            gained.entry(place(old)).or_default().1 += 1;
        }
    }
    for ((scope, is_trusted), (more, fewer)) in gained {
        // Nothing is counted where all there is would be allowed.
        if more <= fewer || turn.draft.base().len() + (more - fewer) as u64 <= items_max as u64 {
            continue;
        }
        let query = Query {
            scope: Some(Scope::new(scope)?),
            ..Query::default()
        };
        let mut held = 0;
        for object in turn.draft.base().query(&query)? {
            let object = object?;
            held += usize::from(counts(&object) && object.origin().is_trusted() == is_trusted);
        }
        let after = (held + more).saturating_sub(fewer);
        if after > items_max {
            let why = format!("the scope {scope} would hold {after} items, {items_max} are allowed");
            let advice = "forget what is no longer needed, or write less";
            return Ok(Some(Failure::new(why, advice)));
        }
    }
    Ok(None)
}
