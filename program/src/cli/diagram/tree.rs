//! Draws the tree of objects as a diagram.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::{BTreeMap, BinaryHeap};

use super::{COLOURS, Diagram, Mark, Row};
use crate::cli::human::{counted, gist, short, value};
use treering::merge::MERGE_CONFLICT;
use treering::{CommitInfo, Error, Id, Kind, Memory, Object, Query, Result, Time, View};

/// Draws at most `most` objects of a state. With `under`, draws only this object and the objects below it.
///
/// # Errors
/// Returns `NotFound` if `under` does not exist, and `Corrupt` or `Io` if an object cannot be read.
pub(in crate::cli) fn tree(memory: &Memory, view: &View, under: Option<&Id>, most: usize) -> Result<Diagram> {
    let commit = view.commit().commit;
    let of = under.map_or_else(String::new, |id| format!(" below {id}"));
    let title = format!(
        "Objects{of} at seq {}, root {}",
        commit.seq,
        short(view.root().as_bytes())
    );
    let mut diagram = Diagram::new("tree", title);
    let writers = writers(memory)?;
    let tops = match under {
        Some(id) if view.contains(id)? => vec![id.clone()],
        Some(id) => return Err(Error::not_found(format!("no object has the id {id}"))),
        None => tops(view, most)?,
    };
    // The loop pops from the end of the stack, so the first object is pushed last.
    let mut waiting: Vec<(Option<usize>, Id)> = tops.into_iter().rev().map(|id| (None, id)).collect();
    while let Some((parent, id)) = waiting.pop() {
        if diagram.rows.len() >= most {
            waiting.push((parent, id));
            break;
        }
        let object = view.get(&id)?;
        let object =
            object.ok_or_else(|| Error::corrupt(format!("the child {id} is missing from the state")))?;
        let updated = view.stamps(&id)?.map(|(_, updated)| updated);
        let writer = updated.and_then(|time| writers.get(&time));
        let row = diagram.push(row(parent, &object, writer));
        let children = view.children(&id, None)?;
        waiting.extend(children.into_iter().rev().map(|child| (Some(row), child)));
    }
    let drawn = diagram.rows.len() as u64;
    let all = match under {
        None => {
            view.len()
                - view
                    .query(&Query::default().kind(Kind::new(MERGE_CONFLICT)?))?
                    .count() as u64
        }
        Some(_) => 0,
    };
    if drawn < all {
        let rest = counted(all - drawn, "more object");
        diagram.push_left_out(None, &format!("{rest}, not drawn"));
    } else if !waiting.is_empty() {
        diagram.push_left_out(None, "more objects, not drawn");
    }
    Ok(diagram)
}

/// Returns the first `limit` objects without a parent, in sibling order, without the conflicts of merges. If further objects exist, also returns the
/// next object.
pub(in crate::cli) fn tops(view: &View, limit: usize) -> Result<Vec<Id>> {
    let mut tops = BinaryHeap::new();
    for object in view.kept_objects() {
        let object = object?;
        if object.parent().is_none() && object.kind() != MERGE_CONFLICT {
            let position = object.position().map(str::to_owned);
            tops.push((position.is_none(), position, object.id().clone()));
            if tops.len() > limit.saturating_add(1) {
                tops.pop();
            }
        }
    }
    Ok(tops.into_sorted_vec().into_iter().map(|(_, _, id)| id).collect())
}

/// Returns the kept commits by their times, which differ.
fn writers(memory: &Memory) -> Result<BTreeMap<Time, CommitInfo>> {
    let commits = memory.commits();
    commits
        .map(|info| info.map(|info| (info.commit.time, info)))
        .collect()
}

/// Returns the row of an object. `writer` is the commit that wrote the version, if the commit is kept.
fn row(parent: Option<usize>, object: &Object, writer: Option<&CommitInfo>) -> Row {
    let mut row = Row::new(parent, mark(object.kind()), object.id().as_str(), &gist(object));
    row.detail("kind", object.kind());
    row.detail("scope", object.scope());
    row.label_class(object.origin());
    row.detail("origin", object.origin().name());
    let commit = writer.map(|info| &info.commit);
    let session = commit.and_then(|commit| commit.session.as_ref());
    let actor = commit.and_then(|commit| commit.actor.as_ref());
    for (name, held) in [("session", session), ("actor", actor)] {
        if let Some(held) = held {
            row.detail(name, held);
        }
    }
    for (name, held) in &object.attributes() {
        row.detail("attribute", &format!("{name}: {}", value(held)));
    }
    row.detail("digest", &object.digest());
    if let Some(content) = object.content() {
        row.detail("content", &content.chars().take(2_000).collect::<String>());
    }
    row
}

/// Returns the mark of a kind. A kind has the same colour in every diagram.
fn mark(kind: &str) -> Mark {
    let sum = kind
        .bytes()
        .fold(5_381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
    Mark::Object((sum % u32::from(COLOURS)) as u8)
}
