//! Guarantees of staging: trees without cycles, unique records, origins that cannot rise, limits.

use std::sync::Arc;

use super::{by, child, content, id, note, put};
use crate::engine::write::kept_draft::{REJECTED_BYTES, REJECTED_MAX};
use crate::engine::*;
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Origin, Reference, ReferenceClass, ReferenceName, Time};
use crate::{ErrorKind, Result};

#[test]
fn a_cycle_of_new_ids_is_refused_and_a_new_chain_under_an_old_id_is_not() -> Result<()> {
    // Tests TRE-2: in every committed state, no chain of parents is a cycle.
    let memory = Memory::in_memory()?;
    put(&memory, "top", "");
    for parents in [["c", "a", "b"], ["top", "a", "b"]] {
        let mut draft = memory.draft(&Writer::user());
        for (name, parent) in ["a", "b", "c"].iter().zip(parents) {
            draft.put(child(name, parent))?;
        }
        let outcome = memory.commit(draft, "put");
        match parents[0] {
            "top" => assert!(outcome?.changed),
            _ => assert_eq!(outcome.unwrap_err().code(), "parent_cycle"),
        }
    }
    // Moves an old id below a new id that is itself below the old id.
    let mut draft = memory.draft(&Writer::user());
    draft.put(child("d", "c"))?;
    draft.put(child("top", "d"))?;
    assert_eq!(memory.commit(draft, "put").unwrap_err().code(), "parent_cycle");
    Ok(())
}

#[test]
fn an_id_that_a_rollback_took_away_keeps_its_first_time() -> Result<()> {
    // Tests CTL-3: the store knows the ids that a rollback removed, also after undoing the rollback and after reopening
    // the log.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "before", "");
    let first = put(&memory, "a", "one").commit.commit.time;
    memory.rollback(Revision::Seq(1)).by(&Writer::user())?;
    put(&memory, "other", "");
    memory.rollback(Revision::Seq(1)).by(&Writer::user())?;
    put(&memory, "a", "again");
    let created = |memory: &Memory| {
        Ok::<Option<Time>, crate::Error>(memory.view().stamps(&id("a"))?.map(|stamps| stamps.0))
    };
    assert_eq!(created(&memory)?, Some(first));
    drop(memory);
    assert_eq!(created(&Memory::open(&store)?)?, Some(first));
    Ok(())
}

#[test]
fn a_kept_draft_holds_a_content_once_and_can_be_deleted() -> Result<()> {
    // Tests STG-1: a batch contains no version and no content twice, and no version or content that history already
    // has.
    let memory = Memory::in_memory()?;
    let long = "x".repeat(10_000);
    let mut draft = memory.draft(&Writer::user());
    draft.put(note("a", &long))?;
    draft.put(note("b", &long))?;
    let bytes = memory.stats()?.log_bytes;
    memory.save_draft(&draft, "plan")?;
    let grown = memory.stats()?.log_bytes - bytes;
    assert!((10_000..20_000).contains(&grown), "{grown} bytes");
    let opened = memory.open_draft("drafts/plan", &Writer::user())?;
    assert_eq!(opened.counts().added, 2);
    memory.delete_draft("drafts/plan", &Writer::user())?;
    for gone in [
        memory.delete_draft("drafts/plan", &Writer::user()),
        memory.open_draft("drafts/plan", &Writer::user()).map(drop),
        memory.delete_draft("snapshots/plan", &Writer::user()),
    ] {
        assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert!(memory.view().is_empty());
    Ok(())
}

#[test]
fn what_is_derived_in_one_draft_is_as_trusted_as_its_source() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut draft = memory.draft(&Writer::user());
    draft.stage(
        note("page", "from the web"),
        OriginRule::AtMost(Origin::ToolExternal),
    )?;
    let mut summary = note("summary", "short");
    summary.derived_from = draft.digest(&id("page"))?.into_iter().collect();
    draft.put(summary)?;
    memory.commit(draft, "put")?;
    let summary = memory.view().get(&id("summary"))?.unwrap();
    assert_eq!(summary.origin(), Origin::ToolExternal);
    Ok(())
}

#[test]
fn a_limit_of_the_handle_holds_for_its_writes_only() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "long", "eleven char");
    drop(memory);
    let limits = Limits::default().with_content_bytes_max(10);
    let memory = Options::new().limits(limits).open(&store)?;
    assert_eq!(content(&memory.view(), "long").as_deref(), Some("eleven char"));
    put(&memory, "short", "ten chars.");
    let refused = memory
        .put(note("long", "eleven more"), &Writer::user())
        .unwrap_err();
    assert_eq!(refused.code(), "over_limit");
    assert!(refused.message().contains("long"), "{refused}");
    Ok(())
}

#[test]
fn a_refused_change_that_cannot_be_kept_still_says_why_it_was_refused() -> Result<()> {
    // Tests ATT-1: a failed check leaves the state unchanged, even if the reason is too long to be kept.
    let memory = Memory::in_memory()?;
    let reason = "no".repeat(1 << 20);
    let check = |_: &Draft| Err(reason.clone());
    let refused = memory
        .attempt(&Writer::user(), |draft| draft.put(note("a", "")), &[&check])
        .unwrap_err();
    assert_eq!(refused.code(), "rejected");
    assert!(memory.view().is_empty());
    Ok(())
}

#[test]
fn staging_an_object_back_to_what_it_was_leaves_nothing_staged() -> Result<()> {
    // Tests DRA-1: a staged version differs from the base state.
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    let mut draft = memory.draft(&Writer::user());
    draft.put(note("a", "two"))?;
    assert_eq!(draft.changes().len(), 1);
    draft.put(note("a", "one"))?;
    assert!(draft.is_empty());
    draft.put(note("b", "new"))?;
    draft.remove(&id("b"))?;
    assert!(draft.is_empty());
    assert!(!memory.commit(draft, "put")?.changed);
    Ok(())
}

/// A clock that moves back a minute at every call.
struct Backwards(std::sync::atomic::AtomicI64);

impl Clock for Backwards {
    fn now(&self) -> Time {
        Time::from_micros(self.0.fetch_sub(60_000_000, std::sync::atomic::Ordering::Relaxed))
    }
}

#[test]
fn commits_follow_in_time_though_the_clock_goes_backwards() -> Result<()> {
    // Tests CMT-3: a commit's time is later than its parent's.
    let clock = Arc::new(Backwards(1_800_000_000_000_000.into()));
    let folder = tempfile::tempdir().unwrap();
    let memory = Options::new().clock(clock).create(folder.path().join("store"))?;
    for number in 0..5 {
        put(&memory, "a", &number.to_string());
    }
    memory.rollback(Revision::Seq(2)).by(&Writer::user())?;
    let times: Vec<_> = memory
        .commits()
        .map(|commit| commit.unwrap().commit.time)
        .collect();
    assert_eq!(times.len(), 7);
    assert!(times.is_sorted_by(|newer, older| newer > older), "{times:?}");
    Ok(())
}

#[test]
fn each_lane_keeps_its_own_newest_twenty_snapshots() -> Result<()> {
    // Tests CTL-1 (the order of commits) and CTL-2 (the rings of snapshots).
    let memory = Memory::in_memory()?;
    for number in 0..25 {
        put(&memory, "a", &number.to_string());
        memory.snapshot(None, &by("one"))?;
    }
    memory.snapshot(None, &by("two"))?;
    let of = |lane: &str| {
        let snapshots = memory.snapshots().unwrap().into_iter();
        let mine = snapshots.filter(|snapshot| snapshot.lane.as_deref() == Some(lane));
        mine.map(|snapshot| (snapshot.index, snapshot.seq))
            .collect::<Vec<_>>()
    };
    let expected: Vec<_> = (0..20).map(|index| (Some(index), 25 - index as u64)).collect();
    assert_eq!(of("one"), expected);
    assert_eq!(of("two"), [(Some(0), 25)]);
    Ok(())
}

#[test]
fn a_store_opened_twice_is_one_memory() -> Result<()> {
    // Tests MEM-1: opening one store twice returns the same memory, also by another path to the folder.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let link = folder.path().join("link");
    let one = Memory::create(&store)?;
    std::os::unix::fs::symlink(&store, &link).unwrap();
    let other = Memory::open(&link)?;
    put(&one, "a", "text");
    // No refresh is needed: both handles are the same memory.
    assert_eq!(content(&other.view(), "a").as_deref(), Some("text"));
    Ok(())
}

#[test]
fn a_version_taken_along_stays_in_history_though_its_id_is_staged_anew() -> Result<()> {
    // Tests DRA-2: the commit keeps a replaced source version in history, whatever the order of the puts.
    for past_first in [true, false] {
        let memory = Memory::in_memory()?;
        let mut draft = memory.draft(&Writer::user());
        let earlier = note("page", "earlier");
        let mut digest = None;
        if past_first {
            digest = Some(draft.put_past(&earlier, Origin::DirectUser)?);
        }
        draft.put(earlier.clone())?;
        if !past_first {
            digest = Some(draft.put_past(&earlier, Origin::DirectUser)?);
        }
        draft.put(note("page", "later"))?;
        let mut summary = note("summary", "short");
        summary.derived_from = digest.into_iter().collect();
        draft.put(summary)?;
        memory.commit(draft, "put")?;
        assert!(
            memory.version(digest.unwrap())?.is_some(),
            "past first: {past_first}"
        );
        assert_eq!(
            memory.view().get(&id("summary"))?.unwrap().origin(),
            Origin::DirectUser
        );
    }
    Ok(())
}

#[test]
fn single_objects_are_restored_and_all_else_stays() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "top", "");
    let mut below = memory.draft(&Writer::of(Origin::Model));
    below.put(child("top/a", "top"))?;
    below.put(child("top/b", "top"))?;
    memory.commit(below, "put")?;
    let good = memory.view();
    put(&memory, "top", "wrong");
    put(&memory, "other", "right");
    memory.put(child("top/c", "top/a"), &Writer::user())?;
    memory.remove(&id("top/b"), &Writer::user())?;

    let mut draft = memory.draft(&Writer::user());
    assert!(draft.restore(&id("top"), &good)?);
    assert!(!draft.restore(&id("top/a"), &good)?, "it is as it was");
    assert!(!draft.restore(&id("top"), &good)?, "staged already");
    let head = memory.view();
    assert!(draft.restore(&id("top"), &head)?);
    assert!(draft.is_empty(), "DRA-1");

    let mut draft = memory.draft(&Writer::user());
    assert_eq!(draft.restore_recursive(&id("top"), &good)?, 3);
    assert!(memory.commit(draft, "restore")?.changed);
    let view = memory.view();
    assert_eq!(content(&view, "other").as_deref(), Some("right"));
    for name in ["top", "top/a", "top/b", "top/c"] {
        let digest = |view: &View| Ok::<_, crate::Error>(view.get(&id(name))?.map(|object| object.digest()));
        assert_eq!(digest(&view)?, digest(&good)?, "{name}");
    }
    assert_eq!(view.get(&id("top/b"))?.unwrap().origin(), Origin::Model);
    let other = Memory::in_memory()?;
    let foreign = other.draft(&Writer::user()).restore(&id("top"), &good);
    assert_eq!(foreign.unwrap_err().code(), "foreign_view");
    Ok(())
}

fn refuse(memory: &Memory, session: &str, name: &str, reason: &str) -> Result<String> {
    let mut draft = memory.draft(&by(session));
    draft.put(note(name, "refused"))?;
    Ok(memory.quarantine(&draft, reason)?.unwrap())
}

fn refused(memory: &Memory) -> Vec<ReferenceInfo> {
    let mut all = memory.references();
    all.retain(|one| one.name.starts_with("rejected/"));
    all
}

#[test]
fn a_change_that_is_refused_again_is_kept_once() -> Result<()> {
    // Tests KEP-1: a repeated refusal is kept once, also after reopening the log.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    let first = refuse(&memory, "s", "a", "why")?;
    let other = refuse(&memory, "s", "b", "why")?;
    let time = refused(&memory)[1].time;
    for _ in 0..30 {
        assert_eq!(refuse(&memory, "s", "a", "why")?, first);
    }
    for (session, name, reason) in [("t", "a", "why"), ("s", "c", "why"), ("s", "a", "wh")] {
        let distinct = refuse(&memory, session, name, reason)?;
        assert!(
            distinct != first && distinct != other,
            "{session} {name} {reason}"
        );
    }
    // On another line, it is another change.
    let fork = memory.fork("task").by(&Writer::user())?;
    assert_ne!(refuse(&fork, "s", "a", "why")?, first);
    assert_eq!(refuse(&memory, "s", "a", "why")?, first);
    drop((memory, fork));
    let kept = refused(&Memory::open(&store)?);
    assert_eq!(kept.len(), 6);
    assert!(
        kept.iter().any(|one| one.name == first && one.time > time),
        "{kept:?}"
    );
    Ok(())
}

#[test]
fn who_had_most_refused_gives_way_with_the_oldest() -> Result<()> {
    // Tests KEP-2: above the cap, the oldest changes of the writer with the largest share are replaced, also after
    // reopening the log.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    let evidence = refuse(&memory, "quiet", "evidence", "why")?;
    let first = refuse(&memory, "loud", "0", "why")?;
    for number in 1..REJECTED_MAX - 1 {
        refuse(&memory, "loud", &number.to_string(), "why")?;
    }
    assert_eq!(refused(&memory).len(), REJECTED_MAX);
    let newest = refuse(&memory, "loud", "last", "why")?;
    // A change of many objects counts as several changes.
    let mut draft = memory.draft(&by("loud"));
    for number in 0..3_000 {
        draft.put(note(&format!("n/{number}"), ""))?;
    }
    memory.quarantine(&draft, "many")?;
    drop(memory);
    let kept = refused(&Memory::open(&store)?);
    assert_eq!(kept.len(), REJECTED_MAX - 3);
    assert!(kept.iter().any(|one| one.name == evidence));
    assert!(kept.iter().all(|one| one.name != first));
    let told = kept.iter().find(|one| one.name == newest).unwrap();
    assert_eq!(
        told.reason,
        Some(format!("why; to make room, it dropped {first}"))
    );
    Ok(())
}

/// INVARIANT KEP-3: long texts weigh more than short ones.
#[test]
fn refused_texts_have_a_bounded_number_of_bytes() -> Result<()> {
    let memory = Memory::in_memory()?;
    let evidence = refuse(&memory, "quiet", "evidence", "why")?;
    // Each text is near the limit of a text, and weighs 15.
    let long = 14 * REJECTED_BYTES as usize + 512;
    for number in 0..80 {
        let mut draft = memory.draft(&by("loud"));
        draft.put(note("long", &format!("{number} {}", "x".repeat(long))))?;
        memory.quarantine(&draft, "why")?;
    }
    let kept = refused(&memory);
    assert!(
        kept.iter().any(|one| one.name == evidence),
        "it keeps the short text of another writer"
    );
    assert_eq!(kept.len(), 1 + (REJECTED_MAX - 1) / 15);
    Ok(())
}

/// INVARIANT KEP-3: a long text weighs as much at any place of a change.
#[test]
fn a_long_text_among_many_objects_is_counted() -> Result<()> {
    let memory = Memory::in_memory()?;
    let long = "x".repeat(14 * REJECTED_BYTES as usize + 512);
    for number in 0..80 {
        let mut draft = memory.draft(&by("loud"));
        for place in 0..300 {
            let text = if place == number { long.as_str() } else { "short" };
            draft.put(note(&format!("n/{place:03}"), text))?;
        }
        memory.quarantine(&draft, &format!("why {number}"))?;
    }
    assert_eq!(refused(&memory).len(), REJECTED_MAX / 15);
    Ok(())
}

fn refuse_many(memory: &Memory, session: &str, count: usize) -> Result<String> {
    let mut draft = memory.draft(&by(session));
    for number in 0..count {
        draft.put(note(&format!("{session}/{number}"), ""))?;
    }
    Ok(memory.quarantine(&draft, "many")?.unwrap())
}

#[test]
fn a_refused_change_that_weighs_more_than_all_the_room_empties_no_ring() -> Result<()> {
    // Tests KEP-2: each large change of a new writer may exceed the cap, but only one such change is kept.
    let memory = Memory::in_memory()?;
    for number in 0..REJECTED_MAX {
        refuse(&memory, &format!("quiet {number}"), "evidence", "why")?;
    }
    let names = || -> Vec<String> { refused(&memory).into_iter().map(|one| one.name).collect() };
    let quiet = names();
    let heavy = refuse_many(&memory, "heavy", 2_000)?;
    let with = |one: &str| {
        let mut all = quiet.clone();
        all.push(one.to_owned());
        all.sort();
        all
    };
    let sorted = || {
        let mut all = names();
        all.sort();
        all
    };
    assert_eq!(sorted(), with(&heavy));
    let heavier = refuse_many(&memory, "heavier", 3_000)?;
    assert_eq!(
        sorted(),
        with(&heavier),
        "the heaviest change must be replaced, whoever wrote it"
    );
    let light = refuse(&memory, "light", "x", "why")?;
    assert!(names().contains(&light) && !names().contains(&heavier) && names().len() == REJECTED_MAX);
    Ok(())
}

#[test]
fn refused_changes_that_an_older_build_let_go_without_a_record_are_there_again() -> Result<()> {
    // See docs/decisions/0015. The next refused change replaces the changes above the cap and records their names.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    refuse(&memory, "loud", "a", "why")?;
    let inner = &memory.inner;
    inner.write(|writing| {
        let store = inner.store();
        let first = store.references().iter().next().unwrap().reference.clone();
        let mut batch = BatchBuilder::new();
        for number in 0..REJECTED_MAX + 19 {
            let name = ReferenceName::of(ReferenceClass::Rejected, &format!("{}", 10_000 + number))?;
            let copy = Reference {
                name,
                ..Reference::clone(&first)
            };
            batch.add(RecordKind::Reference, 0, &copy.encode()?);
        }
        inner.write_references(writing, batch, Vec::new())
    })?;
    drop(memory);
    let memory = Memory::open(&store)?;
    assert_eq!(refused(&memory).len(), REJECTED_MAX + 20);
    let newest = refuse(&memory, "loud", "b", "why")?;
    drop(memory);
    let kept = refused(&Memory::open(&store)?);
    assert_eq!(kept.len(), REJECTED_MAX);
    assert!(kept.iter().any(|one| one.name == newest));
    Ok(())
}
