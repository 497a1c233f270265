//! A group commit syncs several drafts once, and each draft gets the same result as if it were committed alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{child, content, id, note, put};
use crate::disk::lock_within;
use crate::engine::{Committed, Draft, Durability, Memory, Options, VerifyDepth, View, Writer};
use crate::log::LOCK_NAME;
use crate::testing::sim_disk::{Fault, SimDisk};
use crate::{ErrorCode, ErrorKind, Result};

/// Commits drafts in one group, in the given order, and returns their results.
fn together(memory: &Memory, drafts: Vec<Draft>) -> Vec<Result<Committed>> {
    std::thread::scope(|scope| {
        let writing = memory.inner.log.lock();
        let mut waiting = Vec::new();
        for draft in drafts {
            waiting.push(scope.spawn(move || memory.commit(draft, "put")));
            while memory.inner.queue.len() < waiting.len() {
                std::thread::yield_now();
            }
        }
        drop(writing);
        waiting.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn draft<T>(memory: &Memory, change: impl FnOnce(&mut Draft) -> Result<T>) -> Draft {
    let mut draft = memory.draft(&Writer::user());
    change(&mut draft).unwrap();
    draft
}

fn readable(view: &View) {
    for object in view.objects() {
        let object = object.unwrap();
        assert!(view.stamps(&id(object.id().as_str())).unwrap().is_some());
    }
}

#[test]
fn each_draft_of_a_group_is_readable_and_right() -> Result<()> {
    // Tests CMT-2: a draft is committed whole or not at all.
    let memory = Memory::in_memory()?;
    put(&memory, "a", "old");
    let drafts = vec![
        draft(&memory, |draft| draft.put(note("a", "new"))),
        // Putting the same object again makes no change, so the result names the commit that already wrote it.
        draft(&memory, |draft| draft.put(note("a", "new"))),
        draft(&memory, |draft| draft.put(note("a", "other"))),
        draft(&memory, |draft| draft.put(child("b", "a"))),
        draft(&memory, |draft| draft.remove(&id("a"))),
        draft(&memory, |draft| draft.put(note("c", "text"))),
    ];
    let answers = together(&memory, drafts);
    let seqs: Vec<_> = answers
        .iter()
        .map(|answer| match answer {
            Ok(committed) => Ok((committed.changed, committed.commit.commit.seq)),
            Err(error) => Err(error.kind()),
        })
        .collect();
    let conflict = Err(ErrorKind::Conflict);
    assert_eq!(
        seqs,
        [
            Ok((true, 2)),
            Ok((false, 2)),
            conflict,
            Ok((true, 3)),
            conflict,
            Ok((true, 4))
        ]
    );
    let view = memory.view();
    assert_eq!(content(&view, "a").as_deref(), Some("new"));
    assert_eq!(view.children(&id("a"), None)?, [id("b")]);
    readable(&view);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_later_draft_may_not_take_the_parent_of_an_earlier_one() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "");
    let drafts = vec![
        draft(&memory, |draft| draft.put(child("b", "a"))),
        draft(&memory, |draft| draft.remove(&id("a"))),
        draft(&memory, |draft| draft.put(child("a2", "a"))),
    ];
    let answers = together(&memory, drafts);
    assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok());
    readable(&memory.view());
    assert_eq!(memory.view().children(&id("a"), None)?, [id("a2"), id("b")]);
    Ok(())
}

#[test]
fn a_group_that_cannot_be_synced_is_acknowledged_to_nobody() -> Result<()> {
    // Tests CMT-1, and STO-2: the store in memory never contains a commit that the log lacks.
    let disk = SimDisk::new(5);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None)?;
    put(&memory, "a", "old");
    let before = memory.view().commit().digest;
    let drafts = vec![
        draft(&memory, |draft| draft.put(note("a", "new"))),
        draft(&memory, |draft| draft.put(note("a", "new"))),
    ];
    // The next call is the lock, the write or the sync. If that call fails, no draft is acknowledged.
    disk.fail_at(disk.calls() + 2, Fault::Device);
    for answer in together(&memory, drafts) {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Io);
    }
    assert_eq!(memory.view().commit().digest, before);
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("old"));
    let again = memory.put(note("b", ""), &Writer::user()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Poisoned);
    // Another handle gets the lock without waiting and can write.
    let other = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
    put(&other, "b", "after");
    assert!(other.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn opening_again_after_poison_gives_a_working_memory() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "a", "text");
    memory.inner.log.lock().log.poison();
    assert_eq!(
        memory.put(note("b", ""), &Writer::user()).unwrap_err().kind(),
        ErrorKind::Poisoned
    );
    let again = Memory::open(&store)?;
    put(&again, "b", "text");
    assert_eq!(again.view().len(), 2);
    Ok(())
}

#[test]
fn another_rule_set_for_an_open_store_is_refused() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    let relaxed = Options::new().durability(Durability::Interval(Duration::from_millis(5)));
    assert_eq!(relaxed.clone().open(&store).err().unwrap().code(), "already_open");
    assert_eq!(Memory::open(&store)?.view().root(), memory.view().root());
    drop(memory);
    relaxed.open(&store)?;
    Ok(())
}

#[test]
fn a_draft_of_another_memory_is_refused() -> Result<()> {
    let (one, other) = (Memory::in_memory()?, Memory::in_memory()?);
    let foreign = draft(&one, |draft| draft.put(note("a", "")));
    assert_eq!(other.commit(foreign, "put").unwrap_err().code(), "foreign_draft");
    assert_eq!(
        one.commit(one.draft(&Writer::user()), "undo").unwrap_err().code(),
        "reserved_op"
    );
    Ok(())
}

#[test]
fn an_index_lists_ids_in_their_order_however_long_they_are() -> Result<()> {
    let memory = Memory::in_memory()?;
    let long = "x".repeat(60);
    for name in [
        format!("{long}/a"),
        long.clone(),
        format!("{long}#a"),
        "x".to_owned(),
    ] {
        put(&memory, &name, "");
    }
    let found = memory.view().query(&crate::Query::default())?;
    assert!(!found.scanned());
    let found: Vec<_> = found.map(|object| object.unwrap().id().to_string()).collect();
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    assert_eq!(found.len(), 4);
    Ok(())
}

#[test]
fn a_saved_draft_is_opened_and_committed_later_and_its_name_is_kept() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "old");
    let staged = draft(&memory, |draft| {
        draft.put(note("a", "new"))?;
        draft.put(note("b", "text"))
    });
    memory.save_draft(&staged, "plan")?;
    assert_eq!(
        memory.save_draft(&staged, "plan").unwrap_err().code(),
        "name_taken"
    );
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("old"));
    let watched = memory.watch();
    let opened = memory.open_draft("drafts/plan", &Writer::user())?;
    let committed = memory.commit(opened, "put")?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("new"));
    assert_eq!(watched.try_recv().unwrap().commit, committed.commit.digest);
    let mut careful = memory.draft(&Writer::user());
    careful.expect(&id("b"), None);
    careful.put(note("c", ""))?;
    assert_eq!(
        memory.commit(careful, "put").unwrap_err().kind(),
        ErrorKind::Conflict
    );
    Ok(())
}

/// A clock that panics once.
struct Panics(AtomicBool);

impl crate::engine::Clock for Panics {
    fn now(&self) -> crate::Time {
        assert!(!self.0.swap(false, Ordering::Relaxed), "the clock panics");
        crate::Time::from_micros(1)
    }
}

/// INVARIANT GRP-1: a caller that is stopped while it waits for the lock ends no commit of another caller.
#[test]
fn a_caller_that_is_stopped_ends_no_commit_of_another() -> Result<()> {
    for stopped in ["a", "b", "c"] {
        let disk = Arc::new(SimDisk::new(6));
        // The host stops a caller only after the queue has all three.
        let queued = Arc::new(AtomicBool::new(false));
        let all = Arc::clone(&queued);
        let stop = move || all.load(Ordering::Acquire) && std::thread::current().name() == Some(stopped);
        let options = Options::new().automatic_gc(None).wait(Duration::from_secs(20));
        let memory = Memory::on_disk(Arc::clone(&disk) as _, options.clone().stop(stop), true, None)?;
        let lock = lock_within(&*disk, LOCK_NAME, Duration::ZERO)?;
        std::thread::scope(|scope| {
            let mut waiting = Vec::new();
            for (name, count) in [("a", 1), ("b", 2), ("c", 3)] {
                let draft = draft(&memory, |draft| draft.put(note(name, "")));
                let memory = &memory;
                let commit = move || memory.commit(draft, "put");
                waiting.push(
                    std::thread::Builder::new()
                        .name(name.to_owned())
                        .spawn_scoped(scope, commit)
                        .unwrap(),
                );
                while memory.inner.queue.len() < count {
                    std::thread::yield_now();
                }
            }
            queued.store(true, Ordering::Release);
            while !waiting.iter().any(std::thread::ScopedJoinHandle::is_finished) {
                std::thread::yield_now();
            }
            drop(lock);
            for (thread, name) in waiting.into_iter().zip(["a", "b", "c"]) {
                let outcome = thread.join().unwrap().map_err(|error| error.code());
                let expected = if name == stopped {
                    Some(ErrorCode::Interrupted)
                } else {
                    None
                };
                assert_eq!(outcome.err(), expected, "{name} of {stopped}");
            }
        });
        let view = memory.view();
        for name in ["a", "b", "c"] {
            assert_eq!(view.contains(&id(name))?, name != stopped, "{name} of {stopped}");
        }
    }
    Ok(())
}

#[test]
fn a_group_whose_commit_panics_answers_each_caller_and_the_next_group_is_committed() -> Result<()> {
    let clock = Arc::new(Panics(false.into()));
    let memory = Memory::on_disk(
        Arc::new(SimDisk::new(5)),
        Options::new().clock(Arc::clone(&clock) as _),
        true,
        None,
    )?;
    let drafts = ["a", "b", "c"].map(|name| draft(&memory, |draft| draft.put(note(name, ""))));
    clock.0.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let writing = memory.inner.log.lock();
        let mut waiting = Vec::new();
        for draft in drafts {
            waiting.push(scope.spawn(|| memory.commit(draft, "put")));
            while memory.inner.queue.len() < waiting.len() {
                std::thread::yield_now();
            }
        }
        drop(writing);
        let mut outcomes = waiting.into_iter().map(std::thread::ScopedJoinHandle::join);
        assert!(outcomes.next().unwrap().is_err(), "the first caller panics");
        for outcome in outcomes {
            assert_eq!(outcome.unwrap().unwrap_err().kind(), ErrorKind::Internal);
        }
    });
    put(&memory, "d", "");
    assert!(memory.view().contains(&id("d"))? && !memory.view().contains(&id("a"))?);
    Ok(())
}
