//! Records that moved after they were read, because of a recovery or of a rewrite that could not be loaded; and folders that
//! were moved or replaced under an open store.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{content, note, put};
use crate::engine::{Memory, Options, Retention, VerifyDepth, Writer};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::testing::sim_disk::{CrashImage, Fault, ReadFault, SimDisk};

fn open(disk: &SimDisk, create: bool) -> Result<Memory> {
    Memory::on_disk(Arc::new(disk.clone()), Options::new(), create, None)
}

#[test]
fn what_recovery_moved_after_it_was_read_is_not_collected() -> Result<()> {
    // Tests WRI-3: the store in memory mirrors the present log.
    let disk = SimDisk::new(1);
    let memory = open(&disk, true)?;
    put(&memory, "a", "first");
    put(&memory, "b", "second");
    drop(memory);
    // After a restart of the machine, the last batch is not known to be durable. The next writer moves it.
    let crashed = disk.crash_image(CrashImage::Everything);
    crashed.remove_file("live");
    for by_another in [false, true] {
        let disk = crashed.crash_image(CrashImage::Everything);
        let memory = open(&disk, false)?;
        assert_eq!(content(&memory.view(), "b").as_deref(), Some("second"));
        if by_another {
            put(&open(&disk, false)?, "c", "third");
        }
        memory.gc(&Retention::everything(), None)?;
        for memory in [memory, open(&disk, false)?] {
            assert_eq!(content(&memory.view(), "b").as_deref(), Some("second"));
            assert!(memory.verify(VerifyDepth::Full)?.ok);
        }
    }
    Ok(())
}

#[test]
fn a_read_that_fails_after_a_rewrite_is_tried_again() -> Result<()> {
    // Tests WRI-3: the store in memory mirrors the present log.
    let mut failed = 0;
    for read in 1.. {
        let disk = SimDisk::new(1);
        let memory = open(&disk, true)?;
        put(&memory, "a", "first");
        disk.fail_read_at(disk.reads() + read, ReadFault::Device);
        let collected = memory.gc(&Retention::everything(), None);
        if !disk.heal() {
            break;
        }
        failed += u64::from(collected.is_err());
        if let Err(error) = memory.put(note("b", "second"), &Writer::user()) {
            assert_eq!(error.kind(), ErrorKind::Poisoned, "read {read}: {error:?}");
        }
        let memory = open(&disk, false)?;
        assert_eq!(
            content(&memory.view(), "a").as_deref(),
            Some("first"),
            "read {read}"
        );
    }
    assert!(failed > 5, "{failed}");
    Ok(())
}

#[test]
fn a_rewrite_that_fails_half_way_leaves_a_handle_that_reads() -> Result<()> {
    // Tests WRI-3: the store in memory mirrors the present log.
    let mut failed = 0;
    for call in 1.. {
        let disk = SimDisk::new(1);
        let memory = open(&disk, true)?;
        put(&memory, "a", "first");
        disk.fail_at(disk.calls() + call, Fault::Device);
        let collected = memory.gc(&Retention::everything(), None);
        if !disk.heal() {
            break;
        }
        failed += u64::from(collected.is_err());
        assert_eq!(
            content(&memory.refresh()?, "a").as_deref(),
            Some("first"),
            "call {call}"
        );
    }
    assert!(failed > 5, "{failed}");
    Ok(())
}

#[test]
fn a_read_that_fails_after_another_handles_rewrite_is_tried_again() -> Result<()> {
    // Tests WRI-3: the store in memory mirrors the present log.
    let (mut failed, mut again) = (0, 0);
    for read in 1.. {
        let disk = SimDisk::new(1);
        let memory = open(&disk, true)?;
        put(&memory, "a", "first");
        put(&memory, "b", "second");
        put(&open(&disk, false)?, "a", "third");
        open(&disk, false)?.gc(&Retention::everything(), None)?;
        disk.fail_read_at(disk.reads() + read, ReadFault::Device);
        let refused = memory.put(note("c", "fourth"), &Writer::user()).is_err();
        if !disk.heal() {
            break;
        }
        failed += u64::from(refused);
        let mut handles = vec![memory, open(&disk, false)?];
        if refused {
            // If the failed call was part of a write, the handle is poisoned.
            if let Err(error) = handles[0].put(note("c", "fourth"), &Writer::user()) {
                assert_eq!(error.kind(), ErrorKind::Poisoned, "read {read}: {error:?}");
                handles.remove(0);
                put(&handles[0], "c", "fourth");
            } else {
                again += 1;
            }
        }
        for memory in handles {
            drop(memory.refresh()?);
            for (id, text) in [("a", "third"), ("b", "second"), ("c", "fourth")] {
                let found = content(&memory.view(), id);
                assert_eq!(found.as_deref(), Some(text), "read {read}: {id}");
            }
            assert!(memory.verify(VerifyDepth::Full)?.ok, "read {read}");
        }
    }
    assert!(
        failed > 5 && again > 5,
        "{failed} failed, {again} succeeded later"
    );
    Ok(())
}

/// Copies a folder with its subfolders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn a_replaced_store_is_not_called_damaged() {
    type Replace = fn(&Path, &Path);
    let remove = |store: &Path, _: &Path| fs::remove_dir_all(store).unwrap();
    let cases: [(&str, Replace); 5] = [
        ("removed", remove),
        ("restored", |store, backup| {
            fs::remove_dir_all(store).unwrap();
            copy(backup, store);
        }),
        ("moved away and restored", |store, backup| {
            fs::rename(store, store.with_extension("old")).unwrap();
            copy(backup, store);
        }),
        ("made anew", |store, _| {
            fs::remove_dir_all(store).unwrap();
            drop(Memory::create(store).unwrap());
        }),
        ("another store in the same folder", |store, _| {
            let other = store.with_extension("other");
            drop(Memory::create(&other).unwrap());
            fs::remove_dir_all(store.join("log")).unwrap();
            for entry in fs::read_dir(store).unwrap() {
                drop(fs::remove_file(entry.unwrap().path()));
            }
            for entry in fs::read_dir(&other).unwrap() {
                let name = entry.unwrap().file_name();
                fs::rename(other.join(&name), store.join(&name)).unwrap();
            }
        }),
    ];
    for (name, replace) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (store, backup) = (folder.path().join("store"), folder.path().join("backup"));
        let memory = Memory::create(&store).unwrap();
        put(&memory, "a", "first");
        copy(&store, &backup);
        put(&memory, "b", "second");
        replace(&store, &backup);
        let code = memory.refresh().unwrap_err().code();
        assert_eq!(code, ErrorCode::StoreMoved, "{name}: refresh");
        let code = memory
            .put(note("c", "third"), &Writer::user())
            .unwrap_err()
            .code();
        assert_eq!(code, ErrorCode::StoreMoved, "{name}: put");
        drop(memory);
        assert!(
            Memory::open(&store).is_ok_and(|memory| memory.verify(VerifyDepth::Full).unwrap().ok)
                || name == "removed"
        );
    }
}

#[test]
fn a_store_whose_folder_was_moved_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("store")).unwrap();
    put(&memory, "a", "first");
    fs::rename(folder.path().join("store"), folder.path().join("new")).unwrap();
    put(&memory, "b", "second");
    memory.close().unwrap();
    let memory = Memory::open(folder.path().join("new")).unwrap();
    assert_eq!(content(&memory.view(), "b").as_deref(), Some("second"));
}
