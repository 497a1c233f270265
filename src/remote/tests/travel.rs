//! Tests of what travels: references, the work of a machine that was away, and clones with a cap (rules 18, 19 and 21).

use std::sync::Arc;
use std::time::Duration;

use super::backup::{put, verified};
use super::machines::{Fleet, ann, content, id, pull};
use crate::engine::{Memory, Retention, Writer};
use crate::error::ErrorCode;
use crate::object::Origin;
use crate::remote::Remote;
use crate::remote::bucket::Counted;
use crate::remote::place::Place;

pub(super) fn snapshots(memory: &Memory) -> Vec<String> {
    let all = memory.snapshots().unwrap();
    let mut names: Vec<_> = all
        .into_iter()
        .filter(|snapshot| snapshot.index.is_none())
        .map(|snapshot| snapshot.name)
        .collect();
    names.sort();
    names
}

/// TRV-1: named snapshots travel, and replace none of ours.
#[test]
fn snapshots_travel_under_the_name_of_the_remote() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    b.snapshot(Some("before"), &ann()).unwrap();
    put(&a, "plan", "two");
    a.snapshot(Some("before"), &ann().reason("lunch")).unwrap();
    put(&a, "plan", "three");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert_eq!(snapshots(&b), ["before", "remote:origin/before"]);
    let at = |memory: &Memory, revision: &str| {
        let view = memory.at(revision).unwrap();
        view.get(&id("plan"))
            .unwrap()
            .unwrap()
            .content()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (at(&b, "before"), at(&b, "remote:origin/before")),
        ("one".into(), "two".into())
    );
    let all = b.snapshots().unwrap();
    let fetched = all.iter().find(|one| one.name == "remote:origin/before").unwrap();
    assert_eq!(
        (fetched.reason.as_deref(), fetched.actor.as_deref()),
        (Some("lunch"), Some("ann"))
    );
    // A snapshot alone is enough for a push, once. What came from a remote does not go back.
    a.snapshot(Some("alone"), &ann()).unwrap();
    let pushed = remote.push(&a, &ann()).unwrap();
    assert_eq!((pushed.commits, pushed.requests), (0, 2));
    assert_eq!(remote.push(&a, &ann()).unwrap().bytes, 0);
    remote.push(&b, &ann()).unwrap();
    assert_eq!(remote.push(&b, &ann()).unwrap().bytes, 0);
    pull(&remote, &a);
    assert_eq!(snapshots(&a), ["alone", "before", "remote:origin/before"]);
    assert_eq!(at(&a, "remote:origin/before"), "one", "that of b");
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(snapshots(&c), ["remote:origin/alone", "remote:origin/before"]);
    // They keep their commits, and go with the remote.
    let mut retention = Retention::default();
    (retention.all, retention.newest) = (Duration::ZERO, 1);
    b.gc(&retention, None).unwrap();
    assert_eq!(at(&b, "remote:origin/before"), "two");
    Remote::forget("origin", &b, &ann()).unwrap();
    assert_eq!(snapshots(&b), ["before"]);
    for (memory, name) in [(a, "first"), (b, "b"), (c, "c")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// TRV-2, TRV-3: taints only add, and are not sent back.
#[test]
fn taints_travel_and_only_add() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let page = |memory: &Memory, session: &str| {
        let object = super::backup::object(session, "a page");
        memory
            .put(object, &Writer::of(Origin::Document).session(session))
            .unwrap();
    };
    page(&a, "s1");
    page(&b, "s2");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    for memory in [&a, &b] {
        for session in ["s1", "s2"] {
            assert!(memory.view().is_tainted(session).unwrap(), "{session}");
        }
        assert!(!memory.view().is_tainted("s3").unwrap());
        assert_eq!(remote.push(memory, &ann()).unwrap().bytes, 0);
    }
    let c = fleet.clone("c", Origin::DirectUser);
    assert!(c.view().is_tainted("s1").unwrap() && c.view().is_tainted("s2").unwrap());
    assert_eq!(remote.push(&c, &ann()).unwrap().bytes, 0);
}

/// Rule 21: the signatures of a machine travel under the name of its side line.
#[cfg(feature = "signed")]
#[test]
fn signatures_travel_under_the_name_of_the_machine() {
    use crate::signed::{SigningKey, State, check_head, sign_head};
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let key = SigningKey::generate("vera").unwrap();
    put(&a, "plan", "two");
    let head = sign_head(&a, &[&key], &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    assert_eq!(remote.push(&a, &ann()).unwrap().bytes, 0);
    let own = sign_head(&b, &[&key], &ann()).unwrap();
    pull(&remote, &b);
    let signatures = |memory: &Memory| -> Vec<(String, String)> {
        let all = memory.references().into_iter();
        let signed = all.filter(|reference| reference.name.starts_with("signatures/"));
        let mut signed: Vec<_> = signed
            .map(|one| (one.name, one.reason.unwrap_or_default()))
            .collect();
        signed.sort();
        signed
    };
    let instance = crate::digest::to_hex(&a.inner.opened().instance);
    let theirs = (format!("signatures/at-{instance}/vera"), head.to_string());
    assert_eq!(
        signatures(&b),
        [
            theirs.clone(),
            ("signatures/main/vera".to_owned(), own.to_string())
        ]
    );
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    let of_a = signatures(&a);
    assert_eq!(of_a.len(), 2, "that of b, and not the own one again");
    assert!(
        of_a.iter()
            .any(|(name, text)| name == "signatures/main/vera" && *text == head.to_string())
    );
    let c = fleet.clone("c", Origin::DirectUser);
    assert!(signatures(&c).contains(&theirs));
    // Another machine checks the head by its digests.
    let checked = check_head(&c, &head, &[key.verifier()], true).unwrap();
    assert!(
        matches!(checked.state, State::Same | State::Extends),
        "{checked:?}"
    );
    drop(c);
    verified(&fleet.folder.path().join("c"));
}

/// A version that only the line of a remote has is capped, also after a collection moved the records of others.
#[test]
fn a_cap_holds_after_a_collection() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    for text in ["one", "two"] {
        put(&a, "of a", text);
    }
    remote.push(&a, &ann()).unwrap();
    let capped = fleet.remote(Origin::Model);
    pull(&capped, &b);
    let first = {
        let line = b.at("remote:origin/main").unwrap();
        let digest = line.get(&id("of a")).unwrap().unwrap().digest();
        assert_eq!(line.get(&id("of a")).unwrap().unwrap().origin(), Origin::Model);
        digest
    };
    for number in 0..6 {
        put(&b, "counter", &number.to_string());
    }
    put(&b, "of a", "of b");
    let mut retention = Retention::default();
    (retention.all, retention.newest) = (Duration::ZERO, 1);
    for _ in 0..2 {
        b.gc(&retention, None).unwrap();
        let mut draft = b.draft(&ann());
        draft.restore_version(&id("of a"), first).unwrap();
        b.commit(draft, "restore").unwrap();
        let restored = b.view().get(&id("of a")).unwrap().unwrap();
        assert_eq!(
            (restored.content(), restored.origin()),
            (Some("two"), Origin::Model)
        );
        put(&b, "of a", "of b");
    }
}

/// RML-2: a machine that was away begins at a commit that another one has thinned. Its work arrives all the same.
#[test]
fn work_that_begins_at_a_thinned_commit_arrives() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    for number in 0..10 {
        put(&a, "counter", &number.to_string());
        remote.push(&a, &ann()).unwrap();
    }
    let mut retention = Retention::default();
    (retention.all, retention.hourly, retention.newest) = (Duration::ZERO, Duration::ZERO, 2);
    (retention.daily, retention.weekly) = (Duration::ZERO, Duration::ZERO);
    assert!(a.gc(&retention, None).unwrap().thinned > 5);
    for round in 0..3 {
        put(&b, "plan", &format!("of b, {round}"));
        put(&b, &format!("new/{round}"), &"long ".repeat(2_000));
        pull(&remote, &b);
        remote.push(&b, &ann()).unwrap();
        assert!(pull(&remote, &a).merged.conflicts.is_empty());
        assert_eq!(content(&a, "plan").unwrap(), format!("of b, {round}"));
        assert_eq!(a.view().root(), b.view().root());
    }
    // Nobody of a remembers who removed it, so a person decides.
    b.remove(&id("new/0"), &ann()).unwrap();
    remote.push(&b, &ann()).unwrap();
    assert_eq!(pull(&remote, &a).merged.conflicts.len(), 1);
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(
        (a.view().root(), c.view().root()),
        (b.view().root(), b.view().root())
    );
    for (memory, name) in [(a, "first"), (b, "b"), (c, "c")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

pub(super) fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Rule 18: two copies of one store have a side line each.
#[test]
fn a_copied_store_has_a_line_of_its_own() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    drop(fleet.clone("b", Origin::DirectUser));
    let paths = ["b", "copy"].map(|name| fleet.folder.path().join(name));
    copy(&paths[0], &paths[1]);
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    for (path, round) in paths.iter().chain(&paths).zip(0..) {
        let memory = Memory::open(path).unwrap();
        put(&memory, &format!("note/{round}"), "text");
        pull(&remote, &memory);
        remote.push(&memory, &ann()).unwrap();
    }
    let log = Place::of(Counted::new(Arc::new(fleet.service.clone())))
        .read()
        .unwrap()
        .log;
    let names: Vec<_> = log.lines.iter().map(|line| &line.name[..]).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(format!("{}-1", names[0]), names[1]);
    pull(&remote, &a);
    assert_eq!(content(&a, "note/3").as_deref(), Some("text"));
}

/// A taint that is older than a snapshot that was sent travels on, also after a rewrite of the log.
#[test]
fn what_comes_later_is_sent_whatever_its_time() {
    let (fleet, other) = (Fleet::new(), Fleet::new());
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let two = Remote::on("two", Arc::new(other.service.clone()), Origin::DirectUser).unwrap();
    two.push(&b, &ann()).unwrap();
    let c = other.clone("c", Origin::DirectUser);
    let page = |memory: &Memory, session: &str| {
        let object = super::backup::object(session, "a page");
        let writer = Writer::of(Origin::Document).session(session);
        memory.put(object, &writer).unwrap();
    };
    page(&a, "s1");
    b.snapshot(Some("good"), &ann()).unwrap();
    two.push(&b, &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    two.push(&b, &ann()).unwrap();
    pull(&other.origin(), &c);
    assert!(c.view().is_tainted("s1").unwrap());
    page(&b, "s2");
    let mut retention = Retention::default();
    (retention.all, retention.newest) = (Duration::ZERO, 1);
    b.gc(&retention, None).unwrap();
    two.push(&b, &ann()).unwrap();
    assert_eq!(two.push(&b, &ann()).unwrap().bytes, 0, "at rest");
    pull(&other.origin(), &c);
    assert!(c.view().is_tainted("s2").unwrap());
}

/// TRV-4: the commit of a pull travels if a snapshot names it.
#[test]
fn a_snapshot_of_a_pull_travels_with_its_commit() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    a.snapshot(Some("good"), &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    assert_eq!(remote.push(&a, &ann()).unwrap().bytes, 0, "at rest");
    let c = fleet.clone("c", Origin::DirectUser);
    pull(&remote, &b);
    for memory in [&b, &c] {
        let view = memory.at("remote:origin/good").unwrap();
        assert!(view.get(&id("of b")).unwrap().is_some());
    }
    drop(c);
    verified(&fleet.folder.path().join("c"));
}

/// REM-1: a remote without a snapshot that it had went back, although its newest commit is the same.
#[test]
fn a_remote_that_lost_a_snapshot_is_refused() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let old = fleet.service.objects();
    a.snapshot(Some("good"), &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    fleet.service.restore(old);
    let error = remote.fetch(&a, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RemoteWentBack);
}

/// PUS-3: a push goes on over snapshots of others that this store has not read. The next fetch reads them.
#[test]
fn a_push_over_references_of_others_skips_none() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    for (round, what) in ["direct", "forgotten", "side"].into_iter().enumerate() {
        if what == "side" {
            put(&a, "of a", what);
            pull(&remote, &a);
            remote.push(&a, &ann()).unwrap();
            pull(&remote, &b);
        }
        let c = fleet.clone(what, Origin::DirectUser);
        c.snapshot(Some(what), &ann()).unwrap();
        assert_eq!(remote.push(&c, &ann()).unwrap().commits, 0);
        if what == "forgotten" {
            Remote::forget("origin", &b, &ann()).unwrap();
        }
        put(&b, "of b", what);
        assert!(remote.push(&b, &ann()).unwrap().commits > 0);
        assert_eq!(remote.push(&b, &ann()).unwrap().commits, 0);
        pull(&remote, &b);
        assert_eq!(snapshots(&b).len(), round + 1, "{what}");
        let nothing = remote.fetch(&b, &ann()).unwrap();
        assert_eq!((nothing.commits, nothing.requests), (0, 1));
    }
    pull(&remote, &a);
    assert_eq!(a.view().root(), b.view().root());
}
