//! A file `live` that does not end where its mark ends, and the checkpoints that older programs wrote beside such a file.

use std::sync::Arc;

use super::covering::cover;
use super::{content, put, segments};
use crate::engine::{Memory, Options, Revision, VerifyDepth};
use crate::error::{Cause, FindingKind, Result};
use crate::store::{LogId, Work};
use crate::testing::sim_disk::SimDisk;

fn open(disk: &SimDisk, create: bool) -> Result<Memory> {
    Memory::on_disk(Arc::new(disk.clone()), Options::new(), create, None)
}

#[test]
fn liv_2_a_long_live_costs_nothing() -> Result<()> {
    let disk = SimDisk::new(1);
    drop(open(&disk, true)?);
    disk.overwrite("live", |bytes| bytes.push(b'x'));
    for number in 0..6 {
        let memory = open(&disk, false)?;
        put(&memory, &format!("o/{number}"), "text");
        if number == 2 {
            cover(&memory);
        }
    }
    assert_eq!(segments(&disk).len(), 1, "no writer recovers");
    let memory = open(&disk, false)?;
    for number in 0..6 {
        assert_eq!(
            content(&memory.view(), &format!("o/{number}")).as_deref(),
            Some("text")
        );
    }
    let report = memory.verify(VerifyDepth::Full)?;
    assert!(report.ok, "{report:?}");
    let causes: Vec<_> = report.derived.iter().map(|found| &found.damage.cause).collect();
    assert_eq!(causes, [&Cause::BeyondMark { bytes: 1 }]);
    Ok(())
}

#[test]
fn a_checkpoint_with_places_that_recovery_left_is_reported_and_not_used() -> Result<()> {
    let disk = SimDisk::new(1);
    drop(open(&disk, true)?);
    disk.remove_file("live");
    // This reader keeps the places from before the recovery, as the handle of an older program did.
    let options = Options::new().read_only(true);
    let stale = Memory::on_disk(Arc::new(disk.clone()), options, false, None)?;
    let memory = open(&disk, false)?;
    put(&memory, "a", "first");
    drop(stale.refresh()?);
    let (log, position) = {
        let writing = memory.inner.log.lock();
        (LogId::of(&writing.log), writing.log.position())
    };
    let store = stale.inner.store();
    let work = Work {
        disk: &disk,
        map: true,
        tail_bytes: 0,
        limit: 0,
        floor: 0,
        busy: None,
    };
    store.write_checkpoint(&store.cut(log, position)?, None, &work, &mut |_| Ok(()))?;
    drop((memory, stale));
    let memory = open(&disk, false)?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("first"));
    // The place of this commit is the one that recovery left.
    assert_eq!(memory.view_at(&Revision::Seq(0), "")?.len(), 0);
    let report = memory.verify(VerifyDepth::Full)?;
    assert!(report.ok, "{report:?}");
    let told = report
        .derived
        .iter()
        .map(|found| (found.kind(), found.damage.file.as_str()));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(FindingKind::Older, "checkpoint/00000001.ckpt")]
    );
    Ok(())
}
