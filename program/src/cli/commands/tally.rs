//! `stats --by`: counts objects and bytes by a field.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::cli::args::in_quotes;

/// The objects that share one value.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Tally {
    /// The value of the field. Null for the objects without the attribute.
    value: Option<String>,
    objects: u64,
    bytes: u64,
    /// The percentage of all objects that have this value.
    share: f64,
}

/// Counts the objects of a state by kind, scope, origin, or the attribute with the name `by`.
pub(super) fn tally(context: &mut Context, memory: &Memory, by: &str) -> Done {
    let view = context.view(memory)?;
    let mut tallies: BTreeMap<Option<String>, Tally> = BTreeMap::new();
    for object in view.objects() {
        let object = object?;
        let value = match by {
            "kind" => Some(object.kind().to_owned()),
            "scope" => Some(object.scope().to_owned()),
            "origin" => Some(object.origin().name().to_owned()),
            attribute => object.attribute(attribute).as_ref().map(human::value),
        };
        let content = object.content_digest().map_or(0, |(_, length)| length);
        let tally = tallies.entry(value.clone()).or_default();
        tally.value = value;
        tally.objects += 1;
        tally.bytes += object.bytes().len() as u64 + content;
        tally.share = 100.0 * tally.objects as f64 / view.len() as f64;
    }
    if tallies.keys().all(Option::is_none) && !tallies.is_empty() {
        let name = in_quotes(by);
        let text = format!("no object has the attribute {name}; other fields are kind, scope and origin");
        context.note("no_attribute", text);
    }
    let mut tallies: Vec<Tally> = tallies.into_values().collect();
    tallies.sort_by_key(|tally| std::cmp::Reverse(tally.objects));
    context.rows(tallies.into_iter().map(Ok), |row, _| {
        vec![
            ("value", row.value.as_ref().map_or_else(|| plain("(none)"), named)),
            ("objects", number(row.objects)),
            ("bytes", right(bytes(row.bytes))),
            ("share", plain(format!("{:.1} %", row.share))),
        ]
    })
}
