//! Prints a note about scan findings in the objects of `put` and `ingest`. The objects are stored unchanged.
//!
//! `remember` redacts, quarantines and refuses; the verbs of the engine store every text unchanged.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeSet;

use crate::cli::context::Context;
use crate::cli::human::counted;
use crate::engine::{Memory, View};
use crate::error::Result;
use crate::object::{Attributes, NewObject, Value};
use crate::scan::{Scanner, Verdict};

/// The number of objects that one run scans. Scanning more for a mere note would make a bulk load slow.
const OBJECTS_MAX: usize = 10_000;
/// The number of objects that a note names.
const NAMED_MAX: usize = 5;

/// The findings so far.
pub(super) struct Flags {
    scanner: Scanner,
    looked_at: usize,
    rules: BTreeSet<&'static str>,
    ids: Vec<String>,
    count: u64,
}

impl Flags {
    /// Starts without findings. The settings decide which findings count; if they cannot be read, the defaults apply.
    pub(super) fn new(context: &Context) -> Self {
        let settings = context.settings().unwrap_or_default();
        Self {
            // This scanner redacts nothing, so its marker key is not used.
            scanner: Scanner::new(settings.scan, [0; 32]),
            looked_at: 0,
            rules: BTreeSet::new(),
            ids: Vec::new(),
            count: 0,
        }
    }

    /// Scans an object before it is put.
    pub(super) fn look(&mut self, object: &NewObject) {
        self.look_at(object.id.as_str(), object.content.as_deref(), &object.attributes);
    }

    fn look_at(&mut self, id: &str, content: Option<&str>, attributes: &Attributes) {
        self.looked_at += 1;
        if self.looked_at > OBJECTS_MAX {
            return;
        }
        let mut fields = vec![("", content.unwrap_or_default())];
        for (name, value) in attributes {
            add_texts(name, value, &mut fields);
        }
        let report = self.scanner.scan_fields(fields);
        if report.verdict == Verdict::Allow {
            return;
        }
        self.count += 1;
        self.rules
            .extend(report.findings.iter().map(|finding| finding.rule));
        if self.ids.len() < NAMED_MAX {
            self.ids.push(id.to_owned());
        }
    }

    /// Prints the findings as a note.
    pub(super) fn note(self, context: &mut Context) {
        if self.count == 0 {
            return;
        }
        let rules: Vec<&str> = self.rules.into_iter().collect();
        let has_others = self.count > self.ids.len() as u64;
        let others = if has_others { " and others" } else { "" };
        let reach = (self.looked_at > OBJECTS_MAX).then(|| format!(" (of the first {OBJECTS_MAX})"));
        let reach = reach.unwrap_or_default();
        let (rules, ids) = (rules.join(", "), self.ids.join(", "));
        let what = counted(self.count, "object");
        let found = format!("the scan found {rules} in {what}{reach}: {ids}{others}");
        context.note("flagged", format!("{found}; the objects are stored unchanged"));
    }
}

/// Collects the texts of a value and of the values in it.
fn add_texts<'a>(name: &'a str, value: &'a Value, fields: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::Text(text) => fields.push((name, text)),
        Value::List(list) => list.iter().for_each(|value| add_texts(name, value, fields)),
        Value::Map(map) => map
            .iter()
            .for_each(|(name, value)| add_texts(name, value, fields)),
        _ => {}
    }
}

/// Prints a note about scan findings in the objects that a verb wrote.
pub(super) fn note_flags_since(context: &mut Context, memory: &Memory, before: &View) -> Result<()> {
    let (mut flags, after) = (Flags::new(context), memory.view());
    for change in memory.diff(before, &after)? {
        if change.new.is_none() || change.erased {
            continue;
        }
        if let Some(object) = after.get(&change.id)? {
            flags.look_at(object.id().as_str(), object.content(), &object.attributes());
        }
    }
    flags.note(context);
    Ok(())
}
