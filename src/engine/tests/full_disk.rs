//! Collections and erasures on a full disk.

use std::sync::Arc;

use super::covering::cover;
use super::{content, note, put};
use crate::Result;
use crate::engine::{Erasing, Memory, Options, Retention, Writer};
use crate::error::ErrorCode;
use crate::testing::sim_disk::SimDisk;

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
