//! `gc`: thins history by a policy.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::Duration;

use super::prelude::*;
use crate::answers::commits::Collected;
use treering::upkeep::Retention;

/// Thin history, free space
///
/// A policy decides which commits are kept.
///
/// # Notes
/// Every policy keeps the commits of snapshots, drafts and erasures, and the targets of a rollback, undo or redo. A
/// thinned commit's digest stays in the chain, but its state is lost permanently. So --now, or a policy that keeps less
/// than the standard policy, needs --yes. The policy applies to this run only. A writer that closes the store may thin
/// commits older than 7 days by the standard policy. If the clock is more than a day ahead of the newest commit, gc
/// computes ages from the time of that commit. Other processes may read and write during gc. A duration is 12h, 30d,
/// 8w, 2y, 0 or forever.
///
/// # Examples
/// ```text
/// treering gc --dry-run
/// treering gc
/// treering gc --keep-all 2d --hourly 0 --weekly 2y --yes
/// ```
#[derive(Args, Debug)]
#[command(args = args::waits(), verbatim_doc_comment)]
pub(crate) struct Gc {
    /// Print what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Allow --now, or a policy that keeps less than the standard policy; thinning cannot be undone
    #[arg(long)]
    yes: bool,
    /// Keep every commit younger than DURATION [default: 7d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    keep_all: Option<Duration>,
    /// Of the commits that --keep-all selects, keep only the N newest [default: 5000]
    #[arg(long, value_name = "N")]
    newest: Option<u64>,
    /// For commits younger than DURATION, keep the last commit of each hour [default: 30d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    hourly: Option<Duration>,
    /// For commits younger than DURATION, keep the last commit of each day [default: 365d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    daily: Option<Duration>,
    /// For commits younger than DURATION, keep the last commit of each week [default: forever]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    weekly: Option<Duration>,
    /// Compute the ages of commits at this time: an RFC 3339 time, a date, or an age (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
}

impl Verb for Gc {
    const ANSWERS: &'static [Form] = &[form::<Collected>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let retention = self.retention();
        let needs_consent = self.is_stricter(&retention) && !self.yes;
        if self.dry_run || needs_consent {
            let memory = context.open_to_read()?;
            let report = memory.gc_preview(&retention, self.now(&memory)?)?;
            let lost = counted(report.thinned, "commit");
            let is_refused = needs_consent && report.thinned > 0 && !self.dry_run;
            if self.dry_run || is_refused {
                let dry_run = true;
                context.answer(&Collected { report, dry_run }, show_collected)?;
            }
            if is_refused {
                let text = format!("nothing was thinned; --yes would discard the states of {lost}");
                return Err(usage_error(text, "add --yes to confirm"));
            }
        }
        if self.dry_run {
            context.note_dry_run(true);
            return Ok(DONE);
        }
        let memory = context.open_to_write()?;
        let report = memory.gc(&retention, self.now(&memory)?)?;
        context.print_warnings(&memory);
        let dry_run = false;
        let done = context.answer(&Collected { report, dry_run }, show_collected)?;
        let removed = context.agent_of(&memory).drop_other_vectors()?;
        if removed > 0 {
            let files = counted(removed as u64, "file");
            context.note(
                "vectors",
                format!("removed {files} with vectors of models that are not used any more"),
            );
        }
        Ok(done)
    }
}

impl Gc {
    fn retention(&self) -> Retention {
        let mut retention = Retention::default();
        retention.all = self.keep_all.unwrap_or(retention.all);
        retention.newest = self.newest.unwrap_or(retention.newest);
        retention.hourly = self.hourly.unwrap_or(retention.hourly);
        retention.daily = self.daily.unwrap_or(retention.daily);
        retention.weekly = self.weekly.unwrap_or(retention.weekly);
        retention
    }

    /// Returns whether the policy keeps less than the standard policy, or `--now` sets the time for ages.
    fn is_stricter(&self, retention: &Retention) -> bool {
        let standard = Retention::default();
        retention.all < standard.all
            || retention.newest < standard.newest
            || retention.hourly < standard.hourly
            || retention.daily < standard.daily
            || retention.weekly < standard.weekly
            || self.now.is_some()
    }

    /// Returns the time of `--now`, if the user typed it.
    fn now(&self, memory: &Memory) -> Result<Option<Time>> {
        time::given(self.now.as_deref(), memory.view().now())
    }
}

fn show_collected(answer: &Collected, context: &mut Context) -> Result<()> {
    let report = &answer.report;
    let (kept, thinned) = if answer.dry_run {
        ("would keep", "would be thinned")
    } else {
        ("kept", "thinned")
    };
    let before = counted(report.kept + report.thinned, "commit");
    let commits = format!("{} of {before}: {} {thinned}", report.kept, report.thinned);
    let versions = format!("{} of {}", report.versions, report.versions_before);
    let (now, before) = (bytes(report.bytes), bytes(report.bytes_before));
    let freed = report.bytes_before.saturating_sub(report.bytes);
    let percent = freed * 100 / report.bytes_before.max(1);
    // A rewrite that frees nothing can enlarge the log a little, because the rewrite may write the changes of a batch
    // again.
    let log = match freed {
        0 => format!("{now}, nothing freed"),
        freed => format!("{now} of {before}: {} ({percent} %) freed", bytes(freed)),
    };
    let fields = [(kept, commits), ("versions", versions), ("log", log)];
    context.fields(0, fields.map(|(name, value)| (name, Some(value))))
}
