//! Tests of `sync` and of acknowledgements by a remote.

use std::sync::Arc;

use super::backup::{put, verified};
use super::machines::{Fleet, NoSecrets, ann, content, id};
use crate::engine::{Change, Draft, Memory, Options, PolicyVerdict, Strategy, WritePolicy, Writer};
use crate::error::{ErrorCode, ErrorKind};
use crate::object::{Id, Kind, NewObject, Origin};
use crate::remote::{Remote, Synced};
use crate::testing::sim_bucket::SimBucket;

fn sync(remote: &Remote, memory: &Memory) -> Synced {
    remote.sync(memory, &ann()).unwrap()
}

/// Makes another machine commit and push just before the next push of this one is published.
fn set_rival(fleet: &Fleet, rival: &Memory, number: u32) {
    let (remote, memory) = (fleet.origin(), rival.clone());
    fleet.service.before_swap(move || {
        put(&memory, &format!("rival/{number}"), "1");
        remote.sync(&memory, &ann()).unwrap();
    });
}

#[test]
fn an_empty_remote_gets_the_first_push_and_an_idle_round_costs_one_request() {
    let fleet = Fleet::new();
    let remote = fleet.origin();
    let a = Memory::create(fleet.folder.path().join("a")).unwrap();
    put(&a, "plan", "one");
    let first = sync(&remote, &a);
    assert!(first.changed());
    assert_eq!((first.pulled.fetched.commits, first.pushed.commits), (0, 2));
    let idle = sync(&remote, &a);
    assert!(!idle.changed());
    assert_eq!(
        (idle.pulled.fetched.requests, idle.pushed.requests),
        (1, 0),
        "{idle:?}"
    );
    // A remote that was there and is gone is no empty one.
    fleet.service.restore(std::collections::BTreeMap::new());
    let gone = remote.sync(&a, &ann()).unwrap_err();
    assert_eq!(
        (gone.code(), gone.kind()),
        (ErrorCode::RemoteWentBack, ErrorKind::Corrupt)
    );
    assert!(fleet.service.objects().is_empty(), "nothing is begun anew");
}

/// A rival that is always faster: each of its pushes sets the next one.
#[derive(Clone)]
struct Again {
    service: SimBucket,
    memory: Arc<Memory>,
}

impl Again {
    fn of(fleet: &Fleet, rival: &Memory) -> Self {
        Self {
            service: fleet.service.clone(),
            memory: Arc::new(rival.clone()),
        }
    }

    fn set(&self, number: u32) {
        let again = self.clone();
        self.service.before_swap(move || {
            put(&again.memory, &format!("fast/{number}"), "1");
            let remote = Remote::on("origin", Arc::new(again.service.clone()), Origin::DirectUser);
            remote.unwrap().sync(&again.memory, &ann()).unwrap();
            again.set(number + 1);
        });
    }
}

/// SYN-1
#[test]
fn a_lost_race_is_run_again_but_not_for_ever() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    set_rival(&fleet, &a, 0);
    let synced = sync(&remote, &b);
    assert_eq!(synced.lost, 1);
    assert_eq!(synced.pulled.fetched.commits, 1, "the pulls of both rounds count");
    assert_eq!(synced.pulled.merged.counts.added, 1);
    assert_eq!(content(&b, "rival/0").as_deref(), Some("1"));
    sync(&remote, &a);
    assert_eq!(a.view().root(), b.view().root());

    Again::of(&fleet, &a).set(0);
    put(&b, "of b", "2");
    let error = remote.impatient().sync(&b, &ann()).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Conflict, ErrorCode::RemoteAhead)
    );
    assert_eq!(content(&b, "fast/14").as_deref(), Some("1"));
    assert_eq!(content(&b, "fast/15"), None, "sixteen rounds");
    fleet.service.heal();
    assert!(sync(&fleet.origin(), &b).pushed.commits > 0);
}

#[test]
fn conflicts_and_refusals_stop_no_sync() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    drop(fleet.clone("b", Origin::DirectUser));
    let options = Options::new().policy(Arc::new(NoSecrets));
    let b = options.open(fleet.folder.path().join("b")).unwrap();
    put(&a, "plan", "of a");
    put(&a, "secret/1", "hunter2");
    sync(&remote, &a);
    put(&b, "plan", "of b");
    let synced = sync(&remote, &b);
    let open = |synced: &Synced| {
        let open = synced.pulled.merged.conflicts.iter();
        open.map(|open| open.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(open(&synced), ["plan", "secret/1"]);
    for _ in 0..3 {
        sync(&remote, &a);
        sync(&remote, &b);
    }
    assert!(!sync(&remote, &a).changed() && !sync(&remote, &b).changed());
    assert_eq!(content(&b, "secret/1"), None);
    assert_eq!(content(&a, "secret/1").as_deref(), Some("hunter2"));
    // CFL-3: the refusal is a matter of `b` alone. Elsewhere, nothing is open about it.
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(content(&c, "secret/1").as_deref(), Some("hunter2"));
    let open = |memory: &Memory| memory.conflicts().unwrap().len();
    assert_eq!((open(&a), open(&b), open(&c)), (1, 2, 1));
    // Work goes on around it, and a version that the policy accepts ends it.
    put(&b, "of b", "1");
    assert!(sync(&remote, &b).pushed.commits > 0);
    put(&a, "secret/1", "not secret any more");
    sync(&remote, &a);
    assert_eq!(content(&a, "of b").as_deref(), Some("1"));
    assert_eq!(sync(&remote, &b).pulled.merged.conflicts.len(), 1);
    assert_eq!(content(&b, "secret/1"), None, "the policy refuses the id");
    for memory in [&a, &b, &a, &b] {
        sync(&remote, memory);
    }
    assert!(!sync(&remote, &a).changed() && !sync(&remote, &b).changed());
}

/// MSD-3: a removal that a machine does not take because of its cap is open there alone, and stops no push.
#[test]
fn what_a_merge_did_not_take_stops_no_push() {
    let fleet = Fleet::new();
    let (capped, remote, a) = (fleet.remote(Origin::Model), fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    b.remove(&Id::new("plan").unwrap(), &ann()).unwrap();
    for round in 0..3 {
        put(&a, &format!("of a/{round}"), "1");
        put(&b, &format!("of b/{round}"), "1");
        sync(&remote, &b);
        sync(&capped, &a);
        assert_eq!(content(&a, "plan").as_deref(), Some("one"), "{round}");
        assert_eq!(a.conflicts().unwrap().len(), 1);
        sync(&remote, &b);
        assert_eq!(content(&b, "plan"), None, "{round}");
        assert_eq!(content(&b, &format!("of a/{round}")).as_deref(), Some("1"));
        assert_eq!(b.conflicts().unwrap().len(), 0);
    }
    assert!(!sync(&capped, &a).changed() && !sync(&remote, &b).changed());
}

/// SYN-1: every machine gets through, whoever else pushes.
#[test]
fn machines_that_sync_at_once_lose_nothing() {
    let fleet = Fleet::new();
    let a = fleet.first();
    let machines: Vec<Memory> = (0..5)
        .map(|number| fleet.clone(&format!("m{number}"), Origin::DirectUser))
        .collect();
    let names = |number: usize| (0..6).map(move |round| format!("m{number}/{round}"));
    std::thread::scope(|scope| {
        for (number, memory) in machines.iter().enumerate() {
            let remote = fleet.origin();
            scope.spawn(move || {
                for name in names(number) {
                    put(memory, &name, "text");
                    put(memory, "shared", &name);
                    sync(&remote, memory);
                }
            });
        }
    });
    for memory in machines.iter().chain([&a]).chain(&machines) {
        sync(&fleet.origin(), memory);
    }
    for memory in machines.iter().chain([&a]) {
        assert_eq!(memory.view().root(), a.view().root());
        for name in (0..5).flat_map(names) {
            assert!(content(memory, &name).is_some(), "{name}");
        }
    }
    drop(a);
    verified(&fleet.folder.path().join("first"));
}

/// SYN-2
#[test]
fn a_write_is_acknowledged_only_when_the_remote_has_it() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let note = |id: &str| NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
    remote
        .ack_remote(&a, &ann(), |memory| memory.put(note("sure"), &ann()))
        .unwrap();
    sync(&remote, &b);
    assert!(content(&b, "sure").is_some());

    let service = SimBucket::new(1, 1);
    service.restore(fleet.service.objects());
    let offline = Remote::on("origin", Arc::new(service), Origin::DirectUser).unwrap();
    let written = offline
        .impatient()
        .ack_remote(&a, &ann(), |memory| memory.put(note("unsure"), &ann()));
    let error = written.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Io, ErrorCode::NotPushed)
    );
    let cause = std::error::Error::source(&error).unwrap();
    let cause = cause.downcast_ref::<crate::Error>().unwrap();
    assert_eq!(cause.code(), ErrorCode::RemoteUnreachable);
    assert!(content(&a, "unsure").is_some(), "the commit is kept");
    assert!(sync(&remote, &a).pushed.commits > 0);

    // A fork does not travel, so nothing is written there.
    let fork = a.fork("task").by(&ann()).unwrap();
    let refused = remote.ack_remote(&fork, &ann(), |memory| memory.put(note("of the fork"), &ann()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(content(&fork, "of the fork").is_none());
}

/// Refuses secrets, and more than four objects at once.
struct FewAndNoSecrets;

impl WritePolicy for FewAndNoSecrets {
    fn review(&self, draft: &Draft) -> PolicyVerdict {
        let objects = |change: &&Change| !change.id.as_str().starts_with("merge-conflict/");
        match NoSecrets.review(draft) {
            PolicyVerdict::Accept if draft.changes().iter().filter(objects).count() > 4 => {
                PolicyVerdict::Refuse("too many".to_owned())
            }
            verdict => verdict,
        }
    }
}

/// MRR-1: a policy that refuses one object alone, and the rest as a whole, stops no sync.
#[test]
fn a_policy_with_two_reasons_stops_no_sync() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    drop(fleet.clone("b", Origin::DirectUser));
    let options = Options::new().policy(Arc::new(FewAndNoSecrets));
    let b = options.open(fleet.folder.path().join("b")).unwrap();
    for number in 0..9 {
        put(&a, &format!("note/{number}"), "fine");
    }
    put(&a, "secret/1", "hunter2");
    remote.push(&a, &ann()).unwrap();
    let first = sync(&remote, &b);
    let open = &first.pulled.merged.conflicts;
    assert_eq!(open.len(), 10);
    assert!(open.iter().all(|open| open.fields == ["refused"]), "{open:?}");
    put(&a, "later", "1");
    put(&b, "of b", "1");
    remote
        .push(&a, &ann())
        .unwrap_or_else(|_| sync(&remote, &a).pushed);
    sync(&remote, &b);
    assert_eq!(content(&b, "later").as_deref(), Some("1"));
    assert_eq!(content(&b, "note/1"), None);
    sync(&remote, &a);
    assert_eq!(content(&a, "of b").as_deref(), Some("1"));
    assert_eq!(
        content(&a, "note/1").as_deref(),
        Some("fine"),
        "what b refused stays here"
    );
}

/// RCS-3: for a strategy, too, a removal is of the class of the remote that brought it.
#[test]
fn a_strategy_counts_a_capped_removal_as_capped() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let write = |memory: &Memory, text: &str| {
        let mut object = NewObject::new(id("note"), Kind::new("note").unwrap());
        object.content = Some(text.to_owned());
        memory.put(object, &Writer::model("worker")).unwrap();
    };
    write(&a, "one");
    remote.push(&a, &ann()).unwrap();
    let [b, c] = ["b", "c"].map(|name| fleet.clone(name, Origin::DirectUser));
    a.remove(&id("note"), &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    // Without the cap, the removal of a person wins.
    for (memory, cap, left) in [(b, Origin::Import, Some("two")), (c, Origin::DirectUser, None)] {
        write(&memory, "two");
        let remote = fleet.remote(cap);
        remote.pull_by(&memory, &ann(), Some(Strategy::Trusted)).unwrap();
        assert_eq!(content(&memory, "note").as_deref(), left);
    }
}
