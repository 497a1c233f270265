//! Tests of who erases what: erasures between two remotes, behind thinned commits, and beside kept drafts.

use std::sync::Arc;

use super::backup::{object, put, verified};
use super::erasure::{SECRET, erase, holders, is_on_disk, shown};
use super::machines::{Fleet, ann, content, id, pull};
use super::thinned::thin;
use crate::engine::Memory;
use crate::object::Origin;
use crate::remote::Remote;

const OLD_SECRET: &str = "an old secret";

/// Two remotes. The machines `a` and `b` know both, `d` only the second.
struct Two {
    fleet: Fleet,
    elsewhere: Fleet,
    second: Remote,
    a: Memory,
    b: Memory,
    d: Memory,
}

impl Two {
    /// Begins with a note in both remotes.
    fn new() -> Self {
        let (fleet, elsewhere) = (Fleet::new(), Fleet::new());
        let a = fleet.first();
        put(&a, "old", OLD_SECRET);
        put(&a, "old", "harmless");
        put(&a, "note", SECRET);
        fleet.origin().push(&a, &ann()).unwrap();
        let b = fleet.clone("b", Origin::DirectUser);
        let second = Remote::on("second", Arc::new(elsewhere.service.clone()), Origin::DirectUser).unwrap();
        second.push(&b, &ann()).unwrap();
        let d = elsewhere.clone("d", Origin::DirectUser);
        Self {
            fleet,
            elsewhere,
            second,
            a,
            b,
            d,
        }
    }

    /// The first machine erases the note.
    fn erase(&self) {
        erase(&self.a, "note");
        self.fleet.origin().push(&self.a, &ann()).unwrap();
    }

    fn push(&self, memory: &Memory) {
        self.second.push(memory, &ann()).unwrap();
    }

    /// Pulls to `d`. Returns what was erased there.
    fn pull_to_d(&self) -> u64 {
        // The remote has the name `origin` there.
        pull(&self.elsewhere.origin(), &self.d).fetched.erased
    }

    fn verified(self) {
        drop((self.a, self.b, self.d));
        for (fleet, name) in [(&self.fleet, "first"), (&self.fleet, "b"), (&self.elsewhere, "d")] {
            verified(&fleet.folder.path().join(name));
        }
    }
}

/// RML-4, PSH-4: a remote that may not erase here erases nothing in another remote.
#[test]
fn a_remote_that_may_not_erase_erases_in_no_other_one() {
    let two = Two::new();
    put(&two.b, "of b", "1");
    assert!(thin(&two.b, 1) > 0 && !is_on_disk(&two.fleet, "b", OLD_SECRET));
    erase(&two.a, "old");
    two.erase();
    let pulled = pull(&two.fleet.remote(Origin::Model), &two.b);
    assert_eq!((pulled.fetched.erased, pulled.fetched.not_erased), (0, 2));
    two.push(&two.b);
    assert_eq!(two.pull_to_d(), 0);
    for text in [SECRET, OLD_SECRET] {
        assert!(!holders(&two.elsewhere.service, text).is_empty(), "{text}");
    }
    assert!(is_on_disk(&two.fleet, "b", SECRET) && is_on_disk(&two.elsewhere, "d", SECRET));
    // Nor does a clone of it, which has the erasing commit on its main line.
    let c = two.fleet.clone("c", Origin::Model);
    put(&c, "of c", "1");
    pull(&two.second, &c);
    two.push(&c);
    assert_eq!(two.pull_to_d(), 0);
    assert!(!holders(&two.elsewhere.service, SECRET).is_empty());
    two.verified();
}

/// PSH-4: what was put behind the erasure of one remote stays in the other one, also if the put has the erasure along.
#[test]
fn what_is_put_behind_a_fetched_erasure_stays() {
    let two = Two::new();
    two.erase();
    assert!(two.fleet.origin().fetch(&two.b, &ann()).unwrap().erased > 0);
    put(&two.b, "note", "put again");
    two.push(&two.b);
    assert!(two.pull_to_d() > 0);
    assert_eq!(holders(&two.elsewhere.service, SECRET), Vec::<String>::new());
    for memory in [&two.b, &two.d] {
        assert_eq!(content(memory, "note").as_deref(), Some("put again"));
    }
    two.verified();
}

/// PSH-4: an erasure that both remotes have does not travel from one to the other. So what was put again in the other stays.
#[test]
fn an_erasure_that_both_remotes_have_does_not_travel() {
    for text in [SECRET, "another text"] {
        let two = Two::new();
        two.erase();
        two.push(&two.a);
        assert!(two.pull_to_d() > 0);
        put(&two.d, "note", text);
        two.elsewhere.origin().push(&two.d, &ann()).unwrap();
        pull(&two.fleet.origin(), &two.b);
        pull(&two.second, &two.b);
        assert_eq!(two.second.push(&two.b, &ann()).unwrap().commits, 0);
        put(&two.b, "of b", "1");
        two.push(&two.b);
        assert_eq!(two.pull_to_d(), 0);
        for memory in [&two.b, &two.d] {
            assert_eq!(content(memory, "note").as_deref(), Some(text));
        }
        assert!(!holders(&two.elsewhere.service, text).is_empty());
        two.verified();
    }
}

/// FOR-2, ELS-1: an erasure that one remote brought is not done again when another one brings it.
#[test]
fn an_erasure_that_two_remotes_bring_erases_once() {
    let two = Two::new();
    two.erase();
    two.push(&two.a);
    assert!(pull(&two.fleet.origin(), &two.b).fetched.erased > 0);
    put(&two.b, "note", SECRET);
    assert_eq!(pull(&two.second, &two.b).fetched.erased, 0);
    assert_eq!(content(&two.b, "note").as_deref(), Some(SECRET));
    two.push(&two.b);
    two.pull_to_d();
    assert_eq!(content(&two.d, "note").as_deref(), Some(SECRET));
    two.verified();
}

/// PSH-4: what another machine put between an erasure and its way to the second remote stays.
#[test]
fn what_was_put_before_an_erasure_travelled_on_stays() {
    let two = Two::new();
    two.erase();
    put(&two.d, "note", "put anew");
    two.elsewhere.origin().push(&two.d, &ann()).unwrap();
    pull(&two.fleet.origin(), &two.b);
    pull(&two.second, &two.b);
    put(&two.b, "of b", "1");
    two.push(&two.b);
    two.pull_to_d();
    for memory in [&two.b, &two.d] {
        assert_eq!(content(memory, "note").as_deref(), Some("put anew"));
    }
    assert!(!holders(&two.elsewhere.service, "put anew").is_empty());
    assert_eq!(holders(&two.elsewhere.service, SECRET), Vec::<String>::new());
    two.verified();
}

/// PSH-4: a commit between the fetch of an erasure and its merge takes along that the whole id is erased.
#[test]
fn a_commit_before_the_merge_takes_an_erasure_of_an_id_along() {
    for has_commit in [false, true] {
        let two = Two::new();
        // Only the second remote and `d` have the older version then.
        for memory in [&two.a, &two.b] {
            put(memory, "counter", "1");
            put(memory, "counter", "2");
            assert!(thin(memory, 1) > 1);
        }
        assert!(!is_on_disk(&two.fleet, "first", OLD_SECRET));
        erase(&two.a, "old");
        two.fleet.origin().pull(&two.a, &ann()).unwrap();
        two.fleet.origin().push(&two.a, &ann()).unwrap();
        two.fleet.origin().fetch(&two.b, &ann()).unwrap();
        if has_commit {
            put(&two.b, "of b", "1");
        }
        pull(&two.fleet.origin(), &two.b);
        two.push(&two.b);
        two.pull_to_d();
        let left = holders(&two.elsewhere.service, OLD_SECRET);
        assert_eq!(left, Vec::<String>::new(), "{has_commit}");
        assert!(!is_on_disk(&two.elsewhere, "d", OLD_SECRET), "{has_commit}");
        two.verified();
    }
}

/// PSH-4: an erasure travels on also if both states are equal, because the other remote had removed the id.
#[test]
fn an_erasure_of_what_the_other_remote_removed_travels_on() {
    let two = Two::new();
    two.d.remove(&id("note"), &ann()).unwrap();
    two.elsewhere.origin().push(&two.d, &ann()).unwrap();
    pull(&two.second, &two.b);
    two.push(&two.b);
    two.erase();
    pull(&two.fleet.origin(), &two.b);
    pull(&two.second, &two.b);
    two.push(&two.b);
    assert_eq!(holders(&two.elsewhere.service, SECRET), Vec::<String>::new());
    assert!(two.pull_to_d() > 0);
    assert!(!is_on_disk(&two.elsewhere, "d", SECRET));
    // Then both rest.
    assert_eq!(two.second.push(&two.b, &ann()).unwrap().commits, 0);
    two.verified();
}

/// RML-4: a collection of one remote erases nothing that another remote erased which may not erase here.
#[test]
fn a_collection_erases_nothing_of_a_remote_that_may_not_erase() {
    let two = Two::new();
    put(&two.b, "of b", "1");
    assert!(thin(&two.b, 1) > 0 && !is_on_disk(&two.fleet, "b", OLD_SECRET));
    erase(&two.a, "old");
    two.fleet.origin().push(&two.a, &ann()).unwrap();
    pull(&two.fleet.remote(Origin::Model), &two.b);
    two.push(&two.b);
    two.second.gc(&two.b).unwrap();
    assert!(!holders(&two.elsewhere.service, OLD_SECRET).is_empty());
    // A collection erases what this store erased.
    erase(&two.b, "note");
    two.push(&two.b);
    two.second.gc(&two.b).unwrap();
    assert_eq!(holders(&two.elsewhere.service, SECRET), Vec::<String>::new());
    two.verified();
}

/// EID-1: a version behind thinned commits counts by the time at which it was written, and not by that of its batch.
#[test]
fn a_version_behind_thinned_commits_has_its_own_time() {
    for (is_later, pushed_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        put(&a, "note", SECRET);
        remote.push(&a, &ann()).unwrap();
        let b = fleet.clone("b", Origin::DirectUser);
        let change = || put(&b, "note", "what b wrote");
        if !is_later {
            change();
        }
        erase(&a, "note");
        if is_later {
            change();
        }
        put(&b, "counter", "1");
        put(&b, "counter", "2");
        assert!(thin(&b, 1) > 1);
        let (first, other) = if pushed_first { (&a, &b) } else { (&b, &a) };
        remote.push(first, &ann()).unwrap();
        for memory in [other, first, other, first] {
            pull(&remote, memory);
            remote.push(memory, &ann()).unwrap();
        }
        let case = format!("later {is_later}, pushed first {pushed_first}");
        let new = fleet.clone("new", Origin::DirectUser);
        let expected = shown(&new, "note");
        for memory in [&a, &b] {
            assert_eq!(memory.view().root(), new.view().root(), "{case}");
            assert_eq!(shown(memory, "note"), expected, "{case}");
        }
        let is_left = expected == Ok(Some("what b wrote".to_owned()));
        assert_eq!(is_left, is_later, "{case}: {expected:?}");
        let text = "what b wrote";
        assert_eq!(!holders(&fleet.service, text).is_empty(), is_later, "{case}");
        for (memory, name) in [(a, "first"), (b, "b"), (new, "new")] {
            drop(memory);
            verified(&fleet.folder.path().join(name));
            assert_eq!(is_on_disk(&fleet, name, text), is_later, "{case}: {name}");
        }
    }
}

/// EID-1: a draft that was kept behind the erasure is later, though it has no commit.
#[test]
fn a_draft_behind_an_erasure_stays() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "note", SECRET);
    remote.push(&a, &ann()).unwrap();
    let save = |name: &str| {
        let mut draft = a.draft(&ann());
        draft.put(object("note", &format!("a draft {name}"))).unwrap();
        a.save_draft(&draft, name).unwrap();
    };
    save("before");
    erase(&a, "note");
    save("behind");
    remote.push(&a, &ann()).unwrap();
    let draft = a.open_draft("drafts/behind", &ann()).unwrap();
    let found = draft.get(&id("note")).unwrap().unwrap();
    assert_eq!(found.content(), Some("a draft behind"));
    assert!(!is_on_disk(&fleet, "first", "a draft before"));
}

/// RRW-1: a remote whose segments were written anew has its batches under their numbers. So a machine reads on behind them.
#[test]
fn batches_of_a_rewritten_remote_keep_their_numbers() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let numbers = || {
        let place = super::upkeep::place(&fleet);
        let log = place.read().unwrap().log;
        let read = (0..log.segments.len()).flat_map(|index| place.batches(&log, index).unwrap());
        read.map(|batch| (batch.number, batch.commit)).collect::<Vec<_>>()
    };
    for name in ["one", "secret", "two", "secret"] {
        put(&a, name, SECRET);
        remote.push(&a, &ann()).unwrap();
    }
    let b = fleet.clone("b", Origin::DirectUser);
    let before = numbers();
    erase(&a, "secret");
    remote.push(&a, &ann()).unwrap();
    assert_eq!(numbers()[..before.len()], before);
    assert_eq!(pull(&remote, &b).fetched.commits, 1);
}
