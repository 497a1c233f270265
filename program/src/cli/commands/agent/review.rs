//! Shows a person what a version changes before the person promotes or releases it.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::commands::prelude::*;
use treering::agent::{HiddenItem, Review};

/// Returns the review of a version as lines: the whole text, and every field that acts (RVW-1).
pub(super) fn review_lines(review: &Review) -> Vec<String> {
    let Review {
        kind, scope, trust, ..
    } = review;
    let heading = format!("{} ({kind} in {scope}, class {trust})", review.id);
    let mut lines = vec![one_line(&heading)];
    if !review.flags.is_empty() {
        lines.push(format!("  the scan found {}", one_line(&review.flags.join(", "))));
    }
    if review.invisible > 0 {
        let what = counted(review.invisible as u64, "invisible character");
        lines.push(format!("  {what}, written out as \\u{{..}}"));
    }
    // The margin before each line separates the text from the lines of the program.
    lines.extend(review.text.lines().map(|line| format!("  | {line}")));
    for act in &review.acts {
        lines.push(one_line(&format!("  {} = {}", act.field, act.value)));
        lines.extend(act.hides.iter().map(hidden_line));
    }
    lines
}

fn hidden_line(hidden: &HiddenItem) -> String {
    let HiddenItem { id, trust, text } = hidden;
    format!("    hides {}", one_line(&format!("{id} (class {trust}): {text}")))
}
