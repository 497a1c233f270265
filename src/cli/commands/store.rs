//! `init`, `head`, `stats`, `verify`: the store as a whole.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::{Args, ValueEnum};
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::context::{Context, explain, shown};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, bytes, counted, short, short_in};
use crate::cli::json::{self, FORMAT};
use crate::cli::output::{Meaning, Output};
use crate::digest::{HashAlgorithm, Root, to_hex};
use crate::engine::{CommitInfo, Finding, FindingKind, Memory, Space, VerifyDepth, VerifyReport, View};
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// The files without which not even a degraded reader finds anything.
const NEEDED_TO_READ: [&str; 2] = ["format", "manifest"];

/// Show the head: the root that names the whole state
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering head\n  treering head --at @-3 --json"
)]
pub(crate) struct Head {}

impl Verb for Head {
    const NAME: &'static str = "head";

    fn run(self, context: &mut Context) -> Done {
        head(context)
    }
}

/// The hash of a new store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HashName {
    #[default]
    Blake3,
    Sha256,
}

/// Make a store
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering init\n  treering init --store /srv/agent --hash sha256"
)]
pub(crate) struct Init {
    /// The hash that names everything in the store
    #[arg(long, value_name = "HASH", default_value = "blake3")]
    pub(crate) hash: HashName,
}

impl Verb for Init {
    const NAME: &'static str = "init";

    fn run(self, context: &mut Context) -> Done {
        init(context, &self)
    }
}

/// Count and measure the store
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering stats\n  treering stats --space --json"
)]
pub(crate) struct Stats {
    /// Also what takes the space of the log, and what gc would free: reads all of it
    #[arg(long)]
    pub(crate) space: bool,
}

impl Verb for Stats {
    const NAME: &'static str = "stats";

    fn run(self, context: &mut Context) -> Done {
        stats(context, &self)
    }
}

/// Check every byte, digest and commit of the store
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Works on a store that does not open, too, and writes nothing. Each place is corrupt, missing, cut, older or \
                  foreign; what is harmless is listed and costs nothing. Exit code 5: damage.\n\n\
                  Examples:\n  treering verify\n  treering verify --quick --json"
)]
pub(crate) struct Verify {
    /// Check frames and seals only, no digest of an object
    #[arg(long)]
    pub(crate) quick: bool,
}

impl Verb for Verify {
    const NAME: &'static str = "verify";

    fn run(self, context: &mut Context) -> Done {
        verify(context, &self)
    }
}

fn init(context: &mut Context, verb: &Init) -> Done {
    let path = context.new_store();
    let hash = match verb.hash {
        HashName::Blake3 => HashAlgorithm::Blake3,
        HashName::Sha256 => HashAlgorithm::Sha256,
    };
    let memory = context.create(&path, hash)?;
    let path = absolute(&path);
    let hash = memory.hash().name();
    memory.close()?;
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "store": path, "hash": hash, "format": FORMAT }))?;
    } else {
        context.output.line(format_args!(
            "created a store in {path} (hash {hash}, format {FORMAT})"
        ))?;
        context.output.note(
            "next",
            "next: treering put ID --kind KIND --content TEXT, or treering ingest PATH",
        );
    }
    Ok(DONE)
}

fn head(context: &mut Context) -> Done {
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    let info = view.commit();
    let (commit, hash) = (&info.commit, memory.hash().name());
    let history = memory.history_len();
    if context.output.is_json() {
        context.output.document(&json!({
            "root": commit.root.to_hex(),
            "commit": info.digest.to_hex(),
            "seq": commit.seq,
            "objects": view.len(),
            "history": history,
            "hash": hash,
            "time": commit.time.to_string(),
            "store": memory.path().map(absolute),
        }))?;
        return Ok(DONE);
    }
    let output = &mut context.output;
    let name = |output: &Output, digest: String| output.paint(Meaning::Name, digest);
    let digits = |digest: &[u8; 32]| {
        if output.is_compact() {
            return short_in(&memory, digest);
        }
        name(output, to_hex(digest))
    };
    let (root, digest) = (digits(commit.root.as_bytes()), digits(info.digest.as_bytes()));
    output.field(0, 9, "root", format_args!("{root}  ({hash})"))?;
    output.field(0, 9, "commit", format_args!("{digest}"))?;
    output.field(0, 9, "seq", format_args!("{}", commit.seq))?;
    let time = crate::cli::time::with_age(commit.time, memory.view().now(), output);
    output.field(0, 9, "time", time)?;
    output.field(0, 9, "objects", format_args!("{}", view.len()))?;
    output.field(0, 9, "history", format_args!("{}", counted(history, "version")))?;
    if let Some(path) = memory.path() {
        output.field(0, 9, "store", format_args!("{}", absolute(path)))?;
    }
    Ok(DONE)
}

fn stats(context: &mut Context, verb: &Stats) -> Done {
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    // Files and versions are those of the whole store; of a past state they say nothing.
    let stats = match context.options.at {
        None => Some(memory.stats()?),
        Some(_) => None,
    };
    let space = match stats.filter(|_| verb.space) {
        Some(_) => Some(memory.space()?),
        None => None,
    };
    let seq = view.commit().commit.seq;
    let commits = seq + 1;
    let snapshots = memory.snapshots()?.iter().filter(|info| info.seq <= seq).count();
    let hash = memory.hash().name();
    if context.output.is_json() {
        let document = stats_document(&memory, &view, stats.as_ref(), space.as_ref())?;
        context.output.document(&document)?;
        return Ok(DONE);
    }
    let output = &mut context.output;
    output.field(0, 11, "objects", format_args!("{}", view.len()))?;
    match stats.filter(|stats| stats.thinned > 0) {
        Some(stats) => output.field(
            0,
            11,
            "commits",
            format_args!(
                "{commits}, {} of them thinned in {}",
                stats.thinned,
                counted(stats.gaps, "gap")
            ),
        )?,
        None => output.field(0, 11, "commits", format_args!("{commits}"))?,
    }
    output.field(0, 11, "snapshots", format_args!("{snapshots}"))?;
    let Some(stats) = stats else {
        output.note(
            "past",
            "sizes are those of the whole store: leave --at out to see them",
        );
        return Ok(DONE);
    };
    output.field(
        0,
        11,
        "history",
        format_args!("{}", counted(stats.history, "version")),
    )?;
    if stats.erased > 0 {
        let versions = counted(stats.erased, "version");
        output.field(
            0,
            11,
            "erased",
            format_args!("{versions}, or lost before a salvage"),
        )?;
    }
    output.field(
        0,
        11,
        "log",
        format_args!(
            "{} in {}",
            bytes(stats.log_bytes),
            counted(stats.segments, "segment")
        ),
    )?;
    output.field(0, 11, "checkpoint", bytes(stats.checkpoint_bytes))?;
    output.field(0, 11, "set aside", bytes(stats.set_aside_bytes))?;
    output.field(0, 11, "disk", bytes(stats.disk_bytes))?;
    output.field(0, 11, "live", format_args!("{}", bytes(stats.live_bytes)))?;
    output.field(0, 11, "orphans", format_args!("{}", stats.orphans))?;
    output.field(0, 11, "hash", format_args!("{hash}, format {FORMAT}"))?;
    space.map_or(Ok(DONE), |space| tell_space(output, &space))
}

/// What is null is not known of a past state, or without `--space`.
fn stats_document(
    memory: &Memory,
    view: &View,
    stats: Option<&crate::engine::Stats>,
    space: Option<&Space>,
) -> Result<Value> {
    let seq = view.commit().commit.seq;
    let snapshots = memory.snapshots()?.iter().filter(|info| info.seq <= seq).count();
    let mut document = json!({
        "objects": view.len(),
        "history": stats.map(|stats| stats.history),
        "commits": seq + 1,
        "thinned": stats.map(|stats| stats.thinned),
        "gaps": stats.map(|stats| stats.gaps),
        "erased": stats.map(|stats| stats.erased),
        "snapshots": snapshots,
        "segments": stats.map(|stats| stats.segments),
        "log_bytes": stats.map(|stats| stats.log_bytes),
        "disk_bytes": stats.map(|stats| stats.disk_bytes),
        "checkpoint_bytes": stats.map(|stats| stats.checkpoint_bytes),
        "set_aside_bytes": stats.map(|stats| stats.set_aside_bytes),
        "live_bytes": stats.map(|stats| stats.live_bytes),
        "present_bytes": space.map(|space| space.present_bytes),
        "named_bytes": space.map(|space| space.named_bytes),
        "policy_bytes": space.map(|space| space.policy_bytes),
        "dead_bytes": space.map(|space| space.dead_bytes),
        "orphans": stats.map(|stats| stats.orphans),
        "hash": memory.hash().name(),
        "format": FORMAT,
        "store": memory.path().map(absolute),
    });
    if let Some(space) = space {
        let kinds = space.kinds.iter();
        document["space"] = kinds
            .map(|kind| json!({ "kind": kind.kind, "records": kind.records, "bytes": kind.bytes }))
            .collect();
    }
    Ok(document)
}

/// What takes the space of the log, and what would give it back.
fn tell_space(output: &mut Output, space: &Space) -> Done {
    let all: u64 = space.kinds.iter().map(|kind| kind.bytes).sum();
    output.line("")?;
    for kind in &space.kinds {
        let told = format!(
            "{} in {} ({:.1} %)",
            bytes(kind.bytes),
            counted(kind.records, "record"),
            kind.bytes as f64 * 100.0 / all.max(1) as f64
        );
        output.field(0, 11, kind.kind, told)?;
    }
    output.line("")?;
    for (name, kept, why) in [
        ("present", space.present_bytes, "the state at the head"),
        (
            "named",
            space.named_bytes,
            "what snapshots, drafts, erasures and ways back keep besides",
        ),
        (
            "policy",
            space.policy_bytes,
            "what the standard policy keeps for its age",
        ),
        ("free", space.dead_bytes, "what gc would give back"),
    ] {
        output.field(0, 11, name, format_args!("{}  {why}", bytes(kept)))?;
    }
    Ok(DONE)
}

fn verify(context: &mut Context, verb: &Verify) -> Done {
    let path = context.store()?;
    let depth = if verb.quick {
        VerifyDepth::Quick
    } else {
        VerifyDepth::Full
    };
    let report = Memory::verify_store(&path, &context.reading_options(), depth).map_err(|error| {
        let missing = error.kind() == ErrorKind::NotFound;
        let error = if missing {
            error.with_code(ErrorCode::NoStore)
        } else {
            error
        };
        explain(error, &path)
    })?;
    if !report.ok {
        tell_report(context, &path, &report, None)?;
        return Err(damaged(&path, &report).into());
    }
    let state = match &context.options.at {
        None => None,
        Some(_) => Some(read_state(context)?),
    };
    tell_report(context, &path, &report, state.as_ref())?;
    Ok(DONE)
}

/// Reads every object of the state that `--at` names, with its content.
fn read_state(context: &Context) -> Result<View> {
    // What there is to warn of stands in the report.
    let memory = context.reading_options().open(context.store()?)?;
    let view = context.view(&memory)?;
    for object in view.objects() {
        object?;
    }
    Ok(view)
}

fn tell_report(
    context: &mut Context,
    path: &Path,
    report: &VerifyReport,
    state: Option<&View>,
) -> Result<(), Failure> {
    let output = &mut context.output;
    if output.is_json() {
        let mut document = json::verify_report(report);
        if let Some(view) = state {
            document["at"] = json!({
                "seq": view.commit().commit.seq,
                "root": view.root().to_hex(),
                "objects": view.len(),
            });
        }
        return output.document(&document);
    }
    let verdict = if report.ok {
        output.paint(Meaning::Good, "ok")
    } else {
        output.paint(Meaning::Bad, "damaged")
    };
    output.line(format_args!(
        "{verdict}: {}, {}, {} read in {}",
        counted(report.commits, "commit"),
        counted(report.versions, "version"),
        bytes(report.bytes),
        shown(path),
    ))?;
    if let Some(view) = state {
        output.line(format_args!(
            "the state at seq {}, root {}, is whole: {}",
            view.commit().commit.seq,
            short(view.root().as_bytes()),
            counted(view.len(), "object"),
        ))?;
    }
    let gone = [
        (report.erased, "version", "erased"),
        (report.lost, "version", "lost"),
        (report.thinned, "commit", "thinned"),
    ];
    let gone = gone.iter().filter(|(count, _, _)| *count > 0);
    let gone: Vec<_> = gone
        .map(|(count, what, how)| format!("{} {how}", counted(*count, what)))
        .collect();
    if !gone.is_empty() {
        output.line(gone.join(", "))?;
    }
    for finding in &report.damage {
        tell_finding(output, Meaning::Bad, "damage", finding)?;
    }
    for finding in &report.derived {
        let label = match finding.kind() {
            FindingKind::Unproven | FindingKind::Older => "unsure",
            _ => "harmless",
        };
        tell_finding(output, Meaning::Changed, label, finding)?;
    }
    Ok(())
}

/// A line about a place in a file.
pub(super) fn tell_finding(
    output: &mut Output,
    meaning: Meaning,
    label: &str,
    finding: &Finding,
) -> Result<(), Failure> {
    let damage = &finding.damage;
    let place = place(Some(&damage.file), damage.offset);
    let told = format!("{place}: {}", human::one_line(&damage.cause.to_string()));
    output.labelled(meaning, label, &told)
}

/// `log/00000001.seg at 4096`; a file as a whole has no place in it.
pub(super) fn place(file: Option<&str>, offset: Option<u64>) -> String {
    let file = human::one_line(file.unwrap_or("the store"));
    match offset.filter(|offset| *offset > 0) {
        Some(offset) => format!("{file} at {offset}"),
        None => file,
    }
}

fn damaged(path: &Path, report: &VerifyReport) -> Error {
    let places = counted(report.damage.len() as u64, "place");
    let needed = report
        .damage
        .iter()
        .find(|finding| NEEDED_TO_READ.contains(&finding.damage.file.as_str()));
    let hint = match needed {
        Some(finding) => format!(
            "nothing can be read without the file {}; treering salvage writes a new store without it",
            finding.damage.file
        ),
        None => "treering doctor names what mends it; --degraded reads the newest state before the damage, \
             nothing after it"
            .to_owned(),
    };
    Error::corrupt(format!("the store in {} is damaged in {places}", shown(path)))
        .with_code(ErrorCode::Damaged)
        .with_hint(hint)
}

/// The path from the root of the file system, if that can be told.
fn absolute(path: &Path) -> String {
    shown(&path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// What the head is now, in a line: every verb that writes ends with it.
pub(super) fn head_line(output: &Output, memory: &Memory, head: &CommitInfo) -> String {
    state_line(output, memory, head.commit.seq, head.commit.root)
}

/// A state, in a line.
pub(super) fn state_line(output: &Output, memory: &Memory, seq: u64, root: Root) -> String {
    let root = output.paint(Meaning::Name, short_in(memory, root.as_bytes()));
    format!("seq {seq}, root {root}")
}
