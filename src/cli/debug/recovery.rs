//! What the next writer would do before it appends.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::arguments::Arguments;
use super::shell::Shell;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{self, counted};
use crate::log::NextWriter;

pub(super) fn recovery(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let plan = shell.inspection()?.next_writer();
    let served = shell
        .memory()
        .ok()
        .map(|memory| memory.view().commit().commit.seq);
    let output = &mut shell.context.output;
    let (action, told) = match &plan {
        Ok(NextWriter::GoOn { segment, offset }) => (
            "go_on",
            format!("the next writer goes on in segment {segment} at {offset}: nothing to recover"),
        ),
        Ok(NextWriter::Recover {
            segment,
            sealed_at,
            again,
            torn_bytes,
        }) => {
            let again = counted(again.len() as u64, "whole batch");
            let told = format!(
                "the next writer would seal segment {segment} at {sealed_at}, write {again} from behind that again into a new \
                 segment, and leave {torn_bytes} torn bytes where they are"
            );
            ("recover", told)
        }
        Err(error) => (
            "refuse",
            format!(
                "the next writer would refuse to write, unless a checkpoint spares it from reading there: {error}"
            ),
        ),
    };
    if output.is_json() {
        let (sealed_at, again, torn) = match &plan {
            Ok(NextWriter::Recover {
                sealed_at,
                again,
                torn_bytes,
                ..
            }) => (Some(sealed_at), Some(again), Some(torn_bytes)),
            _ => (None, None, None),
        };
        output.document(&json!({
            "action": action, "told": told, "sealed_at": sealed_at, "again": again, "torn_bytes": torn,
            "served_seq": served,
        }))?;
        return Ok(DONE);
    }
    for line in human::wrapped(&told, output.width().unwrap_or(usize::MAX)) {
        output.line(line)?;
    }
    match served {
        Some(seq) => output.line(format_args!("readers are served the state of seq:{seq}"))?,
        None => output.line("readers are served no state")?,
    }
    Ok(DONE)
}
