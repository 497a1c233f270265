//! History, blame and revert see through merges: what a merge brought belongs to its writers on the other line.

use super::super::gc::{HOUR, on_disk, options};
use super::*;
use crate::engine::Selection;
use crate::testing::sim_disk::SimDisk;

fn by(session: &str) -> Writer {
    Writer::user().session(session)
}

fn put_in(memory: &Memory, name: &str, text: &str, session: &str) {
    drop(memory.put(note(name, text), &by(session)).unwrap());
}

/// Makes a line into which `boss` merged the work of `worker`, who added, changed and removed an object.
fn store(disk: &SimDisk) -> Result<Memory> {
    let memory = on_disk(disk, options(HOUR), true)?;
    for name in ["changed", "removed", "both"] {
        put_in(&memory, name, "one\ntwo\nthree", "boss");
    }
    let fork = memory.fork("task").by(&by("boss"))?;
    put_in(&fork, "added", "by the worker", "worker");
    put_in(&fork, "changed", "one\ntwo\nby the worker", "worker");
    put_in(&fork, "both", "one\ntwo\nby the worker", "worker");
    fork.remove(&id("removed"), &by("worker"))?;
    put_in(&memory, "both", "by the boss\ntwo\nthree", "boss");
    assert_eq!(open(&memory.merge("task").by(&by("boss"))?), []);
    Ok(memory)
}

fn session_of(memory: &Memory, name: &str) -> Option<String> {
    let writer = memory.view().writer_of(&id(name)).unwrap();
    writer.and_then(|writer| writer.commit.session)
}

#[test]
fn a_version_that_a_merge_brought_belongs_to_its_writer() -> Result<()> {
    let disk = SimDisk::new(11);
    drop(store(&disk)?);
    let memory = on_disk(&disk, options(HOUR), false)?;
    let worker = Some("worker".to_owned());
    assert_eq!(session_of(&memory, "added"), worker);
    assert_eq!(session_of(&memory, "changed"), worker);
    assert_eq!(
        session_of(&memory, "both").as_deref(),
        Some("boss"),
        "the merge made it"
    );
    for name in ["added", "changed", "removed"] {
        let newest = memory.history(&id(name))?.remove(0);
        assert_eq!(newest.commit.commit.op.as_str(), "merge");
        let maker = newest.maker().unwrap().commit.session.clone();
        assert_eq!(maker, worker, "{name}");
    }
    let blamed = memory.blame(&memory.view(), &id("changed"))?;
    let line = blamed
        .iter()
        .find(|part| part.part.to_string() == "line:3")
        .unwrap();
    assert_eq!(line.change.maker().unwrap().commit.session, worker);
    let selection = Selection::default().session("worker");
    assert!(selection.wrote(&memory, &memory.view(), &id("added"))?);
    assert_eq!(selection.unknown(&memory)?, None);
    Ok(())
}

#[test]
fn a_revert_of_a_session_takes_back_what_merges_brought_of_it() -> Result<()> {
    let disk = SimDisk::new(12);
    let memory = store(&disk)?;
    put_in(&memory, "later", "by the boss", "boss");
    let reverted = memory
        .revert(Selection::default().session("worker"))
        .by(&Writer::user())?;
    assert_eq!(reverted.reverted.len(), 3);
    assert_eq!(text(&memory, "added"), None);
    assert_eq!(text(&memory, "changed").as_deref(), Some("one\ntwo\nthree"));
    assert_eq!(text(&memory, "removed").as_deref(), Some("one\ntwo\nthree"));
    assert_eq!(
        text(&memory, "both").as_deref(),
        Some("by the boss\ntwo\nby the worker")
    );
    assert!(text(&memory, "later").is_some());
    let unknown = memory
        .revert(Selection::default().session("nobody"))
        .by(&Writer::user());
    assert_eq!(unknown.unwrap_err().code(), ErrorCode::NothingSelected);
    Ok(())
}

#[test]
fn a_revert_of_who_merged_leaves_the_work_of_the_others() -> Result<()> {
    let disk = SimDisk::new(13);
    let memory = store(&disk)?;
    drop(
        memory
            .revert(Selection::default().session("boss"))
            .by(&Writer::user())?,
    );
    assert_eq!(text(&memory, "added").as_deref(), Some("by the worker"));
    assert_eq!(
        text(&memory, "changed").as_deref(),
        Some("one\ntwo\nby the worker")
    );
    assert_eq!(
        text(&memory, "both"),
        None,
        "the merge made this version, and the boss the one before"
    );
    // A merge that is named itself goes whole.
    let disk = SimDisk::new(14);
    let memory = store(&disk)?;
    drop(
        memory
            .revert(Selection::default().commit(crate::Revision::Head))
            .by(&Writer::user())?,
    );
    assert_eq!(text(&memory, "added"), None);
    assert_eq!(text(&memory, "removed").as_deref(), Some("one\ntwo\nthree"));
    Ok(())
}

#[test]
fn a_removal_that_came_by_two_merges_belongs_to_who_removed() -> Result<()> {
    let disk = SimDisk::new(15);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put_in(&memory, "a", "x", "boss");
    let fork = memory.fork("task").by(&by("boss"))?;
    let below = fork.fork("below").by(&by("boss"))?;
    below.remove(&id("a"), &by("worker"))?;
    drop(fork.merge("below").by(&by("lead"))?);
    drop(memory.merge("task").by(&by("boss"))?);
    let newest = memory.history(&id("a"))?.remove(0);
    assert_eq!(newest.digest, None);
    assert_eq!(newest.maker().unwrap().commit.session.as_deref(), Some("worker"));
    drop(
        memory
            .revert(Selection::default().session("worker"))
            .by(&Writer::user())?,
    );
    assert!(text(&memory, "a").is_some());
    Ok(())
}

#[test]
fn bisect_enters_the_side_of_a_bad_merge() -> Result<()> {
    let memory = Memory::in_memory()?;
    let good = memory.view();
    put(&memory, "a", "x");
    let fork = forked(&memory, "task");
    for number in 0..6 {
        put(&fork, "b", &format!("{number}"));
    }
    put(&memory, "a", "y");
    drop(merged(&memory, "task"));
    put(&memory, "a", "z");
    let mut is_bad = |view: &View| {
        let number = content(view, "b").map(|number| number.parse::<u64>().unwrap());
        Ok(number.is_some_and(|number| number >= 4))
    };
    let found = memory.bisect(&good, &memory.view(), &mut is_bad)?;
    assert_eq!(found.first_bad.commit.op.as_str(), "merge");
    let from = found.from.unwrap();
    let made = fork.history(&id("b"))?.into_iter().nth(1).unwrap();
    assert_eq!(from.digest, made.commit.digest);
    let first = crate::engine::first_change(&memory, &good, &memory.view(), &id("b"))?;
    assert_eq!(first.from.unwrap().digest, fork.view().commit().digest);
    Ok(())
}
