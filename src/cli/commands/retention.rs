//! `gc`, `erase`: what of history goes, by a policy or for good.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

use super::store::head_line;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{bytes, counted, one_line, short};
use crate::cli::json::with_commit;
use crate::cli::output::{Meaning, Output};
use crate::cli::time;
use crate::digest::to_hex;
use crate::engine::{ErasedKind, ErasedReport, Erasing, GcReport, Memory, Retention};
use crate::error::{ErrorCode, Result};
use crate::object::{Id, Time};

/// Records that people see named.
const RECORDS_SHOWN: usize = 20;

/// Thin history by a policy, and give back the space of what nobody needs
#[derive(Args, Debug)]
#[command(
    args = args::waits(),
    after_help = "Snapshots, drafts, erasures, and what a rollback, undo or redo went back to keep their commits, whatever \
                  the policy. A thinned commit's digest stays in the chain; its state is gone for good, so a policy that \
                  keeps less than the standard one, or another moment than now, asks for --yes. It holds for this run: a \
                  writer that closes the store may collect by itself, with the standard policy, but nothing younger than 7 days. Ages are judged by \
                  the newest commit where the clock is more than a day ahead of it. Others may read and write meanwhile. \
                  A duration is 12h, 30d, 8w, 2y, 0 or forever.\n\n\
                  Examples:\n  treering gc --dry-run\n  treering gc\n  treering gc --keep-all 2d --hourly 0 --weekly 2y --yes"
)]
pub(crate) struct Gc {
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Thin by a stricter policy than the standard one: nothing brings it back
    #[arg(long)]
    pub(crate) yes: bool,
    /// Keep every commit younger than this [default: 7d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) keep_all: Option<Duration>,
    /// But no more than the N newest because of --keep-all [default: 5000]
    #[arg(long, value_name = "N")]
    pub(crate) newest: Option<u64>,
    /// Keep the last commit of each hour younger than this [default: 30d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) hourly: Option<Duration>,
    /// Keep the last commit of each day younger than this [default: 365d]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) daily: Option<Duration>,
    /// Keep the last commit of each week younger than this [default: forever]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = time::span)]
    pub(crate) weekly: Option<Duration>,
    /// The moment that ages are judged at: an RFC 3339 time, a date, or how long ago (2h, 3d) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

impl Verb for Gc {
    const NAME: &'static str = "gc";

    fn run(self, context: &mut Context) -> Done {
        gc(context, &self)
    }
}

/// Take objects, versions, contents or reasons out of every file, for good
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(
    args = args::writes(),
    after_help = "An ID leaves the state, and every version of it goes, wherever history, drafts or snapshots keep it. A \
                  DIGEST (8 digits or more) is one earlier version, a content, a reason or a source. Roots and digests of \
                  commits stay, and the history still verifies; who asks for what is gone is told who erased it, and why. \
                  Backups, and blocks that the file system or the device still holds, are beyond its reach.\n\n\
                  Examples:\n  treering erase facts/password --dry-run\n  treering erase facts/password -m 'a secret' --yes\n  \
                  treering erase 5f0c81d2 --yes"
)]
pub(crate) struct Erase {
    /// Objects, and digests of versions, contents, reasons or sources
    #[arg(value_name = "ID|DIGEST", required = true)]
    pub(crate) targets: Vec<String>,
    /// Also contents that other objects share, and earlier versions that name an erased parent
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Also every version that was derived from an erased one
    #[arg(long)]
    pub(crate) derived: bool,
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do it: nothing brings it back
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Verb for Erase {
    const NAME: &'static str = "erase";

    fn run(self, context: &mut Context) -> Done {
        erase(context, &self)
    }
}

fn gc(context: &mut Context, verb: &Gc) -> Done {
    let standard = Retention::default();
    let retention = Retention {
        all: verb.keep_all.unwrap_or(standard.all),
        newest: verb.newest.unwrap_or(standard.newest),
        hourly: verb.hourly.unwrap_or(standard.hourly),
        daily: verb.daily.unwrap_or(standard.daily),
        weekly: verb.weekly.unwrap_or(standard.weekly),
        forgotten: standard.forgotten,
    };
    let is_stricter = retention.all < standard.all
        || retention.newest < standard.newest
        || retention.hourly < standard.hourly
        || retention.daily < standard.daily
        || retention.weekly < standard.weekly
        || verb.now.is_some();
    let mut asks = is_stricter && !verb.yes;
    if verb.dry_run || asks {
        let memory = context.open_to_read()?;
        let report = memory.gc_preview(&retention, now_of(verb, &memory)?)?;
        asks &= report.thinned > 0 && !verb.dry_run;
        if verb.dry_run || asks {
            tell_gc(&mut context.output, &report, true)?;
        }
        if asks {
            return Err(Failure::usage(
                format!(
                    "nothing was thinned: the states of {} would go for good",
                    counted(report.thinned, "commit")
                ),
                "add --yes to do it",
            ));
        }
    }
    if verb.dry_run {
        context.output.note("dry_run", "nothing was changed");
        return Ok(DONE);
    }
    let memory = context.open_to_write()?;
    let report = memory.gc(&retention, now_of(verb, &memory)?)?;
    tell_gc(&mut context.output, &report, false)?;
    Ok(DONE)
}

/// The moment that ages are judged at, if one was given.
fn now_of(verb: &Gc, memory: &Memory) -> Result<Option<Time>> {
    let now = memory.view().now();
    verb.now
        .as_deref()
        .map(|text| time::moment(text, now))
        .transpose()
}

fn tell_gc(output: &mut Output, report: &GcReport, dry_run: bool) -> Result<(), Failure> {
    if output.is_json() {
        return output.document(&json!({
            "kept": report.kept,
            "thinned": report.thinned,
            "versions_before": report.versions_before,
            "versions": report.versions,
            "bytes_before": report.bytes_before,
            "bytes": report.bytes,
            "dry_run": dry_run,
        }));
    }
    let before = report.kept + report.thinned;
    let (kept, thinned) = if dry_run {
        ("would keep", "would be thinned")
    } else {
        ("kept", "thinned")
    };
    output.field(
        0,
        11,
        kept,
        format_args!(
            "{} of {}: {} {thinned}",
            report.kept,
            counted(before, "commit"),
            report.thinned
        ),
    )?;
    output.field(
        0,
        11,
        "versions",
        format_args!("{} of {}", report.versions, report.versions_before),
    )?;
    let freed = report.bytes_before.saturating_sub(report.bytes);
    // A log that had nothing to give can come out a little longer: what a batch changed may be said anew.
    let told = if freed == 0 {
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
    output.field(0, 11, "log", told)
}

fn erase(context: &mut Context, verb: &Erase) -> Done {
    let mut erasing = Erasing {
        targets: verb.targets.clone(),
        everywhere: verb.everywhere,
        derived: verb.derived,
    };
    if verb.yes && !verb.dry_run {
        return erase_now(context, &erasing);
    }
    let memory = context.open_to_read()?;
    let previewed = memory.erase_preview(&erasing);
    let (report, needs) = match previewed {
        Err(refused) if refused.code() == ErrorCode::Shared => {
            erasing.everywhere = true;
            (memory.erase_preview(&erasing)?, Some(refused))
        }
        previewed => (previewed?, None),
    };
    let needs = needs.map(|refused| format!("this needs --everywhere: {refused}"));
    if context.output.is_json() {
        let mut document = document(&report);
        document["dry_run"] = true.into();
        document["needs"] = needs.as_deref().into();
        context.output.document(&document)?;
    } else {
        tell_erased(&mut context.output, &report, "would erase")?;
    }
    if let Some(needs) = needs {
        context.output.note("needs", needs);
    }
    if verb.dry_run {
        context.output.note("dry_run", "nothing was changed");
        return Ok(DONE);
    }
    Err(Failure::usage(
        format!("nothing was erased: {} would go for good", sum(&report)),
        "add --yes to do it",
    ))
}

fn erase_now(context: &mut Context, erasing: &Erasing) -> Done {
    let memory = context.open_to_write()?;
    let report = memory.erase(erasing, &context.writer())?;
    let mut document = document(&report);
    if let Some(info) = &report.commit {
        document = with_commit(document, info);
    }
    if context.output.is_json() {
        context.output.document(&document)?;
    } else {
        tell_erased(&mut context.output, &report, "erased")?;
        if let Some(info) = &report.commit {
            let line = head_line(&context.output, &memory, info);
            context.output.line(line)?;
        }
    }
    let note = "nothing brings it back; backups of this folder still have it";
    context.output.note("gone", note);
    Ok(DONE)
}

fn document(report: &ErasedReport) -> Value {
    let ids = |ids: &[Id]| ids.iter().map(Id::as_str).collect::<Value>();
    let digests = report.records.iter().map(|record| to_hex(&record.digest));
    let records = report.records.iter().map(|record| {
        json!({
            "kind": record.kind.name(), "digest": to_hex(&record.digest), "id": record.id, "bytes": record.bytes,
        })
    });
    json!({
        "erased": erased(report),
        "bytes": report.bytes(),
        "holders": ids(&report.holders),
        "unlinked": ids(&report.unlinked),
        "digests": digests.collect::<Value>(),
        "records": records.collect::<Value>(),
    })
}

/// How many things: versions, or where none is erased the contents and texts that were named.
fn erased(report: &ErasedReport) -> u64 {
    match report.versions() {
        0 => report.records.len() as u64,
        versions => versions,
    }
}

/// `3 versions and 1 content, 4.1 KiB`
fn sum(report: &ErasedReport) -> String {
    let kinds = [ErasedKind::Version, ErasedKind::Content, ErasedKind::Text];
    let counts = kinds.into_iter().filter_map(|kind| {
        let count = report.records.iter().filter(|record| record.kind == kind).count();
        (count > 0).then(|| counted(count as u64, kind.name()))
    });
    let counts: Vec<_> = counts.collect();
    format!("{}, {}", counts.join(" and "), bytes(report.bytes()))
}

fn tell_erased(output: &mut Output, report: &ErasedReport, what: &str) -> Result<(), Failure> {
    for record in report.records.iter().take(RECORDS_SHOWN) {
        let what = match (record.kind, &record.id) {
            (ErasedKind::Version, Some(id)) => one_line(id),
            (ErasedKind::Content, _) => "a content".to_owned(),
            _ => "a reason or source".to_owned(),
        };
        let digest = output.paint(Meaning::Name, short(&record.digest));
        output.line(format_args!("  {digest}  {what}  {}", bytes(record.bytes)))?;
    }
    if report.records.len() > RECORDS_SHOWN {
        output.line(format_args!(
            "  and {} more",
            report.records.len() - RECORDS_SHOWN
        ))?;
    }
    let named = |ids: &[Id]| {
        let mut named: Vec<_> = ids
            .iter()
            .take(RECORDS_SHOWN)
            .map(|id| one_line(id.as_str()))
            .collect();
        if ids.len() > named.len() {
            named.push(format!("{} more", ids.len() - named.len()));
        }
        named.join(", ")
    };
    if !report.unlinked.is_empty() {
        output.line(format_args!("out of the state: {}", named(&report.unlinked)))?;
    }
    if !report.holders.is_empty() {
        output.line(format_args!("also taken from: {}", named(&report.holders)))?;
    }
    let label = output.paint(Meaning::Bad, what);
    output.line(format_args!("{label}: {}", sum(report)))
}
