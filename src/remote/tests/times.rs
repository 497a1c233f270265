//! Tests of the times of versions: an erasure of an id knows when a version was written, whoever moved its record.

use super::backup::{object, put, verified};
use super::erasure::{SECRET, erase, holders, is_on_disk, shown};
use super::machines::{Fleet, ann, pull};
use super::thinned::thin;
use crate::engine::Memory;
use crate::object::Origin;

const TEXT: &str = "what b wrote";

/// A note in a remote and on two machines, of which the first one erases it.
struct Erasing {
    fleet: Fleet,
    a: Memory,
    b: Memory,
}

impl Erasing {
    fn new() -> Self {
        let fleet = Fleet::new();
        let a = fleet.first();
        put(&a, "note", SECRET);
        fleet.origin().push(&a, &ann()).unwrap();
        let b = fleet.clone("b", Origin::DirectUser);
        Self { fleet, a, b }
    }

    fn push(&self, memory: &Memory) {
        self.fleet.origin().push(memory, &ann()).unwrap();
    }

    fn pull(&self, memory: &Memory) {
        pull(&self.fleet.origin(), memory);
    }

    /// Exchanges all, and checks that the text of `b` is everywhere or nowhere.
    fn ends(self, is_left: bool, case: &str) {
        for memory in [&self.a, &self.b, &self.a, &self.b] {
            self.pull(memory);
            self.push(memory);
        }
        let new = self.fleet.clone("new", Origin::DirectUser);
        let is_shown = |memory: &Memory| shown(memory, "note") == Ok(Some(TEXT.to_owned()));
        for memory in [&self.a, &self.b, &new] {
            assert_eq!(memory.view().root(), new.view().root(), "{case}");
            assert_eq!(is_shown(memory), is_left, "{case}: {:?}", shown(memory, "note"));
        }
        assert_eq!(!holders(&self.fleet.service, TEXT).is_empty(), is_left, "{case}");
        // A collection of the remote finds the same.
        self.fleet.origin().collect_idle(&self.b, 0).unwrap();
        assert_eq!(!holders(&self.fleet.service, TEXT).is_empty(), is_left, "{case}");
        drop((self.a, self.b, new));
        for name in ["first", "b", "new"] {
            verified(&self.fleet.folder.path().join(name));
            assert_eq!(is_on_disk(&self.fleet, name, TEXT), is_left, "{case}: {name}");
        }
    }
}

/// EID-1, WRT-1: what a fork wrote counts by the time of the fork's commit, and not by that of the merge. So it does also if the fork
/// was dropped and collected.
#[test]
fn a_version_of_a_fork_has_the_time_of_its_commit() {
    for (is_later, is_collected) in [(false, false), (false, true), (true, false), (true, true)] {
        let machines = Erasing::new();
        let Erasing { a, b, .. } = &machines;
        let fork = b.fork("f").by(&ann()).unwrap();
        if is_later {
            erase(a, "note");
        }
        put(&fork, "note", TEXT);
        if !is_later {
            erase(a, "note");
        }
        b.merge("f").by(&ann()).unwrap();
        drop(fork);
        if is_collected {
            b.drop_fork("f", true, &ann()).unwrap();
            put(b, "counter", "1");
            put(b, "counter", "2");
            assert!(thin(b, 1) > 0);
        }
        machines.push(b);
        machines.pull(a);
        machines.push(a);
        machines.ends(is_later, &format!("later {is_later}, collected {is_collected}"));
    }
}

/// EID-1, WRT-1: a version that arrives in the batch of a push has its own time, because the base of its side line was thinned.
#[test]
fn a_version_that_a_push_brings_has_its_own_time() {
    for is_later in [false, true] {
        let machines = Erasing::new();
        let Erasing { a, b, .. } = &machines;
        put(a, "of a", "1");
        machines.push(a);
        if is_later {
            erase(a, "note");
        }
        put(b, "note", TEXT);
        if !is_later {
            erase(a, "note");
        }
        machines.pull(b);
        machines.push(b);
        put(a, "counter", "1");
        put(a, "counter", "2");
        assert!(thin(a, 1) > 0);
        machines.pull(a);
        machines.push(a);
        machines.ends(is_later, &format!("later {is_later}"));
    }
}

/// EID-1, WRT-1: a draft that was kept before the erasure and committed behind it counts by the time at which it was kept, on every
/// machine.
#[test]
fn a_committed_draft_has_the_time_at_which_it_was_kept() {
    for is_later in [false, true] {
        let machines = Erasing::new();
        let Erasing { a, b, .. } = &machines;
        if is_later {
            erase(a, "note");
        }
        let mut draft = b.draft(&ann());
        draft.put(object("note", TEXT)).unwrap();
        b.save_draft(&draft, "kept").unwrap();
        if !is_later {
            erase(a, "note");
        }
        let kept = b.open_draft("drafts/kept", &ann()).unwrap();
        b.commit(kept, "put").unwrap();
        b.delete_draft("drafts/kept", &ann()).unwrap();
        machines.push(b);
        machines.pull(a);
        machines.push(a);
        machines.ends(is_later, &format!("later {is_later}"));
    }
}

/// EID-1, WRT-1: a version that is kept only because another one was derived from it has its own time, also behind a collection of the
/// machine.
#[test]
fn a_collected_source_has_its_own_time() {
    for is_later in [false, true] {
        let machines = Erasing::new();
        let Erasing { a, b, .. } = &machines;
        if is_later {
            erase(a, "note");
        }
        put(b, "note", TEXT);
        let mut summary = object("summary", "short");
        let source = b.view().get(&super::machines::id("note")).unwrap().unwrap();
        summary.derived_from = vec![source.digest()];
        put(b, "note", "harmless");
        if !is_later {
            erase(a, "note");
        }
        b.put(summary, &ann()).unwrap();
        put(b, "counter", "1");
        put(b, "counter", "2");
        assert!(thin(b, 1) > 1);
        machines.push(b);
        machines.pull(a);
        machines.push(a);
        for memory in [a, b, a, b] {
            machines.pull(memory);
            machines.push(memory);
        }
        assert_eq!(
            !holders(&machines.fleet.service, TEXT).is_empty(),
            is_later,
            "later {is_later}"
        );
        for name in ["first", "b"] {
            assert_eq!(
                is_on_disk(&machines.fleet, name, TEXT),
                is_later,
                "later {is_later}: {name}"
            );
        }
    }
}

/// WRT-1, RGC-2: a version of a dropped side line that stays keeps its time.
#[test]
fn a_version_of_a_dropped_side_line_has_its_own_time() {
    for is_later in [false, true] {
        let machines = Erasing::new();
        let Erasing { a, b, .. } = &machines;
        // The collection runs before the erasure is known to anybody else.
        put(a, "of a", "1");
        machines.push(a);
        let c = machines.fleet.clone("c", Origin::DirectUser);
        if is_later {
            erase(&c, "note");
        }
        put(b, "note", TEXT);
        if !is_later {
            erase(&c, "note");
        }
        machines.pull(b);
        machines.push(b);
        let collected = machines.fleet.origin().collect_idle(b, 0).unwrap();
        assert_eq!(collected.dropped.len(), 1);
        machines.pull(&c);
        machines.push(&c);
        drop(c);
        machines.ends(is_later, &format!("later {is_later}"));
    }
}
