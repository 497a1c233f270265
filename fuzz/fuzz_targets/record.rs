//! The log reads segments of hostile bytes. It must return complete batches or an error, and must allocate no more than
//! it reads.

#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use treering::testing::digest::{CommitDigest, HashAlgorithm, Root};
use treering::testing::log::{BatchBuilder, CheckItem, HeadMark, Log, LogOptions, Mode, RecordKind};
use treering::testing::sim_disk::SimDisk;

const ACTIVE: &str = "log/00000001.seg";
/// The number of bytes of the segment's header, which stays intact so that the scan reads the input.
const HEADER_BYTES: usize = 64;

/// A log of three batches.
static VALID: LazyLock<SimDisk> = LazyLock::new(|| {
    let disk = SimDisk::new(1);
    let shared = Arc::new(disk.clone());
    let mut log = Log::create(
        shared,
        HashAlgorithm::Blake3,
        batch(0),
        mark(0),
        LogOptions::default(),
    )
    .expect("a log can be created on an empty disk");
    let lock = log.lock(Duration::ZERO).expect("no other handle has the lock");
    log.prepare(&lock, &mut |_| Ok(())).expect("the log is whole");
    for number in 1..3 {
        log.append(
            &lock,
            vec![(batch(number), mark(number))],
            treering::testing::log::Durability::Synced,
        )
        .expect("the disk has room");
    }
    disk
});

fn batch(number: u8) -> BatchBuilder {
    let mut batch = BatchBuilder::new();
    batch.add(RecordKind::Object, 0, &[number; 40]);
    batch.add(RecordKind::Commit, 0, &[number; 70]);
    batch
}

fn mark(number: u8) -> HeadMark {
    HeadMark {
        commit: CommitDigest::from_bytes([number; 32]),
        root: Root::from_bytes([number; 32]),
        seq: u64::from(number),
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((start, bytes)) = input.split_first_chunk::<2>() else {
        return;
    };
    let disk = VALID.copy();
    disk.overwrite(ACTIVE, |segment| {
        let start = HEADER_BYTES + usize::from(u16::from_le_bytes(*start)) % (segment.len() - HEADER_BYTES);
        for (to, from) in segment[start..].iter_mut().zip(bytes) {
            *to = *from;
        }
    });
    // Removes `live`, which contains the durable end of the log. With it, every change would be damage.
    disk.remove_file("live");
    disk.reboot();
    let disk = Arc::new(disk);
    let mut read = 0;
    if let Ok(mut log) = Log::open(disk.clone(), Mode::ReadOnly, LogOptions::default()) {
        let mut locators = Vec::new();
        let whole = log.catch_up(&mut |batch| {
            read += 1;
            locators.extend(batch.records.iter().map(|record| record.locator));
            Ok(())
        });
        let reader = log.reader();
        for locator in locators {
            reader
                .read(locator)
                .expect("a returned batch can be read again");
        }
        drop(whole);
    }
    let mut checked = 0;
    let report = Log::check(disk, LogOptions::default(), None, &mut |item| {
        checked += u32::from(matches!(item, CheckItem::Batch(_)));
        Ok(())
    });
    assert!(
        report.is_err() || checked >= read,
        "verify found {checked} batches and reading found {read}"
    );
});
