//! Checks a whole log by reading its files, for `verify`.
//!
//! The check reads everything from the files, and uses no map and no memory of the handle. It continues after damage,
//! and reports all damage with file and offset.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - CHK-1: every byte of the store is checked against a checksum or digest, must be zero, or is after the end of a
//!   segment. Bytes after the end are reported as harmless.

use std::io;
use std::sync::Arc;

use super::batch::Batch;
use super::files::cannot_list;
use super::format_file::Mode;
use super::handle::{DurablePlaces, Log, LogOptions};
use super::leftovers::Unlisted;
use super::live::{LIVE_NAME, Live};
use super::manifest::SegmentEntry;
use super::reader::SegmentFile;
use super::seal::Chain;
use super::segment::{
    FIRST_OFFSET, LOG_FOLDER, SegmentEnd, is_rewrite_name, parse_segment_name, segment_name,
};
use super::walk::{Stop, Survey, Window, Windows};
use crate::disk::{Access, Disk, is_not_regular};
use crate::error::{Cause, Damage, Error, ErrorKind, Finding, Result, Severity};

/// A batch or a finding, in the order of the log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CheckItem {
    /// A complete batch. After damage, numbers may be skipped.
    Batch(Batch),
    /// Damage, or another finding.
    Finding(Finding),
}

impl Log {
    /// Reads the whole store from its files, and passes every batch and every finding to `visit`. Returns the number of
    /// bytes of segments that were read.
    ///
    /// Writers may append meanwhile. Batches that are newer than the start of the check may be missing.
    ///
    /// # Errors
    /// `NotFound` and `UnsupportedFormat` as [`Log::open`]; `Io`. Damage is passed on as findings.
    pub fn check(
        disk: Arc<dyn Disk>,
        options: LogOptions,
        places: Option<Arc<DurablePlaces>>,
        visit: &mut dyn FnMut(CheckItem) -> Result<()>,
    ) -> Result<u64> {
        let options = LogOptions {
            map: false,
            degraded: false,
            ..options
        };
        let mut report = Report {
            visit,
            bytes: 0,
            torn: Torn::default(),
        };
        let mut log = match Self::open(disk, Mode::ReadOnly, options) {
            Ok(log) => log,
            Err(error) => return report.damage(error).map(|()| 0),
        };
        log.places = places;
        // Keeps the files of one manifest open, even if another manifest is published meanwhile. Damage is reported
        // below.
        match log.take_listed() {
            Err(error) if !error.is_corruption() => return Err(error),
            _ => {}
        }
        log.check_all(&mut report)?;
        Ok(report.bytes)
    }

    fn check_all(&self, report: &mut Report<'_>) -> Result<()> {
        let live = self.check_live(report)?;
        // Reads the positions before the segments, so the segments contain at least the batches that the positions
        // prove durable.
        let places = self.durable_places()?;
        let placed = places.iter().map(|place| place.offset).fold(0, u64::max);
        let manifest = &self.manifest;
        let mut newest = 0;
        let mut before = SegmentEnd::default();
        for entry in manifest.entries() {
            let walk = Walk {
                log: self,
                entry,
                before,
                live,
                placed,
            };
            newest = walk.run(report)?.max(newest);
            before = entry.end();
        }
        report.torn()?;
        self.check_folder(newest, report)?;
        match live.and_then(|live| self.misplaced(&live)) {
            // An outdated manifest means that a writer changed the log meanwhile, so there is no damage.
            Some(damage) if !self.is_outdated()? => report.finding(Severity::Damage, damage),
            _ => Ok(()),
        }
    }

    fn check_live(&self, report: &mut Report<'_>) -> Result<Option<Live>> {
        let live = self.read_live()?;
        if live.is_none() {
            let is_missing = self.disk.open(LIVE_NAME, Access::Read).is_err();
            let cause = if is_missing { Cause::Missing } else { Cause::NoMark };
            report.finding(Severity::Derived, Damage::new(LIVE_NAME, 0, cause))?;
        }
        Ok(live)
    }

    /// Finds segments that the manifest does not list, and files that do not belong to the log.
    fn check_folder(&self, newest: u64, report: &mut Report<'_>) -> Result<()> {
        let names = self.disk.list(LOG_FOLDER).map_err(cannot_list)?;
        // The numbers that a rewrite skipped do not count as missing.
        let newest = newest.max(self.manifest.active().batch_before());
        for file in names {
            let (severity, cause) = match parse_segment_name(&file) {
                Some((id, _)) if self.manifest.lists(id) => continue,
                Some((id, false)) => match self.unlisted(id, newest)? {
                    // The segment was published after the check began. This is checked last, because it may happen
                    // while the file is read.
                    _ if id > self.manifest.active().id && self.is_outdated()? => continue,
                    Unlisted::Newer => (Severity::Damage, Cause::UnlistedNewer),
                    Unlisted::Left => (Severity::Harmless, Cause::UnlistedOlder),
                    Unlisted::Foreign => (Severity::Harmless, Cause::UnlistedForeign),
                },
                Some((_, true)) => (Severity::Harmless, Cause::Unfinished),
                None if is_rewrite_name(&file) => (Severity::Harmless, Cause::RewriteFile),
                None if self.is_segment(&format!("{LOG_FOLDER}/{file}"))? => {
                    (Severity::Unsure, Cause::Misnamed)
                }
                None => (Severity::Harmless, Cause::Stray),
            };
            report.finding(severity, Damage::new(format!("{LOG_FOLDER}/{file}"), 0, cause))?;
        }
        Ok(())
    }

    /// Returns whether a file has the header of a segment of this store.
    fn is_segment(&self, name: &str) -> Result<bool> {
        let segment = match self.disk.open(name, Access::Read) {
            Ok(file) => SegmentFile::with_file(file, false, name),
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_not_regular(&error) => {
                return Ok(false);
            }
            // A file that cannot be read may be a segment.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(true),
            Err(error) => return Err(Error::io(format!("cannot open {name}"), error)),
        };
        match segment {
            Err(error) if !error.is_corruption() => Err(error),
            segment => Ok(segment.is_ok_and(|segment| segment.header.instance == self.format.instance)),
        }
    }
}

struct Report<'a> {
    visit: &'a mut dyn FnMut(CheckItem) -> Result<()>,
    /// The number of bytes of segments that were read.
    bytes: u64,
    torn: Torn,
}

/// The torn tails of sealed segments. Each recovery leaves one, so a single finding reports all of them.
#[derive(Default)]
struct Torn {
    count: u64,
    bytes: u64,
    /// The file of the last torn tail.
    file: String,
    offset: u64,
}

impl Report<'_> {
    fn finding(&mut self, severity: Severity, damage: Damage) -> Result<()> {
        (self.visit)(CheckItem::Finding(Finding { severity, damage }))
    }

    /// Reports the damage that an error contains; returns any other error.
    fn damage(&mut self, error: Error) -> Result<()> {
        match error.damage() {
            Some(damage) if error.kind() != ErrorKind::Io => self.finding(Severity::Damage, damage.clone()),
            _ => Err(error),
        }
    }

    fn torn(&mut self) -> Result<()> {
        let torn = std::mem::take(&mut self.torn);
        let cause = Cause::TornTail {
            bytes: torn.bytes,
            segments: torn.count,
            never_acknowledged: false,
        };
        match torn.count {
            0 => Ok(()),
            1 => self.finding(Severity::Harmless, Damage::new(torn.file, torn.offset, cause)),
            _ => self.finding(Severity::Harmless, Damage::new(LOG_FOLDER, 0, cause)),
        }
    }
}

/// The check of one segment.
struct Walk<'a> {
    log: &'a Log,
    entry: &'a SegmentEntry,
    before: SegmentEnd,
    live: Option<Live>,
    /// The offset up to which derived files prove the active segment durable.
    placed: u64,
}

impl Walk<'_> {
    fn name(&self) -> String {
        segment_name(self.entry.id)
    }

    /// Checks the segment and returns the number of the newest batch found.
    fn run(&self, report: &mut Report<'_>) -> Result<u64> {
        let segment = match self.log.segment(self.entry.id) {
            Ok(segment) => segment,
            Err(error) => return report.damage(error).map(|()| 0),
        };
        let continues = segment.header.previous == self.before;
        if self.entry.is_active() && !continues {
            report.finding(Severity::Damage, Damage::new(self.name(), 0, Cause::NotContinued))?;
        }
        let (window, mut survey) = segment.read_to_end(FIRST_OFFSET, self.log.suite)?;
        // For a sealed segment, the manifest states the durable length.
        let open_from = if self.entry.is_active() {
            FIRST_OFFSET
        } else {
            self.entry.length
        };
        survey.add(&window, open_from);
        report.bytes += window.bytes.len() as u64 + FIRST_OFFSET;
        let chain = Chain {
            batch: self.entry.batch_before(),
            digest: continues.then_some(self.before.last_digest),
        };
        self.walk(&segment, window, &survey, chain, report)
    }

    /// Returns the offset before which every byte must be intact.
    fn durable(&self, survey: &Survey) -> u64 {
        if !self.entry.is_active() {
            return self.entry.length;
        }
        let live = self
            .live
            .filter(|live| live.segment == self.entry.id)
            .map_or(0, |live| live.offset);
        survey.synced_upto.max(FIRST_OFFSET).max(live)
    }

    fn walk(
        &self,
        segment: &SegmentFile,
        mut window: Window,
        survey: &Survey,
        chain: Chain,
        report: &mut Report<'_>,
    ) -> Result<u64> {
        let durable = self.durable(survey);
        let placed = if self.entry.is_active() { self.placed } else { 0 };
        let mut windows = segment.windows(window.end(), u64::MAX, self.log.suite)?;
        let limit = if self.entry.is_active() {
            u64::MAX
        } else {
            self.entry.length
        };
        let (mut at, mut chain) = (FIRST_OFFSET, chain);
        let mut newest = 0;
        while at < limit {
            match window.batch_at(at, chain) {
                Ok(scanned) => {
                    at = scanned.end;
                    newest = scanned.batch.number;
                    chain = scanned.chain();
                    (report.visit)(CheckItem::Batch(scanned.batch))?;
                }
                Err(stop) if at >= durable.max(placed) => {
                    self.report_tail(survey, at, &stop, report)?;
                    return Ok(newest);
                }
                // Only zeros follow, so the segment is not damaged. The comparison with the checkpoint reports the lost
                // end.
                Err(_) if at >= durable && survey.used_from(at) == 0 => return Ok(newest),
                Err(stop) => {
                    report.finding(Severity::Damage, self.damage(&stop))?;
                    match resume(&mut window, &mut windows, at, stop.offset)? {
                        Some((next, batch)) => {
                            at = next;
                            chain = Chain { batch, digest: None };
                        }
                        None => return Ok(newest),
                    }
                }
            }
        }
        self.check_end(at, chain, report)?;
        self.report_unused(survey, limit, report)?;
        Ok(newest)
    }

    /// Checks that a sealed segment ends with the batch that the manifest names.
    fn check_end(&self, at: u64, chain: Chain, report: &mut Report<'_>) -> Result<()> {
        if at == self.entry.length && (chain == self.entry.end_chain() || chain.digest.is_none()) {
            return Ok(());
        }
        let damage = Damage::new(self.name(), self.entry.length, Cause::LastBatch);
        report.finding(Severity::Damage, damage)
    }

    fn report_tail(&self, survey: &Survey, at: u64, stop: &Stop, report: &mut Report<'_>) -> Result<()> {
        if stop.cause.is_of_newer_version() {
            return report.finding(Severity::Damage, self.damage(stop));
        }
        self.report_unused(survey, at, report)
    }

    fn report_unused(&self, survey: &Survey, from: u64, report: &mut Report<'_>) -> Result<()> {
        let used = survey.used_from(from);
        if used == 0 {
            return Ok(());
        }
        if !self.entry.is_active() {
            let torn = &mut report.torn;
            (torn.count, torn.bytes) = (torn.count + 1, torn.bytes + used);
            (torn.file, torn.offset) = (self.name(), from);
            return Ok(());
        }
        // A writer in this run of the machine writes `live` before it acknowledges a batch, unless the log proves
        // `live` outdated.
        let limit = self.live.and_then(|live| self.log.live_limit(&live));
        if limit.is_some_and(|limit| survey.synced_upto <= limit) {
            let cause = Cause::TornTail {
                bytes: used,
                segments: 1,
                never_acknowledged: true,
            };
            return report.finding(Severity::Harmless, Damage::new(self.name(), from, cause));
        }
        let cause = Cause::UnprovenTail { bytes: used };
        report.finding(Severity::Unsure, Damage::new(self.name(), from, cause))
    }

    fn damage(&self, stop: &Stop) -> Damage {
        Damage::new(self.name(), stop.offset, stop.cause.clone())
    }
}

/// Returns the start of the next batch after the damage at `damaged`, in the batch that starts at `batch_start`, and
/// the number of the batch before it. Searches `window`, then `windows`.
fn resume(
    window: &mut Window,
    windows: &mut Windows<'_>,
    batch_start: u64,
    damaged: u64,
) -> Result<Option<(u64, u64)>> {
    loop {
        if let Some((at, seal)) = window.seals_from(damaged.max(window.base)).next() {
            if seal.start > batch_start && seal.start >= window.base {
                return Ok(Some((seal.start, seal.batch.saturating_sub(1))));
            }
            // The damaged batch ends at this seal.
            let seal_bytes = super::frame::framed_bytes(super::seal::SEAL_BYTES) as u64;
            return Ok(Some((at + seal_bytes, seal.batch)));
        }
        match windows.next()? {
            Some(next) => *window = next,
            None => return Ok(None),
        }
    }
}
