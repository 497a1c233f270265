//! Tests damaged, truncated, exchanged, foreign and missing files. The log returns an error or a prefix of its batches,
//! but never wrong data and never an empty store.

use super::*;
use crate::disk::FileDisk;
use crate::log::walk::FOLLOWED;
use crate::testing::is_thorough;
use crate::testing::sim_disk::SimDisk;

/// Creates a store of several small segments. Returns the store with the number of its batches.
fn store() -> (SimDisk, usize) {
    let disk = SimDisk::new(11);
    let mut log = create(&shared(&disk), SMALL);
    while log.size().0 < 3 {
        let next = log.newest_batch() + 1;
        append(&mut log, &[&format!("batch {next}")]).unwrap();
    }
    for _ in 0..2 {
        let next = log.newest_batch() + 1;
        append(&mut log, &[&format!("batch {next}")]).unwrap();
    }
    let count = usize::try_from(log.newest_batch()).unwrap();
    (disk, count)
}

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn read(disk: &SimDisk) -> Result<Vec<String>> {
    read_all(&shared(disk), Mode::ReadOnly, SMALL).map(|(texts, _)| texts)
}

fn findings(disk: &SimDisk) -> Vec<Finding> {
    Checked::of(shared(disk), SMALL, None).unwrap().findings
}

fn has(findings: &[Finding], severity: Severity, file: &str) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == severity && finding.damage.file == file)
}

fn assert_corrupt(disk: &SimDisk, what: &str) {
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let error = read_all(&shared(disk), mode, SMALL)
            .map(|(texts, _)| texts.len())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error:?}");
    }
    let before = disk.files();
    let refused =
        Log::open(shared(disk), Mode::ReadWrite, SMALL).and_then(|mut log| append(&mut log, &["new"]));
    assert_eq!(
        refused.map(|made| made.len()).unwrap_err().kind(),
        ErrorKind::Corrupt,
        "{what}: writing is refused"
    );
    assert!(disk.files() == before, "{what}: nothing was changed");
    let created = Log::create(shared(disk), HashAlgorithm::Blake3, batch("new"), mark(1), SMALL);
    assert!(created.is_err(), "{what}");
    assert!(disk.files() == before, "CRE-1: {what}: nothing was changed");
}

fn active(disk: &SimDisk) -> String {
    disk.files()
        .keys()
        .rfind(|name| name.starts_with("log/"))
        .unwrap()
        .clone()
}

/// Returns the end of the batches in a segment.
fn used(content: &[u8]) -> usize {
    content
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

#[test]
fn every_bit_of_a_store_is_right_or_refused_or_unused() {
    let (disk, count) = store();
    let whole = expected(count);
    let files = disk.files();
    let base = MemDisk::new();
    for (name, content) in &files {
        base.create(name).unwrap().write_at(0, content).unwrap();
    }
    let disk: Arc<dyn Disk> = Arc::new(base.clone());
    let options = LogOptions { map: false, ..SMALL };
    let mut refused = 0;
    for (name, content) in &files {
        let end = used(content).next_multiple_of(512).min(content.len());
        let file = base.open(name, Access::ReadWrite).unwrap();
        for at in (0..end).chain((end..content.len()).step_by(97)) {
            // A checksum sees each bit alike, so a normal run changes one bit of each byte. A single checksum covers the
            // zeros of a segment header.
            let header = name.starts_with("log/") && (128..4088).contains(&at);
            let all = is_thorough() && !header;
            for bit in (0..8).filter(|bit| all || *bit == at % 8) {
                file.write_at(at as u64, &[content[at] ^ (1 << bit)]).unwrap();
                let what = format!("{name}, byte {at}, bit {bit}");
                match read_all(&disk, Mode::ReadOnly, options) {
                    Ok((texts, tail)) => {
                        assert!(texts == whole, "{what}: {} batches", texts.len());
                        let unused = name.starts_with("log/") && at >= used(content);
                        assert!(unused || name == "live", "{what}: no checksum covers this byte");
                        assert!(tail.proven || name == "live", "{what}");
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error:?}");
                        refused += 1;
                    }
                }
            }
            file.write_at(at as u64, &[content[at]]).unwrap();
        }
    }
    assert!(
        refused > if is_thorough() { 20_000 } else { 5_000 },
        "{refused} flips were refused"
    );
    assert_eq!(read_all(&disk, Mode::ReadOnly, options).unwrap().0, whole);
}

#[test]
fn chk_1_check_finds_every_damaged_byte_and_goes_on_behind_it() {
    let (disk, count) = store();
    for (name, content) in disk.files() {
        for at in (0..content.len()).step_by(61) {
            let changed = disk.copy();
            changed.overwrite(&name, |bytes| bytes[at] ^= 0x55);
            let found = findings(&changed);
            let what = format!("{name}, byte {at}: {found:?}");
            let unused = name.starts_with("log/") && at >= used(&content);
            if name == "live" {
                assert!(has(&found, Severity::Derived, "live"), "{what}");
            } else if unused {
                assert!(has(&found, Severity::Harmless, &name), "{what}");
                assert!(!has(&found, Severity::Damage, &name), "{what}");
            } else {
                assert!(has(&found, Severity::Damage, &name), "{what}");
            }
        }
    }
    // Damages two segments. The check reports both damaged segments, and reads the batches between them.
    disk.overwrite("log/00000001.seg", |bytes| bytes[4096 + 40] ^= 1);
    disk.overwrite("log/00000002.seg", |bytes| bytes[4096 + 40] ^= 1);
    let checked = Checked::of(shared(&disk), SMALL, None).unwrap();
    assert_eq!(checked.damages().len(), 2);
    assert_eq!(checked.numbers.len(), count - 2, "{:?}", checked.numbers);
}

#[test]
fn wlk_2_a_check_follows_each_batch_of_a_damaged_segment_a_few_times() {
    const BATCHES: usize = 2_000;
    for (distance, most) in [(usize::MAX, 1), (1, 1), (2, 2), (50, 3), (700, 3)] {
        let disk = SimDisk::new(3);
        let mut log = create(&shared(&disk), LogOptions::default());
        let texts: Vec<String> = (2..=BATCHES).map(|number| format!("batch {number:5}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let batches = append(&mut log, &texts).unwrap();
        let damaged: Vec<&Batch> = batches.iter().skip(1).step_by(distance).collect();
        for batch in &damaged {
            // A byte of a body, which only the check of the whole batch finds.
            let at = batch.records[1].locator.offset() as usize + 40;
            disk.overwrite(&active(&disk), |bytes| bytes[at] ^= 1);
        }
        FOLLOWED.set(0);
        let checked = Checked::of(shared(&disk), LogOptions::default(), None).unwrap();
        assert_eq!(checked.damages().len(), damaged.len());
        assert_eq!(checked.numbers.len(), BATCHES - damaged.len());
        let followed = FOLLOWED.get();
        assert!(
            followed <= most * BATCHES + damaged.len(),
            "one of {distance} batches damaged: {followed} followed"
        );
    }
}

#[test]
fn the_active_segment_cut_at_every_byte_serves_what_is_below_the_cut_or_refuses() {
    let (disk, count) = store();
    let name = active(&disk);
    let content = disk.files()[&name].clone();
    let end = used(&content);
    for live in [true, false] {
        let base = disk.copy();
        if !live {
            base.remove_file("live");
        }
        let mut served = std::collections::BTreeSet::new();
        for cut in (0..content.len()).filter(|cut| (4000..end + 64).contains(cut) || cut % 113 == 0) {
            base.put_file(&name, content[..cut].to_vec());
            match read(&base) {
                Ok(texts) => {
                    assert_eq!(texts, expected(texts.len()), "cut at {cut}");
                    // With `live`, all bytes before the end are known to be durable. Without `live`, the last seal
                    // proves this for all batches except the last batch.
                    assert!(
                        texts.len() == count || !live && texts.len() < count,
                        "cut at {cut}: {}",
                        texts.len()
                    );
                    assert!(texts.len() < count || cut >= end, "cut at {cut}");
                    served.insert(texts.len());
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "cut at {cut}: {error:?}"),
            }
        }
        assert!(served.contains(&count));
        assert_eq!(served.len() > 1, !live, "{served:?}");
    }
}

#[test]
fn the_newest_batch_alone_is_unproven_without_live_and_below_it_damage_is_refused() {
    let (disk, count) = store();
    disk.remove_file("live");
    let name = active(&disk);
    let end = used(&disk.files()[&name]);
    let (_, tail) = read_all(&shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    assert!(!tail.proven);
    let torn = disk.copy();
    torn.overwrite(&name, |bytes| bytes[end - 1] ^= 1);
    let (texts, tail) = read_all(&shared(&torn), Mode::ReadOnly, SMALL).unwrap();
    assert_eq!(texts, expected(count - 1));
    assert!(tail.torn_bytes > 100);
    assert!(
        findings(&torn)
            .iter()
            .all(|finding| finding.severity != Severity::Damage)
    );
    // The writer puts the next batch into a new segment. The torn bytes stay in the old segment, and are harmless.
    let mut log = Log::open(shared(&torn), Mode::ReadWrite, SMALL).unwrap();
    append(&mut log, &[&format!("batch {count}")]).unwrap();
    assert_eq!(read(&torn).unwrap(), expected(count));
    assert!(has(&findings(&torn), Severity::Harmless, &name));
    assert!(
        findings(&torn)
            .iter()
            .all(|finding| finding.severity != Severity::Damage)
    );
    // If the damaged byte is in the previous batch, the seal of the newest batch proves that the byte was durable.
    let damaged = disk.copy();
    damaged.overwrite(&name, |bytes| bytes[4096 + 33] ^= 1);
    assert_corrupt(&damaged, "damage in the previous batch");
}

#[test]
fn missing_swapped_old_and_foreign_files_are_never_taken_for_an_empty_or_shorter_store() {
    let (disk, _) = store();
    let (other, _) = {
        let other = SimDisk::new(99);
        let mut log = create(&shared(&other), SMALL);
        while log.size().0 < 3 {
            append(&mut log, &["other"]).unwrap();
        }
        (other, 0)
    };
    let files = disk.files();
    for name in files.keys().filter(|name| *name != "live") {
        let changed = disk.copy();
        changed.remove_file(name);
        assert_corrupt(&changed, &format!("{name} is missing"));
        let changed = disk.copy();
        changed.put_file(name, Vec::new());
        assert_corrupt(&changed, &format!("{name} is empty"));
        let changed = disk.copy();
        changed.put_file(name, other.files()[name].clone());
        assert_corrupt(&changed, &format!("{name} is of another store"));
    }
    let swapped = disk.copy();
    swapped.put_file("log/00000001.seg", files["log/00000002.seg"].clone());
    swapped.put_file("log/00000002.seg", files["log/00000001.seg"].clone());
    assert_corrupt(&swapped, "two segments are swapped");
    let zeroed = disk.copy();
    zeroed.overwrite("log/00000002.seg", |bytes| bytes[4096..].fill(0));
    assert_corrupt(&zeroed, "a sealed segment is zero");
}

#[test]
fn an_older_manifest_or_segment_put_back_is_refused() {
    let disk = SimDisk::new(3);
    let mut log = create(&shared(&disk), SMALL);
    let mut earlier = Vec::new();
    while log.size().0 < 3 {
        earlier.push(disk.files());
        let next = log.newest_batch() + 1;
        append(&mut log, &[&format!("batch {next}")]).unwrap();
    }
    for old in &earlier {
        for name in ["manifest", "log/00000001.seg", "log/00000002.seg"] {
            let Some(content) = old.get(name).filter(|content| **content != disk.files()[name]) else {
                continue;
            };
            for live in [true, false] {
                let changed = disk.copy();
                if !live {
                    changed.remove_file("live");
                }
                changed.put_file(name, content.clone());
                assert_corrupt(
                    &changed,
                    &format!("{name} as it was with {} files, live: {live}", old.len()),
                );
            }
        }
    }
}

#[test]
fn a_segment_that_a_crash_left_unlisted_is_harmless() {
    let (disk, count) = store();
    let mut orphan = disk.files()["log/00000002.seg"].clone();
    orphan[4096..].fill(0);
    disk.put_file("log/00000009.seg", orphan);
    disk.put_file("log/00000010.seg.tmp", vec![1; 100]);
    disk.put_file("log/notes.txt", vec![1; 100]);
    assert_eq!(read(&disk).unwrap(), expected(count));
    let found = findings(&disk);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|finding| finding.severity == Severity::Harmless));
    // The log does not reuse the number of the lost batch.
    disk.reboot();
    let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    append(&mut log, &[&format!("batch {}", count + 1)]).unwrap();
    assert_eq!(active(&disk), "log/notes.txt");
    assert!(disk.files().contains_key("log/00000011.seg"), "MAN-3");
}

/// Only salvage reads a segment under another name, so a person must learn of it.
#[test]
fn a_segment_under_another_name_is_no_stray_file() {
    let (disk, _) = store();
    let other = SimDisk::new(12);
    drop(create(&shared(&other), SMALL));
    for (name, content) in [
        ("log/old.seg.bak", disk.files()["log/00000002.seg"].clone()),
        ("log/other.seg.bak", other.files()["log/00000001.seg"].clone()),
        ("log/notes.txt", vec![1; 100]),
    ] {
        disk.put_file(name, content);
    }
    let found = findings(&disk);
    let of = |name: &str| {
        let mut found = found.iter().filter(|finding| finding.damage.file == name);
        found
            .next()
            .map(|finding| (finding.severity, &finding.damage.cause))
            .unwrap()
    };
    assert!(matches!(
        of("log/old.seg.bak"),
        (Severity::Unsure, Cause::Misnamed)
    ));
    for stray in ["log/other.seg.bak", "log/notes.txt"] {
        assert!(matches!(of(stray), (Severity::Harmless, Cause::Stray)), "{stray}");
    }
}

#[test]
fn degraded_reading_serves_what_is_before_the_damage_and_tells() {
    let (disk, count) = store();
    disk.overwrite("log/00000002.seg", |bytes| bytes[4096 + 40] ^= 1);
    let options = LogOptions {
        degraded: true,
        ..SMALL
    };
    let (texts, tail) = read_all(&shared(&disk), Mode::ReadOnly, options).unwrap();
    assert!(!texts.is_empty() && texts.len() < count);
    assert_eq!(texts, expected(texts.len()));
    let damage = tail.damage.unwrap();
    assert!(damage.is_corruption());
    let place = damage.damage().unwrap();
    assert_eq!(
        (place.file.as_str(), place.offset),
        ("log/00000002.seg", Some(4096))
    );
    let refused = Log::open(shared(&disk), Mode::ReadWrite, options).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    // The check and `holds` report the damage, even if the handle is degraded.
    let checked = Checked::of(shared(&disk), options, None).unwrap();
    assert_eq!(checked.findings, findings(&disk));
    assert!(has(&checked.findings, Severity::Damage, "log/00000002.seg"));
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, options).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    assert!(!log.holds(&log.position()).unwrap());
}

#[test]
fn a_store_from_the_future_is_refused_and_not_touched() {
    let (disk, _) = store();
    let change = |from: usize, bytes: &[u8]| {
        let changed = disk.copy();
        changed.overwrite("format", |format| {
            format[from..from + bytes.len()].copy_from_slice(bytes);
            let checksum = crc32c::crc32c(&format[..124]);
            format[124..].copy_from_slice(&checksum.to_le_bytes());
        });
        // The log ignores other changes of a future version.
        changed.put_file("manifest", b"a manifest of format 9".to_vec());
        changed
    };
    let cases = [
        (change(12, &9_u32.to_le_bytes()), "min_reader"),
        (change(32, &2_u64.to_le_bytes()), "an incompatible feature"),
        (change(40, &[9]), "a hash"),
        (change(41, &[1]), "a cipher"),
    ];
    for (store, what) in cases {
        let before = store.files();
        for mode in [Mode::ReadOnly, Mode::ReadWrite] {
            let refused = Log::open(shared(&store), mode, SMALL).err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::UnsupportedFormat, "FMT-1: {what}");
        }
        let refused = Log::create(
            shared(&store),
            HashAlgorithm::Blake3,
            batch("new"),
            mark(1),
            SMALL,
        )
        .err()
        .unwrap();
        assert_eq!(refused.kind(), ErrorKind::UnsupportedFormat, "{what}");
        assert!(store.files() == before, "{what}");
    }
    let readable = disk.copy();
    readable.overwrite("format", |format| {
        format[24] = 1;
        let checksum = crc32c::crc32c(&format[..124]);
        format[124..].copy_from_slice(&checksum.to_le_bytes());
    });
    Log::open(shared(&readable), Mode::ReadOnly, SMALL).unwrap();
    let refused = Log::open(shared(&readable), Mode::ReadWrite, SMALL)
        .err()
        .unwrap();
    assert_eq!(refused.kind(), ErrorKind::UnsupportedFormat);
}

/// Appends a batch with one frame of `kind`, like a future version may do.
fn append_kind(log: &mut Log, kind: u8) -> Vec<Batch> {
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let mut builder = batch("with more");
    builder.add(RecordKind::Ignorable(kind), 0, b"from the future");
    log.append(
        &lock,
        vec![(builder, mark(log.newest_batch() + 1))],
        Durability::Synced,
    )
    .unwrap()
}

#[test]
fn ignorable_kinds_are_skipped_and_kept_by_recovery_and_reserved_ones_refused() {
    let disk = SimDisk::new(2);
    let mut log = create(&shared(&disk), SMALL);
    let records = &append_kind(&mut log, 0x80)[0].records;
    assert_eq!(records.len(), 3);
    assert_eq!(records[2].kind, RecordKind::Ignorable(0x80));
    disk.remove_file("live");
    disk.reboot();
    let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    append(&mut log, &["batch 3"]).unwrap();
    let files = disk.files();
    let recovered = &files["log/00000002.seg"];
    assert!(
        recovered.windows(15).any(|window| window == b"from the future"),
        "recovery moved the batch"
    );
    assert_eq!(read(&disk).unwrap(), ["batch 1", "with more", "batch 3"]);
    for kind in [13, 15, 0x7f] {
        let disk = SimDisk::new(2);
        let mut log = create(&shared(&disk), SMALL);
        append_kind(&mut log, kind);
        assert_eq!(
            read(&disk).unwrap_err().kind(),
            ErrorKind::UnsupportedFormat,
            "kind {kind}"
        );
    }
}

#[test]
fn a_copied_store_opens_and_goes_on() {
    let (disk, count) = store();
    let copy = SimDisk::new(1);
    for (name, content) in disk.files() {
        copy.put_file(&name, content);
    }
    let mut log = Log::open(shared(&copy), Mode::ReadWrite, SMALL).unwrap();
    append(&mut log, &[&format!("batch {}", count + 1)]).unwrap();
    assert_eq!(read(&copy).unwrap(), expected(count + 1));
}

#[test]
fn a_folder_without_a_store_is_not_found_and_an_unfinished_creation_is_finished() {
    let empty = SimDisk::new(1);
    assert_eq!(read(&empty).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(empty.files().is_empty(), "LOG-6");
    let cut = SimDisk::new(1);
    create(&shared(&cut), SMALL);
    assert_eq!(
        read(&unfinished(&cut, &["format"])).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let cut = unfinished(&cut, &["format"]);
    assert_eq!(read(&cut).unwrap_err().kind(), ErrorKind::NotFound);
    create(&shared(&cut), SMALL);
    assert_eq!(read(&cut).unwrap(), expected(1));
    let again = Log::create(
        shared(&cut),
        HashAlgorithm::Blake3,
        batch("again"),
        mark(1),
        SMALL,
    )
    .err()
    .unwrap();
    assert_eq!(
        (again.kind(), again.code()),
        (ErrorKind::InvalidInput, ErrorCode::StoreExists)
    );
    assert_eq!(read(&cut).unwrap(), expected(1));
}

#[test]
fn creation_refuses_a_log_file_without_a_marker() {
    for (name, code) in [
        ("log/00000007.seg", ErrorCode::Corrupt),
        ("log/00000001.seg.tmp", ErrorCode::Exists),
        ("log/00000007.seg.tmp", ErrorCode::Exists),
    ] {
        let disk = SimDisk::new(1);
        disk.put_file(name, b"no header".to_vec());
        let before = disk.files();
        let made = Log::create(
            shared(&disk),
            HashAlgorithm::Blake3,
            batch("batch 1"),
            mark(1),
            SMALL,
        );
        assert_eq!(made.err().unwrap().code(), code, "CRE-2: {name}");
        assert!(disk.files() == before, "CRE-2: {name}");
    }
}

#[test]
fn locators_that_name_no_record_are_refused() {
    let (disk, _) = store();
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let reader = log.reader();
    for segment in 0..4_u64 {
        for offset in 0..800_u64 {
            if let Ok(record) = reader.read(Locator::from_u64(segment << 32 | offset)) {
                assert!(!record.body.is_empty());
            }
        }
    }
    assert!(
        reader
            .read(Locator::from_u64(1 << 32))
            .unwrap_err()
            .is_corruption()
    );
    assert!(reader.read(Locator::from_u64(u64::MAX)).is_err());
    // The log never contained a segment 99, so only a damaged checkpoint can name it.
    let unknown = reader.read(Locator::from_u64(99 << 32 | 256)).unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::CheckpointDamaged, "{unknown:?}");
}

/// Changes a byte in the body of the first frame of segment 1, and corrects both checksums of the frame.
fn forge_first_body(disk: &SimDisk) {
    disk.overwrite("log/00000001.seg", |bytes| {
        let header = segment::SegmentHeader::decode(bytes).unwrap();
        let frame = &mut bytes[4096..4096 + 48];
        frame[32] ^= 1;
        frame::finish_frame(frame, header.seed(), 4096, 1).unwrap();
    });
}

#[test]
fn a_forged_record_with_right_checksums_does_not_match_the_digest_of_its_batch() {
    let (disk, _) = store();
    forge_first_body(&disk);
    assert_corrupt(&disk, "SEA-1: a forged record");
    let found = findings(&disk);
    assert!(
        found
            .iter()
            .any(|finding| finding.damage.cause == Cause::BatchDigest),
        "{found:?}"
    );
}

#[test]
fn a_manifest_that_names_another_last_batch_is_refused() {
    let (disk, _) = store();
    // Changes the digest of the first entry, and corrects the checksum of the file.
    disk.overwrite("manifest", |bytes| {
        bytes[40 + 32] ^= 1;
        let covered = bytes.len() - 4;
        let checksum = crc32c::crc32c(&bytes[..covered]);
        bytes[covered..].copy_from_slice(&checksum.to_le_bytes());
    });
    assert_corrupt(&disk, "the manifest names another batch");
    let found = findings(&disk);
    assert!(has(&found, Severity::Damage, "log/00000001.seg"), "{found:?}");
}

#[test]
fn a_record_that_is_damaged_after_it_was_scanned_is_not_handed_out() {
    let (disk, _) = store();
    let options = LogOptions { map: false, ..SMALL };
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, options).unwrap();
    let mut first = None;
    log.catch_up(&mut |batch| {
        first.get_or_insert(batch.records[0].locator);
        Ok(())
    })
    .unwrap();
    let locator = first.unwrap();
    assert_eq!(&*log.reader().read(locator).unwrap().body, b"batch 1");
    disk.overwrite("log/00000001.seg", |bytes| bytes[4096 + 33] ^= 1);
    let refused = log.reader().read(locator).unwrap_err();
    assert!(refused.is_corruption(), "RDR-1: {refused:?}");
    let place = refused.damage().unwrap();
    assert_eq!(
        (place.file.as_str(), place.offset),
        ("log/00000001.seg", Some(4096))
    );
}

/// Returns the files of a creation that was interrupted before it wrote the files in `lost`.
fn unfinished(disk: &SimDisk, lost: &[&str]) -> SimDisk {
    let disk = disk.copy();
    disk.put_file("format.tmp", disk.files()["format"].clone());
    for name in lost {
        disk.remove_file(name);
    }
    disk
}

#[test]
fn what_is_left_of_a_store_is_never_taken_for_an_unfinished_creation() {
    let disk = SimDisk::new(1);
    let mut log = create(&shared(&disk), SMALL);
    let first = disk.copy();
    append(&mut log, &["batch 2"]).unwrap();
    let without = |disk: &SimDisk, lost: &[&str]| {
        let disk = disk.copy();
        for name in lost {
            disk.remove_file(name);
        }
        disk
    };
    let segment = "log/00000001.seg";
    for lost in [
        &["format", segment][..],
        &["format", segment, "live"],
        &["format", segment, "manifest"],
        &["format", "manifest", "live"],
    ] {
        assert_corrupt(&without(&disk, lost), &format!("without {lost:?}"));
        let left = without(&disk, lost);
        let before = left.files();
        let made = Log::create(
            shared(&left),
            HashAlgorithm::Blake3,
            batch("batch 1"),
            mark(1),
            SMALL,
        );
        assert!(made.err().unwrap().is_corruption(), "CRE-2: without {lost:?}");
        assert!(left.files() == before, "CRE-2: without {lost:?}");
    }
    // Foreign files whose names sort before or after the segments must not make the store appear empty.
    for stray in ["log/.DS_Store", "log/#12", "log/00000001.old", "log/~"] {
        for lost in [
            &["format", "live"][..],
            &["format", "live", "manifest"],
            &["format", segment],
        ] {
            let left = without(&disk, lost);
            left.put_file(stray, b"of somebody else".to_vec());
            assert_corrupt(&left, &format!("{stray} and no {lost:?}"));
        }
        let left = unfinished(&first, &["format", "live"]);
        left.put_file(stray, b"of somebody else".to_vec());
        assert_eq!(read(&left).unwrap_err().kind(), ErrorKind::NotFound, "{stray}");
    }
    // Simulates the files that an interrupted creation leaves.
    for lost in [
        &["format"][..],
        &["format", "live"],
        &["format", "live", "manifest"],
    ] {
        let left = unfinished(&first, lost);
        create(&shared(&left), SMALL);
        assert_eq!(read(&left).unwrap(), expected(1));
        // Without `format.tmp`, the same files are a damaged store.
        assert_corrupt(&without(&first, lost), &format!("no {lost:?}"));
    }
}

#[test]
fn a_folder_that_took_the_place_of_the_manifest_is_told_by_who_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(folder.path()).unwrap());
    let mut log = create(&disk, SMALL);
    let manifest = folder.path().join("manifest");
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    std::fs::remove_file(&manifest).unwrap();
    std::fs::create_dir(&manifest).unwrap();
    let mut write = |number: u64| {
        let group = vec![(batch(&format!("batch {number}")), mark(number))];
        log.append(&lock, group, Durability::Synced).err()
    };
    // Finds the first batch that does not fit into the segment.
    let refused = (2..200).find_map(&mut write).unwrap();
    let damage = refused.damage().unwrap();
    assert_eq!(
        (damage.file.as_str(), &damage.cause),
        (
            "manifest",
            &Cause::NotRegular {
                wanted: "regular file"
            }
        )
    );
}
