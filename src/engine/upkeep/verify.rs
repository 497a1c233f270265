//! Reads everything back from the disk and says what is wrong with it.
//!
//! Two passes that share no memory with the handle: the files (frames, checksums, seals, chain of segments),
//! then the meaning (every digest, every root, the chain of commits), rebuilt from nothing.
//!
//! # Layer
//! L5.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::digest::HashSuite;
use crate::disk::{Access, Disk};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{self, Batch, CheckItem, Log, LogOptions, Mode, RecordKind, Severity, segment_name};
use crate::store::{self, CommitEntry, LogId, Store};
use crate::threads::beside;

use super::checkpointing::{open_log, places_of};
use super::named::Named;
use crate::engine::settings::{Progress, Settings};
use crate::engine::write::log_handle::body_bytes;

/// How much `verify` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyDepth {
    /// The files: every frame, checksum and seal.
    Quick,
    /// The files, then every digest, root and commit.
    Full,
}

/// In which way something is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum FindingKind {
    /// The bytes are not what was written, or are left over.
    Corrupt,
    /// The file is not there.
    Missing,
    /// The file ends before.
    Cut,
    /// The log is an older one than was there before.
    Older,
    /// The file is another store's, or has another file's name, or is no file.
    Foreign,
    /// Whether it was ever whole cannot be told.
    Unproven,
}

impl Finding {
    /// What was found in a log, with its place said once: where the message names it, that is the more exact one.
    pub(crate) fn of(disk: &dyn Disk, mut found: log::Finding) -> Self {
        if let Some((file, offset, what)) = placed(&found.message) {
            (found.file, found.offset, found.message) = (file.to_owned(), offset, what.to_owned());
        }
        let kind = FindingKind::of(disk, &found);
        // In what is no file there is no place.
        let is_file = kind != FindingKind::Missing && found.file != "log" && !is_no_file(&found);
        Self {
            kind,
            offset: Some(found.offset).filter(|_| is_file),
            file: found.file,
            what: found.message,
        }
    }
}

impl FindingKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Missing => "missing",
            Self::Cut => "cut",
            Self::Older => "older",
            Self::Foreign => "foreign",
            Self::Unproven => "unproven",
        }
    }

    /// Looks at the file that a finding is about.
    fn of(disk: &dyn Disk, found: &log::Finding) -> Self {
        if found.message == store::OF_LATER_LOG {
            return Self::Older;
        }
        if found.severity == Severity::Unsure {
            return Self::Unproven;
        }
        if is_no_file(found) {
            return Self::Foreign;
        }
        let length = match disk.open(&found.file, Access::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::Missing,
            Err(_) => None,
            Ok(file) => file.length().ok(),
        };
        if found.message == log::CUT_OFF || length.is_some_and(|length| length <= found.offset) {
            Self::Cut
        } else if found.message.contains(log::FOREIGN) {
            Self::Foreign
        } else {
            Self::Corrupt
        }
    }
}

/// Whether something of another kind stands in the place of a file, or of the log.
fn is_no_file(found: &log::Finding) -> bool {
    [log::LINKED, log::IS_FOLDER, log::NOT_REGULAR, log::NO_FOLDER].contains(&found.message.as_str())
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Finding {
    /// In which way.
    pub kind: FindingKind,
    /// The file, relative to the store.
    pub file: String,
    /// Where in the file.
    pub offset: Option<u64>,
    /// What.
    pub what: String,
}

/// What `verify` found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct VerifyReport {
    /// Whether everything that was acknowledged is there and whole.
    pub ok: bool,
    /// Commits that verified.
    pub commits: u64,
    /// Versions of objects that verified.
    pub versions: u64,
    /// Bytes of log read.
    pub bytes: u64,
    /// Erased versions.
    pub erased: u64,
    /// Versions that were lost and not salvaged: a kept state has their digests.
    pub lost: u64,
    /// Thinned commits.
    pub thinned: u64,
    /// Damage that costs nothing, as far as can be told: derived files, torn tails, left-overs.
    pub derived: Vec<Finding>,
    /// Damage to what was acknowledged.
    pub damage: Vec<Finding>,
}

pub(crate) fn examine(
    disk: &Arc<dyn Disk>,
    options: &Settings,
    depth: VerifyDepth,
    known: Option<&CommitEntry>,
) -> Result<VerifyReport> {
    // A store that does not open has no size to fill a bar with.
    let total =
        Log::open(Arc::clone(disk), Mode::ReadOnly, LogOptions::default()).map_or(0, |log| log.size().1);
    let tell = |doing: &'static str, done: u64| {
        if let Some(progress) = &options.progress {
            progress(Progress {
                doing,
                done: done.min(total),
                total,
            });
        }
    };
    let files = || {
        let report = check_files(disk, options, &|done| tell("verify files", done))?;
        tell("verify files", total);
        Ok(report)
    };
    if depth == VerifyDepth::Quick {
        return files();
    }
    // Told of one after the other, though both are done at the same time.
    let (files_done, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let step = |done| {
        if files_done.load(Ordering::Acquire) {
            tell("verify contents", done);
        }
        if is_over.load(Ordering::Relaxed) {
            return Err(Error::internal("the files could not be read"));
        }
        options.check_stop()
    };
    let (report, rebuilt) = beside(
        || {
            let report: Result<VerifyReport> = files();
            is_over.store(report.is_err(), Ordering::Relaxed);
            files_done.store(true, Ordering::Release);
            report
        },
        || rebuild(disk, known, &step),
    );
    let mut report = report?;
    report.take_contents(&**disk, rebuilt)?;
    Ok(report)
}

impl VerifyReport {
    /// Takes in what came of rebuilding everything.
    fn take_contents(&mut self, disk: &dyn Disk, rebuilt: Result<(Store, Vec<Finding>)>) -> Result<()> {
        match rebuilt {
            Ok((store, missing)) => {
                self.damage.extend(missing);
                self.commits = store.kept() as u64;
                self.versions = store.records.versions();
                // Replayed from the first batch on, so these are all.
                self.lost = store.records.lost_since();
                self.erased = store.records.erased() - self.lost;
                self.thinned = store.gaps().iter().map(|gap| gap.count).sum();
            }
            Err(error) if error.code() == ErrorCode::Interrupted => return Err(error),
            // Nothing was found out about the store.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Io | ErrorKind::Busy | ErrorKind::Conflict
                ) =>
            {
                return Err(error);
            }
            // The files' damage stops the rebuild too; once said is enough.
            Err(error) if self.damage.is_empty() || !error.is_corruption() => {
                self.damage.push(of_error(disk, &error));
            }
            Err(_) => {}
        }
        self.ok = self.damage.is_empty();
        Ok(())
    }
}

/// Checks the files, of the log and of its checkpoints; `tell` is told how many bytes of batches are done.
fn check_files(disk: &Arc<dyn Disk>, options: &Settings, tell: &dyn Fn(u64)) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let mut done = 0;
    let visit = &mut |item| {
        match item {
            CheckItem::Batch(batch) => {
                let count = |kind| batch.records.iter().filter(|record| record.kind == kind).count() as u64;
                report.commits += count(RecordKind::Commit);
                report.versions += count(RecordKind::Object);
                done += body_bytes(&batch);
                tell(done);
                options.check_stop()?;
            }
            CheckItem::Finding(found) => {
                let damage = found.severity == Severity::Damage;
                let list = if damage {
                    &mut report.damage
                } else {
                    &mut report.derived
                };
                list.push(Finding::of(&**disk, found));
            }
        }
        Ok(ControlFlow::Continue(()))
    };
    match Log::check(
        Arc::clone(disk),
        LogOptions::default(),
        Some(places_of(disk)),
        visit,
    ) {
        Ok(files) => report.bytes = files.bytes,
        Err(error) if error.is_corruption() => {
            let found = of_error(&**disk, &error);
            // That its files are missing follows from that of the folder, which each of them may have told.
            let within = format!("{}/", found.file);
            report
                .damage
                .retain(|other| *other != found && !other.file.starts_with(&within));
            report.damage.push(found);
        }
        Err(error) => return Err(error),
    }
    check_derived(disk, options, &mut report)?;
    report.ok = report.damage.is_empty();
    Ok(report)
}

/// Checks every checkpoint and every derived file whole; what is wrong with one costs nothing. A log that does not hold what a whole one was made
/// of is older, cut or emptied.
fn check_derived(disk: &Arc<dyn Disk>, options: &Settings, report: &mut VerifyReport) -> Result<()> {
    let open = || open_log(disk, Mode::ReadOnly, LogOptions::default());
    let known = match open() {
        Ok(log) => LogId::of(&log),
        // Its damage is in the report already.
        Err(error) if error.is_corruption() => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut step = |_| options.check_stop();
    let found = store::check_checkpoints(&**disk, known, &mut step)?;
    let is_later = |found: &log::Finding| found.message == store::OF_LATER_LOG;
    // It may have been rewritten since the checkpoints were listed.
    let is_current = !found.iter().any(is_later) || LogId::of(&open()?) == known;
    for found in found.into_iter().filter(|found| is_current || !is_later(found)) {
        report.derived.push(Finding::of(&**disk, found));
    }
    report
        .derived
        .extend(super::derived_files::check(&**disk, &known.instance)?);
    let (newest, _) = store::open_newest(&**disk, known, options.map)?;
    let Some(newest) = newest.filter(|_| report.damage.is_empty()) else {
        return Ok(());
    };
    let mut log = open()?;
    if LogId::of(&log) != known {
        // Rewritten meanwhile: the checkpoint is of the log before.
        return Ok(());
    }
    let started = match log.start_at(&newest.position()) {
        Err(error) if error.is_corruption() => {
            log.holds(&newest.position()).map(|holds| (holds, Some(error)))
        }
        other => other.map(|()| (true, None)),
    };
    match started {
        Ok((true, Some(_))) => {
            let what = "the log was written again elsewhere since it was made, and is read instead";
            report.derived.push(Finding {
                kind: FindingKind::Older,
                file: newest.name().to_owned(),
                offset: Some(0),
                what: what.to_owned(),
            });
            Ok(())
        }
        Ok((false, Some(error))) => {
            let found = of_error(&**disk, &error);
            report.damage.push(Finding {
                kind: FindingKind::Older,
                what: format!("the log is older than a checkpoint of it: {}", found.what),
                ..found
            });
            Ok(())
        }
        // Rewritten meanwhile.
        Err(error) if error.code() == ErrorCode::Rewritten => Ok(()),
        other => other.map(drop),
    }
}

/// What stands between file and offset in an error about damage.
const DAMAGED_AT: &str = " is damaged at byte ";

/// Damage that ends a reading, as a finding.
fn of_error(disk: &dyn Disk, error: &Error) -> Finding {
    let message = error.message().to_owned();
    let is_placed = placed(&message).is_some();
    let found = Finding::of(
        disk,
        log::Finding {
            severity: Severity::Damage,
            file: "log".to_owned(),
            offset: 0,
            message,
        },
    );
    Finding {
        offset: found.offset.filter(|_| is_placed),
        ..found
    }
}

/// The file, the offset and the rest of a message about damage that begins with its place.
fn placed(message: &str) -> Option<(&str, u64, &str)> {
    let (file, rest) = message.split_once(DAMAGED_AT)?;
    let (offset, what) = rest.split_once(": ")?;
    Some((file, offset.parse().ok()?, what)).filter(|(file, _, _)| !file.contains(' '))
}

/// Names the place of a batch whose meaning is not as it should be.
fn at_batch(error: Error, batch: &Batch) -> Error {
    match batch.records.first() {
        Some(first) if error.is_corruption() && !error.message().contains(DAMAGED_AT) => {
            let (file, offset) = (segment_name(first.locator.segment()), first.locator.offset());
            error.context(format!("{file}{DAMAGED_AT}{offset}"))
        }
        _ => error,
    }
}

/// Replays the log into a store of its own, through positional reads; also what its records name and is missing.
fn rebuild(
    disk: &Arc<dyn Disk>,
    known: Option<&CommitEntry>,
    step: &(dyn Fn(u64) -> Result<()> + Sync),
) -> Result<(Store, Vec<Finding>)> {
    let log_options = LogOptions {
        map: false,
        ..LogOptions::default()
    };
    let mut log = open_log(disk, Mode::ReadOnly, log_options)?;
    let suite = HashSuite::new(log.format().hash);
    let store = Store::new(suite, log.reader());
    let (mut done, mut named) = (0, Named::default());
    log.catch_up(&mut |batch| {
        done += body_bytes(&batch);
        step(done)?;
        let taken = store.apply(&batch, None);
        taken.map_err(|error| at_batch(error, &batch))?;
        named.add(&store, &batch)
    })?;
    step(u64::MAX)?;
    store.head()?;
    if let Some(known) = known
        && store.by_digest(known.digest)?.is_none()
    {
        let seq = known.seq();
        return Err(Error::corrupt(format!(
            "commit {seq} was acknowledged to this handle and is not in the log: its end is lost or replaced"
        )));
    }
    let missing = named.missing(&store)?;
    Ok((store, missing))
}
