//! Tests reads from maps, whose frames are verified at their first read only, against reads from the file.

use std::collections::BTreeMap;

use super::*;
use crate::testing::sim_disk::SimDisk;

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Creates a store of several segments, and returns its records and the position after its newest batch.
fn store() -> (SimDisk, Vec<Record>, Position) {
    let disk = SimDisk::new(11);
    let mut log = create(&shared(&disk), SMALL);
    while log.size().0 < 3 || !log.newest_batch().is_multiple_of(10) {
        let next = log.newest_batch() + 1;
        append(&mut log, &[&format!("batch {next}")]).unwrap();
    }
    let mut records = Vec::new();
    let mut again = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    again
        .catch_up(&mut |batch| {
            records.extend(batch.records);
            Ok(())
        })
        .unwrap();
    (disk, records, log.position())
}

/// Opens the store after `position`, so that no batch is scanned.
fn started(disk: &SimDisk, position: &Position, map: bool) -> Log {
    let options = LogOptions { map, ..SMALL };
    let mut log = Log::open(shared(disk), Mode::ReadOnly, options).unwrap();
    log.start_at(position).unwrap();
    log
}

#[test]
fn a_record_is_the_same_from_a_map_a_buffer_and_the_file_whenever_it_is_read() {
    let (disk, records, position) = store();
    let [mapped, file] = [true, false].map(|map| started(&disk, &position, map));
    let mut scanned = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    scanned.catch_up(&mut |_| Ok(())).unwrap();
    let right: BTreeMap<Locator, &Record> = records.iter().map(|record| (record.locator, record)).collect();
    for _ in 0..2 {
        for log in [&mapped, &file, &scanned] {
            for record in &records {
                assert_eq!(log.reader().read(record.locator).unwrap(), *record);
            }
        }
    }
    // Frames that were verified make no other place readable.
    for log in [&mapped, &file, &scanned] {
        for segment in 0..=position.segment + 1 {
            for step in 0..1_000 {
                let place = Locator::from_u64(segment << 32 | step);
                match log.reader().read(place) {
                    Ok(record) if record.kind == RecordKind::Seal => {}
                    found => assert_eq!(found.ok().as_ref(), right.get(&place).copied(), "{place:?}"),
                }
            }
        }
    }
}

#[test]
fn a_store_that_is_opened_after_a_position_reads_the_file_only_to_map_it() {
    let (disk, records, position) = store();
    let log = started(&disk, &position, true);
    let before = disk.reads();
    for record in &records {
        drop(log.reader().read(record.locator).unwrap());
    }
    assert_eq!(
        disk.reads() - before,
        position.segment,
        "one map for each segment"
    );
}

#[test]
fn damage_before_the_first_read_of_a_record_is_never_returned() {
    let (disk, records, position) = store();
    for damaged in records.iter().step_by(7) {
        let disk = disk.copy();
        let log = started(&disk, &position, true);
        let at = damaged.locator.offset() as usize + 32 + damaged.body.len() - 1;
        disk.overwrite(&segment_name(damaged.locator.segment()), |bytes| bytes[at] ^= 1);
        for _ in 0..2 {
            for record in &records {
                match log.reader().read(record.locator) {
                    Ok(found) => assert_eq!(found, *record),
                    Err(error) => {
                        assert!(error.is_corruption(), "{error:?}");
                        assert_eq!(record.locator, damaged.locator);
                    }
                }
            }
            assert!(log.reader().read(damaged.locator).is_err(), "RDR-1");
        }
    }
}

#[test]
fn damage_after_the_first_read_is_found_by_a_check() {
    let (disk, records, position) = store();
    let log = started(&disk, &position, true);
    for damaged in records.iter().step_by(7) {
        assert_eq!(log.reader().read(damaged.locator).unwrap(), *damaged);
        let disk = disk.copy();
        let name = segment_name(damaged.locator.segment());
        disk.overwrite(&name, |bytes| bytes[damaged.locator.offset() as usize + 33] ^= 1);
        let checked = Checked::of(shared(&disk), SMALL, None).unwrap();
        let places = checked.findings.iter().map(|found| found.damage.file.as_str());
        assert!(
            places.into_iter().any(|file| file == name),
            "{:?}",
            damaged.locator
        );
    }
}
