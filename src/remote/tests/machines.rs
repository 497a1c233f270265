//! Tests of several machines with one remote.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::backup::{put, verified};
use crate::engine::{Memory, Options, PolicyVerdict, Retention, WritePolicy, Writer};
use crate::error::{ErrorCode, ErrorKind};
use crate::log::closed::NewSegment;
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Commit, Id, Origin};
use crate::remote::bucket::{Bucket, BucketError, BucketResult, Counted, Stored, Version};
use crate::remote::clone::clone_from;
use crate::remote::place::Place;
use crate::remote::{Pulled, Remote};
use crate::testing::sim_bucket::SimBucket;
use crate::threads::Mutex;

pub(super) fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub(super) fn ann() -> Writer {
    Writer::person("ann")
}

/// A remote without faults, and folders for machines.
pub(super) struct Fleet {
    pub(super) service: SimBucket,
    pub(super) folder: tempfile::TempDir,
}

impl Fleet {
    pub(super) fn new() -> Self {
        Self {
            service: SimBucket::default(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn remote(&self, cap: Origin) -> Remote {
        Remote::on("origin", Arc::new(self.service.clone()), cap).unwrap()
    }

    pub(super) fn origin(&self) -> Remote {
        self.remote(Origin::DirectUser)
    }

    pub(super) fn first(&self) -> Memory {
        let memory = Memory::create(self.folder.path().join("first")).unwrap();
        put(&memory, "plan", "one");
        self.origin().push(&memory, &ann()).unwrap();
        memory
    }

    pub(super) fn clone(&self, name: &str, cap: Origin) -> Memory {
        let place = Place::of(Counted::new(Arc::new(self.service.clone())));
        clone_from(&place, &self.folder.path().join(name), cap, &Options::new())
            .unwrap()
            .0
    }
}

pub(super) fn content(memory: &Memory, name: &str) -> Option<String> {
    let found = memory.view().get(&id(name)).unwrap();
    found.map(|object| object.content().unwrap_or_default().to_owned())
}

pub(super) fn pull(remote: &Remote, memory: &Memory) -> Pulled {
    remote.pull(memory, &ann()).unwrap()
}

/// Pushes, and returns how many commits. Checks that the list of remotes said that number before.
pub(super) fn pushed_as_listed(remote: &Remote, memory: &Memory) -> u64 {
    let listed = Remote::known_state("origin", memory).unwrap().ahead;
    let pushed = remote.push(memory, &ann()).unwrap().commits;
    assert_eq!(listed, pushed);
    pushed
}

#[test]
fn two_machines_share_a_memory_and_come_to_rest() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "of a", "1");
    put(&b, "of b", "2");
    remote.push(&a, &ann()).unwrap();
    let behind = remote.push(&b, &ann()).unwrap_err();
    assert_eq!(
        (behind.kind(), behind.code()),
        (ErrorKind::Conflict, ErrorCode::RemoteAhead)
    );
    // PSH-1: what was fetched and not merged is not taken back by a push.
    assert_eq!(remote.fetch(&b, &ann()).unwrap().commits, 1);
    assert_eq!(
        remote.push(&b, &ann()).unwrap_err().code(),
        ErrorCode::RemoteAhead
    );
    let pulled = pull(&remote, &b);
    assert_eq!((pulled.fetched.commits, pulled.merged.counts.added), (0, 1));
    assert!(pulled.merged.conflicts.is_empty());
    assert_eq!(pushed_as_listed(&remote, &b), 2, "of b, and the merge");
    pull(&remote, &a);
    assert_eq!(a.view().root(), b.view().root());
    assert_eq!(content(&a, "of b").as_deref(), Some("2"));
    // Nothing is new, so nobody makes a commit.
    for _ in 0..2 {
        for memory in [&a, &b] {
            let head = memory.view().commit().digest;
            let pushed = remote.push(memory, &ann()).unwrap();
            let pulled = pull(&remote, memory);
            assert_eq!((pushed.commits, pulled.merged.committed.changed), (0, false));
            assert_eq!(memory.view().commit().digest, head);
        }
    }
    let apart = |memory: &Memory| {
        let state = Remote::known_state("origin", memory).unwrap();
        (state.ahead, state.behind)
    };
    assert_eq!((apart(&a), apart(&b)), ((0, 0), (0, 0)), "at rest");
    // A machine keeps its main line, and reads the remote beside it.
    let seqs: Vec<u64> = a.commits().map(|commit| commit.unwrap().commit.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] == pair[1] + 1));
    let theirs = a.at("remote:origin/main").unwrap();
    assert_eq!(theirs.root(), b.view().root());
    put(&b, "more", "3");
    put(&b, "more", "4");
    put(&a, "of a", "5");
    assert_eq!((apart(&a), apart(&b)), ((2, 0), (2, 0)), "with the merge of a");
    remote.push(&b, &ann()).unwrap();
    remote.fetch(&a, &ann()).unwrap();
    assert_eq!((apart(&a).0, apart(&b)), (2, (0, 0)));
    assert!((1..=2).contains(&apart(&a).1), "{:?}", apart(&a));
    pull(&remote, &a);
    assert_eq!(apart(&a), (3, 0), "the commit and two merges");
    remote.push(&a, &ann()).unwrap();
    assert_eq!(apart(&a), (0, 0));
    assert!(a.forks().unwrap().is_empty() && a.open_fork("remote:origin/main").is_err());
    for (memory, name) in [(a, "first"), (b, "b")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// MRG-2: the versions that both wrote, and what each of them knows of their writers, are the same on every machine.
#[test]
fn conflicts_are_the_same_on_every_machine() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "plan", "two");
    put(&b, "plan", "three");
    remote.push(&a, &ann()).unwrap();
    let pulled = pull(&remote, &b);
    assert_eq!(pulled.merged.conflicts.len(), 1);
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    assert_eq!(a.view().root(), b.view().root());
    assert_eq!(a.conflicts().unwrap().len(), 1);
    let by = &a.conflicts().unwrap()[0].sides;
    assert!(
        by.iter().all(|side| side.by.is_some()),
        "both writers are known here"
    );
    a.resolve_conflict(
        &id("plan"),
        crate::engine::Resolution::Content("four".to_owned()),
        &ann(),
    )
    .unwrap();
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert_eq!(content(&b, "plan").as_deref(), Some("four"));
    assert!(b.conflicts().unwrap().is_empty());
    assert_eq!(a.view().root(), b.view().root());
}

/// PSH-2, and the cap of a remote.
#[test]
fn a_capped_machine_lowers_what_it_pulls_and_nothing_elsewhere() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::Model);
    let capped = fleet.remote(Origin::Model);
    let class = |memory: &Memory, name: &str| memory.view().get(&id(name)).unwrap().unwrap().origin();
    assert_eq!(class(&b, "plan"), Origin::Model, "stamped by the clone");
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    let pulled = pull(&capped, &b);
    assert!(pulled.merged.conflicts.is_empty());
    assert_eq!(class(&b, "of a"), Origin::Model, "stamped by the pull");
    put(&b, "of b", "2");
    capped.push(&b, &ann()).unwrap();
    let pulled = pull(&remote, &a);
    assert!(pulled.merged.conflicts.is_empty());
    assert_eq!(class(&a, "of a"), Origin::DirectUser);
    // A third machine gets the classes that the remote had.
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(
        (class(&c, "plan"), class(&c, "of a")),
        (Origin::DirectUser, Origin::DirectUser)
    );
    let at_rest = remote.push(&a, &ann()).unwrap();
    assert_eq!(at_rest.commits, 0);
    assert_eq!(capped.push(&b, &ann()).unwrap().commits, 0);
    // A less trusted machine does not replace or remove what a person wrote.
    a.remove(&id("of a"), &ann()).unwrap();
    put(&a, "plan", "changed by a");
    remote.push(&a, &ann()).unwrap();
    put(&b, "of a", "b, where a person of b wrote");
    pull(&capped, &b);
    assert_eq!(
        content(&b, "of a").as_deref(),
        Some("b, where a person of b wrote")
    );
}

/// Rule 17, REM-1
#[test]
fn a_remote_that_went_back_is_refused() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let old = fleet.service.objects();
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    for lost in [old.clone(), std::collections::BTreeMap::new()] {
        fleet.service.restore(lost.clone());
        for memory in [&a, &b] {
            let idle = remote.push(memory, &ann()).unwrap_err();
            assert_eq!(
                idle.code(),
                ErrorCode::RemoteWentBack,
                "also without a commit to send"
            );
        }
        assert_eq!(fleet.service.objects(), lost, "nothing is begun again");
    }
    fleet.service.restore(old);
    for memory in [&a, &b] {
        let head = memory.view().commit().digest;
        let error = remote.fetch(memory, &ann()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::RemoteWentBack);
        put(memory, "more", "2");
        assert_eq!(
            remote.push(memory, &ann()).unwrap_err().code(),
            ErrorCode::RemoteWentBack
        );
        assert_ne!(memory.view().commit().digest, head);
    }
    // After the user accepted it, work goes on.
    Remote::forget("origin", &a, &ann()).unwrap();
    assert!(a.at("remote:origin/main").is_err());
    remote.push(&a, &ann()).unwrap();
}

/// Rule 15: a segment that differs is damage.
#[test]
fn an_unrelated_remote_is_refused_and_a_damaged_one_changes_nothing() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let other = Memory::in_memory().unwrap();
    for error in [
        remote.push(&other, &ann()).unwrap_err(),
        remote.fetch(&other, &ann()).unwrap_err(),
        remote.check(&other).unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::Unrelated);
    }
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    let whole = fleet.service.objects();
    for (name, bytes) in &whole {
        for at in [10, bytes.len() / 2, bytes.len() - 30] {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= 4;
            let mut objects = whole.clone();
            objects.insert(name.clone(), spoilt);
            fleet.service.restore(objects);
            let (head, batches) = (b.view().commit().digest, b.inner.log.lock().log.newest_batch());
            // A segment that was read before is not read again.
            if name != "log/00000001.seg" {
                let error = remote.pull(&b, &ann()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}");
            }
            assert_eq!(b.view().commit().digest, head);
            assert_eq!(
                b.inner.log.lock().log.newest_batch(),
                batches,
                "nothing is applied"
            );
        }
    }
    // A lost file of a remote is damage too, and nobody begins the remote anew.
    for name in ["format", "manifest"] {
        let mut objects = whole.clone();
        objects.remove(name);
        fleet.service.restore(objects.clone());
        let c = Memory::in_memory().unwrap();
        put(&b, "more", name);
        for error in [
            remote.pull(&b, &ann()).unwrap_err(),
            remote.push(&b, &ann()).unwrap_err(),
            remote.fetch(&c, &ann()).unwrap_err(),
        ] {
            assert_eq!(error.code(), ErrorCode::Corrupt, "{name} {error:?}");
        }
        if name == "format" {
            assert_eq!(remote.push(&c, &ann()).unwrap_err().code(), ErrorCode::Corrupt);
        }
        assert_eq!(fleet.service.objects(), objects);
    }
    fleet.service.restore(whole);
    assert_eq!(pull(&remote, &b).merged.counts.added, 1);
}

pub(super) struct NoSecrets;

impl WritePolicy for NoSecrets {
    fn review(&self, draft: &crate::engine::Draft) -> PolicyVerdict {
        let is_secret = |change: &crate::engine::Change| change.id.as_str().starts_with("secret");
        if draft.changes().iter().any(is_secret) {
            return PolicyVerdict::Refuse("a secret".to_owned());
        }
        PolicyVerdict::Accept
    }
}

/// MRR-1: what the policy of a machine refuses is a conflict there, and the rest arrives.
#[test]
fn a_policy_that_refuses_a_part_takes_the_rest() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    drop(fleet.clone("b", Origin::DirectUser));
    let options = Options::new().policy(Arc::new(NoSecrets));
    let b = options.open(fleet.folder.path().join("b")).unwrap();
    for number in 0..9 {
        put(&a, &format!("note/{number}"), "fine");
    }
    put(&a, "secret/1", "hunter2");
    put(&a, "secret/2", "hunter3");
    remote.push(&a, &ann()).unwrap();
    let pulled = pull(&remote, &b);
    let fields: Vec<_> = pulled
        .merged
        .conflicts
        .iter()
        .map(|open| (open.id.as_str(), &open.fields[..]))
        .collect();
    assert_eq!(
        fields,
        [
            ("secret/1", &["refused".to_owned()][..]),
            ("secret/2", &["refused".to_owned()])
        ]
    );
    assert_eq!(content(&b, "note/8").as_deref(), Some("fine"));
    assert_eq!(content(&b, "secret/1"), None);
}

/// OUT-1, FOR-1: what a fork wrote, an undo brought back, and a collection thinned arrives whole.
#[test]
fn a_history_with_forks_undo_and_gaps_travels() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let fork = a.fork("task").by(&ann()).unwrap();
    put(&fork, "of the fork", &"long ".repeat(2_000));
    put(&a, "plan", "two");
    a.merge("task").by(&ann()).unwrap();
    a.drop_fork("task", true, &ann()).unwrap();
    put(&a, "gone", "x");
    a.remove(&id("gone"), &ann()).unwrap();
    a.undo(&ann()).unwrap();
    a.snapshot(Some("here"), &ann()).unwrap();
    for number in 0..10 {
        put(&a, "counter", &number.to_string());
    }
    a.rollback("here").by(&ann()).unwrap();
    let mut retention = Retention::default();
    (retention.all, retention.newest) = (Duration::ZERO, 3);
    a.gc(&retention, None).unwrap();
    let pushed = pushed_as_listed(&remote, &a);
    let pulled = pull(&remote, &b);
    assert_eq!(pulled.fetched.commits, pushed, "without the thinned ones");
    assert_eq!(a.view().root(), b.view().root());
    assert_eq!(content(&b, "of the fork").unwrap().len(), 10_000);
    // Both go on from there, and a new machine gets all of it.
    put(&b, "of b", "1");
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
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

/// FOR-2: what was erased here does not come back with the work of another machine.
#[test]
fn an_old_clone_brings_nothing_erased_back() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "secret", "swordfish");
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    let erasing = crate::engine::Erasing {
        targets: vec!["secret".to_owned()],
        ..Default::default()
    };
    a.erase(&erasing, &ann()).unwrap();
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    assert_eq!(content(&a, "secret"), None);
    assert_eq!(content(&a, "of b").as_deref(), Some("1"));
}

/// Counted: a push of one commit and a pull with nothing new are cheap.
#[test]
fn a_small_push_and_an_idle_pull_cost_few_requests() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    for number in 0..200 {
        put(&a, &format!("note/{number}"), "text");
    }
    remote.push(&a, &ann()).unwrap();
    put(&a, "note/new", "text");
    let pushed = remote.push(&a, &ann()).unwrap();
    assert!(pushed.bytes < 16 << 10, "{pushed:?}");
    assert_eq!(pushed.requests, 2, "{pushed:?}");
    let idle = remote.push(&a, &ann()).unwrap();
    assert_eq!(
        (idle.commits, idle.requests),
        (0, 1),
        "it asks whether the remote is there"
    );
    let pulled = pull(&remote, &a);
    assert_eq!(pulled.fetched.requests, 1, "{pulled:?}");
    // What is kept of the manifest is derived: without it, and after another machine pushed, a push reads it again.
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "of b", "1");
    remote.push(&b, &ann()).unwrap();
    put(&a, "of a", "1");
    assert_eq!(
        remote.push(&a, &ann()).unwrap_err().code(),
        ErrorCode::RemoteAhead
    );
    pull(&remote, &a);
    remote.push(&a, &ann()).unwrap();
}

/// RPL-1, RPL-2, RML-3: machines that push at the same time lose nothing, and one comes after the other.
#[test]
fn machines_that_push_at_once_lose_nothing() {
    let fleet = Fleet::new();
    let a = fleet.first();
    let machines: Vec<Memory> = (0..3)
        .map(|number| fleet.clone(&format!("m{number}"), Origin::DirectUser))
        .collect();
    std::thread::scope(|scope| {
        for (number, memory) in machines.iter().enumerate() {
            let remote = fleet.origin();
            scope.spawn(move || {
                for round in 0..8 {
                    put(memory, &format!("m{number}/{round}"), "text");
                    put(memory, "shared", &format!("{number} {round}"));
                    while remote
                        .push(memory, &ann())
                        .is_err_and(|error| error.code() == ErrorCode::RemoteAhead)
                    {
                        pull(&remote, memory);
                    }
                }
            });
        }
    });
    let remote = fleet.origin();
    for _ in 0..2 {
        for memory in machines.iter().chain([&a]) {
            pull(&remote, memory);
            remote.push(memory, &ann()).unwrap();
        }
    }
    for memory in machines.iter().chain([&a]) {
        assert_eq!(memory.view().root(), a.view().root());
        for name in (0..3).flat_map(|number| (0..8).map(move |round| format!("m{number}/{round}"))) {
            assert!(memory.view().contains(&id(&name)).unwrap(), "{name}");
        }
    }
    // Every listed segment is there, and no number stands for two of them.
    let names: Vec<String> = fleet.service.list("log/").unwrap();
    assert!(names.len() > 9);
    let c = fleet.clone("last", Origin::DirectUser);
    assert_eq!(c.view().root(), a.view().root());
    drop(c);
    verified(&fleet.folder.path().join("last"));
}

/// Replaces the newest commit of the remote by a forged one, under a manifest and digests that match.
fn forge(service: &SimBucket, change: impl Fn(&mut Commit)) {
    let place = Place::of(Counted::new(Arc::new(service.clone())));
    let mut log = place.read().unwrap().log;
    let last = log.segments.len() - 1;
    let batches = log
        .read(last, place.segment(&log, last).unwrap())
        .unwrap()
        .batches;
    let (first, id) = (log.segments[last].first_batch, log.segments[last].id);
    log.segments.pop();
    log.generation -= 1;
    let mut head = log.head;
    let mut group = Vec::new();
    for batch in &batches {
        let mut built = BatchBuilder::new();
        for record in &batch.records {
            if record.kind == RecordKind::Commit {
                let mut commit = Commit::decode(&record.body).unwrap();
                change(&mut commit);
                let bytes = commit.encode().unwrap();
                head = Commit::hash(&bytes, log.suite());
                built.add(record.kind, record.flags, &bytes);
            } else {
                built.add(record.kind, record.flags, &record.body);
            }
        }
        group.push((built, head));
    }
    let mut segment = NewSegment::encode(&log, id, [7; 16], first, group).unwrap();
    segment.number(&log, id);
    let mut objects = service.objects();
    objects.insert(segment.listed.name(), segment.bytes().to_vec());
    objects.insert("manifest".to_owned(), log.with(&segment, head).encode());
    service.restore(objects);
}

/// A bucket in which somebody acts before a segment is read, or to which nobody may write.
struct During {
    sound: SimBucket,
    denies: bool,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Bucket for During {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        if name.starts_with("log/")
            && let Some(act) = self.act.lock().take()
        {
            act();
        }
        self.sound.get(name, range)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        if self.denies {
            return Err(BucketError::Denied("no".to_owned()));
        }
        self.sound.put_new(name, bytes)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        self.sound.swap(name, version, bytes)
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        self.sound.list(prefix)
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        self.sound.delete(name)
    }

    fn describe(&self) -> String {
        self.sound.describe()
    }
}

/// A fetch holds the lock only while it writes. What others change meanwhile is noticed.
#[test]
fn a_fetch_keeps_nobody_waiting() {
    let fleet = Fleet::new();
    let a = fleet.first();
    drop(fleet.clone("b", Origin::DirectUser));
    for number in 0..20 {
        put(&a, &format!("note/{number}"), "text");
    }
    fleet.origin().push(&a, &ann()).unwrap();
    let path = fleet.folder.path().join("b");
    let (asked, held) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let disk = crate::disk::FileDisk::open(&path).unwrap();
    let b = Options::new().stop({
        let (asked, held) = (Arc::clone(&asked), Arc::clone(&held));
        move || {
            asked.fetch_add(1, Ordering::Relaxed);
            let is_held = crate::disk::lock_within(&disk, "lock", Duration::ZERO).is_err();
            held.fetch_add(u32::from(is_held), Ordering::Relaxed);
            false
        }
    });
    let b = b.open(&path).unwrap();
    asked.store(0, Ordering::Relaxed);
    held.store(0, Ordering::Relaxed);
    // Meanwhile another process writes, and one fetches the same.
    let during = |act: Box<dyn FnOnce() + Send>| {
        let bucket = During {
            sound: fleet.service.clone(),
            denies: false,
            act: Mutex::new(Some(act)),
        };
        Remote::on("origin", Arc::new(bucket), Origin::DirectUser).unwrap()
    };
    let writer = b.clone();
    let remote = during(Box::new(move || put(&writer, "of b", "1")));
    assert_eq!(remote.fetch(&b, &ann()).unwrap().commits, 20);
    assert!(asked.load(Ordering::Relaxed) >= 20);
    assert_eq!(
        held.load(Ordering::Relaxed),
        0,
        "the lock is free during the check"
    );
    put(&a, "of a", "1");
    fleet.origin().push(&a, &ann()).unwrap();
    let (other, origin) = (b.clone(), fleet.origin());
    let remote = during(Box::new(move || {
        assert_eq!(origin.fetch(&other, &ann()).unwrap().commits, 1);
    }));
    assert_eq!(
        remote.fetch(&b, &ann()).unwrap().commits,
        0,
        "the other one was first"
    );
    pull(&remote, &b);
    assert_eq!(content(&b, "of a").as_deref(), Some("1"));
    drop(b);
    verified(&path);
}

/// A remote that this user may only read can be added, for its pulls. An empty place cannot.
#[test]
fn who_may_only_read_adds_a_remote() {
    let fleet = Fleet::new();
    let a = fleet.first();
    let of = |sound: &SimBucket| {
        let bucket = During {
            sound: sound.clone(),
            denies: true,
            act: Mutex::new(None),
        };
        Remote::on("origin", Arc::new(bucket), Origin::DirectUser).unwrap()
    };
    let read_only = of(&fleet.service);
    read_only.check(&a).unwrap();
    pull(&read_only, &a);
    put(&a, "plan", "two");
    assert_eq!(read_only.push(&a, &ann()).unwrap_err().kind(), ErrorKind::Io);
    let empty = of(&SimBucket::default()).check(&a).unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::Io);
}

/// A commit of a wrong clock stays here: no machine would pull it.
#[test]
fn a_commit_far_ahead_is_not_pushed_and_not_cloned() {
    let fleet = Fleet::new();
    let ahead = Arc::new(Ahead);
    let path = fleet.folder.path().join("first");
    let memory = Options::new().clock(ahead).create(&path).unwrap();
    put(&memory, "plan", "one");
    fleet.origin().push(&memory, &ann()).unwrap();
    let cloned = |name: &str| {
        let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
        clone_from(
            &place,
            &fleet.folder.path().join(name),
            Origin::DirectUser,
            &Options::new(),
        )
    };
    assert_eq!(cloned("b").unwrap_err().code(), ErrorCode::ClockAhead);
    drop(memory);
    let memory = Memory::open(&path).unwrap();
    put(&memory, "plan", "two");
    let objects = fleet.service.objects();
    let error = fleet.origin().push(&memory, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ClockAhead);
    assert_eq!(fleet.service.objects(), objects, "nothing is sent");
}

/// A clock that is two days ahead.
struct Ahead;

impl crate::engine::Clock for Ahead {
    fn now(&self) -> crate::object::Time {
        let now = crate::object::Time::now().as_micros();
        crate::object::Time::from_micros(now + 172_800_000_000)
    }
}

/// FOR-1, RML-1: digests that match prove nothing. Whoever can write to a remote can forge them.
#[test]
fn a_forged_commit_is_refused() {
    type Forgery = fn(&mut Commit);
    let forgeries: [(&str, Forgery); 6] = [
        ("root", |commit| {
            commit.root = crate::digest::Root::from_bytes([1; 32]);
        }),
        ("seq", |commit| commit.seq += 1),
        ("history", |commit| {
            commit.history_root = crate::digest::HistoryRoot::from_bytes([1; 32]);
        }),
        ("parent", |commit| {
            commit.parents[0] = crate::digest::CommitDigest::from_bytes([1; 32]);
        }),
        ("early", |commit| {
            commit.time = crate::object::Time::from_micros(1);
        }),
        ("late", |commit| {
            commit.time = "2999-01-01T00:00:00Z".parse().unwrap();
        }),
    ];
    for (name, forgery) in forgeries {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let b = fleet.clone("b", Origin::DirectUser);
        put(&a, "of a", "1");
        remote.push(&a, &ann()).unwrap();
        let batches = b.inner.log.lock().log.newest_batch();
        forge(&fleet.service, forgery);
        let error = remote.pull(&b, &ann()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error:?}");
        assert_eq!(b.inner.log.lock().log.newest_batch(), batches, "{name}");
        // CLE-4: a clone whose memory cannot take in a batch reads its files, and they name what is wrong.
        let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
        let path = fleet.folder.path().join("c");
        let error = clone_from(&place, &path, Origin::DirectUser, &Options::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error:?}");
    }
}

/// REM-1: an older copy of a remote is recognised, also when others pushed on it.
#[test]
fn an_older_copy_that_went_on_is_refused() {
    for is_snapshot in [true, false] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let b = fleet.clone("b", Origin::DirectUser);
        let old = fleet.service.objects();
        for name in ["one", "two"] {
            put(&a, name, "1");
            remote.push(&a, &ann()).unwrap();
        }
        fleet.service.restore(old);
        for name in ["s1", "s2", "s3", "s4"] {
            if is_snapshot {
                b.snapshot(Some(name), &ann()).unwrap();
            } else {
                put(&b, name, "1");
            }
            remote.push(&b, &ann()).unwrap();
        }
        let error = remote.fetch(&a, &ann()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::RemoteWentBack, "{error:?}");
        if is_snapshot {
            let error = remote.push(&a, &ann()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::RemoteWentBack);
        }
    }
}

/// RPL-4
#[test]
fn a_push_behind_the_largest_generation_is_refused() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
    let mut log = place.read().unwrap().log;
    log.generation = u64::MAX / 2;
    let mut objects = fleet.service.objects();
    objects.insert("manifest".to_owned(), log.encode());
    fleet.service.restore(objects);
    put(&a, "more", "1");
    assert_eq!(remote.push(&a, &ann()).unwrap_err().kind(), ErrorKind::Corrupt);
    place.read().unwrap();
}
