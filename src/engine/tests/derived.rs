//! Derived files and last-access times: checks which files are read, which are ignored, and how an erasure removes
//! them.

use std::sync::Arc;

use super::*;
use crate::disk::{Access, Disk, MemDisk};
use crate::engine::upkeep::derived_files::derived;
use crate::engine::upkeep::derived_writer::keep_derived;
use crate::log::CompactionLock;
use crate::object::Time;
use crate::testing::sim_disk::{CrashImage, SimDisk};

fn on(disk: &Arc<dyn Disk>, create: bool) -> Memory {
    Memory::on_disk(Arc::clone(disk), Options::new(), create, None).unwrap()
}

fn kept(memory: &Memory, name: &str) -> Option<Vec<u8>> {
    memory.derived(name).unwrap().map(|bytes| bytes.to_vec())
}

fn used(memory: &Memory, name: &str) -> Option<i64> {
    let time = memory.last_used(&id(name)).unwrap();
    time.map(|time| time.as_micros() / HOUR)
}

const HOUR: i64 = 3_600_000_000;

fn at(hours: i64) -> Time {
    Time::from_micros(hours * HOUR)
}

#[test]
fn an_object_is_found_by_half_of_its_key() {
    let memory = Memory::in_memory().unwrap();
    for number in 0..100 {
        put(&memory, &format!("n/{number}"), "text");
    }
    let view = memory.view();
    let half = |name: &str| {
        let mut prefix = [0; 16];
        prefix.copy_from_slice(&memory.suite().key_path(name).as_bytes()[..16]);
        prefix
    };
    for number in 0..100 {
        let name = format!("n/{number}");
        assert_eq!(view.object_at(&half(&name)).unwrap().unwrap().id().as_str(), name);
    }
    for number in 100..300 {
        assert!(view.object_at(&half(&format!("n/{number}"))).unwrap().is_none());
    }
    assert!(
        Memory::in_memory()
            .unwrap()
            .view()
            .object_at(&half("n/1"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn what_was_kept_is_read_by_the_next_handle() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Options::new().create(folder.path().join("store"))?;
    put(&memory, "a", "one");
    assert_eq!(kept(&memory, "words"), None);
    assert!(keep_derived(&memory, "words", b"first", memory.view().state())?);
    assert!(keep_derived(&memory, "words", b"second", memory.view().state())?);
    assert!(keep_derived(&memory, "empty", b"", memory.view().state())?);
    assert_eq!(kept(&memory, "words").unwrap(), b"second");
    memory.close()?;
    let reader = Options::new().read_only(true).open(folder.path().join("store"))?;
    assert_eq!(kept(&reader, "words").unwrap(), b"second");
    assert_eq!(kept(&reader, "empty").unwrap(), b"");
    let refused = keep_derived(&reader, "words", b"third", reader.view().state()).unwrap_err();
    assert_eq!(refused.code(), "read_only");
    for name in ["", "..", "a/b", "A", &"a".repeat(33)] {
        assert_eq!(reader.derived(name).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let report = reader.verify(VerifyDepth::Full)?;
    assert!(report.ok && report.derived.is_empty(), "{report:?}");
    Ok(())
}

/// INVARIANT DER-1: a read returns the bytes that were written under that name in this store, or `None`.
#[test]
fn a_damaged_or_foreign_file_reads_as_absent_and_verify_tells() -> Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let memory = on(&disk, true);
    assert!(keep_derived(
        &memory,
        "words",
        b"some words",
        memory.view().state()
    )?);
    let file = |name: &str| {
        let file = disk.open(name, Access::ReadWrite).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    };
    let whole = file("derived/words");
    let written = |name: &str, bytes: &[u8]| crate::disk::replace(&*disk, name, bytes).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        written("derived/words", &bytes);
        assert_eq!(kept(&memory, "words"), None, "byte {at}");
        let report = memory.verify(VerifyDepth::Quick)?;
        assert!(report.ok && report.derived.len() == 1, "{report:?}");
    }
    for length in 0..whole.len() {
        written("derived/words", &whole[..length]);
        assert_eq!(kept(&memory, "words"), None, "cut at {length}");
    }
    written("derived/words", &[&whole[..], b"!"].concat());
    assert_eq!(kept(&memory, "words"), None);
    written("derived/other", &whole);
    assert_eq!(kept(&memory, "other"), None, "of another name");
    let other = Memory::in_memory()?;
    assert!(keep_derived(
        &other,
        "words",
        b"some words",
        other.view().state()
    )?);
    written("derived/words", &whole);
    assert_eq!(kept(&memory, "words").unwrap(), b"some words");
    let foreign = derived(other.inner.opened(), "words")?.unwrap();
    written("derived/words", &foreign);
    assert_eq!(kept(&memory, "words"), None, "of another store");
    Ok(())
}

/// INVARIANT DER-2: after an erasure, no derived file remains that was built from an earlier state.
#[test]
fn erasure_removes_derived_files_and_none_of_before_comes_back() -> Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let memory = on(&disk, true);
    put(&memory, "secret", "harbour");
    put(&memory, "open", "tea");
    let before = memory.view();
    assert!(keep_derived(&memory, "words", b"harbour tea", before.state())?);
    memory.touch([&id("secret"), &id("open")], at(5));
    memory.sync()?;
    let other = on(&disk, false);
    memory.touch([&id("secret")], at(9));
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    assert_eq!(disk.list("derived").unwrap(), ["uses"]);
    assert_eq!((used(&memory, "secret"), used(&memory, "open")), (None, Some(5)));
    assert!(!keep_derived(&memory, "words", b"harbour tea", before.state())?);
    // The other process has not read the erasure yet, so `keep_derived` refuses to write its file.
    assert!(!keep_derived(
        &other,
        "words",
        b"harbour tea",
        other.view().state()
    )?);
    assert_eq!(kept(&memory, "words"), None);
    assert!(keep_derived(&memory, "words", b"tea", memory.view().state())?);
    memory.gc(&Retention::default(), None)?;
    assert_eq!(kept(&memory, "words").unwrap(), b"tea", "gc leaves them");
    Ok(())
}

#[test]
fn use_makes_no_version_and_the_later_stamp_counts() -> Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let memory = on(&disk, true);
    put(&memory, "a", "one");
    put(&memory, "b", "two");
    let head = memory.view();
    memory.touch([&id("a")], at(7));
    memory.touch([&id("a"), &id("b")], at(3));
    assert_eq!((used(&memory, "a"), used(&memory, "b")), (Some(7), Some(3)));
    memory.sync()?;
    assert_eq!(memory.view().root(), head.root());
    assert_eq!(memory.view().commit().digest, head.commit().digest);
    // Tests STP-1: a process with older times does not overwrite a later time.
    let other = on(&disk, false);
    assert_eq!(used(&other, "a"), Some(7));
    memory.touch([&id("a")], at(20));
    memory.sync()?;
    other.touch([&id("a"), &id("b")], at(10));
    other.sync()?;
    memory.refresh()?;
    assert_eq!((used(&memory, "a"), used(&memory, "b")), (Some(20), Some(10)));
    // Tests STP-2: the files contain times only of objects in the newest state.
    memory.remove(&id("b"), &Writer::user())?;
    memory.touch([&id("a")], at(21));
    memory.close()?;
    let again = on(&disk, false);
    assert_eq!((used(&again, "a"), used(&again, "b")), (Some(21), None));
    let reader = Memory::on_disk(Arc::clone(&disk), Options::new().read_only(true), false, None)?;
    reader.touch([&id("a")], at(50));
    assert_eq!(used(&reader, "a"), Some(50));
    drop(reader);
    let last = on(&disk, false);
    assert_eq!(used(&last, "a"), Some(21), "a reader must not write times");
    Ok(())
}

#[test]
fn who_only_reads_writes_little() -> Result<()> {
    let disk = SimDisk::new(1);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let memory = on(&shared, true);
    let names: Vec<String> = (0..1_500).map(|number| format!("n{number}")).collect();
    let mut draft = memory.draft(&Writer::user());
    for name in &names {
        draft.put(NewObject::new(id(name), Kind::new("note")?))?;
    }
    drop(memory.commit(draft, "put")?);
    memory.close()?;
    let length = |name: &str| {
        shared
            .open(&format!("derived/{name}"), Access::Read)
            .unwrap()
            .length()
            .unwrap()
    };
    let read = |names: &[String], time: Time| -> Result<()> {
        let reader = on(&shared, false);
        let ids: Vec<Id> = names.iter().map(|name| id(name)).collect();
        reader.touch(&ids, time);
        reader.close()
    };
    read(&names, at(1))?;
    let (all, few) = (length("uses"), length("uses-new"));
    assert!(all > 24 * 1_500 && few < 100, "{all} {few}");
    read(&names[..3], at(2))?;
    assert_eq!((length("uses"), length("uses-new")), (all, few + 3 * 24));
    // A write without new times changes no file.
    let before = disk.files();
    read(&names[..3], Time::from_micros(2 * HOUR + HOUR / 10))?;
    assert!(disk.files() == before);
    let last = on(&shared, false);
    assert_eq!((used(&last, "n2"), used(&last, "n3")), (Some(2), Some(1)));
    Ok(())
}

#[test]
fn what_others_made_and_used_meanwhile_keeps_its_stamp() -> Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let long = on(&disk, true);
    put(&long, "a", "x");
    long.touch([&id("a")], at(5));
    let other = on(&disk, false);
    put(&other, "b", "x");
    other.touch([&id("b")], at(7));
    other.close()?;
    // This process has not read the files since the other process wrote them.
    long.close()?;
    let next = on(&disk, false);
    assert_eq!((used(&next, "a"), used(&next, "b")), (Some(5), Some(7)));
    Ok(())
}

#[test]
fn who_closes_while_the_log_is_rewritten_waits_for_its_stamps() -> Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let memory = on(&disk, true);
    put(&memory, "a", "x");
    memory.touch([&id("a")], at(5));
    let rewriting = CompactionLock::take(&*disk, std::time::Duration::ZERO)?;
    let (begun, done) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        begun.send(()).unwrap();
        memory.close().unwrap();
    });
    done.recv().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    drop(rewriting);
    waiting.join().unwrap();
    assert_eq!(used(&on(&disk, false), "a"), Some(5));
    Ok(())
}

#[test]
fn a_crash_leaves_the_old_derived_file_or_the_new_one() -> Result<()> {
    for call in 0..12 {
        let disk = SimDisk::new(call);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let memory = on(&shared, true);
        assert!(keep_derived(&memory, "words", b"old", memory.view().state())?);
        disk.crash_at(disk.calls() + call);
        let done = keep_derived(&memory, "words", b"new", memory.view().state());
        drop(memory);
        for image in [CrashImage::Nothing, CrashImage::Everything] {
            let left: Arc<dyn Disk> = Arc::new(disk.crash_image(image));
            let found = kept(&on(&left, false), "words").unwrap();
            assert!(
                found == b"new" || found == b"old" && done.is_err(),
                "{call}: {found:?}"
            );
        }
    }
    Ok(())
}
