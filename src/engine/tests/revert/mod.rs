//! A revert takes back what the selected commits wrote, and leaves everything else as it is.

mod brought_back;
mod chain;
mod cost;
mod model;
mod restricted;
mod rewritten;
mod thinned;
mod tree;

pub(super) use model::{SESSIONS, act};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use super::{by, content, id, note, put};
use crate::engine::{
    Conflicts, Erasing, Memory, Options, Progress, Reverted, Selection, VerifyDepth, View, Writer,
};
use crate::object::{Op, Origin};
use crate::{Committed, ErrorCode, ErrorKind, Result};

fn write(memory: &Memory, session: &str, name: &str, text: &str) -> Committed {
    memory.put(note(name, text), &by(session)).unwrap()
}

fn session(name: &str) -> Selection {
    Selection::default().session(name)
}

fn seq(number: u64) -> Selection {
    Selection::default().commit(crate::Revision::Seq(number))
}

fn revert(memory: &Memory, selection: Selection) -> Result<Reverted> {
    memory.revert(selection).by(&by("owner"))
}

/// A kept id, with the lane and seq of the later change.
type Kept = (String, String, u64);

/// Returns the changed ids, the kept ids and the derived ids.
fn told(reverted: &Reverted) -> (Vec<String>, Vec<Kept>, Vec<String>) {
    let ids = reverted.reverted.iter().map(|reverted| reverted.id.to_string());
    let kept = reverted.kept.iter().map(|kept| {
        let by = kept.by.as_ref().unwrap();
        (kept.id.to_string(), by.lane().to_owned(), by.commit.seq)
    });
    let derived = reverted.derived.iter().map(ToString::to_string);
    (ids.collect(), kept.collect(), derived.collect())
}

fn kept(id: &str, by: &str, seq: u64) -> Kept {
    (id.to_owned(), by.to_owned(), seq)
}

fn state(view: &View) -> Vec<(String, String)> {
    let objects = view.kept_objects().map(Result::unwrap);
    let mut state: Vec<_> = objects
        .map(|object| {
            (
                object.id().to_string(),
                object.content().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    state.sort_unstable();
    state
}

#[test]
fn every_object_gets_its_newest_version_by_anybody_else() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "changed", "good");
    write(&memory, "day", "removed", "good");
    write(&memory, "day", "other", "good");
    write(&memory, "night", "changed", "bad");
    write(&memory, "night", "new", "bad");
    memory.remove(&id("removed"), &by("night")).unwrap();
    write(&memory, "night", "improved", "bad");
    write(&memory, "eve", "improved", "good");
    let before = memory.view();

    let planned = memory.revert(session("night")).preview(&by("owner")).unwrap();
    assert_eq!(memory.view().root(), before.root(), "a preview changes nothing");
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(told(&planned), told(&reverted));
    let (ids, stays, derived) = told(&reverted);
    assert_eq!(ids, ["changed", "new", "removed"]);
    assert_eq!(stays, [kept("improved", "eve", 8)]);
    assert!(derived.is_empty());
    assert_eq!(reverted.selected, 4);
    let now = ["changed", "improved", "other", "removed"].map(|id| (id.to_owned(), "good".to_owned()));
    assert_eq!(state(&memory.view()), now);
    assert_eq!(reverted.committed.commit.commit.op.as_str(), Op::REVERT);

    // One commit, which undo and another revert take back, and redo repeats.
    let after = memory.view().root();
    memory.undo(&by("owner")).unwrap();
    assert_eq!(memory.view().root(), before.root());
    memory.redo(&by("owner")).unwrap();
    assert_eq!(memory.view().root(), after);
    // A redo repeats the reverted revert, so it does not stand either.
    let of_revert = Selection::default().commit(reverted.committed.commit.digest);
    assert!(revert(&memory, of_revert).unwrap().kept.is_empty());
    assert_eq!(memory.view().root(), before.root());
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
}

#[test]
fn a_version_that_was_brought_back_counts_for_its_first_writer() {
    // Each way back brings the bad version back, by another writer than the one who wrote it.
    type Way = fn(&Memory);
    let ways: [(&str, Way); 4] = [
        ("rollback", |memory| {
            write(memory, "day", "a", "later");
            drop(memory.rollback("seq:2").across_lanes().by(&by("day")).unwrap());
        }),
        ("undo", |memory| {
            write(memory, "day", "a", "later");
            drop(memory.undo(&by("day")).unwrap());
        }),
        ("redo", |memory| {
            drop(memory.undo(&by("night")).unwrap());
            drop(memory.redo(&by("night")).unwrap());
        }),
        ("restore", |memory| {
            let bad = memory.view();
            write(memory, "day", "a", "later");
            let mut draft = memory.draft(&by("day"));
            draft.restore(&id("a"), &bad).unwrap();
            drop(memory.commit(draft, Op::RESTORE).unwrap());
        }),
    ];
    for (name, bring_back) in ways {
        expect_good_after(name, bring_back);
    }
}

#[test]
fn a_good_version_that_was_brought_back_stays() {
    let memory = good_and_bad();
    drop(memory.rollback("seq:1").across_lanes().by(&by("eve")).unwrap());
    let reverted = revert(&memory, session("night")).unwrap();
    // It is not named as a conflict.
    assert!(!reverted.committed.changed && reverted.kept.is_empty());
}

fn good_and_bad() -> Memory {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "a", "good");
    write(&memory, "night", "a", "bad");
    memory
}

/// Checks that a revert of the session `night` brings the good version back after `way`, which leaves the bad one (WTH-2).
fn expect_good_after(name: &str, way: impl Fn(&Memory)) {
    let memory = good_and_bad();
    way(&memory);
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("bad"), "{name}");
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("good"), "{name}");
    assert!(reverted.kept.is_empty(), "{name}");
}

/// INVARIANT WTH-2: what undo, rollback, restore or revert took back stays taken back.
#[test]
fn a_version_that_was_taken_back_does_not_return() {
    type Way = fn(&Memory);
    let ways: [(&str, Way); 4] = [
        ("undo", |memory| drop(memory.undo(&by("eve")).unwrap())),
        ("rollback", |memory| {
            drop(memory.rollback("seq:2").across_lanes().by(&by("owner")).unwrap());
        }),
        ("restore", |memory| {
            let mut draft = memory.draft(&by("owner"));
            draft.restore(&id("a"), &memory.at("seq:2").unwrap()).unwrap();
            drop(memory.commit(draft, Op::RESTORE).unwrap());
        }),
        ("revert", |memory| drop(revert(memory, session("eve")).unwrap())),
    ];
    for (name, take_back) in ways {
        expect_good_after(name, |memory| {
            write(memory, "eve", "a", "bad too");
            take_back(memory);
        });
    }
}

#[test]
fn a_selected_commit_decides_nothing() {
    let memory = good_and_bad();
    write(&memory, "eve", "a", "better");
    // `night` itself brings its version back, so the version of `eve` stands.
    let mut draft = memory.draft(&by("night"));
    draft.restore(&id("a"), &memory.at("seq:2").unwrap()).unwrap();
    drop(memory.commit(draft, Op::RESTORE).unwrap());
    revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("better"));
}

#[test]
fn the_same_text_again_by_somebody_else_stays() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "night", "port", "8080");
    write(&memory, "day", "port", "9090");
    write(&memory, "eve", "port", "8080");
    let reverted = revert(&memory, session("night")).unwrap();
    assert_eq!(content(&memory.view(), "port").as_deref(), Some("8080"));
    assert_eq!(told(&reverted).1, [kept("port", "eve", 3)]);
}

#[test]
fn conditions_narrow_and_repeated_values_widen() {
    let memory = Memory::in_memory().unwrap();
    let writer = |session: &str, actor: &str, source: &str| by(session).actor(actor).source(source);
    let one = memory.put(note("a", "1"), &writer("s1", "ann", "mail")).unwrap();
    let two = memory.put(note("b", "1"), &writer("s1", "bob", "web")).unwrap();
    let three = memory.put(note("c", "1"), &writer("s2", "bob", "mail")).unwrap();
    let times = [&one, &two, &three].map(|committed| committed.commit.commit.time);
    let chosen = |selection: Selection| {
        let planned = memory.revert(selection).preview(&by("owner")).unwrap();
        told(&planned).0.concat()
    };
    let all = Selection::default;
    assert_eq!(chosen(all().session("s1")), "ab");
    assert_eq!(chosen(all().session("s1").session("s2")), "abc");
    assert_eq!(chosen(all().session("s1").actor("bob")), "b");
    assert_eq!(chosen(all().source("mail")), "ac");
    assert_eq!(chosen(all().source("mail").session("s2")), "c");
    assert_eq!(chosen(all().since(times[1])), "bc");
    assert_eq!(chosen(all().until(times[1])), "ab");
    assert_eq!(chosen(all().since(times[1]).until(times[1])), "b");
    assert_eq!(
        chosen(all().commit(one.commit.digest).commit(three.commit.digest)),
        "ac"
    );

    let refused = |selection: Selection| {
        let error = revert(&memory, selection).unwrap_err();
        (error.kind(), error.code(), error.to_string())
    };
    let unknown = refused(all().session("s1").session("s3"));
    assert_eq!(
        (unknown.0, unknown.1),
        (ErrorKind::NotFound, ErrorCode::NothingSelected)
    );
    assert!(unknown.2.contains("session 's3'"), "{}", unknown.2);
    assert_eq!(
        refused(all().session("s2").source("web")).1,
        ErrorCode::NothingSelected
    );
    assert_eq!(refused(seq(99)).1, ErrorCode::NoRevision);
    assert_eq!(refused(all()).1, ErrorCode::NoCriteria);
    // The first commit of a store changes nothing.
    assert_eq!(refused(seq(0)).1, ErrorCode::NothingSelected);
}

#[test]
fn later_work_stays_goes_or_stops_the_revert() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "a", "first");
    write(&memory, "night", "a", "bad");
    write(&memory, "eve", "a", "built on bad");
    write(&memory, "night", "b", "bad");
    let revert = |conflicts| memory.revert(session("night")).conflicts(conflicts);
    let head = memory.view().root();
    let error = revert(Conflicts::Fail).by(&by("owner")).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Conflict, ErrorCode::ChangedSince)
    );
    assert_eq!(error.ids(), ["a"]);
    assert_eq!(memory.view().root(), head, "all or nothing");
    assert_eq!(
        revert(Conflicts::Fail).preview(&by("owner")).unwrap_err().ids(),
        ["a"]
    );

    let all = revert(Conflicts::Revert).by(&by("owner")).unwrap();
    assert!(all.kept.is_empty());
    assert_eq!(state(&memory.view()), [("a".to_owned(), "first".to_owned())]);
    memory.undo(&by("owner")).unwrap();
    let some = revert(Conflicts::Keep).by(&by("owner")).unwrap();
    assert_eq!(told(&some).1, [kept("a", "eve", 3)]);
    assert_eq!(
        state(&memory.view()),
        [("a".to_owned(), "built on bad".to_owned())]
    );
    // Without a later version by others, nothing stops the revert.
    let memory = Memory::in_memory().unwrap();
    write(&memory, "night", "b", "bad");
    let fail = memory.revert(session("night")).conflicts(Conflicts::Fail);
    assert!(fail.by(&by("owner")).unwrap().committed.changed);
}

#[test]
fn derived_objects_are_listed_and_reverted_on_request() {
    let memory = Memory::in_memory().unwrap();
    let derived = |name: &str, from: &[&str]| {
        let mut object = note(name, "derived");
        let view = memory.view();
        object.derived_from = from
            .iter()
            .map(|from| view.get(&id(from)).unwrap().unwrap().digest())
            .collect();
        memory.put(object, &by("day")).unwrap();
    };
    write(&memory, "day", "good", "good");
    write(&memory, "day", "summary", "before");
    write(&memory, "night", "bad", "bad");
    derived("summary", &["good", "bad"]);
    derived("summary of summaries", &["summary"]);
    derived("clean", &["good"]);
    let listed = revert(&memory, session("night")).unwrap();
    let names = ["summary", "summary of summaries"];
    assert_eq!(
        (told(&listed).0, told(&listed).2),
        (vec!["bad".to_owned()], names.map(str::to_owned).to_vec())
    );
    memory.undo(&by("owner")).unwrap();
    let all = memory
        .revert(session("night"))
        .with_derived()
        .by(&by("owner"))
        .unwrap();
    assert_eq!(told(&all).2, names);
    let text = |name: &str| content(&memory.view(), name);
    assert_eq!(text("summary").as_deref(), Some("before"));
    assert_eq!((text("bad"), text("summary of summaries")), (None, None));
    assert_eq!(text("clean").as_deref(), Some("derived"));
}

#[test]
fn a_revert_keeps_classes_and_an_untrusted_writer_reverts_nothing_trusted() {
    let memory = Memory::in_memory().unwrap();
    let tool = Writer::tool("crawler");
    memory
        .put(note("web", "one"), &tool.clone().session("old"))
        .unwrap();
    memory
        .put(note("web", "two"), &tool.clone().session("new"))
        .unwrap();
    put(&memory, "fact", "good");
    memory.put(note("fact", "better"), &by("model")).unwrap();
    memory
        .put(note("gone", "by a tool"), &tool.clone().session("t"))
        .unwrap();
    memory.remove(&id("gone"), &by("person")).unwrap();
    let denied = |selection: Selection| {
        let error = memory
            .revert(selection)
            .by(&tool.clone().session("t"))
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Denied, ErrorCode::LessTrusted)
        );
    };
    // RVT-3: the commit is more trusted, even if the version that would come back is not.
    denied(session("model"));
    denied(session("person"));
    // RVT-3: nor may it take back what a person wrote over its own version.
    memory
        .put(note("seen", "by a tool"), &tool.clone().session("seen"))
        .unwrap();
    put(&memory, "seen", "by a person");
    let both = memory.revert(session("seen")).conflicts(Conflicts::Revert);
    let error = both.by(&tool.clone().session("t")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::LessTrusted);
    assert_eq!(content(&memory.view(), "seen").as_deref(), Some("by a person"));
    let references = memory.references().len();
    let own = memory
        .revert(session("new"))
        .by(&tool.clone().session("t"))
        .unwrap();
    assert!(own.committed.changed);
    // RVT-1
    let web = memory.view().get(&id("web")).unwrap().unwrap();
    assert_eq!((web.origin(), web.content()), (Origin::ToolExternal, Some("one")));
    assert_eq!(memory.references().len(), references, "a revert taints nothing");
    // A trusted writer raises no class either.
    memory
        .revert(seq(own.committed.commit.commit.seq))
        .by(&by("person"))
        .unwrap();
    let web = memory.view().get(&id("web")).unwrap().unwrap();
    assert_eq!((web.origin(), web.content()), (Origin::ToolExternal, Some("two")));
}

#[test]
fn what_was_erased_never_comes_back() {
    let memory = Memory::on_disk(Arc::new(crate::disk::MemDisk::new()), Options::new(), true, None).unwrap();
    write(&memory, "day", "a", "oldest");
    let secret = write(&memory, "day", "a", "secret");
    write(&memory, "night", "a", "bad");
    write(&memory, "day", "gone", "secret too");
    write(&memory, "night", "gone", "bad");
    let version = |name: &str, seq: &str| {
        let view = memory.at(seq).unwrap();
        view.get(&id(name)).unwrap().unwrap().digest().to_string()
    };
    assert_eq!(secret.commit.commit.seq, 2);
    let erasing = Erasing {
        targets: vec![version("a", "seq:2"), version("gone", "seq:4")],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user()).unwrap();
    let reverted = revert(&memory, session("night")).unwrap();
    // RVT-2: the newest version that is left, or none.
    assert_eq!(told(&reverted).0, ["a", "gone"]);
    assert_eq!(state(&memory.view()), [("a".to_owned(), "oldest".to_owned())]);
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
}

#[test]
fn the_writer_of_a_staged_version_is_the_commit_that_made_it_current() {
    let memory = Memory::in_memory().unwrap();
    let mut draft = memory.draft(&by("stager"));
    draft.put(note("a", "staged")).unwrap();
    memory.save_draft(&draft, "turn").unwrap();
    write(&memory, "other", "b", "meanwhile");
    let draft = memory.open_draft("drafts/turn", &by("committer")).unwrap();
    memory.commit(draft, "guard").unwrap();
    let writer = memory.view().writer_of(&id("a")).unwrap().unwrap();
    assert_eq!(writer.lane(), "committer");
    let reverted = revert(&memory, session("other")).unwrap();
    assert_eq!(told(&reverted).0, ["b"]);
}

#[test]
fn a_revert_is_an_operation_of_the_engine() {
    let memory = Memory::in_memory().unwrap();
    write(&memory, "day", "a", "good");
    let mut draft = memory.draft(&by("night"));
    draft.put(note("a", "bad")).unwrap();
    let error = memory.commit(draft, Op::REVERT).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReservedOp);
    let shown = format!("{:?}", memory.revert(session("day")));
    assert!(shown.contains("day"), "{shown}");
}

/// Returns a memory in which `eve` writes whenever a revert is planned, at most as often as a revert plans without the
/// lock. Also returns the number of plans so far. The session `night` has replaced what `day` wrote.
fn disturbed() -> (Memory, Arc<AtomicUsize>) {
    let (memory, plans) = (Arc::new(OnceLock::<Memory>::new()), Arc::new(AtomicUsize::new(0)));
    let (other, planned) = (Arc::clone(&memory), Arc::clone(&plans));
    let options = Options::new()
        .automatic_gc(None)
        .progress(Arc::new(move |progress: Progress| {
            let Some(other) = other.get().filter(|_| progress.doing == "commits") else {
                return;
            };
            let plan = planned.fetch_add(1, Ordering::Relaxed);
            if plan >= super::super::write::planned::PLANS_MAX {
                return;
            }
            let (other, (done, wait)) = (other.clone(), mpsc::channel());
            std::thread::spawn(move || {
                write(&other, "eve", &format!("meanwhile {plan}"), "good");
                done.send(()).unwrap();
            });
            let written = wait.recv_timeout(Duration::from_secs(20));
            assert!(written.is_ok(), "the plan {plan} holds the lock");
        }));
    let disk = Arc::new(crate::disk::MemDisk::new());
    let opened = Memory::on_disk(disk, options, true, None).unwrap();
    write(&opened, "day", "a", "good");
    write(&opened, "night", "a", "bad");
    (memory.get_or_init(|| opened).clone(), plans)
}

/// INVARIANT PLN-1: others write while a revert is planned, and no plan is written on another head.
#[test]
fn others_write_while_a_revert_is_planned() {
    let (opened, plans) = disturbed();
    let reverted = revert(&opened, session("night")).unwrap();
    // Each plan but the last one was outdated, and the last one was made under the lock.
    assert_eq!(plans.load(Ordering::Relaxed), 4);
    assert_eq!(reverted.committed.commit.commit.seq, 6);
    assert_eq!(content(&opened.view(), "a").as_deref(), Some("good"));
    assert_eq!(content(&opened.view(), "meanwhile 2").as_deref(), Some("good"));
}

#[test]
fn a_revert_on_a_head_that_moves_meanwhile_changes_nothing() {
    let (opened, plans) = disturbed();
    let seen = opened.view().commit().digest;
    let reverted = opened.revert(session("night")).expect_head(seen).by(&by("owner"));
    assert_eq!(reverted.unwrap_err().code(), ErrorCode::HeadMoved);
    assert_eq!(plans.load(Ordering::Relaxed), 1, "the first plan was on the head");
    assert_eq!(content(&opened.view(), "a").as_deref(), Some("bad"));
    assert_eq!(opened.view().commit().commit.op.as_str(), "put");
}
