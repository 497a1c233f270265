//! The debug shell on a store to which other processes write at the same time, and on a read-only store.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::story;
use crate::program::bytes_below;

#[test]
fn commits_are_seen_as_they_come() {
    let folder = story::told();
    let mut shell = folder.command(&["debug", "--json"]);
    let mut shell = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ask = shell.stdin.take().unwrap();
    let mut answers = BufReader::new(shell.stdout.take().unwrap()).lines();
    let mut answer =
        || -> serde_json::Value { serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap() };
    writeln!(ask, "head").unwrap();
    assert_eq!(answer()["seq"], 5);
    folder.put("fresh", "from another process");
    writeln!(
        ask,
        "get fresh\nlog --follow --limit 2\n.at seq:5\nhead\nget fresh"
    )
    .unwrap();
    assert_eq!(answer()["content"], "from another process");
    // Commits until the shell has printed two commits.
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 0..40 {
                folder.put(&format!("more/{number}"), "x");
                std::thread::sleep(std::time::Duration::from_millis(25));
            }
        });
        seen.push(answer());
        seen.push(answer());
        writing.join().unwrap();
    });
    assert_eq!(
        seen[1]["seq"].as_u64(),
        seen[0]["seq"].as_u64().map(|seq| seq + 1)
    );
    assert_eq!((&seen[0]["op"], &seen[0]["added"]), (&"put".into(), &1.into()));
    assert_eq!(answer()["seq"], 5, "at");
    assert_eq!(answer()["seq"], 5, "head at seq:5");
    drop(ask);
    assert_eq!(
        shell.wait().unwrap().code(),
        Some(1),
        "`fresh` does not exist at seq:5"
    );
}

#[test]
fn a_store_that_cannot_be_written_is_read() {
    let folder = story::told();
    let set = |mode: u32, file_mode: u32| {
        for (path, _) in bytes_below(&folder.store()) {
            fs::set_permissions(path, fs::Permissions::from_mode(file_mode)).unwrap();
        }
        for path in [folder.store().join("log"), folder.store()] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    let before = bytes_below(&folder.store());
    set(0o500, 0o400);
    let ran = folder.run(&[
        "debug",
        "-c",
        "stats",
        "-c",
        "show",
        "-c",
        "inspect frames",
        "-c",
        "verify",
    ]);
    set(0o700, 0o600);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(bytes_below(&folder.store()), before);
}

#[test]
fn a_watch_goes_on_when_a_strict_gc_overtakes_it() {
    let folder = story::told();
    let mut watching = folder.command(&["debug", "-c", "log --follow --limit 1"]);
    let watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watching = watching.spawn().unwrap();
    let mut said = BufReader::new(watching.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("waiting for commits"));
    let signal = |name: &str| {
        let sent = Command::new("kill")
            .args([name, &watching.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    };
    // The watch sees neither the commits nor the collection until both are done.
    signal("-STOP");
    for number in 0..3 {
        let (id, text) = (format!("later/{number}"), format!("text {number}"));
        folder.json(&["put", &id, "--kind", "note", "--content", &text]);
    }
    let strict = [
        "--keep-all",
        "0s",
        "--hourly",
        "0s",
        "--daily",
        "0s",
        "--weekly",
        "0s",
    ];
    folder.json(&[&["gc", "--yes", "--newest", "1"], &strict[..]].concat());
    signal("-CONT");
    let told = watching.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains(" put by ") && told.lines().count() == 1, "{told}");
}

#[test]
fn a_store_that_was_moved_is_not_waited_for() {
    let folder = story::told();
    let mut watching = folder.command(&["debug", "-c", "log --follow"]);
    let mut watching = watching.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(watching.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().starts_with("waiting for commits"));
    fs::rename(folder.store(), folder.path("elsewhere")).unwrap();
    let told = said.next().unwrap().unwrap();
    assert!(told.contains("no longer exists"), "{told}");
    assert_eq!(watching.wait().unwrap().code(), Some(1));

    fs::rename(folder.path("elsewhere"), folder.store()).unwrap();
    let mut shell = folder.command(&["debug"]);
    let shell = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut ask = shell.stdin.take().unwrap();
    let mut answers = BufReader::new(shell.stdout.take().unwrap()).lines();
    writeln!(ask, ".lane").unwrap();
    assert_eq!(answers.next().unwrap().unwrap(), "lane default");
    fs::rename(folder.store(), folder.path("elsewhere")).unwrap();
    folder.json(&["init"]);
    writeln!(ask, ".lane").unwrap();
    drop(ask);
    let told = BufReader::new(shell.stderr.take().unwrap())
        .lines()
        .next()
        .unwrap()
        .unwrap();
    assert!(
        told.starts_with("cannot read commits after seq:5: ")
            && told.contains("was replaced by another folder"),
        "{told}"
    );
    assert_eq!(shell.wait().unwrap().code(), Some(0));
}
