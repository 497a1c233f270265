//! `stats`: prints counts and sizes.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::tally::{Tally, tally};
use crate::answers::store::Statistics;
use crate::cli::output::Output;
use crate::engine::KindSpace;

/// The width of the column of field names.
const FIELD: usize = 11;

/// Count and measure the store
///
/// # Examples
/// ```text
/// treering stats
/// treering stats --by kind
/// treering stats --space --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Stats {
    /// Also show the space of the log by record kind, and the space that gc would free: reads the whole log
    #[arg(long)]
    space: bool,
    /// Count objects and bytes by kind, scope, origin, or the attribute NAME instead
    #[arg(long, value_name = "NAME", conflicts_with = "space")]
    by: Option<String>,
}

impl Verb for Stats {
    const NAME: &'static str = "stats";
    const ANSWERS: &'static [Form] = &[form::<Statistics>(""), form::<Tally>("with --by, one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        if let Some(by) = &self.by {
            return tally(context, &memory, by);
        }
        let view = context.view(&memory)?;
        // The counts of files and versions are for the whole store, so a past state has none.
        let is_present = context.at().is_none();
        let stats = is_present.then(|| memory.stats()).transpose()?;
        let space = (is_present && self.space).then(|| memory.space()).transpose()?;
        context.answer(&Statistics::of(&memory, &view, stats, space)?, show_statistics)
    }
}

fn show_statistics(answer: &Statistics, context: &mut Context) -> Result<(), Failure> {
    let output = &mut context.output;
    let mut field = |name: &str, value: String| output.field(0, FIELD, name, value);
    field("objects", answer.objects.to_string())?;
    let thinned = match (answer.thinned, answer.gaps) {
        (Some(thinned), Some(gaps)) if thinned > 0 => {
            format!(", {thinned} of them thinned in {}", counted(gaps, "gap"))
        }
        _ => String::new(),
    };
    field("commits", format!("{}{thinned}", answer.commits))?;
    field("snapshots", answer.snapshots.to_string())?;
    let Some(history) = answer.history else {
        output.note(
            "past",
            "sizes exist only for the whole store: leave --at out to see them",
        );
        return Ok(());
    };
    field("history", counted(history, "version"))?;
    if let Some(erased) = answer.erased.filter(|erased| *erased > 0) {
        let versions = counted(erased, "version");
        field("erased", format!("{versions}, erased or lost"))?;
    }
    let segments = counted(answer.segments.unwrap_or_default(), "segment");
    let log = bytes(answer.log_bytes.unwrap_or_default());
    field("log", format!("{log} in {segments}"))?;
    for (name, size) in [
        ("checkpoint", answer.checkpoint_bytes),
        ("set aside", answer.set_aside_bytes),
        ("disk", answer.disk_bytes),
        ("live", answer.live_bytes),
    ] {
        field(name, bytes(size.unwrap_or_default()))?;
    }
    field("orphans", answer.orphans.unwrap_or_default().to_string())?;
    field("hash", format!("{}, format {}", answer.hash, answer.format))?;
    match &answer.space {
        Some(kinds) => answer.show_space(output, kinds),
        None => Ok(()),
    }
}

impl Statistics {
    /// Prints the space of the log by kind of record, and the share that gc would free.
    fn show_space(&self, output: &mut Output, kinds: &[KindSpace]) -> Result<(), Failure> {
        let all: u64 = kinds.iter().map(|kind| kind.bytes).sum();
        output.line("")?;
        for kind in kinds {
            let size = format!(
                "{} in {} ({:.1} %)",
                bytes(kind.bytes),
                counted(kind.records, "record"),
                kind.bytes as f64 * 100.0 / all.max(1) as f64
            );
            output.field(0, FIELD, kind.kind, size)?;
        }
        output.line("")?;
        for (name, kept, why) in [
            ("present", self.present_bytes, "the state at the head"),
            (
                "named",
                self.named_bytes,
                "kept for snapshots, drafts, erasures, rollbacks and undos",
            ),
            (
                "policy",
                self.policy_bytes,
                "kept by the standard policy for its age",
            ),
            ("free", self.dead_bytes, "gc would free this"),
        ] {
            let kept = bytes(kept.unwrap_or_default());
            output.field(0, FIELD, name, format_args!("{kept}  {why}"))?;
        }
        Ok(())
    }
}
