//! Forks: lines of their own, in one process and in several, across reopening, gc and erasure.

use std::sync::Arc;

use super::covering::cover;
use super::gc::{HOUR, kept, on_disk, options, tight};
use super::{by, child, content, id, note, put};
use crate::disk::{Disk, MemDisk};
use crate::engine::upkeep::salvage::write;
use crate::engine::{Erasing, Memory, Options, Retention, VerifyDepth, Writer};
use crate::log::DamagedLog;
use crate::object::Origin;
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorCode, ErrorKind, Result};

fn all(memory: &Memory) -> Vec<(String, String)> {
    let view = memory.view();
    let mut found: Vec<_> = view
        .objects()
        .map(|object| object.unwrap())
        .map(|object| {
            (
                object.id().to_string(),
                object.content().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    found.sort();
    found
}

fn forked(memory: &Memory, name: &str) -> Memory {
    memory.fork(name).by(&Writer::user()).unwrap()
}

/// Makes a store with two forks, one of which begins at the other.
fn store(disk: &SimDisk) -> (Memory, Memory, Memory) {
    let memory = on_disk(disk, options(HOUR), true).unwrap();
    for number in 0..12 {
        put(&memory, &format!("o/{}", number % 5), &format!("main {number}"));
    }
    let one = forked(&memory, "one");
    put(&one, "o/1", "by one");
    put(&memory, "o/2", "by main, later");
    put(&one, "only/one", &"long ".repeat(2_000));
    let two = forked(&one, "two");
    put(&two, "only/two", "by two");
    two.remove(&id("o/3"), &Writer::user()).unwrap();
    put(&one, "o/4", "by one, later");
    (memory, one, two)
}

#[test]
fn a_fork_is_seen_by_nobody_else_and_outlives_the_process() -> Result<()> {
    let disk = SimDisk::new(1);
    let (memory, one, two) = store(&disk);
    let told = [all(&memory), all(&one), all(&two)];
    assert_eq!(content(&memory.view(), "o/1").as_deref(), Some("main 11"));
    assert_eq!(content(&one.view(), "o/1").as_deref(), Some("by one"));
    assert_eq!(content(&one.view(), "o/2").as_deref(), Some("main 7"));
    assert_eq!(content(&two.view(), "o/4").as_deref(), Some("main 9"));
    assert!(!one.view().contains(&id("only/two"))?);
    let kept_by = [kept(&memory), kept(&one), kept(&two)];
    let history = two.history(&id("o/1"))?.len();
    let forks = memory.forks()?;
    assert_eq!(forks.iter().map(|fork| fork.commits).collect::<Vec<_>>(), [3, 2]);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    drop((memory, one, two));
    for _ in 0..2 {
        let memory = on_disk(&disk, options(HOUR), false)?;
        let (two, one) = (memory.open_fork("two")?, memory.open_fork("one")?);
        assert_eq!([all(&memory), all(&one), all(&two)], told);
        assert!([kept(&memory), kept(&one), kept(&two)] == kept_by);
        assert_eq!(two.history(&id("o/1"))?.len(), history);
        assert_eq!(memory.forks()?, forks);
        memory.close()?;
    }
    Ok(())
}

#[test]
fn each_fork_has_its_own_undo_snapshots_and_rollback() -> Result<()> {
    let disk = SimDisk::new(2);
    let (memory, one, two) = store(&disk);
    let user = Writer::user();
    let (main, before) = (all(&memory), all(&one));
    one.snapshot(None, &user)?;
    put(&one, "o/0", "again");
    one.undo(&user)?;
    assert_eq!(all(&one), before);
    one.redo(&user)?;
    one.rollback("snap:0").by(&user)?;
    assert_eq!(all(&one), before);
    assert!(memory.at("snap:0").is_err(), "the ring of a fork is its own");
    // Undo ends at the base.
    while two.undo(&user).is_ok() {}
    assert!(two.view().contains(&id("o/3"))?);
    // A rollback to before the base reuses a state of the main line.
    one.rollback("seq:3").by(&user)?;
    assert_eq!(one.view().root(), memory.at("seq:3")?.root());
    assert_eq!(all(&memory), main);
    assert_eq!(memory.at("fork:one")?.root(), one.view().root());
    // The main line links what a fork wrote, so that no reader needs the fork.
    memory.rollback("fork:two").across_lanes().by(&user)?;
    assert_eq!(memory.view().root(), two.view().root());
    let (root, roots) = (memory.view().root(), one.view().root());
    drop((memory, one, two));
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert_eq!(
        (memory.view().root(), memory.open_fork("one")?.view().root()),
        (root, roots)
    );
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn gc_and_erasure_keep_forks_whole() -> Result<()> {
    let disk = SimDisk::new(3);
    let (memory, one, two) = store(&disk);
    for number in 0..20 {
        put(&memory, &format!("o/{}", number % 5), &format!("later {number}"));
    }
    two.rollback("seq:5").across_lanes().by(&Writer::user())?;
    put(&one, "o/2", "later 3");
    let (roots, lengths) = (
        [one.view().root(), two.view().root()],
        [one.view().len(), two.view().len()],
    );
    let commits = |memory: &Memory| memory.commits().map(|commit| commit.unwrap().digest).next();
    let heads = [commits(&one), commits(&two)];
    for retention in [tight(), Retention::nothing(), Retention::everything()] {
        memory.gc(&retention, None)?;
        let report = memory.verify(VerifyDepth::Full)?;
        assert!(report.ok, "{:?}", report.damage);
        one.refresh()?;
        two.refresh()?;
        assert_eq!([one.view().root(), two.view().root()], roots);
        assert_eq!([commits(&one), commits(&two)], heads);
        assert_eq!([all(&one).len() as u64, all(&two).len() as u64], lengths);
    }
    put(&one, "o/1", "after gc");
    one.undo(&Writer::user())?;
    let erasing = Erasing {
        targets: vec!["only/one".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let error = one.view().get(&id("only/one")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Erased);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    assert_eq!(one.gc(&tight(), None).unwrap_err().code(), ErrorCode::WholeStore);
    Ok(())
}

#[test]
fn erasure_looks_for_children_in_every_line() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "top", "a");
    let one = forked(&memory, "one");
    one.put(child("top/leaf", "top"), &Writer::user())?;
    let erasing = Erasing {
        targets: vec!["top".to_owned()],
        everywhere: true,
        ..Erasing::default()
    };
    let error = memory.erase(&erasing, &Writer::user()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::HasChildren);
    Ok(())
}

#[test]
fn frk_1_a_cap_lowers_every_write_through_the_fork() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "trusted");
    let fork = memory.fork("low").trust_cap(Origin::Model).by(&Writer::user())?;
    let origin = |memory: &Memory, name: &str| memory.view().get(&id(name)).unwrap().unwrap().origin();
    let done = put(&fork, "b", "through the fork");
    assert_eq!(
        (origin(&fork, "b"), done.commit.commit.trust),
        (Origin::Model, Origin::Model)
    );
    assert_eq!(
        origin(&fork, "a"),
        Origin::DirectUser,
        "what was there keeps its class"
    );
    let inner = fork.fork("inner").trust_cap(Origin::Host).by(&Writer::user())?;
    put(&inner, "c", "below");
    assert_eq!(origin(&inner, "c"), Origin::Model);
    let snapshot = fork.snapshot(Some("s"), &Writer::user())?;
    assert_eq!(snapshot.commit, done.commit.digest);
    // A fork of a revision of the fork, made from elsewhere.
    let cap = Origin::DirectUser;
    let aside = memory
        .fork("aside")
        .at("fork:low")
        .trust_cap(cap)
        .by(&Writer::user())?;
    put(&aside, "d", "beside");
    assert_eq!(origin(&aside, "d"), Origin::Model);
    // So it is if that fork was dropped, and another one has its name.
    memory.drop_fork("low", true, &Writer::user())?;
    drop(forked(&memory, "low"));
    let late = memory.fork("late").at("s").by(&Writer::user())?;
    put(&late, "e", "beside");
    assert_eq!(origin(&late, "e"), Origin::Model);
    Ok(())
}

#[test]
fn names_are_taken_once_and_a_dropped_fork_is_gone() -> Result<()> {
    let disk = SimDisk::new(4);
    let (memory, one, _two) = store(&disk);
    let code = |name: &str| memory.fork(name).by(&Writer::user()).unwrap_err().code();
    assert_eq!(code("one"), ErrorCode::NameTaken);
    for name in ["main", "at-7", "", "a b", "2026-01-01", "deadbeef"] {
        assert_eq!(
            memory.fork(name).by(&Writer::user()).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    let error = memory.drop_fork("one", false, &Writer::user()).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Conflict, ErrorCode::Unmerged)
    );
    let untrusted = memory.drop_fork("one", true, &Writer::tool("t")).unwrap_err();
    assert_eq!(untrusted.kind(), ErrorKind::Denied);
    assert_eq!(memory.drop_fork("one", true, &Writer::user())?.commits, 3);
    assert_eq!(memory.open_fork("one").unwrap_err().code(), ErrorCode::NoFork);
    assert_eq!(
        one.put(note("x", ""), &Writer::user()).unwrap_err().code(),
        ErrorCode::NoFork
    );
    // A new fork of the name is another one, and the old handle does not write into it.
    let again = forked(&memory, "one");
    assert_eq!(all(&again), all(&memory));
    assert!(one.put(note("x", ""), &Writer::user()).is_err());
    // The fork that began at the dropped one is whole, also after the dropped one went.
    let two = memory.open_fork("two")?;
    let before = kept(&two);
    put(&memory, "much", "later");
    memory.gc(&Retention::everything(), None)?;
    two.refresh()?;
    assert!(kept(&two) == before);
    drop((memory, one, two, again));
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert_eq!(memory.forks()?.len(), 2);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn another_handle_sees_forks_and_watchers_see_their_line() -> Result<()> {
    let disk = SimDisk::new(5);
    let (memory, one, _two) = store(&disk);
    let reader = on_disk(&disk, options(HOUR).read_only(true), false)?;
    let seen = reader.open_fork("one")?;
    let (watch, watch_main) = (seen.watch(), reader.watch());
    put(&one, "o/1", "news");
    seen.refresh()?;
    assert_eq!(content(&seen.view(), "o/1").as_deref(), Some("news"));
    assert_eq!((watch.len(), watch_main.len()), (1, 0));
    put(&memory, "o/1", "main news");
    reader.refresh()?;
    assert_eq!((watch.len(), watch_main.len()), (1, 1));
    Ok(())
}

#[test]
fn commits_of_several_lines_share_a_group() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "");
    let forks: Vec<Memory> = (0..4)
        .map(|number| forked(&memory, &format!("f{number}")))
        .collect();
    let group = Arc::new(std::sync::Barrier::new(forks.len() + 1));
    let writers: Vec<_> = forks.iter().chain([&memory]).cloned().enumerate().collect();
    std::thread::scope(|scope| {
        for (number, line) in writers {
            let group = Arc::clone(&group);
            scope.spawn(move || {
                group.wait();
                for round in 0..20 {
                    put(&line, &format!("n/{number}"), &format!("{round}"));
                }
            });
        }
    });
    for (number, fork) in forks.iter().enumerate() {
        assert_eq!(fork.view().commit().commit.seq, 21, "fork {number}");
        assert_eq!(
            content(&fork.view(), &format!("n/{number}")).as_deref(),
            Some("19")
        );
        assert_eq!(fork.view().len(), 2);
    }
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn states_of_a_fork_that_left_memory_are_computed_again() -> Result<()> {
    let disk = SimDisk::new(6);
    let options = || Options::new().small_sizes();
    let memory = on_disk(&disk, options(), true)?;
    put(&memory, "o/0", "base");
    let fork = forked(&memory, "deep");
    for number in 0..120 {
        fork.put(note(&format!("o/{}", number % 7), &format!("{number}")), &by("s"))?;
        put(&memory, &format!("m/{}", number % 3), &format!("{number}"));
        if number % 17 == 5 {
            fork.undo(&by("s"))?;
        }
    }
    let told = kept(&fork);
    drop((memory, fork));
    let memory = on_disk(&disk, options(), false)?;
    assert!(kept(&memory.open_fork("deep")?) == told);
    Ok(())
}

#[test]
fn a_checkpoint_knows_the_lines_up_to_it() -> Result<()> {
    let disk = SimDisk::new(7);
    let (memory, one, two) = store(&disk);
    memory.drop_fork("two", true, &Writer::user())?;
    let two_again = forked(&one, "two");
    put(&two_again, "only/two", "again");
    cover(&memory);
    put(&one, "o/0", "behind the checkpoint");
    let three = forked(&memory, "three");
    put(&three, "o/0", "by three");
    let told = [all(&memory), all(&one), all(&two_again), all(&three)];
    let kept_by = [kept(&memory), kept(&one), kept(&two_again), kept(&three)];
    let forks = memory.forks()?;
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    drop((memory, one, two, two_again, three));
    for is_damaged in [false, true] {
        for name in disk
            .files()
            .into_keys()
            .filter(|name| is_damaged && name.starts_with("checkpoint/"))
        {
            disk.overwrite(&name, |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            });
        }
        let memory = on_disk(&disk, options(HOUR).read_only(true), false)?;
        assert!(memory.inner.store().checkpoint().is_some());
        let line = |name: &str| memory.open_fork(name).unwrap();
        let lines = [memory.clone(), line("one"), line("two"), line("three")];
        assert_eq!(lines.each_ref().map(all), told);
        assert!(lines.each_ref().map(kept) == kept_by);
        assert_eq!(memory.forks()?, forks);
    }
    Ok(())
}

#[test]
fn a_writer_that_rests_on_a_checkpoint_goes_on_with_its_forks() -> Result<()> {
    let disk = SimDisk::new(8);
    let memory = on_disk(&disk, options(HOUR).checkpoint_heavy(1, 1), true)?;
    put(&memory, "a", "base");
    let fork = forked(&memory, "fork");
    for number in 0..60 {
        put(&memory, &format!("m/{}", number % 9), &"main ".repeat(number));
        put(&fork, &format!("f/{}", number % 9), &"fork ".repeat(number));
    }
    assert!(memory.inner.store().checkpoint().is_some());
    assert_eq!(fork.view().commit().commit.seq, 61);
    let told = kept(&fork);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    drop((memory, fork));
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert!(kept(&memory.open_fork("fork")?) == told);
    Ok(())
}

/// The first fork marks the format file, so that a program which knows no lines refuses the store.
#[test]
fn only_a_store_with_forks_has_the_feature() -> Result<()> {
    let disk = SimDisk::new(9);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "base");
    let features = |disk: &SimDisk| disk.contents()["format"][32..40].to_vec();
    assert_eq!(features(&disk), [0; 8]);
    let fork = forked(&memory, "fork");
    assert_eq!(features(&disk), 1_u64.to_le_bytes());
    put(&fork, "a", "in the fork");
    memory.drop_fork("fork", true, &Writer::user())?;
    assert_eq!(features(&disk), 1_u64.to_le_bytes());
    Ok(())
}

#[test]
fn salvage_keeps_forks_and_takes_no_commit_of_one_for_the_main_line() -> Result<()> {
    let disk = SimDisk::new(10);
    let (memory, one, two) = store(&disk);
    for number in 0..30 {
        put(&one, "o/1", &format!("the fork is far ahead {number}"));
    }
    let (head, told) = (
        memory.view().commit().digest,
        [all(&memory), all(&one), all(&two)],
    );
    drop((memory, one, two));
    let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let report = write(&DamagedLog::open(Arc::new(disk))?, &target, &options(HOUR))?;
    assert!(report.is_whole(), "{report:?}");
    let memory = Memory::on_disk(target, options(HOUR), false, None)?;
    assert_eq!(memory.view().commit().digest, head);
    let (one, two) = (memory.open_fork("one")?, memory.open_fork("two")?);
    assert_eq!([all(&memory), all(&one), all(&two)], told);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_new_fork_has_no_automatic_snapshot_of_a_dropped_one_of_its_name() -> Result<()> {
    let disk = SimDisk::new(11);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "main");
    let one = forked(&memory, "one");
    put(&one, "a", "by one");
    one.snapshot(None, &Writer::user())?;
    memory.drop_fork("one", true, &Writer::user())?;
    drop(one);
    let again = forked(&memory, "one");
    assert!(again.snapshots()?.is_empty());
    cover(&memory);
    drop((memory, again));
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert!(memory.inner.store().checkpoint().is_some());
    assert!(memory.open_fork("one")?.snapshots()?.is_empty());
    assert_eq!(
        memory
            .inner
            .store()
            .references()
            .ring(Some("one"), "user")
            .count(),
        0
    );
    Ok(())
}

#[test]
fn erasure_leaves_no_orphan_in_a_fork_without_commits() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "top", "a");
    memory.put(child("top/leaf", "top"), &Writer::user())?;
    let _one = forked(&memory, "one");
    memory.remove(&id("top/leaf"), &Writer::user())?;
    let erasing = Erasing {
        targets: vec!["top".to_owned()],
        everywhere: true,
        ..Erasing::default()
    };
    let error = memory.erase(&erasing, &Writer::user()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::HasChildren);
    Ok(())
}

#[test]
fn an_id_that_a_rollback_of_main_removed_was_there_for_a_fork() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let base = memory.snapshot(Some("base"), &Writer::user())?;
    put(&memory, "gone", "x");
    memory.rollback("base").by(&Writer::user())?;
    let one = forked(&memory, "one");
    assert!(one.has_had(&id("gone"))?);
    assert!(!one.has_had(&id("never"))?);
    drop(base);
    Ok(())
}

/// A draft belongs to the line on which it was made, so a review on another line does not commit it there.
#[test]
fn a_saved_draft_is_opened_on_its_own_line() -> Result<()> {
    let disk = SimDisk::new(31);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let user = Writer::user();
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    let mut draft = fork.draft(&user);
    draft.put(note("a", "of the fork"))?;
    fork.save_draft(&draft, "plan")?;
    drop((memory, fork, draft));
    let memory = on_disk(&disk, options(HOUR), false)?;
    let fork = memory.open_fork("task")?;
    let lines: Vec<_> = memory.references().into_iter().map(|kept| kept.line).collect();
    assert_eq!(lines, [Some("task".to_owned())]);
    let refused = memory.open_draft("drafts/plan", &user).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::OtherLine);
    let draft = fork.open_draft("drafts/plan", &user)?;
    fork.commit(draft, "put")?;
    assert_eq!(content(&fork.view(), "a").as_deref(), Some("of the fork"));
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("first"));
    Ok(())
}

/// A fork is not dropped with what waits for review on it, unless the person says so. Then nothing of it stays for a later
/// fork of the name.
#[test]
fn what_waits_for_review_keeps_its_fork() -> Result<()> {
    let memory = Memory::in_memory()?;
    let user = Writer::user();
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&fork, "b", "by the fork");
    drop(memory.merge("task").by(&user)?);
    let mut draft = fork.draft(&by("worker"));
    draft.put(note("c", "stopped"))?;
    let held = fork.quarantine(&draft, "why")?.unwrap();
    fork.save_draft(&draft, "plan")?;
    let refused = memory.drop_fork("task", false, &user).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Unmerged);
    assert_eq!(refused.ids(), ["drafts/plan", &held]);
    // INVARIANT STN-2: an untrusted writer may not destroy the work of others.
    let untrusted = memory.drop_fork("task", true, &Writer::tool("t")).unwrap_err();
    assert_eq!(untrusted.code(), ErrorCode::LessTrusted);
    assert_eq!(fork.open_draft(&held, &user)?.changes().len(), 1);
    memory.drop_fork("task", true, &user)?;
    assert!(memory.references().is_empty());
    drop(forked(&memory, "task"));
    assert_eq!(memory.drop_fork("task", false, &user)?.commits, 0);
    Ok(())
}

/// A person drops a damaged fork, although nobody can tell whether a merge took it.
#[test]
fn a_damaged_fork_can_be_dropped() -> Result<()> {
    let disk = SimDisk::new(41);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&fork, "b", "a damaged text");
    put(&fork, "c", "the newest one");
    cover(&memory);
    drop((memory, fork));
    let text = b"a damaged text";
    let files = disk.files();
    let found = files
        .iter()
        .filter(|(name, _)| name.starts_with("log/"))
        .find_map(|(name, bytes)| {
            let at = bytes.windows(text.len()).position(|found| found == text)?;
            Some((name.clone(), at))
        });
    let (name, at) = found.unwrap();
    disk.overwrite(&name, |bytes| bytes[at] ^= 1);
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert!(memory.drop_fork("task", false, &Writer::user()).is_err());
    assert_eq!(memory.drop_fork("task", true, &Writer::user())?.commits, 2);
    assert!(memory.live_forks().is_empty());
    Ok(())
}

/// What the store knows of a fork without reading it is what the newest commit says.
#[test]
fn a_live_fork_is_the_fork_of_the_list() -> Result<()> {
    let disk = SimDisk::new(42);
    let (memory, one, _two) = store(&disk);
    for list in [&memory, &one] {
        let mut live = list.live_forks();
        live.sort_by(|one, other| one.name.cmp(&other.name));
        let told = list
            .forks()?
            .into_iter()
            .map(|fork| (fork.name, fork.time, fork.created));
        let live = live.into_iter().map(|fork| (fork.name, fork.time, fork.created));
        assert!(live.eq(told));
    }
    Ok(())
}

/// A dropped fork keeps its commits until gc removes them. Verification checks and counts them, as gc does.
#[test]
fn a_dropped_fork_is_verified_while_it_is_kept() -> Result<()> {
    let disk = SimDisk::new(1);
    let (memory, one, two) = store(&disk);
    drop((one, two));
    let counts = |memory: &Memory| -> Result<(u64, u64)> {
        let now = memory.view().now();
        let kept = memory.gc_preview(&Retention::default(), Some(now))?.kept;
        Ok((memory.verify(VerifyDepth::Full)?.commits, kept))
    };
    let (before, kept) = counts(&memory)?;
    assert_eq!(before, kept);
    memory.drop_fork("two", true, &Writer::user())?;
    memory.drop_fork("one", true, &Writer::user())?;
    assert_eq!(counts(&memory)?, (before, before));
    Ok(())
}
