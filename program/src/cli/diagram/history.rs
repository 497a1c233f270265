//! Draws the commits as a diagram, with their snapshots, and an arc for each rollback.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;

use super::{Diagram, Mark, Row};
use crate::answers::history::{Recorded, SnapshotLine};
use crate::cli::human::{counted, short, short_counts};
use treering::{CommitInfo, Memory, Result, View};

/// Draws at most `most` commits, newest first, from the commit of `view` on.
///
/// # Errors
/// Returns `Corrupt` or `Io` if a state or a text cannot be read.
pub(in crate::cli) fn history(memory: &Memory, view: &View, most: usize) -> Result<Diagram> {
    let head = view.commit();
    let title = format!(
        "History up to seq {}, root {}",
        head.commit.seq,
        short(head.commit.root.as_bytes())
    );
    let mut diagram = Diagram::new("history", title);
    // No lane has the name "", so the name of each ring includes its lane.
    let mut names = SnapshotLine::names(memory, "")?;
    let mut targets = Vec::new();
    let mut rows = BTreeMap::new();
    let commits = memory
        .commits()
        .skip_while(|info| info.as_ref().is_ok_and(|info| info.commit.seq > head.commit.seq));
    for info in commits.take(most) {
        let info = info?;
        let mut row = row(memory, &info)?;
        row.tags
            .extend(names.remove(&info.commit.seq).unwrap_or_default());
        let number = diagram.push(row);
        rows.insert(info.digest, number);
        targets.extend(info.commit.target.map(|target| (number, target)));
    }
    for (from, target) in targets {
        if let Some(&to) = rows.get(&target) {
            diagram.arcs.push((from, to));
        }
    }
    let left_out = (head.commit.seq + 1).saturating_sub(diagram.rows.len() as u64);
    if left_out > 0 {
        let rest = counted(left_out, "older commit");
        diagram.push_left_out(None, &format!("{rest}, not drawn"));
    }
    Ok(diagram)
}

fn row(memory: &Memory, info: &CommitInfo) -> Result<Row> {
    let commit = &info.commit;
    let counts = memory.commit_counts(info)?;
    let reason = Recorded::of(memory, commit.reason)?.text;
    let mark = if commit.target.is_some() {
        Mark::Back
    } else {
        Mark::Commit
    };
    let name = format!("{} {}", commit.seq, commit.op.as_str());
    let mut text = format!("{}  {}", short_counts(counts), info.lane());
    if let Some(reason) = &reason {
        text = format!("{text}: {reason}");
    }
    let mut row = Row::new(None, mark, name, &text);
    row.detail("commit", &info.digest);
    row.detail("root", &commit.root);
    row.detail("time", &commit.time);
    let class = memory.seen_origin(commit.trust);
    row.label_class(class);
    row.detail("trust", class.name());
    for (name, held) in [
        ("actor", &commit.actor),
        ("session", &commit.session),
        ("reason", &reason),
    ] {
        if let Some(held) = held {
            row.detail(name, held);
        }
    }
    if let Some(target) = commit.target {
        row.detail("target", &target);
    }
    Ok(row)
}
