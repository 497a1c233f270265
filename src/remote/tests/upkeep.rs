//! Tests of joins and of the collection of a remote (rules 14, 18 and 20).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::backup::{put, verified};
use super::erasure::{SECRET, erase, is_on_disk};
use super::machines::{Fleet, ann, content, pull};
use crate::digest::DIGEST_LEN;
use crate::engine::Memory;
use crate::error::{ErrorCode, ErrorKind};
use crate::log::closed::{CLOSED_HEADER_BYTES, CLOSED_SEGMENT_BYTES, ClosedLog};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Object, Origin};
use crate::remote::bucket::{Bucket, Counted};
use crate::remote::join::{self, STAYS};
use crate::remote::place::Place;

pub(super) fn place(fleet: &Fleet) -> Place {
    Place::of(Counted::new(Arc::new(fleet.service.clone())))
}

fn log(fleet: &Fleet) -> ClosedLog {
    place(fleet).read().unwrap().log
}

/// Rule 20, JOI-1: eight small segments become one. The old ones stay for some pushes, so a reader of the old manifest goes on.
#[test]
fn small_segments_are_joined_and_leave_later() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let push = |text: &str| {
        put(&a, "counter", text);
        remote.push(&a, &ann()).unwrap()
    };
    for number in 0..7 {
        assert_eq!(push(&number.to_string()).requests, 2);
    }
    let old = log(&fleet);
    assert_eq!(old.segments.len(), 8);
    push("join");
    let joined = log(&fleet);
    assert_eq!((joined.segments.len(), joined.leaving.len()), (2, 8));
    let exists = |log: &ClosedLog, index: usize| {
        let name = log.segments[index].name();
        fleet.service.objects().contains_key(&name)
    };
    assert!((0..8).all(|index| exists(&old, index)));
    let stay = joined.generation + STAYS - 1;
    while log(&fleet).generation < stay {
        push(&format!("one of the next, {}", log(&fleet).generation));
    }
    assert!(
        (0..8).all(|index| exists(&old, index)),
        "the next push deletes them"
    );
    // A reader that began with the old manifest misses a segment, and reads the manifest again.
    let mut reads = 0;
    place(&fleet)
        .reading(place(&fleet).read().unwrap(), &mut |published| {
            reads += 1;
            if reads == 1 {
                push("the one after");
                assert!(!(0..8).any(|index| exists(&old, index)));
                let missing = place(&fleet).segment(&old, 0)?;
                return old.read(0, missing).map(drop);
            }
            assert!(published.log.generation > joined.generation);
            Ok(())
        })
        .unwrap();
    assert_eq!(reads, 2);
    let names = fleet.service.list("log/").unwrap();
    let known = log(&fleet).segments.len() + log(&fleet).leaving.len();
    assert_eq!(names.len(), known, "nothing is left over");
    pull(&remote, &b);
    assert_eq!(a.view().root(), b.view().root());
    for number in 0..70 {
        push(&format!("more {number}"));
    }
    assert!(log(&fleet).segments.len() < 20, "{}", log(&fleet).segments.len());
    pull(&remote, &b);
    assert_eq!(a.view().root(), b.view().root());
    let c = fleet.clone("c", Origin::DirectUser);
    assert_eq!(a.view().root(), c.view().root());
    for (memory, name) in [(a, "first"), (b, "b"), (c, "c")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// JOI-2: no push of one commit sends more than 64 KiB, and yet segments and what a pull reads stay few.
#[test]
fn a_push_with_a_join_stays_small() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let text = "x".repeat(3_000);
    for number in 0..150 {
        // As of an agent that stores what a person says, and what it answers.
        let size = [50, 3_000, 900][number % 3];
        put(&a, "counter", &format!("{number} {}", &text[..size]));
        let pushed = remote.push(&a, &ann()).unwrap();
        assert!(pushed.bytes <= 64 << 10, "{number}: {} bytes", pushed.bytes);
        if number % 10 == 9 {
            let pulled = pull(&remote, &b).fetched;
            assert!(
                (2..=11).contains(&pulled.requests),
                "{number}: {} requests",
                pulled.requests
            );
            assert!(pulled.bytes < 128 << 10, "{number}: {} bytes", pulled.bytes);
        }
    }
    let segments = log(&fleet).segments.len();
    assert!(segments <= 30, "{segments}");
}

/// Prints the rows of the table of joins in docs/scale.md.
#[test]
#[ignore = "prints figures"]
fn count_the_requests_of_many_pushes() {
    for count in [300_u64, 1_000] {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        let (mut two, mut requests, mut sent, mut most) = (0, 0, 0, (0, 0));
        for number in 0..count {
            put(&a, &format!("fact {number}"), &format!("{number:060}"));
            let pushed = remote.push(&a, &ann()).unwrap();
            two += u64::from(pushed.requests == 2);
            (requests, sent) = (requests + pushed.requests, sent + pushed.bytes);
            most = (most.0.max(pushed.requests), most.1.max(pushed.bytes));
        }
        let (requests, sent) = (requests as f64 / count as f64, sent / count);
        let (segments, stored) = (log(&fleet).segments.len(), fleet.service.objects());
        let stored: usize = stored.values().map(Vec::len).sum();
        println!(
            "| {count} | {two} | {requests:.1} | {} | {sent} B | {} B | {segments} | {} |",
            most.0,
            most.1,
            stored as u64 / count
        );
        assert!(most.1 <= 64 << 10, "JOI-2");
    }
}

/// JOI-2: how much a push may join, and which segments it chooses.
#[test]
fn a_join_is_worth_what_it_sends() {
    let fleet = Fleet::new();
    drop(fleet.first());
    let of_sizes = |kibibytes: &[u64]| {
        let mut log = log(&fleet);
        let segment = log.segments[0];
        let with = |size: &u64| {
            let mut segment = segment;
            segment.length = CLOSED_HEADER_BYTES + (size << 10);
            segment
        };
        log.segments = kibibytes.iter().map(with).collect();
        log
    };
    let due = |kibibytes: &[u64]| join::due(&of_sizes(kibibytes), 54 << 10);
    assert_eq!(due(&[1; 7]), None, "too few");
    assert_eq!(due(&[1; 8]), Some(0..8));
    assert_eq!(due(&[1, 3, 1, 3, 1, 3, 1, 3]), Some(0..8), "of any sizes");
    assert_eq!(
        due(&[8, 1, 1, 1, 1, 1, 1, 1]),
        None,
        "one is larger than the others together"
    );
    assert_eq!(due(&[8, 1, 1, 1, 1, 1, 1, 1, 1]), Some(1..9));
    assert_eq!(
        due(&[60, 1, 1, 1, 1, 1, 1, 1, 1]),
        Some(1..9),
        "the first has no room"
    );
    assert_eq!(due(&[20, 20, 20, 1, 1, 1, 1, 1]), Some(0..2), "as many as fit");
    let (few, many) = (of_sizes(&[1; 128]), of_sizes(&[1; 129]));
    let (small, large) = (8 << 10, 1 << 20);
    let sent = join::room(&few, small) + small + few.encode().len() as u64;
    assert!((60 << 10..64 << 10).contains(&sent), "{sent}");
    assert_eq!(join::room(&few, large), large, "twice what it sends anyway");
    assert_eq!(join::room(&many, small), CLOSED_SEGMENT_BYTES);
}

/// Rule 15: a damaged segment is damage, however often the manifest is read.
#[test]
fn a_missing_segment_of_the_newest_manifest_is_damage() {
    let fleet = Fleet::new();
    drop(fleet.first());
    fleet.service.delete(&log(&fleet).segments[0].name()).unwrap();
    let mut reads = 0;
    let error = place(&fleet)
        .reading(place(&fleet).read().unwrap(), &mut |published| {
            reads += 1;
            let missing = place(&fleet).segment(&published.log, 0)?;
            published.log.read(0, missing).map(drop)
        })
        .unwrap_err();
    assert_eq!((error.kind(), reads), (ErrorKind::Corrupt, 1));
}

/// Makes a remote with two machines whose commits alternate, so both have side lines.
fn crossed(fleet: &Fleet) -> (Memory, Memory) {
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    for round in 0..6 {
        for (memory, name) in [(&a, "a"), (&b, "b")] {
            put(memory, &format!("{name}/{round}"), &"text ".repeat(round * 300));
            put(memory, "passing", &format!("{name} {round}"));
            remote.pull(memory, &ann()).unwrap();
            remote.push(memory, &ann()).unwrap();
        }
    }
    (a, b)
}

/// Rules 14 and 18, RGC-1, RGC-2: a collection drops merged side lines, and every machine goes on, also one that was away.
#[test]
fn a_collection_drops_merged_lines_and_keeps_the_history() {
    let fleet = Fleet::new();
    let (a, b) = crossed(&fleet);
    let (remote, away) = (fleet.origin(), fleet.clone("away", Origin::DirectUser));
    put(&away, "of away", "1");
    put(&b, "b/late", "1");
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    let before = log(&fleet);
    assert!(!before.lines.is_empty());
    let kept = remote.gc(&a).unwrap();
    assert_eq!(kept.dropped, Vec::<String>::new(), "they are not idle");
    let orphan = format!("log/{:08}.seg", log(&fleet).highest_id() + 7);
    fleet
        .service
        .put_new(&orphan, b"left by a machine that lost")
        .unwrap();
    let collected = remote.collect_idle(&a, 0).unwrap();
    assert_eq!(collected.dropped.len(), before.lines.len());
    assert!(collected.bytes < collected.bytes_before, "{collected:?}");
    let after = log(&fleet);
    assert!(after.lines.is_empty() && after.last_batch() == before.last_batch());
    assert!(
        after.segments.last().unwrap().id > before.highest_id() + 7,
        "rule 14"
    );
    let names = fleet.service.list("log/").unwrap();
    assert_eq!(names.len(), after.segments.len());

    // A machine that read half of it, and one that lost its cache, go on.
    for memory in [&a, &b, &away] {
        pull(&remote, memory);
        remote.push(memory, &ann()).unwrap();
    }
    put(&a, "a/later", "1");
    for memory in [&a, &b, &away, &a, &b] {
        pull(&remote, memory);
        remote.push(memory, &ann()).unwrap();
    }
    let new = fleet.clone("new", Origin::DirectUser);
    for memory in [&a, &b, &away] {
        assert_eq!(memory.view().root(), new.view().root());
        assert_eq!(content(memory, "of away").as_deref(), Some("1"));
    }
    for (memory, name) in [(a, "first"), (b, "b"), (away, "away"), (new, "new")] {
        drop(memory);
        verified(&fleet.folder.path().join(name));
    }
}

/// Rule 18: a side line stays while a snapshot names one of its commits.
#[test]
fn a_collection_keeps_the_line_of_a_named_commit() {
    let fleet = Fleet::new();
    let (a, b) = crossed(&fleet);
    let remote = fleet.origin();
    put(&b, "b/late", "1");
    b.snapshot(Some("here"), &ann()).unwrap();
    for memory in [&a, &b, &a] {
        pull(&remote, memory);
        remote.push(memory, &ann()).unwrap();
    }
    let before = log(&fleet).lines;
    assert_eq!(before.len(), 2);
    let dropped = remote.collect_idle(&a, 0).unwrap().dropped;
    assert_eq!(dropped.len(), 1);
    let left = log(&fleet).lines;
    assert!(left.len() == 1 && left[0].name != dropped[0]);
    let new = fleet.clone("new", Origin::DirectUser);
    assert_eq!(
        new.at("remote:origin/here").unwrap().root(),
        b.at("here").unwrap().root()
    );
}

/// RGC-2: an open conflict keeps both sides, also if one of them is only in a line that goes.
#[test]
fn a_collection_keeps_the_sides_of_an_open_conflict() {
    // The version with the larger digest is shown, so some texts show that of the side line, and others do not.
    for number in 0..6 {
        let fleet = Fleet::new();
        let (remote, a) = (fleet.origin(), fleet.first());
        put(&a, "plan", "we begin");
        remote.push(&a, &ann()).unwrap();
        let b = fleet.clone("b", Origin::DirectUser);
        put(&a, "plan", &format!("we go to Oslo, {number}"));
        put(&b, "plan", &format!("we stay in Rome, {number}"));
        remote.push(&a, &ann()).unwrap();
        for memory in [&b, &a] {
            pull(&remote, memory);
            remote.push(memory, &ann()).unwrap();
        }
        let sides = |memory: &Memory| -> Vec<Option<String>> {
            let conflicts = memory.conflicts().unwrap();
            assert_eq!(conflicts.len(), 1);
            let versions = conflicts[0].sides.iter().filter_map(|side| side.version);
            let texts = versions.map(|version| {
                let object = memory.version(version).unwrap();
                object.map(|object| object.content().unwrap().to_owned())
            });
            texts.collect()
        };
        let before = sides(&a);
        assert_eq!(before.len(), 2);
        assert!(!remote.collect_idle(&a, 0).unwrap().dropped.is_empty());
        let new = fleet.clone("new", Origin::DirectUser);
        assert_eq!(sides(&new), before);
    }
}

/// RGC-4: a machine that was away while a remote was collected learns of an erasure in a side line.
#[test]
fn a_collection_keeps_the_line_of_an_erasure() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "note", SECRET);
    remote.push(&a, &ann()).unwrap();
    let [b, away] = ["b", "away"].map(|name| fleet.clone(name, Origin::DirectUser));
    put(&b, "of b", "1");
    remote.push(&b, &ann()).unwrap();
    put(&away, "of away", "1");
    erase(&a, "note");
    pull(&remote, &a);
    remote.push(&a, &ann()).unwrap();
    assert_eq!(log(&fleet).lines.len(), 1, "the commits of a");
    assert!(remote.collect_idle(&b, 0).unwrap().dropped.is_empty());
    let pulled = pull(&remote, &away);
    assert_eq!(pulled.fetched.erased, 1);
    assert!(pulled.merged.conflicts.is_empty());
    remote.push(&away, &ann()).unwrap();
    pull(&remote, &a);
    assert_eq!(a.view().root(), away.view().root());
    assert!(!is_on_disk(&fleet, "away", SECRET) && !is_on_disk(&fleet, "first", SECRET));
}

/// Rule 14, RGC-3: a collection goes on while others push, and begins anew if what it left out is needed again.
#[test]
fn a_collection_beside_pushes_loses_nothing() {
    let fleet = Fleet::new();
    let (a, b) = crossed(&fleet);
    let remote = fleet.origin();
    let (rival, memory) = (fleet.origin(), b.clone());
    fleet.service.before_swap(move || {
        // Goes back to a version that only its side line has.
        let past = memory.commits().nth(7).unwrap().unwrap();
        memory.rollback(past.digest).across_lanes().by(&ann()).unwrap();
        rival.pull(&memory, &ann()).unwrap();
        rival.push(&memory, &ann()).unwrap();
    });
    let collected = remote.collect_idle(&a, 0).unwrap();
    assert!(collected.segments > 0);
    pull(&remote, &a);
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    let new = fleet.clone("new", Origin::DirectUser);
    for memory in [&a, &b] {
        assert_eq!(memory.view().root(), new.view().root());
    }
    drop(new);
    verified(&fleet.folder.path().join("new"));
    // Another store has no say.
    let other = Memory::in_memory().unwrap();
    assert_eq!(remote.gc(&other).unwrap_err().code(), ErrorCode::Unrelated);
}

/// RGC-3: a collection begins anew if a push meanwhile links a version that it left out. An earlier program makes such a push.
#[test]
fn a_collection_leaves_nothing_out_that_a_push_links_meanwhile() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "of a", "1");
    remote.push(&a, &ann()).unwrap();
    // The side line of b alone has its first version.
    for text in ["first", "second"] {
        put(&b, "of b", text);
    }
    pull(&remote, &b);
    remote.push(&b, &ann()).unwrap();
    let other = fleet.clone("other", Origin::DirectUser);
    let before = fleet.service.objects();
    let all = versions(&fleet);
    remote.collect_idle(&a, 0).unwrap();
    let kept = versions(&fleet);
    let left_out = *all.difference(&kept).next().expect("a version is left out");
    fleet.service.restore(before);
    let place = place(&fleet);
    fleet.service.before_swap(move || {
        let published = place.read().unwrap();
        let (mut batch, head) = (BatchBuilder::new(), published.log.head);
        batch.add(RecordKind::Link, 0, &[[0; DIGEST_LEN], left_out].concat());
        let (first, floor) = (published.log.last_batch() + 1, 0);
        let segment = place
            .put(&published.log, floor, first, vec![(batch, head)])
            .unwrap();
        let next = published.log.with(&segment, head);
        place.publish(&published, next).unwrap();
    });
    remote.collect_idle(&other, 0).unwrap();
    assert!(versions(&fleet).contains(&left_out));
}

/// Returns the versions that have a record in the remote.
fn versions(fleet: &Fleet) -> BTreeSet<[u8; DIGEST_LEN]> {
    let (place, log) = (place(fleet), log(fleet));
    let batches = (0..log.segments.len()).flat_map(|index| place.batches(&log, index).unwrap());
    let records = batches.flat_map(|batch| batch.records);
    let versions = records.filter(|record| record.kind == RecordKind::Object);
    let suite = log.suite();
    versions
        .map(|record| *Object::hash(&record.body, suite).as_bytes())
        .collect()
}

/// A collection erases what the store erased, also before the next push.
#[test]
fn a_collection_erases_what_the_store_erased() {
    let fleet = Fleet::new();
    let (remote, a) = (fleet.origin(), fleet.first());
    put(&a, "secret", "swordfish");
    remote.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    let erasing = crate::engine::Erasing {
        targets: vec!["secret".to_owned()],
        ..Default::default()
    };
    a.erase(&erasing, &ann()).unwrap();
    let has_secret = || {
        let objects = fleet.service.objects();
        objects
            .values()
            .any(|bytes| bytes.windows(9).any(|window| window == b"swordfish"))
    };
    remote.gc(&a).unwrap();
    assert!(!has_secret());
    remote.push(&a, &ann()).unwrap();
    pull(&remote, &b);
    assert_eq!(content(&b, "secret"), None);
}
