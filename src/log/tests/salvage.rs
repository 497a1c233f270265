//! Tests that salvage finds all complete batches, even with a wrong manifest and with files of different lengths.

use super::*;
use crate::disk::{Access, FileDisk, read_full};
use crate::log::format_file::FORMAT_NAME;
use crate::log::live::{LIVE_NAME, Live};
use crate::log::manifest::SegmentEntry;

/// Returns the first text of each piece, the number of incomplete pieces, and the findings.
fn pieces(disk: &Arc<dyn Disk>) -> (Vec<String>, usize, Vec<Finding>) {
    let wreck = DamagedLog::open(Arc::clone(disk)).unwrap();
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

/// Returns every order of `count` items.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = orders(last).into_iter();
    let inserted = shorter.flat_map(|order| {
        (0..count).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    });
    inserted.collect()
}

#[test]
fn whatever_the_segments_are_named_all_of_them_is_found() {
    let (base, log, count) = log_of(4);
    let sealed: std::collections::BTreeSet<_> =
        log.manifest.sealed().iter().map(|entry| entry.length).collect();
    assert!(sealed.len() > 1, "of different lengths: {sealed:?}");
    drop(log);
    let contents: Vec<Vec<u8>> = (1..=4).map(|id| bytes_of(&base, &segment_name(id))).collect();
    let named = |names: &[String], lost: &[&str], headless: Option<usize>| {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        for name in [FORMAT_NAME, MANIFEST_NAME, LIVE_NAME] {
            if let Some(bytes) = read_small(&*base, name, 1 << 20)
                .unwrap()
                .filter(|_| !lost.contains(&name))
            {
                disk.create(name).unwrap().write_at(0, &bytes).unwrap();
            }
        }
        for (number, (name, bytes)) in names.iter().zip(&contents).enumerate() {
            let file = disk.create(name).unwrap();
            file.write_at(0, bytes).unwrap();
            if headless == Some(number) {
                file.write_at(0, &[0; 4096]).unwrap();
            }
        }
        let (mut texts, broken, found) = pieces(&disk);
        texts.sort_by_key(|text| text.strip_prefix("batch ").unwrap().parse::<usize>().unwrap());
        texts.dedup();
        (texts, broken, found)
    };
    for lost in [&[][..], &[MANIFEST_NAME], &[MANIFEST_NAME, LIVE_NAME]] {
        for order in orders(4) {
            let exchanged: Vec<_> = order.iter().map(|at| segment_name(*at as u64 + 1)).collect();
            let (texts, broken, found) = named(&exchanged, lost, None);
            assert_eq!(
                (texts, broken),
                (expected(count), 0),
                "{order:?} without {lost:?}: {found:?}"
            );
            let damage = found.iter().find(|found| found.severity == Severity::Damage);
            assert_eq!(damage, None, "{order:?} without {lost:?}");
            // Salvage identifies a file with a damaged header by its name, and uses its whole content.
            let (texts, _, found) = named(&exchanged, lost, Some(1));
            assert_eq!(texts, expected(count), "{order:?} without {lost:?}: {found:?}");
        }
        let strange: Vec<_> = (1..=4).map(|number| format!("log/#{number}")).collect();
        let (texts, broken, _) = named(&strange, lost, None);
        assert_eq!(
            (texts, broken),
            (expected(count), 0),
            "strange names without {lost:?}"
        );
    }
    // Salvage reports that it ignored a file with neither the name nor the header of a segment.
    let mut strange: Vec<_> = (1..=4).map(segment_name).collect();
    strange[1] = "log/#2".to_owned();
    let (texts, _, found) = named(&strange, &[], Some(1));
    assert!(texts.len() < count, "{texts:?}");
    let passed = found.iter().find(|found| found.damage.file == "log/#2").unwrap();
    assert_eq!(passed.severity, Severity::Unsure, "{passed:?}");
}

/// Creates a log of several segments. Also returns the number of its batches.
fn log_of(segments: usize) -> (Arc<dyn Disk>, Log, usize) {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let mut log = create(&disk, SMALL);
    let mut count = 1;
    while log.manifest.entries().count() < segments {
        count += 1;
        append(&mut log, &[&format!("batch {count}")]).unwrap();
    }
    (disk, log, count)
}

fn bytes_of(disk: &Arc<dyn Disk>, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    read_full(&*file, 0, &mut bytes).unwrap();
    bytes
}

/// Copies a log of four segments, without the `lost` files, and with `files` added or replaced.
fn copy_with(base: &Arc<dyn Disk>, lost: &[&str], files: &[(&str, &[u8])]) -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let segments = (1..=4).map(segment_name);
    let names = segments.chain([FORMAT_NAME, MANIFEST_NAME, LIVE_NAME].map(str::to_owned));
    for name in names.filter(|name| !lost.contains(&name.as_str())) {
        if files.iter().all(|(other, _)| *other != name) {
            let bytes = bytes_of(base, &name);
            disk.create(&name).unwrap().write_at(0, &bytes).unwrap();
        }
    }
    for (name, bytes) in files {
        disk.create(name).unwrap().write_at(0, bytes).unwrap();
    }
    disk
}

fn damaged(found: &[Finding]) -> Vec<&str> {
    let damage = found.iter().filter(|found| found.severity == Severity::Damage);
    damage.map(|found| found.damage.file.as_str()).collect()
}

#[test]
fn a_segment_that_another_one_was_copied_over_is_named() {
    let (base, ..) = log_of(4);
    for lost in [&[][..], &[LIVE_NAME]] {
        for over in (1..=4).map(segment_name) {
            for copied in (1..=4).map(segment_name).filter(|copied| *copied != over) {
                let disk = copy_with(&base, lost, &[(&over, &bytes_of(&base, &copied))]);
                let (_, _, found) = pieces(&disk);
                assert_eq!(damaged(&found), [over.as_str()], "{copied} without {lost:?}");
            }
        }
    }
    // A segment of another log is harmless if the manifest does not list its number. But if that segment replaces a
    // listed segment, the listed segment is missing.
    let (other, ..) = log_of(5);
    let over = segment_name(2);
    let disk = copy_with(&base, &[], &[(&over, &bytes_of(&other, &segment_name(5)))]);
    assert_eq!(damaged(&pieces(&disk).2), [over.as_str()]);
}

#[test]
fn a_segment_without_header_and_batches_is_unsure_where_no_manifest_tells_its_content() {
    let (base, log, _) = log_of(4);
    drop(log);
    let last = segment_name(4);
    for bytes in [&[7; 172][..], &[0; 172], &[]] {
        let disk = copy_with(&base, &[MANIFEST_NAME, LIVE_NAME], &[(last.as_str(), bytes)]);
        let (_, _, found) = pieces(&disk);
        let of_last = found.iter().find(|finding| finding.damage.file == last);
        let of_last = of_last.map(|finding| (finding.severity, &finding.damage.cause));
        assert_eq!(of_last, Some((Severity::Unsure, &Cause::Unreadable)), "{found:?}");
    }
}

#[test]
fn an_older_copy_beside_a_segment_is_no_damage() {
    let (base, mut log, mut count) = log_of(3);
    // Adds three copies: an older copy of the newest segment, the same copy with a damaged end, and the first 8,192
    // bytes of a sealed segment.
    let (sealed, newest) = (segment_name(3), segment_name(4));
    while log.manifest.entries().count() < 4 {
        count += 1;
        append(&mut log, &[&format!("batch {count}")]).unwrap();
    }
    let older = bytes_of(&base, &newest);
    let mut torn = older.clone();
    let end = torn.iter().rposition(|byte| *byte != 0).unwrap();
    torn[end] ^= 1;
    count += 1;
    append(&mut log, &[&format!("batch {count}")]).unwrap();
    let place = Position {
        segment: 4,
        offset: Live::decode(&bytes_of(&base, LIVE_NAME)).unwrap().offset,
        ..Position::START
    };
    let (old_name, torn_name) = (format!("{newest}.bak"), format!("{newest}.part"));
    let half = bytes_of(&base, &sealed)[..8192].to_vec();
    let half_name = format!("{sealed}.bak");
    for lost in [
        &[][..],
        &[MANIFEST_NAME],
        &[LIVE_NAME],
        &[MANIFEST_NAME, LIVE_NAME],
    ] {
        let copies = [
            (old_name.as_str(), older.as_slice()),
            (torn_name.as_str(), torn.as_slice()),
            (half_name.as_str(), half.as_slice()),
        ];
        let disk = copy_with(&base, lost, &copies);
        for places in [&[][..], &[place]] {
            let wreck = DamagedLog::open(Arc::clone(&disk)).unwrap();
            let found = wreck.pieces(places, &mut |_, _| Ok(())).unwrap();
            let wrong = found.iter().find(|found| found.severity != Severity::Derived);
            assert_eq!(wrong, None, "without {lost:?}, by {places:?}");
        }
        // The original is damaged, so salvage uses the batches in the copy.
        let mut damaged = bytes_of(&base, &sealed);
        damaged[4096..].fill(0);
        let whole = bytes_of(&base, &sealed);
        let disk = copy_with(&base, lost, &[(&sealed, &damaged), (&half_name, &whole)]);
        let (mut texts, ..) = pieces(&disk);
        texts.sort_by_key(|text| text.strip_prefix("batch ").unwrap().parse::<usize>().unwrap());
        texts.dedup();
        assert_eq!(texts, expected(count), "without {lost:?}");
    }
}

/// Returns the processor time of this thread in nanoseconds.
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
    let wreck = DamagedLog::open(Arc::clone(&disk)).unwrap();
    let found = wreck.pieces(&[], &mut |_, _| Ok(())).unwrap();
    let missing = found
        .iter()
        .filter(|found| found.damage.cause == Cause::SegmentMissing);
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
    // Zeros replace the second batch.
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
            .any(|found| found.severity == Severity::Damage && found.damage.offset <= Some(at)),
        "{found:?}"
    );
    assert!(
        found.iter().all(|found| found.damage.file == "log/00000001.seg"),
        "{found:?}"
    );
}

#[test]
fn a_record_is_saved_although_its_padding_is_damaged() {
    let (base, ..) = log_of(4);
    let name = segment_name(1);
    let mut bytes = bytes_of(&base, &name);
    let text = "batch 2";
    let at = bytes
        .windows(7)
        .position(|found| found == text.as_bytes())
        .unwrap();
    assert_eq!(bytes[at + text.len()], 0, "the padding");
    bytes[at + text.len()] = 1;
    let (texts, broken, found) = pieces(&copy_with(&base, &[], &[(&name, &bytes)]));
    let (all, _, _) = pieces(&base);
    assert_eq!((texts, broken), (all, 1));
    let told = found.iter().map(|found| found.damage.cause.clone());
    assert_eq!(told.collect::<Vec<_>>(), [Cause::Padding]);
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

#[test]
fn of_two_stores_in_one_folder_without_a_format_file_that_of_most_bytes_is_saved() {
    let of = |seed: u64, batches: usize| {
        let disk = crate::testing::sim_disk::SimDisk::new(seed);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut log = create(&shared, SMALL);
        for number in 2..=batches {
            append(&mut log, &[&format!("batch {number}")]).unwrap();
        }
        disk
    };
    // Tests both orders of two random instances.
    for seed in 2..10 {
        let (large, small) = (of(1, 90), of(seed, 2));
        for name in ["format", "manifest", "live"] {
            large.remove_file(name);
        }
        large.put_file("log/00000099.seg", small.files()["log/00000001.seg"].clone());
        let (texts, ..) = pieces(&(Arc::new(large) as Arc<dyn Disk>));
        assert_eq!(texts, expected(90), "seed {seed}");
    }
}
