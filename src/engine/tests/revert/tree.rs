//! A revert leaves a whole tree of parents, and names what others put in the way.

use super::super::{by, child, content, id, note};
use super::{kept, revert, session, state, told};
use crate::ErrorCode;
use crate::engine::{Conflicts, KeptBecause, Memory, Reverted, VerifyDepth};
use crate::object::NewObject;

fn put(memory: &Memory, object: NewObject, session: &str) {
    drop(memory.put(object, &by(session)).unwrap());
}

fn below(name: &str, parent: &str, text: &str) -> NewObject {
    let mut object = child(name, parent);
    object.content = Some(text.to_owned());
    object
}

fn remove(memory: &Memory, name: &str, session: &str) {
    drop(memory.remove(&id(name), &by(session)).unwrap());
}

/// Reverts `night` with later work too, and checks the store.
fn with_later_work(memory: &Memory) -> Reverted {
    let all = memory.revert(session("night")).conflicts(Conflicts::Revert);
    let reverted = all.by(&by("owner")).unwrap();
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
    reverted
}

fn because(reverted: &Reverted) -> Vec<KeptBecause> {
    reverted.kept.iter().map(|kept| kept.because.clone()).collect()
}

/// Returns the ids that go because a parent is gone, each with that parent.
fn gone(reverted: &Reverted) -> Vec<(String, String)> {
    let gone = reverted.reverted.iter().filter_map(|object| {
        let parent = object.gone_with.as_ref()?;
        assert_eq!(object.to, None);
        Some((object.id.to_string(), parent.to_string()))
    });
    gone.collect()
}

#[test]
fn an_object_that_others_need_stays() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("doc", "by night"), "night");
    put(&memory, child("doc/one", "doc"), "night");
    put(&memory, child("doc/two", "doc"), "day");
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(told(&reverted).0, ["doc/one"]);
    assert_eq!(told(&reverted).1, [kept("doc", "day", 3)]);
    assert_eq!(because(&reverted), [KeptBecause::Below(id("doc/two"))]);
    memory.undo(&by("owner")).unwrap();
    // If later work goes too, what is below goes.
    let all = with_later_work(&memory);
    assert_eq!(told(&all).0, ["doc", "doc/one", "doc/two"]);
    assert_eq!(gone(&all), [("doc/two".to_owned(), "doc".to_owned())]);
    assert!(memory.view().is_empty());
}

#[test]
fn what_others_moved_below_an_object_that_goes_moves_back() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("plan", "of day"), "day");
    put(&memory, note("doc", "by night"), "night");
    put(&memory, below("plan", "doc", "moved by eve"), "eve");
    assert_eq!(told(&with_later_work(&memory)).0, ["doc", "plan"]);
    assert_eq!(state(&memory.view()), [("plan".to_owned(), "of day".to_owned())]);
}

#[test]
fn an_object_whose_earlier_parent_others_removed_stays_unless_their_work_goes_too() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("doc", ""), "day");
    put(&memory, below("one", "doc", "good"), "day");
    put(&memory, below("one/a", "one", "good"), "day");
    put(&memory, note("one", "bad"), "night");
    put(&memory, below("one/a", "one", "bad"), "night");
    remove(&memory, "doc", "eve");
    // Only the move by `night` let `eve` remove `doc`, so nothing is removed with it.
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(told(&reverted).0, ["one/a"]);
    assert_eq!(told(&reverted).1, [kept("one", "eve", 6)]);
    assert_eq!(because(&reverted), [KeptBecause::NoParent(id("doc"))]);
    assert!(gone(&reverted).is_empty());
    assert_eq!(
        state(&memory.view()),
        [("one", "bad"), ("one/a", "good")].map(|(id, text)| (id.to_owned(), text.to_owned()))
    );
    memory.undo(&by("owner")).unwrap();
    let fails = memory.revert(session("night")).conflicts(Conflicts::Fail);
    let error = fails.by(&by("owner")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ChangedSince);
    assert_eq!(error.ids(), ["one"]);
    // If later work goes too, the parent comes back.
    let all = with_later_work(&memory);
    assert!(all.kept.is_empty() && gone(&all).is_empty());
    let good = [("doc", ""), ("one", "good"), ("one/a", "good")];
    assert_eq!(
        state(&memory.view()),
        good.map(|(id, text)| (id.to_owned(), text.to_owned()))
    );
}

#[test]
fn what_would_come_back_below_what_does_not_come_back_stays_removed() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("doc", ""), "day");
    put(&memory, below("one", "doc", "good"), "day");
    put(&memory, below("one/a", "one", "good"), "day");
    remove(&memory, "one/a", "night");
    remove(&memory, "one", "night");
    remove(&memory, "doc", "eve");
    let reverted = revert(&memory, session("night")).unwrap();
    assert!(!reverted.committed.changed);
    // Both name the parent that `eve` removed, and not the one that `night` removed.
    assert_eq!(
        told(&reverted).1,
        [kept("one", "eve", 6), kept("one/a", "eve", 6)]
    );
    assert_eq!(
        because(&reverted),
        [id("doc"), id("doc")].map(KeptBecause::NoParent)
    );
    assert_eq!(told(&with_later_work(&memory)).0, ["doc", "one", "one/a"]);
}

#[test]
fn a_parent_that_the_revert_removes_is_no_later_work() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("doc", "bad"), "night");
    put(&memory, below("one", "doc", "good"), "day");
    remove(&memory, "one", "night");
    let reverted = with_later_work(&memory);
    assert_eq!(told(&reverted), (vec!["doc".to_owned()], vec![], vec![]));
    assert!(memory.view().is_empty());
}

#[test]
fn what_was_removed_stays_removed_with_its_parent() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("doc", "text"), "day");
    put(&memory, child("doc/one", "doc"), "day");
    remove(&memory, "doc/one", "night");
    remove(&memory, "doc", "eve");
    let reverted = revert(&memory, session("night")).unwrap();
    assert!(!reverted.committed.changed);
    assert_eq!(told(&reverted).1, [kept("doc/one", "eve", 4)]);
    assert_eq!(because(&reverted), [KeptBecause::NoParent(id("doc"))]);
    assert_eq!(told(&with_later_work(&memory)).0, ["doc", "doc/one"]);
    assert_eq!(content(&memory.view(), "doc").as_deref(), Some("text"));
}

#[test]
fn a_parent_by_the_selected_commits_does_not_come_back() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("doc", "bad"), "night");
    put(&memory, below("one", "doc", "good"), "day");
    put(&memory, note("one", "bad"), "night");
    remove(&memory, "doc", "eve");
    let reverted = with_later_work(&memory);
    assert_eq!(gone(&reverted), [("one".to_owned(), "doc".to_owned())]);
    assert!(memory.view().is_empty());
}

#[test]
fn no_object_comes_back_below_itself() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, note("top", ""), "day");
    put(&memory, below("middle", "top", ""), "day");
    put(&memory, note("c", "good"), "day");
    put(&memory, below("a", "middle", "good"), "day");
    put(&memory, note("a", "bad"), "night");
    put(&memory, below("c", "a", "moved by eve"), "eve");
    put(&memory, below("top", "c", ""), "eve");
    put(&memory, below("middle", "top", "newer"), "noon");
    // `c` is in the way, not the newer text of the parent `middle`.
    let reverted = revert(&memory, session("night")).unwrap();
    assert!(!reverted.committed.changed);
    assert_eq!(told(&reverted).1, [kept("a", "eve", 6)]);
    assert_eq!(because(&reverted), [KeptBecause::Below(id("c"))]);
    // If later work goes too, `c` is where it was, and everything else stays.
    let all = with_later_work(&memory);
    assert_eq!(told(&all).0, ["a", "c"]);
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("good"));
    assert_eq!(content(&memory.view(), "c").as_deref(), Some("good"));
    assert_eq!(content(&memory.view(), "middle").as_deref(), Some("newer"));
}
