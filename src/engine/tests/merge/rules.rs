//! The rules of trust, of undone merges, of several bases, of erasure and of the policy.

use std::sync::{Arc, Mutex};

use super::super::gc::{HOUR, on_disk, options, tight};
use super::*;
use crate::engine::{Draft, Erasing, Options, PolicyVerdict, VerifyDepth, WritePolicy};
use crate::object::Value;
use crate::testing::sim_disk::SimDisk;

/// MSD-1: what is less trusted takes no place, and removes nothing.
#[test]
fn a_less_trusted_side_replaces_and_removes_nothing_by_itself() -> Result<()> {
    let memory = Memory::in_memory()?;
    for name in ["changed", "removed", "by-both"] {
        put(&memory, name, "by the user");
    }
    let fork = memory.fork("task").trust_cap(Origin::Model).by(&Writer::user())?;
    put(&fork, "changed", "by the model");
    remove(&fork, "removed");
    put(&fork, "by-both", "by the model");
    put(&memory, "by-both", "by the user again");
    put(&fork, "new", "by the model");
    let result = merged(&memory, "task");
    let fields = |field: &str| vec![field.to_owned()];
    assert_eq!(
        open(&result),
        [
            ("by-both".to_owned(), fields("content")),
            ("changed".to_owned(), fields("content")),
            ("removed".to_owned(), fields("removed")),
        ]
    );
    assert_eq!(text(&memory, "changed").as_deref(), Some("by the user"));
    assert_eq!(text(&memory, "removed").as_deref(), Some("by the user"));
    assert_eq!(text(&memory, "by-both").as_deref(), Some("by the user again"));
    let new = memory.view().get(&id("new"))?.unwrap();
    assert_eq!(new.origin(), Origin::Model);
    // INVARIANT CFL-1: a conflict is no more trusted than any version that it names.
    let query = crate::Query::default().kind(crate::Kind::new("merge-conflict")?);
    let mut classes = Vec::new();
    for object in memory.view().query(&query)? {
        classes.push(object?.origin());
    }
    classes.sort_unstable_by_key(|class| class.distrust());
    assert_eq!(classes, [Origin::DirectUser, Origin::Model, Origin::Model]);
    // A person may decide for the model, and the version stays that of the model.
    let theirs = version(&fork.view(), "changed");
    memory.resolve_conflict(&id("changed"), Resolution::Take(theirs), &Writer::user())?;
    let taken = memory.view().get(&id("changed"))?.unwrap();
    assert_eq!(
        (taken.content(), taken.origin()),
        (Some("by the model"), Origin::Model)
    );
    Ok(())
}

#[test]
fn a_more_trusted_removal_wins_and_a_merged_version_is_as_trusted_as_both() -> Result<()> {
    let memory = Memory::in_memory()?;
    put_by(&memory, "a", "first", Origin::Model);
    put_by(&memory, "b", "one\ntwo\nthree", Origin::Import);
    let fork = forked(&memory, "task");
    remove(&memory, "a");
    put_by(&fork, "a", "second", Origin::Model);
    put_by(&fork, "b", "1\ntwo\nthree", Origin::Import);
    put_by(&memory, "b", "one\ntwo\n3", Origin::Document);
    let (ours, theirs) = (version(&memory.view(), "b"), version(&fork.view(), "b"));
    let result = merged(&memory, "task");
    assert_eq!(open(&result), []);
    assert_eq!(text(&memory, "a"), None);
    let both = memory.view().get(&id("b"))?.unwrap();
    assert_eq!(both.content(), Some("1\ntwo\n3"));
    assert!(!both.origin().is_trusted());
    let sources: Vec<_> = both.derived_from().collect();
    assert!(sources.contains(&ours) && sources.contains(&theirs));
    assert_eq!(open(&merged(&fork, "main")), []);
    assert_eq!(fork.view().root(), memory.view().root());
    Ok(())
}

#[test]
fn an_untrusted_writer_merges_nothing_over_what_is_trusted() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&fork, "a", "second");
    let (root, stranger) = (memory.view().root(), Writer::of(Origin::Import));
    let refused = memory.merge("task").by(&stranger).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::LessTrusted);
    let refused = memory.merge("task").preview(&stranger).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::LessTrusted);
    assert_eq!(memory.view().root(), root);
    Ok(())
}

/// Rule 10: the class alone is no difference.
#[test]
fn the_same_text_of_two_classes_is_no_conflict() -> Result<()> {
    let memory = Memory::in_memory()?;
    let fork = forked(&memory, "task");
    put_by(&memory, "a", "same", Origin::DirectUser);
    put_by(&fork, "a", "same", Origin::Import);
    put_by(&memory, "b", "same", Origin::Import);
    put_by(&fork, "b", "same", Origin::DirectUser);
    assert_eq!(open(&merged(&memory, "task")), []);
    for name in ["a", "b"] {
        let object = memory.view().get(&id(name))?.unwrap();
        assert_eq!(object.origin(), Origin::DirectUser, "{name}");
    }
    Ok(())
}

/// MGR-1 (rule 8): an undone merge counts as not made.
#[test]
fn a_merge_that_was_taken_back_can_be_made_again() -> Result<()> {
    let user = Writer::user();
    for how in ["undo", "rollback"] {
        let memory = Memory::in_memory()?;
        put(&memory, "a", "first");
        let fork = forked(&memory, "task");
        put(&fork, "a", "second");
        drop(merged(&memory, "task"));
        if how == "undo" {
            drop(memory.undo(&user)?);
        } else {
            drop(memory.rollback("@-1").across_lanes().by(&user)?);
        }
        assert_eq!(text(&memory, "a").as_deref(), Some("first"), "{how}");
        let unmerged = memory.drop_fork("task", false, &user).unwrap_err();
        assert_eq!(unmerged.code(), ErrorCode::Unmerged, "{how}");
        put(&fork, "b", "more");
        assert!(merged(&memory, "task").committed.changed, "{how}");
        assert_eq!(text(&memory, "a").as_deref(), Some("second"), "{how}");
        assert_eq!(text(&memory, "b").as_deref(), Some("more"), "{how}");
    }
    // A redo makes it count again, and so what main changes afterwards stays.
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let fork = forked(&memory, "task");
    put(&fork, "a", "second");
    drop(merged(&memory, "task"));
    memory.undo(&user)?;
    memory.redo(&user)?;
    assert!(!merged(&memory, "task").committed.changed);
    put(&memory, "a", "third");
    put(&fork, "b", "more");
    assert_eq!(open(&merged(&memory, "task")), []);
    assert_eq!(text(&memory, "a").as_deref(), Some("third"));
    // `again` compares with the moment at which the lines parted.
    let again = memory.merge("task").again().by(&user)?;
    assert_eq!(open(&again).len(), 1, "both changed it since");
    Ok(())
}

#[test]
fn lines_that_merged_each_other_are_compared_with_both_bases() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    put(&memory, "b", "first");
    let fork = forked(&memory, "task");
    put(&memory, "a", "by main");
    put(&fork, "b", "by the fork");
    // Each side merges what the other one had before its own merge.
    let before = forked(&memory, "before");
    drop((merged(&memory, "task"), merged(&fork, "before")));
    drop(before);
    assert_eq!(memory.view().root(), fork.view().root());
    // Each of the two bases lacks what one side had changed, and together they have both.
    put(&memory, "a", "by main again");
    put(&fork, "b", "by the fork again");
    assert_eq!(open(&merged(&memory, "task")), []);
    assert_eq!(text(&memory, "a").as_deref(), Some("by main again"));
    assert_eq!(text(&memory, "b").as_deref(), Some("by the fork again"));
    Ok(())
}

/// CFL-2: two conflicts about one object are one.
#[test]
fn a_conflict_that_comes_again_names_all_versions() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let (one, two) = (forked(&memory, "one"), forked(&memory, "two"));
    put(&one, "a", "by one");
    put(&two, "a", "by two");
    put(&memory, "a", "by main");
    drop((merged(&memory, "one"), merged(&memory, "two")));
    let conflicts = memory.conflicts()?;
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].sides.len(), 3);
    // Lines with different conflicts about one object have one afterwards.
    let (left, right) = (forked(&two, "left"), forked(&one, "right"));
    drop((merged(&left, "one"), merged(&right, "two")));
    put(&right, "a", "by right");
    drop(merged(&right, "main"));
    assert_eq!(right.conflicts()?.len(), 1);
    // What one line decided is decided in the other.
    memory.resolve_conflict(&id("a"), Resolution::Content("done".to_owned()), &Writer::user())?;
    let other = forked(&memory, "other");
    put(&other, "b", "x");
    assert_eq!(open(&merged(&memory, "other")), []);
    assert!(memory.conflicts()?.is_empty());
    Ok(())
}

#[test]
fn what_was_erased_stays_erased_unless_it_was_put_again() -> Result<()> {
    let disk = SimDisk::new(3);
    let memory = on_disk(&disk, options(HOUR), true)?;
    for name in ["a", "b", "c"] {
        put(&memory, name, "a secret");
    }
    let fork = forked(&memory, "task");
    put(&fork, "a", "another secret");
    put(&fork, "c", "another secret");
    let erasing = Erasing {
        targets: vec!["a".to_owned(), "b".to_owned()],
        everywhere: true,
        derived: false,
    };
    memory.erase(&erasing, &Writer::user())?;
    put(&fork, "b", "put again");
    let result = merged(&memory, "task");
    assert_eq!(open(&result), []);
    assert_eq!(text(&memory, "b").as_deref(), Some("put again"));
    assert_eq!(text(&memory, "c").as_deref(), Some("another secret"));
    assert!(memory.view().get(&id("a")).is_err() || text(&memory, "a").is_none());
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

/// A merge survives reopening, a collection of all that may go, and the end of its fork.
#[test]
fn a_merge_outlives_the_process_and_a_collection() -> Result<()> {
    let disk = SimDisk::new(4);
    let memory = on_disk(&disk, options(HOUR), true)?;
    for number in 0..20 {
        put(&memory, &format!("o/{}", number % 7), &format!("main {number}"));
    }
    let fork = forked(&memory, "task");
    put(&fork, "o/1", "by the fork");
    put(&memory, "o/1", "by main");
    put(&fork, "o/2", "by the fork");
    drop(merged(&memory, "task"));
    put(&fork, "later", "by the fork");
    for number in 0..30 {
        put(&memory, "later-here", &format!("by main {number}"));
    }
    let (root, conflicts) = (memory.view().root(), memory.conflicts()?.len());
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    memory.gc(&tight(), None)?;
    assert_eq!(memory.view().root(), root);
    drop((memory, fork));
    let memory = on_disk(&disk, options(HOUR), false)?;
    assert_eq!(memory.view().root(), root);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    assert_eq!(memory.conflicts()?.len(), conflicts);
    let sides = memory.conflicts()?[0].sides.clone();
    assert!(sides.iter().all(|side| side.trust.is_some()), "CFL-1");
    // INVARIANT REL-1: the merge is still the base, so the open conflict does not come again.
    let merges = memory
        .commits()
        .filter(|commit| commit.as_ref().unwrap().commit.op.as_str() == "merge");
    assert_eq!((merges.count(), memory.commits().count() < 40), (1, true));
    let result = merged(&memory, "task");
    assert_eq!(result.counts.added, 1);
    assert_eq!(result.counts.changed, 0);
    Ok(())
}

/// Counts the changes of each draft, and refuses a draft with a certain id.
struct Judge(Mutex<Vec<usize>>, Mutex<Option<String>>);

impl WritePolicy for Judge {
    fn review(&self, draft: &Draft) -> PolicyVerdict {
        self.0.lock().unwrap().push(draft.changes().len());
        let mut changes = draft.changes().into_iter();
        let bad = self.1.lock().unwrap().clone();
        match changes.find(|change| Some(change.id.as_str()) == bad.as_deref()) {
            Some(_) => PolicyVerdict::Quarantine("bad".to_owned()),
            None => PolicyVerdict::Accept,
        }
    }
}

/// MRG-1: the policy sees the merge whole, and refuses it whole.
#[test]
fn the_policy_sees_a_merge_as_one_draft() -> Result<()> {
    let judge = Arc::new(Judge(Mutex::default(), Mutex::default()));
    let judged = Options::default().policy(Arc::clone(&judge) as Arc<dyn WritePolicy>);
    let memory = on_disk(&SimDisk::new(5), judged, true)?;
    let fork = forked(&memory, "task");
    put(&fork, "a", "x");
    put(&fork, "b", "x");
    judge.0.lock().unwrap().clear();
    drop(merged(&memory, "task"));
    assert_eq!(*judge.0.lock().unwrap(), [2]);
    // What is refused is kept for a person, and nothing of it is in the memory.
    put(&fork, "c", "x");
    put(&fork, "d", "x");
    judge.0.lock().unwrap().clear();
    *judge.1.lock().unwrap() = Some("c".to_owned());
    let root = memory.view().root();
    let refused = memory.merge("task").by(&Writer::user()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Quarantined);
    assert_eq!(memory.view().root(), root);
    let kept = memory.references().into_iter();
    let kept: Vec<_> = kept.filter(|kept| kept.name.starts_with("rejected/")).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        memory.open_draft(&kept[0].name, &Writer::user())?.changes().len(),
        2
    );
    Ok(())
}

#[test]
fn fields_and_attributes_of_both_sides_are_kept() -> Result<()> {
    let memory = Memory::in_memory()?;
    let tags = |names: &[&str]| Value::List(names.iter().map(|name| Value::from(*name)).collect());
    let mut object = note("a", "text");
    object.attributes.insert("tags", tags(&["one"]));
    let put_tags = |memory: &Memory, names: &[&str], extra: Option<&str>| {
        let mut object = object.clone();
        object.attributes.insert("tags", tags(names));
        if let Some(extra) = extra {
            object.attributes.insert(extra, true);
        }
        drop(memory.put(object, &Writer::user()).unwrap());
    };
    put_tags(&memory, &["one"], None);
    let fork = forked(&memory, "task");
    put_tags(&fork, &["one", "two"], Some("there"));
    put_tags(&memory, &["one", "three"], Some("here"));
    assert_eq!(open(&merged(&memory, "task")), []);
    let object = memory.view().get(&id("a"))?.unwrap();
    assert_eq!(object.attribute("tags"), Some(tags(&["one", "three", "two"])));
    assert!(object.attribute("here").is_some() && object.attribute("there").is_some());
    Ok(())
}

#[test]
fn an_object_that_only_looks_like_a_conflict_is_none() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let key = memory.view().key(&id("a"));
    let name = format!("merge-conflict/{}", crate::digest::to_hex(key.as_bytes()));
    let mut forged = NewObject::new(id(&name), crate::Kind::new("merge-conflict")?);
    forged.attributes.insert("of", "b");
    drop(memory.put(forged, &Writer::user())?);
    assert!(memory.view().conflict(&id("a"))?.is_none());
    assert!(memory.conflicts()?.is_empty());
    // Nor is it one after a merge of another line, and a real conflict takes its place.
    let fork = forked(&memory, "task");
    put(&fork, "a", "theirs");
    put(&memory, "a", "ours");
    assert_eq!(open(&merged(&memory, "task")).len(), 1);
    assert!(memory.view().conflict(&id("a"))?.is_some());
    Ok(())
}
