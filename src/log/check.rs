//! Checks a whole log by reading its files, for `verify`.
//!
//! The check reads all bytes from the files. The check uses no memory map and no cached bytes. The check continues
//! after damage, and reports all damage with file and offset.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - CHK-1: the check compares every byte of the store with a checksum, a digest or zero. The exception is bytes after
//!   the last batch of a segment, which it reports as a finding.

use std::cell::OnceCell;
use std::io;
use std::sync::Arc;

use super::batch::Batch;
#[cfg(feature = "remote")]
use super::closed::ClosedLog;
use super::files::{cannot_list, open_there};
use super::format_file::Mode;
use super::handle::{DurablePlaces, Log, LogOptions};
use super::leftovers::Unlisted;
use super::live::{LIVE_BYTES, LIVE_NAME, Live};
use super::manifest::{SegmentEntry, chained};
use super::reader::{LogReader, read_segment_header};
use super::seal::{Chain, SEAL_FRAME_BYTES};
use super::segment::{
    FIRST_OFFSET, LOG_FOLDER, SegmentEnd, is_rewrite_name, parse_segment_name, segment_name,
};
use super::walk::{Survey, Window, Windows};
use crate::disk::{Access, Disk, is_not_regular};
use crate::error::{Cause, Damage, Error, ErrorKind, Finding, OrIo as _, Result, Severity};

/// A batch or a finding, in the order of the log.
#[non_exhaustive]
pub enum CheckItem {
    /// The reader of the log, before the first batch. It reads the same files as the check.
    Reader(LogReader),
    /// A complete batch. After damage, batch numbers may be missing.
    Batch(Batch),
    /// A complete batch that no reader has seen, because it is behind the mark of `live`.
    Unproven(Batch),
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
    /// `NotFound` and `UnsupportedFormat` as in [`Log::open`], and `Io`. Damage is not an error: `visit` receives it as
    /// a finding.
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
            torn: Vec::new(),
            pending: None,
        };
        let mut log = match Self::open(disk, Mode::ReadOnly, options) {
            Ok(log) => log,
            Err(error) => return report.damage(error).map(|()| 0),
        };
        log.places = places;
        // Opens all segments of one manifest, so the segments stay readable if a rewrite replaces them. `check_all`
        // reports all damage, so this call ignores damage.
        match log.take_listed() {
            Err(error) if !error.is_damage() => return Err(error),
            _ => {}
        }
        (report.visit)(CheckItem::Reader(log.reader()))?;
        log.check_all(&mut report)?;
        Ok(report.bytes)
    }

    fn check_all(&self, report: &mut Report<'_>) -> Result<()> {
        let live = match self.read_live() {
            Err(error) if error.is_unreadable() => {
                report.error(Severity::Derived, error)?;
                None
            }
            live => {
                let live = live?;
                self.check_live(live.is_some(), report)?;
                live
            }
        };
        // Reads the durable positions before the segments, so the segments contain at least the batches that the
        // positions prove durable.
        let places = self.durable_places()?;
        let placed = places.iter().map(|place| place.offset).fold(0, u64::max);
        // A rewrite skips batch numbers, which are not missing batches.
        let mut newest = self.manifest.active().batch_before();
        for place in chained(self.manifest.entries()) {
            let checked = match self.check_segment(place, live, placed, report) {
                Err(error) if error.is_unreadable() => report.damage(error).map(|()| 0),
                checked => checked,
            };
            newest = checked?.max(newest);
        }
        self.report_pending(live, report)?;
        report.report_torn()?;
        // Of a backup or remote, the manifest knows more than the segments themselves.
        #[cfg(feature = "remote")]
        ClosedLog::check_files(&*self.disk, self.format, &mut |damage| {
            report.finding(Severity::Damage, damage)
        })?;
        self.check_folder(newest, report)?;
        match live.and_then(|live| self.misplaced(live)) {
            // If the manifest is outdated, a writer changed the log meanwhile. Then the difference is not damage.
            Some(error) if !self.is_outdated()? => report.damage(error),
            _ => Ok(()),
        }
    }

    /// Reports a missing or damaged `live`, and the bytes after its mark.
    fn check_live(&self, has_mark: bool, report: &mut Report<'_>) -> Result<()> {
        let file = open_there(&*self.disk, LIVE_NAME)?;
        let length = file.map(|file| file.length().or_io(format_args!("cannot read {LIVE_NAME}")));
        let mark = LIVE_BYTES as u64;
        let cause = match length.transpose()? {
            None => Cause::Missing,
            Some(_) if !has_mark => Cause::NoMark,
            Some(length) if length > mark => Cause::BeyondMark { bytes: length - mark },
            Some(_) => return Ok(()),
        };
        let offset = if has_mark { mark } else { 0 };
        report.finding(Severity::Derived, Damage::new(LIVE_NAME, offset, cause))
    }

    /// Reports segments that the manifest does not list, and files that do not belong to the log.
    fn check_folder(&self, newest: u64, report: &mut Report<'_>) -> Result<()> {
        for file in self.disk.list(LOG_FOLDER).map_err(cannot_list)? {
            let name = format!("{LOG_FOLDER}/{file}");
            let (severity, cause) = match parse_segment_name(&file) {
                Some((id, _)) if self.manifest.lists(id) => continue,
                Some((id, false)) => match self.unlisted(id, newest) {
                    Err(error) if error.is_unreadable() => {
                        report.error(Severity::Unsure, error)?;
                        continue;
                    }
                    Err(error) => return Err(error),
                    // A writer published the segment after the check began. Tests this after `unlisted` has read the
                    // file, because publishing may happen during that read.
                    _ if id > self.manifest.active().id && self.is_outdated()? => continue,
                    Ok(Unlisted::Newer) => (Severity::Damage, Cause::UnlistedNewer),
                    Ok(Unlisted::Left) => (Severity::Harmless, Cause::UnlistedOlder),
                    Ok(Unlisted::Foreign) => (Severity::Harmless, Cause::UnlistedForeign),
                },
                Some((_, true)) => (Severity::Harmless, Cause::Unfinished),
                None if is_rewrite_name(&file) => (Severity::Harmless, Cause::RewriteFile),
                None if self.is_segment(&name)? => (Severity::Unsure, Cause::Misnamed),
                None => (Severity::Harmless, Cause::Stray),
            };
            report.finding(severity, Damage::new(name, 0, cause))?;
        }
        Ok(())
    }

    /// Returns whether a file has the header of a segment of this store.
    fn is_segment(&self, name: &str) -> Result<bool> {
        let file = match self.disk.open(name, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_not_regular(&error) => {
                return Ok(false);
            }
            // Without permission to read the file, assumes that the file may be a segment.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(true),
            opened => opened.or_io(format_args!("cannot open {name}"))?,
        };
        match read_segment_header(&*file, name) {
            Err(error) if error.is_unreadable() => Ok(true),
            Err(error) if !error.is_corruption() => Err(error),
            header => Ok(header.is_ok_and(|header| header.instance == self.format.instance)),
        }
    }

    /// Checks a segment and returns the number of its newest batch. Derived files prove that the active segment is
    /// durable up to `placed`.
    fn check_segment(
        &self,
        (before, entry): (SegmentEnd, &SegmentEntry),
        live: Option<Live>,
        placed: u64,
        report: &mut Report<'_>,
    ) -> Result<u64> {
        let segment = match self.segment(entry.id) {
            Ok(segment) => segment,
            Err(error) => return report.damage(error).map(|()| 0),
        };
        if entry.is_active() && segment.header.previous != before {
            report.damage(segment.damage(0, Cause::NotContinued))?;
        }
        let (mut window, mut survey) = segment.read_to_end(FIRST_OFFSET, self.suite)?;
        report.bytes += window.bytes.len() as u64 + FIRST_OFFSET;
        let mut windows = segment.windows(window.end(), u64::MAX, self.suite)?;
        // For a sealed segment, the manifest contains the durable length.
        let (limit, mut durable, placed) = if entry.is_active() {
            let marked = live.filter(|live| live.segment == entry.id);
            let marked = marked.map_or(FIRST_OFFSET, |live| live.offset);
            (u64::MAX, marked.max(FIRST_OFFSET), placed)
        } else {
            (entry.length, entry.length, 0)
        };
        let (mut at, mut chain) = (FIRST_OFFSET, segment.chain_from((before, entry)));
        let (mut newest, mut is_surveyed) = (0, false);
        let mut seen_upto = live.and_then(|live| self.live_limit(live));
        while at < limit {
            let overtaken = OnceCell::new();
            let mut walk = window.batches(at..limit, chain);
            let mut stop = None;
            for found in &mut walk {
                match found {
                    Ok(scanned) => {
                        newest = scanned.batch.number;
                        survey.synced_upto = survey.synced_upto.max(scanned.synced_upto);
                        if entry.is_active() && seen_upto.is_some_and(|upto| scanned.end > upto) {
                            seen_upto = self.seen_upto(live, &window, &overtaken)?;
                        }
                        let unseen = seen_upto.filter(|upto| entry.is_active() && scanned.end > *upto);
                        match unseen {
                            None => (report.visit)(CheckItem::Batch(scanned.batch))?,
                            Some(upto) => report.unseen(scanned.batch, upto)?,
                        }
                    }
                    Err(found) => stop = Some(found),
                }
            }
            (at, chain) = (walk.at, walk.chain);
            // The seals of the batches so far prove only bytes before these batches durable.
            if !is_surveyed {
                is_surveyed = true;
                survey.add(&window, at.min(limit));
                if entry.is_active() {
                    durable = durable.max(survey.synced_upto);
                }
            }
            match stop {
                None => {}
                Some(stop) if at >= durable.max(placed) && !stop.cause.is_of_newer_version() => {
                    self.report_unused(entry, live, &survey, at, report)?;
                    return Ok(newest);
                }
                // Only zeros follow, so no byte here is damaged. Batches that derived files cover are lost; the
                // comparison with the checkpoint reports this loss.
                Some(_) if at >= durable && survey.used_from(at) == 0 => return Ok(newest),
                Some(stop) => {
                    report.damage(segment.damage(stop.offset, stop.cause))?;
                    match resume(&mut window, &mut windows, at, stop.offset)? {
                        Some(next) if at < durable.max(placed) => (at, chain) = next,
                        _ => return Ok(newest),
                    }
                }
            }
        }
        if at != entry.length || chain != entry.end_chain() && chain.digest.is_some() {
            report.damage(segment.damage(entry.length, Cause::LastBatch))?;
        }
        self.report_unused(entry, live, &survey, limit, report)?;
        Ok(newest)
    }

    /// Returns the offset in the active segment up to which readers read, as [`Log::catch_up`] determines it. Returns
    /// `None` if they read every complete batch. `window` contains the active segment. `overtaken` keeps what a search of
    /// its seals found, so that one search serves all batches of an unproven tail.
    fn seen_upto(
        &self,
        live: Option<Live>,
        window: &Window,
        overtaken: &OnceCell<bool>,
    ) -> Result<Option<u64>> {
        let Some(limit) = live.and_then(|live| self.live_limit(live)) else {
            return Ok(None);
        };
        let search = || window.seals_from(limit).any(|(_, seal)| seal.synced_upto > limit);
        let is_overtaken = *overtaken.get_or_init(search);
        Ok((!is_overtaken || self.read_live()? != live).then_some(limit))
    }

    /// Reports the batches that no reader has seen, unless their writer has acknowledged them meanwhile.
    fn report_pending(&self, live: Option<Live>, report: &mut Report<'_>) -> Result<()> {
        match report.pending {
            Some((offset, batches)) if self.read_live()? == live => {
                let name = segment_name(self.manifest.active().id);
                let damage = Damage::new(name, offset, Cause::Pending { batches });
                report.finding(Severity::Harmless, damage)
            }
            _ => Ok(()),
        }
    }

    /// Reports the bytes of a segment after its last batch.
    fn report_unused(
        &self,
        entry: &SegmentEntry,
        live: Option<Live>,
        survey: &Survey,
        from: u64,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let (name, bytes) = (segment_name(entry.id), survey.used_from(from));
        if bytes == 0 {
            return Ok(());
        }
        if !entry.is_active() {
            report.torn.push((name, from, bytes));
            return Ok(());
        }
        // During one boot, a writer updates `live` before it acknowledges a batch. So bytes after the mark were never
        // acknowledged, unless the log proves that `live` is outdated.
        let limit = live.and_then(|live| self.live_limit(live));
        let (severity, cause) = if limit.is_some_and(|limit| survey.synced_upto <= limit) {
            (Severity::Harmless, Cause::UnacknowledgedTail { bytes })
        } else {
            (Severity::Unsure, Cause::UnprovenTail { bytes })
        };
        report.finding(severity, Damage::new(name, from, cause))
    }
}

struct Report<'a> {
    visit: &'a mut dyn FnMut(CheckItem) -> Result<()>,
    /// The number of bytes of segments that were read.
    bytes: u64,
    /// The torn tails of sealed segments: file, offset and length.
    torn: Vec<(String, u64, u64)>,
    /// The batches of the active segment that no reader has seen: the offset of the first one, and their number.
    pending: Option<(u64, u64)>,
}

impl Report<'_> {
    /// Passes on a batch of the active segment behind `seen_upto`, which no reader has seen.
    fn unseen(&mut self, batch: Batch, seen_upto: u64) -> Result<()> {
        let (_, batches) = self.pending.get_or_insert((seen_upto, 0));
        *batches += 1;
        (self.visit)(CheckItem::Unproven(batch))
    }

    fn finding(&mut self, severity: Severity, damage: Damage) -> Result<()> {
        (self.visit)(CheckItem::Finding(Finding { severity, damage }))
    }

    /// Reports the damage in `error` as a finding. Returns an error that is not damage.
    fn damage(&mut self, error: Error) -> Result<()> {
        self.error(Severity::Damage, error)
    }

    fn error(&mut self, severity: Severity, error: Error) -> Result<()> {
        match error.damage() {
            Some(damage) if error.kind() != ErrorKind::Io || error.is_unreadable() => {
                self.finding(severity, damage.clone())
            }
            _ => Err(error),
        }
    }

    /// Reports all torn tails in a single finding, because each recovery leaves a torn tail.
    fn report_torn(&mut self) -> Result<()> {
        let damage = match self.torn.as_slice() {
            [] => return Ok(()),
            [(file, offset, bytes)] => Damage::new(file, *offset, Cause::TornTail { bytes: *bytes }),
            torn => {
                let (bytes, segments) = (torn.iter().map(|torn| torn.2).sum(), torn.len() as u64);
                Damage::new(LOG_FOLDER, 0, Cause::TornTails { bytes, segments })
            }
        };
        self.finding(Severity::Harmless, damage)
    }
}

/// Finds the next batch after damage. The damage is at `damaged`, in the batch that starts at `batch_start`. Searches
/// `window`, then `windows`, for a seal. Returns the offset of the next batch and the chain before it.
fn resume(
    window: &mut Window,
    windows: &mut Windows<'_>,
    batch_start: u64,
    damaged: u64,
) -> Result<Option<(u64, Chain)>> {
    loop {
        if let Some((at, seal)) = window.seals_from(damaged.max(window.base)).next() {
            // The seal may belong to the damaged batch, whose start is lost. Then the next batch follows the seal.
            return Ok(Some(if seal.start > batch_start && seal.start >= window.base {
                (seal.start, Chain::before(seal.batch))
            } else {
                (at + SEAL_FRAME_BYTES, Chain::before(seal.batch.saturating_add(1)))
            }));
        }
        match windows.next()? {
            Some(next) => *window = next,
            None => return Ok(None),
        }
    }
}
