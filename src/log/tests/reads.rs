//! Tests reads that fail or return too few bytes. The log reports a device error, but never damage, an end of the log
//! or an empty store.

use super::*;
use crate::testing::sim_disk::{ReadFault, SimDisk};

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

const BATCHES: u64 = 70;

/// Creates a store of several segments, with files that a crash left. Also returns the position after its newest batch.
fn store() -> (SimDisk, Position) {
    let disk = SimDisk::new(11);
    let mut log = create(&shared(&disk), SMALL);
    while log.newest_batch() < BATCHES {
        let next = log.newest_batch() + 1;
        append(&mut log, &[&format!("batch {next}")]).unwrap();
    }
    assert!(log.size().0 > 2);
    disk.put_file("log/00000077.seg.tmp", vec![7; 5000]);
    disk.put_file("log/rewrite-3.tmp", vec![7; 5000]);
    disk.put_file("log/00000001.seg.bak", disk.files()["log/00000001.seg"].clone());
    (disk, log.position())
}

/// Makes each read of `work` fail once, and then return too few bytes. Returns the number of failures.
fn fail_everywhere<T>(disk: &SimDisk, work: impl Fn(&SimDisk) -> Result<T>) -> u64
where
    T: PartialEq + std::fmt::Debug,
{
    let right = work(&disk.copy()).unwrap();
    let mut failed = 0;
    for fault in [ReadFault::Device, ReadFault::Short] {
        for read in 1.. {
            let copy = disk.copy();
            copy.fail_read_at(copy.reads() + read, fault);
            let done = work(&copy);
            if !copy.heal() {
                break;
            }
            match done {
                Ok(found) => assert_eq!(found, right, "{fault:?} at read {read}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{fault:?} at read {read}: {error:?}");
                    assert_eq!(fault, ReadFault::Device, "read {read}: {error:?}");
                    failed += 1;
                }
            }
        }
    }
    failed
}

#[test]
fn opening_and_reading_on() {
    let (disk, newest) = store();
    for map in [true, false] {
        let options = LogOptions { map, ..SMALL };
        let failed = fail_everywhere(&disk, |disk| {
            let mut log = Log::open(shared(disk), Mode::ReadOnly, options)?;
            let mut texts = Vec::new();
            log.catch_up(&mut |batch| {
                texts.push(text_of(&batch));
                Ok(())
            })?;
            Ok(texts)
        });
        assert!(failed > 8, "{failed}");
    }
    let failed = fail_everywhere(&disk, |disk| {
        let mut log = Log::open(shared(disk), Mode::ReadOnly, SMALL)?;
        log.start_at(&newest)?;
        log.catch_up(&mut |_| Ok(()))?;
        Ok((log.position(), log.holds(&newest)?))
    });
    assert!(failed > 12, "{failed}");
}

#[test]
fn writing_on() {
    let (disk, _) = store();
    let failed = fail_everywhere(&disk, |disk| {
        let mut log = Log::open(shared(disk), Mode::ReadWrite, SMALL)?;
        append(&mut log, &["more"])?;
        let (texts, _) = read_all(&shared(disk), Mode::ReadOnly, SMALL)?;
        let left = disk.files().into_keys().filter(|name| name.contains(".tmp"));
        Ok((texts, left.count()))
    });
    assert!(failed > 8, "{failed}");
}

/// Converts the report of a file that cannot be read to an error.
fn expect_read(findings: &[Finding]) -> Result<()> {
    let mut causes = findings.iter().map(|found| &found.damage.cause);
    match causes.find(|cause| matches!(cause, Cause::CannotRead(_))) {
        Some(cause) => Err(Error::new(ErrorKind::Io, cause.to_string())),
        None => Ok(()),
    }
}

#[test]
fn checking_and_salvaging() {
    let (disk, _) = store();
    let failed = fail_everywhere(&disk, |disk| {
        let checked = Checked::of(shared(disk), SMALL, None)?;
        expect_read(&checked.findings)?;
        Ok((checked.numbers, checked.bytes, checked.findings))
    });
    assert!(failed > 8, "{failed}");
    let failed = fail_everywhere(&disk, |disk| {
        let wreck = DamagedLog::open(shared(disk))?;
        let mut count = 0;
        let found = wreck.pieces(&[], &mut |piece, _| {
            count += piece.records.len();
            Ok(())
        })?;
        expect_read(&found)?;
        Ok((count, found.len()))
    });
    assert!(failed > 5, "{failed}");
}

#[test]
fn creating_what_is_there_or_half_made() {
    let (disk, _) = store();
    let half = SimDisk::new(1);
    create(&shared(&half), SMALL);
    half.put_file("format.tmp", half.files()["format"].clone());
    half.remove_file("format");
    let make = |disk: &SimDisk| {
        let made = Log::create(
            shared(disk),
            HashAlgorithm::Blake3,
            batch("batch 1"),
            mark(1),
            SMALL,
        );
        match made {
            Err(error) if error.code() == ErrorCode::StoreExists => Ok(false),
            other => other.map(|_| true),
        }
    };
    assert!(fail_everywhere(&disk, make) > 0);
    assert!(fail_everywhere(&half, make) > 2);
    // An unreadable store must not appear as a missing store.
    let open = |disk: &SimDisk| match Log::open(shared(disk), Mode::ReadOnly, SMALL) {
        Err(error) if error.code() == ErrorCode::NoStore => Ok("none"),
        other => other.map(|_| "one"),
    };
    assert!(fail_everywhere(&half, open) > 2);
}

#[test]
fn what_was_checked_is_counted() {
    let (disk, _) = store();
    let log = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    let checked = Checked::of(shared(&disk), SMALL, None).unwrap();
    let listed = log.manifest.entries().map(|entry| segment_name(entry.id));
    let bytes: usize = listed.map(|name| disk.files()[&name].len()).sum();
    assert_eq!(checked.numbers.len() as u64, BATCHES);
    assert!(checked.damages().is_empty());
    // The active segment ends with zeros. The reader reads only as many zeros as it needs to prove that no batch
    // follows.
    assert!(checked.bytes <= bytes as u64, "{} of {bytes}", checked.bytes);
    let (_, used) = log_size(&disk);
    assert!(checked.bytes >= used, "{} of {used}", checked.bytes);
}

fn log_size(disk: &SimDisk) -> (usize, u64) {
    let mut log = Log::open(shared(disk), Mode::ReadOnly, SMALL).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    log.size()
}

#[test]
fn what_was_just_written_or_is_mapped_is_not_read_from_its_file() {
    for map in [true, false] {
        let disk = SimDisk::new(3);
        let mut log = create(&shared(&disk), LogOptions { map, ..SMALL });
        let mut written = append(&mut log, &["batch 2", "batch 3"]).unwrap();
        let read = |log: &Log, batches: &[Batch]| {
            let before = disk.reads();
            for record in batches.iter().flat_map(|batch| &batch.records) {
                assert_eq!(&log.reader().read(record.locator).unwrap(), record);
            }
            disk.reads() - before
        };
        assert_eq!(read(&log, &written), 0, "map: {map}");
        if !map {
            continue;
        }
        // The first read of a sealed segment maps it.
        while log.size().0 < 3 {
            written.extend(append(&mut log, &["more"]).unwrap());
        }
        let mut other = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
        other.catch_up(&mut |_| Ok(())).unwrap();
        read(&other, &written);
        assert_eq!(read(&other, &written), 0);
    }
}
