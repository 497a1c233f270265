//! Tests positions in a log, and handles that detect a rewrite of the log.

use super::*;
use crate::disk;
use crate::error::ErrorCode;
use crate::log::seal::Chain;
use crate::testing::sim_disk::{ReadFault, SimDisk};
use batch::{Continue, encode_group};
use manifest::{Manifest, SegmentEntry};
use segment::SegmentHeader;

const BATCHES: usize = 90;

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Creates a store of many small segments.
fn store() -> SimDisk {
    let disk = SimDisk::new(21);
    let mut log = create(&shared(&disk), SMALL);
    for number in 2..=BATCHES {
        append(&mut log, &[&format!("batch {number}")]).unwrap();
    }
    assert!(log.size().0 > 3);
    disk
}

/// Returns every batch of the log, each with the position after it.
fn walk(disk: &SimDisk) -> Vec<(Batch, Position)> {
    let mut log = Log::open(shared(disk), Mode::ReadOnly, SMALL).unwrap();
    let mut batches = Vec::new();
    log.catch_up(&mut |batch| {
        batches.push(batch);
        Ok(())
    })
    .unwrap();
    let end_of = |batch: &Batch| {
        let last = batch.records.last().unwrap();
        last.locator.offset() + (32 + last.body.len() as u64).next_multiple_of(16) + 160
    };
    let positions: Vec<Position> = batches
        .iter()
        .map(|batch| Position {
            segment: batch.records[0].locator.segment(),
            offset: end_of(batch),
            batch: batch.number,
            digest: *batch.digest.as_bytes(),
            commit: batch.commit,
        })
        .collect();
    assert_eq!(positions.last(), Some(&log.position()));
    batches.into_iter().zip(positions).collect()
}

/// Reads the batches after `position` and returns them.
fn read_from(disk: &SimDisk, mode: Mode, position: &Position) -> Result<(Vec<Batch>, Log)> {
    let mut log = Log::open(shared(disk), mode, SMALL)?;
    log.start_at(position)?;
    let mut batches = Vec::new();
    log.catch_up(&mut |batch| {
        batches.push(batch);
        Ok(())
    })?;
    Ok((batches, log))
}

/// Replaces the first `replaced` segments by one segment that contains `texts`, like a rewrite.
fn rewrite_by_hand(disk: &SimDisk, replaced: usize, texts: &[&str]) {
    let mut log = Log::open(shared(disk), Mode::ReadWrite, SMALL).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let _lock = log.lock(NO_WAIT).unwrap();
    let header = log
        .new_header(log.new_numbers(1).unwrap(), segment::SegmentEnd::default())
        .unwrap();
    let after = Continue::start(&header, Chain::START);
    let group = texts.iter().map(|text| (batch(text), mark(500).commit));
    let (bytes, batches) = encode_group(group, log.suite, after).unwrap();
    let content = [header.encode(), bytes.to_vec()].concat();
    let last = batches.last().unwrap();
    let new = SegmentEntry {
        id: header.id,
        first_batch: 1,
        length: content.len() as u64,
        last_batch: last.number,
        last_digest: *last.digest.as_bytes(),
    };
    write_segment(disk, new.id, &content);
    let (sealed, _) = log.sealed_at_cursor();
    let (gone, kept) = sealed.split_at(replaced.min(sealed.len()));
    let sealed: Vec<SegmentEntry> = [&[new], kept].concat();
    let active = SegmentHeader {
        previous: sealed.last().unwrap().end(),
        id: header.id + 1,
        ..header
    };
    write_segment(disk, active.id, &active.encode());
    let active = SegmentEntry::active(active.id, log.newest_batch() + 1);
    let old = &log.manifest;
    let manifest = Manifest::new(old.instance, old.generation + 1, old.epoch + 1, sealed, active);
    disk::replace(disk, "manifest", &manifest.encode()).unwrap();
    for entry in gone {
        disk.remove_file(&segment_name(entry.id));
    }
}

fn write_segment(disk: &SimDisk, id: u64, content: &[u8]) {
    disk::create_whole(disk, &segment_name(id), content, 12288.max(content.len() as u64)).unwrap();
}

#[test]
fn reading_goes_on_behind_every_position_and_hands_out_the_rest() {
    let disk = store();
    let all = walk(&disk);
    for (index, (_, position)) in all.iter().enumerate() {
        let (rest, log) = read_from(&disk, Mode::ReadOnly, position).unwrap();
        let expected: Vec<Batch> = all[index + 1..].iter().map(|(batch, _)| batch.clone()).collect();
        assert_eq!(rest, expected, "POS-1: behind batch {}", index + 1);
        assert_eq!(log.newest_batch(), BATCHES as u64);
        assert_eq!(log.position(), all.last().unwrap().1);
        // Records before the position are also readable.
        for record in all.iter().flat_map(|(batch, _)| &batch.records) {
            assert_eq!(&log.reader().read(record.locator).unwrap(), record);
        }
    }
}

#[test]
fn a_writer_goes_on_behind_a_position_with_and_without_live() {
    for lives in ["kept", "lost", "of an earlier run"] {
        let whole = store();
        for (index, (_, position)) in walk(&whole).iter().enumerate() {
            let disk = whole.copy();
            match lives {
                "lost" => disk.remove_file("live"),
                "of an earlier run" => disk.reboot(),
                _ => {}
            }
            let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
            log.start_at(position).unwrap();
            append(&mut log, &[&format!("batch {}", BATCHES + 1)]).unwrap();
            let (texts, _) = read_all(&shared(&disk), Mode::ReadOnly, SMALL).unwrap();
            assert_eq!(
                texts,
                expected(BATCHES + 1),
                "live {lives}, behind batch {}",
                index + 1
            );
        }
    }
}

#[test]
fn a_log_that_lacks_what_a_position_has_seen_is_damaged() {
    let disk = store();
    let all = walk(&disk);
    let (_, newest) = all.last().unwrap();
    let name = segment_name(newest.segment);
    // Without the position, readers accept each of these changed stores as a shorter log, because `live` is only a
    // hint.
    let emptied = disk.copy();
    emptied.overwrite(&name, |bytes| bytes[4096..].fill(0));
    let cut = disk.copy();
    cut.overwrite(&name, |bytes| bytes[newest.offset as usize - 1] ^= 1);
    for changed in [&emptied, &cut] {
        changed.remove_file("live");
        let (texts, _) = read_all(&shared(changed), Mode::ReadOnly, SMALL).unwrap();
        assert!(texts.len() < BATCHES);
        let refused = read_from(changed, Mode::ReadOnly, newest).err().unwrap();
        assert!(
            refused.is_corruption() && refused.message().contains(&name),
            "{refused}"
        );
    }
    let other = |change: &dyn Fn(&mut Position)| {
        let mut position = *newest;
        change(&mut position);
        let refused = read_from(&disk, Mode::ReadOnly, &position).err().unwrap();
        assert!(refused.is_corruption(), "POS-1: {refused:?}");
        refused
    };
    for refused in [
        other(&|position| position.batch -= 1),
        other(&|position| position.digest[0] ^= 1),
        other(&|position| position.commit = mark(3).commit),
        other(&|position| position.offset -= 16),
        other(&|position| position.offset += 160),
        other(&|position| position.offset -= 1),
        other(&|position| position.offset = 0),
        other(&|position| position.offset = u64::MAX),
    ] {
        assert!(refused.message().contains(&name), "{refused}");
    }
    let refused = other(&|position| position.segment += 1);
    assert!(refused.message().contains("manifest"), "{refused}");
    let sealed = all[3].1;
    let refused = other(&|position| (position.segment, position.offset) = (sealed.segment, 1 << 20));
    assert!(refused.message().contains("sealed"), "{refused}");
}

#[test]
fn a_position_is_durable_whatever_live_says() {
    let disk = store();
    let (_, newest) = *walk(&disk).last().unwrap();
    disk.remove_file("live");
    let (_, log) = read_from(&disk, Mode::ReadOnly, &newest).unwrap();
    assert_eq!((log.durable, log.unproven.len()), (newest.offset, 0));
    // Torn bytes after the position are still a torn tail.
    disk.overwrite(&segment_name(newest.segment), |bytes| {
        bytes[newest.offset as usize + 5] = 1;
    });
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    log.start_at(&newest).unwrap();
    let tail = read_on(&mut log);
    assert!(tail.proven && tail.torn_bytes > 0);
}

#[test]
fn past_batches_are_handed_out_between_any_two_positions() {
    for options in [SMALL, LogOptions { map: false, ..SMALL }] {
        let disk = store();
        let all = walk(&disk);
        let mut log = Log::open(shared(&disk), Mode::ReadOnly, options).unwrap();
        log.start_at(&all[BATCHES - 2].1).unwrap();
        log.catch_up(&mut |_| Ok(())).unwrap();
        let reader = log.reader();
        let positions = [&Position::START]
            .into_iter()
            .chain(all.iter().map(|(_, position)| position));
        for (index, from) in positions.enumerate() {
            for upto in (index..=BATCHES).step_by(7) {
                let mut found = Vec::new();
                reader
                    .batches(from, upto as u64, &mut |batch| {
                        found.push(batch);
                        Ok(())
                    })
                    .unwrap();
                let expected: Vec<Batch> = all[index..upto].iter().map(|(batch, _)| batch.clone()).collect();
                assert_eq!(found, expected, "from {index} up to {upto}");
            }
        }
        let mut unknown = all[0].1;
        unknown.segment = 99;
        assert!(reader.batches(&unknown, 5, &mut |_| Ok(())).is_err());
        disk.overwrite("log/00000002.seg", |bytes| bytes[4096 + 40] ^= 1);
        if !options.map {
            let refused = reader.batches(&Position::START, BATCHES as u64, &mut |_| Ok(()));
            let refused = refused.unwrap_err();
            assert!(refused.is_corruption() && refused.message().contains("log/00000002.seg"));
        }
    }
}

#[test]
fn a_handle_that_finds_the_log_rewritten_says_so_and_reads_on_when_it_is_reopened() {
    for replaced in [2, 99] {
        let disk = store();
        let all = walk(&disk);
        let mut reader = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
        reader.catch_up(&mut |_| Ok(())).unwrap();
        let mut writer = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
        append(&mut writer, &[]).unwrap();
        // This handle was opened, but has not read a batch yet.
        let mut fresh = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
        let mut started = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
        rewrite_by_hand(&disk, replaced, &["first", "second"]);
        let kept = all.iter().skip_while(|(batch, _)| {
            !disk
                .files()
                .contains_key(&segment_name(batch.records[0].locator.segment()))
        });
        let mut now = vec!["first".to_owned(), "second".to_owned()];
        now.extend(kept.map(|(batch, _)| text_of(batch)));
        for _ in 0..2 {
            let refused = reader.catch_up(&mut |_| Ok(())).unwrap_err();
            assert_eq!(
                (refused.code(), refused.is_corruption()),
                (ErrorCode::Rewritten, false),
                "EPO-1"
            );
        }
        let refused = started.start_at(&all[BATCHES - 1].1).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Rewritten);
        // Batches that were read before the rewrite stay readable, although most of their files are unlinked.
        let old = reader.reader();
        for record in all.iter().flat_map(|(batch, _)| &batch.records) {
            assert_eq!(&old.read(record.locator).unwrap(), record);
        }
        let mut texts = Vec::new();
        fresh
            .catch_up(&mut |batch| {
                texts.push(text_of(&batch));
                Ok(())
            })
            .unwrap();
        assert_eq!((fresh.epoch(), &texts), (1, &now));
        assert_eq!(
            fresh.newest_batch(),
            BATCHES as u64,
            "the skipped numbers must never be used again"
        );
        reader.reopen().unwrap();
        texts.clear();
        reader
            .catch_up(&mut |batch| {
                texts.push(text_of(&batch));
                Ok(())
            })
            .unwrap();
        assert_eq!((reader.epoch(), &texts), (1, &now));
        write_on(&disk, &mut writer, &now);
    }
}

/// Writes with a handle that was opened before the rewrite, and that acquires the lock again.
fn write_on(disk: &SimDisk, writer: &mut Log, before: &[String]) {
    let lock = writer.lock(NO_WAIT).unwrap();
    let refused = writer.prepare(&lock, &mut |_| Ok(())).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Rewritten);
    let head = mark(BATCHES as u64 + 1);
    let group = || vec![(batch("later"), head)];
    assert!(
        writer.append(&lock, group(), Durability::Synced).is_err(),
        "APP-1"
    );
    writer.reopen().unwrap();
    assert!(
        writer.append(&lock, group(), Durability::Synced).is_err(),
        "APP-1"
    );
    writer.prepare(&lock, &mut |_| Ok(())).unwrap();
    let made = writer.append(&lock, group(), Durability::Synced).unwrap();
    assert_eq!(made[0].number, BATCHES as u64 + 1, "LOG-7");
    drop(lock);
    for _ in 0..3 {
        disk.reboot();
        append(writer, &["after the start"]).unwrap();
    }
    let mut log = Log::open(shared(disk), Mode::ReadOnly, SMALL).unwrap();
    let (mut texts, mut positions) = (Vec::new(), vec![]);
    let mut numbers = Vec::new();
    log.catch_up(&mut |batch| {
        texts.push(text_of(&batch));
        numbers.push(batch.number);
        Ok(())
    })
    .unwrap();
    let mut expected = before.to_vec();
    expected.extend(["later", "after the start", "after the start", "after the start"].map(str::to_owned));
    assert_eq!(texts, expected);
    assert_eq!(numbers[..2], [1, 2]);
    assert_eq!(numbers.last(), Some(&(BATCHES as u64 + 4)));
    positions.push(log.position());
    let mut past = Vec::new();
    log.reader()
        .batches(&Position::START, log.newest_batch(), &mut |batch| {
            past.push(text_of(&batch));
            Ok(())
        })
        .unwrap();
    assert_eq!(past, expected, "reading must continue across the skipped numbers");
    let checked = Checked::of(shared(disk), SMALL, None).unwrap();
    assert_eq!(
        (checked.numbers.len(), checked.damages().len()),
        (expected.len(), 0)
    );
}

#[test]
fn an_older_manifest_and_numbers_that_skip_without_a_rewrite_are_damage() {
    let disk = store();
    let earlier = disk.files()["manifest"].clone();
    rewrite_by_hand(&disk, 2, &["first"]);
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let rewritten = disk.files()["manifest"].clone();
    let text = |changed: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = rewritten.clone();
        changed(&mut bytes);
        let covered = bytes.len() - 4;
        let checksum = crc32c::crc32c(&bytes[..covered]).to_le_bytes();
        bytes[covered..].copy_from_slice(&checksum);
        Manifest::decode(&bytes).err().map(|error| error.to_string())
    };
    assert_eq!(text(&|_| ()), None);
    assert!(
        text(&|bytes| bytes[36] = 0).is_some(),
        "MAN-1: numbers are skipped without a rewrite"
    );
    assert!(
        text(&|bytes| bytes[36] = 200).is_some(),
        "as many rewrites as generations"
    );
    assert!(
        text(&|bytes| bytes[48] = 2).is_some(),
        "MAN-1: the first batch is missing"
    );
    let last_entry = rewritten.len() - 4 - 64;
    assert!(
        text(&|bytes| bytes[last_entry + 8] += 1).is_some(),
        "MAN-1: two skips"
    );
    disk.put_file("manifest", earlier);
    let refused = log.catch_up(&mut |_| Ok(())).unwrap_err();
    assert!(refused.is_corruption(), "{refused:?}");
}

#[test]
fn past_batches_that_were_forged_are_damage_where_the_chain_breaks() {
    let disk = store();
    let all = walk(&disk);
    let options = LogOptions { map: false, ..SMALL };
    let mut log = Log::open(shared(&disk), Mode::ReadOnly, options).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let reader = log.reader();
    let entry = log.manifest.sealed()[1];
    let name = segment_name(entry.id);
    let whole = disk.files()[&name].clone();
    // Each changed batch is complete and has the expected number. But the first batch continues another batch, and the
    // last batch differs from the manifest.
    for number in [entry.first_batch, entry.last_batch] {
        let is_first = number == entry.first_batch;
        let (before, position) = (all[number as usize - 2].1, all[number as usize - 1].1);
        let start = if is_first { 4096 } else { before.offset };
        let after = Continue {
            segment: entry.id,
            seed: SegmentHeader::decode(&whole).unwrap().seed(),
            start,
            synced_upto: start,
            chain: Chain {
                batch: number - 1,
                digest: Some(if is_first { [9; 32] } else { before.digest }),
            },
        };
        let group = vec![(batch(&format!("Batch {number}")), position.commit)];
        let (forged, _) = encode_group(group, log.suite, after).unwrap();
        assert_eq!(start + forged.len() as u64, position.offset);
        disk.overwrite(&name, |bytes| {
            bytes.copy_from_slice(&whole);
            bytes[start as usize..position.offset as usize].copy_from_slice(&forged);
        });
        let read = |upto: u64| reader.batches(&all[0].1, upto, &mut |_| Ok(()));
        read(number - 1).unwrap();
        let refused = read(number).unwrap_err();
        assert!(
            refused.is_corruption() && refused.message().contains(&name),
            "{refused}"
        );
    }
}

#[test]
fn a_segment_that_was_listed_while_the_folder_was_read_is_no_damage() {
    let disk = store();
    let mut reader = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    reader.catch_up(&mut |_| Ok(())).unwrap();
    let mut writer = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    let listed = reader.manifest.sealed().len();
    while writer.manifest.sealed().len() <= listed {
        append(&mut writer, &["more"]).unwrap();
    }
    reader.unlisted_checked = false;
    reader.check_unlisted().unwrap();
    assert!(!reader.unlisted_checked, "the next catch-up checks again");
    reader.catch_up(&mut |_| Ok(())).unwrap();
    assert!(reader.unlisted_checked);
}

#[test]
fn only_the_seal_before_a_position_is_read_unless_reading_is_degraded() {
    let disk = store();
    let positions: Vec<Position> = walk(&disk).into_iter().map(|(_, position)| position).collect();
    let newest = *positions.last().unwrap();
    let of_active: Vec<_> = positions
        .iter()
        .filter(|one| one.segment == newest.segment)
        .collect();
    assert!(of_active.len() > 3);
    // Flips a byte of the first batch of the active segment.
    disk.overwrite(&segment_name(newest.segment), |bytes| bytes[4096 + 40] ^= 1);
    let start = |degraded: bool| {
        let options = LogOptions { degraded, ..SMALL };
        Log::open(shared(&disk), Mode::ReadOnly, options)
            .unwrap()
            .start_at(&newest)
    };
    start(false).unwrap();
    assert!(start(true).unwrap_err().is_corruption());
}

#[test]
fn an_end_that_is_gone_is_told_by_its_place_and_is_no_damage_of_the_log() {
    let disk = store();
    let (_, newest) = *walk(&disk).last().unwrap();
    let (_, before) = walk(&disk)[BATCHES - 2];
    assert_eq!(before.segment, newest.segment);
    disk.remove_file("live");
    let check = |cut: u64| {
        let disk = disk.copy();
        disk.overwrite(&segment_name(newest.segment), |bytes| {
            let end = bytes.len();
            bytes.truncate(cut as usize);
            bytes.resize(end, 0);
        });
        let places = Arc::new(move |_: &Log| Ok(vec![newest]));
        let checked = Checked::of(shared(&disk), SMALL, Some(places)).unwrap();
        (checked.numbers.len() as u64, checked.damages().len())
    };
    assert_eq!(check(newest.offset), (BATCHES as u64, 0));
    assert_eq!(check(before.offset), (BATCHES as u64 - 1, 0));
    // The remaining bytes of the batch show that the batch existed.
    assert_eq!(check(before.offset + 40), (BATCHES as u64 - 1, 1));
}

#[test]
fn a_segment_that_is_missing_before_a_position_is_passed_over_by_degraded_reading_alone() {
    let disk = store();
    let (_, newest) = *walk(&disk).last().unwrap();
    disk.remove_file("log/00000002.seg");
    let start = |disk: &SimDisk, degraded: bool| {
        let options = LogOptions { degraded, ..SMALL };
        let mut log = Log::open(shared(disk), Mode::ReadOnly, options)?;
        log.start_at(&newest)?;
        // An unreadable segment is passed over too, but never counts as missing.
        let missing = log.passed_over().iter().filter(|error| error.is_corruption());
        Ok::<_, Error>((missing.count(), log.passed_over().len()))
    };
    let refused = start(&disk, false).unwrap_err();
    assert!(
        refused.is_corruption() && refused.message().contains("00000002"),
        "{refused:?}"
    );
    assert_eq!(start(&disk, true).unwrap(), (1, 1));
    // A device error must not appear as a missing segment.
    let mut failed = 0;
    for read in 1.. {
        let copy = disk.copy();
        copy.fail_read_at(copy.reads() + read, ReadFault::Device);
        let started = start(&copy, true);
        if !copy.heal() {
            break;
        }
        match started {
            Ok((missing, passed_over)) => {
                assert!(missing <= 1 && passed_over >= 1, "read {read}");
                failed += usize::from((missing, passed_over) != (1, 1));
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "read {read}: {error:?}");
                failed += 1;
            }
        }
    }
    assert!(failed > 5, "{failed}");
}
