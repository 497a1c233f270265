//! Tests of machines that thin their own histories.

use std::time::Duration;

use super::backup::{put, verified};
use super::machines::{Fleet, ann, content, pull};
use super::travel::copy;
use crate::engine::{Memory, Retention};
use crate::object::Origin;

/// Keeps the newest commits, and those that something needs.
fn thin(memory: &Memory, newest: u64) -> u64 {
    let retention = Retention {
        newest,
        all: Duration::MAX,
        ..Retention::nothing()
    };
    memory.gc(&retention, None).unwrap().thinned
}

/// OUT-1: a rewrite moves a version of a thinned commit to the batch of the remote's line. The remote lacks it all the same.
#[test]
fn a_version_of_a_thinned_commit_is_sent_wherever_its_record_is() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    put(&a, "of a", "2");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert!(thin(&b, 1) > 0);
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    assert_eq!(content(&a, "of b").as_deref(), Some("1"));
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(c.view().root(), b.view().root());
}

/// OUT-1: a new remote has nothing of the lines of an old one.
#[test]
fn a_new_remote_gets_what_came_from_the_old_one() {
    let (fleet, other) = (Fleet::new(), Fleet::new());
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    put(&a, "of a", "2");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    crate::remote::Remote::forget("origin", &b, &ann()).unwrap();
    other.origin().push(&b, &ann()).unwrap();
    let c = other.clone("c", Origin::DirectUser);
    assert_eq!(c.view().root(), b.view().root());
}

/// RML-2, MGR-2: a push arrived, its store did not learn it, and thinned what it pushed. Nothing conflicts with itself.
#[test]
fn a_pushed_commit_that_was_thinned_is_continued() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let [path, old] = ["first", "old"].map(|name| fleet.folder.path().join(name));
    put(&a, "plan", "two");
    put(&a, "of a", "1");
    drop(a);
    copy(&path, &old);
    remote.push(&Memory::open(&path).unwrap(), &ann()).unwrap();
    let a = Memory::open(&old).unwrap();
    put(&a, "plan", "three");
    assert!(thin(&a, 1) > 1);
    for round in 0..3 {
        let pulled = pull(&remote, &a);
        assert!(pulled.merged.conflicts.is_empty(), "{round}");
        remote.push(&a, &ann()).unwrap();
        assert!(pull(&remote, &b).merged.conflicts.is_empty(), "{round}");
        assert_eq!(content(&b, "plan"), content(&a, "plan"));
        assert_eq!(a.view().root(), b.view().root());
        put(&a, "plan", &format!("round {round}"));
        put(&b, "of b", &format!("round {round}"));
        thin(&a, 1);
        pull(&remote, &b);
        remote.push(&b, &ann()).unwrap();
    }
    drop((a, b));
    verified(&old);
    verified(&fleet.folder.path().join("b"));
}

/// RML-2: the answer of a push was lost, and its machine thinned what it sent. Another machine has continued that.
#[test]
fn a_thinned_commit_that_another_machine_continued_is_taken_in_again() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let [path, old] = ["first", "old"].map(|name| fleet.folder.path().join(name));
    put(&a, "plan", "two");
    put(&a, "of a", "1");
    drop(a);
    copy(&path, &old);
    remote.push(&Memory::open(&path).unwrap(), &ann()).unwrap();
    let a = Memory::open(&old).unwrap();
    put(&a, "of a", "2");
    assert!(thin(&a, 1) > 1);
    put(&b, "of b", "1");
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    assert!(pull(&remote, &a).merged.conflicts.is_empty());
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert_eq!(a.view().root(), b.view().root());
    assert_eq!(content(&b, "of a").as_deref(), Some("2"));
    drop((a, b));
    verified(&old);
}

/// RML-2: a thinned commit before a kept one counts as had.
#[test]
fn a_thinned_commit_before_a_kept_one_is_not_taken_in() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let [path, old] = ["first", "old"].map(|name| fleet.folder.path().join(name));
    put(&a, "plan", "two");
    put(&a, "of a", "1");
    drop(a);
    copy(&path, &old);
    remote.push(&Memory::open(&path).unwrap(), &ann()).unwrap();
    let a = Memory::open(&old).unwrap();
    assert!(thin(&a, 1) > 0);
    put(&b, "of b", "1");
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    let pulled = pull(&remote, &a);
    assert_eq!(pulled.fetched.commits, 3, "of b, its merge and its push");
    assert_eq!(a.view().root(), b.view().root());
}
