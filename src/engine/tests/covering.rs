//! A store that is opened from a checkpoint returns the same results as a store that is opened from the log. A damaged
//! checkpoint costs only time.

use std::sync::Arc;

use super::gc::{HOUR, kept, live, on_disk, options, tight, told};
use super::{id, note, put};
use crate::Result;
use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::upkeep::checkpointing::checkpoint;
use crate::engine::{Erasing, Memory, Revision, VerifyDepth, Writer};
use crate::object::{Id, Op};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, Fault, ReadFault, SimDisk};

pub(super) fn cover(memory: &Memory) {
    cover_absorbing(memory, u64::MAX);
}

/// Writes a checkpoint. The new file absorbs at most `limit` bytes of older files.
pub(super) fn cover_absorbing(memory: &Memory, limit: u64) {
    let mut writing = memory.inner.log.lock();
    writing.begin(&memory.inner.source).unwrap();
    checkpoint(memory.inner.opened(), &mut writing, limit).unwrap();
    writing.release(false);
}

pub(super) fn checkpoints(disk: &SimDisk) -> Vec<String> {
    let files = disk.files();
    let names = files.keys().filter(|name| name.starts_with("checkpoint/"));
    names.cloned().collect()
}

/// Returns the results of every kind of read of a memory, as text.
pub(super) fn answers(memory: &Memory) -> Vec<String> {
    let mut answers = Vec::new();
    for info in memory.commits() {
        let info = info.unwrap();
        answers.push(format!(
            "{} {:?}",
            info.digest,
            memory.commit_counts(&info).unwrap()
        ));
        let found = memory
            .resolve(&info.digest.to_hex()[..16].parse().unwrap(), "")
            .unwrap();
        assert_eq!(found.digest, info.digest);
        let newest = memory
            .resolve(&info.commit.root.to_hex()[..16].parse().unwrap(), "")
            .unwrap();
        answers.push(format!("{}", newest.commit.seq));
        let at_time = memory
            .resolve(&info.commit.time.to_string().parse().unwrap(), "")
            .unwrap();
        assert_eq!(at_time.digest, info.digest);
    }
    let ids: Vec<Id> = (0..12).map(|number| id(&format!("o/{number}"))).collect();
    let expected = changes_of_every_state(memory, &ids);
    for (number, id) in ids.iter().enumerate() {
        let entries = memory.history(id).unwrap().into_iter();
        let found: Vec<_> = entries.map(|entry| (entry.digest, entry.commit.digest)).collect();
        assert_eq!(found, expected[number]);
        answers.extend(found.iter().map(|change| format!("{number} {change:?}")));
    }
    for lane in 0..3 {
        let writer = Writer::user().session(format!("s{lane}"));
        for preview in [Op::UNDO, Op::REDO].map(|op| memory.reverse_preview(op, &writer)) {
            answers.push(match preview {
                Ok(reversing) => format!("{} {:?}", reversing.target.digest, reversing.changes),
                Err(error) => error.to_string(),
            });
        }
    }
    answers.extend(
        memory
            .references()
            .iter()
            .map(|reference| format!("{reference:?}")),
    );
    answers.push(format!(
        "{} {}",
        memory.history_len(),
        memory.stats().unwrap().commits
    ));
    answers
}

/// Returns the history of each id, from the state of every kept commit.
fn changes_of_every_state(memory: &Memory, ids: &[Id]) -> Vec<Vec<(Option<ObjectDigest>, CommitDigest)>> {
    let mut histories = vec![Vec::new(); ids.len()];
    let mut commits: Vec<_> = memory.commits().map(|info| info.unwrap().digest).collect();
    commits.reverse();
    let mut before = vec![None; ids.len()];
    for commit in commits {
        let view = memory.view_at(&Revision::Prefix(commit.to_hex()), "").unwrap();
        for (number, id) in ids.iter().enumerate() {
            let entry = view.state.entry_at(&view.key(id)).unwrap();
            let digest = entry.map(|entry| ObjectDigest::from_bytes(entry.digest));
            if std::mem::replace(&mut before[number], digest) != digest {
                histories[number].insert(0, (digest, commit));
            }
        }
    }
    histories
}

pub(super) fn same(found: &[String], expected: &[String], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

#[test]
fn a_store_opened_by_a_checkpoint_answers_as_one_that_read_its_log() -> Result<()> {
    for seed in 0..40 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let mut memory = on_disk(&disk, options(HOUR / 3), true)?;
        for round in 0..5 {
            live(&memory, &mut random, 25);
            if random.below(3) > 0 {
                cover_absorbing(&memory, [0, 20_000, u64::MAX][random.below(3)]);
            }
            {
                let few = random.below(12) as u64;
                live(&memory, &mut random, few);
            }
            if round == 3 && seed % 2 == 0 {
                memory.gc(&tight(), None)?;
            }
            let what = format!("seed {seed}, round {round}");
            let expected = answers(&memory);
            let without = options(1).read_only(true).checkpoints(false);
            same(&answers(&on_disk(&disk, without, false)?), &expected, &what);
            let reader = on_disk(&disk, options(1).read_only(true), false)?;
            same(&answers(&reader), &expected, &what);
            assert_eq!(kept(&reader), kept(&memory), "{what}");
            assert!(memory.verify(VerifyDepth::Full)?.ok, "{what}");
            drop(memory);
            memory = on_disk(&disk, options(HOUR / 3), false)?;
        }
    }
    Ok(())
}

#[test]
fn a_damaged_checkpoint_costs_time_only() -> Result<()> {
    let disk = SimDisk::new(7);
    let memory = on_disk(&disk, options(HOUR), true)?;
    live(&memory, &mut SplitMix64::new(7), 150);
    cover(&memory);
    live(&memory, &mut SplitMix64::new(8), 10);
    let (expected, states) = (answers(&memory), kept(&memory));
    let names = checkpoints(&disk);
    assert_eq!(names.len(), 1);
    let whole = disk.files()[&names[0]].clone();
    for at in (0..whole.len()).step_by(1_003) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        disk.put_file(&names[0], damaged);
        let reader = on_disk(&disk, options(1).read_only(true), false)?;
        // Tests BAS-1: results from the log equal the results from an undamaged checkpoint, including the locators of
        // records and the indexes of commits.
        same(&answers(&reader), &expected, &format!("byte {at}"));
        assert_eq!(kept(&reader), states, "byte {at}");
    }
    for length in [0, 1, 4_096, whole.len() - 1] {
        disk.put_file(&names[0], whole[..length].to_vec());
        let writer = on_disk(&disk, options(HOUR), false)?;
        same(&answers(&writer), &expected, &format!("{length} bytes"));
    }
    disk.put_file(&names[0], vec![0xa5; whole.len()]);
    let writer = on_disk(&disk, options(HOUR), false)?;
    put(&writer, "o/after", "the damage");
    cover(&writer);
    assert_eq!(checkpoints(&disk).len(), 1);
    assert!(writer.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_history_reads_no_further_back_than_the_first_write() -> Result<()> {
    let disk = SimDisk::new(5);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "o/old", "one");
    for step in 0..600 {
        put(&memory, &format!("n/{}", step % 50), &format!("text {step}"));
    }
    put(&memory, "o/new", "one");
    put(&memory, "o/new", "two");
    cover(&memory);
    let read = |name: &str| -> Result<(usize, u64)> {
        let reader = on_disk(&disk, options(1).read_only(true), false)?;
        let before = disk.reads();
        let found = reader.history(&id(name))?.len();
        Ok((found, disk.reads() - before))
    };
    let (old, new, none) = (read("o/old")?, read("o/new")?, read("o/none")?);
    assert_eq!((old.0, new.0, none.0), (1, 2, 0));
    assert!(new.1 < old.1 && none.1 == 0, "{old:?} {new:?} {none:?}");
    Ok(())
}

/// Returns every object of the newest state with its children and its subtree digest.
pub(super) fn tree(memory: &Memory) -> Vec<String> {
    let view = memory.view();
    let mut told: Vec<_> = view
        .objects()
        .map(|object| {
            let id = id(object.unwrap().id().as_str());
            let children = view.children(&id, None).unwrap();
            assert_eq!(view.child_count(&id).unwrap(), children.len() as u64);
            format!("{id} {children:?} {:?}", view.subtree_digest(&id).unwrap())
        })
        .collect();
    told.sort();
    told
}

#[test]
fn children_that_a_rollback_restores_are_in_the_next_checkpoint() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "top", "");
    let mut below = note("below", "");
    below.parent = Some(id("top"));
    memory.put(below.clone(), &Writer::user())?;
    put(&memory, "other", "a change that leaves the tree as it is");
    cover(&memory);
    memory.remove(&id("below"), &Writer::user())?;
    cover_absorbing(&memory, 0);
    memory.rollback("seq:3").by(&Writer::user())?;
    cover_absorbing(&memory, 0);
    put(&memory, "other", "another");
    cover_absorbing(&memory, 0);
    drop(memory);
    let reader = on_disk(&disk, options(1).read_only(true), false)?;
    assert_eq!(reader.view().children(&id("top"), None)?, [id("below")]);
    Ok(())
}

#[test]
fn children_are_found_by_the_checkpoint_and_what_changed_since() -> Result<()> {
    for seed in 0..30 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR), true)?;
        for step in 0..120 {
            let mut object = note(&format!("n/{}", random.below(30)), &format!("{step}"));
            if random.below(4) > 0 {
                object.parent = Some(id(&format!("n/{}", random.below(30))));
            }
            if random.below(2) > 0 {
                object.position = Some(crate::Position::new(&format!("p{}", random.below(9)))?);
            }
            // The engine refuses a put with a missing parent or a cycle of parents. The test ignores the error.
            drop(memory.put(object, &Writer::user()));
            if random.below(9) == 0 {
                let id = id(&format!("n/{}", random.below(30)));
                drop(if random.below(2) > 0 {
                    memory.remove_recursive(&id, &Writer::user())
                } else {
                    memory.remove(&id, &Writer::user())
                });
            }
            if step % 20 == 15 {
                cover_absorbing(&memory, [0, u64::MAX][random.below(2)]);
            }
        }
        let expected = tree(&memory);
        assert!(
            expected.iter().any(|told| !told.contains("[]")),
            "some have children"
        );
        let reader = on_disk(&disk, options(1).read_only(true), false)?;
        let covered = reader.inner.store().covered_head()?;
        assert!(covered.is_some_and(|covered| !covered.is_empty()));
        same(&tree(&reader), &expected, &format!("seed {seed}"));
        let (view, family) = (reader.view(), crate::engine::read::index::Family::Children);
        assert!(
            view.source.index_at_hand(family, view.state()).is_none(),
            "no index was made for it"
        );
    }
    Ok(())
}

#[test]
fn cov_2_a_writer_of_many_commits_rests_on_its_checkpoints() -> Result<()> {
    let disk = SimDisk::new(3);
    let memory = on_disk(&disk, options(HOUR / 60), true)?;
    let mut random = SplitMix64::new(3);
    let mut stores = vec![memory.inner.store()];
    let mut views = Vec::new();
    let mut draft = memory.draft(&Writer::user());
    draft.put(note("o/begun", "before the first checkpoint"))?;
    for _ in 0..12 {
        live(&memory, &mut random, 60);
        put(
            &memory,
            "o/long",
            &format!("{} ", random.below(1 << 30)).repeat(300),
        );
        let view = memory.view();
        views.push((told(&view), view));
        let store = memory.inner.store();
        if !Arc::ptr_eq(&store, &stores[stores.len() - 1]) {
            stores.push(store);
        }
    }
    assert!(stores.len() > 2, "it rested {} times", stores.len() - 1);
    assert!(memory.inner.store().covered_head()?.is_some());
    memory.commit(draft, "put")?;
    let expected = answers(&memory);
    let without = options(1).read_only(true).checkpoints(false);
    let reader = on_disk(&disk, without, false)?;
    same(&answers(&reader), &expected, "the log");
    assert_eq!(kept(&reader), kept(&memory));
    assert_eq!(tree(&reader), tree(&memory));
    for (expected, view) in &views {
        assert_eq!(told(view), *expected, "a view of before stays");
    }
    // Dropping the last view that reads the old checkpoint frees the store of that checkpoint.
    let first = Arc::downgrade(&stores.remove(0));
    drop((stores, views));
    assert!(first.upgrade().is_none());
    Ok(())
}

#[test]
fn a_damaged_block_of_a_checkpoint_hides_no_children_and_no_later_checkpoint() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..400 {
        let mut object = note(&format!("n/{number}"), "");
        object.parent = (number > 0).then(|| id(&format!("n/{}", number / 8)));
        draft.put(object)?;
    }
    memory.commit(draft, "put")?;
    cover(&memory);
    let expected = tree(&memory);
    let names = checkpoints(&disk);
    let whole = disk.files()[&names[0]].clone();
    for at in (100..whole.len()).step_by(4_096) {
        let copy = disk.copy();
        copy.overwrite(&names[0], |content| content[at] ^= 0x40);
        let reader = on_disk(&copy, options(1).read_only(true), false)?;
        same(&tree(&reader), &expected, &format!("byte {at}"));
        let writer = on_disk(&copy, options(HOUR), false)?;
        writer.remove(&id("n/399"), &Writer::user())?;
        cover(&writer);
        let reader = on_disk(&copy, options(1).read_only(true), false)?;
        assert_eq!(tree(&reader).len(), expected.len() - 1, "byte {at}");
        let files = checkpoints(&copy);
        assert!(files.iter().any(|name| *name > names[0]), "byte {at}: {files:?}");
        assert!(
            files.iter().all(|name| !name.contains(".tmp")),
            "byte {at}: {files:?}"
        );
    }
    Ok(())
}

/// Makes a memory whose checkpoint another process wrote before that process closed the store.
fn covered_by_another(disk: &SimDisk) -> (Memory, Vec<String>) {
    let memory = on_disk(disk, options(HOUR), true).unwrap();
    live(&memory, &mut SplitMix64::new(4), 20);
    let other = on_disk(disk, options(HOUR), false).unwrap();
    live(&other, &mut SplitMix64::new(5), 20);
    cover(&other);
    drop(other);
    (memory, checkpoints(disk))
}

#[test]
fn without_live_a_checkpoint_says_how_far_the_log_is_durable() -> Result<()> {
    for whole in [true, false] {
        let disk = SimDisk::new(1);
        let (memory, names) = covered_by_another(&disk);
        disk.remove_file("live");
        if !whole {
            // Removes the end of the last batch, as if that end had never been written.
            let files = disk.files().into_keys();
            let active = files.filter(|name| name.starts_with("log/")).max().unwrap();
            disk.overwrite(&active, |bytes| {
                let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
                bytes[last - 40..].fill(0);
            });
            for checkpoints in [true, false] {
                let writer = options(HOUR).checkpoints(checkpoints);
                let put = on_disk(&disk, writer, false)
                    .and_then(|memory| memory.put(note("after", "text"), &Writer::user()));
                assert!(put.err().unwrap().is_corruption(), "POS-2");
            }
            assert!(
                memory
                    .put(note("after", "text"), &Writer::user())
                    .err()
                    .unwrap()
                    .is_corruption()
            );
            continue;
        }
        put(&memory, "after", "the handle did not read that checkpoint");
        let reader = on_disk(&disk, options(1).read_only(true), false)?;
        assert!(reader.inner.store().covered_head()?.is_some());
        assert_eq!(checkpoints(&disk), names);
        assert_eq!(kept(&reader), kept(&memory));
        let verified = memory.verify(VerifyDepth::Full)?;
        assert!(verified.ok && verified.derived.is_empty(), "{verified:?}");
    }
    Ok(())
}

#[test]
fn a_power_loss_takes_live_and_nothing_that_a_checkpoint_covers() -> Result<()> {
    let disk = SimDisk::new(1);
    let (memory, _) = covered_by_another(&disk);
    drop(memory);
    let disk = disk.crash_image(CrashImage::Nothing);
    disk.reboot();
    let writer = on_disk(&disk, options(HOUR).checkpoints(false), false)?;
    put(&writer, "after", "without checkpoints");
    let expected = kept(&writer);
    drop(writer);
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert_eq!(kept(&memory), expected);
    assert!(memory.inner.store().covered_head()?.is_some());
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_checkpoint_whose_end_was_written_again_elsewhere_is_passed_over() -> Result<()> {
    let disk = SimDisk::new(1);
    let (memory, names) = covered_by_another(&disk);
    let hidden = disk.files()[&names[0]].clone();
    disk.remove_file(&names[0]);
    disk.remove_file("live");
    put(&memory, "after", "written after the recovery");
    disk.put_file(&names[0], hidden);
    for degraded in [false, true] {
        let reader = on_disk(&disk, options(1).read_only(true).degraded(degraded), false)?;
        assert_eq!(kept(&reader), kept(&memory));
        assert_eq!(reader.warnings(), Vec::<String>::new());
    }
    let verified = memory.verify(VerifyDepth::Full)?;
    assert!(verified.ok, "{verified:?}");
    assert!(
        verified.derived.iter().any(|found| found.damage.file == names[0]),
        "{verified:?}"
    );
    // The next checkpoint replaces the damaged checkpoint.
    let writer = on_disk(&disk, options(HOUR), false)?;
    cover(&writer);
    let reader = on_disk(&disk, options(1).read_only(true), false)?;
    assert!(reader.inner.store().covered_head()?.is_some());
    assert!(reader.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn who_only_looked_makes_no_checkpoint() -> Result<()> {
    let disk = SimDisk::new(5);
    // The handle stays open to the end, because a killed process does not close its handles.
    let killed = on_disk(&disk, options(HOUR), true)?;
    for number in 0..4 {
        put(
            &killed,
            &format!("o/{number}"),
            &format!("{number}").repeat(100 << 10),
        );
    }
    let looking = on_disk(&disk, options(HOUR), false)?;
    looking.touch([&id("o/1")], looking.view().now());
    looking.close()?;
    drop(on_disk(&disk, options(HOUR), false)?);
    assert!(checkpoints(&disk).is_empty());
    let writing = on_disk(&disk, options(HOUR), false)?;
    put(&writing, "o/4", "x");
    writing.close()?;
    assert_eq!(checkpoints(&disk).len(), 1);
    drop(killed);
    Ok(())
}

#[test]
fn what_failed_behind_a_rewrite_makes_no_checkpoint_of_the_log_before() -> Result<()> {
    let origin = SimDisk::new(5);
    let memory = on_disk(&origin, options(HOUR), true)?;
    for number in 0..9 {
        put(
            &memory,
            &format!("o/{number}"),
            &format!("{number}").repeat(50 << 10),
        );
    }
    drop(memory);
    origin.reboot();
    // Makes a checkpoint due when the store is closed.
    for name in checkpoints(&origin) {
        origin.remove_file(&name);
    }
    let erasing = Erasing {
        targets: vec!["o/5".to_owned()],
        ..Erasing::default()
    };
    let mut failed = 0;
    for (erases, reads) in [(true, false), (true, true), (false, false), (false, true)] {
        for call in 1.. {
            let disk = origin.copy();
            let memory = on_disk(&disk, options(HOUR), false)?;
            if reads {
                disk.fail_read_at(disk.reads() + call, ReadFault::Device);
            } else {
                disk.fail_at(disk.calls() + call, Fault::Device);
            }
            let worked = if erases {
                memory.erase(&erasing, &Writer::user()).map(drop)
            } else {
                memory.gc(&tight(), None).map(drop)
            };
            if !disk.heal() {
                break;
            }
            failed += u64::from(worked.is_err());
            memory.close().unwrap_or_default();
            let what = format!("erases {erases}, reads {reads}, call {call}");
            let memory = on_disk(&disk, options(HOUR), false).expect(&what);
            for number in (0..9).filter(|number| *number != 5) {
                let found = memory.view().get(&id(&format!("o/{number}"))).expect(&what);
                assert!(found.is_some(), "{what}");
            }
            assert!(memory.verify(VerifyDepth::Full).expect(&what).ok, "{what}");
        }
    }
    assert!(failed > 40, "{failed}");
    Ok(())
}

#[test]
fn an_erasure_removes_the_checkpoints_beside_what_is_none() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "a", "a secret");
    cover(&memory);
    // One name sorts before the name of the checkpoint, and the other name sorts after the name of the checkpoint.
    let place = |name: &str| store.join("checkpoint").join(name);
    for name in ["00000000.ckpt", "00000009.ckpt.tmp"] {
        std::fs::create_dir(place(name)).unwrap();
    }
    let erasing = Erasing {
        targets: vec!["a".to_owned()],
        ..Erasing::default()
    };
    let before = std::fs::read(place("00000001.ckpt")).unwrap();
    memory.erase(&erasing, &Writer::user())?;
    assert!(!place("00000001.ckpt").exists());
    drop(memory);
    // Recreates the files after a crash between writing a checkpoint and removing the old checkpoint. The next write
    // removes the old checkpoint, but keeps a later checkpoint of the log.
    std::fs::write(place("00000001.ckpt"), &before).unwrap();
    std::fs::write(place("00000002.ckpt.tmp"), &before).unwrap();
    put(&Memory::open(&store)?, "b", "x");
    assert!(!place("00000001.ckpt").exists() && !place("00000002.ckpt.tmp").exists());
    let memory = Memory::open(&store)?;
    cover(&memory);
    std::fs::write(place("00000003.ckpt.tmp"), &before).unwrap();
    put(&Memory::open(&store)?, "c", "x");
    assert!(place("00000010.ckpt").exists() && place("00000003.ckpt.tmp").exists());
    Ok(())
}
