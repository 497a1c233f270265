//! Collections and erasures on a full disk.

use std::sync::Arc;

use super::covering::cover;
use super::{content, note, put};
use crate::Result;
use crate::engine::{Erasing, Memory, Options, Retention, Writer};
use crate::error::ErrorCode;
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
    let disk = SimDisk::new(2);
    disk.leave_room(8 << 20);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None)?;
    put(&memory, "secret", "the password is hunter2");
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

#[test]
fn ful_2_a_disk_that_history_filled_is_collected_and_a_secret_is_erased() -> Result<()> {
    for reopens in [false, true] {
        let (disk, mut memory) = filled_by_history()?;
        if reopens {
            drop(memory);
            memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None)?;
        }
        let root = memory.view().root();
        // An erasure keeps all history, so it needs room for a second log. It says so, and leaves nothing behind.
        let erasing = Erasing {
            targets: vec!["secret".to_owned()],
            ..Erasing::default()
        };
        let before = segments(&disk);
        for _ in 0..3 {
            let refused = memory.erase(&erasing, &Writer::user()).unwrap_err();
            assert!(refused.is_disk_full(), "{refused:?}");
            assert_eq!(segments(&disk), before);
        }
        memory.gc(&only_the_newest(), None)?;
        assert_eq!(memory.view().root(), root);
        memory.erase(&erasing, &Writer::user())?;
        assert!(!has_secret(&disk));
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
