//! Tests files with holes: the extents that are read together, and data after a hole.

use super::*;
use crate::disk::{DiskFile, FileDisk};
use crate::log::frame::FrameSeed;
use crate::log::walk::{Origin, Windows};

const SEGMENT: &str = "log/00000001.seg";

/// Returns the number of bytes in each extent of a file.
fn kept(file: &dyn DiskFile) -> Vec<usize> {
    let seed = FrameSeed::new(&[0; 16], &[0; 16]);
    let origin = Origin {
        segment: 1,
        seed,
        suite: HashSuite::new(HashAlgorithm::Blake3),
    };
    let mut windows = Windows::new(file, SEGMENT.to_owned(), origin, 0..file.length().unwrap());
    std::iter::from_fn(|| windows.next().unwrap().map(|window| window.bytes.len())).collect()
}

fn written_at(disk: &Arc<dyn Disk>, offset: u64, bytes: &[u8]) {
    disk.open(SEGMENT, Access::ReadWrite)
        .unwrap()
        .write_at(offset, bytes)
        .unwrap();
}

fn checked(disk: &Arc<dyn Disk>) -> (Vec<u64>, Vec<Finding>) {
    let checked = Checked::of(Arc::clone(disk), LogOptions::default(), None).unwrap();
    (checked.numbers, checked.findings)
}

/// Returns the number of complete batches that salvage finds, and its findings.
fn saved(disk: &Arc<dyn Disk>) -> (u64, Vec<Finding>) {
    let wreck = DamagedLog::open(Arc::clone(disk)).unwrap();
    let mut whole = 0;
    let found = wreck.pieces(&[], &mut |piece, _| {
        whole += u64::from(piece.whole);
        Ok(())
    });
    (whole, found.unwrap())
}

#[test]
fn run_2_what_is_kept_goes_by_what_is_there() {
    let disk = MemDisk::new();
    let file = disk.create("holes").unwrap();
    for step in 1..=32 {
        file.write_at((step << 20) - 1, b"x").unwrap();
    }
    let kept = kept(&*file);
    assert_eq!(kept.len(), 32);
    assert!(kept.iter().all(|bytes| *bytes <= 4096 + 512), "{kept:?}");
}

#[test]
fn run_1_zeros_within_a_batch_are_read_with_it() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let mut log = create(&disk, LogOptions::default());
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let mut zeros = batch("batch 2");
    // Places frame headers at every possible offset in a page, and across the page's end.
    for number in 0..300 {
        zeros.add(RecordKind::Content, 0, &vec![0; (64 << 10) + 16 * number]);
    }
    log.append(&lock, vec![(zeros, mark(2))], Durability::Synced)
        .unwrap();
    log.append(&lock, vec![(batch("batch 3"), mark(3))], Durability::Synced)
        .unwrap();
    drop(lock);
    for live in [true, false] {
        if !live {
            disk.remove(LIVE_NAME).unwrap();
        }
        let (texts, _) = read_all(&disk, Mode::ReadOnly, LogOptions::default()).unwrap();
        assert_eq!(texts, expected(3));
        assert_eq!(checked(&disk).0, [1, 2, 3]);
        assert_eq!(saved(&disk), (3, Vec::new()));
    }
}

#[test]
fn a_byte_far_behind_the_log_takes_no_memory_and_is_told() {
    const FAR: u64 = 1 << 29;
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(folder.path().join("store")).unwrap());
    let mut log = create(&disk, LogOptions::default());
    append(&mut log, &["batch 2", "batch 3"]).unwrap();
    drop(log);
    written_at(&disk, FAR, b"x");
    disk.remove(LIVE_NAME).unwrap();
    let mut log = Log::open(Arc::clone(&disk), Mode::ReadOnly, LogOptions::default()).unwrap();
    let tail = log.catch_up(&mut |_| Ok(())).unwrap();
    let end = log.position().offset;
    assert_eq!((log.newest_batch(), tail.torn_bytes), (3, FAR + 1 - end));
    let segment = log.segment(1).unwrap();
    let (window, _) = segment.read_to_end(4096, log.suite).unwrap();
    assert!(window.end() < end + 4096, "{}", window.end());
    let (numbers, findings) = checked(&disk);
    assert_eq!(numbers, [1, 2, 3]);
    let told = Finding::new(
        Severity::Unsure,
        "log/00000001.seg",
        end,
        Cause::UnprovenTail { bytes: FAR + 1 - end },
    );
    assert!(findings.contains(&told), "{findings:?}");
    assert_eq!(saved(&disk), (3, vec![told]));
}

#[test]
fn a_hole_in_what_was_durable_is_damage_and_what_stands_behind_it_is_found() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let mut log = create(&disk, LogOptions::default());
    let first = log.position().offset;
    append(&mut log, &[&"batch 2 ".repeat(1000)]).unwrap();
    let second = log.position().offset;
    for text in ["batch 3", "batch 4"] {
        append(&mut log, &[text]).unwrap();
    }
    drop(log);
    disk.remove(LIVE_NAME).unwrap();
    written_at(&disk, first, &vec![0; (second - first) as usize]);
    let error = read_all(&disk, Mode::ReadOnly, LogOptions::default())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.damage().unwrap().offset, Some(first), "{error}");
    let (numbers, findings) = checked(&disk);
    assert_eq!(numbers, [1, 3, 4], "{findings:?}");
    assert!(
        findings
            .iter()
            .any(|found| found.severity == Severity::Damage && found.damage.offset == Some(first)),
        "{findings:?}"
    );
}
