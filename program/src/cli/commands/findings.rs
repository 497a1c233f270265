//! Formats a location in a file for people.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use treering::upkeep::Finding;

/// Prints a line about a location in a file.
pub(super) fn show_finding(
    output: &mut Output,
    meaning: Meaning,
    label: &str,
    finding: &Finding,
) -> Result<()> {
    let damage = &finding.damage;
    let place = place(Some(&damage.file), damage.offset);
    let text = format!("{place}: {}", one_line(&damage.cause.to_string()));
    output.labelled(meaning, label, &text)
}

/// Formats a location, such as `log/00000001.seg at 4096`. Without an offset, returns only the file.
pub(super) fn place(file: Option<&str>, offset: Option<u64>) -> String {
    let file = one_line(file.unwrap_or("the store"));
    match offset.filter(|offset| *offset > 0) {
        Some(offset) => format!("{file} at {offset}"),
        None => file,
    }
}
