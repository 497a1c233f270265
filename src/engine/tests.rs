//! Tests of the engine as a library, in memory and on a folder.
mod authorisation;
mod blame;
mod bulk;
mod chain;
mod checkpoint_files;
mod commit_path;
mod covering;
mod damage;
#[cfg(feature = "agent")]
mod derived;
#[cfg(feature = "agent")]
mod derived_value;
mod erase;
mod figures;
mod fork_retention;
mod forks;
mod full_disk;
mod gc;
mod gc_beside;
mod gc_records;
mod groups;
mod interrupted;
mod lanes;
mod latent_defects;
mod live_mark;
mod merge;
mod moved;
mod named;
mod outdated_states;
mod pinned;
mod placed;
mod places;
mod revert;
mod salvage;
mod salvage_beside;
mod salvage_leftovers;
mod salvage_outside;
mod salvage_spare;
mod scan;
mod staged;
mod staging;
#[cfg(feature = "agent")]
mod tainted;
mod unreadable;

use std::sync::Arc;

use super::*;
use crate::object::{Id, Kind, NewObject, Object, Value};
use crate::{ErrorKind, Result};

pub(crate) fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub(crate) fn note(name: &str, content: &str) -> NewObject {
    let mut object = NewObject::new(id(name), Kind::new("note").unwrap());
    object.content = Some(content.to_owned());
    object
}

/// Returns the names of the segments on a disk, in order.
fn segments(disk: &crate::testing::sim_disk::SimDisk) -> Vec<String> {
    let names = disk.files().into_keys();
    names.filter(|name| name.starts_with("log/")).collect()
}

fn child(name: &str, parent: &str) -> NewObject {
    let mut object = note(name, "");
    object.parent = Some(id(parent));
    object
}

fn content(view: &View, name: &str) -> Option<String> {
    view.get(&id(name))
        .unwrap()
        .map(|object| object.content().unwrap_or_default().to_owned())
}

fn put(memory: &Memory, name: &str, text: &str) -> Committed {
    memory.put(note(name, text), &Writer::user()).unwrap()
}

fn by(session: &str) -> Writer {
    Writer::user().session(session)
}

#[test]
fn put_get_reopen() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "a", "one");
    let long = "x".repeat(10_000);
    let last = put(&memory, "b", &long);
    assert!(last.changed);
    assert_eq!(last.commit.commit.seq, 2);
    drop(memory);
    let memory = Memory::open(&store)?;
    assert_eq!(memory.view().commit().digest, last.commit.digest);
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("one"));
    assert_eq!(content(&memory.view(), "b").as_deref(), Some(long.as_str()));
    let report = memory.verify(VerifyDepth::Full)?;
    assert!(report.ok, "{report:?}");
    assert_eq!((report.commits, report.versions), (3, 2));
    Ok(())
}

#[test]
fn many_objects_at_once_are_those_of_single_reads() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    let mut draft = memory.draft(&Writer::user());
    let long = "x".repeat(10_000);
    draft.put_all((0..300).map(|number| note(&format!("n/{number}"), &format!("text {number} {long}"))))?;
    memory.commit(draft, "put")?;
    drop(memory);
    let memory = Memory::open(&store)?;
    let view = memory.view();
    // Every third id is absent, and some ids appear twice.
    let ids: Vec<Id> = (0..450)
        .map(|number| id(&format!("n/{}", number * 7 % 450)))
        .collect();
    let ids: Vec<&Id> = ids.iter().chain(&ids[..10]).collect();
    let found = view.get_all(ids.iter().copied())?;
    assert_eq!(
        found.iter().flatten().count(),
        300 + found[450..].iter().flatten().count()
    );
    for (id, found) in ids.into_iter().zip(found) {
        let alone = view.get(id)?;
        assert_eq!(found, alone, "{id}");
        let content = |object: Option<Object>| object.and_then(|object| object.content().map(str::to_owned));
        assert_eq!(content(found), content(alone), "{id}");
    }
    assert!(view.get_all([])?.is_empty());

    let erasing = Erasing {
        targets: vec!["n/7".to_owned()],
        everywhere: true,
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let (kept, erased) = (id("n/8"), id("n/7"));
    let past = memory.view_at(&"seq:1".parse()?, "")?;
    let alone = past.get(&erased).unwrap_err();
    let together = past.get_all([&kept, &erased]).unwrap_err();
    assert_eq!((together.kind(), together.code()), (alone.kind(), alone.code()));
    Ok(())
}

#[test]
fn the_same_meaning_again_is_no_commit() {
    let memory = Memory::in_memory().unwrap();
    let first = put(&memory, "a", "one");
    let again = memory
        .put(note("a", "one"), &Writer::of(crate::Origin::ToolExternal))
        .unwrap();
    assert!(!again.changed);
    assert_eq!(again.commit.digest, first.commit.digest);
}

#[test]
fn rollback_undo_redo() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    let snapshot = memory.snapshot(Some("good"), &Writer::user())?;
    put(&memory, "a", "two");
    put(&memory, "b", "three");
    let back = memory.rollback("good").by(&Writer::user())?;
    assert_eq!(memory.view().root(), snapshot.root);
    let counts = memory.commit_counts(&back.commit)?;
    assert_eq!((counts.added, counts.changed, counts.removed), (0, 1, 1));
    memory.undo(&Writer::user())?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("two"));
    memory.redo(&Writer::user())?;
    assert_eq!(memory.view().root(), snapshot.root);
    assert_eq!(
        memory.redo(&Writer::user()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    Ok(())
}

#[test]
fn a_way_back_meets_only_the_head_that_the_caller_saw() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    memory.snapshot(Some("good"), &Writer::user())?;
    memory.put(note("a", "two"), &by("night"))?;
    let seen = memory.view().commit().digest;
    put(&memory, "b", "three");
    let (root, night) = (memory.view().root(), Selection::default().session("night"));
    let rollback = memory.rollback("good").across_lanes();
    let refused = [
        rollback.clone().expect_head(seen).by(&Writer::user()).map(drop),
        memory
            .revert(night.clone())
            .expect_head(seen)
            .by(&Writer::user())
            .map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert_eq!(
            (error.kind(), error.code().as_str()),
            (ErrorKind::Conflict, "head_moved")
        );
    }
    assert_eq!(memory.view().root(), root);
    let head = memory.view().commit().digest;
    let reverted = memory.revert(night).expect_head(head).by(&Writer::user())?;
    let head = reverted.committed.commit.digest;
    assert!(rollback.expect_head(head).by(&Writer::user())?.changed);
    Ok(())
}

#[test]
fn undo_refuses_what_others_changed_since() -> Result<()> {
    // Tests ROL-2: undo and redo change only ids that the reversed commit changed.
    let memory = Memory::in_memory()?;
    memory.put(note("a", "mine"), &by("one"))?;
    memory.put(note("a", "theirs"), &by("two"))?;
    let error = memory.undo(&by("one")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.ids(), ["a"]);
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("theirs"));
    let error = memory.rollback(Revision::Seq(0)).by(&by("one")).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Conflict, crate::error::ErrorCode::OtherLanes)
    );
    memory.rollback(Revision::Seq(0)).across_lanes().by(&by("one"))?;
    assert!(memory.view().is_empty());
    Ok(())
}

#[test]
fn undo_walks_back_commit_by_commit_and_a_new_one_empties_redo() -> Result<()> {
    let memory = Memory::in_memory()?;
    let writer = Writer::user();
    for text in ["1", "2", "3"] {
        put(&memory, "a", text);
    }
    memory.undo(&writer)?;
    memory.undo(&writer)?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("1"));
    memory.redo(&writer)?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("2"));
    put(&memory, "a", "4");
    assert_eq!(memory.redo(&writer).unwrap_err().code(), "nothing_to_redo");
    memory.undo(&writer)?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("2"));
    Ok(())
}

#[test]
fn what_was_undone_comes_back_one_by_one() -> Result<()> {
    let memory = Memory::in_memory()?;
    let writer = Writer::user();
    let texts = ["1", "2", "3", "4"];
    for text in texts {
        put(&memory, "a", text);
    }
    for _ in 1..texts.len() {
        memory.undo(&writer)?;
    }
    for text in &texts[1..] {
        memory.redo(&writer)?;
        assert_eq!(content(&memory.view(), "a").as_deref(), Some(*text));
    }
    assert_eq!(memory.redo(&writer).unwrap_err().code(), "nothing_to_redo");
    Ok(())
}

#[test]
fn the_tree_of_parents_holds() -> Result<()> {
    // Tests TRE-1 and TRE-2: every parent exists, and no chain of parents is a cycle.
    let memory = Memory::in_memory()?;
    let code = |result: Result<Committed>| result.unwrap_err().code();
    assert_eq!(code(memory.put(child("b", "a"), &Writer::user())), "no_parent");
    put(&memory, "a", "");
    memory.put(child("b", "a"), &Writer::user())?;
    memory.put(child("c", "b"), &Writer::user())?;
    assert_eq!(code(memory.put(child("a", "c"), &Writer::user())), "parent_cycle");
    assert_eq!(code(memory.remove(&id("a"), &Writer::user())), "has_children");
    assert_eq!(memory.view().children(&id("a"), None)?, [id("b")]);
    memory.remove_recursive(&id("a"), &Writer::user())?;
    assert!(memory.view().is_empty());
    Ok(())
}

#[test]
fn an_attempt_is_whole_or_not_at_all() -> Result<()> {
    // Tests ATT-1: an error, a panic or a failed check leaves the state unchanged.
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    let root = memory.view().root();
    let change = |draft: &mut Draft| draft.put(note("a", "bad"));
    let error = memory
        .attempt(&by("s"), change, &[&|_| Err("looks wrong".to_owned())])
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Denied, crate::error::ErrorCode::Rejected)
    );
    let failing = |draft: &mut Draft| -> Result<()> {
        draft.put(note("b", "half"))?;
        Err(crate::Error::new(ErrorKind::InvalidInput, "the model stopped"))
    };
    assert_eq!(
        memory.attempt(&by("s"), failing, &[]).unwrap_err().message(),
        "the model stopped"
    );
    let panicking = |draft: &mut Draft| -> Result<()> {
        draft.put(note("c", "half"))?;
        panic!("out of cheese")
    };
    assert!(
        memory
            .attempt(&by("s"), panicking, &[])
            .unwrap_err()
            .message()
            .contains("out of cheese")
    );
    assert_eq!(memory.view().root(), root);
    let rejected = memory.references();
    let named: Vec<_> = rejected
        .iter()
        .filter(|one| one.name.starts_with("rejected/"))
        .collect();
    assert_eq!(named.len(), 3);
    let draft = memory.open_draft(&named[2].name, &Writer::user())?;
    assert_eq!(draft.get(&id("a"))?.unwrap().content(), Some("bad"));
    let kept = memory.attempt(&by("s"), change, &[])?;
    assert_eq!(kept.committed.commit.commit.op.as_str(), "attempt");
    assert_eq!(memory.resolve(&Revision::Ring(0), "s")?.commit.root, root);
    Ok(())
}

#[test]
fn queries_by_index_and_by_scan_agree() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..200_i64 {
        let mut object = note(&format!("n/{number:03}"), "text");
        object.kind = Kind::new(if number % 3 == 0 { "fact" } else { "note" })?;
        object.attributes.insert("modulo", Value::Integer(number % 7));
        draft.put(object)?;
    }
    memory.commit(draft, "put")?;
    let past = memory.view();
    memory.remove(&id("n/000"), &Writer::user())?;
    let query = Query {
        kind: Some(Kind::new("fact")?),
        attributes: vec![("modulo".to_owned(), Value::Integer(0))],
        ..Query::default()
    };
    let ids = |view: &View| -> Vec<String> {
        view.query(&query)
            .unwrap()
            .map(|found| found.unwrap().id().to_string())
            .collect()
    };
    assert!(past.query(&query)?.scanned());
    assert!(!memory.view().query(&query)?.scanned());
    let mut expected = ids(&past);
    assert_eq!(expected.remove(0), "n/000");
    assert_eq!(ids(&memory.view()), expected);
    let prefix = Query {
        prefix: Some("n/01".to_owned()),
        limit: Some(4),
        ..Query::default()
    };
    let found: Vec<_> = memory
        .view()
        .query(&prefix)?
        .map(|found| found.unwrap().id().to_string())
        .collect();
    assert_eq!(found, ["n/010", "n/011", "n/012", "n/013"]);
    Ok(())
}

#[test]
fn objects_of_kinds_that_are_not_asked_for_are_not_read() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..300 {
        let mut object = note(&format!("n/{number:03}"), "text");
        object.kind = Kind::new(if number % 60 == 0 { "fact" } else { "entry" })?;
        draft.put(object)?;
    }
    memory.commit(draft, "put")?;
    let past = memory.view();
    memory.remove(&id("n/000"), &Writer::user())?;
    let few = Query {
        not_kinds: vec![Kind::new("entry")?],
        ..Query::default()
    };
    let found = memory.view().query(&few)?;
    assert!(found.knows_kinds());
    assert_eq!(found.count(), 4);
    // The past state has no index, but its query returns the same result.
    let found = past.query(&few)?;
    assert!(found.scanned() && !found.knows_kinds());
    assert_eq!(found.count(), 5);
    Ok(())
}

#[test]
fn subtree_digests_follow_every_descendant() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "");
    memory.put(child("b", "a"), &Writer::user())?;
    memory.put(child("c", "b"), &Writer::user())?;
    put(&memory, "other", "");
    let before = memory.view();
    let digest = |view: &View, name: &str| view.subtree_digest(&id(name)).unwrap().unwrap();
    let (a, b, other) = (
        digest(&before, "a"),
        digest(&before, "b"),
        digest(&before, "other"),
    );
    let mut changed = child("c", "b");
    changed.content = Some("new".to_owned());
    memory.put(changed, &Writer::user())?;
    let after = memory.view();
    assert_ne!(digest(&after, "a"), a);
    assert_ne!(digest(&after, "b"), b);
    assert_eq!(digest(&after, "other"), other);
    // The digest of the old state stays the same, also in another process with empty caches.
    assert_eq!(digest(&before, "a"), a);
    memory.undo(&Writer::user())?;
    assert_eq!(digest(&memory.view(), "a"), a);
    Ok(())
}

#[test]
fn threads_commit_together_and_nothing_is_lost() -> Result<()> {
    let memory = Memory::in_memory()?;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let memory = memory.clone();
            scope.spawn(move || {
                for number in 0..50 {
                    put(&memory, &format!("{thread}/{number}"), "text");
                }
            });
        }
    });
    assert_eq!(memory.view().len(), 400);
    assert_eq!(memory.view().commit().commit.seq, 400);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_policy_may_refuse_replace_and_quarantine() -> Result<()> {
    struct NoSecrets;
    impl WritePolicy for NoSecrets {
        fn review(&self, draft: &Draft) -> PolicyVerdict {
            for change in draft.changes() {
                let object = draft.get(&change.id).unwrap();
                match object.as_ref().and_then(|object| object.content()) {
                    Some("refuse") => return PolicyVerdict::Refuse("no".to_owned()),
                    Some("keep") => return PolicyVerdict::Quarantine("look at it".to_owned()),
                    Some("change") => {
                        return PolicyVerdict::Replace(vec![note(change.id.as_str(), "changed")]);
                    }
                    _ => {}
                }
            }
            PolicyVerdict::Accept
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let memory = Options::new()
        .policy(Arc::new(NoSecrets))
        .create(folder.path().join("s"))?;
    assert_eq!(
        memory
            .put(note("a", "refuse"), &Writer::user())
            .unwrap_err()
            .code(),
        "denied"
    );
    assert_eq!(
        memory.put(note("a", "keep"), &Writer::user()).unwrap_err().code(),
        "quarantined"
    );
    assert!(memory.view().is_empty());
    memory.put(note("a", "change"), &Writer::user())?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("changed"));
    Ok(())
}

#[test]
fn the_newest_changes_of_an_id_are_found_without_reading_all_commits() -> Result<()> {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let options = Options::new().stop(move || asked.load(std::sync::atomic::Ordering::Relaxed));
    let disk = Arc::new(crate::testing::sim_disk::SimDisk::new(1));
    let memory = Memory::on_disk(disk, options, true, None)?;
    for round in 0..1_100 {
        put(&memory, "a", &round.to_string());
    }
    // Long work checks the stop flag at every 1,024th step.
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(memory.history(&id("a")).unwrap_err().code(), "interrupted");
    let newest: Vec<_> = memory.changes_of(&id("a")).take(3).collect::<Result<_>>()?;
    let numbers: Vec<u64> = newest.iter().map(|entry| entry.commit.commit.seq).collect();
    assert_eq!(numbers, [1_100, 1_099, 1_098]);
    Ok(())
}

#[test]
fn created_and_updated_are_the_first_times() -> Result<()> {
    let memory = Memory::in_memory()?;
    let first = put(&memory, "a", "one").commit.commit.time;
    let second = put(&memory, "a", "two").commit.commit.time;
    assert_eq!(memory.view().stamps(&id("a"))?, Some((first, second)));
    memory.remove(&id("a"), &Writer::user())?;
    put(&memory, "a", "one");
    assert_eq!(memory.view().stamps(&id("a"))?, Some((first, first)));
    memory.rollback(Revision::Seq(0)).by(&Writer::user())?;
    put(&memory, "a", "two");
    assert_eq!(memory.view().stamps(&id("a"))?, Some((first, second)));
    Ok(())
}

#[test]
fn relaxed_durability_keeps_the_lock_and_loses_nothing_at_close() -> Result<()> {
    // Tests WRI-2: a handle releases the lock after every write, unless it is exclusive or has written bytes that are
    // not synced.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s");
    let relaxed = Durability::Interval(std::time::Duration::from_hours(1));
    let memory = Options::new().durability(relaxed).create(&store)?;
    for number in 0..100 {
        put(&memory, &number.to_string(), "text");
    }
    memory.close()?;
    assert_eq!(Memory::open(&store)?.view().len(), 100);
    Ok(())
}

#[test]
fn relaxed_durability_loses_only_a_newest_part_to_a_loss_of_power() -> Result<()> {
    use crate::testing::sim_disk::{CrashImage, SimDisk};
    let disk = SimDisk::new(3);
    disk.relax();
    let open = |disk: &SimDisk, options: Options, create: bool| {
        Memory::on_disk(Arc::new(disk.clone()), options, create, None)
    };
    let relaxed = || Options::new().durability(Durability::Interval(std::time::Duration::from_hours(1)));
    let memory = open(&disk, relaxed(), true)?;
    for number in 0..10 {
        put(&memory, &number.to_string(), "text");
    }
    memory.sync()?;
    for number in 10..20 {
        put(&memory, &number.to_string(), "text");
    }
    // After a power loss at this point, all synced batches survive, and so does a prefix of the unsynced batches.
    for seed in 0..50 {
        for image in [
            CrashImage::Nothing,
            CrashImage::Everything,
            CrashImage::Sectors(seed),
        ] {
            let found = open(&disk.crash_image(image), Options::new(), false)?.view();
            let seq = found.commit().commit.seq;
            assert!((10..=20).contains(&seq), "{seq}");
            assert_eq!(found.len(), seq);
            assert_eq!(found.root(), memory.view_at(&Revision::Seq(seq), "")?.root());
        }
    }
    // Unsynced batches are synced within the interval, even without another commit.
    let quick = SimDisk::new(4);
    quick.relax();
    let interval = std::time::Duration::from_millis(5);
    let memory = open(
        &quick,
        Options::new().durability(Durability::Interval(interval)),
        true,
    )?;
    put(&memory, "a", "text");
    for _ in 0..1_000 {
        std::thread::sleep(interval);
        if open(&quick.crash_image(CrashImage::Nothing), Options::new(), false)?
            .view()
            .len()
            == 1
        {
            return Ok(());
        }
    }
    panic!("nobody synced it");
}
