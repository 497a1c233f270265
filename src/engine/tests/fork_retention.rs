//! Retention of forks: each is thinned by itself, and keeps what other lines need of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::gc::{HOUR, Kept, kept, live, on_disk, options};
use super::{by, content, id, note, put};
use crate::digest::{CommitDigest, DIGEST_LEN, HashSuite, ObjectDigest};
use crate::disk::{Disk, MemDisk};
use crate::engine::upkeep::Cut;
use crate::engine::upkeep::salvage::write;
use crate::engine::{Memory, Resolution, Retention, Selection, VerifyDepth, Writer};
use crate::log::{Batch, DamagedLog, RecordKind, Seal};
use crate::object::{Commit, Object};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorCode, Result};

/// A retention that keeps only the newest commits of each line.
fn newest(newest: u64) -> Retention {
    Retention {
        all: Duration::MAX,
        newest,
        ..Retention::nothing()
    }
}

fn forked(memory: &Memory, name: &str) -> Memory {
    memory.fork(name).by(&Writer::user()).unwrap()
}

fn merge(into: &Memory, name: &str) -> usize {
    into.merge(name).by(&by("boss")).unwrap().conflicts.len()
}

/// Returns the seqs of the kept commits of a line behind its base, newest first.
fn own_seqs(memory: &Memory) -> Vec<u64> {
    let base = memory.fork_base().unwrap().map_or(0, |base| base.commit.seq + 1);
    let seqs = memory.commits().map(|commit| commit.unwrap().commit.seq);
    seqs.take_while(|seq| *seq >= base).collect()
}

fn check_whole(memory: &Memory) {
    let report = memory.verify(VerifyDepth::Full).unwrap();
    assert!(report.ok, "{:?}", report.damage);
}

fn session_of(memory: &Memory, name: &str) -> Option<String> {
    let writer = memory.view().writer_of(&id(name)).unwrap();
    writer.and_then(|writer| writer.commit.session)
}

/// INVARIANT REL-3: the policy counts the commits of each line by themselves.
#[test]
fn rel_3_each_fork_is_thinned_by_itself() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "o/0", "base");
    let fork = forked(&memory, "task");
    for number in 0..40 {
        put(
            &fork,
            &format!("o/{}", number % 7),
            &format!("by the fork {number}"),
        );
        if number < 20 {
            put(&memory, "o/0", &format!("by main {number}"));
        }
    }
    let report = memory.gc_preview(&newest(3), None)?;
    // The head, two more, and the commit at which the fork begins.
    assert_eq!((report.kept, report.thinned), (4 + 3, 62 - 7));
    let states = [kept(&memory), kept(&fork)];
    let before = memory.gc(&newest(3), None)?;
    assert_eq!(before, report);
    assert_eq!(own_seqs(&fork), [41, 40, 39]);
    assert_eq!(own_seqs(&memory), [21, 20, 19, 1]);
    assert!(before.bytes < before.bytes_before / 3, "{before:?}");
    for (line, states) in [&memory, &fork].into_iter().zip(&states) {
        let left = kept(line);
        assert!(left.iter().all(|commit| states.contains(commit)));
    }
    check_whole(&memory);
    // The fork goes on, and its history behind the gap is of nobody.
    put(&fork, "o/1", "later");
    fork.undo(&Writer::user())?;
    assert!(fork.history(&id("o/5"))?.iter().any(|entry| entry.thinned));
    let states = [kept(&memory), kept(&fork)];
    drop((memory, fork));
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert!([kept(&memory), kept(&memory.open_fork("task")?)] == states);
    let again = memory.gc(&newest(5), None)?;
    assert_eq!(again.thinned, 0);
    check_whole(&memory);
    Ok(())
}

/// INVARIANT REL-1: bases, snapshots, what a rollback names and both sides of merges stay, so a merge finds its base.
#[test]
fn rel_1_what_other_lines_need_of_a_fork_stays() -> Result<()> {
    let disk = SimDisk::new(2);
    let memory = on_disk(&disk, options(HOUR), true)?;
    for name in ["a", "b", "c", "disputed"] {
        put(&memory, name, "first");
    }
    let fork = forked(&memory, "task");
    let step = |text: &str| put(&fork, "noise", text).commit.digest;
    step("1");
    let below = forked(&fork, "below");
    let base = fork.view().commit().digest;
    step("2");
    put(&fork, "a", "by the fork");
    put(&fork, "disputed", "by the fork");
    put(&memory, "disputed", "by main");
    assert_eq!(merge(&memory, "task"), 1);
    let side = fork.view().commit().digest;
    step("3");
    put(&memory, "b", "by main");
    merge(&fork, "main");
    let (merged, other) = (fork.view().commit().digest, memory.view().commit().digest);
    step("4");
    fork.snapshot(Some("named"), &Writer::user())?;
    let named = fork.view().commit().digest;
    step("5");
    let target = step("6");
    put(&memory, "of-main", "x");
    memory.rollback("fork:task").across_lanes().by(&Writer::user())?;
    memory.snapshot(Some("back"), &Writer::user())?;
    memory.undo(&Writer::user())?;
    step("7");
    for number in 0..20 {
        step(&format!("later {number}"));
        put(&memory, "later", &format!("{number}"));
        put(&below, "below", &format!("{number}"));
    }
    let thinned = step("thinned");
    step("newest");
    let roots = [&memory, &fork, &below].map(|line| line.view().root());
    for retention in [newest(1), Retention::nothing()] {
        memory.gc(&retention, None)?;
        check_whole(&memory);
        assert_eq!([&memory, &fork, &below].map(|line| line.view().root()), roots);
    }
    for (line, commit, stays) in [
        (&fork, base, true),
        (&fork, side, true),
        (&fork, merged, true),
        (&memory, other, true),
        (&fork, named, true),
        (&fork, target, true),
        (&fork, thinned, false),
    ] {
        assert_eq!(line.at(commit).is_ok(), stays, "{commit:?}");
    }
    assert_eq!(own_seqs(&below).len(), 1);
    assert!(own_seqs(&fork).len() < 9);
    let open = memory.conflicts()?;
    assert!(open[0].sides.iter().all(|side| side.trust.is_some()), "CFL-1");
    drop((memory, fork, below));
    let memory = on_disk(&disk, options(HOUR), false)?;
    let (fork, below) = (memory.open_fork("task")?, memory.open_fork("below")?);
    assert_eq!([&memory, &fork, &below].map(|line| line.view().root()), roots);
    // Only what is new comes over.
    put(&fork, "c", "by the fork");
    let result = memory.merge("task").by(&Writer::user())?;
    let changed: Vec<_> = result.changes.iter().map(|change| change.id.as_str()).collect();
    assert_eq!((changed, result.conflicts.len()), (vec!["c", "noise"], 0));
    assert!(!memory.merge("task").by(&Writer::user())?.committed.changed);
    let result = fork.merge("below").by(&Writer::user())?;
    assert_eq!((result.counts.added, result.counts.changed), (1, 0));
    check_whole(&memory);
    Ok(())
}

/// INVARIANT STO-3: a version that a merge brought from a thinned commit belongs to nobody, and so does one of a fork that went.
#[test]
fn sto_3_the_writer_of_a_thinned_commit_of_a_fork_is_not_known() -> Result<()> {
    let disk = SimDisk::new(3);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "other", "x");
    let fork = forked(&memory, "task");
    for (name, session) in [("early", "one"), ("middle", "two"), ("late", "three")] {
        fork.put(note(name, &"by a worker ".repeat(900)), &by(session))?;
        put(&memory, "other", name);
    }
    assert_eq!(merge(&memory, "task"), 0);
    put(&fork, "later", "x");
    let writers = |memory: &Memory| ["early", "late"].map(|name| session_of(memory, name));
    let late = Some("three".to_owned());
    assert_eq!(writers(&memory), [Some("one".to_owned()), late.clone()]);
    let stamps = memory.view().stamps(&id("early"))?;
    memory.gc(&newest(1), None)?;
    check_whole(&memory);
    // The newest commit that the merge brought in stays, and its writer with it.
    assert_eq!(writers(&memory), [None, late]);
    assert_eq!(writers(&fork)[0], None);
    assert_eq!(memory.view().stamps(&id("early"))?, stamps);
    let newest_of = |name: &str| memory.history(&id(name)).map(|mut found| found.remove(0));
    assert!(newest_of("early")?.thinned && newest_of("early")?.maker().is_none());
    assert!(!newest_of("late")?.thinned);
    let revert = memory.revert(Selection::default().session("boss"));
    assert!(
        revert
            .preview(&Writer::user())
            .is_ok_and(|planned| planned.reverted.is_empty())
    );
    // A week after it was dropped, the fork goes.
    memory.drop_fork("task", true, &Writer::user())?;
    drop(fork);
    for number in 0..200 {
        put(&memory, "other", &format!("later {number}"));
    }
    memory.gc(&Retention::everything(), None)?;
    assert!(memory.inner.store().lines().iter().next().is_none());
    assert_eq!(writers(&memory), [None, None]);
    let revert = memory.revert(Selection::default().session("boss"));
    assert!(
        revert
            .preview(&Writer::user())
            .is_ok_and(|planned| planned.reverted.is_empty())
    );
    assert!(content(&memory.view(), "early").is_some());
    check_whole(&memory);
    Ok(())
}

/// A decision about a conflict drops no later version, also if the merge and its fork went.
#[test]
fn a_later_version_is_known_after_the_merge_was_thinned() -> Result<()> {
    let disk = SimDisk::new(4);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&fork, "a", "theirs");
    put(&memory, "a", "ours");
    assert_eq!(merge(&memory, "task"), 1);
    put(&memory, "a", "corrected");
    memory.drop_fork("task", true, &Writer::user())?;
    drop(fork);
    for number in 0..400 {
        put(&memory, "later", &format!("{number}"));
    }
    memory.gc(&newest(1), None)?;
    assert_eq!(memory.commits().count(), 1);
    let open = memory.conflicts()?.remove(0);
    let present = open.present.and_then(|present| present.version).unwrap();
    let side = open.sides.into_iter().find_map(|side| side.version).unwrap();
    for resolution in [Resolution::Take(side), Resolution::Remove] {
        let refused = memory
            .resolve_conflict(&id("a"), resolution, &Writer::user())
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Changed);
    }
    memory.resolve_conflict(&id("a"), Resolution::Take(present), &Writer::user())?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("corrected"));
    Ok(())
}

/// A dropped fork stays for a week, counted by the newest change of any line, and then goes.
#[test]
fn a_dropped_fork_goes_a_week_later_although_the_main_line_rests() -> Result<()> {
    let disk = SimDisk::new(5);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "first");
    let (dropped, task) = (forked(&memory, "dropped"), forked(&memory, "task"));
    put(&dropped, "b", &"long ".repeat(4_000));
    memory.drop_fork("dropped", true, &Writer::user())?;
    drop(dropped);
    let lines = || memory.inner.store().lines().iter().count();
    memory.gc(&newest(1), None)?;
    assert_eq!(lines(), 2, "it is not a week yet");
    for number in 0..200 {
        put(&task, "c", &format!("{number}"));
    }
    memory.gc(&newest(1), None)?;
    assert_eq!(lines(), 1);
    assert_eq!(own_seqs(&task).len(), 1);
    check_whole(&memory);
    Ok(())
}

/// INVARIANT GC-1: what a fork does meanwhile keeps what it needs.
#[test]
fn gc_1_forks_go_on_while_they_are_thinned() -> Result<()> {
    for what in 0..6 {
        let disk = SimDisk::new(6);
        let memory = on_disk(&disk, options(HOUR), true)?;
        put(&memory, "a", "first");
        let fork = forked(&memory, "task");
        let write = |number: usize| {
            let name = format!("o/{}", number % 5);
            drop(put(&fork, &name, &format!("by the fork {number}")));
        };
        (0..10).for_each(write);
        let mut draft = fork.draft(&Writer::user());
        draft.put(note("o/1", "drafted"))?;
        (10..30).for_each(write);
        let done = AtomicBool::new(false);
        let choose = |cut: &Cut| {
            let kept = memory.inner.choose(&newest(1), cut, memory.view().now())?;
            if !done.swap(true, Ordering::Relaxed) {
                match what {
                    0 => drop(put(&fork, "o/1", "meanwhile")),
                    1 => drop(fork.rollback("seq:9").across_lanes().by(&Writer::user())?),
                    2 => drop(memory.rollback("fork:task").across_lanes().by(&Writer::user())?),
                    3 => drop(memory.fork("below").at("fork:task").by(&Writer::user())?),
                    4 => drop(merge(&memory, "task")),
                    // A reference names a commit that is about to go.
                    _ => fork.save_draft(&draft, "plan")?,
                }
            }
            Ok(kept)
        };
        let before = kept(&fork);
        memory.inner.rewrite(&choose, Duration::ZERO, Seal::Now)?;
        check_whole(&memory);
        let states: [Kept; 2] = [kept(&memory), kept(&fork)];
        assert!(states[1].len() < before.len(), "case {what}");
        let is_base_kept = own_seqs(&fork).contains(&draft.base.entry.seq());
        assert!(is_base_kept || what < 5);
        drop((memory, fork));
        let memory = on_disk(&disk, options(HOUR), false)?;
        assert!(
            [kept(&memory), kept(&memory.open_fork("task")?)] == states,
            "case {what}"
        );
    }
    Ok(())
}

/// Returns the batches of the log.
fn batches(memory: &Memory) -> Result<Vec<Batch>> {
    let newest = memory.inner.log.lock().log.position().batch;
    let mut batches = Vec::new();
    memory.inner.store().read_log(newest, &mut |batch| {
        batches.push(batch.clone());
        Ok(())
    })?;
    Ok(batches)
}

/// Returns the commits of all lines, in the order of the log.
fn in_order(batches: &[Batch], suite: HashSuite) -> Vec<CommitDigest> {
    let records = batches.iter().flat_map(|batch| &batch.records);
    let commits = records.filter(|record| record.kind == RecordKind::Commit);
    commits.map(|record| Commit::hash(&record.body, suite)).collect()
}

/// Returns the digests that the links and the maps of a batch name, and other runs of 32 bytes of these records.
fn named(batch: &Batch) -> Vec<&[u8]> {
    let kinds = [RecordKind::Link, RecordKind::Base, RecordKind::Delta];
    let records = batch.records.iter();
    let naming = records.filter(|record| kinds.contains(&record.kind));
    naming
        .flat_map(|record| record.body.windows(DIGEST_LEN))
        .collect()
}

/// INVARIANT REL-2: the commits of all lines keep their order, and the log has each version before a batch that needs it.
fn check_order(memory: &Memory, before: &[Batch]) -> Result<()> {
    let (suite, after) = (memory.suite(), batches(memory)?);
    let mut commits = in_order(before, suite).into_iter();
    for commit in in_order(&after, suite) {
        assert!(commits.any(|earlier| earlier == commit), "{commit:?} moved");
    }
    let digests_of = |batch: &Batch| -> Vec<_> {
        let objects = batch
            .records
            .iter()
            .filter(|record| record.kind == RecordKind::Object);
        objects.map(|record| Object::hash(&record.body, suite)).collect()
    };
    let mut missing: BTreeSet<_> = before.iter().flat_map(digests_of).collect();
    for batch in &after {
        for digest in digests_of(batch) {
            missing.remove(&digest);
        }
        let needed = named(batch)
            .into_iter()
            .map(|digest| ObjectDigest::from_bytes(digest.try_into().unwrap()));
        for digest in needed {
            assert!(
                !missing.contains(&digest),
                "batch {} needs {digest:?}",
                batch.number
            );
        }
    }
    Ok(())
}

/// INVARIANT SVL-1: salvage keeps a fork with gaps.
#[test]
fn svl_1_salvage_keeps_a_thinned_fork() -> Result<()> {
    let disk = SimDisk::new(7);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    for number in 0..30 {
        put(
            &fork,
            &format!("o/{}", number % 5),
            &format!("by the fork {number}"),
        );
    }
    memory.gc(&newest(4), None)?;
    put(&fork, "o/1", "behind the gap");
    let states = [kept(&memory), kept(&fork)];
    drop((memory, fork));
    let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let report = write(&DamagedLog::open(Arc::new(disk))?, &target, &options(HOUR))?;
    assert!(report.is_whole(), "{report:?}");
    let memory = Memory::on_disk(target, options(HOUR), false, None)?;
    let fork = memory.open_fork("task")?;
    assert!([kept(&memory), kept(&fork)] == states);
    check_whole(&memory);
    Ok(())
}

/// Histories of all sorts of changes on lines above each other: what stays is exact, and everything verifies.
#[test]
fn random_forks_stay_exact_whatever_is_thinned() -> Result<()> {
    let mut thinned = 0;
    for seed in 0..12 {
        let (disk, mut random) = (SimDisk::new(seed), SplitMix64::new(seed));
        let memory = on_disk(&disk, options(HOUR), true)?;
        live(&memory, &mut random, 20);
        let one = forked(&memory, "one");
        live(&one, &mut random, 20);
        let two = forked(&one, "two");
        let plans = || -> Result<Vec<_>> {
            let pairs = [(&memory, "one"), (&one, "main"), (&two, "one"), (&memory, "two")];
            let plan = |(into, from): (&Memory, &'static str)| {
                let plan = into.merge(from).preview(&by("boss"))?;
                Ok((plan.base, plan.committed.changed))
            };
            pairs.into_iter().map(plan).collect()
        };
        for _ in 0..3 {
            for (into, from) in [(&memory, "one"), (&two, "main"), (&one, "two")] {
                live(into, &mut random, 12);
                merge(into, from);
            }
            for line in [&memory, &one, &two] {
                live(line, &mut random, 4);
            }
            let (before, planned) = ([&memory, &one, &two].map(kept), plans()?);
            let retention = [newest(2), Retention::nothing(), super::gc::tight()];
            let log = batches(&memory)?;
            thinned += memory.gc(&retention[random.below(3)], None)?.thinned;
            check_order(&memory, &log)?;
            let after = [&memory, &one, &two].map(kept);
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(
                    before.first().map(|head| head.0),
                    after.first().map(|head| head.0)
                );
                for commit in after {
                    let same = before.iter().find(|same| same.0 == commit.0).unwrap();
                    assert_eq!(commit, same, "seed {seed}");
                }
            }
            check_whole(&memory);
            assert_eq!(plans()?, planned, "REL-1: seed {seed}");
            let anew = on_disk(&disk, options(1).read_only(true).checkpoints(false), false)?;
            let lines = [anew.clone(), anew.open_fork("one")?, anew.open_fork("two")?];
            assert!(
                lines.each_ref().map(kept) == [&memory, &one, &two].map(kept),
                "seed {seed}"
            );
        }
    }
    assert!(thinned > 200, "{thinned}");
    Ok(())
}
