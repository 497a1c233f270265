//! Prints a note about scan findings in the objects of `put` and `ingest`. The objects are stored unchanged.
//!
//! `remember` redacts, quarantines or refuses such texts. `put` and `ingest` store every text unchanged.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeSet;

use super::prelude::*;
use super::put::SCANNED_MAX;
use treering::inspect::agent::storeless_scanner;
use treering::{Change, Value};
use treering_text::scan::Verdict;

/// The number of objects that a note names.
const NAMED_MAX: usize = 5;

/// Prints a note about scan findings in the objects that a verb wrote. The settings decide which findings are reported.
/// If the settings cannot be read, the defaults apply.
pub(super) fn note_flags(context: &mut Context, memory: &Memory, changes: Vec<Change>) -> Result<()> {
    let (settings, _) = context.settings().unwrap_or_default();
    let scanner = storeless_scanner(settings.scan);
    let after = memory.view();
    let (mut rules, mut ids) = (BTreeSet::new(), Vec::new());
    let mut written = changes
        .into_iter()
        .filter(|change| change.new.is_some() && !change.erased);
    for change in written.by_ref().take(SCANNED_MAX) {
        let Some(object) = after.get(&change.id)? else {
            continue;
        };
        let attributes = object.attributes();
        let mut fields = vec![("", object.content().unwrap_or_default())];
        for (name, value) in &attributes {
            add_texts(name, value, &mut fields);
        }
        let report = scanner.scan_fields(fields);
        if report.verdict != Verdict::Allow {
            rules.extend(report.findings.iter().map(|finding| finding.rule));
            ids.push(change.id.to_string());
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let reach = written.next().map(|_| format!(" (of the first {SCANNED_MAX})"));
    let reach = reach.unwrap_or_default();
    let what = counted(ids.len() as u64, "object");
    let others = if ids.len() > NAMED_MAX { " and others" } else { "" };
    ids.truncate(NAMED_MAX);
    let (rules, ids) = (Vec::from_iter(rules).join(", "), ids.join(", "));
    let found = format!("the scan found {rules} in {what}{reach}: {ids}{others}");
    context.note("flagged", format!("{found}; the objects are stored unchanged"));
    Ok(())
}

/// Collects the texts of a value and of its nested values.
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
