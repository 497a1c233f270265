//! Tests of machines that share one memory through two remotes.

use std::sync::Arc;

use super::backup::put;
use super::machines::{Fleet, ann, content, id};
use crate::engine::Memory;
use crate::object::Origin;
use crate::remote::Remote;
use crate::testing::sim_bucket::SimBucket;

/// Two machines, a first remote of both, and a second one.
struct Two {
    _fleet: Fleet,
    remotes: [Remote; 2],
    a: Memory,
    b: Memory,
}

fn two() -> Two {
    let fleet = Fleet::new();
    let second = Remote::on("second", Arc::new(SimBucket::default()), Origin::DirectUser).unwrap();
    let (a, b) = (fleet.first(), fleet.clone("b", Origin::DirectUser));
    Two {
        remotes: [fleet.origin(), second],
        _fleet: fleet,
        a,
        b,
    }
}

impl Two {
    fn sync(&self, memory: &Memory, remotes: &[usize]) {
        for number in remotes {
            self.remotes[*number].sync(memory, &ann()).unwrap();
        }
    }

    /// Asserts that both machines have one state, no conflict, and make no commit any more.
    fn assert_at_rest(&self) {
        for _ in 0..3 {
            self.sync(&self.a, &[0, 1]);
            self.sync(&self.b, &[0, 1]);
        }
        let heads = || [&self.a, &self.b].map(|memory| memory.view().commit().digest);
        let before = heads();
        self.sync(&self.a, &[0, 1]);
        self.sync(&self.b, &[0, 1]);
        assert_eq!(heads(), before, "commits at rest");
        assert_eq!(self.a.view().root(), self.b.view().root());
        assert!(self.a.conflicts().unwrap().is_empty());
    }
}

/// MGR-4: a removal that comes through one remote is not taken back by the other one.
#[test]
fn a_removal_stays_with_two_remotes() {
    let two = two();
    put(&two.b, "x", "v0");
    two.sync(&two.b, &[1]);
    two.sync(&two.a, &[1]);
    two.b.remove(&id("x"), &ann()).unwrap();
    two.sync(&two.b, &[0]);
    two.sync(&two.a, &[0]);
    two.sync(&two.b, &[0]);
    two.assert_at_rest();
    assert_eq!((content(&two.a, "x"), content(&two.b, "x")), (None, None));
}

/// MGR-4: the edits of one writer are no conflict, whichever way they take.
#[test]
fn edits_of_one_writer_are_no_conflict_with_two_remotes() {
    for (ways_of_b, ways_of_a) in [([0, 1], [0, 1]), ([0, 1], [1, 0]), ([1, 0], [0, 1])] {
        let two = two();
        for round in 0..4 {
            put(&two.b, "x", &format!("v{round}"));
            two.sync(&two.b, &ways_of_b);
            two.sync(&two.a, &ways_of_a);
            assert_eq!(
                content(&two.a, "x"),
                Some(format!("v{round}")),
                "{ways_of_b:?} {ways_of_a:?}"
            );
        }
        two.assert_at_rest();
    }
}

/// MGR-4: pulls and pushes over two remotes end.
#[test]
fn machines_with_two_remotes_come_to_rest() {
    let two = two();
    two.remotes[1].push(&two.a, &ann()).unwrap();
    put(&two.a, "x", "1");
    two.sync(&two.a, &[1]);
    put(&two.a, "x", "2");
    two.remotes[1].pull(&two.b, &ann()).unwrap();
    two.remotes[0].push(&two.b, &ann()).unwrap();
    two.assert_at_rest();
    assert_eq!(content(&two.b, "x").as_deref(), Some("2"));
}
