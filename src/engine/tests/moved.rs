//! Records that moved after they were read, because of a recovery or of a rewrite that could not be loaded.

use std::sync::Arc;

use super::{content, note, put};
use crate::engine::{Memory, Options, Retention, VerifyDepth, Writer};
use crate::error::{ErrorKind, Result};
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
