//! A writer that was interrupted before it acknowledged its commit. Readers stop before the commit; the next writer brings it
//! in, and the memory names it to its owner.

use std::sync::Arc;

use super::{content, put};
use crate::Result;
use crate::engine::upkeep::doctor::examine_disk;
use crate::engine::upkeep::verify::verified;
use crate::engine::{Memory, Options, Writer};
use crate::testing::sim_disk::SimDisk;

fn open(disk: &SimDisk) -> Memory {
    Memory::on_disk(Arc::new(disk.clone()), Options::new(), false, None).unwrap()
}

/// Makes a store with the mark from before its newest change, which `change` makes.
fn interrupted(change: impl FnOnce(&Memory)) -> SimDisk {
    let disk = SimDisk::new(1);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None).unwrap();
    put(&memory, "a", "good");
    memory.fork("task").by(&Writer::user()).unwrap();
    put(&memory, "a", "bad");
    let mark = disk.files()["live"].clone();
    change(&memory);
    drop(memory);
    disk.put_file("live", mark);
    disk
}

fn put_b(memory: &Memory) {
    put(memory, "b", "written before the kill");
}

#[test]
fn a_writer_plans_on_what_recovery_brought_in() -> Result<()> {
    let memory = open(&interrupted(put_b));
    assert_eq!((memory.pending()?, memory.warnings().len()), (1, 0));
    assert_eq!(content(&memory.view(), "b"), None);
    let recovered = memory.recover()?;
    assert!(content(&recovered, "b").is_some());
    assert_eq!((memory.pending()?, memory.warnings().len()), (0, 1));
    assert!(memory.warnings()[0].contains("seq:3"), "{:?}", memory.warnings());
    // The second call finds nothing, and so does the undo.
    memory.recover()?;
    memory.undo(&Writer::user())?;
    assert_eq!(content(&memory.view(), "b"), None);
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("bad"));
    assert_eq!(memory.warnings().len(), 1);
    Ok(())
}

#[test]
fn a_fork_and_a_name_are_named_too() -> Result<()> {
    let on_fork = |memory: &Memory| put_b(&memory.open_fork("task").unwrap());
    let memory = open(&interrupted(on_fork));
    let fork = memory.open_fork("task")?;
    put(&fork, "c", "later");
    assert!(content(&fork.view(), "b").is_some());
    assert!(fork.warnings()[0].contains("'task'"), "{:?}", fork.warnings());
    assert_eq!(fork.warnings(), memory.warnings());

    let named = |memory: &Memory| drop(memory.snapshot(Some("good"), &Writer::user()).unwrap());
    let memory = open(&interrupted(named));
    assert_eq!(memory.pending()?, 1);
    put(&memory, "c", "later");
    assert_eq!(memory.warnings().len(), 1);
    Ok(())
}

#[test]
fn a_reader_brings_in_nothing() -> Result<()> {
    let disk = interrupted(put_b);
    let before = disk.files();
    let options = Options::new().read_only(true);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, false, None)?;
    assert_eq!(content(&memory.recover()?, "b"), None);
    assert_eq!(memory.pending()?, 1);
    assert!(disk.files() == before);
    Ok(())
}

/// After a start of the machine, readers see the commit before the next writer proves it.
#[test]
fn what_readers_saw_is_not_news() -> Result<()> {
    let disk = interrupted(put_b);
    disk.remove_file("live");
    let memory = open(&disk);
    assert!(content(&memory.view(), "b").is_some());
    assert_eq!(memory.pending()?, 0);
    put(&memory, "c", "later");
    assert!(memory.warnings().is_empty(), "{:?}", memory.warnings());
    Ok(())
}

#[test]
fn a_check_names_what_no_reader_sees() -> Result<()> {
    for (disk, count) in [(interrupted(put_b), 1), (interrupted(|_| ()), 0)] {
        let disk: Arc<dyn crate::disk::Disk> = Arc::new(disk);
        let report = verified(&disk, &Options::new())?;
        assert!(report.ok);
        assert_eq!(report.derived.len(), count, "{report:?}");
        let mut problems = Vec::new();
        examine_disk(&disk, &Options::new(), &mut problems)?;
        let pending = problems.iter().filter(|problem| problem.code == "pending");
        assert_eq!(pending.count(), count, "{problems:?}");
    }
    Ok(())
}
