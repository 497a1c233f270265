//! What a writer left that was killed before it acknowledged its commit. No reader sees the commit, and the next writer
//! brings it in. Verbs that choose from the newest commits say so, and plan on the state that they change.

use std::fs;

use serde_json::Value;

use crate::program::{Folder, text};

/// Makes a store whose newest commit, seq 3, no reader sees: the mark of the durable end is the one before it.
fn interrupted() -> Folder {
    let folder = Folder::with_store();
    folder.put("a", "good");
    folder.put("a", "bad");
    let mark = fs::read(folder.store().join("live")).unwrap();
    folder.put("b", "written before the kill");
    fs::write(folder.store().join("live"), mark).unwrap();
    assert_eq!(folder.seq(), 2);
    folder
}

/// Returns the notes and warnings on standard error that have a code.
fn noted(err: &str, code: &str) -> Vec<String> {
    let documents = err
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let parts = documents.filter_map(|document| document.as_object()?.values().next().cloned());
    let wanted = parts.filter(|part| part["code"] == code);
    wanted.map(|part| text(&part["message"])).collect()
}

#[test]
fn an_undo_names_the_commit_that_recovery_brought_in() {
    let folder = interrupted();
    let planned = folder.run(&["undo", "--dry-run", "--json"]);
    assert_eq!(noted(&planned.err, "pending").len(), 1, "{planned:?}");
    assert_eq!(folder.seq(), 2, "a dry run writes nothing");

    let undone = folder.run(&["undo", "--json"]);
    let warned = noted(&undone.err, "warning");
    assert!(warned.len() == 1 && warned[0].contains("seq:3"), "{undone:?}");
    assert!(text(&folder.json(&["get", "a"])["content"]) == "bad");
    folder.refused(1, &["get", "b"]);

    // Nothing is left to bring in, so nothing is said.
    let again = folder.run(&["undo", "--json"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""), "{again:?}");
    assert_eq!(text(&folder.json(&["get", "a"])["content"]), "good");
}

#[test]
fn a_relative_revision_means_the_state_after_recovery() {
    for verb in [
        &["rollback", "@-1"][..],
        &["revert", "--commit", "@"],
        &["restore", "@-1", "b"],
    ] {
        let folder = interrupted();
        let ran = folder.run(&[verb, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(noted(&ran.err, "warning").len(), 1, "{ran:?}");
        assert_eq!(text(&folder.json(&["get", "a"])["content"]), "bad", "{verb:?}");
        folder.refused(1, &["get", "b"]);
    }
}

#[test]
fn every_write_says_what_recovery_brought_in() {
    let folder = interrupted();
    let put = folder.run(&["put", "c", "--kind", "note", "--json"]);
    assert!(noted(&put.err, "warning")[0].contains("seq:3"), "{put:?}");
    assert_eq!(folder.seq(), 4);
}

#[test]
fn verify_and_doctor_name_what_no_reader_sees() {
    let folder = interrupted();
    let verified = folder.json(&["verify"]);
    assert_eq!(verified["ok"], true);
    let found = verified["derived"].as_array().unwrap();
    assert!(found.len() == 1 && found[0]["kind"] == "unproven", "{verified}");
    let examined = folder.run(&["doctor", "--json"]).documents();
    let problems = examined[0]["problems"].as_array().unwrap();
    let pending = problems.iter().find(|problem| problem["code"] == "pending");
    assert_eq!(pending.unwrap()["severity"], "notice", "{examined:?}");

    folder.put("c", "the next writer");
    let verified = folder.json(&["verify"]);
    let found = verified["derived"].as_array().unwrap();
    assert!(
        found.iter().all(|found| found["kind"] != "unproven"),
        "{verified}"
    );
}

#[cfg(feature = "remote")]
#[test]
fn a_push_sends_the_head_that_it_leaves_behind() {
    let folder = interrupted();
    let url = format!("file://{}", folder.path("shared").display());
    folder.json(&["remote", "add", "origin", &url, "--trust-cap", "direct_user"]);
    // Adding the remote writes nothing to the log.
    assert_eq!(folder.seq(), 2);
    let pushed = folder.run(&["push", "--json"]);
    assert!(noted(&pushed.err, "warning")[0].contains("seq:3"), "{pushed:?}");
    assert_eq!(folder.seq(), 3);
    assert_eq!(pushed.documents()[0]["commits"], 4);
    assert_eq!(folder.json(&["push"])["commits"], 0);
    assert_eq!(folder.stream(&["remote", "list"])[0]["ahead"], 0);
}
