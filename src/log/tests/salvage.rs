//! Salvage of the log: what is whole is found, whatever the manifest and the lengths of files say.

use super::*;
use crate::disk::FileDisk;
use crate::log::manifest::SegmentEntry;

/// The first texts of all pieces, and how many are not whole.
fn pieces(disk: &Arc<dyn Disk>) -> (Vec<String>, usize, Vec<Finding>) {
    let wreck = Wreck::open(Arc::clone(disk)).unwrap();
    let (mut texts, mut broken) = (Vec::new(), 0);
    let found = wreck.pieces(&[], &mut |piece, _| {
        broken += usize::from(!piece.whole);
        for record in &piece.records {
            assert_eq!(&wreck.read(record.locator)?, record);
        }
        texts.extend(
            piece
                .records
                .first()
                .map(|record| String::from_utf8_lossy(&record.body).into_owned()),
        );
        Ok(())
    });
    (texts, broken, found.unwrap())
}

/// Nanoseconds of processor time that this thread took.
fn worked() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    told.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_large_segment_that_is_hardly_used_is_gone_through_once() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let options = LogOptions {
        segment_bytes_min: 64 << 20,
        ..LogOptions::default()
    };
    let mut log = create(&disk, options);
    for number in 2..=400 {
        append(&mut log, &[&format!("batch {number}")]).unwrap();
    }
    let before = worked();
    let (texts, broken, found) = pieces(&disk);
    assert_eq!((texts.len(), broken, found), (400, 0, Vec::new()));
    assert!(worked() - before < 4_000_000_000, "{} ns", worked() - before);
}

#[test]
fn a_manifest_of_many_missing_segments_is_gone_through_once() {
    const MANY: u64 = 60_000;
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let log = create(&disk, LogOptions::default());
    let sealed = |id| SegmentEntry {
        length: 8_192,
        last_batch: id,
        ..SegmentEntry::active(id, id)
    };
    let manifest = Manifest::new(
        log.format.instance,
        MANY,
        0,
        (1..MANY).map(sealed).collect(),
        SegmentEntry::active(MANY, MANY),
    );
    crate::disk::replace(&*disk, MANIFEST_NAME, &manifest.encode()).unwrap();
    let before = worked();
    let wreck = Wreck::open(Arc::clone(&disk)).unwrap();
    let found = wreck.pieces(&[], &mut |_, _| Ok(())).unwrap();
    let missing = found.iter().filter(|found| found.message.contains("is missing"));
    assert_eq!(missing.count() as u64, MANY - 1);
    assert!(worked() - before < 1_500_000_000, "{} ns", worked() - before);
}

#[test]
fn what_stands_behind_more_zeros_than_a_record_may_have_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(folder.path().join("store")).unwrap());
    let mut log = create(
        &disk,
        LogOptions {
            segment_bytes_min: 256 << 20,
            ..LogOptions::default()
        },
    );
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let mut long = batch("batch 2");
    for _ in 0..3 {
        long.add(RecordKind::Content, 0, &vec![b'y'; 30 << 20]);
    }
    log.append(&lock, vec![(long, mark(2))], Durability::Synced)
        .unwrap();
    log.append(&lock, vec![(batch("batch 3"), mark(3))], Durability::Synced)
        .unwrap();
    assert_eq!(pieces(&disk), (expected(3), 0, Vec::new()));
    // Zeros now stand where the second batch was.
    let path = folder.path().join("store/log/00000001.seg");
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(7).position(|found| found == b"batch 2").unwrap() as u64 - 32;
    let end = bytes.windows(7).position(|found| found == b"batch 3").unwrap() as u64 - 32;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    for at in (at..end).step_by(1 << 20) {
        let zeros = vec![0; (end - at).min(1 << 20) as usize];
        std::os::unix::fs::FileExt::write_all_at(&file, &zeros, at).unwrap();
    }
    let (texts, broken, found) = pieces(&disk);
    assert_eq!(
        (texts, broken),
        (vec!["batch 1".to_owned(), "batch 3".to_owned()], 0)
    );
    assert!(
        found
            .iter()
            .any(|found| found.severity == Severity::Damage && found.offset <= at),
        "{found:?}"
    );
    assert!(
        found.iter().all(|found| found.file == "log/00000001.seg"),
        "{found:?}"
    );
}

#[test]
fn a_manifest_with_numbers_that_cannot_be_counted_on_is_refused() {
    let sealed = SegmentEntry {
        length: 8_192,
        last_batch: 1,
        ..SegmentEntry::active(1, 1)
    };
    let of = |generation, epoch, sealed: SegmentEntry, first| {
        let manifest = Manifest::new(
            [1; 16],
            generation,
            epoch,
            vec![sealed],
            SegmentEntry::active(9, first),
        );
        Manifest::decode(&manifest.encode()).is_ok()
    };
    assert!(of(2, 0, sealed, 2) && of(9, 1, sealed, 7));
    assert!(!of(u64::MAX, 0, sealed, 2));
    assert!(!of(u64::MAX, u32::MAX, sealed, 2));
    assert!(!of(9, u32::MAX, sealed, 2));
    assert!(!of(9, 1, sealed, u64::MAX));
    let long = SegmentEntry {
        length: u64::MAX - 15,
        ..sealed
    };
    assert!(!of(9, 1, long, 2));
    let last = SegmentEntry {
        last_batch: u64::MAX - 1,
        ..sealed
    };
    assert!(!of(9, 1, last, u64::MAX));
}
