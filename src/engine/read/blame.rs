//! Blame: the change behind each part of an object.
//!
//! A part is a field, an attribute, or a line of the content. The search starts at the present version. It compares a
//! version with the version that its first write replaced. A part that both have is older, so the search continues with
//! the older version. Any other part belongs to the change that first wrote the newer version.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - BLM-1: a part counts for the first writer of the version that had it first, also after an undo, a rollback or
//!   another change brought that version back.
//! - BLM-2: the parts of an object that was removed and written again count for the later writer.
//! - BLM-3: if thinned commits may have held a version between two compared ones, the writer of the parts that are new
//!   in the newer one is unknown.
//!
//! # Limits
//! - An erased or lost version is passed over: its parts cannot be compared.
//! - A line that moved counts as new, unless the lines around it moved more (`lines.rs`).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::history::{changes_of, thinned_in};
use super::lines::common_lines;
use super::{HistoryEntry, View};
use crate::digest::ObjectDigest;
use crate::error::{Error, Result};
use crate::object::{Id, Object, Origin, Time, Value};
use crate::store::Store;

/// A part of an object that has its own writer. `Display` writes a name such as `kind`, `attr:todo` or `line:3`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The kind.
    Kind,
    /// The scope.
    Scope,
    /// The parent.
    Parent,
    /// The position among the siblings.
    Position,
    /// The origin.
    Origin,
    /// The time of the described event.
    EventTime,
    /// The time of expiry.
    Expires,
    /// The versions from which the object is derived.
    DerivedFrom,
    /// The attribute with this name.
    Attribute(String),
    /// The line of the content with this number, from 1.
    Line(usize),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "kind",
            Self::Scope => "scope",
            Self::Parent => "parent",
            Self::Position => "position",
            Self::Origin => "origin",
            Self::EventTime => "event_time",
            Self::Expires => "expires",
            Self::DerivedFrom => "derived_from",
            Self::Attribute(name) => return write!(f, "attr:{name}"),
            Self::Line(number) => return write!(f, "line:{number}"),
        })
    }
}

/// A part of an object, with the change that wrote it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlamedPart {
    /// The part.
    pub part: Part,
    /// The value of the part. A line is a text without its line break.
    pub value: Value,
    /// The first change to the version that had the part first. It is `thinned` also if an older version, which is not
    /// kept, may have had the part.
    pub change: HistoryEntry,
    /// The origin of that version.
    pub trust: Origin,
}

/// The parts whose writer is not known yet.
struct Waiting {
    fields: Vec<(Part, Value)>,
    /// The index of each line in the present content, and in the content of the version that was reached.
    lines: Vec<(usize, usize)>,
}

impl Waiting {
    /// Removes and returns the parts that the older version lacks, and moves the other lines to their indexes in it. If
    /// there is no older version, it lacks all parts.
    fn part_from(&mut self, newer: &Object, older: Option<&Object>) -> Self {
        let Some(older) = older else {
            let all = (&mut self.fields, &mut self.lines);
            return Self {
                fields: std::mem::take(all.0),
                lines: std::mem::take(all.1),
            };
        };
        let known: HashMap<Part, Value> = fields_of(older).into_iter().collect();
        let is_own = |(part, value): &mut (Part, Value)| known.get(part) != Some(value);
        let fields = self.fields.extract_if(.., is_own).collect();
        let same = if self.lines.is_empty() {
            Vec::new()
        } else {
            common_lines(&lines_of(older), &lines_of(newer))
        };
        let is_own = |(_, line): &mut (usize, usize)| same[*line].is_none();
        let lines = self.lines.extract_if(.., is_own).collect();
        for (_, line) in &mut self.lines {
            *line = same[*line].unwrap_or(*line);
        }
        Self { fields, lines }
    }

    fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.lines.is_empty()
    }
}

/// Returns every part of `id` in the state of `view` with its writer; see [`Memory::blame`](crate::Memory::blame).
pub(crate) fn blame(view: &View, id: &Id) -> Result<Vec<BlamedPart>> {
    let Some(object) = view.get(id)? else {
        return Ok(Vec::new());
    };
    // The store of the view keeps every version that its history names, even if the log was rewritten since (VIE-1).
    let store = &view.state.store;
    let newest = view.commit().commit.seq;
    let changes = changes_of(Arc::clone(&view.source), Arc::clone(store), view.key(id));
    let changes = changes.skip_while(|change| {
        let change = change.as_ref();
        change.is_ok_and(|change| change.commit.commit.seq > newest)
    });
    let changes = changes.collect::<Result<Vec<_>>>()?;
    // BLM-1: the index of the oldest change to each version. The changes are sorted newest first, so the last one counts.
    let versions = changes.iter().zip(0_usize..);
    let versions = versions.filter_map(|(change, index)| Some((change.digest?, index)));
    let first_writes: HashMap<ObjectDigest, usize> = versions.collect();
    let created = view.state.entry_at(&view.key(id))?.map(|entry| entry.created);
    let mut blamed = Vec::new();
    let mut waiting = Waiting {
        fields: fields_of(&object),
        lines: (0..lines_of(&object).len()).map(|line| (line, line)).collect(),
    };
    let order: HashMap<Part, usize> = waiting
        .fields
        .iter()
        .map(|(part, _)| part.clone())
        .zip(0..)
        .collect();
    let content = lines_of(&object);
    let mut newer = object.clone();
    while !waiting.is_empty() {
        view.settings().check_stop()?;
        let written = first_writes.get(&newer.digest()).copied();
        let written =
            written.ok_or_else(|| Error::internal("history does not contain the version of a state"))?;
        let older = version_before(store, &changes[written + 1..])?;
        let own = waiting.part_from(&newer, older.as_ref());
        let mut change = changes[written].clone();
        // BLM-3: the commit is behind a gap, and the object is older than the commit.
        let seq = change.commit.commit.seq;
        let is_behind_gap = thinned_in(store, &(seq.saturating_sub(1)..seq)) > 0;
        change.thinned |= is_behind_gap && created.is_some_and(|created| created < change.time.as_micros());
        let lines = own.lines.into_iter().map(|(line, _)| {
            let text = content.get(line).copied().unwrap_or_default();
            (Part::Line(line + 1), Value::from(text))
        });
        blamed.extend(
            own.fields
                .into_iter()
                .chain(lines)
                .map(|(part, value)| BlamedPart {
                    part,
                    value,
                    change: change.clone(),
                    trust: newer.origin(),
                }),
        );
        match older {
            Some(older) => newer = older,
            None => break,
        }
    }
    blamed.sort_by_key(|blamed| match &blamed.part {
        Part::Line(number) => order.len() + number,
        part => order.get(part).copied().unwrap_or_default(),
    });
    Ok(blamed)
}

/// Returns the newest readable version in `changes`, unless the id was removed after it (BLM-2).
fn version_before(store: &Store, changes: &[HistoryEntry]) -> Result<Option<Object>> {
    for digest in changes.iter().map_while(|change| change.digest) {
        match store.records.find_object(digest)? {
            Some((_, version)) if version.erased_by().is_none() => return Ok(Some(version)),
            _ => {}
        }
    }
    Ok(None)
}

/// Returns the fields and attributes of a version.
fn fields_of(object: &Object) -> Vec<(Part, Value)> {
    let text = |text: Option<&str>| text.map(Value::from);
    let time = |time: Option<Time>| time.map(|time| Value::from(time.to_string()));
    let lineage: Vec<Value> = object
        .derived_from()
        .map(|digest| Value::from(digest.to_hex()))
        .collect();
    let fields = [
        (Part::Kind, text(Some(object.kind()))),
        (Part::Scope, text(Some(object.scope()))),
        (Part::Parent, text(object.parent())),
        (Part::Position, text(object.position())),
        (Part::Origin, text(Some(object.origin().name()))),
        (Part::EventTime, time(object.event_time())),
        (Part::Expires, time(object.expires())),
        (
            Part::DerivedFrom,
            (!lineage.is_empty()).then_some(Value::List(lineage)),
        ),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(part, value)| Some((part, value?)));
    let attributes = object.attributes().into_iter();
    fields
        .chain(attributes.map(|(name, value)| (Part::Attribute(name), value)))
        .collect()
}

fn lines_of(object: &Object) -> Vec<&str> {
    object.content().unwrap_or_default().lines().collect()
}
