//! Tests of the log. This file contains the shared helpers. Each submodule tests one subject.

mod alone;
mod crash;
mod damage;
mod epoch;
mod first_touch;
mod layout;
mod live;
mod reads;
mod rewrite;
mod runs;
mod salvage;
mod turns;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::files::*;
use super::live::LIVE_NAME;
use super::manifest::{MANIFEST_NAME, Manifest};
use super::*;
use crate::digest::{CommitDigest, HashAlgorithm, HashSuite, Root};
use crate::disk::{Access, Disk, MemDisk};
use crate::error::{Cause, Error, ErrorCode, ErrorKind, Finding, Result, Severity};

/// Options with segments so small that a few batches cause a rotation.
const SMALL: LogOptions = LogOptions {
    segment_bytes_min: 8192,
    segment_bytes_max: 12288,
    map: true,
    degraded: false,
};

const NO_WAIT: Duration = Duration::ZERO;

/// Returns the mark of the head after batch `number`.
fn mark(number: u64) -> HeadMark {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    HeadMark {
        commit: CommitDigest::from_bytes(bytes),
        root: Root::from_bytes(bytes),
        seq: number,
    }
}

/// Creates a batch whose records contain `text`.
fn batch(text: &str) -> BatchBuilder {
    let mut builder = BatchBuilder::new();
    builder.add(RecordKind::Object, 0, text.as_bytes());
    builder.add(RecordKind::Text, 0, &vec![b'x'; text.len() * 3]);
    builder
}

fn create(disk: &Arc<dyn Disk>, options: LogOptions) -> Log {
    let created = Log::create(
        Arc::clone(disk),
        HashAlgorithm::Blake3,
        batch("batch 1"),
        mark(1),
        options,
    );
    let mut log = created.unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    log
}

/// Returns the text of a batch's first record.
fn text_of(batch: &Batch) -> String {
    batch
        .records
        .first()
        .map(|record| String::from_utf8_lossy(&record.body).into_owned())
        .unwrap_or_default()
}

/// The result of reading a log to its end.
#[derive(Debug)]
struct End {
    /// Whether all batches that were read are known to be durable.
    proven: bool,
    torn_bytes: u64,
    damage: Option<Error>,
}

impl End {
    fn of(log: &Log, tail: Tail) -> Self {
        Self {
            proven: log.durable >= log.cursor.offset,
            torn_bytes: tail.torn_bytes,
            damage: tail.damage,
        }
    }
}

/// Reads the new batches with `log` to the end of the log.
fn read_on(log: &mut Log) -> End {
    let tail = log.catch_up(&mut |_| Ok(())).unwrap();
    End::of(log, tail)
}

/// The batches and findings of a check.
struct Checked {
    numbers: Vec<u64>,
    bytes: u64,
    findings: Vec<Finding>,
}

impl Checked {
    /// Checks a whole store.
    fn of(disk: Arc<dyn Disk>, options: LogOptions, places: Option<Arc<DurablePlaces>>) -> Result<Self> {
        let (mut numbers, mut findings) = (Vec::new(), Vec::new());
        let bytes = Log::check(disk, options, places, &mut |item| {
            match item {
                CheckItem::Batch(batch) | CheckItem::Unproven(batch) => numbers.push(batch.number),
                CheckItem::Reader(_) => {}
                CheckItem::Finding(found) => findings.push(found),
            }
            Ok(())
        })?;
        Ok(Self {
            numbers,
            bytes,
            findings,
        })
    }

    fn damages(&self) -> Vec<&Cause> {
        let damages = self.findings.iter();
        let damages = damages.filter(|found| found.severity == Severity::Damage);
        damages.map(|found| &found.damage.cause).collect()
    }
}

/// Opens the store and reads it completely. Checks that batches are numbered correctly, and that a reader returns every
/// record at its locator. Returns the texts.
fn read_all(disk: &Arc<dyn Disk>, mode: Mode, options: LogOptions) -> Result<(Vec<String>, End)> {
    let (batches, tail, _) = read_batches(disk, mode, options)?;
    Ok((batches.iter().map(text_of).collect(), tail))
}

/// Reads and checks the store like [`read_all`]. Returns the batches and the number of rewrites.
fn read_batches(disk: &Arc<dyn Disk>, mode: Mode, options: LogOptions) -> Result<(Vec<Batch>, End, u32)> {
    let mut log = Log::open(Arc::clone(disk), mode, options)?;
    let mut batches = Vec::new();
    let tail = log.catch_up(&mut |batch| {
        batches.push(batch);
        Ok(())
    })?;
    let reader = log.reader();
    let mut next = 1;
    let mut may_skip = log.epoch() > 0;
    for batch in &batches {
        assert!(
            batch.number == next || batch.number > next && std::mem::take(&mut may_skip),
            "LOG-7: batch numbers rise by one: {} after {next}",
            batch.number
        );
        next = batch.number + 1;
        for record in &batch.records {
            assert_eq!(&reader.read(record.locator)?, record);
        }
    }
    let end = End::of(&log, tail);
    Ok((batches, end, log.epoch()))
}

/// Acquires the lock, catches up and appends one batch for each text.
fn append(log: &mut Log, texts: &[&str]) -> Result<Vec<Batch>> {
    let lock = log.lock(NO_WAIT)?;
    log.prepare(&lock, &mut |_| Ok(()))?;
    let next = log.newest_batch() + 1;
    let group = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (batch(text), mark(next + index as u64)))
        .collect();
    log.append(&lock, group, Durability::Synced)
}

fn expected(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("batch {number}")).collect()
}
