//! Tests of `tour`: its output, and the files that it writes.

use std::fs;

use serde_json::Value;

use crate::program::{Folder, Ran, check_fields};

#[test]
fn the_tour_in_json_names_its_steps() {
    let folder = Folder::new();
    let tour = folder.json(&["tour"]);
    for name in [
        "create", "ingest", "snapshot", "bad_turn", "diff", "rollback", "undo", "redo", "attempt", "kill",
        "history", "prove", "forge", "verify",
    ] {
        assert!(tour[name].is_object(), "{name} is missing in {tour}");
    }
    assert_eq!(tour["steps"].as_array().unwrap().len(), 14);
    for step in tour["steps"].as_array().unwrap() {
        check_fields(step, &[("step", "n"), ("name", "s"), ("command", "s")]);
        assert!(step["ms"].is_f64());
    }
    assert_eq!(tour["bad_turn"]["updated"], 50);
    assert_eq!(tour["diff"]["change"], "changed");
    assert_eq!(tour["rollback"]["changed"], 50);
    assert_eq!(tour["rollback"]["root"], tour["snapshot"]["root"]);
    assert_eq!(tour["undo"]["root"], tour["bad_turn"]["root"]);
    assert_eq!(tour["redo"]["root"], tour["snapshot"]["root"]);
    assert_eq!(tour["attempt"]["passed"], false);
    assert!(tour["kill"]["acknowledged"].as_u64().unwrap() >= 100);
    assert_eq!(tour["kill"]["kept"], tour["kill"]["acknowledged"]);
    assert_eq!(
        (&tour["verify"]["ok"], &tour["prove"]["ok"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    assert_eq!(tour["forge"]["ok"], false);
    assert!(tour["store"].is_null());
    assert!(
        fs::read_dir(folder.path("")).unwrap().next().is_none(),
        "the tour leaves no files behind"
    );
}

#[test]
fn the_tour_tells_a_story_and_keeps_the_store() {
    let folder = Folder::new();
    let ran = folder.run(&["tour", "--keep", "kept"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    for word in [
        "snapshot", "diff", "rollback", "verify", "SIGKILL", "rejected", "equal", " ms",
    ] {
        assert!(ran.out.contains(word), "{word} is missing in {}", ran.out);
    }
    assert_eq!(folder.json(&["verify", "--store", "kept"])["ok"], true);
    let snapshots = folder.stream(&["snapshots", "--store", "kept"]);
    assert!(snapshots.iter().any(|info| info["name"] == "before-the-night"));
    assert!(
        folder
            .stream(&["log", "--refs", "--store", "kept"])
            .iter()
            .any(|reference| {
                reference["name"]
                    .as_str()
                    .is_some_and(|name| name == "drafts/start-afresh")
            })
    );
}

#[test]
fn a_folder_with_something_in_it_is_refused() {
    let folder = Folder::with_store();
    assert_eq!(
        folder.refused(1, &["tour", "--keep", ".treering"])["code"],
        "not_empty"
    );
    assert_eq!(
        folder.refused(1, &["tour", "--store", ".treering"])["code"],
        "not_empty"
    );
    assert_eq!(folder.seq(), 0);
}

#[test]
fn the_tour_does_not_start_while_the_memory_is_switched_off() {
    let folder = Folder::new();
    let mut command = folder.command(&["--json", "tour", "--keep", "kept"]);
    let ran = Ran::of(&command.env("TREERING_DISABLE", "1").output().unwrap());
    assert_eq!(ran.refusal(4)["code"], "disabled");
    assert!(!folder.path("kept").exists());
}

#[test]
fn a_store_without_the_permit_of_the_tour_is_not_filled_by_the_crash_test() {
    let folder = Folder::with_store();
    for arguments in [&["crash-test"][..], &["crash-test", "--writer"]] {
        assert_eq!(folder.refused(1, arguments)["code"], "no_revision");
        assert_eq!(folder.seq(), 0);
    }
}
