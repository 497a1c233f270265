//! Tests of pushes and pulls that leave other machines, and themselves, in peace.

use super::backup::put;
use super::machines::{Fleet, ann, id, pull};
use crate::engine::Memory;
use crate::object::Origin;

/// PSH-2: what a clone shows with a lower class keeps its class everywhere else.
#[test]
fn a_capped_clone_lowers_no_class_elsewhere() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let capped = fleet.clone("capped", Origin::Import);
    let class = |memory: &Memory| memory.view().get(&id("plan")).unwrap().unwrap().origin();
    assert_eq!(class(&capped), Origin::Import);
    assert_eq!(remote.push(&capped, &ann()).unwrap().commits, 0);
    put(&capped, "of the capped one", "1");
    assert_eq!(remote.push(&capped, &ann()).unwrap().commits, 1);
    pull(&remote, &a);
    let trusting = fleet.clone("trusting", Origin::DirectUser);
    for memory in [&a, &trusting] {
        assert_eq!(class(memory), Origin::DirectUser);
        assert_eq!(memory.view().root(), capped.view().root());
    }
}

/// A machine that merged once and then writes alone makes no merges of its own pushes.
#[test]
fn own_pushes_are_not_merged() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    remote.push(&b, &ann()).unwrap();
    put(&a, "of a", "1");
    assert!(pull(&remote, &a).merged.committed.changed);
    remote.push(&a, &ann()).unwrap();
    for number in 0..3 {
        put(&a, &format!("more/{number}"), "1");
        assert!(!pull(&remote, &a).merged.committed.changed);
        assert_eq!(remote.push(&a, &ann()).unwrap().commits, 1, "the put");
    }
    pull(&remote, &b);
    assert_eq!(a.view().root(), b.view().root());
    // Commits of the other machine are still merged.
    put(&b, "later", "1");
    remote.push(&b, &ann()).unwrap();
    put(&a, "last", "1");
    assert!(pull(&remote, &a).merged.committed.changed);
}
