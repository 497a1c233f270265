//! A place in a file, as people read it.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::errors::Failure;
use crate::cli::human::one_line;
use crate::cli::output::{Meaning, Output};
use crate::engine::Finding;

/// Writes a line about a place in a file.
pub(super) fn show_finding(
    output: &mut Output,
    meaning: Meaning,
    label: &str,
    finding: &Finding,
) -> Result<(), Failure> {
    let damage = &finding.damage;
    let place = place(Some(&damage.file), damage.offset);
    let text = format!("{place}: {}", one_line(&damage.cause.to_string()));
    output.labelled(meaning, label, &text)
}

/// `log/00000001.seg at 4096`; a file as a whole has no place in it.
pub(super) fn place(file: Option<&str>, offset: Option<u64>) -> String {
    let file = one_line(file.unwrap_or("the store"));
    match offset.filter(|offset| *offset > 0) {
        Some(offset) => format!("{file} at {offset}"),
        None => file,
    }
}
