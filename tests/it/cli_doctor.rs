//! Stores with a path that is not a regular file, and folders that are not complete stores. No verb overwrites data
//! that may belong to a store, and `doctor` suggests the command that repairs the problem.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Folder, Ran, bytes_below, text};

const SEGMENT: &str = "log/00000001.seg";

fn store() -> Folder {
    let folder = Folder::with_store();
    for number in 0..3 {
        folder.put(&format!("o/{number}"), "text");
    }
    folder
}

/// Returns all problems that `doctor` reports for one file.
fn told(folder: &Folder, file: &str) -> Vec<Value> {
    let found = folder.run(&["doctor", "--json"]).documents();
    let problems = found[0]["problems"].as_array().unwrap().iter();
    problems
        .filter(|problem| problem["file"] == file)
        .cloned()
        .collect()
}

/// Runs a command that `doctor` suggests.
fn obey(command: &Value) {
    let ran = Command::new("sh").args(["-c", &text(command)]).status();
    assert!(ran.unwrap().success(), "{command}");
}

#[test]
fn creation_takes_nothing_over_that_no_creation_left() {
    for name in ["log/00000001.seg.tmp", "log/00000001.seg.bak"] {
        let folder = store();
        let at = |name: &str| folder.store().join(name);
        fs::rename(at(SEGMENT), at(name)).unwrap();
        for gone in ["format", "manifest", "live"] {
            fs::remove_file(at(gone)).unwrap();
        }
        let before = bytes_below(&folder.store());
        let known = folder.refused(1, &["init"]);
        assert!(
            text(&known["hint"]).starts_with("the store is damaged"),
            "{known}"
        );
        for verb in [&["put", "new", "--kind", "n"][..], &["get", "o/1"]] {
            let refused = folder.refused(5, verb);
            assert!(text(&refused["hint"]).contains("treering salvage"), "{refused}");
        }
        let damage = &told(&folder, "format")[0];
        assert!(
            text(&damage["command"]).starts_with("treering salvage"),
            "{damage}"
        );
        assert_eq!(bytes_below(&folder.store()), before, "{name}");
    }
    // If a folder of another program contains one of these names, it is not a damaged store, and the program creates no
    // store in it.
    let folder = Folder::new();
    folder.write(".treering/log/lost+found/#12", "rescued");
    let before = bytes_below(&folder.store());
    assert_eq!(folder.refused(1, &["get", "o/1"])["code"], "no_store");
    for verb in [&["put", "new", "--kind", "n"][..], &["init"]] {
        let refused = folder.refused(1, verb);
        assert_eq!(refused["code"], "exists", "{refused}");
        assert!(text(&refused["message"]).contains("log/lost+found"), "{refused}");
    }
    let after = bytes_below(&folder.store());
    assert!(before.iter().all(|file| after.contains(file)));
}

#[test]
fn what_somebody_put_beside_a_damaged_store_does_not_make_it_none() {
    // One of these names sorts before the names of the segments, the other after them.
    for stray in [".DS_Store", "notes"] {
        let folder = store();
        folder.write(&format!(".treering/log/{stray}"), "");
        for gone in ["format", "manifest", "live"] {
            fs::remove_file(folder.store().join(gone)).unwrap();
        }
        let verbs = [
            &["get", "o/1"][..],
            &["recall", "text"],
            &["envelope"],
            &["put", "new", "--kind", "n"],
        ];
        for verb in verbs {
            let refused = folder.refused(5, verb);
            assert!(text(&refused["hint"]).contains("treering salvage"), "{refused}");
        }
        let command = text(&told(&folder, "format")[0]["command"]);
        assert!(command.starts_with("treering salvage"), "{command}");
    }
}

#[test]
fn creation_writes_nothing_where_something_stands_in_its_way() {
    for name in [
        "log",
        "manifest",
        "live",
        "format",
        "manifest.tmp",
        "live.tmp",
        "format.tmp",
    ] {
        let folder = Folder::new();
        let place = folder.store().join(name);
        if name == "log" {
            folder.write(".treering/log", "text");
        } else {
            fs::create_dir_all(&place).unwrap();
        }
        for verb in [&["put", "new", "--kind", "n"][..], &["init"]] {
            let refused = folder.refused(1, verb);
            assert_eq!(refused["code"], "exists", "{refused}");
            let said = text(&refused["message"]);
            assert!(said.contains(&format!(" contains {name},")), "{refused}");
            assert_eq!(folder.refused(1, &["head"])["code"], "no_store", "{name}");
        }
        let names = fs::read_dir(folder.store()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [name]);
    }
}

/// Kinds of paths that may replace a regular file of a store.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Folder,
    Link,
    Pipe,
    Socket,
}

/// Creates something other than a regular file at the path `place`, which must not exist.
fn make(folder: &Folder, kind: Kind, place: &Path) {
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    match kind {
        Kind::Folder => fs::create_dir(place).unwrap(),
        Kind::Link => symlink(folder.path("aside"), place).unwrap(),
        Kind::Pipe => assert!(Command::new("mkfifo").arg(place).status().unwrap().success()),
        Kind::Socket => {
            // The path of a socket must be short, so it is created elsewhere and moved.
            let made = std::env::temp_dir().join(format!("treering-{}.sock", std::process::id()));
            drop(fs::remove_file(&made));
            drop(UnixListener::bind(&made).unwrap());
            fs::rename(&made, place).unwrap();
        }
    }
}

/// Every path that a store uses, and whether all verbs fail if it is not a regular file or folder.
const NAMES: [(&str, bool); 13] = [
    ("format", true),
    ("manifest", true),
    ("live", true),
    ("log", true),
    (SEGMENT, true),
    ("lock", false),
    ("compact.lock", false),
    ("manifest.tmp", false),
    ("log/00000002.seg.tmp", false),
    ("log/rewrite-1.tmp", false),
    ("derived/uses", false),
    ("derived/uses.tmp", false),
    ("checkpoint/00000009.ckpt", false),
];

#[test]
fn a_path_that_is_not_a_regular_file_is_one_error_for_every_verb_and_loses_nothing() {
    for (name, is_needed) in NAMES {
        for kind in [Kind::Folder, Kind::Link, Kind::Pipe, Kind::Socket] {
            if name == "log" && matches!(kind, Kind::Folder) {
                continue;
            }
            let what = format!("{name}: {kind:?}");
            let folder = store();
            let (place, aside) = (folder.store().join(name), folder.path("aside"));
            drop(fs::rename(&place, &aside));
            make(&folder, kind, &place);
            let (from, to) = (folder.store(), folder.path("saved"));
            let found = folder.run(&["doctor", "--json"]);
            assert_eq!(found.code, 5, "{what}: {found:?}");
            let problems = told(&folder, name);
            assert_eq!(problems.len(), 1, "{what}: {problems:?}");
            assert_eq!(problems[0]["code"], "not_regular_file", "{what}");
            let verbs: [&[&str]; 7] = [
                &["get", "o/1", "--json"],
                &["recall", "text", "--json"],
                &["verify", "--json"],
                &["put", "new", "--kind", "n", "--json"],
                &["gc", "--json"],
                &["erase", "o/0", "--yes", "--json"],
                &["salvage", from.to_str().unwrap(), to.to_str().unwrap(), "--json"],
            ];
            for verb in verbs {
                let ran = folder.run(verb);
                if ran.code == 0 {
                    assert!(!is_needed && verb[0] != "verify", "{what}: {verb:?}: {ran:?}");
                    continue;
                }
                let error: Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
                let error = &error["error"];
                assert_eq!(
                    (ran.code, &error["code"]),
                    (6, &"not_regular_file".into()),
                    "{what}: {ran:?}"
                );
                assert!(
                    text(&error["hint"]).starts_with("move this path out of the store"),
                    "{what}: {error}"
                );
            }
            // A writer removes an unfinished file with the name that it needs, but not a folder.
            if place.symlink_metadata().is_ok_and(|found| !found.is_file()) {
                obey(&problems[0]["command"]);
                assert!(place.symlink_metadata().is_err(), "{what}");
            }
            drop(fs::rename(&aside, &place));
            assert_eq!(folder.json(&["verify"])["ok"], true, "{what}");
            assert_eq!(folder.json(&["get", "o/1"])["content"], "text", "{what}");
            folder.put("newest", "text");
        }
    }
}

#[test]
fn other_folders_in_a_store_are_left_alone() {
    let folder = store();
    for other in ["log/lost+found", "log/rewrite.txt", "other", "checkpoint/notes"] {
        fs::create_dir_all(folder.store().join(other)).unwrap();
    }
    let found = folder.run(&["doctor"]);
    assert!(found.code == 0 && !found.out.contains("mv "), "{found:?}");
    folder.put("new", "text");
    // In a folder that contains nothing else of a store, these names have no special meaning.
    let folder = Folder::new();
    for name in ["format", "manifest", "live"] {
        fs::create_dir_all(folder.path("project").join(name)).unwrap();
    }
    folder.write("project/log", "text");
    for verb in ["head", "doctor"] {
        let refused = folder.refused(1, &[verb, "--store", "project"]);
        assert_eq!(refused["code"], "no_store");
    }
}

#[test]
fn a_store_whose_name_begins_with_a_dash_is_no_option_of_the_command() {
    let folder = store();
    fs::rename(folder.store(), folder.path("-rf")).unwrap();
    fs::create_dir(folder.path("-rf/compact.lock")).unwrap();
    let found = &folder.run(&["doctor", "--store=-rf", "--json"]).documents()[0];
    assert_eq!(
        found["problems"][0]["command"],
        "mv ./-rf/compact.lock ./-rf-compact.lock"
    );
    fs::remove_dir(folder.path("-rf/compact.lock")).unwrap();
    let segment = folder.path("-rf").join(SEGMENT);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4_200] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let found = folder.run(&["doctor", "--store=-rf", "--json"]).documents();
    assert_eq!(
        found[0]["problems"][0]["command"],
        "treering salvage ./-rf ./-rf-salvaged"
    );
}

/// Runs the program as the owner of the folder, whom modes keep out. Returns `None` if the tests run as root and another user
/// cannot run the program.
fn run_as_owner(folder: &Folder, arguments: &[&str]) -> Option<Ran> {
    const OTHER: u32 = 65_534;
    let mut command = folder.command(arguments);
    if rustix::process::geteuid().is_root() {
        let top = folder.path(".");
        let given = Command::new("chown").args(["-R", "65534"]).arg(top).status();
        assert!(given.unwrap().success());
        command.uid(OTHER).gid(OTHER);
    }
    Some(Ran::of(&command.output().ok()?))
}

#[test]
fn a_file_that_may_not_be_read_or_written_needs_no_salvage() {
    let folder = store();
    let set = |name: &str, mode: u32| {
        fs::set_permissions(folder.store().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set(SEGMENT, 0o000);
    let Some(ran) = run_as_owner(&folder, &["doctor", "--json"]) else {
        return;
    };
    assert_eq!(ran.code, 6, "{ran:?}");
    let problem = &ran.documents()[0]["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["file"]),
        (&"unreadable".into(), &SEGMENT.into())
    );
    assert!(text(&problem["command"]).starts_with("chmod "), "{problem}");
    obey_in(&folder, &problem["command"]);
    assert_eq!(run_as_owner(&folder, &["doctor"]).unwrap().code, 0);

    set("lock", 0o400);
    let ran = run_as_owner(&folder, &["doctor", "--json"]).unwrap();
    let problem = &ran.documents()[0]["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["file"]),
        (&"not_writable".into(), &"lock".into())
    );
    let put = run_as_owner(&folder, &["put", "new", "--kind", "note", "--json"]).unwrap();
    let refused = put.refusal(6);
    assert!(text(&refused["message"]).contains("/lock: "), "{refused}");
    obey_in(&folder, &problem["command"]);
    assert_eq!(
        run_as_owner(&folder, &["put", "new", "--kind", "note"])
            .unwrap()
            .code,
        0
    );
}

/// Runs a command that `doctor` suggests, in the folder of the store.
fn obey_in(folder: &Folder, command: &Value) {
    let mut shell = Command::new("sh");
    let ran = shell
        .args(["-c", &text(command)])
        .current_dir(folder.path("."))
        .status();
    assert!(ran.unwrap().success(), "{command}");
}
