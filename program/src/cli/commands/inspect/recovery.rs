//! `inspect recovery`: shows the plan that the next writer executes before it appends.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::commands::prelude::*;
use crate::cli::human::wrapped;
use treering::inspect::engine;
use treering::inspect::log::NextWriter;

/// Show how the next writer recovers the log before it appends
///
/// # Examples
/// ```text
/// treering inspect recovery
/// treering inspect recovery --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(super) struct Recovery {}

/// The plan of the next writer.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct Plan {
    /// The action: `go_on`, `recover` or `refuse`.
    action: &'static str,
    #[serde(rename = "told")]
    sentence: String,
    /// The length at which the writer seals the last segment.
    sealed_at: Option<u64>,
    /// The batches that the writer copies into a new segment.
    again: Option<Vec<u64>>,
    /// The number of bytes of an unfinished batch, which the writer leaves in place.
    torn_bytes: Option<u64>,
    /// The seq of the state that readers see. Null if no state is readable.
    served_seq: Option<u64>,
}

impl Recovery {
    pub(super) fn run(context: &mut Context) -> Done {
        let next = engine::inspection(context.store()?)?.next_writer();
        let served = context.open_to_read().ok();
        let mut plan = Plan {
            served_seq: served.map(|memory| memory.view().commit().commit.seq),
            ..Plan::default()
        };
        match next {
            Ok(NextWriter::GoOn { segment, offset }) => {
                let place = format!("segment {segment} at {offset}");
                plan.action = "go_on";
                plan.sentence = format!("nothing to recover: the next writer appends in {place}");
            }
            Ok(NextWriter::Recover {
                segment,
                sealed_at,
                again,
                torn_bytes,
            }) => {
                let batches = counted(again.len() as u64, "whole batch");
                plan.action = "recover";
                plan.sentence = format!(
                    "the next writer seals segment {segment} at {sealed_at}, copies {batches} after that offset into a new segment, and leaves the {torn_bytes} bytes of an unfinished batch in place"
                );
                plan.sealed_at = Some(sealed_at);
                plan.again = Some(again);
                plan.torn_bytes = Some(torn_bytes);
            }
            Err(error) => {
                let unless = "unless a checkpoint lets the writer skip the damage";
                plan.action = "refuse";
                plan.sentence = format!("the next writer refuses to write ({error}), {unless}");
            }
        }
        context.answer(&plan, |plan, context| {
            let output = &mut context.output;
            for line in wrapped(&plan.sentence, output.style().width.unwrap_or(usize::MAX)) {
                output.line(line)?;
            }
            match plan.served_seq {
                Some(seq) => output.line(format_args!("readers see the state at seq:{seq}")),
                None => output.line("readers see no state"),
            }
        })
    }
}
