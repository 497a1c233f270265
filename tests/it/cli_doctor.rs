//! What stands in the place of a file of the store: nothing is written over what may be memory, and `doctor` names what to
//! remove or to put back.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::Value;

use crate::program::{Folder, bytes_below, text};

const SEGMENT: &str = "log/00000001.seg";

fn store() -> Folder {
    let folder = Folder::with_store();
    for number in 0..3 {
        folder.put(&format!("o/{number}"), "text");
    }
    folder
}

/// What `doctor` tells of one file: everything, and only that.
fn told(folder: &Folder, file: &str) -> Vec<Value> {
    let found = folder.run(&["doctor", "--json"]).documents();
    let problems = found[0]["problems"].as_array().unwrap().iter();
    problems
        .filter(|problem| problem["file"] == file)
        .cloned()
        .collect()
}

/// Runs a command as a person would who has it from `doctor`.
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
        assert!(text(&known["hint"]).starts_with("it is damaged"), "{known}");
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
    // A folder of something else that has one of that name is no damaged store, and becomes none.
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
    // One sorts before the segments, one behind them.
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
            assert!(said.contains(&format!(" has {name} in it")), "{refused}");
            assert_eq!(folder.refused(1, &["head"])["code"], "no_store", "{name}");
        }
        let names = fs::read_dir(folder.store()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [name]);
    }
}

#[test]
fn what_is_in_the_way_of_a_file_is_named_with_what_removes_it() {
    let verb = ["erase", "o/1", "--yes"];
    for name in [
        "derived/uses",
        "derived/uses.tmp",
        "derived/uses-new",
        "checkpoint/00000009.ckpt",
        "checkpoint/00000009.ckpt.tmp",
        "manifest.tmp",
        "log/rewrite-1.tmp",
        "log/00000002.seg.tmp",
    ] {
        let folder = store();
        let place = folder.store().join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("inner"), "somebody's").unwrap();
        // A checkpoint is told of by the doctor alone, and the number of a segment is passed over.
        if !name.starts_with("checkpoint/") && !name.ends_with(".seg.tmp") {
            let refused = folder.refused(6, &verb);
            let hint = format!("remove {name}, which is no file");
            assert!(text(&refused["hint"]).starts_with(&hint), "{name}: {refused}");
        }
        let problems = told(&folder, name);
        assert_eq!(problems.len(), 1, "{name}: {problems:?}");
        assert_eq!(
            (&problems[0]["severity"], &problems[0]["code"]),
            (&"warning".into(), &"in_the_way".into()),
            "{problems:?}"
        );
        obey(&problems[0]["command"]);
        let ran = folder.run(&verb);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        assert!(told(&folder, name).is_empty());
    }
    // The folders of what is derived are the store's own, too.
    let folder = store();
    folder.write(".treering/checkpoint", "");
    symlink("elsewhere", folder.store().join("derived")).unwrap();
    for name in ["checkpoint", "derived"] {
        obey(&told(&folder, name)[0]["command"]);
        assert!(folder.store().join(name).symlink_metadata().is_err());
    }
}

#[test]
fn nothing_is_to_be_removed_that_may_be_memory_or_is_not_the_stores() {
    let folder = store();
    for other in [
        "log/lost+found",
        "log/rewrite.tmp",
        "other",
        "checkpoint/notes.ckpt",
    ] {
        fs::create_dir_all(folder.store().join(other)).unwrap();
    }
    let removes = |folder: &Folder| folder.run(&["doctor"]).out.contains("rm ");
    assert!(!removes(&folder));
    fs::create_dir(folder.store().join("log/rewrite-1.tmp")).unwrap();
    assert!(removes(&folder));
    // What a damaged store has may all be needed.
    for name in ["manifest", SEGMENT, "format"] {
        fs::remove_file(folder.store().join(name)).unwrap();
        fs::create_dir(folder.store().join(name)).unwrap();
        assert!(!removes(&folder), "{name}");
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_told_and_undone() {
    for name in ["log", SEGMENT, "manifest", "format"] {
        let folder = store();
        let (place, elsewhere) = (folder.store().join(name), folder.path("else where"));
        fs::rename(&place, &elsewhere).unwrap();
        symlink(&elsewhere, &place).unwrap();
        for verb in [&["get", "o/1"][..], &["put", "new", "--kind", "n"], &["gc"]] {
            let refused = folder.refused(5, verb);
            let said = text(&refused["message"]);
            assert!(
                said.starts_with(&format!("{name} ")) && said.contains("it is a symbolic link"),
                "{refused}"
            );
            assert!(text(&refused["hint"]).contains("doctor"), "{refused}");
        }
        let verified = folder.run(&["verify", "--json"]).documents();
        let damage = verified[0]["damage"].as_array().unwrap();
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(
            (&damage[0]["kind"], &damage[0]["file"]),
            (&"foreign".into(), &name.into())
        );
        if name == "log" {
            let (from, to) = (folder.store(), folder.path("saved"));
            let refused = folder.refused(5, &["salvage", from.to_str().unwrap(), to.to_str().unwrap()]);
            assert!(text(&refused["message"]).contains("symbolic link"), "{refused}");
            assert!(
                text(&refused["hint"]).starts_with("`treering doctor`"),
                "{refused}"
            );
        }
        let problems = told(&folder, name);
        assert_eq!(problems.len(), 1, "{problems:?}");
        obey(&problems[0]["command"]);
        assert_eq!(folder.json(&["verify"])["ok"], true);
        assert!(place.symlink_metadata().unwrap().file_type() == place.metadata().unwrap().file_type());
    }
}

#[test]
fn what_a_link_leads_to_is_moved_only_if_it_is_of_this_store_alone() {
    let other = store();
    let folder = store();
    let copy = folder.path("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["format", "manifest"] {
        fs::copy(folder.store().join(name), copy.join(name)).unwrap();
    }
    folder.write("notes", "of a person");
    fs::create_dir(folder.path("Documents")).unwrap();
    let not_text = folder
        .path("x")
        .with_file_name(OsStr::from_bytes(b"not \xff text"));
    fs::copy(folder.store().join("manifest"), &not_text).unwrap();
    for (name, target, said) in [
        (
            "manifest",
            other.store().join("manifest"),
            "not known to be of this store alone",
        ),
        ("log", other.store().join("log"), "not known"),
        (SEGMENT, other.store().join(SEGMENT), "not known"),
        ("format", other.store().join("format"), "not known"),
        // Of a copy of this very store.
        ("manifest", copy.join("manifest"), "not known"),
        ("manifest", folder.path("notes"), "not known"),
        ("log", folder.path("Documents"), "not known"),
        ("manifest", not_text, "not known"),
        (
            "manifest",
            folder.store().join("format"),
            "of the store itself: remove the link",
        ),
        (
            "log",
            folder.path("gone"),
            "which is not there: mount or find that",
        ),
    ] {
        let (place, aside) = (folder.store().join(name), folder.path("aside"));
        fs::rename(&place, &aside).unwrap();
        symlink(&target, &place).unwrap();
        let problems = told(&folder, name);
        assert_eq!(problems.len(), 1, "{name} to {target:?}: {problems:?}");
        assert_eq!(
            problems[0]["command"],
            Value::Null,
            "LNK-1: {target:?}: {problems:?}"
        );
        assert!(
            text(&problems[0]["what"]).contains(said),
            "{target:?}: {problems:?}"
        );
        fs::remove_file(&place).unwrap();
        fs::rename(&aside, &place).unwrap();
    }
    for folder in [folder, other] {
        assert_eq!(folder.json(&["verify"])["ok"], true);
    }
}

#[test]
fn a_socket_in_the_place_of_a_file_is_told_like_a_pipe() {
    for name in ["lock", "live", "manifest", "format", SEGMENT, "derived/x"] {
        let folder = store();
        // The path of a socket is short: it is made elsewhere and moved.
        let place = folder.store().join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        drop(fs::remove_file(&place));
        let made = std::env::temp_dir().join(format!("treering-{}.sock", std::process::id()));
        drop(fs::remove_file(&made));
        drop(UnixListener::bind(&made).unwrap());
        fs::rename(&made, &place).unwrap();
        let problems = told(&folder, name);
        assert_eq!(problems.len(), 1, "{name}: {problems:?}");
        let command = text(&problems[0]["command"]);
        if name.contains("seg") || ["manifest", "format"].contains(&name) {
            assert!(text(&problems[0]["what"]).contains("a socket"), "{problems:?}");
            assert!(command.starts_with("treering salvage"), "{problems:?}");
            let (from, to) = (folder.store(), folder.path("saved"));
            let ran = folder.run(&["salvage", from.to_str().unwrap(), to.to_str().unwrap()]);
            assert_eq!(ran.code, if name == SEGMENT { 5 } else { 0 }, "{name}: {ran:?}");
        } else {
            assert!(command.starts_with("rm -r "), "{name}: {problems:?}");
            obey(&problems[0]["command"]);
            folder.put("new", "text");
        }
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_damage_like_any_other() {
    for name in [SEGMENT, "manifest", "format"] {
        let folder = store();
        let place = folder.store().join(name);
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        let refused = folder.refused(5, &["get", "o/1"]);
        assert!(
            text(&refused["message"]).contains("it is a folder, where a regular file"),
            "{refused}"
        );
        assert!(text(&refused["hint"]).contains("treering salvage"), "{refused}");
        let problems = told(&folder, name);
        assert!(
            text(&problems[0]["command"]).starts_with("treering salvage"),
            "{problems:?}"
        );
    }
    // Where nothing else is of a store, these are names like any other.
    let folder = Folder::new();
    for name in ["format", "manifest", "live"] {
        fs::create_dir_all(folder.path("project").join(name)).unwrap();
    }
    folder.write("project/log", "text");
    for verb in ["head", "doctor"] {
        assert_eq!(
            folder.refused(1, &[verb, "--store", "project"])["code"],
            "no_store"
        );
    }
    // Of a log that is no folder there is nothing to save.
    let folder = store();
    fs::remove_dir_all(folder.store().join("log")).unwrap();
    folder.write(".treering/log", "text");
    let refused = folder.refused(5, &["get", "o/1", "--degraded"]);
    assert!(text(&refused["hint"]).contains("a backup"), "{refused}");
    assert_eq!(told(&folder, "log")[0]["command"], Value::Null);
}

#[test]
fn a_store_whose_name_begins_with_a_dash_is_no_option_of_the_command() {
    let folder = store();
    fs::rename(folder.store(), folder.path("-rf")).unwrap();
    fs::create_dir(folder.path("-rf/compact.lock")).unwrap();
    let found = folder.json(&["doctor", "--store=-rf"]);
    assert_eq!(found["problems"][0]["command"], "rm -r ./-rf/compact.lock");
    fs::remove_file(folder.path("-rf").join(SEGMENT)).unwrap();
    let found = folder.run(&["doctor", "--store=-rf", "--json"]).documents();
    assert_eq!(
        found[0]["problems"][0]["command"],
        "treering salvage ./-rf ./-rf-salvaged"
    );
}
