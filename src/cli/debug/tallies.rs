//! Counts over every object. Held is a count for each value that is counted by, and no object.
//!
//! # Layer
//! L9, part of cli.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::arguments::Arguments;
use super::objects::{newest, show_recent};
use super::rows::{Rows, bytes, count, maybe, name, shown, text};
use super::shell::Shell;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{self, counted};
use crate::cli::json;
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, Object};

/// How much there is of something.
#[derive(Clone, Copy, Default)]
struct Tally {
    objects: u64,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, object: &Object) {
        self.objects += 1;
        self.bytes += object.bytes().len() as u64 + object.content_digest().map_or(0, |(_, length)| length);
    }
}

pub(super) fn tally(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let by = arguments.word(0).unwrap_or("kind");
    let view = shell.view()?;
    let mut tallies: BTreeMap<Option<String>, Tally> = BTreeMap::new();
    for object in view.objects() {
        let object = object?;
        let value = match by {
            "kind" => Some(object.kind().to_owned()),
            "scope" => Some(object.scope().to_owned()),
            "origin" => Some(object.origin().name().to_owned()),
            attribute => object.attribute(attribute).as_ref().map(human::value),
        };
        tallies.entry(value).or_default().add(&object);
    }
    let mut tallies: Vec<_> = tallies.into_iter().collect();
    tallies.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.objects));
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["value", "objects", "bytes", "share"]);
    for (value, tally) in tallies {
        let share = 100.0 * tally.objects as f64 / view.len().max(1) as f64;
        let value = value.map_or_else(|| shown(serde_json::Value::Null, "(none)"), name);
        let share = shown(share, format!("{share:.1} %"));
        table.row(
            output,
            vec![value, count(tally.objects), bytes(tally.bytes), share],
        )?;
    }
    table.finish(output)?;
    Ok(DONE)
}

pub(super) fn inspect(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let (memory, view) = (shell.memory()?, shell.view()?);
    let (kind, todo) = (arguments.value("--kind"), arguments.value("--todo"));
    let state = |object: &Object| object.attribute("todo").as_ref().map(human::value);
    let wanted = |object: &Object| {
        kind.is_none_or(|kind| object.kind() == kind)
            && todo.is_none_or(|todo| state(object).as_deref() == Some(todo))
    };
    let mut parents = Parents::default();
    let (mut total, mut orphans) = (0_u64, 0_u64);
    let (mut by_kind, mut by_todo) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    for object in view.objects() {
        let object = object?;
        orphans += u64::from(parents.lacks(&view, &object)?);
        if wanted(&object) {
            total += 1;
            *by_kind.entry(object.kind().to_owned()).or_default() += 1;
            if let Some(state) = state(&object) {
                *by_todo.entry(state).or_default() += 1;
            }
        }
    }
    let newest = newest(&view, arguments.limit_or(10)?, wanted)?;
    let seq = view.commit().commit.seq;
    let snapshots = memory.snapshots()?.iter().filter(|info| info.seq <= seq).count();
    let output = &mut shell.context.output;
    if output.is_json() {
        let recent: Result<Vec<_>> = newest
            .iter()
            .map(|(_, object)| json::listed(&view, object))
            .collect();
        output.document(&json!({
            "total": total, "by_kind": by_kind, "by_todo": by_todo, "recent": recent?,
            "snapshots": snapshots, "orphans": orphans,
        }))?;
        return Ok(DONE);
    }
    let listed = |counts: &BTreeMap<String, u64>| {
        let parts = counts
            .iter()
            .map(|(name, count)| format!("{} {count}", human::one_line(name)));
        let parts = parts.collect::<Vec<_>>().join(", ");
        if parts.is_empty() {
            "(none)".to_owned()
        } else {
            parts
        }
    };
    output.line(format_args!(
        "{}, {}, {}",
        counted(total, "object"),
        counted(snapshots as u64, "snapshot"),
        counted(orphans, "orphan")
    ))?;
    output.line(format_args!("by kind  {}", listed(&by_kind)))?;
    output.line(format_args!("by todo  {}", listed(&by_todo)))?;
    show_recent(shell, &view, newest)?;
    Ok(DONE)
}

/// Parents that were looked for already: siblings come up again and again.
#[derive(Default)]
struct Parents(HashMap<String, bool>);

impl Parents {
    /// Parents that are remembered at most.
    const MOST: usize = 1 << 16;

    /// Whether an object's parent is missing.
    fn lacks(&mut self, view: &View, object: &Object) -> Result<bool> {
        let Some(parent) = object.parent() else {
            return Ok(false);
        };
        if let Some(lacks) = self.0.get(parent) {
            return Ok(*lacks);
        }
        let lacks = !view.contains(&Id::new(parent)?)?;
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(parent.to_owned(), lacks);
        Ok(lacks)
    }
}

pub(super) fn orphans(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let view = shell.view()?;
    let output = &mut shell.context.output;
    let mut parents = Parents::default();
    let mut table = Rows::new(&["id", "kind", "missing parent"]);
    let mut left = arguments.limit()?;
    for object in view.objects() {
        let object = object?;
        if left > 0 && parents.lacks(&view, &object)? {
            left -= 1;
            table.row(
                output,
                vec![name(object.id()), text(object.kind()), maybe(object.parent())],
            )?;
        }
    }
    table.finish(output)?;
    Ok(DONE)
}
