//! Tests with several processes on one store. Writers take turns and lose no acknowledged commit, even if they are
//! killed. Readers see complete commits and never write. Only one process holds the lock. These tests run short
//! versions of the rounds in `tests/soak/rounds.rs`.

#[path = "../soak/rounds.rs"]
mod rounds;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use treering::upkeep::VerifyDepth;
use treering::{ErrorKind, Id, Kind, Memory, NewObject, Options, Writer};

/// The arguments with which this binary is started as a child.
const CHILD: [&str; 3] = ["processes::child_process", "--exact", "--nocapture"];

/// Runs the role of a child process. Without a role, does nothing.
#[test]
fn child_process() {
    assert!(rounds::play().is_none_or(|code| code == ExitCode::SUCCESS));
}

#[test]
fn a_thousand_kills_lose_nothing_that_was_acknowledged() {
    let killed = rounds::kill_rounds(&CHILD, 0..250);
    assert_eq!((killed.rounds, killed.kills), (250, 1_000));
    assert!(killed.acked > 2_000, "{killed:?}");
}

#[test]
fn sixteen_processes_put_250_each_and_nothing_is_lost() {
    let puts = rounds::put_round(&CHILD);
    assert_eq!(puts, (rounds::PROCESSES * rounds::PUTS) as u64);
}

#[test]
fn of_sixteen_that_race_to_create_a_store_one_does() {
    for _ in 0..3 {
        rounds::create_round(&CHILD);
    }
}

#[test]
fn of_sixteen_that_claim_the_lock_one_gets_it() {
    for _ in 0..5 {
        rounds::claim_round(&CHILD);
    }
}

#[test]
fn readers_prove_all_they_read_while_writers_are_killed() {
    let proofs = rounds::read_round(&CHILD, 4, Duration::from_secs(3));
    assert!(proofs > 1_000, "{proofs}");
}

#[test]
fn no_kill_and_no_damage_makes_a_wrong_vector() {
    let done = rounds::vectors::vector_rounds(&CHILD, 0..24);
    assert_eq!((done.rounds, done.kills), (24, 48));
    assert!(done.damages > 0 && done.checked >= 24 * 3 * 6, "{done:?}");
}

fn note(id: &str) -> NewObject {
    NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap())
}

fn impatient() -> Options {
    Options::new().wait(Duration::from_millis(30))
}

/// Returns a new store in a temporary folder.
fn store() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    drop(Memory::create(&store).unwrap());
    (folder, store)
}

fn is_refused(store: &Path) -> bool {
    let outcome = impatient()
        .open(store)
        .and_then(|memory| memory.put(note("refused"), &Writer::user()));
    outcome.is_err_and(|error| error.kind() == ErrorKind::Busy)
}

#[test]
fn one_process_holds_the_lock_until_it_ends_however_it_ends() {
    let (_folder, store) = store();
    let holder = rounds::holder(&CHILD, &store, 1);
    assert!(is_refused(&store));
    assert!(
        Memory::open(&store).unwrap().view().len() == 1,
        "reading waits for nobody"
    );
    rounds::end(holder);
    impatient()
        .open(&store)
        .unwrap()
        .put(note("after"), &Writer::user())
        .unwrap();
}

#[test]
fn a_holder_text_with_the_number_of_another_process_holds_nothing() {
    let (_folder, store) = store();
    // Simulates a crash and a reboot: the process number in the lock file now belongs to a running process, this one.
    let mut text = fs::read(store.join("lock")).unwrap();
    let holder = format!("process {}", std::process::id());
    text.resize(text.len().max(256), 0);
    text[..holder.len()].copy_from_slice(holder.as_bytes());
    fs::write(store.join("lock"), text).unwrap();
    impatient()
        .open(&store)
        .unwrap()
        .put(note("a"), &Writer::user())
        .unwrap();
}

#[test]
fn a_lock_file_that_is_replaced_lets_no_second_holder_write() {
    let (_folder, store) = store();
    let first = Options::new().exclusive(true).open(&store).unwrap();
    first.put(note("a"), &Writer::user()).unwrap();
    fs::remove_file(store.join("lock")).unwrap();
    fs::write(store.join("lock"), "").unwrap();
    // The process that locked the old file detects the replacement before it writes. Acknowledged commits are intact.
    let second = rounds::holder(&CHILD, &store, 1);
    let refused = first.put(note("b"), &Writer::user()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Poisoned, "{refused:?}");
    rounds::end(second);
    drop(first);
    let memory = Memory::open(&store).unwrap();
    let ids: Vec<_> = memory
        .view()
        .objects()
        .map(|object| object.unwrap().id().to_string())
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
}

#[test]
fn a_child_that_outlives_the_holder_keeps_no_lock() {
    let (_folder, store) = store();
    let memory = Options::new().exclusive(true).open(&store).unwrap();
    memory.put(note("a"), &Writer::user()).unwrap();
    let mut child = Command::new("sleep").arg("20").spawn().unwrap();
    drop(memory);
    impatient()
        .open(&store)
        .unwrap()
        .put(note("b"), &Writer::user())
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_store_opened_twice_in_one_process_is_one_memory() {
    let (_folder, store) = store();
    let (one, two) = (Memory::open(&store).unwrap(), Memory::open(&store).unwrap());
    one.put(note("a"), &Writer::user()).unwrap();
    two.put(note("b"), &Writer::user()).unwrap();
    assert_eq!(one.view().root(), two.view().root());
    assert_eq!(one.view().len(), 2);
}

#[test]
fn a_copied_store_is_another_store_with_a_lock_of_its_own() {
    let (folder, store) = store();
    Memory::open(&store)
        .unwrap()
        .put(note("a"), &Writer::user())
        .unwrap();
    let copy = folder.path().join("copy");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(&store)
        .arg(&copy)
        .status()
        .unwrap();
    assert!(copied.success());
    let holder = rounds::holder(&CHILD, &store, 1);
    impatient()
        .open(&copy)
        .unwrap()
        .put(note("b"), &Writer::user())
        .unwrap();
    rounds::end(holder);
    assert!(Memory::open(&copy).unwrap().verify(VerifyDepth::Full).unwrap().ok);
    let original = Memory::open(&store).unwrap();
    assert!(original.view().get(&Id::new("b").unwrap()).unwrap().is_none());
}

#[test]
fn a_busy_store_says_who_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let first = Options::new().exclusive(true).create(&store).unwrap();
    first.put(note("a"), &Writer::user()).unwrap();
    let before = fs::read(store.join("log/00000001.seg")).unwrap();
    // This test locks the file itself, as a second process would.
    let lock = fs::File::open(store.join("lock")).unwrap();
    assert!(matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)));
    assert_eq!(fs::read(store.join("log/00000001.seg")).unwrap(), before);
    drop(first);
    assert!(lock.try_lock().is_ok());
    lock.unlock().unwrap();
}
