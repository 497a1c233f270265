//! `gc`: history is thinned by a policy.
//!
//! # Layer
//! L10, part of cli.

use std::time::Duration;

use super::prelude::*;
use crate::answers::commits::Collected;
use crate::engine::Retention;

/// The width of the names of fields.
const FIELD: usize = 11;

/// Thin history, give back space
///
/// A policy says which commits are kept.
///
/// # Notes
/// Snapshots, drafts, erasures, and what a rollback, undo or redo went back to keep their commits, whatever the
/// policy. A thinned commit's digest stays in the chain; its state is gone for good, so a policy that keeps less than
/// the standard one, or another moment than now, asks for --yes. It holds for this run: a writer that closes the
/// store may collect by itself, with the standard policy, but nothing younger than 7 days. Ages are judged by the
/// newest commit where the clock is more than a day ahead of it. Others may read and write meanwhile. A duration is
/// 12h, 30d, 8w, 2y, 0 or forever.
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
    /// Say what would go, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Thin by a stricter policy than the standard one: nothing brings it back
    #[arg(long)]
    yes: bool,
    /// Keep every commit younger than this [default: 7d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    keep_all: Option<Duration>,
    /// But no more than the N newest because of --keep-all [default: 5000]
    #[arg(long, value_name = "N")]
    newest: Option<u64>,
    /// Keep the last commit of each hour younger than this [default: 30d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    hourly: Option<Duration>,
    /// Keep the last commit of each day younger than this [default: 365d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    daily: Option<Duration>,
    /// Keep the last commit of each week younger than this [default: forever]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    weekly: Option<Duration>,
    /// The moment that ages are judged at: an RFC 3339 time, a date, or how long ago (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
}

impl Verb for Gc {
    const NAME: &'static str = "gc";
    const ANSWERS: &'static [Form] = &[form::<Collected>("")];

    fn run(self, context: &mut Context) -> Done {
        let retention = self.retention();
        let needs_consent = self.is_stricter(&retention) && !self.yes;
        if self.dry_run || needs_consent {
            let memory = context.open_to_read()?;
            let report = memory.gc_preview(&retention, self.now(&memory)?)?;
            let thinned = report.thinned;
            let is_refused = needs_consent && thinned > 0 && !self.dry_run;
            if self.dry_run || is_refused {
                context.answer(&Collected {
                    report,
                    dry_run: true,
                })?;
            }
            if is_refused {
                let commits = counted(thinned, "commit");
                return Err(Failure::usage(
                    format!("nothing was thinned: the states of {commits} would go for good"),
                    "add --yes to do it",
                ));
            }
        }
        if self.dry_run {
            context.output.note("dry_run", "nothing was changed");
            return Ok(DONE);
        }
        let memory = context.open_to_write()?;
        let report = memory.gc(&retention, self.now(&memory)?)?;
        context.answer(&Collected {
            report,
            dry_run: false,
        })
    }
}

impl Gc {
    fn retention(&self) -> Retention {
        let standard = Retention::default();
        Retention {
            all: self.keep_all.unwrap_or(standard.all),
            newest: self.newest.unwrap_or(standard.newest),
            hourly: self.hourly.unwrap_or(standard.hourly),
            daily: self.daily.unwrap_or(standard.daily),
            weekly: self.weekly.unwrap_or(standard.weekly),
            forgotten: standard.forgotten,
        }
    }

    /// Whether it keeps less than the standard policy, or judges ages at another moment than now.
    fn is_stricter(&self, retention: &Retention) -> bool {
        let standard = Retention::default();
        retention.all < standard.all
            || retention.newest < standard.newest
            || retention.hourly < standard.hourly
            || retention.daily < standard.daily
            || retention.weekly < standard.weekly
            || self.now.is_some()
    }

    /// The moment that ages are judged at, if one was given.
    fn now(&self, memory: &Memory) -> Result<Option<Time>> {
        let now = memory.view().now();
        let given = self.now.as_deref();
        given.map(|text| time::moment(text, now)).transpose()
    }
}

impl Answer for Collected {
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let (report, output) = (&self.report, &mut context.output);
        let (kept, thinned) = if self.dry_run {
            ("would keep", "would be thinned")
        } else {
            ("kept", "thinned")
        };
        let before = counted(report.kept + report.thinned, "commit");
        let commits = format!("{} of {before}: {} {thinned}", report.kept, report.thinned);
        output.field(0, FIELD, kept, commits)?;
        let versions = format!("{} of {}", report.versions, report.versions_before);
        output.field(0, FIELD, "versions", versions)?;
        let freed = report.bytes_before.saturating_sub(report.bytes);
        // A log that had nothing to give can come out a little longer: what a batch changed may be written anew.
        let log = if freed == 0 {
            format!("{}, nothing freed", bytes(report.bytes))
        } else {
            let percent = freed * 100 / report.bytes_before.max(1);
            format!(
                "{} of {}: {} ({percent} %) freed",
                bytes(report.bytes),
                bytes(report.bytes_before),
                bytes(freed)
            )
        };
        output.field(0, FIELD, "log", log)
    }
}
