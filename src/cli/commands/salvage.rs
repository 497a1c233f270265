//! `salvage` and `doctor`: what to do with a store that is damaged.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::verb::Verb;
use clap::Args;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::store::{place, tell_finding};
use crate::cli::context::{Context, explain, quoted, shown};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, counted};
use crate::cli::json;
use crate::cli::output::Meaning;
use crate::engine::{Memory, Problem, ProblemSeverity, Remedy, SalvageReport};
use crate::error::{Error, ErrorCode, ErrorKind};

/// Exit code: not all could be saved, or the store is damaged.
const DAMAGED: u8 = 5;
/// Lost objects that people see named.
const LOST_SHOWN: usize = 20;
/// What to do where nothing can be had.
const NOTHING_LEFT: &str = "a backup of the store, or treering put --jsonl of an export";

/// Name each problem of the store, with the command that mends it
#[derive(Args, Debug)]
#[command(
    after_help = "Damage needs the command that is named, a warning something to be done, a notice nothing. \
                  Exit code 5: damage.\n\nExamples:\n  treering doctor\n  treering doctor --json"
)]
pub(crate) struct Doctor {}

impl Verb for Doctor {
    const NAME: &'static str = "doctor";

    fn run(self, context: &mut Context) -> Done {
        doctor(context)
    }
}

/// Write a new store with everything that still verifies in a damaged one
#[derive(Args, Debug)]
#[command(
    after_help = "FROM is only read, and TO must not be there; --store means nothing here. An object whose newest version is \
                  lost has that of the newest kept commit (older), or is gone (lost). Exit code 5: something is lost.\n\nExamples:\n  treering salvage .treering saved"
)]
pub(crate) struct Salvage {
    /// The folder of the damaged store
    pub(crate) from: PathBuf,
    /// The folder of the new store
    pub(crate) to: PathBuf,
}

impl Verb for Salvage {
    const NAME: &'static str = "salvage";

    fn run(self, context: &mut Context) -> Done {
        salvage(context, &self)
    }
}

fn salvage(context: &mut Context, verb: &Salvage) -> Done {
    let report = Memory::salvage_store(&verb.from, &verb.to, &context.engine_options())
        .map_err(|error| of_no_store(error, &verb.from))?;
    if context.output.is_json() {
        context.output.document(&json!({
            "commits": report.commits,
            "versions": report.versions,
            "objects": report.objects,
            "lost": json::findings(&report.lost),
            "unsure": json::findings(&report.unsure),
            "lost_ids": report.lost_ids,
            "lost_keys": report.lost_keys.iter().map(|key| key.to_hex()).collect::<Value>(),
            "older_ids": report.older_ids,
            "lost_contents": report.lost_contents,
            "lost_commits": report.lost_commits,
            "lost_records": report.lost_records,
            "lost_references": report.lost_references,
            "root": report.root.map(crate::digest::Root::to_hex),
            "store": shown(&verb.to),
        }))?;
    } else {
        tell_saved(context, verb, &report)?;
    }
    Ok(if report.is_whole() { DONE } else { DAMAGED })
}

fn tell_saved(context: &mut Context, verb: &Salvage, report: &SalvageReport) -> Result<(), Failure> {
    let output = &mut context.output;
    output.line(format_args!(
        "saved {}, {}, {} into {}",
        counted(report.objects, "object"),
        counted(report.versions, "version"),
        counted(report.commits, "commit"),
        shown(&verb.to),
    ))?;
    for found in &report.lost {
        tell_finding(output, Meaning::Bad, "lost", found)?;
    }
    for found in &report.unsure {
        tell_finding(output, Meaning::Changed, "unsure", found)?;
    }
    let lost = output.paint(Meaning::Bad, "lost");
    if report.lost_commits > 0 {
        output.line(format_args!(
            "{lost}  {}: what they changed may be as it was before them",
            counted(report.lost_commits, "commit")
        ))?;
    }
    if report.lost_records > 0 {
        output.line(format_args!(
            "{lost}  {} of earlier states, contents and reasons among them",
            counted(report.lost_records, "record")
        ))?;
    }
    let older = output.paint(Meaning::Changed, "older");
    for id in &report.older_ids {
        output.line(format_args!(
            "{older}  object {}: its newest version is lost, it has an earlier one now",
            human::one_line(id)
        ))?;
    }
    let known = report
        .lost_ids
        .iter()
        .map(|id| format!("object {}", human::one_line(id)));
    let nameless = report
        .lost_keys
        .iter()
        .map(|key| format!("an object whose id is lost, key path {}", key.to_hex()));
    let contents = report
        .lost_contents
        .iter()
        .map(|id| format!("the content of object {}", human::one_line(id)));
    for object in known.chain(nameless).chain(contents).take(LOST_SHOWN) {
        output.line(format_args!("{lost}  {object}"))?;
    }
    let all = report.lost_ids.len() + report.lost_keys.len() + report.lost_contents.len();
    let more = all.saturating_sub(LOST_SHOWN);
    if more > 0 {
        let objects = counted(more as u64, "more object");
        output.line(format_args!("{lost}  {objects}: --json names all"))?;
    }
    for name in &report.lost_references {
        output.line(format_args!("{lost}  {}", human::one_line(name)))?;
    }
    if report.is_whole() {
        output.line(if report.unsure.is_empty() {
            "nothing is lost"
        } else {
            "nothing else is lost"
        })?;
    }
    let to = quoted(&verb.to);
    output.note(
        "next",
        format!("next: treering verify --store {to}; keep the damaged folder until you have looked"),
    );
    Ok(())
}

fn doctor(context: &mut Context) -> Done {
    let path = context.store()?;
    let problems = Memory::examine_store(&path, &context.reading_options())
        .map_err(|error| of_no_store(error, &path))?;
    let is_damaged = problems
        .iter()
        .any(|problem| problem.severity == ProblemSeverity::Damage);
    if context.output.is_json() {
        let told: Vec<Value> = problems
            .iter()
            .map(|problem| of_problem(problem, &path))
            .collect();
        context
            .output
            .document(&json!({ "ok": !is_damaged, "problems": told }))?;
    } else {
        for (number, problem) in problems.iter().enumerate() {
            tell_problem(context, problem)?;
            // What mends several in a row is said once, behind the last.
            let mends = command(problem, &path);
            let next = problems.get(number + 1).and_then(|next| command(next, &path));
            if let Some(command) = mends.filter(|command| next.as_ref() != Some(command)) {
                context.output.line(format_args!("mend it with: {command}"))?;
            }
        }
        if problems.is_empty() {
            context.output.line(format_args!(
                "nothing is wrong with the store in {}",
                shown(&path)
            ))?;
        }
    }
    Ok(if is_damaged { DAMAGED } else { DONE })
}

fn of_problem(problem: &Problem, path: &Path) -> Value {
    json!({
        "severity": problem.severity.name(),
        "code": problem.code,
        "file": problem.file,
        "offset": problem.offset,
        "what": problem.what,
        "command": command(problem, path),
    })
}

fn tell_problem(context: &mut Context, problem: &Problem) -> Result<(), Failure> {
    let meaning = match problem.severity {
        ProblemSeverity::Damage => Meaning::Bad,
        _ => Meaning::Changed,
    };
    let place = place(problem.file.as_deref(), problem.offset);
    let told = format!("{place}: {}", human::one_line(&problem.what));
    context.output.labelled(meaning, problem.severity.name(), &told)?;
    if problem.remedy == Remedy::Backup {
        context
            .output
            .line(format_args!("mend it with: {NOTHING_LEFT}"))?;
    }
    Ok(())
}

/// The command that mends a problem; `None` where nothing has to be done, or no command can do it.
fn command(problem: &Problem, path: &Path) -> Option<String> {
    // Without a folder before it, a name that begins with a dash would be an option.
    let path = &if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    };
    let store = quoted(path);
    let file = |name: &str| quoted(&path.join(name));
    let name = problem.file.as_deref().unwrap_or(".");
    match problem.remedy {
        Remedy::Salvage => Some(format!(
            "treering salvage {store} {}",
            quoted(&free_name(path, "-salvaged"))
        )),
        Remedy::Gc => Some(format!("treering gc --store {store}")),
        Remedy::Mode => Some(format!("chmod -R go= {store}")),
        Remedy::Owner => Some(format!("chown -R {} {store}", path.metadata().ok()?.uid())),
        Remedy::MoveAway => {
            let away = free_name(path, &format!("-{}", name.replace('/', "-")));
            Some(format!("mv {} {}", file(name), quoted(&away)))
        }
        Remedy::Upgrade => Some("cargo install treering".to_owned()),
        _ => None,
    }
}

/// The first free name beside the store that ends with `suffix`.
fn free_name(path: &Path, suffix: &str) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    (1..1_000).map(named).find(is_free).unwrap_or_else(|| named(1))
}

fn of_no_store(error: Error, path: &Path) -> Error {
    if error.kind() == ErrorKind::NotFound {
        return explain(error.with_code(ErrorCode::NoStore), path);
    }
    if error.is_corruption() {
        return error.with_hint(NOTHING_LEFT);
    }
    error
}
