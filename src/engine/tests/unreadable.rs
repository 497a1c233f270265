//! Files that cannot be opened or read cost no more than missing files.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::covering::cover;
use super::salvage::rescue;
use super::{id, put};
use crate::disk::Disk;
use crate::engine::upkeep::doctor::examine_disk;
use crate::engine::upkeep::examine;
use crate::engine::{Memory, Options, VerifyDepth};
use crate::error::{ErrorKind, FindingKind, Result};
use crate::testing::sim_disk::SimDisk;

const COUNT: usize = 60;

/// Makes a store with several segments, a checkpoint and a derived file.
fn store(covered: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    let options = Options::new().segment_bytes_max(64 << 10).checkpoints(covered);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, true, None).unwrap();
    for number in 0..COUNT {
        put(
            &memory,
            &format!("o/{number}"),
            &format!("content {number} ").repeat(400),
        );
        if covered && number == COUNT / 2 {
            cover(&memory);
        }
    }
    drop(memory);
    disk
}

fn open(disk: &SimDisk, options: Options) -> Result<Memory> {
    Memory::on_disk(Arc::new(disk.clone()), options, false, None)
}

/// Returns the ids that a memory can read.
fn readable(memory: &Memory) -> BTreeSet<usize> {
    let view = memory.view();
    let is_there = |number: &usize| matches!(view.get(&id(&format!("o/{number}"))), Ok(Some(object)) if object.content().is_some());
    (0..COUNT).filter(is_there).collect()
}

fn served(disk: &SimDisk) -> BTreeSet<usize> {
    open(disk, Options::new().degraded(true)).map_or_else(|_| BTreeSet::new(), |memory| readable(&memory))
}

fn salvaged(disk: &SimDisk) -> BTreeSet<usize> {
    rescue(disk).map_or_else(|_| BTreeSet::new(), |(memory, _)| readable(&memory))
}

/// The ways in which a file becomes unreadable.
const WAYS: [fn(&SimDisk, &str); 3] = [
    SimDisk::deny,
    |disk, name| disk.break_bytes(name, 0..usize::MAX),
    // A part of a segment, behind its header.
    |disk, name| disk.break_bytes(name, 8_192..12_288),
];

#[test]
fn an_unreadable_file_costs_no_more_than_a_missing_one() {
    for covered in [false, true] {
        let whole = store(covered);
        let names: Vec<_> = whole.files().into_keys().filter(|name| *name != "lock").collect();
        assert!(names.len() > 6, "{names:?}");
        for name in &names {
            let missing = whole.copy();
            missing.remove_file(name);
            let [least, most_saved] = [served(&missing), salvaged(&missing)];
            for (way, spoil) in WAYS.iter().enumerate() {
                let disk = whole.copy();
                spoil(&disk, name);
                let what = format!("{name}, way {way}, covered {covered}");
                assert!(served(&disk).is_superset(&least), "{what}: degraded");
                assert!(salvaged(&disk).is_superset(&most_saved), "{what}: salvage");
                examine_one(&disk, name, &what);
            }
        }
    }
}

/// Checks that `verify` and the doctor name the file, and that a strict reader either reads everything or names it.
fn examine_one(disk: &SimDisk, name: &str, what: &str) {
    let is_derived = name == "live" || name.starts_with("checkpoint/");
    let is_read = |bytes: &[u8]| bytes.len() > 8_192;
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let settings = Options::new().settings;
    let report = examine(&shared, &settings, VerifyDepth::Full, None).unwrap();
    let mut found = report.damage.iter().chain(&report.derived);
    let is_told = found.any(|found| found.damage.file == name && found.kind() == FindingKind::Corrupt);
    let has_bytes = is_read(&disk.files()[name]);
    assert!(is_told || !has_bytes && report.ok, "{what}: {report:?}");
    assert!(is_derived || !is_told || !report.ok, "{what}: {report:?}");
    let mut problems = Vec::new();
    examine_disk(&shared, &Options::new(), &mut problems).unwrap();
    let named = problems
        .iter()
        .any(|problem| problem.file.as_deref() == Some(name));
    assert!(named || !is_told, "{what}: {problems:?}");
    match open(disk, Options::new().read_only(true)) {
        Ok(memory) => {
            let count = readable(&memory).len();
            assert!(count == COUNT || !is_derived && is_told, "{what}: {count}");
        }
        Err(error) => {
            assert!(!is_derived, "{what}: {error:?}");
            assert_eq!(error.kind(), ErrorKind::Io, "{what}");
            assert!(error.message().contains(name), "{what}: {error}");
            assert!(error.hint().unwrap().contains("--degraded"), "{what}: {error:?}");
        }
    }
}

#[test]
fn a_hole_in_a_batch_costs_only_the_records_in_the_hole() {
    let disk = SimDisk::new(1);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None).unwrap();
    let mut draft = memory.draft(&crate::Writer::user());
    for number in 0..COUNT {
        let text = format!("content {number} ").repeat(40);
        draft.put(super::note(&format!("o/{number}"), &text)).unwrap();
    }
    memory.commit(draft, "put").unwrap();
    drop(memory);
    // The frame before the hole reaches into its first page only, so the hole separates two parts of the batch.
    let hole = 16 << 10..28 << 10;
    for zeroed in [false, true] {
        let disk = disk.copy();
        if zeroed {
            disk.overwrite("log/00000001.seg", |bytes| bytes[hole.clone()].fill(0));
        } else {
            disk.break_bytes("log/00000001.seg", hole.clone());
        }
        let saved = salvaged(&disk).len();
        assert!((COUNT - 24..COUNT).contains(&saved), "{saved}");
    }
}

#[test]
fn without_a_manifest_or_format_file_degraded_reading_serves_what_salvage_saves() {
    for covered in [false, true] {
        let whole = store(covered);
        for name in ["manifest", "format"] {
            for damage in [
                |disk: &SimDisk, name: &str| disk.overwrite(name, |bytes| bytes[30] ^= 1),
                SimDisk::deny,
                |disk: &SimDisk, name: &str| disk.overwrite(name, Vec::clear),
            ] {
                let disk = whole.copy();
                damage(&disk, name);
                let memory = open(&disk, Options::new().degraded(true)).unwrap();
                assert_eq!(readable(&memory).len(), COUNT, "{name}, covered {covered}");
                let damage = memory.damage().unwrap().to_owned();
                assert!(damage.contains(name), "{damage}");
                let refused = memory.put(super::note("a", ""), &crate::Writer::user());
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::Io);
            }
        }
    }
}
