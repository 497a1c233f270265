//! `init`, `head`, `stats`, `verify`: the store as a whole.
//!
//! # Layer
//! L9, part of cli.

use std::path::Path;

use serde_json::json;

use crate::cli::context::{Context, explain_missing, shown};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, bytes, counted, short};
use crate::cli::json;
use crate::cli::output::{Meaning, Output};
use crate::cli::verbs::{HashName, Init, Verify};
use crate::digest::HashAlgorithm;
use crate::engine::{Finding, Memory, VerifyDepth, VerifyReport};
use crate::error::{Error, ErrorKind};

/// The number of the format that this program writes.
const FORMAT: u32 = 1;

pub(super) fn init(context: &mut Context, verb: &Init) -> Done {
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

pub(super) fn head(context: &mut Context) -> Done {
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
    let (root, digest) = (
        name(output, commit.root.to_hex()),
        name(output, info.digest.to_hex()),
    );
    output.line(format_args!("root     {root}  ({hash})"))?;
    output.line(format_args!("commit   {digest}"))?;
    output.line(format_args!("seq      {}", commit.seq))?;
    let ago = crate::cli::time::ago(commit.time, memory.view().now());
    output.line(format_args!("time     {}  ({ago})", commit.time))?;
    output.line(format_args!("objects  {}", view.len()))?;
    output.line(format_args!("history  {}", counted(history, "version")))?;
    if let Some(path) = memory.path() {
        output.line(format_args!("store    {}", absolute(path)))?;
    }
    Ok(DONE)
}

pub(super) fn stats(context: &mut Context) -> Done {
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    let stats = memory.stats()?;
    let hash = memory.hash().name();
    if context.output.is_json() {
        context.output.document(&json!({
            "objects": view.len(),
            "history": stats.history,
            "commits": stats.commits,
            "snapshots": stats.snapshots,
            "segments": stats.segments,
            "log_bytes": stats.log_bytes,
            "live_bytes": stats.live_bytes,
            "orphans": stats.orphans,
            "hash": hash,
            "format": FORMAT,
            "store": memory.path().map(absolute),
        }))?;
        return Ok(DONE);
    }
    let output = &mut context.output;
    output.line(format_args!("objects    {}", view.len()))?;
    output.line(format_args!("history    {}", counted(stats.history, "version")))?;
    output.line(format_args!("commits    {}", stats.commits))?;
    output.line(format_args!("snapshots  {}", stats.snapshots))?;
    output.line(format_args!(
        "log        {} in {}",
        bytes(stats.log_bytes),
        counted(stats.segments, "segment")
    ))?;
    output.line(format_args!("live       {}", bytes(stats.live_bytes)))?;
    output.line(format_args!("orphans    {}", stats.orphans))?;
    output.line(format_args!("hash       {hash}, format {FORMAT}"))?;
    Ok(DONE)
}

pub(super) fn verify(context: &mut Context, verb: &Verify) -> Done {
    let path = context.store()?;
    if context.options.at.is_some() {
        // The whole store is checked whatever the revision; it has to be one that is kept.
        let memory = context.open_to_read()?;
        context.view(&memory)?;
    }
    let depth = if verb.quick {
        VerifyDepth::Quick
    } else {
        VerifyDepth::Full
    };
    let report = Memory::verify_store(&path, &context.reading_options(), depth).map_err(|error| {
        let missing = error.kind() == ErrorKind::NotFound;
        explain_missing(
            if missing {
                error.with_code("no_store")
            } else {
                error
            },
            &path,
        )
    })?;
    tell_report(context, &path, &report)?;
    if report.ok {
        return Ok(DONE);
    }
    Err(damaged(&path, &report).into())
}

fn tell_report(context: &mut Context, path: &Path, report: &VerifyReport) -> Result<(), Failure> {
    let output = &mut context.output;
    if output.is_json() {
        return output.document(&json::verify_report(report));
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
    if report.erased + report.thinned > 0 {
        output.line(format_args!(
            "{} erased, {} thinned",
            report.erased, report.thinned
        ))?;
    }
    for finding in &report.damage {
        tell_finding(output, Meaning::Bad, "damage", finding)?;
    }
    for finding in &report.derived {
        tell_finding(output, Meaning::Changed, "derived", finding)?;
    }
    Ok(())
}

fn tell_finding(output: &mut Output, meaning: Meaning, what: &str, finding: &Finding) -> Result<(), Failure> {
    let label = output.paint(meaning, what);
    let offset = finding
        .offset
        .map_or_else(String::new, |offset| format!(" at {offset}"));
    output.line(format_args!(
        "{label}  {}{offset}: {}",
        finding.file,
        human::one_line(&finding.what)
    ))
}

fn damaged(path: &Path, report: &VerifyReport) -> Error {
    let places = counted(report.damage.len() as u64, "place");
    Error::corrupt(format!("the store in {} is damaged in {places}", shown(path)))
        .with_code("damaged")
        .with_hint(
            "everything whole can still be read with --degraded; export it, and keep the damaged folder",
        )
}

/// The path from the root of the file system, if that can be told.
fn absolute(path: &Path) -> String {
    shown(&path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// What the head is now, in a line: every verb that writes ends with it.
pub(super) fn head_line(output: &Output, seq: u64, root: &[u8; 32]) -> String {
    format!("seq {seq}, root {}", output.paint(Meaning::Name, short(root)))
}
