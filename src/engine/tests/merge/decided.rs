//! Who may decide about conflicts, what a decision closes, and which decisions outlive a collection.

use super::super::gc::{HOUR, on_disk, options, tight};
use super::*;
use crate::digest::to_hex;
use crate::engine::{Choice, Draft, Erasing, Options, PolicyVerdict, Selection, VerifyDepth, WritePolicy};
use crate::object::{Kind, Time};
use crate::testing::sim_disk::SimDisk;

/// Makes a memory and a fork that changed one object differently, both by a person.
fn conflicting() -> Result<(Memory, Memory)> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&fork, "a", "theirs");
    put(&memory, "a", "ours");
    Ok((memory, fork))
}

fn conflict_of(memory: &Memory, name: &str) -> Id {
    let key = memory.view().key(&id(name));
    id(&format!("merge-conflict/{}", to_hex(key.as_bytes())))
}

/// INVARIANT MSD-1: a strategy, a function and a decision drop nothing that is more trusted than their writer.
#[test]
fn who_is_less_trusted_than_a_side_does_not_drop_it() -> Result<()> {
    let (model, user) = (Writer::model("worker"), Writer::user());
    for strategy in [Strategy::Ours, Strategy::Theirs, Strategy::Newer] {
        let (memory, _) = conflicting()?;
        let left = memory.merge("task").strategy(strategy).by(&model)?;
        assert_eq!(open(&left).len(), 1, "{strategy:?}");
        let (memory, _) = conflicting()?;
        let decided = memory.merge("task").strategy(strategy).by(&user)?;
        assert_eq!(open(&decided), [], "{strategy:?}");
    }
    let (memory, fork) = conflicting()?;
    let other = |_: &crate::engine::Conflicting<'_>| Choice::Put(Box::new(note("a", "both")));
    assert_eq!(open(&memory.merge("task").choose(other).by(&model)?).len(), 1);
    for resolution in [
        Resolution::Take(version(&fork.view(), "a")),
        Resolution::Remove,
        Resolution::Content("by the model".to_owned()),
    ] {
        let refused = memory.resolve_conflict(&id("a"), resolution, &model).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::LessTrusted);
    }
    memory.resolve_conflict(&id("a"), Resolution::Content("done".to_owned()), &user)?;
    assert!(memory.conflicts()?.is_empty());
    Ok(())
}

#[test]
fn a_function_puts_only_the_object_that_is_asked_about_and_trusts_nobody_more() -> Result<()> {
    let (memory, _) = conflicting()?;
    let other = |_: &crate::engine::Conflicting<'_>| Choice::Put(Box::new(note("b", "both")));
    let refused = memory
        .merge("task")
        .choose(other)
        .by(&Writer::user())
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    let memory = Memory::in_memory()?;
    put_by(&memory, "a", "first", Origin::Import);
    let fork = forked(&memory, "task");
    put_by(&fork, "a", "theirs", Origin::Import);
    put_by(&memory, "a", "ours", Origin::Document);
    let both = |_: &crate::engine::Conflicting<'_>| Choice::Put(Box::new(note("a", "both")));
    drop(memory.merge("task").choose(both).by(&Writer::user())?);
    let object = memory.view().get(&id("a"))?.unwrap();
    assert_eq!(object.content(), Some("both"));
    assert!(!object.origin().is_trusted());
    Ok(())
}

/// Nobody below a host makes, hides or closes a conflict except by a merge and a decision.
#[test]
fn the_place_of_a_conflict_is_kept_for_merges() -> Result<()> {
    let (memory, _) = conflicting()?;
    drop(merged(&memory, "task"));
    let (conflict, model) = (conflict_of(&memory, "a"), Writer::model("worker"));
    let refused = memory.remove(&conflict, &model).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::LessTrusted);
    let plain = NewObject::new(conflict.clone(), Kind::new("note")?);
    assert_eq!(
        memory.put(plain, &model).unwrap_err().code(),
        ErrorCode::LessTrusted
    );
    let mut fake = note("fake", "x");
    fake.kind = Kind::new("merge-conflict")?;
    let refused = memory.put(fake, &Writer::user()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ReservedKind);
    // A new text by hand is no decision about the versions of the conflict.
    put(&memory, "a", "by hand");
    assert_eq!(memory.conflicts()?.len(), 1);
    // What somebody put below it goes with it.
    put_below(&memory, "below", conflict.as_str());
    memory.resolve_conflict(&id("a"), Resolution::Content("done".to_owned()), &Writer::user())?;
    assert!(memory.conflicts()?.is_empty());
    assert!(!memory.view().contains(&id("below"))? && !memory.view().contains(&conflict)?);
    Ok(())
}

#[test]
fn a_decision_drops_a_later_version_only_if_it_is_named() -> Result<()> {
    let (user, take) = (Writer::user(), Resolution::Take);
    let later = || -> Result<(Memory, ObjectDigest)> {
        let (memory, fork) = conflicting()?;
        drop(merged(&memory, "task"));
        assert!(memory.conflicts()?[0].present.is_none());
        put(&memory, "a", "corrected");
        Ok((memory, version(&fork.view(), "a")))
    };
    let present = |memory: &Memory| {
        memory
            .conflicts()
            .map(|open| open[0].present.clone().unwrap().version)
    };
    let over = |memory: &Memory, present: Option<ObjectDigest>, resolution: Resolution| {
        let mut draft = memory.draft(&user);
        draft.expect(&id("a"), present);
        draft.resolve_conflict(&id("a"), None, resolution)?;
        memory.commit(draft, "resolve")
    };
    let (memory, side) = later()?;
    let corrected = version(&memory.view(), "a");
    assert_eq!(present(&memory)?, Some(corrected));
    for resolution in [take(side), Resolution::Remove] {
        let refused = memory
            .resolve_conflict(&id("a"), resolution.clone(), &user)
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Changed);
        let other = over(&memory, Some(side), resolution);
        assert_eq!(other.unwrap_err().kind(), ErrorKind::Conflict);
    }
    over(&memory, Some(corrected), take(side))?;
    assert_eq!(text(&memory, "a").as_deref(), Some("theirs"));
    let (memory, _) = later()?;
    memory.resolve_conflict(&id("a"), take(version(&memory.view(), "a")), &user)?;
    assert_eq!(text(&memory, "a").as_deref(), Some("corrected"));
    assert!(memory.conflicts()?.is_empty());
    let (memory, side) = later()?;
    remove(&memory, "a");
    assert_eq!(present(&memory)?, None);
    let refused = memory.resolve_conflict(&id("a"), take(side), &user).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Changed);
    over(&memory, None, take(side))?;
    assert_eq!(text(&memory, "a").as_deref(), Some("theirs"));
    Ok(())
}

/// While a conflict is open, a merge may show a version that is none of the sides. It does not count as a later one.
#[test]
fn a_version_that_the_merge_made_can_be_taken_or_dropped() -> Result<()> {
    for takes in [true, false] {
        let (memory, fork) = conflicting()?;
        for (line, words) in [(&memory, "ours"), (&fork, "theirs")] {
            let mut object = note("a", words);
            object.attributes.insert(words, 3_i64);
            line.put(object, &Writer::user())?;
        }
        drop(merged(&memory, "task"));
        let shown = version(&memory.view(), "a");
        let conflict = memory.conflicts()?.remove(0);
        assert_eq!(conflict.present.unwrap().version, Some(shown));
        let side = conflict.sides[0].version.unwrap();
        let taken = if takes { shown } else { side };
        memory.resolve_conflict(&id("a"), Resolution::Take(taken), &Writer::user())?;
        assert_eq!(version(&memory.view(), "a"), taken);
    }
    Ok(())
}

/// INVARIANT CFL-1: an object that names versions of another object, or trusts itself more than them, is no conflict.
#[test]
fn an_object_that_breaks_the_rules_of_conflicts_is_none() -> Result<()> {
    let (memory, _) = conflicting()?;
    put_by(&memory, "b", "other", Origin::Model);
    drop(merged(&memory, "task"));
    let real = memory.view().get(&conflict_of(&memory, "a"))?.unwrap().to_new()?;
    let other = version(&memory.view(), "b");
    let mut forged = real.clone();
    forged.attributes.insert("base", other.to_string());
    let sides = memory.conflicts()?.remove(0).sides;
    forged.derived_from = sides
        .iter()
        .filter_map(|side| side.version)
        .chain([other])
        .collect();
    drop(memory.put(forged, &Writer::user())?);
    assert!(
        memory.view().conflict(&id("a"))?.is_none(),
        "a version of another object"
    );
    let mut forged = real.clone();
    forged.derived_from.pop();
    drop(memory.put(forged, &Writer::user())?);
    assert!(
        memory.view().conflict(&id("a"))?.is_none(),
        "a version that it does not keep"
    );
    drop(memory.put(real, &Writer::user())?);
    assert!(memory.view().conflict(&id("a"))?.is_some());
    Ok(())
}

#[test]
fn a_later_decision_closes_an_earlier_conflict() -> Result<()> {
    let (memory, fork) = conflicting()?;
    assert_eq!(open(&merged(&memory, "task")).len(), 1);
    put(&fork, "a", "theirs again");
    put(&memory, "a", "ours again");
    let decided = memory
        .merge("task")
        .strategy(Strategy::Theirs)
        .by(&Writer::user())?;
    assert_eq!(open(&decided), []);
    assert!(memory.conflicts()?.is_empty());
    assert_eq!(text(&memory, "a").as_deref(), Some("theirs again"));
    // So does one that their side left open and brings along.
    let (memory, fork) = conflicting()?;
    assert_eq!(open(&merged(&fork, "main")).len(), 1);
    put(&fork, "a", "theirs again");
    put(&memory, "a", "ours again");
    let decided = memory
        .merge("task")
        .strategy(Strategy::Theirs)
        .by(&Writer::user())?;
    assert_eq!((open(&decided), memory.conflicts()?.len()), (Vec::new(), 0));
    Ok(())
}

/// A removal is a side, too: who is less trusted than the conflict does not drop it.
#[test]
fn who_is_less_trusted_does_not_drop_a_removal() -> Result<()> {
    let memory = Memory::in_memory()?;
    put_by(&memory, "a", "first", Origin::Model);
    let fork = forked(&memory, "task");
    fork.remove(&id("a"), &Writer::model("worker"))?;
    put_by(&memory, "a", "second", Origin::Model);
    assert_eq!(open(&merged(&memory, "task")).len(), 1);
    let (shown, stranger) = (version(&memory.view(), "a"), Writer::of(Origin::Import));
    let refused = memory.resolve_conflict(&id("a"), Resolution::Take(shown), &stranger);
    assert_eq!(refused.unwrap_err().code(), ErrorCode::LessTrusted);
    memory.resolve_conflict(&id("a"), Resolution::Take(shown), &Writer::model("boss"))?;
    Ok(())
}

/// A removal has its author, also if it came through a fork that never had the object.
#[test]
fn a_removal_through_a_fork_that_never_had_the_object_is_no_conflict() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "other", "1");
    let (one, two) = (forked(&memory, "one"), forked(&memory, "two"));
    put(&memory, "a", "first");
    merged(&one, "main");
    one.remove(&id("a"), &Writer::user())?;
    merged(&two, "one");
    assert!(open(&merged(&memory, "two")).is_empty());
    assert!(memory.view().get(&id("a"))?.is_none());
    Ok(())
}

/// The names of the attributes in a conflict go with the object.
#[test]
fn an_erasure_takes_the_conflict_about_the_object_with_it() -> Result<()> {
    let disk = SimDisk::new(11);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let with = |memory: &Memory, value: &str| {
        let mut object = NewObject::new(id("a"), Kind::new("note").unwrap());
        drop(object.attributes.insert("SECRETxyzzy", value));
        memory.put(object, &Writer::user()).unwrap();
    };
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    with(&fork, "theirs");
    with(&memory, "ours");
    assert_eq!(open(&merged(&memory, "task")).len(), 1);
    let holds = || {
        let files = disk.files();
        let mut files = files.values();
        files.any(|bytes| bytes.windows(11).any(|bytes| bytes == b"SECRETxyzzy"))
    };
    assert!(holds());
    let targets = vec!["a".to_owned()];
    let erasing = Erasing {
        targets,
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    assert!(!holds());
    assert!(memory.conflicts()?.is_empty());
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

/// INVARIANT WBY-1: a version that a draft wrote belongs to who committed the draft, whoever brought it back, and on a fork.
#[test]
fn a_version_of_a_draft_belongs_to_who_committed_it() -> Result<()> {
    let session_of = |memory: &Memory| -> Result<Option<String>> {
        let writer = memory.view().writer_of(&id("a"))?;
        Ok(writer.and_then(|writer| writer.commit.session))
    };
    let release = |memory: &Memory| -> Result<()> {
        let mut draft = memory.draft(&by("author"));
        draft.put(note("a", "kept for review"))?;
        memory.save_draft(&draft, "plan")?;
        let draft = memory.open_draft("drafts/plan", &by("vera"))?;
        memory.commit(draft, "put").map(drop)
    };
    let memory = Memory::in_memory()?;
    put(&memory, "other", "x");
    let before = memory.view().commit().digest;
    release(&memory)?;
    let after = memory.view().commit().digest;
    for to in [before, after] {
        drop(memory.rollback(to).across_lanes().by(&by("carol"))?);
    }
    assert_eq!(session_of(&memory)?.as_deref(), Some("vera"));
    let memory = Memory::in_memory()?;
    put(&memory, "other", "x");
    let fork = forked(&memory, "task");
    release(&fork)?;
    drop(memory.merge("task").by(&by("boss"))?);
    assert_eq!(session_of(&memory)?.as_deref(), Some("vera"));
    Ok(())
}

/// Times from which on versions of different classes are hidden are a conflict, too.
#[test]
fn a_less_trusted_side_hides_nothing() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let fork = memory.fork("task").trust_cap(Origin::Model).by(&Writer::user())?;
    let mut hidden = note("a", "first");
    hidden.expires = Some(Time::from_micros(1));
    drop(fork.put(hidden, &Writer::user())?);
    assert_eq!(
        open(&merged(&memory, "task")),
        [("a".to_owned(), vec!["expires".to_owned()])]
    );
    assert_eq!(text(&memory, "a").as_deref(), Some("first"));
    Ok(())
}

fn by(session: &str) -> Writer {
    Writer::user().session(session)
}

#[test]
fn a_revert_with_what_is_derived_takes_back_a_version_that_a_merge_made() -> Result<()> {
    let memory = Memory::in_memory()?;
    drop(memory.put(note("a", "one\ntwo\nthree"), &by("boss"))?);
    let fork = forked(&memory, "task");
    drop(fork.put(note("a", "one\ntwo\n3"), &by("worker"))?);
    drop(memory.put(note("a", "1\ntwo\nthree"), &by("boss"))?);
    drop(memory.merge("task").by(&by("boss"))?);
    assert_eq!(text(&memory, "a").as_deref(), Some("1\ntwo\n3"));
    let revert = || memory.revert(Selection::default().session("worker"));
    assert!(revert().preview(&by("boss"))?.reverted.is_empty());
    drop(revert().with_derived().by(&by("boss"))?);
    assert_eq!(text(&memory, "a").as_deref(), Some("1\ntwo\nthree"));
    Ok(())
}

/// Rule 13: the check for other lanes enters what merges brought.
#[test]
fn a_rollback_over_a_merge_names_the_lanes_that_it_brought() -> Result<()> {
    let memory = Memory::in_memory()?;
    drop(memory.put(note("a", "first"), &by("boss"))?);
    let fork = forked(&memory, "task");
    drop(fork.put(note("b", "early"), &by("earlier"))?);
    drop(memory.merge("task").by(&by("boss"))?);
    drop(fork.put(note("b", "late"), &by("worker"))?);
    let before = memory.view().commit().digest;
    drop(memory.merge("task").by(&by("boss"))?);
    let refused = memory.rollback(before).by(&by("boss")).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::OtherLanes);
    assert_eq!(
        refused.ids(),
        ["worker"],
        "an earlier merge brought the other one"
    );
    drop(memory.rollback(before).across_lanes().by(&by("boss"))?);
    assert_eq!(text(&memory, "b").as_deref(), Some("early"));
    Ok(())
}

/// A fork of a fork shares the commits of the first fork with it, and not only those of the main line.
#[test]
fn lines_below_each_other_share_the_newest_commit() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let outer = forked(&memory, "outer");
    put(&outer, "a", "by outer");
    let inner = forked(&outer, "inner");
    put(&inner, "b", "by inner");
    put(&outer, "c", "by outer");
    for (into, from) in [(&inner, "outer"), (&outer, "inner")] {
        let preview = into.merge(from).again().preview(&Writer::user())?;
        assert_eq!((preview.counts.added, preview.counts.changed), (1, 0), "{from}");
    }
    // A line that only begins in a fork did not merge it.
    drop(forked(&outer, "on-top"));
    let refused = memory.drop_fork("outer", false, &Writer::user()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Unmerged);
    Ok(())
}

/// INVARIANT REL-1: which merges count is known after a collection, too.
#[test]
fn an_undone_merge_stays_undone_after_a_collection() -> Result<()> {
    for how in [
        "undo",
        "redo",
        "rollback",
        "undone rollback",
        "rollback over the undo",
    ] {
        let disk = SimDisk::new(6);
        let memory = on_disk(&disk, options(HOUR), true)?;
        let boss = by("boss");
        drop(memory.put(note("a", "first"), &boss)?);
        let before = memory.view().commit().digest;
        let fork = memory.fork("task").by(&boss)?;
        drop(fork.put(note("a", "second"), &boss)?);
        drop(memory.merge("task").by(&boss)?);
        let merge = memory.view().commit().digest;
        match how {
            "rollback" | "undone rollback" => drop(memory.rollback(before).across_lanes().by(&boss)?),
            _ => drop(memory.undo(&boss)?),
        }
        let stands = ["redo", "undone rollback", "rollback over the undo"].contains(&how);
        match how {
            "redo" => drop(memory.redo(&boss)?),
            "undone rollback" => drop(memory.undo(&boss)?),
            "rollback over the undo" => drop(memory.rollback(merge).across_lanes().by(&boss)?),
            _ => {}
        }
        if stands {
            assert_eq!(text(&memory, "a").as_deref(), Some("second"), "{how}");
            drop(memory.put(note("a", "third"), &boss)?);
        }
        for number in 0..40 {
            put(&memory, "later", &format!("{number}"));
        }
        memory.gc(&tight(), None)?;
        drop((memory, fork));
        let memory = on_disk(&disk, options(HOUR), false)?;
        assert!(memory.verify(VerifyDepth::Full)?.ok);
        let again = merged(&memory, "task");
        let expected = if stands { "third" } else { "second" };
        assert_eq!(text(&memory, "a").as_deref(), Some(expected), "{how}");
        assert_eq!(again.committed.changed, !stands, "{how}");
    }
    Ok(())
}

/// Puts another object into each draft.
struct Adds;

impl WritePolicy for Adds {
    fn review(&self, draft: &Draft) -> PolicyVerdict {
        if draft.changes().len() == 1 {
            return PolicyVerdict::Accept;
        }
        PolicyVerdict::Replace(vec![note("b", "by the policy"), note("c", "by the policy")])
    }
}

#[test]
fn the_answer_counts_what_the_policy_put() -> Result<()> {
    let memory = on_disk(
        &SimDisk::new(7),
        Options::default().policy(std::sync::Arc::new(Adds)),
        true,
    )?;
    let fork = forked(&memory, "task");
    put(&fork, "a", "x");
    drop(memory.merge("task").by(&Writer::user())?);
    put(&fork, "d", "x");
    put(&memory, "b", "old");
    put(&fork, "b", "x");
    let result = memory
        .merge("task")
        .strategy(Strategy::Theirs)
        .by(&Writer::user())?;
    assert_eq!((result.counts.added, result.counts.changed), (2, 1));
    assert_eq!(text(&memory, "b").as_deref(), Some("by the policy"));
    Ok(())
}

/// INVARIANT MCL-1: two new objects that supersede one are a conflict, whichever side merges.
#[test]
fn two_new_objects_that_supersede_one_are_a_conflict() -> Result<()> {
    let superseding = |name: &str, old: &str| {
        let mut object = note(name, name);
        object
            .attributes
            .insert("supersedes", crate::object::Value::List(vec![old.into()]));
        object
    };
    let (memory, user) = (Memory::in_memory()?, Writer::user());
    put(&memory, "old", "x");
    put(&memory, "other", "x");
    let fork = forked(&memory, "task");
    drop(fork.put(superseding("left", "old"), &user)?);
    drop(fork.put(superseding("alone", "other"), &user)?);
    drop(memory.put(superseding("right", "old"), &user)?);
    let there = forked(&fork, "there");
    let loser = ["left", "right"]
        .into_iter()
        .max_by_key(|name| memory.view().key(&id(name)))
        .unwrap();
    for (into, from) in [(&memory, "task"), (&there, "main")] {
        let result = merged(into, from);
        assert_eq!(
            open(&result),
            [(loser.to_owned(), vec!["attr:supersedes".to_owned()])]
        );
    }
    assert_eq!(memory.view().root(), there.view().root());
    // A strategy chooses between versions of one object, so it leaves this open.
    let third = forked(&fork, "third");
    let left = third.merge("there").strategy(Strategy::Ours).by(&user)?;
    assert_eq!(open(&left).len(), 1);
    // Both stay until somebody decides, and nothing comes twice.
    assert!(text(&memory, "left").is_some() && text(&memory, "right").is_some());
    memory.resolve_conflict(&id(loser), Resolution::Remove, &user)?;
    assert!(!merged(&memory, "task").committed.changed);
    assert_eq!((text(&memory, loser), memory.conflicts()?.len()), (None, 0));
    Ok(())
}

/// INVARIANT MGR-1: a merge that their side undid does not take our work away.
#[test]
fn a_merge_that_the_other_side_undid_counts_as_not_made() -> Result<()> {
    let (memory, user) = (Memory::in_memory()?, Writer::user());
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&memory, "a", "second");
    put(&fork, "b", "by the fork");
    drop(merged(&fork, "main"));
    drop(fork.undo(&user)?);
    assert_eq!(text(&fork, "a").as_deref(), Some("first"));
    drop(merged(&memory, "task"));
    assert_eq!(text(&memory, "a").as_deref(), Some("second"));
    assert_eq!(text(&memory, "b").as_deref(), Some("by the fork"));
    Ok(())
}

/// INVARIANT MSD-2: whichever side merges, the same version is made or shown.
#[test]
fn whichever_side_merges_the_version_is_the_same() -> Result<()> {
    let both_ways = |base: &str, ours: (&str, Origin), theirs: (&str, Origin)| -> Result<_> {
        let memory = Memory::in_memory()?;
        put_by(&memory, "a", base, Origin::Import);
        let fork = forked(&memory, "task");
        put_by(&memory, "a", ours.0, ours.1);
        put_by(&fork, "a", theirs.0, theirs.1);
        let (there, before) = (forked(&fork, "there"), forked(&memory, "before"));
        drop((merged(&memory, "task"), merged(&there, "before"), before));
        assert_eq!(memory.view().root(), there.view().root());
        Ok(memory.view().get(&id("a"))?.unwrap())
    };
    let (one, other) = (("1\ntwo", Origin::Import), ("one\n2", Origin::Document));
    let made = both_ways("one\nx\ntwo", ("1\nx\ntwo", one.1), ("one\nx\n2", other.1))?;
    assert_eq!(made.content(), Some("1\nx\n2"));
    for texts in [("x", "y"), ("y", "x")] {
        let shown = both_ways("base", (texts.0, Origin::Import), (texts.1, Origin::Import))?;
        assert!(["x", "y"].contains(&shown.content().unwrap()));
    }
    Ok(())
}

/// INVARIANT MSD-1: who merges lends no trust to the removal of another.
#[test]
fn a_removal_behind_a_merge_is_as_trusted_as_who_removed() -> Result<()> {
    let (memory, model) = (Memory::in_memory()?, Writer::model("worker"));
    put_by(&memory, "a", "first", Origin::Model);
    let fork = forked(&memory, "task");
    let below = forked(&fork, "below");
    below.remove(&id("a"), &model)?;
    drop(merged(&fork, "below"));
    assert_eq!(text(&fork, "a"), None);
    put_by(&memory, "a", "second", Origin::Model);
    assert_eq!(
        open(&merged(&memory, "task")),
        [("a".to_owned(), vec!["removed".to_owned()])]
    );
    assert_eq!(text(&memory, "a").as_deref(), Some("second"));
    Ok(())
}
