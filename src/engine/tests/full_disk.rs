//! Collections and erasures on a full disk.

use std::sync::Arc;

use super::covering::cover;
use super::{content, note, put};
use crate::Result;
use crate::disk::{Access, Disk, MemDisk, read_bytes};
use crate::engine::upkeep::salvage::write;
use crate::engine::{Erasing, Memory, Options, Retention, Writer};
use crate::error::ErrorCode;
use crate::log::DamagedLog;
use crate::testing::sim_disk::{CrashImage, SimDisk};

const COUNT: usize = 1_500;

/// Makes a store with a checkpoint and a derived file, on a disk with too little room for a second log. The checkpoint
/// and the derived file use enough space for it.
fn full() -> Result<SimDisk> {
    let disk = SimDisk::new(1);
    let options = Options::new().segment_bytes_max(64 << 10);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, true, None)?;
    put(&memory, "secret", "the password is hunter2");
    let mut draft = memory.draft(&Writer::user());
    for number in 0..COUNT {
        draft.put(note(&format!("o/{number}"), &format!("text {number}")))?;
    }
    memory.commit(draft, "put")?;
    cover(&memory);
    drop(memory);
    disk.put_file("derived/words", vec![1; 200 << 10]);
    disk.leave_room(100 << 10);
    Ok(disk)
}

fn open(disk: &SimDisk) -> Result<Memory> {
    let options = Options::new().segment_bytes_max(64 << 10);
    Memory::on_disk(Arc::new(disk.clone()), options, false, None)
}

fn has_secret(disk: &SimDisk) -> bool {
    let is_in = |bytes: &[u8]| bytes.windows(7).any(|found| found == b"hunter2");
    disk.files().values().any(|bytes| is_in(bytes))
}

/// Checks that the handle named the removed files, and that the store is complete.
fn check(disk: &SimDisk, memory: &Memory) -> Result<()> {
    let told = memory
        .warnings()
        .into_iter()
        .filter(|text| text.contains("checkpoint/"));
    assert_eq!(told.count(), 1, "{:?}", memory.warnings());
    for memory in [memory, &open(disk)?] {
        assert!(memory.view().len() >= COUNT as u64);
        assert_eq!(content(&memory.view(), "o/7").as_deref(), Some("text 7"));
        assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok);
    }
    Ok(())
}

#[test]
fn ful_1_a_secret_is_erased_on_a_full_disk() -> Result<()> {
    let disk = full()?;
    assert!(has_secret(&disk));
    let memory = open(&disk)?;
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    assert!(!has_secret(&disk));
    check(&disk, &memory)
}

#[test]
fn ful_1_garbage_is_collected_on_a_full_disk() -> Result<()> {
    let disk = full()?;
    let memory = open(&disk)?;
    memory.gc(&Retention::everything(), None)?;
    check(&disk, &memory)
}

#[test]
fn a_damaged_store_keeps_its_checkpoints_on_a_full_disk() -> Result<()> {
    let disk = full()?;
    disk.overwrite("log/00000001.seg", |bytes| bytes[4_200] ^= 1);
    let memory = open(&disk)?;
    let error = memory.gc(&Retention::everything(), None).unwrap_err();
    assert!(
        error.is_corruption() || error.code() == ErrorCode::Io,
        "{error:?}"
    );
    assert!(disk.files().keys().any(|name| name.starts_with("checkpoint/")));
    Ok(())
}

/// Fills a disk of 8 MiB with versions of ten objects, through a handle that stays open.
fn filled_by_history() -> Result<(SimDisk, Memory)> {
    filled_after(|_| Ok(()))
}

/// As [`filled_by_history`], with other writes first.
fn filled_after(write: impl FnOnce(&Memory) -> Result<()>) -> Result<(SimDisk, Memory)> {
    let disk = SimDisk::new(2);
    disk.leave_room(8 << 20);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None)?;
    put(&memory, "secret", "the password is hunter2");
    write(&memory)?;
    for number in 0.. {
        let text = format!("version {number} {}", "x".repeat(8 << 10));
        let full = memory.put(note(&format!("o/{}", number % 10), &text), &Writer::user());
        if let Err(error) = full {
            assert!(error.is_disk_full() && number > 500, "{number}: {error:?}");
            return Ok((disk, memory));
        }
    }
    unreachable!("the disk has a limit")
}

fn only_the_newest() -> Retention {
    let mut retention = Retention::default();
    (retention.newest, retention.all) = (1, std::time::Duration::ZERO);
    (retention.hourly, retention.daily) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
    retention.weekly = std::time::Duration::ZERO;
    retention.forgotten = std::time::Duration::ZERO;
    retention
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let files = disk.files();
    files
        .into_keys()
        .filter(|name| name.starts_with("log/"))
        .collect()
}

fn erasing(id: &str) -> Erasing {
    Erasing {
        targets: vec![id.to_owned()],
        ..Erasing::default()
    }
}

/// Checks a store that is opened again: its state, its log, and that it takes new commits.
fn check_whole(disk: &SimDisk, root: crate::digest::Root) -> Result<()> {
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
    assert_eq!(memory.view().root(), root);
    assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn ful_2_a_disk_that_history_filled_is_collected_and_a_secret_is_erased() -> Result<()> {
    for reopens in [false, true] {
        let (disk, mut memory) = filled_by_history()?;
        if reopens {
            drop(memory);
            memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
        }
        // The secret is in one segment, and only this segment is written anew.
        memory.erase(&erasing("secret"), &Writer::user())?;
        assert!(!has_secret(&disk));
        let root = memory.view().root();
        check_whole(&disk, root)?;
        memory.gc(&only_the_newest(), None)?;
        assert_eq!(memory.view().root(), root);
        for number in 0..100 {
            put(&memory, "after", &format!("text {number}"));
        }
        drop(memory);
        let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
        assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok);
        assert_eq!(content(&memory.view(), "after").as_deref(), Some("text 99"));
    }
    Ok(())
}

/// INVARIANT ERA-4: the versions of this object are in all segments, and there is no room for a copy of them all.
#[test]
fn era_4_all_versions_of_an_object_are_erased_in_parts_on_a_full_disk() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    let before = memory.inner.store().head()?.commit.seq;
    let report = memory.erase(&erasing("o/3"), &Writer::user())?;
    assert!(report.versions() > 50, "{}", report.versions());
    assert!(
        memory.inner.store().head()?.commit.seq > before + 1,
        "several commits"
    );
    assert!(!memory.view().contains(&crate::Id::new("o/3")?)?);
    let is_in = |bytes: &[u8]| bytes.windows(12).any(|found| found == b"version 113 ");
    assert!(!disk.files().values().any(|bytes| is_in(bytes)));
    assert!(
        memory
            .history(&crate::Id::new("o/3")?)?
            .iter()
            .any(|change| change.erased)
    );
    check_whole(&disk, memory.view().root())
}

/// INVARIANT ERA-4: the first survey decides what is erased. The first part takes away the version from which the current
/// `summary` was derived, and digests of versions that begin with the id `7`.
#[test]
fn era_4_parts_erase_what_was_derived_and_ids_that_look_like_digits() -> Result<()> {
    let (disk, memory) = filled_after(|memory| {
        put(memory, "o/3", "the first version");
        let source = memory.history(&crate::Id::new("o/3")?)?;
        let mut summary = note("summary", "derived from the first version");
        summary.derived_from = source.iter().filter_map(|change| change.digest).collect();
        memory.put(summary, &Writer::user())?;
        put(memory, "7", "seven");
        Ok(())
    })?;
    let before = memory.inner.store().head()?.commit.seq;
    let erasing = Erasing {
        targets: vec!["7".to_owned(), "o/3".to_owned()],
        derived: true,
        ..Erasing::default()
    };
    let foreseen = memory.erase_preview(&erasing)?;
    let report = memory.erase(&erasing, &Writer::user())?;
    assert!(
        memory.inner.store().head()?.commit.seq > before + 1,
        "several commits"
    );
    assert_eq!(report.records, foreseen.records);
    for id in ["7", "o/3", "summary"] {
        assert!(!memory.view().contains(&crate::Id::new(id)?)?, "{id}");
    }
    check_whole(&disk, memory.view().root())
}

/// INVARIANT FUL-3: the standard policy keeps everything of the last days.
#[test]
fn ful_3_a_policy_that_keeps_everything_succeeds_on_a_full_disk() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    let before = segments(&disk);
    let report = memory.gc(&Retention::default(), None)?;
    assert_eq!((report.thinned, report.bytes), (0, report.bytes_before));
    assert_eq!(segments(&disk), before);
    let told = memory
        .warnings()
        .iter()
        .any(|text| text.contains("nothing was freed"));
    assert!(told, "{:?}", memory.warnings());
    check_whole(&disk, memory.view().root())
}

/// INVARIANT FUL-3: what the policy keeps does not fit beside the old log, so the oldest segments are collected first.
#[test]
fn ful_3_a_collection_without_room_for_its_log_frees_what_it_can() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    let root = memory.view().root();
    for newest in [700, 300] {
        let retention = Retention {
            newest,
            all: std::time::Duration::from_secs(1 << 30),
            ..only_the_newest()
        };
        let foreseen = memory.gc_preview(&retention, None)?;
        let report = memory.gc(&retention, None)?;
        assert!(report.bytes < report.bytes_before, "{report:?}");
        assert_eq!(foreseen.bytes_before, report.bytes_before);
        check_whole(&disk, root)?;
        assert_eq!(memory.view().root(), root);
    }
    put(&memory, "after", "there is room");
    check_whole(&disk, memory.view().root())
}

#[test]
fn ful_2_a_collection_on_a_full_disk_survives_a_crash_at_every_call() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    let root = memory.view().root();
    drop(memory);
    let collect = |disk: &SimDisk| -> Result<()> {
        let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
        memory.gc(&only_the_newest(), None).map(drop)
    };
    let whole = disk.copy();
    collect(&whole)?;
    let calls = whole.calls();
    for call in (1..=calls).step_by(1 + usize::try_from(calls).unwrap_or_default() / 16) {
        let image = disk.copy();
        image.crash_at(call);
        drop(collect(&image));
        let choice = [CrashImage::Nothing, CrashImage::Everything, CrashImage::Killed];
        let image = image.crash_image(choice[usize::try_from(call % 3).unwrap_or_default()]);
        let memory = Memory::on_disk(Arc::new(image.clone()), Options::new(), false, None)?;
        assert_eq!(memory.view().root(), root, "at {call}");
        memory.gc(&only_the_newest(), None)?;
        assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok, "at {call}");
    }
    Ok(())
}

/// INVARIANT ERA-3: a segment may have a copy of a batch that a recovery moved, after its last batch.
#[test]
fn era_3_bytes_after_the_last_batch_of_a_segment_are_erased_too() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    drop(memory);
    // A segment in the middle, which has no erased record.
    let name = segments(&disk).swap_remove(5);
    disk.overwrite(&name, |bytes| {
        bytes.extend_from_slice(b"hunter2");
    });
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
    memory.erase(&erasing("secret"), &Writer::user())?;
    assert!(!has_secret(&disk));
    check_whole(&disk, memory.view().root())
}

/// INVARIANT ERA-4: wherever an erasure in parts stops, the current version is complete or gone.
#[test]
fn era_4_an_erasure_in_parts_that_stops_leaves_a_complete_state() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    let text = content(&memory.view(), "o/3");
    drop(memory);
    let open = |disk: &SimDisk| Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None);
    let whole = disk.copy();
    open(&whole)?.erase(&erasing("o/3"), &Writer::user())?;
    let mut parts = 0;
    for call in (1..whole.calls()).step_by(1 + usize::try_from(whole.calls()).unwrap_or_default() / 8) {
        let image = disk.copy();
        image.crash_at(call);
        drop(open(&image).and_then(|memory| memory.erase(&erasing("o/3"), &Writer::user())));
        let image = image.crash_image(CrashImage::Everything);
        let memory = open(&image)?;
        let history = memory.history(&crate::Id::new("o/3")?)?;
        let is_begun = history.iter().any(|change| change.erased);
        if memory.view().contains(&crate::Id::new("o/3")?)? {
            assert_eq!(content(&memory.view(), "o/3"), text, "at {call}");
            parts += usize::from(is_begun);
        }
        assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok, "at {call}");
        drop(memory.erase(&erasing("o/3"), &Writer::user()));
        assert!(!memory.view().contains(&crate::Id::new("o/3")?)?, "at {call}");
    }
    assert!(parts > 0, "no crash was between two parts");
    Ok(())
}

#[test]
fn era_4_an_erasure_on_a_full_disk_survives_a_crash_at_every_call() -> Result<()> {
    let (disk, memory) = filled_by_history()?;
    drop(memory);
    let open = |disk: &SimDisk| Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None);
    let whole = disk.copy();
    open(&whole)?.erase(&erasing("secret"), &Writer::user())?;
    let calls = whole.calls();
    for call in (1..=calls).step_by(1 + usize::try_from(calls).unwrap_or_default() / 24) {
        let image = disk.copy();
        image.crash_at(call);
        drop(open(&image).and_then(|memory| memory.erase(&erasing("secret"), &Writer::user())));
        let choice = [CrashImage::Nothing, CrashImage::Everything, CrashImage::Killed];
        let image = image.crash_image(choice[usize::try_from(call % 3).unwrap_or_default()]);
        let memory = open(&image)?;
        assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok, "at {call}");
        if memory.view().contains(&crate::Id::new("secret")?)? {
            memory.erase(&erasing("secret"), &Writer::user())?;
        } else {
            put(&memory, "o/1", "the next write removes old files");
        }
        assert!(!has_secret(&image), "at {call}");
        assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok, "at {call}");
    }
    Ok(())
}

/// Salvage of a log of which only some segments were written anew.
#[test]
fn a_log_with_kept_segments_is_salvaged_without_the_erased_record() -> Result<()> {
    for loses_manifest in [false, true] {
        let (disk, memory) = filled_by_history()?;
        memory.erase(&erasing("secret"), &Writer::user())?;
        let count = memory.view().len();
        drop(memory);
        if loses_manifest {
            disk.remove_file("manifest");
        }
        let damaged = DamagedLog::open(Arc::new(disk.clone()))?;
        let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
        write(&damaged, &target, &Options::new())?;
        for name in target.list("log").unwrap() {
            let file = target.open(&format!("log/{name}"), Access::Read).unwrap();
            let bytes = read_bytes(&*file, 0, 16 << 20).unwrap();
            assert!(
                !bytes.windows(7).any(|found| found == b"hunter2"),
                "{loses_manifest}"
            );
        }
        let saved = Memory::on_disk(target, Options::new(), false, None)?;
        assert_eq!(saved.view().len(), count, "{loses_manifest}");
    }
    Ok(())
}
