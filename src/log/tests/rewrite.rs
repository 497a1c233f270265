//! Tests rewrites: the batches that they retain, and the rewrites that the log refuses.

mod leftovers;
mod meanwhile;

use super::*;
use crate::disk::FileDisk;
use crate::error::ErrorCode;
use crate::testing::sim_disk::{CrashImage, SimDisk};

const BATCHES: usize = 90;

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Creates a store of many small segments. Also returns a handle that has read the whole log.
fn store() -> (SimDisk, Log) {
    let disk = SimDisk::new(31);
    let mut log = create(&shared(&disk), SMALL);
    for number in 2..=BATCHES {
        append(&mut log, &[&format!("batch {number}")]).unwrap();
    }
    assert!(log.size().0 > 3);
    (disk, log)
}

/// Reads to the end of the log under a new lock.
fn at_end(log: &mut Log) -> Result<WriteLock> {
    let lock = log.lock(Duration::from_secs(20))?;
    match log.prepare(&lock, &mut |_| Ok(())) {
        Err(error) if error.code() == ErrorCode::Rewritten => {
            log.reopen()?;
            log.prepare(&lock, &mut |_| Ok(()))?;
        }
        other => other?,
    }
    Ok(lock)
}

fn begin(log: &mut Log) -> Result<Rewrite> {
    let alone = CompactionLock::take(&*log.disk, Duration::from_secs(20))?;
    let lock = at_end(log)?;
    log.begin_rewrite(&lock, alone, Seal::Now)
}

/// Pushes every second batch and the last batch to a rewrite, and returns these batches.
fn fill(log: &Log, rewrite: &mut Rewrite) -> Result<Vec<Batch>> {
    let mut batches = Vec::new();
    log.reader()
        .batches(&Position::START, rewrite.cut, &mut |batch| {
            batches.push(batch);
            Ok(())
        })?;
    let last = batches.len() - 1;
    let kept = batches
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index % 2 == 0 || *index == last);
    kept.map(|(_, batch)| {
        let mut builder = BatchBuilder::new();
        for record in &batch.records {
            builder.add(record.kind, record.flags, &record.body);
        }
        rewrite.push(builder, batch.commit)?;
        Ok(batch)
    })
    .collect()
}

fn rewrite_all(log: &mut Log) -> Result<()> {
    let mut rewrite = begin(log)?;
    fill(log, &mut rewrite)?;
    let rewritten = rewrite.finish()?;
    let lock = at_end(log)?;
    log.publish(&lock, rewritten)
}

fn texts(disk: &SimDisk) -> Vec<String> {
    read_all(&shared(disk), Mode::ReadOnly, SMALL).unwrap().0
}

fn segments(disk: &SimDisk) -> Vec<String> {
    disk.files()
        .into_keys()
        .filter(|name| name.starts_with("log/"))
        .collect()
}

/// Returns the severity and the file of each finding of a check.
fn findings(disk: &SimDisk) -> Vec<(Severity, String)> {
    let findings = Checked::of(shared(disk), SMALL, None).unwrap().findings;
    let file = |finding: Finding| (finding.severity, finding.damage.file);
    findings.into_iter().map(file).collect()
}

#[test]
fn a_rewrite_takes_the_place_of_all_up_to_its_cut_and_keeps_what_came_behind() {
    let (disk, mut log) = store();
    let old = segments(&disk);
    let mut other = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    let mut rewrite = begin(&mut log).unwrap();
    assert_eq!(rewrite.cut, BATCHES as u64);
    let kept = fill(&log, &mut rewrite).unwrap();
    assert!(rewrite.files.len() > 1, "the rewrite fills several files");
    for number in BATCHES + 1..=BATCHES + 40 {
        append(&mut other, &[&format!("batch {number}")]).unwrap();
    }
    let rewritten = rewrite.finish().unwrap();
    let lock = at_end(&mut log).unwrap();
    log.publish(&lock, rewritten).unwrap();
    assert_eq!((log.epoch(), log.position()), (1, Position::START));
    // The lock stays valid for the handle that has read the whole log.
    let early = vec![(batch("early"), mark(1))];
    assert!(log.append(&lock, early, Durability::Synced).is_err(), "APP-1");
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let head = mark(BATCHES as u64 + 41);
    let made = log
        .append(&lock, vec![(batch("the last"), head)], Durability::Synced)
        .unwrap();
    assert_eq!(made[0].number, BATCHES as u64 + 41, "LOG-7");
    let mut expected: Vec<String> = kept.iter().map(text_of).collect();
    assert_eq!(expected.len(), BATCHES / 2 + 1);
    expected.extend((BATCHES + 1..=BATCHES + 40).map(|number| format!("batch {number}")));
    expected.push("the last".to_owned());
    assert_eq!(texts(&disk), expected);
    let (read, ..) = read_batches(&shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    for (kept, read) in kept.iter().zip(&read) {
        for (kept, read) in kept.records.iter().zip(&read.records) {
            assert_eq!((kept.kind, &kept.body), (read.kind, &read.body));
        }
    }
    let now = segments(&disk);
    assert!(old.iter().all(|name| !now.contains(name)), "{old:?} in {now:?}");
    assert_eq!(findings(&disk), []);
    // After publication, a power loss loses no batch.
    let lost = disk.crash_image(CrashImage::Nothing);
    assert_eq!((texts(&lost), segments(&lost)), (expected, now));
}

#[test]
fn a_log_is_rewritten_again_and_again_also_with_nothing_in_between() {
    let (disk, mut log) = store();
    let mut expected = expected(BATCHES);
    for epoch in 1..=6 {
        rewrite_all(&mut log).unwrap();
        let last = expected.len() - 1;
        let mut index = 0;
        expected.retain(|_| {
            index += 1;
            index % 2 == 1 || index == last + 1
        });
        assert_eq!((texts(&disk), log.epoch()), (expected.clone(), epoch));
        if epoch % 2 == 0 {
            append(&mut log, &["in between"]).unwrap();
            expected.push("in between".to_owned());
        }
        let numbers: Vec<u64> = read_batches(&shared(&disk), Mode::ReadOnly, SMALL)
            .unwrap()
            .0
            .iter()
            .map(|batch| batch.number)
            .collect();
        let appended = u64::from(epoch) / 2;
        let newest = if epoch % 2 == 0 {
            BATCHES as u64 + appended
        } else {
            expected.len() as u64
        };
        assert_eq!(numbers.last(), Some(&newest), "{numbers:?}");
    }
    assert_eq!(findings(&disk), []);
}

#[test]
fn positions_of_a_rewritten_log_lead_over_the_numbers_that_were_left_out() {
    let (disk, mut log) = store();
    rewrite_all(&mut log).unwrap();
    let mut reader = Log::open(shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    reader.catch_up(&mut |_| Ok(())).unwrap();
    let behind = reader.position();
    assert_eq!((behind.batch, reader.newest_batch()), (46, BATCHES as u64));
    append(&mut log, &["next"]).unwrap();
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let mut log = Log::open(shared(&disk), mode, SMALL).unwrap();
        log.start_at(&behind).unwrap();
        let mut seen = Vec::new();
        log.catch_up(&mut |batch| {
            seen.push((batch.number, text_of(&batch)));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [(BATCHES as u64 + 1, "next".to_owned())]);
        let mut again = Vec::new();
        log.reader()
            .batches(&behind, log.newest_batch(), &mut |batch| {
                again.push((batch.number, text_of(&batch)));
                Ok(())
            })
            .unwrap();
        assert_eq!(again, seen);
    }
}

#[test]
fn wrong_use_is_refused_and_changes_nothing() {
    let (disk, mut log) = store();
    let alone = CompactionLock::take(&*log.disk, NO_WAIT).unwrap();
    let busy = CompactionLock::take(&*log.disk, NO_WAIT).err().unwrap();
    assert_eq!(busy.kind(), ErrorKind::Busy, "RWR-1");
    assert!(busy.message().contains("another rewrite"), "{busy}");
    let lock = log.lock(NO_WAIT).unwrap();
    assert!(
        log.begin_rewrite(&lock, alone, Seal::Now).is_err(),
        "before prepare"
    );
    drop(lock);

    let one = |number: usize| (batch("new"), mark(number as u64).commit);
    let fails = |log: &mut Log, heads: &[usize], what: &str| {
        let mut rewrite = begin(log).unwrap();
        let pushed: Result<Vec<_>> = heads
            .iter()
            .map(|head| {
                let (batch, commit) = one(*head);
                rewrite.push(batch, commit)
            })
            .collect();
        let refused = pushed.and_then(|_| rewrite.finish().map(|_| ())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{what}: {refused:?}");
    };
    fails(&mut log, &[], "nothing was pushed");
    fails(&mut log, &[BATCHES, 3], "another head");
    let more: Vec<usize> = (0..=BATCHES).map(|_| BATCHES).collect();
    fails(&mut log, &more, "RWR-3: the rewrite has too many batches");
    let mut rewrite = begin(&mut log).unwrap();
    let mut large = BatchBuilder::new();
    large.add(RecordKind::Text, 0, &vec![1; BODY_BYTES_MAX + 1]);
    assert_eq!(
        rewrite.push(large, mark(1).commit).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    fill(&log, &mut rewrite).unwrap();
    let rewritten = rewrite.finish().unwrap();

    // The log refuses a rewrite of another store, even if the content is equal.
    let copy = disk.copy();
    let mut other = Log::open(shared(&copy), Mode::ReadWrite, SMALL).unwrap();
    let lock = at_end(&mut other).unwrap();
    let before = (copy.files(), disk.files());
    assert!(other.publish(&lock, rewritten).is_err());
    assert_eq!(copy.files(), before.0);
    assert!(other.is_usable() && log.is_usable());
    assert_eq!(texts(&disk), expected(BATCHES));
    assert!(
        segments(&disk).iter().all(|name| !name.contains("rewrite")),
        "RWR-4"
    );
}

#[test]
fn a_rewrite_of_another_epoch_is_refused_and_changes_nothing() {
    let (disk, mut log) = store();
    let mut late = begin(&mut log).unwrap();
    fill(&log, &mut late).unwrap();
    let mut late = late.finish().unwrap();
    // Simulates that the lock file was removed, and that another rewrite was then published first.
    late.0.epoch += 1;
    let lock = at_end(&mut log).unwrap();
    let before = disk.files();
    assert!(log.publish(&lock, late).is_err());
    drop(lock);
    let now: Vec<String> = disk.files().into_keys().collect();
    let expected_names: Vec<String> = before
        .keys()
        .filter(|name| !name.contains("rewrite"))
        .cloned()
        .collect();
    assert_eq!(now, expected_names);
    assert_eq!(before["manifest"], disk.files()["manifest"]);
    // The log also refuses a rewrite of segments that it no longer contains.
    let mut late = begin(&mut log).unwrap();
    fill(&log, &mut late).unwrap();
    let mut late = late.finish().unwrap();
    late.0.replaced[0].last_digest[0] ^= 1;
    let lock = at_end(&mut log).unwrap();
    assert!(log.publish(&lock, late).is_err());
    assert_eq!(texts(&disk), expected(BATCHES));
    assert!(log.is_usable());
}

#[test]
fn rwr_2_a_bit_that_flips_before_it_is_read_back_is_caught() {
    let (disk, mut log) = store();
    let mut rewrite = begin(&mut log).unwrap();
    fill(&log, &mut rewrite).unwrap();
    let lengths: Vec<u64> = rewrite.files.iter().map(|file| file.entry.length).collect();
    drop(rewrite);
    drop(log);
    assert_eq!(lengths.len(), 2);
    let before = texts(&disk);
    for (index, length) in lengths.iter().enumerate() {
        for at in (4096..*length as usize).step_by(37).chain([*length as usize - 1]) {
            let disk = disk.copy();
            let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
            let mut rewrite = begin(&mut log).unwrap();
            fill(&log, &mut rewrite).unwrap();
            let name = format!("log/rewrite-{}.tmp", index + 1);
            let (flipped, length) = (disk.clone(), *length as usize);
            disk.observe(Arc::new(move |seen| {
                if seen
                    .contents()
                    .get(&name)
                    .is_some_and(|content| content.len() == length)
                {
                    flipped.observe_no_more();
                    flipped.overwrite(&name, |bytes| {
                        // The log also refuses a file with additional bytes.
                        if at + 1 == length {
                            bytes.push(0);
                        } else {
                            bytes[at] ^= 0x10;
                        }
                    });
                }
            }));
            let refused = rewrite.finish().err().unwrap();
            assert_eq!(refused.code(), "not_as_written", "file {index}, byte {at}");
            assert_eq!(texts(&disk), before);
            assert!(
                segments(&disk).iter().all(|name| !name.contains("rewrite")),
                "RWR-4"
            );
        }
    }
}

#[test]
fn rwr_2_a_bit_of_a_header_that_flips_is_caught_before_it_counts() {
    let (disk, _) = store();
    for at in (0..4096).step_by(111) {
        let disk = disk.copy();
        let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
        let mut rewrite = begin(&mut log).unwrap();
        fill(&log, &mut rewrite).unwrap();
        let rewritten = rewrite.finish().unwrap();
        let flipped = disk.clone();
        disk.observe(Arc::new(move |seen| {
            let name = "log/rewrite-1.tmp";
            if seen.contents().get(name).is_some_and(|content| content[0] != 0) {
                flipped.observe_no_more();
                flipped.overwrite(name, |bytes| bytes[at] ^= 0x10);
            }
        }));
        let lock = at_end(&mut log).unwrap();
        let refused = log.publish(&lock, rewritten).unwrap_err();
        assert_eq!(refused.code(), "not_as_written", "byte {at}: {refused:?}");
        assert_eq!(texts(&disk), expected(BATCHES));
        assert!(!log.is_usable(), "LOG-5");
        drop(lock);
        let mut next = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
        append(&mut next, &["on"]).unwrap();
        assert_eq!(findings(&disk), []);
    }
}

#[test]
fn a_group_that_waits_for_its_sync_is_durable_before_a_rewrite_begins_or_is_published() {
    let (disk, mut log) = store();
    disk.relax();
    let lost = |disk: &SimDisk| texts(&disk.crash_image(CrashImage::Nothing));
    let later = |number: usize| vec![(batch(&format!("batch {number}")), mark(number as u64))];
    let alone = CompactionLock::take(&*log.disk, NO_WAIT).unwrap();
    let lock = at_end(&mut log).unwrap();
    log.append(&lock, later(BATCHES + 1), Durability::Later).unwrap();
    let mut rewrite = log.begin_rewrite(&lock, alone, Seal::Now).unwrap();
    assert_eq!(lost(&disk), expected(BATCHES + 1));
    fill(&log, &mut rewrite).unwrap();
    let rewritten = rewrite.finish().unwrap();
    log.append(&lock, later(BATCHES + 2), Durability::Later).unwrap();
    log.publish(&lock, rewritten).unwrap();
    assert_eq!(lost(&disk), texts(&disk));
    assert_eq!(texts(&disk).last().unwrap(), "batch 92");
}

#[test]
fn a_lock_file_that_was_replaced_ends_a_rewrite() {
    for name in ["lock", "compact.lock"] {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(folder.path()).unwrap());
        let mut log = create(&disk, SMALL);
        for number in 2..=BATCHES {
            append(&mut log, &[&format!("batch {number}")]).unwrap();
        }
        let replace = || {
            std::fs::remove_file(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name), "").unwrap();
        };
        let mut rewrite = begin(&mut log).unwrap();
        fill(&log, &mut rewrite).unwrap();
        let rewritten = rewrite.finish().unwrap();
        let lock = at_end(&mut log).unwrap();
        replace();
        let refused = log.publish(&lock, rewritten).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Poisoned, "{name}");
        let (texts, _) = read_all(&disk, Mode::ReadOnly, SMALL).unwrap();
        assert_eq!(texts, expected(BATCHES));
        drop(lock);
        let mut log = Log::open(Arc::clone(&disk), Mode::ReadWrite, SMALL).unwrap();
        let alone = CompactionLock::take(&*log.disk, NO_WAIT).unwrap();
        let lock = at_end(&mut log).unwrap();
        replace();
        let refused = log.begin_rewrite(&lock, alone, Seal::Now).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Poisoned, "{name}");
    }
}

#[test]
fn a_rewrite_that_moves_the_head_is_published_only_at_the_end_of_the_log() {
    for overtaken in [false, true] {
        let (disk, mut log) = store();
        let mut rewrite = begin(&mut log).unwrap();
        fill(&log, &mut rewrite).unwrap();
        let head = mark(BATCHES as u64 + 1);
        rewrite.moves_head(head);
        rewrite.push(batch("moved"), head.commit).unwrap();
        let (rewritten, lock) = (rewrite.finish().unwrap(), at_end(&mut log).unwrap());
        if overtaken {
            log.append(&lock, vec![(batch("x"), head)], Durability::Synced)
                .unwrap();
        }
        assert_eq!(log.publish(&lock, rewritten).is_err(), overtaken);
        assert_eq!(texts(&disk).last().unwrap() == "moved", !overtaken);
    }
}
