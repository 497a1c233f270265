//! Tests of machines that thin their own histories.

use std::time::Duration;

use super::backup::{object, put, verified};
use super::machines::{Fleet, ann, content, pull};
use super::travel::copy;
use crate::engine::{Memory, Retention};
use crate::error::{ErrorCode, ErrorKind};
use crate::object::Origin;
use crate::remote::Remote;

/// Keeps the newest commits, and those that something needs.
pub(super) fn thin(memory: &Memory, newest: u64) -> u64 {
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

/// OUT-1: a version that a draft alone needed, in the batch of a commit without it, is sent with the commit that shows it again.
#[test]
fn a_version_of_a_thinned_commit_that_came_back_is_sent() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "note", "first");
    put(&b, "note", "second");
    let mut draft = b.draft(&ann());
    draft.put(object("note", "first")).unwrap();
    b.save_draft(&draft, "first").unwrap();
    // The draft alone needs the first version now.
    assert!(thin(&b, 1) > 0);
    put(&b, "note", "first");
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    assert_eq!(content(&a, "note").as_deref(), Some("first"));
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
    Remote::forget("origin", &b, &ann()).unwrap();
    other.origin().push(&b, &ann()).unwrap();
    let c = other.clone("c", Origin::DirectUser);
    assert_eq!(c.view().root(), b.view().root());
}

/// A machine of which a push arrived without its answer, and another machine that was cloned before.
struct Unanswered {
    fleet: Fleet,
    remote: Remote,
    a: Memory,
    b: Memory,
}

impl Unanswered {
    fn new() -> Self {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let b = fleet.clone("b", Origin::DirectUser);
        put(&a, "plan", "two");
        put(&a, "of a", "1");
        let a = without_answer(&fleet, a);
        Self { fleet, remote, a, b }
    }

    /// The other machine continues what was pushed.
    fn continued(&self) {
        put(&self.b, "of b", "1");
        pull(&self.remote, &self.b);
        self.remote.push(&self.b, &ann()).unwrap();
    }

    fn verified(self) {
        drop((self.a, self.b));
        for name in ["old", "b"] {
            verified(&self.fleet.folder.path().join(name));
        }
    }
}

/// Pushes the first memory of a fleet. Returns it as it was before.
fn without_answer(fleet: &Fleet, memory: Memory) -> Memory {
    drop(memory);
    let [path, old] = ["first", "old"].map(|name| fleet.folder.path().join(name));
    copy(&path, &old);
    fleet
        .origin()
        .push(&Memory::open(&path).unwrap(), &ann())
        .unwrap();
    Memory::open(&old).unwrap()
}

/// RML-2, MGR-2: a push arrived, its store did not learn it, and thinned what it pushed. Nothing conflicts with itself.
#[test]
fn a_pushed_commit_that_was_thinned_is_continued() {
    let machines = Unanswered::new();
    let Unanswered { remote, a, b, .. } = &machines;
    put(a, "plan", "three");
    assert!(thin(a, 1) > 1);
    for round in 0..3 {
        let pulled = pull(remote, a);
        assert!(pulled.merged.conflicts.is_empty(), "{round}");
        remote.push(a, &ann()).unwrap();
        assert!(pull(remote, b).merged.conflicts.is_empty(), "{round}");
        assert_eq!(content(b, "plan"), content(a, "plan"));
        assert_eq!(a.view().root(), b.view().root());
        put(a, "plan", &format!("round {round}"));
        put(b, "of b", &format!("round {round}"));
        thin(a, 1);
        pull(remote, b);
        remote.push(b, &ann()).unwrap();
    }
    machines.verified();
}

/// RML-2: the answer of a push was lost, and its machine thinned what it sent. Another machine has continued that.
#[test]
fn a_thinned_commit_that_another_machine_continued_is_taken_in_again() {
    let machines = Unanswered::new();
    let Unanswered { remote, a, b, .. } = &machines;
    put(a, "of a", "2");
    assert!(thin(a, 1) > 1);
    machines.continued();
    assert!(pull(remote, a).merged.conflicts.is_empty());
    remote.push(a, &ann()).unwrap();
    pull(remote, b);
    assert_eq!(a.view().root(), b.view().root());
    assert_eq!(content(b, "of a").as_deref(), Some("2"));
    machines.verified();
}

/// RML-2: if nothing is left of what was pushed, not even the first commit, the remote must be cloned anew.
#[test]
fn a_first_push_that_was_thinned_cannot_be_continued() {
    for was_thinned in [false, true] {
        a_first_push_cannot_be_continued(was_thinned);
    }
}

fn a_first_push_cannot_be_continued(was_thinned: bool) {
    let fleet = Fleet::new();
    let a = Memory::create(fleet.folder.path().join("first")).unwrap();
    put(&a, "of a", "1");
    put(&a, "of a", "2");
    // Then the remote begins with a gap.
    assert!(!was_thinned || thin(&a, 1) > 0);
    let a = without_answer(&fleet, a);
    put(&a, "of a", "3");
    assert!(thin(&a, 1) > 0);
    let (remote, b) = (fleet.origin(), fleet.clone("b", Origin::DirectUser));
    let machines = Unanswered { fleet, remote, a, b };
    machines.continued();
    let error = machines.remote.pull(&machines.a, &ann()).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::NotFound, ErrorCode::Thinned)
    );
    machines.verified();
}

/// RML-2: a thinned commit before a kept one counts as had.
#[test]
fn a_thinned_commit_before_a_kept_one_is_not_taken_in() {
    let machines = Unanswered::new();
    let Unanswered { remote, a, b, .. } = &machines;
    assert!(thin(a, 1) > 0);
    machines.continued();
    let pulled = pull(remote, a);
    assert_eq!(pulled.fetched.commits, 2, "of b, and its merge");
    assert_eq!(a.view().root(), b.view().root());
}

/// FOR-3, CFL-1: a machine that does not take in a side line gets both versions of a conflict of that line.
#[test]
fn a_conflict_of_a_line_that_is_not_taken_in_has_its_versions() {
    for (of_a, of_c) in [("of a", "of c"), ("of c", "of a")] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let [b, c] = ["b", "c"].map(|name| fleet.clone(name, Origin::DirectUser));
        for text in ["1", "2", "3"] {
            put(&b, "of b", text);
        }
        remote.push(&b, &ann()).unwrap();
        assert!(thin(&b, 1) > 0, "the commit at which the others begin");
        for (machine, text) in [(&a, of_a), (&c, of_c)] {
            put(machine, "text", text);
            pull(&remote, machine);
            remote.push(machine, &ann()).unwrap();
        }
        pull(&remote, &b);
        assert_eq!(b.view().root(), c.view().root());
        let open = b.conflicts().unwrap().remove(0);
        let sides = open.sides.iter().map(|side| b.version(side.version.unwrap()));
        let mut texts: Vec<_> = sides
            .map(|version| {
                version
                    .unwrap()
                    .map(|version| version.content().unwrap().to_owned())
            })
            .collect();
        texts.sort();
        assert_eq!(texts, [Some("of a".to_owned()), Some("of c".to_owned())]);
        drop(b);
        verified(&fleet.folder.path().join("b"));
    }
}
