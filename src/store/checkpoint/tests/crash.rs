//! Tests crashes and failures at every call of writing a checkpoint, and damage before the file is read back.

use std::collections::BTreeSet;

use super::*;
use crate::error::ErrorCode;
use crate::testing::sim_disk::{CrashImage, Fault, ReadFault, SimDisk};

/// Creates a disk with the second of two checkpoints. Also returns three fixtures and the expected answers of each.
fn prepared() -> (SimDisk, Vec<Fixture>, Vec<Vec<String>>) {
    let disk = SimDisk::new(1);
    let fixtures: Vec<Fixture> = (0..3).map(|seed| Fixture::new(seed, 60, 5)).collect();
    let answers = fixtures.iter().map(Fixture::answers).collect();
    fixtures[0].write(&disk, &NoSource).unwrap();
    fixtures[1].write(&disk, &NoSource).unwrap();
    (disk, fixtures, answers)
}

fn names(disk: &SimDisk) -> Vec<String> {
    disk.files().into_keys().collect()
}

/// Panics unless the newest checkpoint is undamaged. Returns its number.
fn assert_usable(disk: &SimDisk, answers: &[Vec<String>], what: &str) -> u64 {
    let (found, findings) = open_newest(disk, log_id(), true).unwrap();
    assert!(findings.is_empty(), "{what}: {findings:?}");
    let found = found.unwrap_or_else(|| panic!("{what}: none is left"));
    let refused = assert_never_wrong(&found, &answers[found.number() as usize - 1], what);
    assert_eq!(refused, 0, "{what}");
    let findings = check(disk, log_id(), &mut |_| Ok(())).unwrap();
    let derived = findings.iter().find(|found| found.severity != Severity::Harmless);
    assert_eq!(derived, None, "{what}");
    found.number()
}

#[test]
fn ckw_1_a_crash_leaves_checkpoints_that_are_whole() {
    let (disk, fixtures, answers) = prepared();
    let mut outcomes = BTreeSet::new();
    let calls = {
        let copy = disk.copy();
        fixtures[2].write(&copy, &NoSource).unwrap();
        copy.calls()
    };
    assert!(calls > 6, "{calls}");
    for call in 1..=calls {
        let disk = disk.copy();
        disk.crash_at(call);
        let ended = fixtures[2].write(&disk, &NoSource);
        assert!(
            ended.is_err() || call > calls - 3,
            "only a failed removal may be ignored"
        );
        let images = [
            CrashImage::Killed,
            CrashImage::Nothing,
            CrashImage::Everything,
            CrashImage::ExtentWithoutData,
            CrashImage::DataWithoutExtent,
            CrashImage::NamesWithoutContents,
            CrashImage::ContentsWithoutNames,
        ];
        let prefixes = (0..disk.last_write_bytes()).step_by(777);
        let images = images
            .into_iter()
            .chain(prefixes.map(CrashImage::LastWritePrefix))
            .chain((0..20).map(CrashImage::Sectors));
        for image in images {
            let what = format!("crash at call {call}, {image:?}");
            let after = disk.crash_image(image);
            let number = assert_usable(&after, &answers, &what);
            // The old checkpoints must stay until the new checkpoint is durable.
            assert!(number == 3 || call < calls - 1, "{what}");
            outcomes.insert(number);
            // The next write succeeds and leaves no extra file.
            fixtures[2].write(&after, &NoSource).unwrap();
            let files = list(&after).unwrap();
            assert!(files.iter().all(|file| file.is_finished), "{what}: {files:?}");
            assert_eq!(files.len(), 1, "{what}");
        }
    }
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn ckp_2_a_failure_leaves_no_new_file() {
    let (disk, fixtures, answers) = prepared();
    let before = names(&disk);
    let mut ended_well = 0;
    for call in 1.. {
        let mut was_met = false;
        for fault in Fault::ALL {
            let disk = disk.copy();
            disk.fail_at(call, fault);
            let written = fixtures[2].write(&disk, &NoSource);
            let what = format!("{fault:?} at call {call}");
            if !disk.heal() {
                continue;
            }
            was_met = true;
            match written {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{what}: {error:?}");
                    assert_eq!(names(&disk), before, "{what}");
                    assert_eq!(assert_usable(&disk, &answers, &what), 2);
                }
                // Writing may ignore only a failed removal of old files.
                Ok(_) => {
                    ended_well += 1;
                    assert_eq!(assert_usable(&disk, &answers, &what), 3);
                }
            }
        }
        if !was_met {
            break;
        }
    }
    assert_eq!(
        ended_well,
        2 * Fault::ALL.len(),
        "only a failed removal, or a failed sync after it, is ignored"
    );
}

#[test]
fn a_full_disk_is_left_as_it_was() {
    let (disk, fixtures, answers) = prepared();
    let before = names(&disk);
    for (call, fault) in (1..5).flat_map(|call| [(call, Fault::Full), (call, Fault::Quota)]) {
        let disk = disk.copy();
        disk.fail_from(call, u64::MAX, fault);
        fixtures[2].write(&disk, &NoSource).unwrap_err();
        assert_eq!(names(&disk), before, "{fault:?} from call {call} on");
        disk.heal();
        assert_usable(&disk, &answers, "after a full disk");
    }
}

#[test]
fn reading_back_that_fails_or_falls_short_is_no_success() {
    let (disk, fixtures, answers) = prepared();
    let before = names(&disk);
    for fault in [ReadFault::Device, ReadFault::Short] {
        let mut unsaid = Vec::new();
        for read in 1.. {
            let disk = disk.copy();
            disk.fail_read_at(disk.reads() + read, fault);
            let written = fixtures[2].write(&disk, &NoSource);
            if !disk.heal() {
                break;
            }
            match written {
                Ok(_) => unsaid.push(read),
                Err(_) => assert_eq!(names(&disk), before, "read {read}"),
            }
            assert_usable(&disk, &answers, "after reading back");
        }
        let reads = *unsaid.last().unwrap();
        match fault {
            // Three failed reads cause no error: the search for the folder, the map of a readable file, and the search
            // for older files.
            ReadFault::Device => assert_eq!(unsaid, [1, reads - 2, reads]),
            // A short read is not an error, because the reader requests the missing bytes.
            ReadFault::Short => assert_eq!(unsaid.len() as u64, reads),
        }
        assert!(reads > 5, "{reads}");
    }
}

#[test]
fn ckw_1_a_bit_that_flips_before_the_file_is_read_back_is_caught() {
    let (disk, fixtures, answers) = prepared();
    let before = names(&disk);
    let length = {
        let copy = disk.copy();
        let file = fixtures[2].write(&copy, &NoSource).unwrap();
        content(&copy, &file.name).len()
    };
    for at in (0..length).step_by(61).chain([length - 1]) {
        let disk = disk.copy();
        let shared = disk.clone();
        disk.observe(Arc::new(move |seen| {
            const UNFINISHED: &str = "checkpoint/00000003.ckpt.tmp";
            // The writer writes the header last, syncs the file and reads it back. The test flips the bit once the
            // header is in the file.
            let is_last = |content: &Arc<Vec<u8>>| content.len() == length && content[0] != 0;
            if seen.contents().get(UNFINISHED).is_some_and(is_last) {
                shared.overwrite(UNFINISHED, |bytes| bytes[at] ^= 0x10);
                shared.observe_no_more();
            }
        }));
        let error = fixtures[2].write(&disk, &NoSource).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointDamaged, "byte {at}");
        assert_eq!(names(&disk), before);
        assert_eq!(assert_usable(&disk, &answers, "after a flip"), 2);
    }
}

#[test]
fn ckw_1_another_file_in_the_place_of_the_one_that_was_written_is_caught() {
    const UNFINISHED: &str = "checkpoint/00000003.ckpt.tmp";
    let (disk, fixtures, answers) = prepared();
    let shared = disk.clone();
    disk.observe(Arc::new(move |seen| {
        // The verification also refuses an undamaged file of the same log with other content.
        let files = seen.files();
        if files
            .get(UNFINISHED)
            .is_some_and(|content| content.starts_with(b"TRckpt01"))
        {
            shared.overwrite(UNFINISHED, |bytes| {
                bytes.clone_from(&files["checkpoint/00000002.ckpt"]);
            });
            shared.observe_no_more();
        }
    }));
    let error = fixtures[2].write(&disk, &NoSource).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointDamaged, "{error:?}");
    assert_eq!(assert_usable(&disk, &answers, "after a mix-up"), 2);
}

#[test]
fn what_was_removed_does_not_come_back() {
    let (disk, _, _) = prepared();
    disk.put_file("checkpoint/00000009.ckpt.tmp", vec![1]);
    assert_eq!(remove_all(&disk).unwrap(), 2);
    for image in [
        CrashImage::Nothing,
        CrashImage::Everything,
        CrashImage::Sectors(1),
    ] {
        assert_eq!(list(&disk.crash_image(image)).unwrap(), []);
    }
}

#[test]
fn two_writers_do_not_take_each_others_number() {
    let (disk, fixtures, _) = prepared();
    // During this write, another process writes the complete file number 3.
    let shared = disk.clone();
    disk.observe(Arc::new(move |seen| {
        let written = seen.contents().get("checkpoint/00000003.ckpt.tmp").cloned();
        if let Some(content) = written.filter(|content| content.len() > 4096) {
            shared.observe_no_more();
            shared.put_file("checkpoint/00000003.ckpt", content.to_vec());
        }
    }));
    let error = fixtures[2].write(&disk, &NoSource).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        names(&disk).contains(&"checkpoint/00000003.ckpt".to_owned()),
        "CKP-2"
    );
    assert_eq!(
        open_newest(&disk, log_id(), true).unwrap().0.unwrap().number(),
        2,
        "the file of the other process is not a checkpoint"
    );
    assert_eq!(fixtures[2].write(&disk, &NoSource).unwrap().number, 4);
}
