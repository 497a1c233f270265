//! A version that undo, redo or rollback brought back stands for the moment that they went back to (WTH-2).

use super::super::{by, content, id};
use super::{kept, revert, seq, session, told, write};
use crate::engine::Memory;
use crate::object::Op;

fn remove(memory: &Memory, name: &str, session: &str) {
    drop(memory.remove(&id(name), &by(session)).unwrap());
}

fn rollback(memory: &Memory, to: &str) {
    drop(memory.rollback(to).across_lanes().by(&by("owner")).unwrap());
}

#[test]
fn a_rollback_goes_back_to_its_target_and_not_to_a_later_equal_version() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "night", "a", "bad");
    write(&memory, "eve", "a", "taken back");
    remove(&memory, "a", "night");
    write(&memory, "night", "a", "bad too");
    rollback(&memory, "seq:0");
    let reverted = revert(&memory, session("night")).unwrap();
    // Before the rollback, the version by `eve` stood, so the rollback is later work.
    assert_eq!(told(&reverted).1, [kept("a", "owner", 5)]);
    assert_eq!(content(&memory.view(), "a"), None);

    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "a", "x");
    write(&memory, "night", "a", "y");
    write(&memory, "day", "a", "z");
    write(&memory, "night", "a", "x");
    write(&memory, "day", "a", "w");
    rollback(&memory, "seq:1");
    revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("x"));
    // The state of commit 4 has the same version, but in that state the version by `day` at commit 3 stands.
    let memory = Memory::in_memory().unwrap();
    for (session, text) in [
        ("day", "x"),
        ("night", "y"),
        ("day", "z"),
        ("night", "x"),
        ("day", "w"),
    ] {
        write(&memory, session, "a", text);
    }
    rollback(&memory, "seq:4");
    revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("z"));
}

#[test]
fn an_undo_goes_back_to_the_moment_before_its_target() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "a", "x");
    write(&memory, "night", "a", "y");
    write(&memory, "eve", "a", "z");
    // `night` writes the version of `day` again, over the version of `eve`.
    write(&memory, "night", "a", "x");
    drop(memory.undo(&by("night")).unwrap());
    drop(memory.redo(&by("night")).unwrap());
    drop(memory.undo(&by("night")).unwrap());
    drop(memory.undo(&by("eve")).unwrap());
    drop(memory.undo(&by("night")).unwrap());
    // The last undo goes back to the moment before commit 2, where the version by `day` stands.
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("x"));
    revert(&memory, seq(2).commit(crate::Revision::Seq(4))).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("x"));
}

#[test]
fn a_version_that_others_wrote_first_stands_itself_when_it_is_restored() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "a", "x");
    let first = memory.view();
    for (session, text) in [("night", "y"), ("day", "z"), ("night", "x"), ("day", "w")] {
        write(&memory, session, "a", text);
    }
    let mut draft = memory.draft(&by("owner"));
    draft.restore(&id("a"), &first).unwrap();
    drop(memory.commit(draft, Op::RESTORE).unwrap());
    revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("x"));
}
