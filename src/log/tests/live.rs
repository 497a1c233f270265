//! Tests an outdated `live` without a reboot. Readers return all batches that the log itself proves durable.

use super::*;
use crate::testing::sim_disk::{CrashImage, SimDisk};

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Creates a store of `count` batches. Also returns the content of `live` after each batch.
fn store(count: u64, options: LogOptions) -> (SimDisk, Vec<Vec<u8>>) {
    let disk = SimDisk::new(2);
    let mut log = create(&shared(&disk), options);
    let mut marks = vec![disk.files()["live"].clone()];
    for number in 2..=count {
        append(&mut log, &[&format!("batch {number}")]).unwrap();
        marks.push(disk.files()["live"].clone());
    }
    (disk, marks)
}

#[test]
fn readers_go_on_behind_a_mark_that_went_back() {
    for options in [SMALL, LogOptions::default()] {
        let (disk, marks) = store(70, options);
        let mut whole = 0;
        for (index, mark) in marks.into_iter().enumerate() {
            let disk = disk.copy();
            disk.put_file("live", mark);
            let (texts, tail) = read_all(&shared(&disk), Mode::ReadOnly, options).unwrap();
            let behind = 69 - index;
            // Readers ignore a single batch after the mark, because a writer may still be writing it.
            let expected_count = if behind == 1 { 69 } else { 70 };
            assert_eq!(
                texts,
                expected(expected_count),
                "{behind} batches behind the mark"
            );
            assert_eq!(tail.proven, behind < 2, "{behind} batches behind the mark");
            whole += usize::from(texts.len() == 70);
            // The next writer loses no batch, and writes a correct mark.
            let mut log = Log::open(shared(&disk), Mode::ReadWrite, options).unwrap();
            append(&mut log, &["batch 71"]).unwrap();
            let (texts, tail) = read_all(&shared(&disk), Mode::ReadOnly, options).unwrap();
            assert_eq!(texts, expected(71));
            assert!(tail.proven);
        }
        assert_eq!(whole, 69);
    }
}

#[test]
fn damage_behind_a_mark_that_went_back_is_damage() {
    let (disk, marks) = store(6, LogOptions::default());
    disk.put_file("live", marks[1].clone());
    let end = |text: &str| {
        let bytes = disk.files()["log/00000001.seg"].clone();
        bytes
            .windows(text.len())
            .position(|found| found == text.as_bytes())
    };
    for (number, is_proven) in [(3, true), (5, true), (6, false)] {
        let at = end(&format!("batch {number}")).unwrap();
        let damaged = disk.copy();
        damaged.overwrite("log/00000001.seg", |bytes| bytes[at] ^= 1);
        match read_all(&shared(&damaged), Mode::ReadOnly, LogOptions::default()) {
            Ok((texts, tail)) => {
                assert_eq!(texts, expected(5));
                assert!(!is_proven && tail.torn_bytes > 0);
            }
            Err(error) => assert!(is_proven && error.is_corruption(), "batch {number}: {error:?}"),
        }
    }
}

/// Returns the number of batches that a check passes on as batches that readers see.
fn seen_by_check(disk: &SimDisk) -> usize {
    let mut seen = 0;
    Log::check(shared(disk), LogOptions::default(), None, &mut |item| {
        seen += usize::from(matches!(item, CheckItem::Batch(_)));
        Ok(())
    })
    .unwrap();
    seen
}

#[test]
fn a_group_that_is_being_written_is_no_sign_of_it() {
    let disk = SimDisk::new(2);
    disk.relax();
    let mut log = create(&shared(&disk), LogOptions::default());
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    for number in 2..=30 {
        let group = vec![(batch(&format!("batch {number}")), mark(number))];
        log.append(&lock, group, Durability::Later).unwrap();
        let (texts, tail) = read_all(&shared(&disk), Mode::ReadOnly, LogOptions::default()).unwrap();
        assert_eq!(texts.len(), 1, "CAT-2");
        assert!(tail.proven);
        assert_eq!(
            seen_by_check(&disk),
            1,
            "a check tells which batches no reader has seen"
        );
    }
    log.sync(&lock).unwrap();
    assert_eq!(
        read_all(&shared(&disk), Mode::ReadOnly, LogOptions::default())
            .unwrap()
            .0,
        expected(30)
    );
}

#[test]
fn a_reader_that_follows_goes_on_behind_it_too() {
    let (disk, marks) = store(10, LogOptions::default());
    let shut_down = disk.copy();
    shut_down.put_file("live", marks[3].clone());
    let mut log = Log::open(shared(&shut_down), Mode::ReadOnly, LogOptions::default()).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let mut writer = Log::open(shared(&shut_down), Mode::ReadWrite, LogOptions::default()).unwrap();
    append(&mut writer, &["batch 11"]).unwrap();
    let mut seen = Vec::new();
    let tail = log.catch_up(&mut |batch| {
        seen.push(text_of(&batch));
        Ok(())
    });
    assert_eq!(seen, ["batch 11"]);
    assert!(End::of(&log, tail.unwrap()).proven);
    let lost = shut_down.crash_image(CrashImage::Nothing);
    assert_eq!(
        read_all(&shared(&lost), Mode::ReadOnly, LogOptions::default())
            .unwrap()
            .0,
        expected(11)
    );
}

#[test]
fn a_large_batch_behind_a_mark_that_went_back_hides_no_seal() {
    let disk = SimDisk::new(2);
    let mut log = create(&shared(&disk), LogOptions::default());
    let mark = disk.files()["live"].clone();
    // Two of these batches are larger than the 4,096 bytes that a reader checks first after the mark.
    for text in ["l".repeat(6000), "m".repeat(6000), "n".repeat(100)] {
        append(&mut log, &[&text]).unwrap();
    }
    disk.put_file("live", mark);
    let (texts, tail) = read_all(&shared(&disk), Mode::ReadOnly, LogOptions::default()).unwrap();
    let lengths: Vec<usize> = texts.iter().map(String::len).collect();
    assert_eq!(lengths, [7, 6000, 6000, 100]);
    assert_eq!(seen_by_check(&disk), 4);
    assert!(!tail.proven);
}

#[test]
fn a_mark_in_an_earlier_segment_hides_no_batch_behind_the_newest_rotation() {
    let disk = SimDisk::new(2);
    let mut log = create(&shared(&disk), SMALL);
    let mut marks = vec![disk.files()["live"].clone()];
    // Appends until the newest segment contains a single batch.
    while log.size().0 < 3 {
        append(&mut log, &[&format!("batch {}", marks.len() + 1)]).unwrap();
        marks.push(disk.files()["live"].clone());
    }
    let count = marks.len();
    for (index, mark) in marks.into_iter().enumerate() {
        let behind = count - 1 - index;
        let disk = disk.copy();
        disk.put_file("live", mark);
        let (texts, tail) = read_all(&shared(&disk), Mode::ReadOnly, SMALL).unwrap();
        let seen = if behind == 1 { count - 1 } else { count };
        assert_eq!(texts, expected(seen), "{behind} batches behind the mark");
        assert_eq!(tail.proven, behind < 2, "{behind} batches behind the mark");
    }
}

#[test]
fn who_has_read_up_to_the_mark_knows_it_and_who_is_ahead_of_it_too() {
    let (disk, marks) = store(6, LogOptions::default());
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, LogOptions::default()).unwrap();
    let mut is_proven = || read_on(&mut log).proven;
    assert!(is_proven());
    assert!(is_proven(), "the log contains no new batch");
    disk.put_file("live", marks[2].clone());
    assert!(is_proven(), "the log itself proves it");
}
