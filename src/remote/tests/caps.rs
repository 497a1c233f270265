//! Tests of machines that trust their remote less than themselves: each keeps what it trusts, loses nothing of others, and
//! comes to rest.

use super::backup::put;
use super::machines::{Fleet, ann, content, id};
use crate::digest::ObjectDigest;
use crate::engine::{Erasing, Memory, Resolution};
use crate::error::ErrorCode;
use crate::object::{Kind, NewObject, Origin};
use crate::remote::Remote;

/// Synchronises machines in turns, and asserts that they stop making commits.
fn rest(remotes: &[(&Remote, &Memory)]) {
    let heads = || -> Vec<_> {
        let of = |memory: &Memory| memory.view().commit().digest;
        remotes.iter().map(|(_, memory)| of(memory)).collect()
    };
    for _ in 0..4 {
        for (remote, memory) in remotes {
            remote.sync(memory, &ann()).unwrap();
        }
    }
    let before = heads();
    for (remote, memory) in remotes {
        let synced = remote.sync(memory, &ann()).unwrap();
        assert_eq!(synced.pushed.commits, 0, "a push at rest");
    }
    assert_eq!(heads(), before, "commits at rest");
}

/// The fields of the open conflict about an object; `None` without one.
fn open(memory: &Memory, name: &str) -> Option<Vec<String>> {
    let conflicts = memory.conflicts().unwrap();
    let found = conflicts.into_iter().find(|open| open.id == id(name));
    found.map(|open| open.fields)
}

/// MSD-3, CFL-3: two machines that trust only themselves keep their own text, show the conflict, and come to rest.
#[test]
fn machines_that_trust_only_themselves_come_to_rest() {
    for (of_a, of_b) in [("of a", "of b"), ("of b", "of a")] {
        let fleet = Fleet::new();
        let remote = fleet.remote(Origin::Import);
        let a = fleet.first();
        let b = fleet.clone("b", Origin::Import);
        put(&b, "plan", of_b);
        put(&a, "plan", of_a);
        remote.push(&a, &ann()).unwrap();
        rest(&[(&remote, &b), (&remote, &a)]);
        assert_eq!(content(&a, "plan").as_deref(), Some(of_a));
        assert_eq!(content(&b, "plan").as_deref(), Some(of_b));
        assert!(open(&a, "plan").is_some() && open(&b, "plan").is_some());
        // Whoever trusts the remote sees one conflict of equals, and changes nothing.
        let c = fleet.clone("c", Origin::DirectUser);
        assert!(open(&c, "plan").is_some());
        // A decision of one machine is open on the other one, and both rest.
        decide(&a, of_a);
        rest(&[(&remote, &b), (&remote, &a), (&remote, &b)]);
        assert_eq!(content(&a, "plan").as_deref(), Some(of_a));
        assert_eq!(open(&a, "plan"), None);
        assert_eq!(content(&b, "plan").as_deref(), Some(of_b));
        assert!(open(&b, "plan").is_some_and(|fields| fields.contains(&"refused".to_owned())));
        decide(&b, of_a);
        rest(&[(&remote, &b), (&remote, &a), (&remote, &b)]);
        assert_eq!(content(&b, "plan").as_deref(), Some(of_a));
        assert_eq!((open(&a, "plan"), open(&b, "plan")), (None, None));
    }
}

/// MGR-3: whoever decides for their own text brings it to the remote, and the conflict does not come back to them.
#[test]
fn a_decision_for_the_own_text_stays() {
    for (of_a, of_b) in [("of a", "of b"), ("of b", "of a")] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.remote(Origin::Import), fleet.first());
        let b = fleet.clone("b", Origin::Import);
        put(&b, "plan", of_b);
        put(&a, "plan", of_a);
        remote.push(&a, &ann()).unwrap();
        rest(&[(&remote, &b), (&remote, &a)]);
        decide(&b, of_b);
        rest(&[(&remote, &b), (&remote, &a)]);
        assert_eq!(
            (open(&b, "plan"), content(&b, "plan").as_deref()),
            (None, Some(of_b))
        );
        assert_eq!(content(&a, "plan").as_deref(), Some(of_a));
        assert!(open(&a, "plan").is_some());
        let c = fleet.clone("c", Origin::DirectUser);
        assert_eq!(
            (open(&c, "plan"), content(&c, "plan").as_deref()),
            (None, Some(of_b))
        );
    }
}

/// Decides the conflict about `plan` for the version with this text.
fn decide(memory: &Memory, text: &str) {
    let conflicts = memory.conflicts().unwrap();
    let conflict = conflicts.iter().find(|open| open.id == id("plan")).unwrap();
    let store = memory.inner.main().store();
    let has_text = |version: &ObjectDigest| {
        let (_, object) = store.records.find_object(*version).unwrap().unwrap();
        object.content() == Some(text)
    };
    let mut versions = conflict.sides.iter().filter_map(|side| side.version);
    let taken = Resolution::Take(versions.find(has_text).unwrap());
    memory.resolve_conflict(&id("plan"), taken, &ann()).unwrap();
}

/// PSH-2: a version that a machine does not take because of its cap is a conflict of that machine alone.
#[test]
fn a_version_that_a_cap_keeps_out_disturbs_nobody_else() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let (capped, b) = (fleet.remote(Origin::Model), fleet.clone("b", Origin::Model));
    put(&b, "plan", "of b");
    put(&b, "note", "of b");
    rest(&[(&capped, &b), (&remote, &a)]);
    put(&a, "plan", "of a");
    a.remove(&id("note"), &ann()).unwrap();
    rest(&[(&remote, &a), (&capped, &b)]);
    assert_eq!(content(&a, "plan").as_deref(), Some("of a"));
    assert_eq!(content(&a, "note"), None);
    assert_eq!(a.conflicts().unwrap().len(), 0);
    assert_eq!(content(&b, "plan").as_deref(), Some("of b"));
    assert_eq!(content(&b, "note").as_deref(), Some("of b"));
    let refused = |name| open(&b, name).is_some_and(|fields| fields.contains(&"refused".to_owned()));
    assert!(refused("plan") && refused("note"));
    // What b writes meanwhile waits for its decision, and takes the place of nothing.
    put(&b, "plan", "more of b");
    put(&b, "other", "of b");
    rest(&[(&capped, &b), (&remote, &a)]);
    assert_eq!(content(&a, "plan").as_deref(), Some("of a"));
    assert_eq!(content(&a, "other").as_deref(), Some("of b"));
    let shown = b.view().get(&id("plan")).unwrap().unwrap().digest();
    b.resolve_conflict(&id("plan"), Resolution::Take(shown), &ann())
        .unwrap();
    b.resolve_conflict(&id("note"), Resolution::Remove, &ann())
        .unwrap();
    rest(&[(&capped, &b), (&remote, &a)]);
    assert_eq!(content(&a, "plan").as_deref(), Some("more of b"));
    assert_eq!(a.view().root(), b.view().root());
}

/// MSD-1: a removal wins only if it is more trusted for everybody, and not only where the other side has a cap.
#[test]
fn a_capped_machine_removes_no_trusted_edit() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let (capped, b) = (fleet.remote(Origin::Model), fleet.clone("b", Origin::Model));
    b.remove(&id("plan"), &ann()).unwrap();
    put(&a, "plan", "of a");
    remote.push(&a, &ann()).unwrap();
    rest(&[(&capped, &b), (&remote, &a)]);
    assert_eq!(content(&a, "plan").as_deref(), Some("of a"));
    assert!(open(&a, "plan").is_some() && open(&b, "plan").is_some());
}

/// A decision for the version that the remote shows is not undone by a machine that shows another one because of its cap.
#[test]
fn a_decision_of_others_stays_theirs() {
    for (of_a, of_b) in [("of a", "of b"), ("of b", "of a")] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let (capped, b) = (fleet.remote(Origin::Import), fleet.clone("b", Origin::Import));
        put(&b, "plan", of_b);
        put(&a, "plan", of_a);
        remote.push(&a, &ann()).unwrap();
        rest(&[(&capped, &b), (&remote, &a)]);
        decide(&a, of_a);
        rest(&[(&remote, &a), (&capped, &b)]);
        assert_eq!(content(&a, "plan").as_deref(), Some(of_a));
        assert_eq!(open(&a, "plan"), None);
        assert_eq!(content(&b, "plan").as_deref(), Some(of_b));
        assert!(open(&b, "plan").is_some());
    }
}

fn erase(memory: &Memory, name: &str) {
    let erasing = Erasing {
        targets: vec![name.to_owned()],
        ..Default::default()
    };
    memory.erase(&erasing, &ann()).unwrap();
}

/// A child that one machine puts below what another one erases keeps a placeholder above it, everywhere.
#[test]
fn a_child_of_what_another_machine_erases_stays() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "top", "swordfish");
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    let mut kid = NewObject::new(id("kid"), Kind::new("note").unwrap());
    kid.parent = Some(id("top"));
    b.put(kid, &ann()).unwrap();
    erase(&a, "top");
    remote.push(&a, &ann()).unwrap();
    rest(&[(&remote, &b), (&remote, &a)]);
    for memory in [&a, &b] {
        assert!(memory.view().contains(&id("kid")).unwrap());
        let top = memory.view().get(&id("top"));
        assert_eq!(top.unwrap_err().code(), ErrorCode::Erased);
    }
    assert_eq!(a.view().root(), b.view().root());
}

/// CFL-2: a conflict takes the place of the placeholder of an earlier one.
#[test]
fn an_erased_conflict_is_no_lock_out() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "plan", "of a");
    put(&b, "plan", "of b");
    rest(&[(&remote, &a), (&remote, &b)]);
    assert!(open(&a, "plan").is_some());
    erase(&a, "plan");
    remote.push(&a, &ann()).unwrap();
    put(&b, "plan", "new of b");
    rest(&[(&remote, &b), (&remote, &a)]);
    assert_eq!(content(&b, "plan").as_deref(), Some("new of b"));
    assert_eq!(a.view().root(), b.view().root());
}

/// MSD-4: a pull with a cap changes nothing, so a removal of what it brought in is taken.
#[test]
fn a_removal_reaches_a_machine_with_a_cap() {
    for cap in [Origin::Import, Origin::Model] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let (capped, b) = (fleet.remote(cap), fleet.clone("b", cap));
        put(&a, "note", "of a");
        rest(&[(&remote, &a), (&capped, &b)]);
        assert_eq!(content(&b, "note").as_deref(), Some("of a"));
        a.remove(&id("note"), &ann()).unwrap();
        rest(&[(&remote, &a), (&capped, &b)]);
        for memory in [&a, &b] {
            assert_eq!(content(memory, "note"), None);
            assert_eq!(memory.conflicts().unwrap().len(), 0);
        }
    }
}

/// MSD-4: what others decided about a conflict of theirs is decided on a machine with a cap, and it opens nothing again.
#[test]
fn a_decision_reaches_a_machine_with_a_cap() {
    for (of_a, of_c) in [("of a", "of c"), ("of c", "of a")] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let c = fleet.clone("c", Origin::DirectUser);
        let (capped, b) = (fleet.remote(Origin::Import), fleet.clone("b", Origin::Import));
        put(&a, "plan", of_a);
        put(&c, "plan", of_c);
        rest(&[(&remote, &a), (&remote, &c), (&capped, &b)]);
        assert!(open(&c, "plan").is_some() && open(&b, "plan").is_some());
        decide(&c, of_c);
        rest(&[(&remote, &c), (&remote, &a), (&capped, &b)]);
        for memory in [&a, &b, &c] {
            assert_eq!(open(memory, "plan"), None);
            assert_eq!(content(memory, "plan").as_deref(), Some(of_c));
        }
    }
}

/// PSH-5: a child of an object whose removal a machine refused waits for the decision, and the machines rest.
#[test]
fn a_child_of_a_refused_removal_waits() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let (capped, b) = (fleet.remote(Origin::Import), fleet.clone("b", Origin::Import));
    put(&b, "note", "of b");
    rest(&[(&capped, &b), (&remote, &a)]);
    a.remove(&id("note"), &ann()).unwrap();
    rest(&[(&remote, &a), (&capped, &b)]);
    assert!(open(&b, "note").is_some_and(|fields| fields.contains(&"refused".to_owned())));
    let mut kid = NewObject::new(id("kid"), Kind::new("note").unwrap());
    kid.parent = Some(id("note"));
    b.put(kid, &ann()).unwrap();
    rest(&[(&capped, &b), (&remote, &a), (&capped, &b)]);
    assert_eq!(content(&a, "kid"), None);
    assert!(b.view().contains(&id("kid")).unwrap());
    let shown = b.view().get(&id("note")).unwrap().unwrap().digest();
    b.resolve_conflict(&id("note"), Resolution::Take(shown), &ann())
        .unwrap();
    rest(&[(&capped, &b), (&remote, &a), (&capped, &b)]);
    assert!(a.view().contains(&id("kid")).unwrap() && a.view().contains(&id("note")).unwrap());
}

/// PSH-1: a machine with a cap and a conflict of its own takes in what others did and undid, and pushes on.
#[test]
fn a_machine_with_a_cap_is_not_locked_out() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let c = fleet.clone("c", Origin::DirectUser);
    let (capped, b) = (fleet.remote(Origin::Import), fleet.clone("b", Origin::Import));
    put(&a, "q", "of a");
    remote.sync(&a, &ann()).unwrap();
    put(&b, "q", "of b");
    capped.sync(&b, &ann()).unwrap();
    remote.sync(&c, &ann()).unwrap();
    put(&c, "z", "passing");
    c.undo(&ann()).unwrap();
    c.snapshot(Some("here"), &ann()).unwrap();
    remote.sync(&c, &ann()).unwrap();
    put(&b, "more", "of b");
    rest(&[(&capped, &b), (&remote, &a), (&remote, &c)]);
    assert_eq!(content(&a, "more").as_deref(), Some("of b"));
}
