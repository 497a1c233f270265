//! `doctor` and `salvage`: `doctor` reports each damage with a command, and this command creates a store that passes
//! `verify`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Folder, bytes_below};

/// Returns a store with ten objects and a snapshot.
fn store() -> Folder {
    let folder = Folder::with_store();
    for number in 0..10 {
        folder.put(&format!("o/{number}"), &format!("the text of number {number}"));
    }
    folder.json(&["snapshot", "good"]);
    folder
}

fn change(store: &Path, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(store.join(file)).unwrap();
    change(&mut bytes);
    fs::write(store.join(file), bytes).unwrap();
}

/// Runs the command that `doctor` suggests for the damage. Returns the folder of the new store, the exit code, and the
/// report.
fn mended(folder: &Folder) -> (String, i32, Value) {
    let doctor = folder.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, 5, "{doctor:?}");
    let found = doctor.documents();
    assert_eq!(found[0]["ok"], false);
    let problems = found[0]["problems"].as_array().unwrap().clone();
    let damage = problems
        .iter()
        .find(|problem| problem["severity"] == "damage")
        .unwrap();
    let command = damage["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--json"]).collect();
    let ran = folder.run(&words);
    (words[2].to_owned(), ran.code, ran.documents()[0].clone())
}

type Damage = fn(&Path);

#[test]
fn the_command_that_doctor_names_saves_what_is_whole() {
    let segment = "log/00000001.seg";
    let damages: [(&str, Damage); 6] = [
        ("bit", |store| {
            change(store, "log/00000001.seg", |bytes| {
                let text = b"the text of number 4";
                let at = bytes.windows(text.len()).position(|found| found == text).unwrap();
                bytes[at] ^= 1;
            });
        }),
        ("cut", |store| {
            change(store, "log/00000001.seg", |bytes| bytes.truncate(8_000));
        }),
        ("header", |store| {
            change(store, "log/00000001.seg", |bytes| bytes[..4_096].fill(0));
        }),
        ("manifest", |store| {
            fs::remove_file(store.join("manifest")).unwrap();
        }),
        ("format", |store| fs::remove_file(store.join("format")).unwrap()),
        ("both", |store| {
            fs::remove_file(store.join("manifest")).unwrap();
            fs::remove_file(store.join("format")).unwrap();
        }),
    ];
    for (name, damage) in damages {
        let folder = store();
        let root = folder.json(&["head"])["root"].clone();
        damage(&folder.store());
        let before = fs::read(folder.store().join(segment)).unwrap();
        let verified = folder.run(&["verify", "--json"]).documents();
        let kind = match name {
            "bit" | "header" => "corrupt",
            "cut" => "cut",
            _ => "missing",
        };
        assert_eq!(verified[0]["damage"][0]["kind"], kind, "{name}: {verified:?}");
        let (new, code, report) = mended(&folder);
        assert_eq!(fs::read(folder.store().join(segment)).unwrap(), before, "{name}");
        let verified = folder.json(&["verify", "--store", &new]);
        assert_eq!(verified["ok"], true, "{name}");
        let saved = folder.stream(&["list", "--store", &new]);
        assert_eq!(saved.len() as u64, report["objects"].as_u64().unwrap(), "{name}");
        match name {
            "bit" => {
                assert_eq!(code, 5, "{report}");
                assert_eq!(saved.len(), 9, "{report}");
                assert_eq!(report["lost"][0]["file"], segment);
                assert_eq!(report["lost_references"][0], "snapshots/good");
            }
            "cut" => assert!(code == 5 && !saved.is_empty() && saved.len() < 10, "{report}"),
            _ => {
                assert_eq!(code, 0, "{name}: {report}");
                assert_eq!(report["root"], root, "{name}");
                assert_eq!(folder.stream(&["snapshots", "--store", &new]).len(), 1, "{name}");
            }
        }
        // A second run fails because the target exists.
        folder.refused(1, &["salvage", folder.store().to_str().unwrap(), &new]);
    }
}

#[test]
fn nothing_is_left_where_nothing_can_be_had() {
    let folder = store();
    change(&folder.store(), "log/00000001.seg", Vec::clear);
    let from = folder.store();
    let to = from.with_extension("new");
    folder.refused(5, &["salvage", from.to_str().unwrap(), to.to_str().unwrap()]);
    assert!(!to.exists() && !to.with_extension("new.salvage").exists());
    folder.refused(1, &["salvage", "nowhere", to.to_str().unwrap()]);
    assert!(!to.exists());
}

#[test]
fn doctor_names_what_is_no_damage() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = store();
    assert_eq!(folder.json(&["doctor"])["problems"], serde_json::json!([]));
    fs::set_permissions(folder.store(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(folder.store().join("live")).unwrap();
    let found = folder.json(&["doctor"]);
    assert_eq!(found["ok"], true);
    let told = |code: &str| {
        let problems = found["problems"].as_array().unwrap().iter();
        problems
            .into_iter()
            .find(|problem| problem["code"] == code)
            .unwrap()
            .clone()
    };
    let command = told("permissions")["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("chmod -R go= /"), "{command}");
    assert_eq!(told("derived_damaged")["command"], Value::Null);
    // The suggested command corrects the permissions of all files.
    fs::set_permissions(folder.store().join("format"), fs::Permissions::from_mode(0o644)).unwrap();
    let told = folder.run(&["doctor"]);
    assert!(told.out.contains("files in this folder: format"), "{told:?}");
    assert_eq!(told.out.matches("chmod").count(), 1, "{told:?}");
    let words: Vec<&str> = command.split(' ').collect();
    assert!(
        Command::new(words[0])
            .args(&words[1..])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn what_may_have_been_acknowledged_is_not_called_harmless() {
    let folder = store();
    fs::remove_file(folder.store().join("live")).unwrap();
    change(&folder.store(), "log/00000001.seg", |bytes| bytes.truncate(9_000));
    let never = ["never acknowledged", "nothing is lost", "harmless  log"];
    let both = "bytes after the last complete commit";
    for verb in [
        &["verify"][..],
        &["doctor"],
        &["export"],
        &["salvage", ".treering", "saved"],
    ] {
        let told = folder.run(verb);
        assert_eq!(told.code, 0, "{told:?}");
        let all = format!("{}{}", told.out, told.err);
        assert_eq!(all.matches(both).count(), 1, "{all}");
        for never in never {
            assert!(!all.contains(never), "{verb:?}: {all}");
        }
    }
    fs::remove_dir_all(folder.path("saved")).unwrap();
    let report = folder.json(&["salvage", ".treering", "saved"]);
    assert_eq!(report["unsure"][0]["kind"], "unproven", "{report}");
    let problem = &folder.json(&["doctor"])["problems"][0];
    assert_eq!(
        (&problem["severity"], &problem["code"]),
        (&"warning".into(), &"torn_tail".into())
    );
}

#[test]
fn what_recoveries_left_is_told_of_in_one_line_and_gc_takes_it_away() {
    let folder = Folder::with_store();
    let crash = |number: u32| {
        folder.put(&format!("o/{number}"), "text");
        fs::remove_file(folder.store().join("live")).unwrap();
    };
    // Each writer finds the last commit after the durable position, and writes it again into a new segment.
    (0..2).for_each(crash);
    let told = folder.run(&["verify"]);
    assert_eq!(told.out.matches("a crash left").count(), 1, "{told:?}");
    assert!(told.out.contains("log/00000001.seg at "), "{told:?}");
    (2..12).for_each(crash);
    folder.put("last", "text");
    for verb in ["verify", "doctor"] {
        let told = folder.run(&[verb]);
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.out.contains("of 12 segments"), "{told:?}");
        assert_eq!(told.out.matches("crashes left").count(), 1, "{told:?}");
        assert!(!told.out.contains("acknowledged"), "{told:?}");
    }
    let told = folder.run(&["doctor"]);
    assert!(told.out.contains("repair with: treering gc --store"), "{told:?}");
    assert_eq!(folder.run(&["gc"]).code, 0);
    assert_eq!(folder.json(&["doctor"])["problems"], serde_json::json!([]));
    // The empty segment after a rewrite is too small for the next object, so it is removed.
    folder.put("large", &"x".repeat(100_000));
    assert_eq!(folder.json(&["verify"])["derived"], serde_json::json!([]));
    assert_eq!(fs::read_dir(folder.store().join("log")).unwrap().count(), 2);
}

#[test]
fn segments_of_other_names_are_saved_and_other_files_named() {
    let folder = store();
    let at = |name: &str| folder.store().join("log").join(name);
    fs::rename(at("00000001.seg"), at("#1234")).unwrap();
    let root = folder.refused(5, &["head"]);
    assert_eq!(root["code"], "corrupt", "{root}");
    let told = folder.run(&["doctor"]);
    assert!(
        told.out.contains("warning  log/#1234: ") && !told.out.contains("may be removed"),
        "{told:?}"
    );
    assert_eq!(folder.json(&["salvage", ".treering", "saved"])["objects"], 10);
    // A segment without its header cannot be recognised.
    change(&folder.store(), "log/#1234", |bytes| bytes[..4_096].fill(0));
    let refused = folder.refused(5, &["salvage", ".treering", "other"]);
    assert!(
        refused["message"].as_str().unwrap().contains("log/#1234"),
        "{refused}"
    );
}

#[test]
fn a_store_without_its_log_is_told_with_what_is_left_to_do() {
    let folder = store();
    fs::remove_dir_all(folder.store().join("log")).unwrap();
    let ran = folder.run(&["verify", "--json"]);
    ran.refusal(5);
    let damage = &ran.documents()[0]["damage"][0];
    assert_eq!(
        (&damage["kind"], &damage["file"]),
        (&"missing".into(), &"log".into())
    );
    assert!(damage["offset"].is_null(), "{damage}");
    let ran = folder.run(&["doctor", "--json"]);
    assert_eq!(ran.code, 5);
    let problem = &ran.documents()[0]["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["command"]),
        (&"log".into(), &Value::Null)
    );
    let told = folder.run(&["doctor"]);
    assert!(
        told.out.contains("a backup") && !told.out.contains("treering salvage"),
        "{told:?}"
    );
    let from = folder.store();
    for verb in [
        &["salvage", from.to_str().unwrap(), "new"][..],
        &["get", "o/1"],
        &["get", "o/1", "--degraded"],
        &["put", "late", "--kind", "k"],
        &["gc"],
    ] {
        let refused = folder.refused(5, verb);
        let hint = refused["hint"].as_str().unwrap();
        assert!(
            hint.contains("a backup") && !hint.contains("treering salvage"),
            "{refused}"
        );
    }
}

#[test]
fn doctor_says_each_thing_once_and_names_a_folder_that_is_free() {
    let folder = store();
    // The store has three segments, of which two are lost.
    let line = |number: usize| {
        format!(
            "{{\"id\":\"l/{number}\",\"kind\":\"k\",\"content\":\"{}\"}}\n",
            "x".repeat(3_000)
        )
    };
    let lines: String = (0..120).map(line).collect();
    assert_eq!(
        folder.feed(&["put", "--jsonl", "-", "--batch", "5"], lines).code,
        0
    );
    for segment in ["log/00000001.seg", "log/00000002.seg"] {
        fs::remove_file(folder.store().join(segment)).unwrap();
    }
    let found = folder.run(&["doctor", "--json"]).documents();
    for problem in found[0]["problems"].as_array().unwrap() {
        assert!(
            !problem["what"].as_str().unwrap().contains("is damaged at byte"),
            "{problem}"
        );
        assert!(problem["offset"].is_null(), "{problem}");
    }
    let told = folder.run(&["doctor"]);
    assert!(told.out.lines().count() >= 3, "{told:?}");
    assert_eq!(told.out.matches("repair with").count(), 1, "{told:?}");
    assert_eq!(told.out.matches("00000002.seg").count(), 1, "{told:?}");
    let (first, _, _) = mended(&folder);
    let (second, _, _) = mended(&folder);
    assert!(
        first.ends_with("-salvaged") && second.ends_with("-salvaged-2"),
        "{first} {second}"
    );
}

#[test]
fn what_is_harmless_is_called_so() {
    let folder = store();
    folder.write(".treering/log/notes.txt", "somebody's");
    let told = folder.run(&["verify"]);
    let line = "harmless  log/notes.txt: the file does not belong to the log";
    assert!(told.code == 0 && told.out.contains(line), "{told:?}");
    let told = folder.run(&["head", "--degraded"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "nothing is degraded");
    change(&folder.store(), "log/00000001.seg", |bytes| {
        let text = b"the text of number 4";
        let at = bytes.windows(text.len()).position(|found| found == text).unwrap();
        bytes[at] ^= 1;
    });
    let told = folder.run(&["head", "--degraded"]);
    assert!(told.err.contains("degraded: seq 4 is the newest"), "{told:?}");
    let told = folder.run(&["head", "--degraded", "--json"]);
    assert!(
        told.err.contains("\"seq 4 is the newest") && !told.err.contains("\"warning: "),
        "{told:?}"
    );
}

#[test]
fn what_stood_below_an_object_that_is_lost_is_exported_from_the_salvaged_store() {
    let folder = Folder::with_store();
    folder.put("top", &"text of the one above ".repeat(9));
    let below = [
        "put",
        "top/below",
        "--kind",
        "note",
        "--parent",
        "top",
        "--content",
        "what stands below",
    ];
    folder.json(&below);
    let (segment, mut bytes) = bytes_below(&folder.path(".treering/log")).remove(0);
    let at = bytes
        .windows(18)
        .position(|window| window == b"text of the one ab")
        .unwrap();
    bytes[at..at + 100].fill(0);
    fs::write(&segment, bytes).unwrap();
    assert_eq!(folder.run(&["salvage", ".treering", "saved"]).code, 5);
    assert_eq!(folder.run(&["get", "top", "--store", "saved"]).code, 1);
    for (form, file) in [
        ("jsonl", "saved.jsonl"),
        ("org", "saved.org"),
        ("markdown", "saved.md"),
    ] {
        let ran = folder.run(&["export", "--store", "saved", "--format", form, file]);
        assert_eq!(ran.code, 0, "{form}: {}", ran.err);
        let written = fs::read_to_string(folder.path(file)).unwrap();
        assert!(written.contains("what stands below"), "{form}: {written}");
        assert!(
            ran.err.contains("without a parent: 1 parent"),
            "{form}: {}",
            ran.err
        );
    }
    folder.json(&["put", "--jsonl", "saved.jsonl", "--store", "anew"]);
    assert_eq!(
        folder.json(&["get", "top/below", "--store", "anew"])["parent"],
        Value::Null
    );
}

/// Without the first segment, nothing is left to salvage, so `doctor` promises nothing.
#[test]
fn doctor_names_no_salvage_that_saves_nothing() {
    for kept in [None, Some(3_000)] {
        let folder = Folder::with_store();
        folder.put("a", "text");
        let segment = folder.path(".treering/log/00000001.seg");
        match kept {
            None => fs::remove_file(&segment).unwrap(),
            Some(kept) => fs::OpenOptions::new()
                .write(true)
                .open(&segment)
                .unwrap()
                .set_len(kept)
                .unwrap(),
        }
        let ran = folder.run(&["doctor", "--json"]);
        let problem = ran.documents()[0]["problems"][0].clone();
        assert_eq!(
            (ran.code, &problem["command"]),
            (5, &Value::Null),
            "{kept:?}: {ran:?}"
        );
        let told = folder.run(&["doctor"]).out;
        assert!(
            told.contains("no command repairs this") && !told.contains("salvage"),
            "{told}"
        );
        assert_eq!(folder.run(&["salvage", ".treering", "saved"]).code, 5);
    }
}
