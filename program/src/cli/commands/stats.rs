//! `stats`: prints counts and sizes.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use super::tally::{Tally, tally};
use crate::answers::store::Statistics;
use treering::inspect::engine::KindSpace;

/// Print counts and sizes
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
    /// Also show the space of the log by record kind, and the space that gc would free; this reads the whole log
    #[arg(long)]
    space: bool,
    /// Only count objects and bytes, by kind, scope, origin, or the attribute NAME
    #[arg(long, value_name = "NAME", conflicts_with = "space")]
    by: Option<String>,
}

impl Verb for Stats {
    const ANSWERS: &'static [Form] = &[form::<Statistics>(""), form::<Tally>("with --by, one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        if let Some(by) = &self.by {
            return tally(context, &memory, by);
        }
        let view = context.view(&memory)?;
        // The counts of files and versions describe the whole store, so a past state has no such counts.
        let is_present = context.at().is_none();
        let stats = is_present.then(|| memory.stats()).transpose()?;
        let space = (is_present && self.space).then(|| memory.space()).transpose()?;
        context.answer(&Statistics::of(&memory, &view, stats, space)?, show_statistics)
    }
}

fn show_statistics(answer: &Statistics, context: &mut Context) -> Result<()> {
    let thinned = match (answer.thinned, answer.gaps) {
        (Some(thinned), Some(gaps)) if thinned > 0 => {
            format!(", {thinned} of them thinned in {}", counted(gaps, "gap"))
        }
        _ => String::new(),
    };
    let open = match answer.merge_conflicts {
        0 => String::new(),
        open => format!(", with {}", counted(open as u64, "open conflict")),
    };
    let erased = answer.erased.filter(|erased| *erased > 0);
    let erased = erased.map(|erased| format!("{}, erased or lost", counted(erased, "version")));
    let segments = counted(answer.segments.unwrap_or_default(), "segment");
    let log = answer.log_bytes.map(bytes);
    let log = log.map(|log| format!("{log} in {segments}"));
    let is_present = answer.history.is_some();
    let hash = format!("{}, format {}", answer.hash, answer.format);
    let fields = [
        ("objects", Some(format!("{}{open}", answer.objects))),
        ("commits", Some(format!("{}{thinned}", answer.commits))),
        ("snapshots", Some(answer.snapshots.to_string())),
        (
            "history",
            answer.history.map(|history| counted(history, "version")),
        ),
        ("erased", erased),
        ("log", log),
        ("checkpoint", answer.checkpoint_bytes.map(bytes)),
        ("set aside", answer.set_aside_bytes.map(bytes)),
        ("disk", answer.disk_bytes.map(bytes)),
        ("live", answer.live_bytes.map(bytes)),
        ("orphans", answer.orphans.map(|orphans| orphans.to_string())),
        ("hash", is_present.then_some(hash)),
    ];
    context.fields(0, fields)?;
    if answer.merge_conflicts > 0 {
        let command = context.lane_command("conflicts");
        context.note_for_people("next", format!("see the versions with: {command}"));
    }
    if !is_present {
        let note = "sizes exist only for the whole store; to see sizes, omit --at";
        context.note("past", note);
    }
    match &answer.space {
        Some(kinds) => answer.show_space(context, kinds),
        None => Ok(()),
    }
}

impl Statistics {
    /// Prints the space of the log by kind of record, and the share that gc would free.
    fn show_space(&self, context: &mut Context, kinds: &[KindSpace]) -> Result<()> {
        let all: u64 = kinds.iter().map(|kind| kind.bytes).sum();
        let size = |kind: &KindSpace| {
            let percent = kind.bytes as f64 * 100.0 / all.max(1) as f64;
            let (size, records) = (bytes(kind.bytes), counted(kind.records, "record"));
            format!("{size} in {records} ({percent:.1} %)")
        };
        let kept = |kept: Option<u64>, why| kept.map(|kept| format!("{}  {why}", bytes(kept)));
        context.line("")?;
        context.fields(0, kinds.iter().map(|kind| (kind.kind, Some(size(kind)))))?;
        context.line("")?;
        let named = "kept for snapshots, drafts, erasures, rollbacks and undos";
        let policy = "kept because of its age, by the standard policy";
        let fields = [
            ("present", kept(self.present_bytes, "the state at the head")),
            ("named", kept(self.named_bytes, named)),
            ("policy", kept(self.policy_bytes, policy)),
            ("free", kept(self.dead_bytes, "freed by the next gc")),
        ];
        context.fields(0, fields)
    }
}
