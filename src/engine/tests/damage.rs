//! Cuts a store of 64 KiB at every byte, and flips every bit. The store must open at an earlier state or refuse to
//! open. The store must never panic, return wrong data or appear empty. Of the zeros behind the log, which are all alike,
//! a normal run changes some, and a thorough run all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::put;
use crate::digest::Root;
use crate::disk::Disk;
use crate::engine::upkeep::verify;
use crate::engine::{Memory, Options, Retention, Revision, Writer};
use crate::object::{Id, Kind, NewObject};
use crate::testing::is_thorough;
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorKind, Result};

const SEGMENT: &str = "log/00000001.seg";
const SEGMENT_BYTES: usize = 64 << 10;

fn open(disk: &SimDisk, options: Options) -> Result<Memory> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Memory::on_disk(disk, options, false, None)
}

/// Makes a store in one segment of 64 KiB; returns the root after each commit.
fn store() -> (SimDisk, Vec<Root>) {
    let disk = SimDisk::new(1);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None).unwrap();
    for number in 0..12 {
        put(
            &memory,
            &format!("o/{}", number % 5),
            &format!("content {number} ").repeat(number * 4),
        );
        if number == 4 {
            memory.snapshot(Some("middle"), &Writer::user()).unwrap();
        }
    }
    let mut long = NewObject::new(Id::new("long").unwrap(), Kind::new("note").unwrap());
    long.content = Some("long text ".repeat(600));
    memory.put(long, &Writer::user()).unwrap();
    memory.rollback(Revision::Seq(6)).by(&Writer::user()).unwrap();
    let mut roots: Vec<_> = memory
        .commits()
        .map(|commit| commit.unwrap().commit.root)
        .collect();
    roots.reverse();
    assert_eq!(disk.files()[SEGMENT].len(), SEGMENT_BYTES);
    (disk, roots)
}

/// Opens a damaged copy and compares its state with the earlier states. Returns the seq of its head, or `None` if the
/// copy does not open.
fn examine(disk: &SimDisk, roots: &[Root], what: &dyn Fn() -> String) -> Option<usize> {
    let options = Options::new().read_only(true);
    let memory = match open(disk, options) {
        Ok(memory) => memory,
        Err(error) => {
            let kind = error.kind();
            let refused = matches!(kind, ErrorKind::Corrupt | ErrorKind::UnsupportedFormat);
            assert!(refused, "{}: {error:?}", what());
            return None;
        }
    };
    let view = memory.view();
    let seq = view.commit().commit.seq as usize;
    assert_eq!(roots.get(seq), Some(&view.root()), "{}", what());
    for object in view.objects() {
        let object = object.unwrap();
        let again = object
            .to_new()
            .unwrap()
            .encode(object.origin(), memory.suite())
            .unwrap();
        assert_eq!(again.digest, object.digest(), "{}", what());
    }
    Some(seq)
}

fn in_two(range: impl Iterator<Item = usize>, work: impl Fn(usize) + Sync) {
    let numbers: Vec<_> = range.collect();
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (numbers, work) = (&numbers, &work);
            scope.spawn(move || numbers.iter().skip(part).step_by(2).copied().for_each(work));
        }
    });
}

/// Returns the places in a file to cut or to change: all those in use, and one in 13 of the zeros behind them.
fn places(in_use: usize, len: usize) -> impl Iterator<Item = usize> {
    (0..in_use).chain((in_use..len).step_by(if is_thorough() { 1 } else { 13 }))
}

/// Returns the length of the log in its segment.
fn used(disk: &SimDisk) -> usize {
    disk.files()[SEGMENT].iter().rposition(|&byte| byte != 0).unwrap() + 1
}

#[test]
fn cut_at_every_byte() {
    let (disk, roots) = store();
    let head = roots.len() - 1;
    in_two(places(used(&disk).next_multiple_of(512), SEGMENT_BYTES), |cut| {
        let copy = disk.copy();
        copy.overwrite(SEGMENT, |bytes| bytes.truncate(cut));
        // `live` contains the durable length of the log, so bytes that are missing before that length are damage.
        let seen = examine(&copy, &roots, &|| format!("cut at {cut}"));
        assert!(
            seen.is_none_or(|seq| seq == head),
            "cut at {cut}: commit {seen:?} was opened as the head"
        );

        copy.remove_file("live");
        let seen = examine(&copy, &roots, &|| format!("cut at {cut} without live"));
        if cut < 4096 {
            assert_eq!(seen, None, "cut at {cut}");
        }
    });
}

#[test]
fn every_bit_flipped() {
    let (disk, roots) = store();
    let head = roots.len() - 1;
    let used = used(&disk);
    for (file, content) in disk.files() {
        let in_use = if file == SEGMENT { used } else { content.len() };
        // One bit of each byte, because a checksum sees each bit alike; all of them in a thorough run.
        let bits = if is_thorough() { 8 } else { 1 };
        let all = places(in_use.next_multiple_of(512).min(content.len()), content.len());
        let flips =
            all.flat_map(|at| (0..bits).map(move |bit| at * 8 + if bits == 8 { bit } else { at % 8 }));
        in_two(flips, |bit| {
            let copy = disk.copy();
            copy.overwrite(&file, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            let seen = examine(&copy, &roots, &|| format!("bit {bit} of {file}"));
            match file.as_str() {
                // The text of the lock file is never read, and `live` can be derived from the log.
                "lock" | "live" => assert_eq!(seen, Some(head), "bit {bit} of {file}"),
                _ if bit / 8 < in_use => assert_eq!(seen, None, "bit {bit} of {file} was not detected"),
                // Bytes after the durable end are a torn tail. The store reports the tail and loses no commit.
                _ => assert_eq!(seen, Some(head), "bit {bit} of {file}"),
            }
        });
    }
}

#[test]
fn degraded_reading_serves_the_last_good_commit() {
    let (disk, roots) = store();
    let segment = disk.files()[SEGMENT].clone();
    let damaged_at = segment.len() / 8;
    disk.overwrite(SEGMENT, |bytes| bytes[damaged_at] ^= 1);
    assert_eq!(
        open(&disk, Options::new()).err().unwrap().kind(),
        ErrorKind::Corrupt
    );
    let memory = open(&disk, Options::new().degraded(true)).unwrap();
    let seq = memory.view().commit().commit.seq as usize;
    assert!(seq > 0 && seq < roots.len() - 1);
    assert_eq!(memory.view().root(), roots[seq]);
    assert_eq!(
        memory
            .put(super::note("a", ""), &Writer::user())
            .unwrap_err()
            .kind(),
        ErrorKind::Io
    );
    let report = memory.verify(crate::upkeep::VerifyDepth::Full).unwrap();
    assert!(
        !report.ok && report.damage.iter().any(|found| found.damage.file == SEGMENT),
        "{report:?}"
    );
}

/// Makes a store of several segments, with or without a checkpoint. Returns the names of the segments.
fn of_segments(covered: bool) -> (SimDisk, Vec<String>) {
    let disk = SimDisk::new(1);
    let options = Options::new().segment_bytes_max(64 << 10).checkpoints(covered);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, true, None).unwrap();
    for number in 0..60 {
        put(
            &memory,
            &format!("o/{number}"),
            &format!("content {number} ").repeat(400),
        );
    }
    if covered {
        super::covering::cover(&memory);
    }
    drop(memory);
    let segments = super::segments(&disk);
    assert!(segments.len() > 3, "{segments:?}");
    (disk, segments)
}

/// Returns the seq of the head of `memory`, and the number of its readable objects.
fn readable(memory: &Memory) -> (u64, usize) {
    let view = memory.view();
    let whole = |number: &usize| {
        view.get(&super::id(&format!("o/{number}")))
            .is_ok_and(|found| found.is_some())
    };
    (view.commit().commit.seq, (0..60).filter(whole).count())
}

#[test]
fn a_missing_or_short_segment_refuses_and_all_else_is_served_degraded() {
    for covered in [false, true] {
        let (whole, segments) = of_segments(covered);
        let mut least = 0;
        for (at, name) in segments.iter().enumerate() {
            let is_last = at + 1 == segments.len();
            for missing in [true, false] {
                let disk = whole.copy();
                if missing {
                    disk.remove_file(name);
                } else if is_last {
                    continue;
                } else {
                    disk.overwrite(name, |bytes| bytes.truncate(60 << 10));
                }
                let what = format!("covered {covered}, {name}, missing {missing}");
                for options in [Options::new(), Options::new().read_only(true)] {
                    let error = open(&disk, options).err().unwrap();
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}");
                    assert!(error.to_string().contains(name.as_str()), "{what}: {error}");
                }
                let memory = match open(&disk, Options::new().degraded(true)) {
                    Ok(memory) => memory,
                    Err(error) => {
                        assert!(at == 0 && !covered && missing, "{what}: {error}");
                        assert!(error.to_string().contains(name.as_str()), "{what}: {error}");
                        continue;
                    }
                };
                let (seq, count) = readable(&memory);
                assert!(
                    memory.warnings().iter().any(|text| text.contains(name.as_str())),
                    "{what}"
                );
                if covered && !is_last {
                    assert!(seq == 60 && count > 40 && count < 60, "{what}: {seq}, {count}");
                    continue;
                }
                // All objects before the damage are readable, and so are the undamaged objects of the cut segment.
                assert_eq!(count as u64, seq, "{what}");
                assert!(count >= least + usize::from(!missing), "{what}: {count}, {least}");
                least = count;
            }
        }
    }
}

/// Makes a store. Returns its disk, and a copy of its files from before the last commits.
fn of_two_times() -> (SimDisk, BTreeMap<String, Vec<u8>>) {
    let (disk, _) = of_segments(false);
    let old = disk.files();
    let memory = open(&disk, Options::new().checkpoints(false)).unwrap();
    let retention = Retention {
        newest: 1,
        all: Duration::ZERO,
        ..Retention::default()
    };
    memory.gc(&retention, None).unwrap();
    put(&memory, "later", "text");
    (disk, old)
}

#[test]
fn an_older_log_under_a_newer_live_is_told_by_every_check() {
    let (disk, old) = of_two_times();
    for name in super::segments(&disk) {
        disk.remove_file(&name);
    }
    for (name, bytes) in old
        .iter()
        .filter(|(name, _)| name.starts_with("log/") || *name == "manifest")
    {
        disk.put_file(name, bytes.clone());
    }
    let disk: Arc<dyn Disk> = Arc::new(disk);
    for depth in [
        crate::upkeep::VerifyDepth::Quick,
        crate::upkeep::VerifyDepth::Full,
    ] {
        let report = verify::examine(&disk, &Options::new().settings, depth, None).unwrap();
        assert!(
            !report.ok && report.damage[0].damage.file == "manifest",
            "{depth:?}: {report:?}"
        );
    }
}

#[test]
fn salvage_says_what_is_lost_where_no_segment_is_there_to_say_it() {
    let (disk, old) = of_two_times();
    disk.remove_file("live");
    // Combines the log from before a garbage collection with the manifest from after that garbage collection.
    let older = disk.copy();
    for name in super::segments(&disk) {
        older.remove_file(&name);
    }
    for (name, bytes) in old.iter().filter(|(name, _)| name.starts_with("log/")) {
        older.put_file(name, bytes.clone());
    }
    // Empties the active segment.
    let active = disk
        .files()
        .into_keys()
        .filter(|name| name.starts_with("log/"))
        .max();
    let active = active.unwrap();
    disk.overwrite(&active, Vec::clear);
    for (disk, file) in [(older, "manifest"), (disk, active.as_str())] {
        let (_, report) = super::salvage::rescue(&disk).unwrap();
        let told = report.lost.iter().any(|found| found.damage.file == file);
        assert!(told && !report.is_whole(), "{file}: {report:?}");
    }
}

#[test]
fn an_object_is_served_degraded_also_where_the_commit_is_lost_that_wrote_it() {
    let disk = SimDisk::new(1);
    let options = Options::new().segment_bytes_max(64 << 10);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, true, None).unwrap();
    let mut draft = memory.draft(&Writer::user());
    for number in 0..60 {
        draft
            .put(super::note(
                &format!("o/{number}"),
                &format!("text {number} ").repeat(150),
            ))
            .unwrap();
    }
    memory.commit(draft, "put").unwrap();
    for number in 0..40 {
        put(&memory, "later", &format!("text {number} ").repeat(400));
    }
    super::covering::cover(&memory);
    drop(memory);
    let segments = disk
        .files()
        .into_iter()
        .filter(|(name, _)| name.starts_with("log/"));
    let (largest, length) = segments
        .map(|(name, bytes)| (name, bytes.len()))
        .max_by_key(|(_, length)| *length)
        .unwrap();
    disk.overwrite(&largest, |bytes| bytes.truncate(length / 3));
    let memory = open(&disk, Options::new().degraded(true)).unwrap();
    let (_, count) = readable(&memory);
    assert!(count > 5 && count < 55, "{count}");
    let view = memory.view();
    for object in view.objects() {
        let id = super::id(object.unwrap().id().as_str());
        assert_eq!(
            view.stamps(&id).unwrap().is_some(),
            id.as_str() == "later",
            "{id}"
        );
    }
}

#[test]
fn what_a_commit_behind_the_checkpoint_brings_back_may_be_damaged() {
    let disk = SimDisk::new(1);
    let options = Options::new().segment_bytes_max(64 << 10);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, true, None).unwrap();
    let text = |number: usize| format!("text {number}! ").repeat(200);
    for number in 0..60 {
        put(&memory, &format!("o/{number}"), &text(number));
    }
    super::covering::cover(&memory);
    put(&memory, "o/5", "changed");
    put(&memory, "o/5", &text(5));
    put(&memory, "later", "new");
    drop(memory);
    assert!(
        disk.files().contains_key("log/00000002.seg"),
        "the first one is sealed"
    );
    disk.overwrite(SEGMENT, |bytes| {
        let at = bytes.windows(3).position(|found| found == b"o/5").unwrap();
        bytes[at] ^= 1;
    });
    let refused = open(&disk, Options::new().read_only(true)).err().unwrap();
    assert!(refused.is_corruption(), "{refused:?}");
    let memory = open(&disk, Options::new().degraded(true)).unwrap();
    assert!(memory.damage().is_some());
    assert_eq!(readable(&memory).1, 60);
    assert_eq!(super::content(&memory.view(), "o/5").as_deref(), Some("changed"));
    // A second read returns the same state.
    let head = memory.view().commit().digest;
    memory.refresh().unwrap();
    assert_eq!(memory.view().commit().digest, head);
}

#[test]
fn an_older_copy_of_the_log_beside_a_later_checkpoint_is_told() {
    let disk = SimDisk::new(1);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None).unwrap();
    put(&memory, "a", "one");
    let older = disk.files();
    put(&memory, "a", "two");
    memory.gc(&Retention::everything(), None).unwrap();
    super::covering::cover(&memory);
    drop(memory);
    let told = |disk: &SimDisk| {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let report =
            verify::examine(&disk, &Options::new().settings, verify::VerifyDepth::Full, None).unwrap();
        assert!(report.ok, "{:?}", report.damage);
        let kinds = report
            .derived
            .iter()
            .map(|found| (found.kind().name(), found.damage.file.clone()));
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(told(&disk), []);
    for name in disk.files().into_keys().filter(|name| name.starts_with("log/")) {
        disk.remove_file(&name);
    }
    for (name, content) in older {
        disk.put_file(&name, content);
    }
    let newest = disk
        .files()
        .into_keys()
        .find(|name| name.starts_with("checkpoint/"))
        .unwrap();
    assert_eq!(told(&disk), [("older", newest)]);
}
