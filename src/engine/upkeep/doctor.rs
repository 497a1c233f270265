//! Naming each problem of a store with the command that mends it.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - DOC-1: looking changes nothing, also where the store does not open.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{Access, Disk, FileDisk, is_of_other_kind, lock_holder};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::{log, store};

use super::derived_files as derived;
use super::links;
use super::verify::{Finding, FindingKind, VerifyDepth, examine};
use crate::engine::memory::Memory;
use crate::engine::options::Options;

/// Free bytes below which a store may soon not be able to grow: room for a segment and a checkpoint.
const LOW_BYTES: u64 = 256 << 20;

/// Of what stands in the place of the lock of rewrites.
const NO_COMPACTION_LOCK: &str = "it is no file, so neither gc nor erase can rewrite the log: remove it";

/// The folders of a store.
const FOLDERS: [&str; 3] = [log::LOG_FOLDER, store::CHECKPOINT_FOLDER, derived::FOLDER];

/// What in the folder of a store is only there until it has another name, or made of the log.
const MADE_ANEW: [&str; 4] = [
    "manifest.tmp",
    "live.tmp",
    store::CHECKPOINT_FOLDER,
    derived::FOLDER,
];

/// Of what stands in the place of such a file or folder.
const IN_THE_WAY: &str = "it is not of the kind that the store makes under this name, so gc, erase or a commit may fail: remove it";

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ProblemSeverity {
    /// Stored memory is damaged, or cannot be read.
    Damage,
    /// Something should be done.
    Warning,
    /// Nothing need be done.
    Notice,
}

impl ProblemSeverity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// What mends a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Nothing has to be done: it heals by itself, or is harmless.
    Nothing,
    /// `treering salvage` into a new folder.
    Salvage,
    /// `treering gc`.
    Gc,
    /// The folder and what is in it are made its owner's alone.
    Mode,
    /// What is in the folder is given to its owner.
    Owner,
    /// What stands in the place of a file is removed.
    Remove,
    /// What a link leads to is put in the place of the link.
    PutBack,
    /// A newer version of the program.
    Upgrade,
    /// Nothing of the store can be had: a backup, or an export.
    Backup,
    /// Whoever holds the lock has to end.
    Wait,
    /// The folder has to be moved to a local disk with room.
    Move,
    /// The clock of the machine has to be set.
    Clock,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How much it matters.
    pub severity: ProblemSeverity,
    /// A word for it that does not change.
    pub code: &'static str,
    /// The file, relative to the store, if it is in one.
    pub file: Option<String>,
    /// Where in the file.
    pub offset: Option<u64>,
    /// What it is and what it means.
    pub what: String,
    /// What mends it.
    pub remedy: Remedy,
}

impl Memory {
    /// Looks for everything that is wrong with the store in the folder `path`, the worst first. Writes nothing.
    ///
    /// # Errors
    /// `NotFound` (code `no_store`) if there is no store; `Io` if it cannot be looked at.
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
        let disk = Arc::new(disk);
        let seam: Arc<dyn Disk> = disk.clone();
        match examine_disk(&seam, options, &mut problems) {
            // Whom a file of another user locks out is told why.
            Err(error)
                if error.code() != ErrorCode::NoStore
                    && problems.iter().any(|problem| problem.remedy == Remedy::Owner) =>
            {
                problems.push(of_error("unreadable", &error, Remedy::Nothing));
            }
            other => other?,
        }
        look_for_strays(&disk, &mut problems);
        for problem in problems
            .iter_mut()
            .filter(|problem| problem.remedy == Remedy::PutBack)
        {
            links::follow(&disk, problem);
        }
        if problems.iter().any(is_of_no_format) {
            // It may be a folder of anything: nothing in it is to be given away or closed.
            problems.retain(|problem| !matches!(problem.remedy, Remedy::Mode | Remedy::Owner));
        }
        problems.sort_by_key(|problem| problem.severity);
        Ok(problems)
    }
}

/// Whether the file is damaged that says that this is a store.
fn is_of_no_format(problem: &Problem) -> bool {
    problem.severity == ProblemSeverity::Damage && problem.file.as_deref() == Some("format")
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
    for found in &report.damage {
        // Without the folder of the log there is nothing to salvage from.
        let is_no_folder = found.kind == FindingKind::Missing || found.what == log::NO_FOLDER;
        let remedy = if found.what == log::LINKED {
            // Salvage reads no more through a link than others do.
            Remedy::PutBack
        } else if is_no_folder && found.file == "log" {
            Remedy::Backup
        } else {
            Remedy::Salvage
        };
        problems.push(of_finding(found, ProblemSeverity::Damage, "damaged", remedy));
    }
    for found in &report.derived {
        problems.push(of_derived(found, report.damage.is_empty()));
    }
    if report.ok {
        look_inside(Arc::clone(disk), options, problems)?;
    }
    Ok(())
}

/// What costs nothing where all else is whole, with what it means.
fn of_derived(found: &Finding, is_whole: bool) -> Problem {
    let notice = ProblemSeverity::Notice;
    let (severity, code, remedy, what_it_means) = if !is_whole && found.file.starts_with("log/") {
        let means = "but the store is damaged: keep it, salvage reads it too";
        (ProblemSeverity::Warning, "left_over", Remedy::Nothing, means)
    } else if found.what == log::OTHER_NAME {
        let means = "keep it until nothing is missing";
        (ProblemSeverity::Warning, "left_over", Remedy::Nothing, means)
    } else if found.what == store::OF_LATER_LOG {
        let means = "what was committed since that copy is gone from it: look for the newer files, or save what is left";
        (ProblemSeverity::Warning, "log_older", Remedy::Salvage, means)
    } else if found.kind == FindingKind::Unproven {
        let means = "what was acknowledged last may be lost: compare the head with what you know of it";
        (ProblemSeverity::Warning, "torn_tail", Remedy::Nothing, means)
    } else if found.what.contains(log::TORN_TAIL) {
        // Those of several segments take room, and only a rewrite gives it back.
        let (remedy, means) = match found.offset {
            None => (Remedy::Gc, "they do no harm, and take room"),
            Some(_) => (Remedy::Nothing, "they do no harm"),
        };
        (notice, "torn_tail", remedy, means)
    } else if found.file.starts_with("checkpoint/") {
        let means = "nothing is lost: opening takes longer until the next checkpoint is made, as gc does";
        (notice, "derived_damaged", Remedy::Nothing, means)
    } else if found.file.starts_with("derived/") {
        let means = "nothing is lost: it is made anew when it is needed";
        (notice, "derived_damaged", Remedy::Nothing, means)
    } else if found.what == log::NO_FILE {
        let means = "nothing is lost with it";
        (ProblemSeverity::Warning, "no_live", Remedy::Remove, means)
    } else if found.file == "live" {
        let means = "the next writer makes it anew";
        (notice, "derived_damaged", Remedy::Nothing, means)
    } else {
        (notice, "left_over", Remedy::Nothing, "nothing is lost")
    };
    let mut problem = of_finding(found, severity, code, remedy);
    problem.what = format!("{}; {what_it_means}", problem.what);
    problem
}

/// What only shows once the store is opened.
pub(crate) fn look_inside(disk: Arc<dyn Disk>, options: &Options, problems: &mut Vec<Problem>) -> Result<()> {
    let options = options.clone().read_only(true);
    let memory = match Memory::on_disk(disk, options, false, None) {
        Err(error) if error.is_corruption() => {
            problems.push(of_error("log_older", &error, Remedy::Salvage));
            return Ok(());
        }
        other => other?,
    };
    let newest = memory.view().commit().commit.time;
    if newest.as_micros()
        > memory
            .view()
            .now()
            .as_micros()
            .saturating_add(crate::engine::settings::CLOCK_OFF_MICROS_MAX)
    {
        let what = crate::engine::settings::CLOCK_AHEAD;
        problems.push(plain(ProblemSeverity::Warning, "clock", what, Remedy::Clock));
    }
    let stats = match memory.stats() {
        // Damaged since it was verified.
        Err(error) if error.is_corruption() => {
            problems.push(of_error("damaged", &error, Remedy::Salvage));
            return Ok(());
        }
        other => other?,
    };
    if stats.log_bytes > LOW_BYTES / 16 && stats.live_bytes < stats.log_bytes / 2 {
        let (log, live) = (stats.log_bytes, stats.live_bytes);
        let what = format!("of {log} bytes of log, the present state needs {live}; the rest is history");
        problems.push(plain(ProblemSeverity::Notice, "history_large", &what, Remedy::Gc));
    }
    Ok(())
}

fn look_at_lock(disk: &FileDisk, problems: &mut Vec<Problem>) {
    for (name, what) in [
        (log::LOCK_NAME, log::NO_FILE),
        (log::COMPACTION_LOCK_NAME, NO_COMPACTION_LOCK),
    ] {
        if disk
            .open(name, Access::Read)
            .is_err_and(|error| is_of_other_kind(&error))
        {
            let mut problem = plain(ProblemSeverity::Warning, "no_lock", what, Remedy::Remove);
            problem.file = Some(name.to_owned());
            problems.push(problem);
        }
    }
    if disk.is_locked(log::LOCK_NAME) {
        let holder = lock_holder(disk, log::LOCK_NAME);
        let holder = holder.unwrap_or_else(|| "another process".to_owned());
        let what = format!("{holder} is writing; it lets go when it is done, or ends");
        problems.push(plain(ProblemSeverity::Notice, "locked", &what, Remedy::Wait));
    }
}

/// Looks for folders and other things in the place of files that the store makes anew, or of its folders of such files.
fn look_for_strays(disk: &FileDisk, problems: &mut Vec<Problem>) {
    let is_damaged =
        |problem: &Problem| problem.severity == ProblemSeverity::Damage || problem.remedy == Remedy::Salvage;
    // What is lost may be in any of them.
    if problems.iter().any(is_damaged) {
        return;
    }
    let mut strays = disk.not_files(&FOLDERS);
    strays.retain(|name| is_made_anew(name));
    for name in strays {
        // Said already, as of a file that heals by itself.
        problems
            .retain(|problem| problem.remedy != Remedy::Nothing || problem.file.as_deref() != Some(&name));
        let mut problem = plain(ProblemSeverity::Warning, "in_the_way", IN_THE_WAY, Remedy::Remove);
        problem.file = Some(name);
        problems.push(problem);
    }
}

/// Whether what has this name holds nothing that the log does not have.
fn is_made_anew(name: &str) -> bool {
    match name.split_once('/') {
        None => MADE_ANEW.contains(&name),
        Some((log::LOG_FOLDER, file)) => log::is_unfinished_name(file),
        Some((folder, _)) => folder == derived::FOLDER || store::is_checkpoint_name(name),
    }
}

fn look_at_folder(disk: &FileDisk, problems: &mut Vec<Problem>) {
    if let Some(within) = disk.open_to_others() {
        let what = match within.split_first() {
            None => "other users of this machine may look into this folder".to_owned(),
            Some((first, more)) => format!(
                "other users of this machine may read or change what is in this folder: {first}{}",
                and_more(more.len())
            ),
        };
        let mut problem = plain(ProblemSeverity::Warning, "permissions", &what, Remedy::Mode);
        problem.file = Some(".".to_owned());
        problems.push(problem);
    }
    let strangers = disk.not_the_owners();
    if let Some((first, more)) = strangers.split_first() {
        let what = format!(
            "another user than that of the folder owns this{}: the owner may be locked out",
            and_more(more.len())
        );
        let mut problem = plain(ProblemSeverity::Warning, "owner", &what, Remedy::Owner);
        problem.file = Some(first.clone());
        problems.push(problem);
    }
    if let Some(free) = disk.free_bytes().filter(|free| *free < LOW_BYTES) {
        let what = format!("only {free} bytes are free on its disk: a write may soon be refused");
        problems.push(plain(ProblemSeverity::Warning, "disk_full", &what, Remedy::Move));
    }
}

fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", and {count} more"),
    }
}

fn of_finding(found: &Finding, severity: ProblemSeverity, code: &'static str, remedy: Remedy) -> Problem {
    Problem {
        severity,
        code,
        file: Some(found.file.clone()),
        offset: found.offset,
        what: found.what.clone(),
        remedy,
    }
}

fn of_error(code: &'static str, error: &Error, remedy: Remedy) -> Problem {
    plain(ProblemSeverity::Damage, code, error.message(), remedy)
}

fn plain(severity: ProblemSeverity, code: &'static str, what: &str, remedy: Remedy) -> Problem {
    Problem {
        severity,
        code,
        file: None,
        offset: None,
        what: what.to_owned(),
        remedy,
    }
}
