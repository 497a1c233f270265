//! Objects below one another. Held are the ids that are still to be shown: for each level, as many as are shown.
//!
//! # Layer
//! L9, part of cli.

use std::collections::BinaryHeap;

use serde_json::json;

use super::arguments::Arguments;
use super::rows::{Rows, absent, count, marked, name, text};
use super::shell::Shell;
use crate::cli::errors::{DONE, Done};
use crate::cli::human;
use crate::cli::output::Meaning;
use crate::engine::View;
use crate::error::{Error, Result};
use crate::object::Id;

/// Objects that are shown unless more are asked for.
const SHOWN: usize = 1_000;

pub(super) fn tree(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let view = shell.view()?;
    let depth = arguments.number("--depth")?.unwrap_or(u64::MAX);
    let limit = arguments.limit_or(SHOWN)?;
    let mut waiting: Vec<(Id, u64)> = match arguments.word(0) {
        Some(id) => vec![(Id::new(id)?, 0)],
        None => top_objects(&view, limit)?.into_iter().map(|id| (id, 0)).collect(),
    };
    waiting.reverse();
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["object", "kind", "children", "gist"]);
    let mut written = 0;
    while let Some((id, level)) = waiting.pop() {
        if written == limit {
            table.finish(output)?;
            output.note(
                "more",
                format!("there is more: the first {limit} are shown, see --limit and --depth"),
            );
            return Ok(DONE);
        }
        let object = view.get(&id)?.ok_or_else(|| missing(&id, &view))?;
        let children = view.child_count(&id)?;
        if level < depth {
            let below = view.children(&id, Some(limit))?;
            waiting.extend(below.into_iter().rev().map(|child| (child, level + 1)));
        }
        let indented = format!(
            "{}{}",
            "  ".repeat(level.min(64) as usize),
            human::one_line(id.as_str())
        );
        if output.is_json() {
            output.document(&json!({
                "id": id.as_str(), "depth": level, "parent": object.parent(), "kind": object.kind(),
                "children": children, "gist": human::gist(&object),
            }))?;
        } else {
            let fields = vec![
                name(indented),
                text(object.kind()),
                if children == 0 { absent() } else { count(children) },
                marked(Meaning::Quiet, human::gist(&object)),
            ];
            table.row(output, fields)?;
        }
        written += 1;
    }
    if !output.is_json() {
        table.finish(output)?;
    }
    Ok(DONE)
}

fn missing(id: &Id, view: &View) -> Error {
    Error::not_found(format!(
        "there is no object '{id}' at seq:{}",
        view.commit().commit.seq
    ))
    .with_hint("find TEXT looks for it; Tab completes ids")
}

/// The first ids without a parent, and one more if there are more than `limit`.
fn top_objects(view: &View, limit: usize) -> Result<Vec<Id>> {
    let mut found: BinaryHeap<Id> = BinaryHeap::new();
    for object in view.objects() {
        let object = object?;
        if object.parent().is_none() && !object.is_placeholder() {
            found.push(Id::new(object.id())?);
            if found.len() > limit.saturating_add(1) {
                found.pop();
            }
        }
    }
    Ok(found.into_sorted_vec())
}
