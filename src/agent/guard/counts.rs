//! The limits on the number of objects that a change removes and rewrites.
//!
//! A share counts the objects of one kind, one scope and one side of trust. So neither a long transcript nor a flood of
//! untrusted items makes the loss of every fact look small. The standard limits on numbers count items:
//! objects outside transcripts and documents, whose sizes say nothing.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - CNT-1: an object counts with the kind, the scope and the trust that it had before the change.
//! - CNT-2: an object that a change hides by `supersedes` counts as rewritten.

use std::collections::{BTreeMap, BTreeSet};

use super::policy::ChangeLimits;
use super::report::Failure;
use super::turn::Turn;
use crate::agent::Item;
use crate::agent::remember::unless_erased;
use crate::agent::superseding::has_the_right;
use crate::agent::vocabulary::kind;
use crate::engine::ChangeKind;
use crate::error::Result;
use crate::object::{Id, Object};

/// The kinds of transcripts and documents, and what a merge leaves open.
const BULK: [&str; 5] = [
    kind::ENTRY,
    kind::SESSION,
    "document",
    "heading",
    kind::MERGE_CONFLICT,
];

/// Whether objects of a kind are parts of transcripts or documents.
pub(super) fn is_bulk(kind: &str) -> bool {
    BULK.contains(&kind)
}

/// The kind, the scope and the trust of the objects that share a limit.
type Group = (String, String, bool);

fn group_of(object: &Object) -> Group {
    let (kind, scope) = (object.kind().to_owned(), object.scope().to_owned());
    (kind, scope, object.origin().is_trusted())
}

/// The limits on one way of touching an object.
struct Limits {
    /// The way, for messages.
    way: &'static str,
    free: u64,
    most: Option<u64>,
    items_most: Option<u64>,
    share_most: Option<f64>,
}

/// Limits the number and the shares of removed objects.
pub(super) fn removals(turn: &Turn<'_>, limits: &ChangeLimits) -> Result<Option<Failure>> {
    let removed = turn
        .changes
        .iter()
        .filter(|one| one.kind() == ChangeKind::Removed);
    let limits = Limits {
        way: "removed",
        free: limits.free,
        most: limits.removed_max,
        items_most: limits.items_removed_max,
        share_most: limits.removed_share_max,
    };
    over_limit(turn, removed.filter_map(|one| one.old.as_ref()), &limits)
}

/// Limits the number and the shares of objects that are rewritten or superseded.
pub(super) fn rewrites(turn: &Turn<'_>, limits: &ChangeLimits) -> Result<Option<Failure>> {
    let superseded = superseded(turn)?;
    let rewritten = turn
        .changes
        .iter()
        .filter(|one| one.kind() == ChangeKind::Changed);
    let rewritten = rewritten.filter_map(|one| one.old.as_ref()).chain(&superseded);
    let limits = Limits {
        way: "changed",
        free: limits.free,
        most: limits.rewritten_max,
        items_most: limits.items_rewritten_max,
        share_most: limits.rewritten_share_max,
    };
    over_limit(turn, rewritten, &limits)
}

/// Returns the objects that the change supersedes, but neither removes nor rewrites (CNT-2).
fn superseded(turn: &Turn<'_>) -> Result<Vec<Object>> {
    let mut seen: BTreeSet<String> = turn.changes.iter().map(|one| one.id.to_string()).collect();
    let mut hidden = Vec::new();
    for (_, new) in turn.written() {
        for named in Item::from(new.clone()).supersedes() {
            let Ok(id) = Id::new(&named) else { continue };
            let old = unless_erased(turn.draft.base().get(&id))?;
            // A claim without the right to supersede hides nothing (SUP-1).
            if let Some(old) = old.filter(|old| has_the_right(new.scope(), new.origin(), old))
                && seen.insert(named)
            {
                hidden.push(old);
            }
        }
    }
    Ok(hidden)
}

fn over_limit<'a>(
    turn: &Turn<'_>,
    touched: impl Iterator<Item = &'a Object>,
    limits: &Limits,
) -> Result<Option<Failure>> {
    let advice = "change fewer objects, or ask a person whether to split the change";
    let way = limits.way;
    // CNT-1: `touched` contains the versions before the change.
    let mut groups: BTreeMap<Group, Vec<String>> = BTreeMap::new();
    for old in touched {
        groups
            .entry(group_of(old))
            .or_default()
            .push(old.id().to_string());
    }
    let ids_of = |is_counted: fn(&str) -> bool| -> Vec<String> {
        let counted = groups.iter().filter(|((kind, ..), _)| is_counted(kind));
        counted.flat_map(|(_, ids)| ids).cloned().collect()
    };
    let items = ids_of(|kind| !is_bulk(kind));
    for (what, most, ids) in [
        ("objects", limits.most, ids_of(|_| true)),
        (
            "items outside transcripts and documents",
            limits.items_most,
            items,
        ),
    ] {
        if let Some(most) = most.filter(|most| ids.len() as u64 > *most) {
            let why = format!("{} {what} are {way}; at most {most} are allowed", ids.len());
            return Ok(Failure::about(ids, why, advice));
        }
    }
    groups.retain(|_, ids| ids.len() as u64 > limits.free);
    let (Some(most), false) = (limits.share_most, groups.is_empty()) else {
        return Ok(None);
    };
    let sizes = sizes(turn, groups.keys())?;
    let share = |group: &Group, ids: &[String]| {
        ids.len() as f64 / sizes.get(group).copied().unwrap_or_default().max(1) as f64
    };
    groups.retain(|group, ids| share(group, ids) > most);
    let Some((group, ids)) = groups.first_key_value() else {
        return Ok(None);
    };
    let (kind, scope, is_trusted) = group;
    let why = format!(
        "{} of {} {} objects of the kind {kind} in the scope {scope} are {way} ({:.0} %); at most {:.0} % are allowed",
        ids.len(),
        sizes.get(group).copied().unwrap_or_default(),
        if *is_trusted { "trusted" } else { "untrusted" },
        share(group, ids) * 100.0,
        most * 100.0
    );
    Ok(Failure::about(
        groups.into_values().flatten().collect(),
        why,
        advice,
    ))
}

/// Returns the number of objects of each group before the change.
fn sizes<'a>(turn: &Turn<'_>, groups: impl Iterator<Item = &'a Group>) -> Result<BTreeMap<Group, u64>> {
    let mut sizes: BTreeMap<Group, u64> = groups.map(|group| (group.clone(), 0)).collect();
    for object in turn.draft.base().kept_objects() {
        if let Some(size) = sizes.get_mut(&group_of(&object?)) {
            *size += 1;
        }
    }
    Ok(sizes)
}
