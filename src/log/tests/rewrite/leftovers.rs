//! Tests the files of an interrupted rewrite and their removal, and mixtures of old and new files.

use super::*;
use crate::log::leftovers::Unlisted;
use crate::testing::sim_disk::Fault;

#[test]
fn a_rewrite_that_was_cut_off_before_its_manifest_is_a_leftover_for_readers_checks_and_the_next_rewrite() {
    let (disk, mut log) = store();
    rewrite_all(&mut log).unwrap();
    // The second rewrite writes more batches than the first rewrite left, but not more than the last batch number
    // allows.
    let mut rewrite = begin(&mut log).unwrap();
    for number in 1..=80 {
        let text = format!("batch {number} again");
        rewrite.push(batch(&text), mark(BATCHES as u64).commit).unwrap();
    }
    let rewritten = rewrite.finish().unwrap();
    let lock = at_end(&mut log).unwrap();
    let seen = segments(&disk).len();
    let crashed = disk.clone();
    disk.observe(Arc::new(move |now| {
        if now.files().keys().any(|name| name == "manifest.tmp") {
            crashed.observe_no_more();
            crashed.crash_at(crashed.calls() + 1);
        }
    }));
    log.publish(&lock, rewritten).unwrap_err();
    drop((lock, log));
    let left = disk.crash_image(CrashImage::Everything);
    assert!(segments(&left).len() > seen, "{:?}", segments(&left));
    let before = texts(&left);
    assert_eq!(before.len(), BATCHES / 2 + 1);
    let found = findings(&left);
    assert!(found.len() > 2);
    assert!(
        found.iter().all(|(severity, _)| *severity == Severity::Harmless),
        "{found:?}"
    );
    left.put_file("log/rewrite-1.tmp", vec![7; 9000]);
    let mut log = Log::open(shared(&left), Mode::ReadWrite, SMALL).unwrap();
    rewrite_all(&mut log).unwrap();
    assert_eq!((texts(&left).len(), log.epoch()), (before.len() / 2 + 1, 2));
    assert_eq!(findings(&left), []);
}

#[test]
fn a_full_disk_leaves_no_file_of_a_rewrite_and_the_log_as_it_was() {
    let (disk, mut log) = store();
    // Counts the disk calls of a rewrite after its start. The faults below occur at these calls, so the start succeeds.
    let calls = {
        let copy = disk.copy();
        let mut log = Log::open(shared(&copy), Mode::ReadWrite, SMALL).unwrap();
        let mut rewrite = begin(&mut log).unwrap();
        let first = copy.calls();
        fill(&log, &mut rewrite).unwrap();
        rewrite.finish().unwrap();
        copy.calls() - first
    };
    assert!(calls > 5);
    log.catch_up(&mut |_| Ok(())).unwrap();
    for fault in [Fault::Full, Fault::Device, Fault::ShortWrite] {
        let mut failed = 0;
        for call in 1..=calls {
            let disk = disk.copy();
            let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
            let mut rewrite = begin(&mut log).unwrap();
            disk.fail_at(disk.calls() + call, fault);
            let filled = fill(&log, &mut rewrite);
            if filled.is_err() {
                let poisoned = rewrite.push(batch("more"), mark(1).commit).unwrap_err();
                assert_eq!(poisoned.kind(), ErrorKind::Poisoned);
            }
            let finished = filled.and_then(|_| rewrite.finish().map(|_| ()));
            let Err(error) = finished else { continue };
            failed += 1;
            assert_eq!(error.kind(), ErrorKind::Io, "{fault:?} at {call}");
            assert_eq!(texts(&disk), expected(BATCHES));
            let left: Vec<_> = segments(&disk)
                .into_iter()
                .filter(|name| name.contains("rewrite"))
                .collect();
            assert_eq!(left, [""; 0], "RWR-4: {fault:?} at {call}");
            append(&mut log, &["goes on"]).unwrap();
        }
        assert!(failed > 4, "{failed}");
    }
}

#[test]
fn what_crashes_left_is_named_harmless_and_removed_by_the_next_writer() {
    let (disk, mut log) = store();
    let old = disk.files();
    rewrite_all(&mut log).unwrap();
    append(&mut log, &["behind"]).unwrap();
    drop(log);
    let before = texts(&disk);
    // Simulates a crash before the removal of the old segments. One old segment ends in a torn batch, whose seal
    // contains a batch number that the log never reached.
    for (name, content) in old.iter().filter(|(name, _)| name.starts_with("log/")) {
        disk.put_file(name, content.clone());
    }
    let torn = torn_tail(&disk);
    disk.put_file("log/00000002.seg", torn);
    disk.put_file("log/00000077.seg.tmp", vec![7; 5000]);
    disk.put_file("log/rewrite-3.tmp", vec![7; 5000]);
    disk.put_file("log/notes.txt", vec![7; 10]);
    assert_eq!(texts(&disk), before);
    let found = findings(&disk);
    assert_eq!(
        found.len(),
        segments(&disk).len() - manifest_of(&disk).entries().count()
    );
    assert!(
        found.iter().all(|(severity, _)| *severity == Severity::Harmless),
        "{found:?}"
    );
    let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    append(&mut log, &["after"]).unwrap();
    let listed = manifest_of(&disk).entries().count();
    let left = findings(&disk);
    assert_eq!(left, [(Severity::Harmless, "log/notes.txt".to_owned())]);
    assert_eq!(segments(&disk).len(), listed + 1);
    let lost = disk.crash_image(CrashImage::Nothing);
    assert_eq!(
        segments(&lost),
        segments(&disk),
        "the removal of the names must be durable"
    );
}

fn manifest_of(disk: &SimDisk) -> Manifest {
    Manifest::decode(&disk.files()["manifest"]).unwrap()
}

/// Returns the old segment 2, with a complete batch of number 10,000 after its end.
fn torn_tail(disk: &SimDisk) -> Vec<u8> {
    let mut bytes = disk.files()["log/00000002.seg"].clone();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
    let start = end.next_multiple_of(16);
    let header = segment::SegmentHeader::decode(&bytes).unwrap();
    let after = batch::Continue {
        segment: 2,
        seed: header.seed(),
        start,
        synced_upto: start,
        chain: seal::Chain {
            batch: 9_999,
            ..seal::Chain::START
        },
    };
    let group = vec![(batch("torn"), mark(1).commit)];
    let (torn, _) = batch::encode_group(group, HashSuite::new(HashAlgorithm::Blake3), after).unwrap();
    bytes.truncate(start as usize);
    bytes.extend_from_slice(&torn);
    bytes
}

#[test]
fn lef_2_a_rewrite_under_way_keeps_its_files_whoever_writes() {
    let (disk, mut log) = store();
    let mut rewrite = begin(&mut log).unwrap();
    fill(&log, &mut rewrite).unwrap();
    let mut other = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    append(&mut other, &["meanwhile"]).unwrap();
    assert!(segments(&disk).contains(&"log/rewrite-1.tmp".to_owned()));
    let rewritten = rewrite.finish().unwrap();
    let lock = at_end(&mut log).unwrap();
    log.publish(&lock, rewritten).unwrap();
    assert_eq!(texts(&disk).last().unwrap(), "meanwhile");
}

#[test]
fn lef_1_a_segment_with_newer_batches_is_damage_and_stays() {
    let (disk, mut log) = store();
    rewrite_all(&mut log).unwrap();
    let old_manifest = disk.files()["manifest"].clone();
    let live = disk.files()["live"].clone();
    while manifest_of(&disk).sealed().len() < 5 {
        append(&mut log, &["newer"]).unwrap();
    }
    for keep_live in [true, false] {
        let disk = disk.copy();
        disk.put_file("manifest", old_manifest.clone());
        disk.put_file("live", live.clone());
        if !keep_live {
            disk.remove_file("live");
        }
        let before = disk.files();
        let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
        let refused = append(&mut log, &["on"]).unwrap_err();
        assert!(refused.is_corruption(), "{refused:?}");
        assert_eq!(disk.files(), before);
        assert!(
            findings(&disk)
                .iter()
                .any(|(severity, _)| *severity == Severity::Damage)
        );
    }
}

#[test]
fn old_and_new_files_in_each_others_place_are_damage() {
    let (disk, mut log) = store();
    let old = disk.files();
    rewrite_all(&mut log).unwrap();
    append(&mut log, &["behind"]).unwrap();
    drop(log);
    let new = disk.files();
    let entries: Vec<u64> = manifest_of(&disk).entries().map(|entry| entry.id).collect();
    let refuses = |disk: &SimDisk, name: &str, what: &str| {
        for mode in [Mode::ReadOnly, Mode::ReadWrite] {
            let refused = read_all(&shared(disk), mode, SMALL).unwrap_err();
            assert!(refused.is_corruption(), "{what}: {refused:?}");
            assert!(refused.message().contains(name), "{what}: {refused}");
        }
        let before = disk.files();
        let mut log = Log::open(shared(disk), Mode::ReadWrite, SMALL).unwrap();
        assert!(append(&mut log, &["on"]).unwrap_err().is_corruption(), "{what}");
        assert_eq!(disk.files(), before, "{what}: nothing was changed");
        assert!(
            findings(disk)
                .iter()
                .any(|(severity, _)| *severity == Severity::Damage),
            "{what}"
        );
    };
    // Gives an old segment the name of a new segment.
    for id in &entries {
        let changed = disk.copy();
        changed.put_file(&segment_name(*id), old["log/00000001.seg"].clone());
        refuses(&changed, &segment_name(*id), "an old segment");
    }
    // Exchanges two new segments.
    let changed = disk.copy();
    let (first, second) = (segment_name(entries[0]), segment_name(entries[1]));
    changed.put_file(&first, new[&second].clone());
    changed.put_file(&second, new[&first].clone());
    refuses(&changed, &first, "two new segments swapped");
    // Combines the old manifest with the new segments.
    for keep_live in [true, false] {
        let changed = disk.copy();
        changed.put_file("manifest", old["manifest"].clone());
        if !keep_live {
            changed.remove_file("live");
        }
        let what = if keep_live { "manifest" } else { "log/0000000" };
        refuses(&changed, what, "an old manifest");
        // The result is the same if the old segments also exist.
        for (name, content) in old.iter().filter(|(name, _)| name.starts_with("log/")) {
            changed.put_file(name, content.clone());
        }
        refuses(&changed, "manifest", "an old manifest and all segments");
    }
    // Readers treat an outdated `live` as missing.
    let changed = disk.copy();
    changed.put_file("live", old["live"].clone());
    assert_eq!(texts(&changed), texts(&disk));
    let mut log = Log::open(shared(&changed), Mode::ReadWrite, SMALL).unwrap();
    append(&mut log, &["on"]).unwrap();
    assert_eq!(texts(&changed).last().unwrap(), "on");
    // Readers report an outdated `live` as damage if it names a removed segment and a batch after the rewritten part.
    let changed = disk.copy();
    changed.overwrite("live", |bytes| {
        bytes[56..64].copy_from_slice(&1_u64.to_le_bytes());
        bytes[72..80].copy_from_slice(&(BATCHES as u64 + 1).to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..252]).to_le_bytes();
        bytes[252..].copy_from_slice(&checksum);
    });
    let refused = read_all(&shared(&changed), Mode::ReadOnly, SMALL).unwrap_err();
    assert!(
        refused.is_corruption() && refused.message().contains("manifest"),
        "{refused}"
    );
}

#[test]
fn a_leftover_that_cannot_be_removed_is_said() {
    let disk = SimDisk::new(31);
    create(&shared(&disk), SMALL);
    disk.put_file("log/00000077.seg.tmp", vec![7; 5000]);
    disk.put_file("log/rewrite-3.tmp", vec![7; 5000]);
    let mut failed = 0;
    for call in 1.. {
        let copy = disk.copy();
        copy.fail_at(copy.calls() + call, Fault::Device);
        let mut log = Log::open(shared(&copy), Mode::ReadWrite, SMALL).unwrap();
        let appended = append(&mut log, &["batch 2"]);
        let has_failed = copy.has_failed();
        if !copy.heal() {
            break;
        }
        assert_eq!(appended.is_err(), has_failed, "call {call}");
        failed += u64::from(has_failed);
        let mut log = Log::open(shared(&copy), Mode::ReadWrite, SMALL).unwrap();
        append(&mut log, &["on"]).unwrap();
        assert!(
            !segments(&copy).iter().any(|name| name.contains(".tmp")),
            "call {call}"
        );
    }
    assert!(failed > 4, "{failed}");
}

#[test]
fn a_segment_that_is_gone_when_it_is_looked_at_was_left() {
    let (disk, log) = store();
    let newest = log.newest_batch();
    assert_eq!(log.unlisted(999, newest).unwrap(), Unlisted::Left);
    disk.put_file("log/00000999.seg", vec![7; 5000]);
    assert_eq!(log.unlisted(999, newest).unwrap(), Unlisted::Foreign);
}

#[test]
fn the_highest_number_that_a_name_can_have_stops_no_writer() {
    let (disk, mut log) = store();
    let name = format!("log/{:08}.seg", u32::MAX);
    disk.put_file(&name, vec![7; 5000]);
    let segments = log.size().0;
    while log.size().0 <= segments + 1 {
        append(&mut log, &["more"]).unwrap();
    }
    // With this file, no segment number is free. Appending fails as soon as the log needs the next segment.
    disk.put_file(&format!("log/{:08}.seg", u32::MAX - 1), vec![7; 5000]);
    let before = texts(&disk).len();
    let mut appended = 0;
    let refused = loop {
        match append(&mut log, &["more"]) {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
    };
    assert!(refused.message().contains("segment numbers"), "{refused:?}");
    assert_eq!(texts(&disk).len(), before + appended);
}

/// A forked child does not remove the files of a rewrite. INVARIANT RWR-4 applies only to the process that rewrites.
#[test]
fn a_forked_child_that_drops_a_rewrite_takes_no_file_of_its_parent() {
    let (disk, mut log) = store();
    let mut rewrite = begin(&mut log).unwrap();
    fill(&log, &mut rewrite).unwrap();
    let written = segments(&disk);
    assert!(written.contains(&"log/rewrite-1.tmp".to_owned()));
    disk.set_process(2);
    drop(rewrite);
    assert_eq!(segments(&disk), written);
}
