//! Salvage of a store with any damage: the new store contains all undamaged records, and no other records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::covering::cover;
use super::gc::{HOUR, kept, on_disk, options, tight};
use super::{id, put};
use crate::digest::{CommitDigest, ObjectDigest};
use crate::disk::{Disk, FileDisk, Holder, MemDisk};
use crate::engine::upkeep::doctor::examine_disk;
use crate::engine::upkeep::salvage::{salvage_store, write};
use crate::engine::upkeep::verify::verify_store;
use crate::engine::{
    Cause, Erasing, Finding, Memory, Options, Query, Remedy, SalvageReport, TextRecord, VerifyDepth, Writer,
};
use crate::log::{BatchBuilder, DamagedLog, Durability, HeadMark, Log, LogOptions, Mode, Record, RecordKind};
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorKind, Result};

/// Makes a store of several segments with a gap, an erasure, snapshots, and a checkpoint.
fn store() -> SimDisk {
    store_of(3)
}

/// Makes a similar store from other random numbers.
fn store_of(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "of", &format!("store {seed}"));
    for number in 0..40 {
        put(
            &memory,
            &format!("old/{}", number % 9),
            &format!("old {number} ").repeat(200),
        );
        if number % 10 == 3 {
            memory
                .snapshot(Some(&format!("old-{number}")), &Writer::user())
                .unwrap();
            memory.snapshot(None, &Writer::user()).unwrap();
        }
    }
    put(&memory, "secret", "never to be seen again");
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user()).unwrap();
    memory.gc(&tight(), None).unwrap();
    for number in 0..60 {
        put(
            &memory,
            &format!("new/{}", number % 13),
            &format!("new {number} ").repeat(300),
        );
        if number == 20 {
            memory
                .rollback("old-33")
                .across_lanes()
                .by(&Writer::user())
                .unwrap();
        }
        if number == 30 {
            memory.remove(&id("new/3"), &Writer::user()).unwrap();
            cover(&memory);
        }
        if number == 45 {
            memory.snapshot(Some("late"), &Writer::user()).unwrap();
        }
    }
    drop(memory);
    disk
}

/// Removes the checkpoints, so that only the log is left.
fn without_checkpoints(disk: &SimDisk) {
    for name in disk
        .files()
        .into_keys()
        .filter(|name| name.starts_with("checkpoint/"))
    {
        disk.remove_file(&name);
    }
}

/// The true content of a store: its commits with their states, and all of its versions.
pub(super) struct Truth {
    pub(super) commits: BTreeMap<CommitDigest, BTreeMap<String, ObjectDigest>>,
    pub(super) versions: BTreeSet<ObjectDigest>,
    pub(super) head: CommitDigest,
}

pub(super) fn truth(memory: &Memory) -> Truth {
    let mut truth = Truth {
        commits: BTreeMap::new(),
        versions: BTreeSet::new(),
        head: memory.view().commit().digest,
    };
    for info in memory.commits() {
        let info = info.unwrap();
        let view = memory
            .view_at(&info.digest.to_hex().parse().unwrap(), "")
            .unwrap();
        let mut state = BTreeMap::new();
        for object in view.objects() {
            let object = object.unwrap();
            state.insert(object.id().to_string(), object.digest());
            if !object.is_placeholder() {
                truth.versions.insert(object.digest());
            }
        }
        truth.commits.insert(info.digest, state);
    }
    truth
}

/// Returns every version in the log, including the versions that no state contains.
pub(super) fn versions(memory: &Memory) -> BTreeSet<ObjectDigest> {
    let mut found = BTreeSet::new();
    let told = memory.text_records(&mut |text_record| {
        if let TextRecord::Version(object) = text_record {
            found.insert(object.digest());
        }
        Ok(())
    });
    told.unwrap();
    found
}

pub(super) fn rescue(disk: &SimDisk) -> Result<(Memory, SalvageReport)> {
    let wreck = DamagedLog::open(Arc::new(disk.copy()))?;
    let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let report = write(&wreck, &target, &Options::new())?;
    let memory = Memory::on_disk(target, Options::new(), false, None)?;
    Ok((memory, report))
}

/// Returns whether a finding reports an interrupted rewrite.
pub(super) fn is_cut_off(found: &Finding) -> bool {
    matches!(found.damage.cause, Cause::RewriteCutOff | Cause::ErasureUnsure)
}

/// Returns the problems that the doctor finds, with their remedies. Checks that the examination changes nothing
/// (DOC-1).
pub(super) fn named(disk: &SimDisk, what: &str) -> Vec<(String, Remedy)> {
    let before = disk.files();
    let mut problems = Vec::new();
    let looked_at: Arc<dyn Disk> = Arc::new(disk.clone());
    examine_disk(&looked_at, &Options::new(), &mut problems).unwrap();
    assert_eq!(disk.files(), before, "{what}");
    let named = problems.into_iter();
    named
        .map(|problem| (problem.file.unwrap_or_default(), problem.remedy))
        .collect()
}

/// Checks that salvage invented nothing (SVG-1): each commit had that state before, or is the commit of the salvage.
pub(super) fn check(memory: &Memory, report: &SalvageReport, truth: &Truth, what: &str) {
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok, "{what}");
    let found = self::truth(memory);
    let mut kept = 0;
    for (digest, state) in &found.commits {
        if *digest == found.head && memory.view().commit().commit.op.as_str() == "salvage" {
            for version in state.values() {
                assert!(
                    truth.versions.contains(version),
                    "{what}: a version that never existed"
                );
            }
            continue;
        }
        kept += 1;
        let known = truth.commits.get(digest);
        let known = known.unwrap_or_else(|| panic!("{what}: a commit that never existed"));
        // Only the digest of a lost version is known, not its id.
        let digests = |state: &BTreeMap<_, ObjectDigest>| state.values().copied().collect::<BTreeSet<_>>();
        assert_eq!(digests(known), digests(state), "{what}");
    }
    assert_eq!(kept, report.commits, "{what}");
    assert!(found.versions.is_subset(&truth.versions), "{what}");
    assert!(memory.view().get(&id("secret")).unwrap().is_none(), "{what}");
    let is_same = found.head == truth.head && found.commits == truth.commits;
    assert!(is_same || !report.is_whole(), "{what}: {report:?}");
}

#[test]
fn a_whole_store_comes_out_as_it_was() {
    let disk = store();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    let before = kept(&memory);
    let snapshots = memory.snapshots().unwrap().len();
    for lost in [
        &[][..],
        &["manifest"],
        &["format"],
        &["live"],
        &["manifest", "format", "live"],
    ] {
        let copy = disk.copy();
        for name in lost {
            copy.remove_file(name);
        }
        let (saved, report) = rescue(&copy).unwrap();
        assert!(report.is_whole(), "{lost:?}: {report:?}");
        assert!(kept(&saved) == before, "{lost:?}");
        assert_eq!(saved.snapshots().unwrap().len(), snapshots);
        check(&saved, &report, &truth(&memory), &format!("without {lost:?}"));
    }
}

#[test]
fn whatever_bit_is_flipped_the_rest_is_saved() {
    let disk = store();
    let truth = truth(&on_disk(&disk, options(HOUR), false).unwrap());
    for bare in [false, true] {
        let disk = disk.copy();
        if bare {
            without_checkpoints(&disk);
        }
        for (file, content) in disk.files() {
            if !file.starts_with("log/") {
                continue;
            }
            let used = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            for at in (7..used).step_by(used / 12) {
                let copy = disk.copy();
                copy.overwrite(&file, |bytes| bytes[at] ^= 4);
                let what = format!("{file} at {at}, bare {bare}");
                let (saved, report) = rescue(&copy).unwrap();
                check(&saved, &report, &truth, &what);
                // One flipped bit damages at most one record or one seal. Several objects may share a damaged content.
                assert!(
                    report.lost_ids.len() + report.lost_keys.len() <= 1,
                    "{what}: {report:?}"
                );
                assert!(
                    report.versions + 2 >= truth.versions.len() as u64,
                    "{what}: {report:?}"
                );
                assert!(
                    saved.view().len() + 1 >= truth.commits[&truth.head].len() as u64,
                    "{what}"
                );
            }
        }
    }
}

/// Returns the length up to the last byte that is not zero.
pub(super) fn used(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

type Damage = (&'static str, Box<dyn Fn(&SimDisk, &str)>);

#[test]
fn files_that_are_lost_cut_emptied_zeroed_or_foreign() {
    let (disk, other) = (store(), store_of(4));
    let foreign = on_disk(&other, options(HOUR).read_only(true), false).unwrap();
    let foreign = foreign.view().get(&id("of")).unwrap().unwrap().digest();
    let truth = truth(&on_disk(&disk, options(HOUR), false).unwrap());
    let segments = super::segments(&disk);
    assert!(segments.len() > 3, "{segments:?}");
    let damages: Vec<Damage> = vec![
        ("missing", Box::new(SimDisk::remove_file)),
        ("emptied", Box::new(|disk, file| disk.overwrite(file, Vec::clear))),
        (
            "cut",
            Box::new(|disk, file| disk.overwrite(file, |bytes| bytes.truncate(used(bytes) * 2 / 3))),
        ),
        (
            "first page zeroed",
            Box::new(|disk, file| disk.overwrite(file, |bytes| bytes[..4096].fill(0))),
        ),
        (
            "a page zeroed",
            Box::new(|disk, file| {
                disk.overwrite(file, |bytes| {
                    bytes
                        .iter_mut()
                        .skip(12_288)
                        .take(4_096)
                        .for_each(|byte| *byte = 0);
                });
            }),
        ),
        (
            "foreign",
            Box::new(move |disk, file| {
                let foreign = other.files().remove(file).unwrap_or_default();
                disk.overwrite(file, |bytes| *bytes = foreign);
            }),
        ),
    ];
    for (name, damage) in &damages {
        for file in &segments {
            let copy = disk.copy();
            damage(&copy, file);
            let what = format!("{file} {name}");
            let found = named(&copy, &what);
            assert!(
                found
                    .iter()
                    .any(|(at, remedy)| at == file && *remedy == Remedy::Salvage),
                "{what}: {found:?}"
            );
            let before = copy.files();
            let (saved, report) = rescue(&copy).unwrap();
            // Tests SAL-1: salvage does not write to the damaged log, and returns only bytes whose checksums match.
            assert_eq!(copy.files(), before, "{what}");
            check(&saved, &report, &truth, &what);
            // Tests SAL-1: salvage copies no record of another store.
            assert!(!versions(&saved).contains(&foreign), "{what}");
            if *name == "first page zeroed" {
                assert!(report.is_whole(), "{what}: {report:?}");
            } else {
                assert!(
                    report.lost.iter().any(|lost| lost.damage.file == *file),
                    "{what}: {report:?}"
                );
            }
        }
    }
}

#[test]
fn a_checkpoint_saves_the_state_of_a_log_that_is_gone() {
    let disk = store();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    cover(&memory);
    let truth = truth(&memory);
    drop(memory);
    // Removes all but the newest segment.
    let mut segments: Vec<_> = disk
        .files()
        .into_keys()
        .filter(|name| name.starts_with("log/"))
        .collect();
    segments.pop();
    for name in &segments {
        disk.remove_file(name);
    }
    let (saved, report) = rescue(&disk).unwrap();
    check(&saved, &report, &truth, "one segment left");
    assert!(
        !(report.lost_ids.is_empty() && report.lost_keys.is_empty()) && report.lost_commits > 0,
        "{report:?}"
    );
    assert!(!saved.view().is_empty());
}

#[test]
fn an_id_whose_newest_version_is_lost_has_that_of_the_newest_kept_commit() {
    let disk = store();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    put(&memory, "again", "the first");
    put(&memory, "again", "taken back");
    memory.rollback("@-1").by(&Writer::user()).unwrap();
    let segments = |disk: &SimDisk| {
        disk.files()
            .into_keys()
            .filter(|name| name.starts_with("log/"))
            .count()
    };
    let before = segments(&disk);
    while segments(&disk) == before {
        put(
            &memory,
            "filler",
            &memory.view().commit().commit.seq.to_string().repeat(500),
        );
    }
    // Adds objects that only the newest segment contains.
    put(&memory, "again", "the last");
    put(&memory, "late", "only here");
    cover(&memory);
    drop(memory);
    let newest = disk
        .files()
        .into_keys()
        .rfind(|name| name.starts_with("log/"))
        .unwrap();
    disk.remove_file(&newest);
    let (saved, report) = rescue(&disk).unwrap();
    assert!(report.older_ids.contains(&"again".to_owned()), "{report:?}");
    assert_eq!(report.lost_ids.len() + report.lost_keys.len(), 1, "{report:?}");
    let view = saved.view();
    let again = view.get(&id("again")).unwrap().unwrap();
    assert_eq!(again.content(), Some("the first"));
    assert!(view.get(&id("late")).unwrap().is_none());
    // Without the checkpoint, salvage cannot detect that newer segments existed. The salvaged data is the same.
    without_checkpoints(&disk);
    let (plain, _) = rescue(&disk).unwrap();
    assert_eq!(plain.view().root(), view.root());
}

#[test]
fn earlier_versions_close_no_cycle_of_parents() {
    for is_covered in [false, true] {
        let disk = SimDisk::new(1);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        let child = |name: &str, parent: Option<&str>, text: &str| {
            let mut object = super::note(name, text);
            object.parent = parent.map(id);
            memory.put(object, &Writer::user()).unwrap();
        };
        child("b", None, "the top");
        child("a", Some("b"), "below");
        child("a", None, "moved up, and lost");
        child("b", Some("a"), "moved below");
        child("c", Some("b"), "below that");
        if is_covered {
            cover(&memory);
        }
        drop(memory);
        let lost = b"moved up, and lost";
        for name in super::segments(&disk) {
            disk.overwrite(&name, |bytes| {
                if let Some(at) = bytes.windows(lost.len()).position(|part| part == lost) {
                    bytes[at] ^= 1;
                }
            });
        }
        let (saved, report) = rescue(&disk).unwrap();
        let view = saved.view();
        assert_eq!(report.lost_ids, ["a"], "{is_covered}: {report:?}");
        assert!(report.older_ids.is_empty() && view.get(&id("a")).unwrap().is_none());
        for left in ["b", "c"] {
            assert!(view.subtree_digest(&id(left)).unwrap().is_some(), "{left}");
        }
    }
}

#[test]
fn with_a_checkpoint_no_object_is_saved_in_an_older_version_than_without() {
    const OBJECTS: usize = 12;
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    // Finds for each version the last commit whose state has it.
    let mut newest = BTreeMap::new();
    for round in 0..3 {
        for number in 0..OBJECTS {
            put(
                &memory,
                &format!("o/{number}"),
                &format!("{round} ").repeat(2_000),
            );
            for object in memory.view().objects().map(Result::unwrap) {
                newest.insert(object.digest(), memory.view().commit().commit.seq);
            }
        }
    }
    cover(&memory);
    let covered = super::segments(&disk).len();
    while super::segments(&disk).len() == covered {
        let seq = memory.view().commit().commit.seq;
        put(&memory, "filler", &format!("{seq} ").repeat(2_000));
    }
    put(&memory, "behind", "the checkpoint");
    drop(memory);
    let segments = super::segments(&disk);
    assert!(segments.len() > 3, "{segments:?}");
    let mut saved_older = 0;
    for file in segments.iter().take(covered) {
        for share in [1, 2, 3] {
            let covered = disk.copy();
            covered.overwrite(file, |bytes| bytes.truncate(used(bytes) * share / 4));
            let plain = covered.copy();
            without_checkpoints(&plain);
            let what = format!("{file} cut to {share} quarters");
            let ((covered, report), (plain, _)) = (rescue(&covered).unwrap(), rescue(&plain).unwrap());
            saved_older += report.older_ids.len();
            for object in plain.view().objects().map(Result::unwrap) {
                let found = covered.view().get(&id(object.id().as_str())).unwrap();
                let found = found.unwrap_or_else(|| panic!("{what}: {} is lost", object.id()));
                assert!(
                    newest.get(&found.digest()) >= newest.get(&object.digest()),
                    "{what}: {}",
                    object.id()
                );
            }
        }
    }
    assert!(saved_older > OBJECTS, "{saved_older}");
}

#[test]
fn a_log_that_was_emptied_or_is_older_than_its_checkpoint_is_noticed() {
    let disk = store();
    let older = disk.files();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    put(&memory, "late", "behind the copy");
    cover(&memory);
    drop(memory);
    assert!(
        named(&disk, "whole")
            .iter()
            .all(|(_, remedy)| *remedy == Remedy::Nothing)
    );
    // Replaces all files except the checkpoint by their earlier content.
    for (name, content) in older.iter().filter(|(name, _)| !name.starts_with("checkpoint/")) {
        disk.overwrite(name, |bytes| bytes.clone_from(content));
    }
    let found = named(&disk, "older");
    assert!(
        found
            .iter()
            .any(|(file, remedy)| file.starts_with("log/") && *remedy == Remedy::Salvage),
        "{found:?}"
    );
    for lost in ["manifest", "format"] {
        let copy = disk.copy();
        copy.remove_file(lost);
        let found = named(&copy, lost);
        assert!(found.contains(&(lost.to_owned(), Remedy::Salvage)), "{found:?}");
    }
}

#[test]
fn damage_below_a_checkpoint_costs_the_object_that_it_hit() {
    let disk = store();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    cover(&memory);
    let all = memory.view().len();
    drop(memory);
    let text = b"old 31 old 31";
    let files = disk.files();
    let mut segments = files.iter().filter(|(name, _)| name.starts_with("log/"));
    let (file, at) = segments
        .find_map(|(file, bytes)| Some((file, bytes.windows(text.len()).position(|found| found == text)?)))
        .unwrap();
    disk.overwrite(file, |bytes| bytes[at] ^= 1);
    for degraded in [false, true] {
        let options = options(HOUR).read_only(true).degraded(degraded);
        let memory = on_disk(&disk, options, false).unwrap();
        let view = memory.view();
        assert_eq!(view.len(), all);
        for number in 0..9 {
            let name = format!("old/{number}");
            let found = view.get(&id(&name));
            if number == 31 % 9 {
                assert_eq!(found.err().unwrap().kind(), ErrorKind::Corrupt);
            } else {
                assert!(found.unwrap().unwrap().content().is_some(), "{name}");
            }
        }
        let listed = view
            .query(&Query::default())
            .and_then(Iterator::collect::<Result<Vec<_>>>);
        let walked: Result<Vec<_>> = view.objects().collect();
        if degraded {
            assert_eq!(
                (listed.unwrap().len(), walked.unwrap().len()),
                (all as usize - 1, all as usize - 1)
            );
            assert_eq!(memory.unreadable(), 1);
        } else {
            assert_eq!(listed.err().unwrap().kind(), ErrorKind::Corrupt);
            assert_eq!(walked.err().unwrap().kind(), ErrorKind::Corrupt);
        }
    }
}

#[test]
fn a_file_of_another_store_or_time_does_not_keep_the_rest_from_being_saved() {
    let disk = store();
    without_checkpoints(&disk);
    let truth = truth(&on_disk(&disk, options(HOUR), false).unwrap());
    let foreign = disk.copy();
    let format = store_of(4).files().remove("format").unwrap();
    foreign.overwrite("format", |bytes| bytes.clone_from(&format));
    let (saved, report) = rescue(&foreign).unwrap();
    check(&saved, &report, &truth, "the format file of another store");
    assert_eq!(saved.view().commit().digest, truth.head);
    // Combines the log from before a rewrite with the manifest from after that rewrite.
    let older = disk.files();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    memory.gc(&tight(), None).unwrap();
    drop(memory);
    for name in super::segments(&disk) {
        disk.remove_file(&name);
    }
    for (name, content) in older.iter().filter(|(name, _)| name.starts_with("log/")) {
        disk.create(name).unwrap().write_at(0, content).unwrap();
    }
    without_checkpoints(&disk);
    let (saved, _) = rescue(&disk).unwrap();
    assert_eq!(saved.view().commit().digest, truth.head);
}

#[test]
fn nothing_comes_of_nothing() {
    let disk = store();
    without_checkpoints(&disk);
    for name in super::segments(&disk) {
        disk.overwrite(&name, Vec::clear);
    }
    assert_eq!(rescue(&disk).err().unwrap().kind(), ErrorKind::Corrupt);
    disk.remove_file("format");
    assert_eq!(rescue(&disk).err().unwrap().kind(), ErrorKind::Corrupt);
    let empty = SimDisk::new(1);
    assert_eq!(rescue(&empty).err().unwrap().kind(), ErrorKind::NotFound);
}

#[test]
fn a_folder_that_no_salvage_left_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let from = at("store");
    put(&Memory::create(&from).unwrap(), "a", "text");
    let salvage = |to: &str| salvage_store(&from, at(to), &Options::new());
    // Tests SLV-2: the targets are an unrelated folder, a store, a file, and a symlink to another folder.
    std::fs::create_dir(at("notes.salvage")).unwrap();
    std::fs::write(at("notes.salvage").join("notes"), "precious").unwrap();
    drop(Memory::create(at("store2.salvage")).unwrap());
    std::fs::write(at("file.salvage"), "precious").unwrap();
    std::fs::create_dir(at("elsewhere")).unwrap();
    std::fs::write(at("elsewhere").join("salvage.lock"), "precious").unwrap();
    std::os::unix::fs::symlink(at("elsewhere"), at("link.salvage")).unwrap();
    for to in ["notes", "store2", "file", "link"] {
        let error = salvage(to).unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::InvalidInput, crate::error::ErrorCode::Exists),
            "{to}"
        );
        assert!(!at(to).exists(), "{to}");
    }
    assert_eq!(
        std::fs::read(at("notes.salvage").join("notes")).unwrap(),
        b"precious"
    );
    assert!(Memory::open(at("store2.salvage")).is_ok());
    assert_eq!(
        std::fs::read(at("elsewhere").join("salvage.lock")).unwrap(),
        b"precious"
    );
    // The name looks like the temporary name of a salvage into "named".
    let error = salvage("named.salvage").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(!at("named.salvage").exists() && !at("named.salvage.salvage").exists());
    // Salvage into a folder within the damaged store would change that store.
    for to in ["store/new", "store/log/new", "elsewhere/../store/not/there/new"] {
        assert_eq!(salvage(to).unwrap_err().kind(), ErrorKind::InvalidInput, "{to}");
    }
    assert!(!from.join("new").exists() && !from.join("not").exists());
    // A salvage that is interrupted at its start leaves an empty folder.
    std::fs::create_dir(at("early.salvage")).unwrap();
    assert!(salvage("early").unwrap().is_whole() && !at("early.salvage").exists());
    // The next salvage removes the unfinished output of an interrupted salvage, but not the output of a running
    // salvage.
    let left = at("new.salvage");
    std::fs::create_dir_all(left.join("log")).unwrap();
    std::fs::write(left.join("log/00000001.seg"), "half").unwrap();
    std::fs::write(left.join("salvage.lock"), "").unwrap();
    let disk = FileDisk::open(&left).unwrap();
    let held = disk
        .try_lock("salvage.lock", &Holder::new(&disk).unwrap())
        .unwrap();
    assert_eq!(salvage("new").unwrap_err().kind(), ErrorKind::Busy);
    assert!(left.join("log/00000001.seg").exists());
    drop(held);
    assert!(salvage("new").unwrap().is_whole());
    assert!(!left.exists() && !at("new").join("salvage.lock").exists());
    // A crash directly after the rename leaves the lock file of the salvage, which is harmless.
    std::fs::write(at("new").join("salvage.lock"), "").unwrap();
    let verified = verify_store(at("new"), &Options::new(), VerifyDepth::Full).unwrap();
    assert!(verified.damage.is_empty() && verified.derived.is_empty());
    assert!(
        Memory::open(at("new"))
            .unwrap()
            .view()
            .get(&id("a"))
            .unwrap()
            .is_some()
    );
}

#[test]
fn records_of_kinds_that_may_be_ignored_are_carried() {
    let disk = store();
    let memory = on_disk(&disk, options(HOUR), false).unwrap();
    let head = memory.view().commit().clone();
    drop(memory);
    let mark = HeadMark {
        commit: head.digest,
        root: head.commit.root,
        seq: head.commit.seq,
    };
    let mut log = Log::open(Arc::new(disk.clone()), Mode::ReadWrite, LogOptions::default()).unwrap();
    log.catch_up(&mut |_| Ok(())).unwrap();
    let lock = log.lock(Duration::ZERO).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let told: Vec<_> = (0..3_u8)
        .map(|number| (RecordKind::Ignorable(0x80 + number), vec![number; 40]))
        .collect();
    for (kind, body) in &told {
        let mut batch = BatchBuilder::new();
        batch.add(*kind, 0, body);
        log.append(&lock, vec![(batch, mark)], Durability::Synced)
            .unwrap();
    }
    drop(lock);
    put(&on_disk(&disk, options(HOUR), false).unwrap(), "after", "them");
    let wreck = DamagedLog::open(Arc::new(disk.copy())).unwrap();
    let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
    assert!(write(&wreck, &target, &Options::new()).unwrap().is_whole());
    let mut found = Vec::new();
    let mut log = Log::open(target, Mode::ReadOnly, LogOptions::default()).unwrap();
    log.catch_up(&mut |batch| {
        // The store also has the record of an erasure, which is known.
        let unknown = |record: &&Record| matches!(record.kind, RecordKind::Ignorable(0x80..0x90));
        let unknown = batch.records.iter().filter(unknown);
        found.extend(unknown.map(|record| (record.kind, record.body.to_vec())));
        Ok(())
    })
    .unwrap();
    assert_eq!(found, told);
}

#[test]
fn a_content_that_is_lost_is_told_with_the_object_that_has_it() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "long", &"before ".repeat(2_000));
    put(&memory, "long", &"present ".repeat(2_000));
    put(&memory, "other", "text");
    let truth = truth(&memory);
    drop(memory);
    for (text, ids, records) in [("present present", &["long"][..], 0), ("before before", &[], 1)] {
        let copy = disk.copy();
        let at = |bytes: &[u8]| {
            bytes
                .windows(text.len())
                .position(|found| found == text.as_bytes())
        };
        let files = copy.files();
        let (file, at) = files
            .iter()
            .find_map(|(file, bytes)| Some((file, at(bytes)?)))
            .unwrap();
        copy.overwrite(file, |bytes| bytes[at] ^= 1);
        let (saved, report) = rescue(&copy).unwrap();
        assert_eq!(report.lost_contents, ids, "{report:?}");
        assert_eq!(report.lost_records, records, "{report:?}");
        assert!(!report.is_whole());
        check(&saved, &report, &truth, text);
    }
}

#[test]
fn what_was_erased_from_the_present_state_is_not_lost() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "secret", "never to be seen again");
    put(&memory, "other", "text");
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user()).unwrap();
    memory
        .rollback("seq:2")
        .across_lanes()
        .by(&Writer::user())
        .unwrap();
    let truth = truth(&memory);
    let (saved, report) = rescue(&disk).unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!(self::truth(&saved).commits, truth.commits);
    assert_eq!(saved.view().commit().digest, truth.head);
    assert_eq!(saved.view().get(&id("secret")).unwrap_err().code(), "erased");
}
