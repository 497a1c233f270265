//! What an object is derived from, and what is derived from it.
//!
//! # Layer
//! L9, part of cli.

use std::collections::HashSet;

use super::arguments::Arguments;
use super::objects::versions;
use super::rows::{Field, Rows, absent, digest, name, shown, text};
use super::shell::Shell;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::output::Output;
use crate::digest::ObjectDigest;
use crate::engine::{Memory, View};
use crate::error::Result;
use crate::object::{Id, Object};

/// Versions that are shown unless more are asked for.
const SHOWN: usize = 1_000;

pub(super) fn lineage(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let id = Id::new(arguments.needed(0)?)?;
    let limit = arguments.limit_or(SHOWN)?;
    let entries = versions(shell, &id)?;
    let mut own = entries.iter().filter_map(|entry| entry.digest).peekable();
    let newest = own.peek().copied();
    let own: HashSet<ObjectDigest> = own.collect();
    let mut listing = Listing {
        memory: shell.memory()?,
        view: shell.view()?,
        table: Rows::new(&["relation", "id", "version", "origin", "in this state"]),
        left: limit,
    };
    let output = &mut shell.context.output;
    let whole = listing.ancestors(output, newest)? && listing.descendants(output, &own)?;
    listing.table.finish(output)?;
    if !whole {
        let told = format!("there is more: the first {limit} are shown, see --limit");
        output.note("more", told);
    }
    Ok(DONE)
}

/// The rows, no more of them than are wanted.
struct Listing {
    memory: Memory,
    view: View,
    table: Rows,
    left: usize,
}

impl Listing {
    /// What a version came from, level by level; one is shown once. `false` if there is more than is wanted.
    fn ancestors(&mut self, output: &mut Output, newest: Option<ObjectDigest>) -> Result<bool, Failure> {
        let mut waiting: Vec<ObjectDigest> = newest.into_iter().collect();
        let mut seen: HashSet<ObjectDigest> = waiting.iter().copied().collect();
        let mut level = 0;
        while !waiting.is_empty() {
            let mut next = Vec::new();
            for source in &waiting {
                output.check_stop()?;
                let Some(object) = self.memory.version(*source)? else {
                    if !self.row(output, not_kept(*source))? {
                        return Ok(false);
                    }
                    continue;
                };
                let relation = match level {
                    0 => "itself".to_owned(),
                    level => format!("from, {level} up"),
                };
                let fields = self.fields(relation, &object)?;
                if !self.row(output, fields)? {
                    return Ok(false);
                }
                next.extend(object.derived_from().filter(|digest| seen.insert(*digest)));
            }
            next.sort_unstable();
            waiting = next;
            level += 1;
        }
        Ok(true)
    }

    /// What was made from one of these versions. `false` if there is more than is wanted.
    fn descendants(&mut self, output: &mut Output, own: &HashSet<ObjectDigest>) -> Result<bool, Failure> {
        for object in self.view.objects() {
            let object = object?;
            if object.derived_from().any(|digest| own.contains(&digest)) {
                let fields = self.fields("into".to_owned(), &object)?;
                if !self.row(output, fields)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Writes a row, unless there are enough.
    fn row(&mut self, output: &mut Output, fields: Vec<Field>) -> Result<bool, Failure> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(false);
        };
        self.left = left;
        self.table.row(output, fields)?;
        Ok(true)
    }

    fn fields(&self, relation: String, object: &Object) -> Result<Vec<Field>> {
        let held = self.view.get(&Id::new(object.id())?)?;
        let state = match held {
            Some(held) if held.digest() == object.digest() => "yes",
            Some(_) => "as a later version",
            None => "no",
        };
        Ok(vec![
            text(relation),
            name(object.id()),
            digest(object.digest().as_bytes()),
            text(object.origin().name()),
            text(state),
        ])
    }
}

fn not_kept(source: ObjectDigest) -> Vec<Field> {
    vec![
        text("from"),
        shown(serde_json::Value::Null, "(not kept)"),
        digest(source.as_bytes()),
        absent(),
        text("no"),
    ]
}
