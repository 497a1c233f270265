//! Dangling references: verify reports each of them, with the record that contains it.

use std::sync::Arc;
use std::time::Duration;

use super::gc::{HOUR, on_disk, options};
use super::{note, put};
use crate::digest::{CommitDigest, TextDigest};
use crate::disk::Disk;
use crate::engine::upkeep::salvage::write;
use crate::engine::{Cause, FindingKind, Options, VerifyDepth, VerifyReport};
use crate::log::{
    self, Batch, BatchBuilder, DamagedLog, Log, LogOptions, Mode, RecordKind, UNLINKED, segment_name,
};
use crate::object::{Encoded, Origin, Reference, ReferenceName, StagedChange, Time};
use crate::testing::sim_disk::SimDisk;

/// Appends batches that the engine would never write. The head does not change.
fn append(disk: &SimDisk, batches: Vec<BatchBuilder>) -> Vec<Batch> {
    let head = on_disk(disk, options(1).read_only(true), false)
        .unwrap()
        .view()
        .commit()
        .clone();
    let mark = log::HeadMark {
        commit: head.digest,
        root: head.commit.root,
        seq: head.commit.seq,
    };
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut log = Log::open(shared, Mode::ReadWrite, LogOptions::default()).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let lock = log.lock(Duration::ZERO).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let group = batches.into_iter().map(|batch| (batch, mark)).collect();
    log.append(&lock, group, log::Durability::Synced).unwrap()
}

fn verify(disk: &SimDisk) -> VerifyReport {
    let memory = on_disk(disk, options(1).read_only(true), false).unwrap();
    memory.verify(VerifyDepth::Full).unwrap()
}

/// Makes an object whose content is a separate record.
fn long(disk: &SimDisk, name: &str) -> Encoded {
    let suite = on_disk(disk, options(1).read_only(true), false).unwrap().suite();
    note(name, &format!("{name} ").repeat(2_000))
        .encode(Origin::Model, suite)
        .unwrap()
}

fn of(kind: RecordKind, body: &[u8]) -> BatchBuilder {
    let mut batch = BatchBuilder::new();
    batch.add(kind, if kind == RecordKind::Object { UNLINKED } else { 0 }, body);
    batch
}

#[test]
fn everything_that_is_missing_is_named_with_the_record_that_names_it() {
    let disk = SimDisk::new(1);
    put(&on_disk(&disk, options(HOUR), true).unwrap(), "a", "text");
    let (one, two) = (long(&disk, "one"), long(&disk, "two"));
    let mut snapshot = Reference::new(
        ReferenceName::new("snapshots/lost").unwrap(),
        Some(CommitDigest::from_bytes([7; 32])),
        Time::from_micros(1),
    );
    snapshot.reason = Some(TextDigest::from_bytes([8; 32]));
    let written = append(
        &disk,
        vec![
            of(RecordKind::Object, &one.bytes),
            of(RecordKind::Object, &two.bytes),
            of(RecordKind::Reference, &snapshot.encode().unwrap()),
        ],
    );
    let report = verify(&disk);
    assert!(!report.ok);
    // Tests NAM-1: every named record that is neither present nor erased is reported, with the record that names it.
    let mut found: Vec<_> = report
        .damage
        .iter()
        .map(|found| (found.kind(), found.damage.file.clone(), found.damage.offset))
        .collect();
    found.dedup();
    let places = written.iter().map(|batch| batch.records[0].locator);
    let expected: Vec<_> = places
        .map(|place| {
            (
                FindingKind::Missing,
                segment_name(place.segment()),
                Some(place.offset()),
            )
        })
        .collect();
    assert_eq!(found, expected, "{report:?}");
    assert_eq!(report.damage.len(), 4, "missing records: {report:?}");
    assert!(
        matches!(&report.damage[0].damage.cause, Cause::RecordMissing(what) if what.contains(" of one")),
        "{report:?}"
    );
    assert!(
        report.commits == 2 && report.versions == 3,
        "verified commits and versions must be counted: {report:?}"
    );
    // Salvage omits the dangling references, and reports them as lost.
    let wreck = DamagedLog::open(Arc::new(disk.clone())).unwrap();
    let target: Arc<dyn Disk> = Arc::new(crate::disk::MemDisk::new());
    let saved = write(&wreck, &target, &Options::new()).unwrap();
    assert_eq!(saved.lost_references, ["snapshots/lost"]);
    assert_eq!(saved.lost_records, 2, "{saved:?}");
}

#[test]
fn a_version_that_a_draft_holds_is_missed() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "a", "text");
    let commit = memory.view().commit().clone();
    let key = memory.suite().key_path("b");
    drop(memory);
    let mut draft = Reference::new(
        ReferenceName::new("drafts/lost").unwrap(),
        Some(commit.digest),
        Time::from_micros(1),
    );
    draft.root = Some(commit.commit.root);
    draft.changes = vec![StagedChange {
        key,
        digest: Some(crate::digest::ObjectDigest::from_bytes([9; 32])),
    }];
    append(&disk, vec![of(RecordKind::Reference, &draft.encode().unwrap())]);
    let report = verify(&disk);
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert!(
        matches!(&report.damage[0].damage.cause, Cause::RecordMissing(what) if what.contains("drafts/lost")),
        "{report:?}"
    );
    // The reference of a deleted draft may name records that do not exist.
    let mut gone = draft.clone();
    (gone.commit, gone.root, gone.changes) = (None, None, Vec::new());
    append(&disk, vec![of(RecordKind::Reference, &gone.encode().unwrap())]);
    assert!(verify(&disk).ok);
}

#[test]
fn a_content_that_comes_behind_what_names_it_is_not_missed() {
    let disk = SimDisk::new(1);
    put(&on_disk(&disk, options(HOUR), true).unwrap(), "a", "text");
    let one = long(&disk, "one");
    append(&disk, vec![of(RecordKind::Object, &one.bytes)]);
    assert!(!verify(&disk).ok);
    append(&disk, vec![of(RecordKind::Content, &one.content.unwrap().1)]);
    let report = verify(&disk);
    assert!(report.ok, "{report:?}");
}

#[test]
fn a_batch_that_says_something_else_than_it_should_is_named_with_its_place() {
    let disk = SimDisk::new(1);
    put(&on_disk(&disk, options(HOUR), true).unwrap(), "a", "text");
    let written = append(&disk, vec![of(RecordKind::Reference, b"no reference")]);
    let place = written[0].records[0].locator;
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let report =
        crate::engine::upkeep::verify::examine(&shared, &Options::new().settings, VerifyDepth::Full, None)
            .unwrap();
    let found = &report.damage[0].damage;
    assert_eq!(
        (found.file.clone(), found.offset),
        (segment_name(place.segment()), Some(place.offset())),
        "{report:?}"
    );
}

#[test]
fn numbers_that_overflow_when_counted_on_from_make_no_salvage_panic() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "a", "text");
    let commit = memory.view().commit().commit.clone();
    drop(memory);
    let last = crate::object::Commit {
        seq: u64::MAX,
        ..commit
    };
    let gap: Vec<u8> = (u64::MAX - 1).to_le_bytes().into_iter().chain([1; 64]).collect();
    append(
        &disk,
        vec![
            of(RecordKind::Commit, &last.encode().unwrap()),
            of(RecordKind::Gap, &gap),
        ],
    );
    let wreck = DamagedLog::open(Arc::new(disk.clone())).unwrap();
    let target: Arc<dyn Disk> = Arc::new(crate::disk::MemDisk::new());
    let saved = write(&wreck, &target, &Options::new()).unwrap();
    assert_eq!((saved.commits, saved.objects), (2, 1), "{saved:?}");
}

#[test]
fn a_commit_whose_history_is_another_one_is_not_salvaged() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "a", "text");
    let head = memory.view().commit();
    drop(memory);
    let forged = crate::object::Commit {
        parents: vec![head.digest],
        seq: head.commit.seq + 1,
        time: Time::from_micros(head.commit.time.as_micros() + 1),
        ..head.commit
    };
    append(&disk, vec![of(RecordKind::Commit, &forged.encode().unwrap())]);
    let wreck = DamagedLog::open(Arc::new(disk.clone())).unwrap();
    let target: Arc<dyn Disk> = Arc::new(crate::disk::MemDisk::new());
    let saved = write(&wreck, &target, &Options::new()).unwrap();
    // Only the history root of the lost commit is wrong.
    assert_eq!((saved.commits, saved.lost_commits), (2, 1), "{saved:?}");
}

#[test]
fn a_content_is_read_once_however_many_versions_have_it() {
    let text = "the same ".repeat(100_000);
    let reads = |versions: i64| {
        let disk = SimDisk::new(1);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        for version in 0..versions {
            let mut object = note("a", &text);
            object.attributes.insert("version", version);
            memory.put(object, &crate::engine::Writer::user()).unwrap();
        }
        drop(memory);
        let before = disk.reads();
        assert!(verify(&disk).ok);
        disk.reads() - before
    };
    let (few, many) = (reads(10), reads(60));
    assert!(many < few + 100, "{few} reads of 10 versions, {many} of 60");
}
