//! Several processes on one store: writers take turns and lose nothing, readers see whole commits and
//! never write.
//!
//! A child is this test binary again, told by the environment what to be.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use treering::{Id, Kind, Memory, NewObject, Options, VerifyDepth, Writer};

const ROLE: &str = "TREERING_TEST_ROLE";
const STORE: &str = "TREERING_TEST_STORE";
const NUMBER: &str = "TREERING_TEST_NUMBER";

const WRITERS: usize = 16;
const PUTS: usize = 250;

fn child(role: &str, store: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::child_process", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(STORE, store)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Not a test of its own: what a child does. Without a role it does nothing.
#[test]
fn child_process() {
    let (Ok(role), Ok(store), Ok(number)) =
        (std::env::var(ROLE), std::env::var(STORE), std::env::var(NUMBER))
    else {
        return;
    };
    match role.as_str() {
        "writer" => write(&store, &number),
        "reader" => read(&store),
        other => panic!("no role {other}"),
    }
}

fn write(store: &str, number: &str) {
    let memory = Options::new().wait(Duration::from_mins(5)).open(store).unwrap();
    for count in 0..PUTS {
        let mut object = NewObject::new(
            Id::new(&format!("{number}/{count}")).unwrap(),
            Kind::new("note").unwrap(),
        );
        object.content = Some(format!("writer {number}, put {count}"));
        let committed = memory
            .put(object, Writer::new().session(format!("s{number}")))
            .unwrap();
        assert!(committed.changed);
    }
}

/// Reads until every put is there; the number of commits never falls and every state is whole.
fn read(store: &str) {
    let memory = Options::new().read_only(true).open(store).unwrap();
    let (mut seen, goal) = (0, (WRITERS * PUTS) as u64);
    while seen < goal {
        let view = memory.refresh().unwrap();
        let seq = view.commit().commit.seq;
        assert!(seq >= seen, "the head went back from {seen} to {seq}");
        assert_eq!(view.len(), seq, "a state that no commit made");
        if let Some(object) = view.objects().next() {
            assert!(object.unwrap().content().unwrap().starts_with("writer "));
        }
        seen = seq;
    }
}

#[test]
fn sixteen_processes_put_250_each_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    drop(Memory::create(&store).unwrap());
    let reader = child("reader", &store, 0);
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| child("writer", &store, number))
        .collect();
    writers.into_iter().for_each(finish);
    finish(reader);

    let memory = Memory::open(&store).unwrap();
    let view = memory.view();
    assert_eq!(view.len(), (WRITERS * PUTS) as u64);
    for number in 0..WRITERS {
        for count in 0..PUTS {
            let object = view
                .get(&Id::new(&format!("{number}/{count}")).unwrap())
                .unwrap()
                .unwrap();
            assert_eq!(
                object.content(),
                Some(format!("writer {number}, put {count}").as_str())
            );
        }
    }
    // One chain: every commit's parent is the one before it.
    let commits: Vec<_> = memory.commits().map(Result::unwrap).collect();
    assert_eq!(commits.len(), WRITERS * PUTS + 1);
    assert!(
        commits
            .windows(2)
            .all(|pair| pair[0].commit.parents == [pair[1].digest])
    );
    let report = memory.verify(VerifyDepth::Full).unwrap();
    assert!(report.ok, "{report:?}");
}

#[test]
fn a_busy_store_says_who_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let first = Options::new().exclusive(true).create(&store).unwrap();
    let note = |name: &str| NewObject::new(Id::new(name).unwrap(), Kind::new("note").unwrap());
    first.put(note("a"), Writer::new()).unwrap();
    let before = std::fs::read(store.join("log/00000001.seg")).unwrap();
    // Another process: the same binary as a writer with no patience would do the same; the lock file is enough.
    let lock = std::fs::File::open(store.join("lock")).unwrap();
    assert!(matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
    assert_eq!(std::fs::read(store.join("log/00000001.seg")).unwrap(), before);
    drop(first);
    assert!(lock.try_lock().is_ok());
    lock.unlock().unwrap();
}
