//! Checks that count: how much of the memory a change touches, and how much there may be.
//!
//! # Layer
//! L7, inside `agent`.

use std::collections::BTreeMap;

use super::policy::{ChangeLimits, QuotaLimits};
use super::report::Report;
use super::turn::{Changed, Turn};
use crate::agent::Agent;
use crate::agent::item::takes_room;
use crate::engine::Query;
use crate::error::Result;
use crate::object::{Object, Scope};

/// How many objects are removed or rewritten, in number and as a share of those there were.
pub(super) fn check(turn: &Turn<'_>, limits: &ChangeLimits, report: &mut Report) {
    let before = turn.draft.base().len();
    for (word, check, most, share_most) in [
        (
            "removed",
            "removals",
            limits.removed_max,
            limits.removed_share_max,
        ),
        (
            "changed",
            "rewrites",
            limits.rewritten_max,
            limits.rewritten_share_max,
        ),
    ] {
        let touched = turn.changes.iter().filter(|one| one.word() == word);
        let ids: Vec<String> = touched.map(|one| one.id.to_string()).collect();
        let count = ids.len() as u64;
        let share = count as f64 / before.max(1) as f64;
        let is_over_share = count > limits.free && share_most.is_some_and(|most| share > most);
        let why = match most {
            Some(most) if count > most => format!("{count} objects are {word}, {most} are allowed"),
            _ if is_over_share => format!(
                "{count} of {before} objects are {word} ({:.0} %), {:.0} % are allowed",
                share * 100.0,
                share_most.unwrap_or_default() * 100.0
            ),
            _ => {
                report.pass(check);
                continue;
            }
        };
        let advice = "leave alone what need not be touched, or ask a person and do it in several turns";
        report.fail(check, why, ids, advice);
    }
}

/// Whether an object counts among the items of its scope.
fn counts(object: &Object) -> bool {
    takes_room(object.kind(), object.parent().is_some())
}

/// Where an object is counted (ROO-3).
fn place(object: &Object) -> (&str, bool) {
    (object.scope(), object.origin().is_trusted())
}

/// How many items a scope holds, and how long a text is.
pub(super) fn quota(agent: &Agent, turn: &Turn<'_>, limits: &QuotaLimits, report: &mut Report) -> Result<()> {
    let quotas = agent.settings().quotas;
    let chars_max = limits.text_chars_max.unwrap_or(quotas.text_chars_max);
    let items_max = limits.items_max.unwrap_or(quotas.items_max);
    let chars = |one: &Changed| {
        let content = one.new.as_ref().and_then(|object| object.content());
        content.map_or(0, |text| text.chars().count())
    };
    let long: Vec<String> = turn
        .changes
        .iter()
        .filter(|one| chars(one) > chars_max)
        .map(|one| one.id.to_string())
        .collect();
    if !long.is_empty() {
        let why = format!("texts of more than {chars_max} characters");
        report.fail("quota", why, long, "shorten them, or split each into several");
        return Ok(());
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
            report.fail(
                "quota",
                why,
                Vec::new(),
                "forget what is no longer needed, or write less",
            );
            return Ok(());
        }
    }
    report.pass("quota");
    Ok(())
}
