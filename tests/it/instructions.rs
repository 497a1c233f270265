//! Guards the instructions of hot operations: a change that makes one of them much longer turns this red.
//!
//! The test runs itself below callgrind, once with twice as many operations as the other time. The difference is what the
//! operations cost. The number depends on the compiler and on the vector unit that callgrind offers, but not on the load
//! of the machine. Without callgrind, the test says that it was skipped.

use std::process::Command;

use treering::{Id, Kind, Memory, NewObject, Value, Writer};
use treering_text::scan::{Author, MarkerKey, Scanner, VerdictTable};

/// The environment variable with the operation and its number of repetitions.
const WORK: &str = "TREERING_COUNT";

/// The objects in the memory of every operation.
const OBJECTS: usize = 2_000;

/// The operations, with the greatest number of instructions of each: the measured number and half as much again, for
/// other processors and other versions of the system's library. Making the objects counts too.
const LIMITS: [(&str, u64); 12] = [
    ("get", 7_000),
    ("get_again", 1_900),
    ("scan", 4_200_000),
    ("put", 150_000),
    ("put_all", 33_000_000),
    ("load", 33_000_000),
    ("merge", 5_700_000),
    ("snapshot", 36_000),
    ("rollback", 58_000),
    ("diff", 175_000),
    ("stage", 29_000),
    ("scan_repeated", 87_000_000),
];

/// Texts of which the scan once took time by the square of their length, each to be repeated.
const REPEATED: [&str; 4] = [
    "password=",
    "api_key=",
    "eyJhbGciOiJIUzI1NiJ9.",
    "a=\"b\"\npassword is ",
];

fn object(number: usize, version: usize) -> NewObject {
    let scattered = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut object = NewObject::new(id(scattered), Kind::new("note").unwrap());
    object
        .attributes
        .insert("topic", Value::Text(format!("topic {}", number % 100)));
    object.content = Some(format!("In turn {version} the agent wrote down what it had seen. ").repeat(6));
    object
}

fn id(number: u64) -> Id {
    Id::new(&format!("id-{number:016x}")).unwrap()
}

/// INVARIANT SCA-1: scans texts whose length grows with `times`, so that the difference is what the longer texts cost.
fn scan_repeated(times: usize) {
    let scanner = Scanner::new(VerdictTable::default(), MarkerKey::new([0; 32], |key, _| *key));
    for unit in REPEATED {
        let text = unit.repeat(50 * times);
        assert!(scanner.scan(Author::Stranger, &text).findings.len() < 100);
        assert!(!scanner.redact(&text).is_empty());
    }
}

/// Runs an operation `times` times, in a memory with [`OBJECTS`] objects.
fn work(operation: &str, times: usize) {
    if operation == "scan_repeated" {
        return scan_repeated(times);
    }
    let memory = Memory::in_memory().unwrap();
    let user = Writer::user();
    let put_all = |range: std::ops::Range<usize>, version: usize| {
        let mut draft = memory.draft(&user);
        draft
            .put_all(range.map(|number| object(number, version)))
            .unwrap();
        memory.commit(draft, "put").unwrap();
    };
    put_all(0..OBJECTS, 0);
    memory.snapshot(Some("start"), &user).unwrap();
    put_all(0..OBJECTS / 100, 1);
    let fork = memory.fork("work").by(&user).unwrap();
    if operation == "merge" {
        let mut draft = fork.draft(&user);
        draft
            .put_all((0..200).map(|number| object(10 * number, 2)))
            .unwrap();
        fork.commit(draft, "put").unwrap();
    }
    let before = memory.at("start").unwrap();
    let view = memory.view();
    let read: Vec<Id> = before
        .objects()
        .take(8)
        .map(|object| object.unwrap().id().clone())
        .collect();
    assert!(view.get_all(&read).unwrap().iter().all(Option::is_some));
    for time in 0..times {
        match operation {
            "get" => {
                let number = (time as u64 % OBJECTS as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                assert!(
                    memory
                        .view()
                        .get(&id(number))
                        .unwrap()
                        .unwrap()
                        .content()
                        .is_some()
                );
            }
            "get_again" => assert!(view.get(&read[time % read.len()]).unwrap().is_some()),
            "scan" => assert_eq!(memory.view().objects().map(Result::unwrap).count(), OBJECTS),
            "put" => drop(memory.put(object(time % OBJECTS, time + 2), &user).unwrap()),
            "put_all" => put_all(0..1_000, time + 2),
            "load" => put_all(OBJECTS + 1_000 * time..OBJECTS + 1_000 * (time + 1), 0),
            "merge" => assert_eq!(memory.merge("work").preview(&user).unwrap().counts.changed, 200),
            "snapshot" => drop(memory.snapshot(None, &user).unwrap()),
            "rollback" => drop(memory.rollback(["start", "seq:2"][time % 2]).by(&user).unwrap()),
            "diff" => assert_eq!(memory.diff(&before, &memory.view()).unwrap().len(), OBJECTS / 100),
            "stage" => {
                let mut draft = memory.draft(&user);
                draft.put(object(time % OBJECTS, time + 2)).unwrap();
                assert!(!draft.is_empty());
            }
            other => panic!("no operation is named {other}"),
        }
    }
}

/// Runs `times` operations below callgrind, and returns the number of instructions of the whole process. Returns `None`
/// if callgrind is missing.
fn counted(operation: &str, times: usize) -> Option<u64> {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "instructions::the_counted_work", "--test-threads=1"])
        .env(WORK, format!("{operation} {times}"))
        .current_dir(folder.path())
        .output()
        .ok()?;
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{told}");
    let (_, collected) = told
        .rsplit_once("Collected : ")
        .expect("callgrind tells the number");
    collected.split_whitespace().next()?.parse().ok()
}

/// Does nothing in an ordinary run. [`counted`] runs it alone, with an operation.
#[test]
fn the_counted_work() {
    if let Ok(task) = std::env::var(WORK) {
        let (operation, times) = task.split_once(' ').unwrap();
        work(operation, times.parse().unwrap());
    }
}

#[test]
fn hot_operations_take_no_more_instructions_than_allowed() {
    let mut over = Vec::new();
    for (operation, limit) in LIMITS {
        let times = if ["scan", "put_all", "load", "merge", "scan_repeated"].contains(&operation) {
            4
        } else {
            64
        };
        let Some((once, twice)) = counted(operation, times).zip(counted(operation, 2 * times)) else {
            println!("skipped: valgrind is missing");
            return;
        };
        let each = twice.saturating_sub(once) / times as u64;
        println!("{operation}: {each} instructions, limit {limit}");
        if each > limit {
            over.push(format!(
                "{operation} takes {each} instructions, more than {limit}"
            ));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
