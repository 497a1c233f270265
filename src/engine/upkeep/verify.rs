//! Verification: reads the whole store from the disk and reports damage.
//!
//! Verification reads everything from the disk again. It checks the files: frames, checksums, seals and the chain of
//! segments. From the same bytes it rebuilds the store, many batches at a time, and checks each digest, each root and the
//! chain of commits. If it finds damage, it reads the log a second time and rebuilds the store batch by batch, because the
//! report names the first wrong batch.
//!
//! # Layer
//! Layer 5.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::digest::HashSuite;
use crate::disk::{Disk, FileDisk};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind as Kind, Finding, Result, Severity};
use crate::log::{self, Batch, CheckItem, Log, LogOptions, LogReader, Mode, RecordKind, segment_name};
use crate::store::{self, Bulk, CommitEntry, GoOn, LogId, Store};
use crate::threads::{BESIDE_BYTES, beside_if};

use super::{Dangling, not_regular, open_log, places_of};
use crate::engine::options::Options;
use crate::engine::settings::Settings;
use crate::engine::write::body_bytes;

/// The depth of `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyDepth {
    /// Checks the files: every frame, checksum and seal.
    Quick,
    /// Checks the files, then every digest, root and commit.
    Full,
}

/// The result of `verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct VerifyReport {
    /// Whether all acknowledged data is present and undamaged.
    pub ok: bool,
    /// The number of commits that passed verification.
    pub commits: u64,
    /// The number of versions of objects that passed verification.
    pub versions: u64,
    /// The number of bytes of the log that were read.
    pub bytes: u64,
    /// The number of erased versions. Those that others erased, and that this store keeps, do not count.
    pub erased: u64,
    /// The number of lost versions that salvage could not restore: only their digests are left.
    pub lost: u64,
    /// The number of thinned commits.
    pub thinned: u64,
    /// Damage that loses no acknowledged data, as far as verification can detect: damaged derived files, torn tails and
    /// leftover files.
    pub derived: Vec<Finding>,
    /// Damage to acknowledged data.
    pub damage: Vec<Finding>,
}

/// Checks the store in the folder `path`, even if the store does not open. Writes nothing.
///
/// # Errors
/// `NotFound` if there is no store; `UnsupportedFormat` if the store needs a newer program; `Io` if a file cannot be
/// read.
pub fn verify_store(path: impl AsRef<Path>, options: &Options, depth: VerifyDepth) -> Result<VerifyReport> {
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::open(path)?);
    if let Some(error) = not_regular(&*disk).into_iter().next() {
        return Err(error);
    }
    examine(&disk, &options.settings, depth, None)
}

/// Checks the whole store on a disk, for tests from outside the engine.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn verified(disk: &Arc<dyn Disk>, options: &Options) -> Result<VerifyReport> {
    examine(disk, &options.settings, VerifyDepth::Full, None)
}

pub(crate) fn examine(
    disk: &Arc<dyn Disk>,
    options: &Settings,
    depth: VerifyDepth,
    known: Option<&CommitEntry>,
) -> Result<VerifyReport> {
    // If the store does not open, its size is unknown, so progress reports have no total.
    let total =
        Log::open(Arc::clone(disk), Mode::ReadOnly, LogOptions::default()).map_or(0, |log| log.size().1);
    let tell = |doing: &'static str, done: u64| options.tell(doing, done, total);
    let (built, go_on) = (OnceLock::new(), || options.check_stop());
    let mut rebuilding = (depth == VerifyDepth::Full).then(|| Rebuilding::new(&built, &go_on));
    let mut report = check_log(
        disk,
        options,
        &|done| tell("verify files", done),
        rebuilding.as_mut(),
    )?;
    let is_intact = report.damage.is_empty();
    let step = |done| {
        tell("verify contents", done);
        options.check_stop()
    };
    let (derived, rebuilt) = beside_if(
        total >= BESIDE_BYTES,
        || check_derived(disk, options, &mut report),
        || {
            let together = rebuilding?.finish(known, is_intact);
            Some(together.map_or_else(|| rebuild(disk, known, &step), Ok))
        },
    );
    derived?;
    tell("verify files", total);
    report.ok = report.damage.is_empty();
    let Some(rebuilt) = rebuilt else {
        return Ok(report);
    };
    match rebuilt {
        Ok(rebuilt) => {
            report.damage.extend(rebuilt.missing);
            report.commits = rebuilt.commits;
            report.versions = rebuilt.versions;
            report.lost = rebuilt.lost;
            report.erased = rebuilt.erased;
            report.thinned = rebuilt.thinned;
        }
        // Damage that the check of the files found also stops the rebuild. The report contains that damage only once.
        Err(error) if error.is_damage() && !report.damage.is_empty() => {}
        // The host stopped the rebuild, or the rebuild could not read the store.
        Err(error)
            if !error.is_damage() && matches!(error.kind(), Kind::Io | Kind::Busy | Kind::Conflict) =>
        {
            return Err(error);
        }
        Err(error) => {
            report.damage.push(of_error(&error));
        }
    }
    report.ok = report.damage.is_empty();
    Ok(report)
}

/// Checks the files of the log. Passes the number of bytes of batches checked so far to `tell`, and the batches to
/// `rebuilding`.
fn check_log(
    disk: &Arc<dyn Disk>,
    options: &Settings,
    tell: &dyn Fn(u64),
    mut rebuilding: Option<&mut Rebuilding<'_>>,
) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let mut done = 0;
    let visit = &mut |item| {
        let (batch, is_seen) = match item {
            CheckItem::Batch(batch) => (batch, true),
            CheckItem::Unproven(batch) => (batch, false),
            CheckItem::Reader(reader) => {
                if let Some(rebuilding) = &mut rebuilding {
                    rebuilding.start(reader);
                }
                return Ok(());
            }
            CheckItem::Finding(found) => {
                let is_damage = found.severity == Severity::Damage;
                let (damage, derived) = (&mut report.damage, &mut report.derived);
                if is_damage { damage } else { derived }.push(found);
                return Ok(());
            }
        };
        let count = |kind| batch.records.iter().filter(|record| record.kind == kind).count() as u64;
        report.commits += count(RecordKind::Commit);
        report.versions += count(RecordKind::Object);
        done += body_bytes(&batch);
        tell(done);
        options.check_stop()?;
        if let Some(rebuilding) = rebuilding
            .as_mut()
            .filter(|_| is_seen && report.damage.is_empty())
        {
            rebuilding.add(batch);
        }
        Ok(())
    };
    let places = Some(places_of(disk));
    match Log::check(Arc::clone(disk), LogOptions::default(), places, visit) {
        Ok(bytes) => report.bytes = bytes,
        Err(error) if error.is_damage() => {
            let found = of_error(&error);
            // If a folder is missing, the report omits the missing files of that folder.
            let within = format!("{}/", found.damage.file);
            let damage = &mut report.damage;
            damage.retain(|other| *other != found && !other.damage.file.starts_with(&within));
            damage.push(found);
        }
        Err(error) => return Err(error),
    }
    Ok(report)
}

/// Checks every checkpoint and every derived file. Damage in one of these loses no data. If an undamaged checkpoint
/// covers batches that the log lacks, the log was cut, emptied or replaced by an older log, which is damage.
fn check_derived(disk: &Arc<dyn Disk>, options: &Settings, report: &mut VerifyReport) -> Result<()> {
    let open = || open_log(disk, Mode::ReadOnly, LogOptions::default());
    let known = match open() {
        Ok(log) => LogId::of(&log),
        // The report already contains this damage.
        Err(error) if error.is_damage() => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut step = |_| options.check_stop();
    let found = store::check_checkpoints(&**disk, known, &mut step)?;
    let is_later = |found: &Finding| found.damage.cause == Cause::MadeFromLaterLog;
    // The log may have been rewritten after the checkpoints were listed. In that case, a finding that a checkpoint was
    // made from a later log is invalid.
    let is_current = !found.iter().any(is_later) || LogId::of(&open()?) == known;
    let found = found.into_iter().filter(|found| is_current || !is_later(found));
    let derived = &mut report.derived;
    derived.extend(found);
    derived.extend(super::derived_files::check(&**disk, &known.instance)?);
    let (newest, _) = store::open_newest(&**disk, known, options.map)?;
    let Some(newest) = newest.filter(|_| report.damage.is_empty()) else {
        return Ok(());
    };
    let mut log = open()?;
    if LogId::of(&log) != known {
        // The log was rewritten meanwhile, and the checkpoint belongs to the old log.
        return Ok(());
    }
    let position = newest.position();
    let checked = match log.start_at(&position) {
        Err(error) if error.is_corruption() => log.holds(&position).map(|holds| {
            if holds {
                let cause = Cause::LogWrittenElsewhere;
                derived.push(Finding::new(Severity::Derived, newest.name(), 0, cause));
            } else {
                let mut found = of_error(&error);
                found.damage.cause = Cause::LogOlderThanCheckpoint;
                report.damage.push(found);
            }
        }),
        Ok(()) if store::reaches_outside(&newest, &log).unwrap_or(false) => {
            let cause = Cause::LogWrittenElsewhere;
            derived.push(Finding::new(Severity::Derived, newest.name(), 0, cause));
            Ok(())
        }
        other => other,
    };
    match checked {
        // The log was rewritten meanwhile, so its checkpoints are not checked.
        Err(error) if error.code() == ErrorCode::Rewritten => Ok(()),
        other => other,
    }
}

/// Converts the damage that stopped a read to a finding. If the position of the damage is unknown, the finding names
/// the folder of the log.
fn of_error(error: &Error) -> Finding {
    let damage = error.damage().cloned().unwrap_or_else(|| Damage {
        file: log::LOG_FOLDER.to_owned(),
        offset: None,
        cause: error.cause(),
    });
    Finding {
        severity: Severity::Damage,
        damage,
    }
}

/// What verification reports of a rebuilt store.
struct Rebuilt {
    commits: u64,
    versions: u64,
    lost: u64,
    erased: u64,
    thinned: u64,
    /// The records that are named but missing.
    missing: Vec<Finding>,
}

impl Rebuilt {
    /// Examines a store that has read the whole log. `known` is a commit that the log must contain.
    fn of(store: &Arc<Store>, dangling: Dangling, known: Option<&CommitEntry>) -> Result<Self> {
        store.head()?;
        let _open = store.hold_lines();
        // The roots of the lines were not computed yet.
        let forks = store.check_lines()?;
        if let Some(known) = known
            && store.by_digest(known.digest)?.is_none()
        {
            let seq = known.seq();
            return Err(Error::corrupt(format!(
                "commit {seq} was acknowledged but is missing from the log: the end of the log was lost or replaced"
            )));
        }
        // The replay started at the first batch, so this number includes all lost versions.
        let lost = store.records.lost_since();
        Ok(Self {
            commits: store.kept() as u64 + forks,
            versions: store.records.versions(),
            lost,
            erased: store.records.erased() - lost,
            thinned: store.gaps().iter().map(|gap| gap.count).sum(),
            missing: dangling.missing(store)?,
        })
    }
}

/// Rebuilds the store from the batches that the check of the files reads.
struct Rebuilding<'s> {
    store: &'s OnceLock<Arc<Store>>,
    go_on: GoOn<'s>,
    /// The batches so far. `None` before the log is open, and after an error.
    bulk: Option<Bulk<'s>>,
    dangling: Dangling,
}

impl<'s> Rebuilding<'s> {
    fn new(store: &'s OnceLock<Arc<Store>>, go_on: GoOn<'s>) -> Self {
        Self {
            store,
            go_on,
            bulk: None,
            dangling: Dangling::default(),
        }
    }

    fn start(&mut self, reader: LogReader) {
        let store = self
            .store
            .get_or_init(|| Arc::new(Store::new(reader.suite(), reader)));
        self.bulk = Bulk::new(store, self.go_on).ok();
    }

    fn add(&mut self, batch: Batch) {
        self.dangling.add(&batch);
        self.bulk.take_if(|bulk| bulk.add(batch).is_err());
    }

    /// Returns what to report. Returns `None` if a batch is wrong, or if the log is not intact.
    fn finish(self, known: Option<&CommitEntry>, is_intact: bool) -> Option<Rebuilt> {
        self.bulk.filter(|_| is_intact)?.finish().ok()?;
        Rebuilt::of(self.store.get()?, self.dangling, known).ok()
    }
}

/// Replays the log batch by batch into a new store, and reads the files without mapping them.
fn rebuild(
    disk: &Arc<dyn Disk>,
    known: Option<&CommitEntry>,
    step: &(dyn Fn(u64) -> Result<()> + Sync),
) -> Result<Rebuilt> {
    let log_options = LogOptions {
        map: false,
        ..LogOptions::default()
    };
    let mut log = open_log(disk, Mode::ReadOnly, log_options)?;
    let suite = HashSuite::new(log.format().hash);
    let store = Arc::new(Store::new(suite, log.reader()));
    let (mut done, mut dangling) = (0, Dangling::default());
    log.catch_up(&mut |batch| {
        done += body_bytes(&batch);
        step(done)?;
        let place = batch.records.first().map(|record| record.locator);
        let at_batch = |error: Error| match place {
            Some(place) => error.at_record(segment_name(place.segment()), place.offset()),
            None => error,
        };
        store.apply(&batch, None).map_err(at_batch)?;
        dangling.add(&batch);
        Ok(())
    })?;
    step(u64::MAX)?;
    Rebuilt::of(&store, dangling, known)
}
