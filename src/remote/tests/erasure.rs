//! Tests of erasures that travel (rules 7, 16 and 19).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::backup::{object, put, verified};
use super::machines::{Fleet, ann, content, id, pull, pushed_as_listed};
use super::thinned::thin;
use crate::disk::{Disk, MemDisk, lock_within, read_whole};
use crate::engine::{Erasing, Memory, Options, VerifyDepth, verify_store};
use crate::error::ErrorCode;
use crate::log::closed::Group;
use crate::log::{BatchBuilder, RecordKind};
use crate::object::Origin;
use crate::remote::bucket::{Bucket, Counted};
use crate::remote::place::{Outcome, Place};
use crate::remote::{Remote, clone_on};
use crate::testing::sim_bucket::SimBucket;

pub(super) const SECRET: &str = "swordfish-4711";

pub(super) fn erase(memory: &Memory, target: &str) {
    let erasing = Erasing {
        targets: vec![target.to_owned()],
        everywhere: true,
        ..Default::default()
    };
    memory.erase(&erasing, &ann()).unwrap();
}

/// Returns the names of the objects of a service that contain a text.
pub(super) fn holders(service: &SimBucket, text: &str) -> Vec<String> {
    let objects = service.objects();
    let found = objects.iter().filter(|(_, bytes)| is_in(bytes, text));
    found.map(|(name, _)| name.clone()).collect()
}

fn is_in(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Returns whether a file of the log of a machine contains a text.
pub(super) fn is_on_disk(fleet: &Fleet, machine: &str, text: &str) -> bool {
    let log = fleet.folder.path().join(machine).join("log");
    let mut files = std::fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path());
    files.any(|file| is_in(&std::fs::read(file).unwrap(), text))
}

/// Stores a segment that no manifest lists, as a store that lost leaves it.
fn leave_garbage(service: &SimBucket, text: &str) {
    let place = Place::of(Counted::new(Arc::new(service.clone())));
    let log = place.read().unwrap().log;
    let mut batch = BatchBuilder::new();
    batch.add(RecordKind::Text, 0, text.as_bytes());
    let group: Group = vec![(batch, log.head)];
    place.put(&log, 0, log.last_batch() + 1, group).unwrap();
}

/// PSH-3: what is only in the history is erased elsewhere, too, though the erasure changes no state.
#[test]
fn an_erasure_travels_that_changes_no_state() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "secret", SECRET);
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "of a", "1");
    b.remove(&id("secret"), &ann()).unwrap();
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    remote.push(&a, &ann()).unwrap();
    assert!(is_on_disk(&fleet, "b", SECRET));
    let root = a.view().root();
    erase(&a, "secret");
    assert_eq!(a.view().root(), root);
    assert!(pushed_as_listed(&remote, &a) > 0);
    assert!(pull(&remote, &b).fetched.erased > 0);
    assert!(!is_on_disk(&fleet, "b", SECRET));
    assert_eq!(remote.push(&a, &ann()).unwrap().commits, 0, "at rest");
}

/// Rule 16, ERA-1, PUS-1, PUS-2, RML-4: behind the next push, no byte of what was erased is in the bucket, with two old
/// clones that push. And each clone erases it, too.
#[test]
fn erased_secrets_leave_the_bucket_and_the_clones() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    for number in 0..6 {
        put(&a, &format!("note/{number}"), "fine");
        remote.push(&a, &ann()).unwrap();
    }
    put(&a, "secret", SECRET);
    put(&a, "long", &format!("{SECRET} {}", "long ".repeat(3_000)));
    remote.push(&a, &ann()).unwrap();
    put(&a, "secret", &format!("{SECRET} again"));
    remote.push(&a, &ann()).unwrap();
    let (b, c) = (
        fleet.clone("b", Origin::DirectUser),
        fleet.clone("c", Origin::DirectUser),
    );
    put(&b, "of b", "1");
    put(&c, "of c", "1");
    // A version of the id that no other machine has seen.
    put(&c, "secret", &format!("{SECRET} of c"));
    leave_garbage(&fleet.service, SECRET);
    let before = holders(&fleet.service, SECRET);
    // Two of a push each, the garbage, and what a join replaced.
    assert!(before.len() >= 3, "{before:?}");
    erase(&a, "secret");
    erase(&a, "long");
    put(&a, "after", "fine");
    remote.push(&a, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, SECRET), Vec::<String>::new());

    // The old clones leave garbage, are behind, and push.
    for (memory, name) in [(&b, "b"), (&c, "c")] {
        leave_garbage(&fleet.service, SECRET);
        let behind = remote.push(memory, &ann()).unwrap_err();
        assert_eq!(behind.code(), ErrorCode::RemoteAhead);
        let pulled = pull(&remote, memory);
        assert!(pulled.fetched.erased >= 4, "{pulled:?}");
        assert_eq!(pulled.fetched.not_erased, 0);
        assert!(!is_on_disk(&fleet, name, SECRET));
        assert_eq!(content(memory, "secret"), None);
        assert_eq!(content(memory, "long"), None);
        remote.push(memory, &ann()).unwrap();
        assert_eq!(holders(&fleet.service, SECRET), Vec::<String>::new(), "{name}");
    }
    pull(&remote, &a);
    pull(&remote, &b);
    assert_eq!(a.view().root(), c.view().root());
    assert_eq!(a.view().root(), b.view().root());
    let d = fleet.clone("d", Origin::DirectUser);
    assert_eq!(a.view().root(), d.view().root());
    assert!(
        d.history(&id("secret"))
            .unwrap()
            .iter()
            .any(|change| change.erased)
    );
    for (memory, name) in [(a, "first"), (b, "b"), (c, "c"), (d, "d")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// Rule 16: only a remote where something was erased costs a list.
#[test]
fn a_push_lists_only_where_something_was_erased() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    leave_garbage(&fleet.service, "kept");
    put(&a, "one", "1");
    remote.push(&a, &ann()).unwrap();
    put(&a, "one", "2");
    assert_eq!(remote.push(&a, &ann()).unwrap().requests, 2);
    assert_eq!(holders(&fleet.service, "kept").len(), 1);
    erase(&a, "one");
    remote.push(&a, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, "kept"), Vec::<String>::new());
    leave_garbage(&fleet.service, "left");
    let garbage = holders(&fleet.service, "left").remove(0);
    put(&a, "two", "2");
    let pushed = remote.push(&a, &ann()).unwrap();
    assert_eq!(
        pushed.requests, 4,
        "a list, a segment, a manifest and the garbage"
    );
    // INVARIANT RPL-2: the new segment has a higher number than what was deleted.
    let names = fleet.service.list("log/").unwrap();
    assert!(!names.contains(&garbage));
    assert!(names.last().unwrap() > &garbage);
    put(&a, "three", "3");
    assert_eq!(remote.push(&a, &ann()).unwrap().requests, 3);
}

/// Rules 14 and 16, RRW-2: a pusher deletes nothing before its swap, because the writer of an unlisted segment may swap first.
#[test]
fn a_segment_of_a_writer_that_swaps_first_stays() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "one", "1");
    erase(&a, "one");
    remote.push(&a, &ann()).unwrap();
    // Another writer has stored its segment, and swaps just before this push does.
    let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
    let published = place.read().unwrap();
    let mut batch = BatchBuilder::new();
    batch.add(RecordKind::Text, 0, b"of another writer");
    let group: Group = vec![(batch, published.log.head)];
    let first = published.log.last_batch() + 1;
    let segment = place.put(&published.log, 0, first, group).unwrap();
    fleet.service.before_swap(move || {
        let next = published.log.with(&segment, published.log.head);
        assert!(matches!(
            place.publish(&published, next).unwrap(),
            Outcome::Done(_)
        ));
    });
    put(&a, "two", "2");
    remote.push(&a, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, "of another writer").len(), 1);
    let b = fleet.clone("b", Origin::DirectUser);
    assert_eq!(a.view().root(), b.view().root());
}

/// Rules 16 and 20: a push deletes each file once, also if a join replaced it.
#[test]
fn a_push_deletes_each_file_once() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "one", "1");
    erase(&a, "one");
    let first = (0..60).find_map(|number| {
        put(&a, "counter", &number.to_string());
        let before = fleet.service.objects();
        let pushed = remote.push(&a, &ann()).unwrap();
        let after = fleet.service.objects();
        let is_gone = before.keys().any(|name| !after.contains_key(name));
        is_gone.then_some(pushed.requests)
    });
    let what = "a list, a segment, a manifest and 8 files";
    assert_eq!(first, Some(11), "{what}");
}

/// What a fetch erased counts, also if another process then takes in the commits first.
#[test]
fn what_was_erased_counts_if_another_process_is_faster() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "secret", SECRET);
    remote.push(&a, &ann()).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let bucket = Arc::new(fleet.service.clone());
    drop(clone_on(bucket, &disk, Origin::DirectUser, &Options::new()).unwrap());
    erase(&a, "secret");
    remote.push(&a, &ann()).unwrap();
    let open =
        |disk: &Arc<dyn Disk>, options| Memory::on_disk(Arc::clone(disk), options, false, None).unwrap();
    let (rival, own, has_acted) = (fleet.origin(), Arc::clone(&disk), AtomicBool::new(false));
    let options = Options::new().stop(move || {
        let names = own.list("log").unwrap().into_iter();
        let mut files = names.map(|name| read_whole(&*own, &format!("log/{name}"), usize::MAX).unwrap());
        let is_erased = !files.any(|file| file.is_some_and(|bytes| is_in(&bytes, SECRET)));
        let is_free = || lock_within(&*own, "lock", Duration::ZERO).is_ok();
        if is_erased && is_free() && !has_acted.swap(true, Ordering::Relaxed) {
            let fetched = rival.fetch(&open(&own, Options::new()), &ann()).unwrap();
            assert_eq!((fetched.commits, fetched.erased), (1, 0));
        }
        false
    });
    let fetched = remote.fetch(&open(&disk, options), &ann()).unwrap();
    assert_eq!((fetched.commits, fetched.erased), (0, 1));
}

/// Rule 19: a remote that is less trusted than a host does not erase, and is reported. What it erased is not sent back.
#[test]
fn a_remote_that_is_not_trusted_erases_nothing() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "secret", SECRET);
    put(&a, "long", &format!("{SECRET} {}", "long ".repeat(3_000)));
    remote.push(&a, &ann()).unwrap();
    let capped = fleet.remote(Origin::Model);
    let b = fleet.clone("b", Origin::Model);
    let host = fleet.clone("host", Origin::Host);
    // The stamped versions of the clones have other digests.
    erase(&a, "secret");
    erase(&a, "long");
    remote.push(&a, &ann()).unwrap();
    let pulled = pull(&capped, &b);
    assert_eq!(pulled.fetched.erased, 0);
    assert!(pulled.fetched.not_erased >= 2, "{pulled:?}");
    assert!(is_on_disk(&fleet, "b", SECRET));
    assert!(pulled.fetched.kept.iter().eq(["long", "secret"]), "{pulled:?}");
    assert_eq!(pull(&capped, &b).fetched.not_erased, 0, "it is reported once");
    let kept = |memory: &Memory| memory.inner.kept_of_elsewhere().unwrap();
    assert!(
        kept(&b).iter().eq(["long", "secret"]),
        "the doctor goes on to name it"
    );
    assert!(kept(&a).is_empty(), "nobody else erased here");
    let report = || {
        let path = fleet.folder.path().join("b");
        verify_store(path, &Options::new(), VerifyDepth::Full).unwrap()
    };
    assert_eq!((report().erased, report().versions), (0, 3));
    erase(&b, "long");
    // What is put again is new.
    put(&b, "long", "another");
    assert!(kept(&b).iter().eq(["secret"]));
    assert_eq!(report().erased, 1);
    let pulled = pull(&fleet.remote(Origin::Host), &host);
    assert!(
        pulled.fetched.erased >= 2 && pulled.fetched.not_erased == 0,
        "{pulled:?}"
    );
    assert!(!is_on_disk(&fleet, "host", SECRET));
    for (memory, name) in [(a, "first"), (b, "b"), (host, "host")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// OUT-2: a machine that keeps what a remote erased does not send it.
#[test]
fn what_was_erased_elsewhere_is_not_sent() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    // Both have the same version, and only one pushed it.
    put(&a, "secret", SECRET);
    put(&b, "secret", SECRET);
    put(&b, "of b", "1");
    remote.push(&a, &ann()).unwrap();
    erase(&a, "secret");
    remote.push(&a, &ann()).unwrap();
    let capped = fleet.remote(Origin::Model);
    let pulled = pull(&capped, &b);
    assert_eq!((pulled.fetched.erased, pulled.fetched.not_erased), (0, 1));
    capped.push(&b, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, SECRET), Vec::<String>::new());
    pull(&remote, &a);
    assert_eq!(content(&a, "of b").as_deref(), Some("1"));
    assert_eq!(content(&a, "secret"), None);
    drop(a);
    verified(&fleet.folder.path().join("first"));
}

/// FOR-2: what was erased here does not come back if the remote is read anew, also before a push says so.
#[test]
fn what_was_erased_here_stays_erased_if_the_remote_is_added_again() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "of a", "1");
    put(&b, "secret", SECRET);
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    erase(&a, "secret");
    Remote::forget("origin", &a, &ann()).unwrap();
    remote.fetch(&a, &ann()).unwrap();
    assert!(!is_on_disk(&fleet, "first", SECRET));
    pull(&remote, &a);
    assert_eq!(content(&a, "secret"), None);
    assert!(!is_on_disk(&fleet, "first", SECRET));
}

/// Rule 7: what is put again after an erasure is new, and stays on every machine.
#[test]
fn what_is_put_after_the_erasure_stays() {
    // A long text is a record of its own.
    for text in ["the same text", &"a long text. ".repeat(1_000)] {
        what_is_put_again_stays(text);
    }
}

fn what_is_put_again_stays(text: &str) {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "note", text);
    remote.push(&a, &ann()).unwrap();
    let (b, c) = (
        fleet.clone("b", Origin::DirectUser),
        fleet.clone("c", Origin::DirectUser),
    );
    put(&b, "of b", "1");
    erase(&a, "note");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert_eq!(content(&b, "note"), None);
    put(&b, "note", text);
    remote.push(&b, &ann()).unwrap();
    for memory in [&a, &c] {
        pull(&remote, memory);
        assert_eq!(content(memory, "note").as_deref(), Some(text));
        assert_eq!(memory.view().root(), b.view().root());
    }
    // And is erased again.
    erase(&c, "note");
    remote.push(&c, &ann()).unwrap();
    for memory in [&a, &b] {
        assert!(pull(&remote, memory).fetched.erased >= 1);
        assert_eq!(content(memory, "note"), None);
    }
    assert_eq!(holders(&fleet.service, text), Vec::<String>::new());
    for (memory, name) in [(a, "first"), (b, "b"), (c, "c")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// Returns what a machine shows of an id.
pub(super) fn shown(memory: &Memory, name: &str) -> Result<Option<String>, ErrorCode> {
    match memory.view().get(&id(name)) {
        Ok(found) => Ok(found.and_then(|object| object.content().map(str::to_owned))),
        Err(error) => Err(error.code()),
    }
}

/// EID-1, PUS-4: whoever learns first of an erasure or of a change beside it, all machines and the remote end alike.
#[test]
fn an_erasure_and_a_change_beside_it_end_alike_everywhere() {
    for (erased_first, pushed_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        put(&a, "note", SECRET);
        remote.push(&a, &ann()).unwrap();
        let b = fleet.clone("b", Origin::DirectUser);
        let c = fleet.clone("c", Origin::DirectUser);
        let change = || put(&b, "note", "what b wrote");
        if !erased_first {
            change();
        }
        erase(&a, "note");
        if erased_first {
            change();
        }
        let (first, other) = if pushed_first { (&a, &b) } else { (&b, &a) };
        remote.push(first, &ann()).unwrap();
        for memory in [other, first, &c, other, first, &c] {
            pull(&remote, memory);
            remote.push(memory, &ann()).unwrap();
        }
        let case = format!("erased first {erased_first}, pushed first {pushed_first}");
        let new = fleet.clone("new", Origin::DirectUser);
        let expected = shown(&new, "note");
        for memory in [&a, &b, &c] {
            assert_eq!(memory.view().root(), new.view().root(), "{case}");
            assert_eq!(shown(memory, "note"), expected, "{case}");
        }
        let is_left = expected == Ok(Some("what b wrote".to_owned()));
        assert_eq!(is_left, erased_first, "{case}: {expected:?}");
        assert_eq!(holders(&fleet.service, SECRET), Vec::<String>::new(), "{case}");
        let text = "what b wrote";
        assert_eq!(!holders(&fleet.service, text).is_empty(), erased_first, "{case}");
        for (memory, name) in [(a, "first"), (b, "b"), (c, "c"), (new, "new")] {
            drop(memory);
            verified(&fleet.folder.path().join(name));
            assert_eq!(is_on_disk(&fleet, name, text), erased_first, "{case}: {name}");
        }
    }
}

/// EID-1: a version that the store thinned before the erasure goes from the remote, too.
#[test]
fn an_erasure_removes_what_the_store_thinned_before() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    for text in [SECRET, "harmless"] {
        put(&a, "note", &format!("{text} {}", "long ".repeat(2_000)));
        remote.push(&a, &ann()).unwrap();
    }
    let b = fleet.clone("b", Origin::DirectUser);
    for number in 0..4 {
        put(&a, "counter", &number.to_string());
    }
    assert!(thin(&a, 1) > 0);
    assert!(!is_on_disk(&fleet, "first", SECRET), "it is thinned");
    erase(&a, "note");
    remote.push(&a, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, SECRET), Vec::<String>::new());
    pull(&remote, &b);
    assert!(!is_on_disk(&fleet, "b", SECRET));
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(a.view().root(), c.view().root());
}

/// PSH-3: a commit that erases versions which were derived from another one leaves the other versions of their ids alone.
#[test]
fn other_versions_of_a_derived_id_stay() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "note", SECRET);
    put(&a, "summary", "an older summary, of nothing");
    let mut summary = object("summary", "a summary of the secret");
    summary.derived_from = vec![a.view().get(&id("note")).unwrap().unwrap().digest()];
    a.put(summary, &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    let erasing = Erasing {
        targets: vec!["note".to_owned()],
        derived: true,
        ..Default::default()
    };
    a.erase(&erasing, &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    for text in [SECRET, "a summary of the secret"] {
        assert_eq!(holders(&fleet.service, text), Vec::<String>::new());
    }
    assert!(!holders(&fleet.service, "an older summary").is_empty());
    // Nor does another machine erase them, which a collection would then do in the remote.
    pull(&remote, &b);
    assert!(is_on_disk(&fleet, "b", "an older summary"));
    assert!(!is_on_disk(&fleet, "b", "a summary of the secret"));
    put(&b, "summary", "a newer summary");
    remote.push(&b, &ann()).unwrap();
    pull(&remote, &a);
    assert_eq!(content(&a, "summary").as_deref(), Some("a newer summary"));
    remote.collect_idle(&b, 0).unwrap();
    assert!(!holders(&fleet.service, "an older summary").is_empty());
}

/// PSH-3, ERA-5: the other versions of a derived id stay in the remote also if the store has thinned its own ones.
#[test]
fn thinned_versions_of_a_derived_id_stay_elsewhere() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "summary", "an older summary, of nothing");
    put(&a, "note", SECRET);
    let mut summary = object("summary", "a summary of the secret");
    summary.derived_from = vec![a.view().get(&id("note")).unwrap().unwrap().digest()];
    a.put(summary, &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "counter", "1");
    put(&a, "counter", "2");
    assert!(thin(&a, 1) > 0 && !is_on_disk(&fleet, "first", "an older summary"));
    let erasing = Erasing {
        targets: vec!["note".to_owned()],
        derived: true,
        ..Default::default()
    };
    a.erase(&erasing, &ann()).unwrap();
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert!(!holders(&fleet.service, "an older summary").is_empty());
    assert!(is_on_disk(&fleet, "b", "an older summary"));
    assert!(!is_on_disk(&fleet, "b", "a summary of the secret"));
}

/// EID-1, ERA-5: an erasure of an id that was removed before erases also the versions of it that only others have.
#[test]
fn an_erasure_of_a_removed_id_erases_what_others_wrote() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "note", SECRET);
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    put(&b, "note", "what b wrote");
    put(&b, "note", "harmless");
    a.remove(&id("note"), &ann()).unwrap();
    erase(&a, "note");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert!(!is_on_disk(&fleet, "b", "what b wrote"));
    remote.push(&b, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, "what b wrote"), Vec::<String>::new());
}

/// PSH-4: an erasure that came from one remote travels to another one.
#[test]
fn an_erasure_travels_from_remote_to_remote() {
    let (fleet, elsewhere) = (Fleet::new(), Fleet::new());
    let (remote, a) = (fleet.origin(), fleet.first());
    let other = Arc::new(elsewhere.service.clone());
    let second = Remote::on("second", other, Origin::DirectUser).unwrap();
    put(&a, "note", SECRET);
    put(&a, "old", SECRET);
    put(&a, "old", "harmless");
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    second.push(&b, &ann()).unwrap();
    let d = elsewhere.clone("d", Origin::DirectUser);
    erase(&a, "note");
    erase(&a, "old");
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    second.push(&b, &ann()).unwrap();
    assert_eq!(holders(&elsewhere.service, SECRET), Vec::<String>::new());
    assert!(second.pull(&d, &ann()).unwrap().fetched.erased > 0);
    assert!(!is_on_disk(&elsewhere, "d", SECRET));
    assert_eq!(b.view().root(), d.view().root());
    // What the first remote knows is not sent there again.
    let before = fleet.service.objects().len();
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    assert!(fleet.service.objects().len() <= before + 1);
}

/// PUS-1: a collection before the push keeps the erasing commit, so the erasure travels.
#[test]
fn an_erasure_travels_behind_a_collection() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "secret", SECRET);
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    erase(&a, "secret");
    for number in 0..9 {
        put(&a, "counter", &number.to_string());
    }
    let mut retention = crate::engine::Retention::default();
    (retention.all, retention.newest) = (Duration::ZERO, 2);
    a.gc(&retention, None).unwrap();
    remote.push(&a, &ann()).unwrap();
    assert_eq!(holders(&fleet.service, SECRET), Vec::<String>::new());
    assert!(pull(&remote, &b).fetched.erased >= 1);
    assert!(!is_on_disk(&fleet, "b", SECRET));
}

/// RRW-3, CLO-2: a remote of which old segments were written anew still opens as a store.
#[test]
fn a_rewritten_remote_opens_as_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/shared", folder.path().display());
    let remote = Remote::create("origin", &url, Origin::DirectUser).unwrap();
    let a = Memory::in_memory().unwrap();
    for number in 0..6 {
        put(&a, &format!("secret/{number}"), SECRET);
        remote.push(&a, &ann()).unwrap();
    }
    erase(&a, "secret/2");
    remote.push(&a, &ann()).unwrap();
    let root = a.view().root();
    let path = folder.path().join("shared");
    let opened = Options::new().read_only(true).open(&path).unwrap();
    assert_eq!(opened.view().root(), root);
    drop(opened);
    verified(&path);
}
