//! A checkpoint of several files: opening, absorbing, crashes, damage, and the thread that writes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::covering::{answers, checkpoints, cover, cover_absorbing, same, tree};
use super::gc::{HOUR, kept, live, on_disk, options};
use super::{id, put};
use crate::Result;
use crate::engine::upkeep::checkpointing::checkpoint;
use crate::engine::{Erasing, Memory, Options, VerifyDepth, Writer};
use crate::error::Severity;
use crate::store::{Checkpoint, LogId, Work};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, SimDisk};

/// Makes a store whose checkpoint has `files` files, and some commits behind it.
fn chain(seed: u64, files: usize) -> (SimDisk, Memory) {
    let disk = SimDisk::new(seed);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    let mut random = SplitMix64::new(seed);
    for _ in 0..files {
        live(&memory, &mut random, 40);
        cover_absorbing(&memory, 0);
    }
    live(&memory, &mut random, 10);
    assert_eq!(checkpoints(&disk).len(), files);
    (disk, memory)
}

fn reader(disk: &SimDisk) -> Memory {
    on_disk(disk, options(1).read_only(true), false).unwrap()
}

/// Panics unless verification finds nothing but leftover files.
fn assert_whole(disk: &SimDisk, what: &str) {
    let report = reader(disk).verify(VerifyDepth::Full).unwrap();
    assert!(report.ok, "{what}: {report:?}");
    let derived = report.derived.iter();
    let worst = derived
        .map(|found| found.severity)
        .find(|severity| *severity != Severity::Harmless);
    assert_eq!(worst, None, "{what}: {report:?}");
}

#[test]
fn abs_1_a_new_file_replaces_the_files_that_it_absorbs() {
    let (disk, memory) = chain(1, 4);
    let expected = answers(&memory);
    same(&answers(&reader(&disk)), &expected, "four files");
    assert_whole(&disk, "four files");
    cover(&memory);
    assert_eq!(checkpoints(&disk).len(), 1);
    same(&answers(&reader(&disk)), &expected, "one file");
    assert_whole(&disk, "one file");
}

#[test]
fn a_file_contains_what_changed_and_the_sizes_stay_apart() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..20_000 {
        draft.put(super::note(&format!("n/{number}"), "text"))?;
    }
    memory.commit(draft, "put")?;
    cover(&memory);
    let size = |name: &String| disk.files()[name].len();
    let whole = size(&checkpoints(&disk)[0]);
    let mut written = 0;
    for round in 0..40 {
        put(&memory, &format!("n/{}", round * 97), "other text");
        cover(&memory);
        let files = checkpoints(&disk);
        assert_eq!(size(&files[0]), whole, "the large file stays");
        let newest = size(files.last().unwrap());
        assert!(newest < whole / 20, "{newest} of {whole}");
        written += newest;
        assert!(files.len() <= 6, "{files:?}");
    }
    assert!(written < whole, "{written} bytes for 40 objects");
    same(&answers(&reader(&disk)), &answers(&memory), "after the changes");
    assert_whole(&disk, "after the changes");
    Ok(())
}

#[test]
fn a_snapshot_behind_the_checkpoint_makes_a_file_without_a_commit() -> Result<()> {
    let (disk, memory) = chain(2, 2);
    cover_absorbing(&memory, 0);
    memory.snapshot(None, &Writer::user())?;
    cover_absorbing(&memory, 0);
    assert_eq!(checkpoints(&disk).len(), 4);
    same(
        &answers(&reader(&disk)),
        &answers(&memory),
        "a file of one reference",
    );
    cover(&memory);
    same(&answers(&reader(&disk)), &answers(&memory), "nothing new");
    put(&memory, "o/1", "later");
    cover(&memory);
    same(&answers(&reader(&disk)), &answers(&memory), "absorbed");
    assert_whole(&disk, "at the end");
    Ok(())
}

#[test]
fn damage_of_each_file_costs_time_only() -> Result<()> {
    let (disk, memory) = chain(3, 3);
    let (expected, states) = (answers(&memory), kept(&memory));
    for name in checkpoints(&disk) {
        let whole = disk.files()[&name].clone();
        let places = (0..whole.len()).step_by(2_503).chain([whole.len() - 1]);
        for at in places {
            let copy = disk.copy();
            copy.overwrite(&name, |bytes| bytes[at] ^= 0x40);
            let what = format!("{name}, byte {at}");
            let reader = reader(&copy);
            same(&answers(&reader), &expected, &what);
            assert_eq!(kept(&reader), states, "{what}");
        }
        for gone in [true, false] {
            let copy = disk.copy();
            if gone {
                copy.remove_file(&name);
            } else {
                copy.overwrite(&name, |bytes| bytes.fill(0xa5));
            }
            let writer = on_disk(&copy, options(HOUR), false)?;
            same(&answers(&writer), &expected, &name);
            put(&writer, "o/after", "the damage");
            cover(&writer);
            let expected = answers(&writer);
            drop(writer);
            same(&answers(&reader(&copy)), &expected, &name);
            assert!(reader(&copy).inner.store().covered_head()?.is_some(), "{name}");
            assert_whole(&copy, &name);
        }
    }
    Ok(())
}

#[test]
fn a_crash_while_a_file_is_added_or_absorbs_others_leaves_a_checkpoint() -> Result<()> {
    let (disk, memory) = chain(4, 3);
    let (expected, covered) = (
        kept(&memory),
        reader(&disk).inner.store().checkpoint().unwrap().position(),
    );
    drop(memory);
    for limit in [0, u64::MAX] {
        // Proves the log durable, so that only the checkpoint is left to write.
        let open = |disk: &SimDisk| {
            let writer = on_disk(disk, options(HOUR), false).unwrap();
            writer.inner.write(|_| Ok(())).unwrap();
            writer
        };
        let calls = {
            let copy = disk.copy();
            let writer = open(&copy);
            let before = copy.calls();
            checkpoint(writer.inner.opened(), &mut writer.inner.log.lock(), limit)?;
            (before, copy.calls())
        };
        let mut found = BTreeSet::new();
        for call in calls.0 + 1..=calls.1 {
            let copy = disk.copy();
            let writer = open(&copy);
            copy.crash_at(call);
            let mut writing = writer.inner.log.lock();
            drop(checkpoint(writer.inner.opened(), &mut writing, limit));
            drop(writing);
            let images = [
                CrashImage::Killed,
                CrashImage::Nothing,
                CrashImage::Everything,
                CrashImage::NamesWithoutContents,
                CrashImage::ContentsWithoutNames,
            ];
            for image in images.into_iter().chain((0..4).map(CrashImage::Sectors)) {
                let what = format!("limit {limit}, call {call}, {image:?}");
                let after = copy.crash_image(image);
                let reader = reader(&after);
                assert_eq!(kept(&reader), expected, "{what}");
                let found_at = reader.inner.store().checkpoint().expect(&what).position();
                assert!(found_at.batch >= covered.batch, "{what}");
                found.insert(found_at.batch > covered.batch);
                assert_whole(&after, &what);
                // The next checkpoint leaves no extra file.
                let writer = open(&after);
                put(&writer, "after", "the crash");
                cover(&writer);
                drop(writer);
                let names = checkpoints(&after);
                assert!(
                    names.iter().all(|name| !name.contains(".tmp")),
                    "{what}: {names:?}"
                );
                assert_whole(&after, &what);
            }
            std::mem::forget(writer);
        }
        assert_eq!(found.len(), 2, "old and new");
    }
    Ok(())
}

/// Merges the newest files of a checkpoint while `meanwhile` runs at every step. Returns the new checkpoint.
fn merge(memory: &Memory, disk: &SimDisk, meanwhile: &mut dyn FnMut(u64, usize)) -> Result<Checkpoint> {
    let log = LogId::of(&memory.inner.log.lock().log);
    let newest = || crate::store::open_newest(disk, log, true).map(|found| found.0.unwrap());
    let chain = newest()?;
    let work = Work {
        disk,
        map: true,
        tail_bytes: 0,
        limit: 0,
        floor: chain.files(),
        busy: None,
    };
    let store = memory.inner.store();
    let busy = std::cell::Cell::new(0);
    let merged = store.merge_checkpoint(&chain, 0, &work, &mut |number| busy.set(number), &mut |_| {
        meanwhile(busy.get(), chain.files());
        Ok(())
    })?;
    let newer = newest()?;
    if newer.files() > chain.files() {
        return store.move_checkpoint(&newer, chain.files(), &merged, &work, &mut |_| Ok(()));
    }
    Ok(merged)
}

#[test]
fn files_written_during_a_merge_are_moved_onto_the_merged_file() -> Result<()> {
    for seed in 0..10 {
        let (disk, memory) = chain(seed, 4);
        let mut random = SplitMix64::new(seed);
        let mut rounds = 0;
        let merged = merge(&memory, &disk, &mut |busy, floor| {
            rounds += 1;
            if rounds > 3 {
                return;
            }
            live(&memory, &mut random, 15);
            let store = memory.inner.store();
            let (log, position) = {
                let writing = memory.inner.log.lock();
                (LogId::of(&writing.log), writing.log.position())
            };
            let work = Work {
                disk: &disk,
                map: true,
                tail_bytes: 0,
                limit: u64::MAX,
                floor,
                busy: Some(busy),
            };
            let cut = store.cut(log, position).unwrap();
            store
                .write_checkpoint(&cut, None, &work, &mut |_| Ok(()))
                .unwrap();
            let names = checkpoints(&disk);
            assert!(names.iter().any(|name| name.contains(".tmp")), "{names:?}");
            same(&answers(&reader(&disk)), &answers(&memory), "during the merge");
        })?;
        assert!(rounds > 1, "{rounds}");
        assert_eq!(merged.files(), 2);
        assert_eq!(checkpoints(&disk).len(), 2, "seed {seed}");
        same(
            &answers(&reader(&disk)),
            &answers(&memory),
            &format!("seed {seed}"),
        );
        same(&tree(&reader(&disk)), &tree(&memory), &format!("seed {seed}"));
        assert_whole(&disk, "after the merge");
        live(&memory, &mut random, 20);
        cover(&memory);
        same(&answers(&reader(&disk)), &answers(&memory), "the next checkpoint");
        assert_whole(&disk, "the next checkpoint");
    }
    Ok(())
}

#[test]
fn two_writers_build_on_each_others_files() -> Result<()> {
    for seed in 0..10 {
        let (disk, one) = chain(seed, 2);
        let two = on_disk(&disk, options(HOUR), false)?;
        let mut random = SplitMix64::new(seed);
        for round in 0..8 {
            let memory = [&one, &two][random.below(2)];
            live(memory, &mut random, 12);
            let other = [&one, &two][random.below(2)];
            drop(other.refresh()?);
            cover_absorbing(other, [0, u64::MAX][random.below(2)]);
            drop(memory.refresh()?);
            let what = format!("seed {seed}, round {round}");
            same(&answers(&reader(&disk)), &answers(memory), &what);
            assert_whole(&disk, &what);
        }
    }
    Ok(())
}

#[test]
fn an_erasure_leaves_no_digest_in_any_file() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let mut digests = Vec::new();
    for round in 0..4 {
        put(&memory, "secret", &format!("the secret {round}"));
        let found = memory.view().get(&id("secret"))?.unwrap();
        digests.push(*found.digest().as_bytes());
        live(&memory, &mut SplitMix64::new(round), 20);
        cover_absorbing(&memory, 0);
    }
    let holding = |disk: &SimDisk| {
        let is_held = |bytes: &Vec<u8>| {
            digests
                .iter()
                .any(|digest| bytes.windows(32).any(|window| window == digest))
        };
        let files = disk.files().into_iter();
        let checkpoints = files.filter(|(name, _)| name.starts_with("checkpoint/"));
        checkpoints
            .filter(|(_, bytes)| is_held(bytes))
            .collect::<Vec<_>>()
    };
    let before = holding(&disk);
    assert_eq!(before.len(), 4);
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    // A checkpoint of the new log has digests for the past states, whose roots stay.
    let left = holding(&disk);
    assert!(
        left.iter().all(|file| !before.contains(file)),
        "an old file is left"
    );
    drop(memory);
    // A crash may leave old files. The next writer removes them.
    for (name, bytes) in before {
        let number = name.replace("0000000", "0000010");
        disk.put_file(&number, bytes);
    }
    put(&on_disk(&disk, options(HOUR), false)?, "after", "the erasure");
    assert!(checkpoints(&disk).iter().all(|name| !name.contains("0000010")));
    assert_whole(&disk, "after the erasure");
    Ok(())
}

#[test]
fn bgr_1_a_thread_writes_the_checkpoints_while_commits_go_on() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let memory = Memory::create(&path)?;
    let text = "some text of the memory ".repeat(40);
    let names = || {
        let listed = std::fs::read_dir(path.join("checkpoint"));
        let names = listed.into_iter().flatten();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>()
    };
    for round in 0..30 {
        let mut draft = memory.draft(&Writer::user());
        for number in 0..1_000 {
            draft.put(super::note(
                &format!("n/{}", (round * 700 + number) % 20_000),
                &format!("{round} {text}"),
            ))?;
        }
        memory.commit(draft, "put")?;
        if round == 20 {
            let erasing = Erasing {
                targets: vec!["n/3".to_owned()],
                ..Erasing::default()
            };
            memory.erase(&erasing, &Writer::user())?;
        }
    }
    let expected: Vec<_> = memory
        .view()
        .objects()
        .map(|object| object.unwrap().digest())
        .collect();
    let weak = Arc::downgrade(&memory.inner.source);
    memory.close()?;
    let names = names();
    assert!(
        !names.is_empty() && names.iter().all(|name| !name.contains(".tmp")),
        "{names:?}"
    );
    // The thread that frees the memory of the store ends, too.
    let is_freed = (0..60_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        weak.strong_count() == 0
    });
    assert!(is_freed, "a thread still keeps the store after a minute");
    let reader = Options::new().read_only(true).open(&path)?;
    assert!(reader.inner.log.lock().tail_bytes < 32 << 10);
    let found: Vec<_> = reader
        .view()
        .objects()
        .map(|object| object.unwrap().digest())
        .collect();
    assert_eq!(found, expected);
    let report = reader.verify(VerifyDepth::Full)?;
    assert!(report.ok && report.derived.is_empty(), "{report:?}");
    assert_eq!(reader.warnings(), Vec::<String>::new());
    Ok(())
}

#[test]
fn handles_of_one_write_each_leave_little_to_read() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..3_000 {
        draft.put(super::note(&format!("n/{number}"), "text"))?;
    }
    memory.commit(draft, "put")?;
    memory.close()?;
    for round in 0..120 {
        let memory = on_disk(&disk, options(HOUR), false)?;
        put(&memory, &format!("n/{}", round * 17), &"other text ".repeat(30));
        let tail = memory.inner.log.lock().tail_bytes;
        assert!(
            tail < 20 << 10,
            "round {round}: {tail} bytes, {:?}",
            memory.warnings()
        );
        let kept = memory.clone();
        memory.close()?;
        assert_eq!(kept.warnings(), Vec::<String>::new(), "round {round}");
    }
    let names = checkpoints(&disk);
    assert!(names.len() <= 6, "{names:?}");
    same(
        &answers(&reader(&disk)),
        &answers(&on_disk(&disk, options(HOUR), false)?),
        "at the end",
    );
    assert_whole(&disk, "at the end");
    Ok(())
}

#[test]
fn a_file_of_a_log_that_another_process_rewrote_is_removed() -> Result<()> {
    let (disk, memory) = chain(5, 2);
    let other = on_disk(&disk, options(HOUR), false)?;
    let store = memory.inner.store();
    let (log, position) = {
        let writing = memory.inner.log.lock();
        (LogId::of(&writing.log), writing.log.position())
    };
    other.gc(&super::gc::tight(), None)?;
    drop(other);
    let before = checkpoints(&disk);
    let work = Work {
        disk: &disk,
        map: true,
        tail_bytes: 0,
        limit: 0,
        floor: 0,
        busy: None,
    };
    let written = store.write_checkpoint(&store.cut(log, position)?, None, &work, &mut |_| Ok(()));
    assert_eq!(written.err().unwrap().code(), crate::error::ErrorCode::Rewritten);
    assert_eq!(checkpoints(&disk).len(), before.len());
    assert_whole(&disk, "after the rewrite");
    Ok(())
}

#[test]
fn a_chain_stays_below_the_number_of_files_that_a_file_can_name() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    for round in 0..80 {
        // Files of random text above the size below which every file is absorbed.
        let mut draft = memory.draft(&Writer::user());
        for number in 0..400 {
            draft.put(super::note(&format!("n/{round}/{number}"), "text"))?;
        }
        memory.commit(draft, "put")?;
        cover_absorbing(&memory, 0);
        let reader = reader(&disk);
        let store = reader.inner.store();
        let covered = store.checkpoint().unwrap();
        assert!(covered.files() <= 65, "round {round}");
        assert_eq!(covered.position().batch, store.head()?.batch, "round {round}");
    }
    Ok(())
}
