//! Tests of writers that replace what another one is reading.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::backup::put;
use super::machines::{Fleet, ann, id, pull};
use crate::disk::FileDisk;
use crate::engine::{Memory, Options};
use crate::error::ErrorCode;
use crate::object::{Kind, NewObject, Origin};
use crate::remote::Remote;
use crate::remote::bucket::{Bucket, BucketResult, Stored, Version};

/// What another client does once.
type Rival = Box<dyn FnOnce() + Send>;

/// A service where others act just before a client reads a segment.
struct Raced {
    service: Arc<dyn Bucket>,
    rival: Mutex<Option<Rival>>,
}

impl Bucket for Raced {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        if name.starts_with("log/")
            && let Some(rival) = self.rival.lock().take()
        {
            rival();
        }
        self.service.get(name, range)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        self.service.put_new(name, bytes)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        self.service.swap(name, version, bytes)
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        self.service.list(prefix)
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        self.service.delete(name)
    }

    fn describe(&self) -> String {
        self.service.describe()
    }
}

/// Returns the remote of a fleet, in which `rival` acts before the next segment is read.
fn raced(fleet: &Fleet, rival: impl FnOnce() + Send + 'static) -> Remote {
    let bucket = Raced {
        service: Arc::new(fleet.service.clone()),
        rival: Mutex::new(Some(Box::new(rival))),
    };
    Remote::on("origin", Arc::new(bucket), Origin::DirectUser).unwrap()
}

/// FET-2: a push, a fetch and a collection read segments that others have joined and deleted since. They take that for what it is,
/// and not for damage.
#[test]
fn segments_that_others_replaced_are_no_damage() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let push = |from: &str, count: usize| {
        let (remote, a, from) = (fleet.origin(), a.clone(), from.to_owned());
        move || {
            for number in 0..count {
                put(&a, &format!("{from}/{number}"), "text");
                remote.push(&a, &ann()).unwrap();
            }
        }
    };
    // With eight segments, the next push joins them.
    push("first", 7)();
    pull(&remote, &b);
    put(&b, "of b", "1");
    let error = raced(&fleet, push("push", 50)).push(&b, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RemoteAhead);

    let pulled = raced(&fleet, push("fetch", 50)).pull(&b, &ann()).unwrap();
    assert_eq!(pulled.merged.counts.added, 100);
    remote.push(&b, &ann()).unwrap();

    pull(&remote, &a);
    let collected = raced(&fleet, push("collect", 50)).collect_idle(&a, 0).unwrap();
    assert!(collected.segments_before > 0);
    pull(&remote, &b);
    assert_eq!(a.view().root(), b.view().root());
}

/// RPL-3: a push that lost leaves its segment, because a delete that comes late could hit the one of another writer.
#[test]
fn a_push_that_lost_deletes_nothing() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "of a", "1");
    put(&b, "of b", "1");
    let rival = fleet.origin();
    fleet
        .service
        .before_swap(move || drop(rival.push(&b, &ann()).unwrap()));
    let error = remote.push(&a, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RemoteAhead);
    let log = super::upkeep::place(&fleet).read().unwrap().log;
    let names = fleet.service.objects().into_keys();
    let segments = names.filter(|name| name.starts_with("log/")).count();
    assert_eq!(segments, log.segments.len() + 1);
}

/// Another process of the machine pulls. A write over what this process has not read is refused. A pull or push is not.
#[test]
fn only_a_write_minds_what_another_process_pulled() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    // The disk is opened apart, because one process has one handle of a folder.
    let disk = FileDisk::open(fleet.folder.path().join("b")).unwrap();
    let other = Memory::on_disk(Arc::new(disk), Options::new(), false, None).unwrap();
    for next in ["write", "pull", "push"] {
        put(&a, "shared", next);
        remote.sync(&a, &ann()).unwrap();
        other.refresh().unwrap();
        put(&other, "of other", next);
        pull(&remote, &other);
        if next == "write" {
            let note = NewObject::new(id("shared"), Kind::new("note").unwrap());
            let error = b.put(note, &ann()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Conflict);
            assert_eq!(error.ids(), ["shared"]);
            b.refresh().unwrap();
            put(&b, "shared", "of b");
        } else if next == "pull" {
            assert!(pull(&remote, &b).merged.conflicts.is_empty());
        }
        assert!(remote.push(&b, &ann()).unwrap().commits > 0);
    }
    pull(&remote, &a);
    assert_eq!(a.view().root(), b.view().root());
}
