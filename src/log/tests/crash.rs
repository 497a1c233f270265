//! Tests a crash at every call, power losses after which any part of the unsynced bytes survives, and failing calls.

use super::*;
use crate::error::ErrorCode;
use crate::testing::is_thorough;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, Fault, SimDisk};

/// The numbers that a client can count: requested batches, batches acknowledged as durable, requested rewrites and
/// acknowledged rewrites.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    acked: usize,
    submitted: usize,
    published: u32,
    asked: u32,
}

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Returns a text for `number`. A batch with this text has a length of one to a few sectors.
fn text(number: usize) -> String {
    format!("batch {number} {}", "y".repeat(number * 131 % 700))
}

fn texts(count: usize) -> Vec<String> {
    (1..=count).map(text).collect()
}

/// A ledger that allows any number of batches and rewrites.
const ANY: Ledger = Ledger {
    acked: 0,
    submitted: usize::MAX,
    published: 0,
    asked: u32::MAX,
};

fn append_group(log: &mut Log, ledger: &mut Ledger, count: usize, durability: Durability) -> Result<()> {
    let lock = log.lock(NO_WAIT)?;
    prepare(log, &lock)?;
    let next = usize::try_from(log.newest_batch()).unwrap() + 1;
    let group = (next..next + count)
        .map(|number| (batch(&text(number)), mark(number as u64)))
        .collect();
    ledger.submitted = ledger.submitted.max(next + count - 1);
    log.append(&lock, group, durability)?;
    if durability == Durability::Later {
        log.sync(&lock)?;
    }
    ledger.acked = ledger.acked.max(next + count - 1);
    Ok(())
}

/// Reads to the end of the log, across rewrites.
fn prepare(log: &mut Log, lock: &WriteLock) -> Result<()> {
    match log.prepare(lock, &mut |_| Ok(())) {
        Err(error) if error.code() == ErrorCode::Rewritten => {
            log.reopen()?;
            log.prepare(lock, &mut |_| Ok(()))
        }
        other => other,
    }
}

/// Rewrites the log: one batch, whose text names the rewrite, replaces three batches. `meanwhile` writes after the cut,
/// if the rewrite seals the active segment first.
fn rewrite(
    log: &mut Log,
    ledger: &mut Ledger,
    seal: Seal,
    meanwhile: impl FnOnce(&mut Ledger) -> Result<()>,
) -> Result<()> {
    let alone = CompactionLock::take(&*log.disk, NO_WAIT)?;
    let lock = log.lock(NO_WAIT)?;
    prepare(log, &lock)?;
    let mut rewrite = log.begin_rewrite(&lock, alone, seal)?;
    let lock = Some(lock).filter(|_| seal == Seal::WhenPublished);
    let mut texts: Vec<Record> = Vec::new();
    log.reader()
        .batches(&Position::START, rewrite.cut, &mut |batch| {
            let objects = batch.records.into_iter();
            texts.extend(objects.filter(|record| record.kind == RecordKind::Object));
            Ok(())
        })?;
    assert_eq!(texts.len() as u64, rewrite.cut);
    let epoch = log.epoch() + 1;
    for (index, merged) in texts.chunks(3).enumerate() {
        let mut builder = BatchBuilder::new();
        for text in merged {
            builder.add(RecordKind::Object, 0, &text.body);
        }
        builder.add(RecordKind::Text, 0, &epoch.to_le_bytes());
        rewrite.push(builder, mark((index * 3 + merged.len()) as u64).commit)?;
    }
    meanwhile(ledger)?;
    let rewritten = rewrite.finish()?;
    let lock = match lock {
        Some(lock) => lock,
        None => {
            let lock = log.lock(NO_WAIT)?;
            prepare(log, &lock)?;
            lock
        }
    };
    ledger.asked = epoch;
    log.publish(&lock, rewritten)?;
    ledger.published = epoch;
    Ok(())
}

/// Creates a store, appends, rotates, and rewrites while another handle writes. Then restarts the machine, recovers,
/// continues and rewrites again.
fn workload(disk: &SimDisk, ledger: &mut Ledger) -> Result<()> {
    ledger.submitted = 1;
    let mut log = Log::create(
        shared(disk),
        HashAlgorithm::Blake3,
        batch(&text(1)),
        mark(1),
        SMALL,
    )?;
    ledger.acked = 1;
    for step in 0..7 {
        append_group(&mut log, ledger, 1 + step % 2, Durability::Synced)?;
    }
    let mut other = Log::open(shared(disk), Mode::ReadWrite, SMALL)?;
    rewrite(&mut log, ledger, Seal::Now, |ledger| {
        for _ in 0..3 {
            append_group(&mut other, ledger, 2, Durability::Synced)?;
        }
        Ok(())
    })?;
    append_group(&mut other, ledger, 1, Durability::Synced)?;
    disk.reboot();
    let mut log = Log::open(shared(disk), Mode::ReadWrite, SMALL)?;
    append_group(&mut log, ledger, 1, Durability::Later)?;
    let mut other = Log::open(shared(disk), Mode::ReadWrite, SMALL)?;
    for step in 0..5 {
        append_group(
            if step % 2 == 0 { &mut other } else { &mut log },
            ledger,
            1,
            Durability::Synced,
        )?;
    }
    rewrite(&mut other, ledger, Seal::WhenPublished, |_| Ok(()))?;
    append_group(&mut log, ledger, 1, Durability::Synced)
}

/// The content of a store: the texts of its objects, the number of its batches, and the number of its rewrites.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    texts: Vec<String>,
    batches: u64,
    epoch: u32,
}

fn read_content(disk: &SimDisk) -> Result<Content> {
    let (batches, _, epoch) = read_batches(&shared(disk), Mode::ReadOnly, SMALL)?;
    let mut rewritten = true;
    let mut content = Content {
        epoch,
        ..Content::default()
    };
    for batch in &batches {
        content.batches += 1;
        let marked = batch
            .records
            .last()
            .filter(|record| record.body.len() == 4 && record.kind == RecordKind::Text);
        match marked {
            Some(record) => assert!(
                rewritten && *record.body == epoch.to_le_bytes(),
                "EPO-1: a mix of rewrites: {batch:?}"
            ),
            None => rewritten = false,
        }
        let objects = batch
            .records
            .iter()
            .filter(|record| record.kind == RecordKind::Object);
        content
            .texts
            .extend(objects.map(|record| String::from_utf8_lossy(&record.body).into_owned()));
    }
    let first_is_marked = batches.first().is_some_and(|batch| batch.records.len() > 2);
    assert_eq!(first_is_marked, epoch > 0);
    Ok(content)
}

fn read_texts(disk: &SimDisk) -> Result<Vec<String>> {
    read_content(disk).map(|content| content.texts)
}

/// Asserts that the manifest lists every file in the folder of the log.
fn assert_no_leftovers(disk: &SimDisk, what: &str) {
    let files = disk.files();
    let manifest = Manifest::decode(&files["manifest"]).unwrap();
    let listed: Vec<String> = manifest.entries().map(|entry| segment_name(entry.id)).collect();
    for name in files.keys().filter(|name| name.starts_with("log/")) {
        assert!(listed.contains(name), "{what}: {name} is left over");
    }
}

/// Opens the image for reading and checks it. Returns the number of its batches.
fn verify_read(image: &SimDisk, ledger: Ledger, what: &str) -> usize {
    let before = image.files();
    let count = match read_content(image) {
        Ok(found) => {
            assert_eq!(found.texts, texts(found.texts.len()), "{what}");
            assert!(
                (ledger.published..=ledger.asked).contains(&found.epoch),
                "PUB-1: {what}: rewrite {} of {ledger:?}",
                found.epoch
            );
            found.texts.len()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => panic!("{what}: {error:?}"),
    };
    assert!(
        count >= ledger.acked,
        "{what}: {} batches were acknowledged, {count} are there",
        ledger.acked
    );
    assert!(
        count <= ledger.submitted,
        "{what}: {} batches were submitted, {count} are there",
        ledger.submitted
    );
    assert!(
        image.files() == before,
        "LOG-6: {what}: reading changed the store"
    );
    count
}

/// Recovers the image, appends one batch and checks that all batches are durable. Returns the error of an injected
/// crash or fault.
fn go_on(image: &SimDisk, count: usize) -> Result<()> {
    let mut ledger = Ledger {
        acked: count,
        submitted: count,
        ..ANY
    };
    if count == 0 {
        Log::create(
            shared(image),
            HashAlgorithm::Blake3,
            batch(&text(1)),
            mark(1),
            SMALL,
        )?;
    } else {
        let mut log = Log::open(shared(image), Mode::ReadWrite, SMALL)?;
        append_group(&mut log, &mut ledger, 1, Durability::Synced)?;
    }
    Ok(())
}

/// Reads, recovers and continues a store after a crash, and checks each step. Returns the number of batches at the end.
fn verify_whole(image: &SimDisk, choice: CrashImage, what: &str) -> usize {
    let count = verify_read(image, ANY, what);
    go_on(image, count).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let now = read_texts(image).unwrap().len();
    // Without a reboot, readers see complete batches after the mark of `live` only after the next writer recovers them.
    assert!(
        now == count + 1 || matches!(choice, CrashImage::Killed | CrashImage::ShutDown) && now > count,
        "{what}: {count} batches, then {now}"
    );
    verify_read(
        image,
        Ledger {
            acked: now,
            submitted: now,
            ..ANY
        },
        what,
    );
    assert_no_leftovers(image, what);
    let lost = image.crash_image(CrashImage::Nothing);
    assert_eq!(
        read_texts(&lost).unwrap(),
        texts(now),
        "LOG-3: {what}: an acknowledged batch must be durable"
    );
    assert_no_leftovers(&lost, what);
    let checked = Checked::of(shared(image), SMALL, None).unwrap();
    let batches = read_content(image).unwrap().batches;
    assert_eq!(checked.numbers.len() as u64, batches, "{what}");
    let damages = checked.damages();
    assert!(damages.is_empty(), "{what}: {damages:?}");
    now
}

fn images(disk: &SimDisk, call: u64, random: &mut SplitMix64) -> Vec<CrashImage> {
    let mut images = vec![CrashImage::Killed, CrashImage::Nothing, CrashImage::Everything];
    let last = disk.last_write_bytes();
    if last > 0 {
        images.extend([0, 1, 16, 40, last / 2, last - 1].map(CrashImage::LastWritePrefix));
        images.push(CrashImage::LastWritePrefix(random.below(last)));
    }
    images.extend((0..10).map(|choice| CrashImage::Sectors(call * 1000 + choice)));
    images
}

fn calls_of_workload() -> u64 {
    let disk = SimDisk::new(1);
    let mut ledger = Ledger::default();
    workload(&disk, &mut ledger).unwrap();
    assert_eq!(ledger.acked, ledger.submitted);
    let manifest = Manifest::decode(&disk.files()["manifest"]).unwrap();
    assert!(manifest.highest_id() > 8, "the log rotates: {manifest:?}");
    assert!(
        manifest.epoch == 2 && manifest.sealed().len() > 1,
        "the log was rewritten"
    );
    disk.calls()
}

#[test]
fn every_acknowledged_batch_survives_a_crash_at_every_call() {
    let mut random = SplitMix64::new(7);
    let mut seen = 0;
    for call in 1..=calls_of_workload() {
        let disk = SimDisk::new(1);
        disk.crash_at(call);
        let mut ledger = Ledger::default();
        workload(&disk, &mut ledger).unwrap_err();
        for choice in images(&disk, call, &mut random) {
            let what = format!("crash at call {call}, {choice:?}, {ledger:?}");
            let image = disk.crash_image(choice);
            verify_read(&image, ledger, &what);
            let now = verify_whole(&image, choice, &what);
            assert!(now <= ledger.submitted + 1, "{what}: {now} batches");
            seen += 1;
        }
    }
    assert!(seen > 1000, "{seen} images");
}

#[test]
fn a_file_system_that_is_shut_down_under_a_running_machine_loses_no_acknowledged_batch() {
    let mut missed = 0;
    for call in 1..=calls_of_workload() {
        let disk = SimDisk::new(1);
        disk.crash_at(call);
        let mut ledger = Ledger::default();
        workload(&disk, &mut ledger).unwrap_err();
        let what = format!("shut down at call {call}, {ledger:?}");
        let image = disk.crash_image(CrashImage::ShutDown);
        // `live` is outdated here. The log itself shows if a group is lost, except for the newest group, because only a
        // later group proves that a group was durable. The newest group may contain two batches.
        let known = Ledger {
            acked: ledger.acked.saturating_sub(2),
            ..ledger
        };
        let count = verify_read(&image, known, &what);
        missed += usize::from(count < ledger.acked);
        let now = verify_whole(&image, CrashImage::ShutDown, &what);
        assert!(now > ledger.acked && now <= ledger.submitted + 1, "{what}: {now}");
    }
    assert!(missed < 50, "{missed}");
}

#[test]
fn a_crash_inside_recovery_loses_nothing_either() {
    let mut random = SplitMix64::new(8);
    let mut seen = 0;
    for call in (1..=calls_of_workload()).step_by(if is_thorough() { 7 } else { 14 }) {
        let disk = SimDisk::new(1);
        disk.crash_at(call);
        let mut ledger = Ledger::default();
        workload(&disk, &mut ledger).unwrap_err();
        let choices = images(&disk, call, &mut random);
        let image = disk.crash_image(*random.pick(&choices));
        // After a reboot, all batches that a reader finds are on the disk.
        image.reboot();
        ledger.acked = verify_read(&image, ledger, "the first crash");
        seen += crash_again(&image, ledger, &format!("crash at call {call}"));
        // Batches of a killed process may exist only in the page cache. Such batches are not durable until the next
        // process recovers them.
        let image = disk.crash_image(CrashImage::Killed);
        seen += crash_again(
            &image,
            ledger_of_killed(ledger, &image),
            &format!("killed at call {call}"),
        );
    }
    assert!(seen > 2000, "{seen} images");
}

/// Returns the ledger that readers may expect without a reboot: the acknowledged batches, or none if the creation of
/// the store was not acknowledged.
fn ledger_of_killed(ledger: Ledger, image: &SimDisk) -> Ledger {
    let lost = read_content(&image.crash_image(CrashImage::Nothing));
    let is_made = lost.map_or_else(|error| error.kind() != ErrorKind::NotFound, |_| true);
    let seen = verify_read(image, Ledger { acked: 0, ..ledger }, "killed");
    Ledger {
        acked: if is_made { seen } else { 0 },
        ..ledger
    }
}

/// Continues from `image`, and crashes at every call. Returns the number of checked images.
fn crash_again(image: &SimDisk, ledger: Ledger, first: &str) -> usize {
    let mut random = SplitMix64::new(9);
    let mut seen = 0;
    let whole = image.copy();
    let count = verify_read(image, ledger, first);
    go_on(&whole, count).unwrap();
    let ledger = Ledger {
        submitted: ledger.submitted + 1,
        ..ledger
    };
    for second in 1..=whole.calls() {
        let again = image.copy();
        again.crash_at(second);
        go_on(&again, count).unwrap_err();
        for choice in images(&again, second, &mut random) {
            let what = format!("{first}, then in recovery at {second}, {choice:?}");
            let image = again.crash_image(choice);
            verify_read(&image, ledger, &what);
            verify_whole(&image, choice, &what);
            seen += 1;
        }
    }
    seen
}

#[test]
fn recovering_twice_is_recovering_once() {
    let disk = SimDisk::new(1);
    workload(&disk, &mut Ledger::default()).unwrap();
    disk.reboot();
    let prepare = || {
        let mut log = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
        let lock = log.lock(NO_WAIT).unwrap();
        log.prepare(&lock, &mut |_| Ok(())).unwrap();
    };
    let before = disk.files();
    prepare();
    let once = disk.files();
    assert!(once != before, "it recovered");
    prepare();
    assert!(disk.files() == once);
}

#[test]
fn a_failing_call_poisons_and_loses_no_acknowledged_batch() {
    let calls = calls_of_workload();
    for fault in [Fault::Device, Fault::Full] {
        for call in 1..=calls {
            let what = format!("{fault:?} at call {call}");
            let disk = SimDisk::new(1);
            disk.fail_at(call, fault);
            let mut ledger = Ledger::default();
            let failed = workload(&disk, &mut ledger);
            match failed {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{what}"),
                // Success is allowed only if no failure occurred that must be reported. A full disk need not be
                // reported if a smaller segment fits.
                Ok(()) => assert!(!disk.has_failed(), "{what}"),
            }
            // Without a reboot, another handle uses the freed space to append and acknowledge more batches.
            let count = verify_read(
                &disk,
                Ledger {
                    submitted: ledger.submitted + 1,
                    ..ledger
                },
                &what,
            );
            go_on(&disk, count).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            let now = read_texts(&disk).unwrap();
            assert_eq!(now, texts(now.len()), "{what}");
            assert!(now.len() > ledger.acked, "{what}");
            for choice in [
                CrashImage::Nothing,
                CrashImage::Everything,
                CrashImage::Sectors(call),
            ] {
                assert_eq!(
                    read_texts(&disk.crash_image(choice)).unwrap(),
                    now,
                    "{what}: {choice:?}"
                );
                verify_whole(&disk.crash_image(choice), choice, &what);
            }
        }
    }
}

#[test]
fn a_handle_that_failed_writes_nothing_more() {
    let disk = SimDisk::new(1);
    let mut ledger = Ledger::default();
    let mut log = Log::create(
        shared(&disk),
        HashAlgorithm::Blake3,
        batch(&text(1)),
        mark(1),
        SMALL,
    )
    .unwrap();
    append_group(&mut log, &mut ledger, 1, Durability::Synced).unwrap();
    disk.fail_at(disk.calls() + 2, Fault::Device);
    append_group(&mut log, &mut ledger, 1, Durability::Synced).unwrap_err();
    let calls = disk.calls();
    for _ in 0..2 {
        let refused = append_group(&mut log, &mut ledger, 1, Durability::Synced).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Poisoned, "LOG-5");
    }
    assert_eq!(disk.calls(), calls);
    // Without a reboot, readers see no part of the batch whose sync failed, and lose no earlier batch.
    assert_eq!(read_texts(&disk).unwrap(), texts(2));
}

#[test]
fn a_forked_child_must_open_again() {
    let disk = SimDisk::new(1);
    let mut log = create(&shared(&disk), SMALL);
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    disk.set_process(2);
    let refused = log
        .append(&lock, vec![(batch("2"), mark(2))], Durability::Synced)
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Poisoned);
    assert_eq!(
        log.catch_up(&mut |_| Ok(())).unwrap_err().kind(),
        ErrorKind::Poisoned
    );
}

#[test]
fn a_group_that_waits_for_its_sync_is_seen_by_its_own_handle_only() {
    let disk = SimDisk::new(1);
    disk.relax();
    let mut log = create(&shared(&disk), SMALL);
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let made = log
        .append(&lock, vec![(batch("batch 2"), mark(2))], Durability::Later)
        .unwrap();
    assert_eq!(
        log.reader().read(made[0].records[0].locator).unwrap().body,
        made[0].records[0].body
    );
    assert_eq!(read_texts(&disk).unwrap().len(), 1);
    log.append(&lock, vec![(batch("batch 3"), mark(3))], Durability::Later)
        .unwrap();
    // LOG-2: both unsynced batches form one group, which only a sync makes durable.
    assert_eq!(read_texts(&disk).unwrap().len(), 1);
    let lost = disk.crash_image(CrashImage::Nothing);
    assert_eq!(read_texts(&lost).unwrap().len(), 1);
    log.sync(&lock).unwrap();
    assert_eq!(
        read_texts(&disk.crash_image(CrashImage::Nothing)).unwrap().len(),
        3
    );
}

#[test]
fn a_group_left_waiting_is_recovered_by_the_next_writer_and_known_again_by_its_own_handle() {
    let disk = SimDisk::new(1);
    let mut log = create(&shared(&disk), SMALL);
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    log.append(&lock, vec![(batch(&text(2)), mark(2))], Durability::Later)
        .unwrap();
    drop(lock);
    let mut other = Log::open(shared(&disk), Mode::ReadWrite, SMALL).unwrap();
    append_group(&mut other, &mut Ledger::default(), 1, Durability::Synced).unwrap();
    append_group(&mut log, &mut Ledger::default(), 1, Durability::Synced).unwrap();
    let (found, _) = read_all(&shared(&disk), Mode::ReadOnly, SMALL).unwrap();
    assert_eq!(found[1..], texts(4)[1..]);
}

#[test]
fn of_groups_that_wait_for_one_sync_any_part_may_be_left() {
    // LOG-2: later batches do not prove that earlier batches were durable.
    let disk = SimDisk::new(1);
    disk.relax();
    // Uses a segment that is large enough for all batches, because a writer syncs before it starts another segment.
    let options = LogOptions {
        segment_bytes_min: 1 << 16,
        ..SMALL
    };
    let first = batch(&text(1));
    let created = Log::create(shared(&disk), HashAlgorithm::Blake3, first, mark(1), options);
    let mut log = created.unwrap();
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    for number in 2..=4 {
        let group = vec![(batch(&text(number)), mark(number as u64))];
        log.append(&lock, group, Durability::Later).unwrap();
    }
    let ledger = Ledger {
        acked: 1,
        submitted: 4,
        ..ANY
    };
    let mut found = std::collections::BTreeSet::new();
    for choice in (0..100).map(CrashImage::Sectors) {
        let image = disk.crash_image(choice);
        let count = verify_read(&image, ledger, &format!("{choice:?}"));
        verify_whole(&image, choice, &format!("{choice:?}"));
        found.insert(count);
    }
    assert!(found.len() > 2, "{found:?}");
}
