//! The doctor: names each problem of a store and its remedy.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - DOC-1: the doctor changes nothing, even if the store does not open.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, FileDisk, lock_holder};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Finding, Result, Severity};
use crate::log;

use self::ProblemSeverity::{Notice, Warning};
use super::{VerifyDepth, derived_files as derived, examine, not_regular};
use crate::engine::memory::Memory;
use crate::engine::options::Options;
use crate::engine::settings::CLOCK_AHEAD;

/// The free space in bytes below which the doctor warns. This space is enough for a segment and a checkpoint.
const LOW_BYTES: u64 = 256 << 20;

/// The code of damage.
const DAMAGED: &str = "damaged";

/// The code of a file that cannot be read. The disk may have all of it.
pub const UNREADABLE: &str = "unreadable";

named! {
    /// The severity of a problem.
    #[derive(PartialOrd, Ord)]
    pub enum ProblemSeverity {
        /// Stored data is damaged or cannot be read.
        Damage => "damage",
        /// The user should apply the remedy.
        Warning => "warning",
        /// No action is needed.
        Notice => "notice",
    }
}

/// The remedy of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// No remedy is needed: the problem is harmless, or a later write repairs it.
    Nothing,
    /// Run `treering salvage` into a new folder.
    Salvage,
    /// Run `treering erase` with the targets of the problem.
    Erase,
    /// Run `treering gc`.
    Gc,
    /// Run `chmod`, so that only the owner has access to the folder.
    Mode,
    /// Run `chown`, so that the files have the owner of the folder.
    Owner,
    /// Run `chmod`, so that the owner may read and write the files.
    Access,
    /// Move the path out of the store.
    MoveAway,
    /// Install a newer version of the program.
    Upgrade,
    /// Restore a backup or an export, because salvage cannot recover anything.
    Backup,
    /// Wait until the process with the lock is done.
    Wait,
    /// Move the folder to a local disk with enough space.
    Move,
    /// Set the clock of the machine.
    Clock,
    /// Run `treering conflicts`, and decide.
    Decide,
}

/// One problem of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Problem {
    /// The severity of the problem.
    pub severity: ProblemSeverity,
    /// The code of the problem, which never changes between versions.
    pub code: &'static str,
    /// The path of the file, relative to the store; `None` if the problem is not in a file.
    pub file: Option<String>,
    /// The offset of the problem in the file.
    pub offset: Option<u64>,
    /// The ids and digests that the remedy names.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub targets: Vec<String>,
    /// A description of the problem and its consequence.
    pub what: String,
    /// The remedy of the problem.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub remedy: Remedy,
}

/// Lists the problems of the store in the folder `path`, the most severe first. Writes nothing.
///
/// # Errors
/// `NotFound` (code `no_store`) if there is no store; `Io` if the store cannot be read.
pub fn examine_store(path: impl AsRef<Path>, options: &Options) -> Result<Vec<Problem>> {
    let disk = match FileDisk::open(path) {
        Err(error) if error.code() == ErrorCode::NetworkFileSystem => {
            return Ok(vec![of_error("network_file_system", &error, Remedy::Move)]);
        }
        other => other?,
    };
    let mut problems = Vec::new();
    look_at_folder(&disk, &mut problems);
    look_at_lock(&disk, &mut problems);
    let files = Arc::new(disk);
    let disk: Arc<dyn Disk> = Arc::<FileDisk>::clone(&files);
    match examine_disk(&disk, options, &mut problems) {
        Ok(()) => {}
        Err(error) if error.code() == ErrorCode::NotRegularFile => {}
        // A file that belongs to another user may be unreadable.
        Err(error)
            if error.code() != ErrorCode::NoStore
                && problems.iter().any(|problem| problem.remedy == Remedy::Owner) =>
        {
            problems.push(of_error(UNREADABLE, &error, Remedy::Nothing));
        }
        Err(error) => return Err(error),
    }
    look_at_kinds(&*disk, &mut problems);
    look_at_access(&files, &mut problems);
    let is_foreign = |problem: &Problem| {
        problem.severity == ProblemSeverity::Damage && problem.file.as_deref() == Some("format")
    };
    if problems.iter().any(is_foreign) {
        // Omits remedies that change the owner or mode, because the folder may belong to another program.
        problems.retain(|problem| !matches!(problem.remedy, Remedy::Mode | Remedy::Owner | Remedy::Access));
    }
    problems.sort_by_key(|problem| problem.severity);
    Ok(problems)
}

pub(crate) fn examine_disk(
    disk: &Arc<dyn Disk>,
    options: &Options,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    let report = match examine(disk, &options.settings, VerifyDepth::Full, None) {
        Err(error) if error.kind() == ErrorKind::UnsupportedFormat => {
            problems.push(of_error("newer_format", &error, Remedy::Upgrade));
            return Ok(());
        }
        other => other?,
    };
    let is_whole = report.damage.is_empty();
    let findings = report.damage.iter().chain(&report.derived);
    problems.extend(findings.filter_map(|found| of_finding(found, is_whole)));
    let is_salvaged = |problem: &Problem| problem.remedy == Remedy::Salvage && problem.code == DAMAGED;
    if problems.iter().any(is_salvaged) && !has_records(disk)? {
        for problem in problems.iter_mut().filter(|problem| is_salvaged(problem)) {
            problem.remedy = Remedy::Backup;
        }
    }
    if report.ok {
        look_inside(Arc::clone(disk), options, problems)?;
    }
    Ok(())
}

/// Returns whether a damaged log has a readable record. Salvage saves nothing of a log without one.
fn has_records(disk: &Arc<dyn Disk>) -> Result<bool> {
    let damaged = match log::DamagedLog::open(Arc::clone(disk)) {
        Err(error) if error.is_corruption() || error.code() == ErrorCode::NoStore => return Ok(false),
        other => other?,
    };
    let mut has_one = false;
    let searched = damaged.pieces(&[], &mut |piece, _| {
        has_one = !piece.records.is_empty();
        // The first one ends the search.
        if has_one {
            Err(Error::internal("found"))
        } else {
            Ok(())
        }
    });
    if has_one {
        Ok(true)
    } else {
        searched.map(|_| false)
    }
}

/// Converts a finding to a problem. Returns `None` for a path that is not a regular file, because `look_at_kinds`
/// reports it.
fn of_finding(found: &Finding, is_whole: bool) -> Option<Problem> {
    use Remedy::{Backup, Gc, Nothing, Salvage};
    let Damage { file, offset, cause } = &found.damage;
    let damaged = |remedy| (ProblemSeverity::Damage, DAMAGED, remedy);
    let left_over = |severity| (severity, "left_over", Nothing);
    let torn = |severity, remedy| (severity, "torn_tail", remedy);
    let folder = file.split('/').next().unwrap_or_default();
    let ((severity, code, remedy), meaning) = match (cause, folder) {
        (Cause::NotRegular { .. }, _) => return None,
        (Cause::CannotRead(_), _) if found.severity == Severity::Damage => {
            let meaning = "; make the file readable, or copy the store if the disk fails; `--degraded` reads the other files";
            ((ProblemSeverity::Damage, UNREADABLE, Salvage), meaning)
        }
        (Cause::CannotRead(_), _) => {
            let meaning = "; make the file readable, or remove it: Treering rebuilds it";
            ((Warning, UNREADABLE, Nothing), meaning)
        }
        (Cause::Missing, log::LOG_FOLDER) => (damaged(Backup), ""),
        _ if found.severity == Severity::Damage => (damaged(Salvage), ""),
        (Cause::Pending { .. }, _) => ((Notice, "pending", Nothing), ""),
        (_, log::LOG_FOLDER) if !is_whole => {
            let meaning = "; the store is damaged, so keep the file for salvage";
            (left_over(Warning), meaning)
        }
        (Cause::Misnamed, _) => {
            let meaning = "; keep this file until the store is complete";
            (left_over(Warning), meaning)
        }
        (Cause::MadeFromLaterLog, _) => {
            let meaning = "; restore the newer files, or salvage the remaining data";
            ((Warning, "log_older", Salvage), meaning)
        }
        (Cause::UnprovenTail { .. }, _) => {
            let meaning = "; the newest acknowledged commit may be lost: check with `log` that the newest commit is present";
            (torn(Warning, Nothing), meaning)
        }
        (Cause::TornTail { .. } | Cause::UnacknowledgedTail { .. }, _) => {
            (torn(Notice, Nothing), "; harmless")
        }
        (Cause::TornTails { .. }, _) => (torn(Notice, Gc), "; harmless, but uses space"),
        (Cause::BeyondMark { .. }, _) => ((Notice, "derived_damaged", Nothing), "; nothing is lost"),
        (_, "live") => (
            (Notice, "derived_damaged", Nothing),
            "; the next writer rebuilds it",
        ),
        (_, "checkpoint" | derived::FOLDER) => {
            let meaning = "; nothing is lost: Treering rebuilds it";
            ((Notice, "derived_damaged", Nothing), meaning)
        }
        _ => (left_over(Notice), "; nothing is lost"),
    };
    Some(Problem {
        severity,
        code,
        file: Some(file.clone()),
        offset: *offset,
        targets: Vec::new(),
        what: format!("{cause}{meaning}"),
        remedy,
    })
}

/// Opens the store and finds problems that are visible only in an open store.
pub(crate) fn look_inside(disk: Arc<dyn Disk>, options: &Options, problems: &mut Vec<Problem>) -> Result<()> {
    let options = options.clone().read_only(true);
    let memory = match Memory::on_disk(disk, options, false, None) {
        Err(error) if error.is_corruption() => {
            problems.push(of_error("log_older", &error, Remedy::Salvage));
            return Ok(());
        }
        other => other?,
    };
    if memory.warnings().iter().any(|warning| warning == CLOCK_AHEAD) {
        problems.push(plain(Warning, "clock", None, CLOCK_AHEAD, Remedy::Clock));
    }
    let inside = memory
        .stats()
        .and_then(|stats| Ok((stats, memory.view().open_conflicts()?.len())));
    let (stats, conflicts) = match inside {
        // The verification found no damage, so this damage appeared after the verification.
        Err(error) if error.is_corruption() => {
            problems.push(of_error("damaged", &error, Remedy::Salvage));
            return Ok(());
        }
        other => other?,
    };
    if conflicts > 0 {
        let what = format!("merges left {conflicts} open conflicts for a person to decide");
        problems.push(plain(Notice, "merge_conflicts", None, &what, Remedy::Decide));
    }
    if stats.log_bytes > LOW_BYTES / 16 && stats.live_bytes < stats.log_bytes / 2 {
        let (log, live) = (stats.log_bytes, stats.live_bytes);
        let what =
            format!("the present state needs {live} of the log's {log} bytes; history needs the other bytes");
        problems.push(plain(Notice, "history_large", None, &what, Remedy::Gc));
    }
    #[cfg(feature = "remote")]
    look_at_kept(&memory, problems)?;
    Ok(())
}

/// Names what other stores erased and this one keeps, because their remote may not erase here, or
/// no demanded signature covers the erasure.
#[cfg(feature = "remote")]
fn look_at_kept(memory: &Memory, problems: &mut Vec<Problem>) -> Result<()> {
    let targets = memory.inner.kept_of_elsewhere()?;
    if !targets.is_empty() {
        let what = "other stores erased what this store keeps, because no demanded signature covers that, or their remote may not erase here";
        problems.push(Problem {
            targets: targets.into_iter().collect(),
            ..plain(Notice, "kept_of_erased", None, what, Remedy::Erase)
        });
    }
    Ok(())
}

fn look_at_lock(disk: &FileDisk, problems: &mut Vec<Problem>) {
    if disk.is_locked(log::LOCK_NAME) {
        let holder = lock_holder(disk, log::LOCK_NAME);
        let holder = holder.unwrap_or_else(|| "another process".to_owned());
        let what = format!("{holder} is writing; it releases the lock when it finishes or exits");
        problems.push(plain(Notice, "locked", None, &what, Remedy::Wait));
    }
}

/// Reports the paths that this user may not write, without which no verb can write. Gives the remedy for the files that this
/// user may not read: nothing of them is lost, so there is nothing to salvage.
fn look_at_access(disk: &FileDisk, problems: &mut Vec<Problem>) {
    for problem in problems.iter_mut().filter(|problem| problem.code == UNREADABLE) {
        let is_denied = |file: &str| !disk.may_open(file, false);
        if problem.file.as_deref().is_some_and(is_denied) {
            problem.remedy = Remedy::Access;
        }
    }
    let written = [".", log::LOCK_NAME, log::LIVE_NAME, log::LOG_FOLDER].into_iter();
    let denied: Vec<_> = written.filter(|name| !disk.may_open(name, true)).collect();
    if let Some((first, more)) = denied.split_first() {
        let what = format!(
            "this user may not write this path{}, so every verb that writes fails",
            and_more(more.len())
        );
        problems.push(plain(Warning, "not_writable", Some(first), &what, Remedy::Access));
    }
}

/// Reports each path that must be a regular file but is not, and each path that must be a folder but is not.
fn look_at_kinds(disk: &dyn Disk, problems: &mut Vec<Problem>) {
    for error in not_regular(disk) {
        let mut problem = of_error("not_regular_file", &error, Remedy::MoveAway);
        if let Some(damage) = error.damage() {
            problem.file = Some(damage.file.clone());
            problem.what = format!(
                "{}; if you have a backup of the original file or folder, restore it",
                damage.cause
            );
        }
        problems.retain(|other| other.file != problem.file);
        problems.push(problem);
    }
}

fn look_at_folder(disk: &FileDisk, problems: &mut Vec<Problem>) {
    if let Some(within) = disk.open_to_others() {
        let what = match within.split_first() {
            None => "other users of this machine may access this folder".to_owned(),
            Some((first, more)) => {
                let more = and_more(more.len());
                format!("other users of this machine may read or change files in this folder: {first}{more}")
            }
        };
        problems.push(plain(Warning, "permissions", Some("."), &what, Remedy::Mode));
    }
    let strangers = disk.not_the_owners();
    if let Some((first, more)) = strangers.split_first() {
        let what = format!(
            "this path{} belongs to another user than the folder: the owner of the folder may have no access",
            and_more(more.len())
        );
        problems.push(plain(Warning, "owner", Some(first), &what, Remedy::Owner));
    }
    if let Some(free) = disk.free_bytes().filter(|free| *free < LOW_BYTES) {
        let what = format!("only {free} bytes are free on the disk of the store: writes may fail soon");
        problems.push(plain(Warning, "disk_full", None, &what, Remedy::Move));
    }
}

fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", and {count} more"),
    }
}

fn of_error(code: &'static str, error: &Error, remedy: Remedy) -> Problem {
    plain(ProblemSeverity::Damage, code, None, error.message(), remedy)
}

fn plain(
    severity: ProblemSeverity,
    code: &'static str,
    file: Option<&str>,
    what: &str,
    remedy: Remedy,
) -> Problem {
    Problem {
        severity,
        code,
        file: file.map(str::to_owned),
        offset: None,
        targets: Vec::new(),
        what: what.to_owned(),
        remedy,
    }
}
