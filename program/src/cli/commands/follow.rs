//! `log --follow`: prints each commit of another process as soon as it is made.
//!
//! # Layer
//! Layer 10, part of cli.

use std::thread::sleep;
use std::time::Duration;

use super::prelude::*;
use crate::answers::history::LogLine;
use crate::cli::open_store::StoreFolder;
use treering::inspect::object::lane_of;
use treering::revert::Selection;

/// The time between two reads of the log.
const INTERVAL: Duration = Duration::from_millis(100);

/// Prints each new commit of the writers, until the user stops the verb, the store is moved, or `limit` commits were
/// printed.
pub(super) fn follow(context: &mut Context, memory: &Memory, by: &Selection, limit: usize) -> Done {
    let folder = StoreFolder::new(context.store()?);
    let mut seen = memory.view().commit().commit.seq;
    let note = format!("waiting for commits after seq:{seen}; Ctrl-C stops");
    context.output.note("watching", note);
    // Prints without the pager, which would wait for the end of the output.
    context.output.redirect(None)?;
    let mut left = limit;
    while left > 0 {
        context.output.check_stop()?;
        sleep(INTERVAL);
        folder.check()?;
        let newest = memory.refresh()?.commit().commit.seq;
        while seen < newest && left > 0 {
            seen += 1;
            match memory.resolve(&Revision::Seq(seen), "") {
                Ok(info) if by.made(memory, &info.commit) => {
                    left -= 1;
                    say_line(context, &LogLine::of(memory, &info)?)?;
                }
                Ok(_) => {}
                // Skips a commit that a strict gc thinned before this verb printed it.
                Err(error) if error.code() == ErrorCode::Thinned => {}
                Err(error) => return Err(error),
            }
            context.output.flush()?;
        }
    }
    Ok(DONE)
}

fn say_line(context: &mut Context, row: &LogLine) -> Result<()> {
    let lane = one_line(lane_of(row.session.as_deref(), row.actor.as_deref()));
    let (time, seq, op, counts) = (row.time, row.seq, &row.op, human::short_counts(row.counts));
    let reason = one_line(row.reason.as_deref().unwrap_or_default());
    let line = format!("{time}  seq:{seq} {op} by {lane}  {counts}  {reason}");
    context.say(row, line)?;
    Ok(())
}
