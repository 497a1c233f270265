//! `snapshots`: the named states.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::history::SnapshotLine;

/// List the snapshots, newest first
///
/// # Examples
/// ```text
/// treering snapshots
/// treering snapshots --limit 5 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Snapshots {
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for Snapshots {
    const ANSWERS: &'static [Form] = &[form::<SnapshotLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let newest = context.view(&memory)?.commit().commit.seq;
        let found = memory.snapshots()?.into_iter().filter(|info| info.seq <= newest);
        let found = found.take(self.limit.unwrap_or(usize::MAX));
        context.rows(found.map(|info| Ok(SnapshotLine::from(info))), |row, context| {
            let mut cells = columns(row, &["lane", "seq", "root", "time", "reason"], context);
            cells.insert(0, ("snapshot", named(row.revision())));
            cells
        })
    }
}
