//! Garbage collection while other writers commit: a commit between the cut and the publication keeps the records that
//! it depends on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::gc::{HOUR, Kept, kept, on_disk, options, told};
use super::{by, id, note, put};
use crate::Result;
use crate::disk::{Disk, Holder};
use crate::engine::upkeep::{Cut, Kept as ToKeep};
use crate::engine::{Erasing, Memory, Options, Progress, Retention, VerifyDepth, Writer};
use crate::log::CompactionLock;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::{ObjectDigest, Origin};

/// Returns a retention that keeps only the newest commit and the commits that references name.
pub(super) fn only_head() -> Retention {
    Retention {
        all: Duration::ZERO,
        newest: 0,
        hourly: Duration::ZERO,
        daily: Duration::ZERO,
        weekly: Duration::ZERO,
        forgotten: Duration::ZERO,
    }
}

/// Thins the commits in `thinned`. Between the choice of commits and the publication, another writer runs `beside`.
/// Returns the final content of the store, after checking that a new handle reads the same content.
fn collect_beside(
    disk: &SimDisk,
    memory: &Memory,
    thinned: &[usize],
    beside: impl Fn(&Memory) -> Result<()>,
) -> Result<Kept> {
    let other = on_disk(disk, options(HOUR), false)?;
    let done = AtomicBool::new(false);
    let choose = |cut: &Cut| {
        if !done.swap(true, Ordering::Relaxed) {
            other.refresh()?;
            beside(&other)?;
        }
        let commits = (0..cut.commits).filter(|index| !thinned.contains(index));
        Ok(ToKeep {
            commits: commits.collect(),
            ..ToKeep::default()
        })
    };
    memory
        .inner
        .rewrite(&choose, Duration::ZERO, crate::log::Seal::Now)?;
    let now = kept(memory);
    other.refresh()?;
    assert!(kept(&other) == now, "the handle that wrote meanwhile");
    let anew = on_disk(disk, options(1).read_only(true).checkpoints(false), false)?;
    assert!(kept(&anew) == now, "a handle opened anew");
    let report = anew.verify(VerifyDepth::Full)?;
    assert!(report.ok, "{:?}", report.damage);
    Ok(now)
}

#[test]
fn gc_1_an_undo_or_redo_beside_it_to_the_state_of_a_thinned_commit() -> Result<()> {
    // Commit 1 writes m, commit 2 writes t. Both an undo of commit 2 and a rollback return to the root of commit 1,
    // which is thinned.
    for step in ["undo", "rollback"] {
        let disk = SimDisk::new(1);
        let memory = on_disk(&disk, options(HOUR), true)?;
        put(&memory, "m", "one");
        let wanted = told(&memory.view());
        put(&memory, "t", "two");
        let kept = collect_beside(&disk, &memory, &[1], |other| {
            match step {
                "undo" => other.undo(&Writer::user())?,
                _ => other.rollback("seq:1").across_lanes().by(&Writer::user())?,
            };
            Ok(())
        })?;
        assert_eq!(told(&memory.view()), wanted, "{step}");
        assert_eq!(kept[0].1, 3, "{step}: newest first");
    }
    // Lane one writes t in commit 1, lane two writes x in commit 2, and lane one undoes t in commit 3. The redo returns
    // to the root of commit 2, which is thinned.
    let disk = SimDisk::new(2);
    let memory = on_disk(&disk, options(HOUR), true)?;
    memory.put(note("t", "one"), &by("one"))?;
    memory.put(note("x", "two"), &by("two"))?;
    let wanted = told(&memory.view());
    memory.undo(&by("one"))?;
    collect_beside(&disk, &memory, &[2], |other| other.redo(&by("one")).map(drop))?;
    assert_eq!(told(&memory.view()).keys().collect::<Vec<_>>(), ["t", "x"]);
    assert_eq!(
        told(&memory.view())
            .values()
            .map(|told| &told.0)
            .collect::<Vec<_>>(),
        wanted.values().map(|told| &told.0).collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn the_sources_of_what_is_live_stay_also_if_it_is_a_source_itself() -> Result<()> {
    for seed in 0..40 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR), true)?;
        let mut versions: Vec<ObjectDigest> = Vec::new();
        for step in 0..60 {
            let name = format!("o/{}", random.below(20));
            let mut object = note(&name, &format!("text {step}"));
            if !versions.is_empty() {
                object.derived_from = (0..random.below(3)).map(|_| *random.pick(&versions)).collect();
            }
            memory.put(object, &Writer::user())?;
            let view = memory.view();
            versions.push(view.get(&id(&name))?.expect("it was just put").digest());
        }
        let reports = [memory.gc(&only_head(), None)?, memory.gc(&only_head(), None)?];
        assert_eq!(reports[0].versions, reports[1].versions, "seed {seed}");
        for object in memory.view().objects() {
            let object = object?;
            for source in object.derived_from() {
                let found = memory.version(source)?;
                assert!(
                    found.is_some(),
                    "seed {seed}: a source of {} is missing",
                    object.id()
                );
            }
        }
    }
    Ok(())
}

#[test]
fn nobody_waits_for_who_waits_until_another_rewrite_is_done() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR).wait(Duration::from_mins(10)), true)?;
    put(&memory, "a", "one");
    let elsewhere = CompactionLock::take(&disk, Duration::ZERO)?;
    let (collecting, erasing) = (memory.clone(), memory.clone());
    let collecting = std::thread::spawn(move || collecting.gc(&only_head(), None));
    let erasing = std::thread::spawn(move || {
        let targets = vec!["a".to_owned()];
        let erasing_a = Erasing {
            targets,
            ..Erasing::default()
        };
        erasing.erase(&erasing_a, &Writer::user()).map(drop)
    });
    std::thread::sleep(Duration::from_millis(500));
    put(&memory, "b", "two");
    let is_first = !collecting.is_finished() && !erasing.is_finished();
    assert!(is_first, "the commit waited for the collection or the erasure");
    drop(elsewhere);
    collecting.join().expect("it does not panic")?;
    erasing.join().expect("it does not panic")?;
    assert_eq!(told(&memory.view()).keys().collect::<Vec<_>>(), ["b"]);
    Ok(())
}

/// Makes options that record, during reads and checkpoints, whether other processes can take the lock.
fn watching_the_lock(
    disk: &SimDisk,
    seen: &Arc<crate::threads::Mutex<Vec<(&'static str, bool)>>>,
) -> Options {
    let (disk, seen) = (disk.clone(), Arc::clone(seen));
    options(HOUR).progress(Arc::new(move |progress: Progress| {
        if ["open", "checkpoint"].contains(&progress.doing) {
            let is_free = disk
                .try_lock("lock", &Holder::new(&disk).expect("random bytes"))
                .expect("a disk that works")
                .is_some();
            seen.lock().push((progress.doing, is_free));
        }
    }))
}

#[test]
fn the_new_log_is_read_and_covered_while_others_may_write() -> Result<()> {
    let disk = SimDisk::new(1);
    let seen = Arc::new(crate::threads::Mutex::new(Vec::new()));
    let memory = on_disk(&disk, watching_the_lock(&disk, &seen), true)?;
    for number in 0..100 {
        put(
            &memory,
            &format!("o/{number}"),
            &format!("{number} ").repeat(4_000),
        );
    }
    let erasing = Erasing {
        targets: vec!["o/1".to_owned()],
        ..Erasing::default()
    };
    let rewrites: [&dyn Fn() -> Result<()>; 2] = [&|| memory.gc(&only_head(), None).map(drop), &|| {
        memory.erase(&erasing, &Writer::user()).map(drop)
    }];
    for rewrite in rewrites {
        seen.lock().clear();
        rewrite()?;
        let seen = seen.lock();
        for doing in ["open", "checkpoint"] {
            assert!(
                seen.iter().any(|(done, _)| *done == doing),
                "{doing} was not done"
            );
            assert!(
                seen.iter().all(|(done, is_free)| *done != doing || *is_free),
                "{doing} ran under the lock"
            );
        }
    }
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_reader_that_caps_the_classes_caps_them_after_a_rewrite_too() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "m", "one");
    put(&memory, "m", "two");
    let reader = on_disk(&disk, options(HOUR).best_origin(Origin::Import), false)?;
    let seen = || -> Result<Vec<Origin>> {
        reader.refresh()?;
        let objects = reader.view().objects();
        objects.map(|object| Ok(object?.origin())).collect()
    };
    assert_eq!(seen()?, [Origin::Import]);
    memory.gc(&only_head(), None)?;
    put(&memory, "t", "three");
    assert_eq!(seen()?, [Origin::Import; 2]);
    assert_eq!(reader.seen_origin(Origin::DirectUser), Origin::Import);
    assert!(reader.put(note("n", "four"), &Writer::user()).is_err());
    // No limit is the usual one, and leaves the memory writable.
    let usual = on_disk(&disk, options(HOUR).best_origin(Origin::DirectUser), false)?;
    put(&usual, "n", "four");
    assert_eq!(usual.seen_origin(Origin::Host), Origin::Host);
    Ok(())
}
