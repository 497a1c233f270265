//! Tests of `snapshot`, `snapshots`, `rollback`, `undo`, `redo`, `log` and `diff`, and of every form of `--at`.

use serde_json::Value;

use crate::program::{Folder, check_fields, column, text};

const MOVED: [(&str, &str); 6] = [
    ("root", "d"),
    ("commit", "d"),
    ("seq", "n"),
    ("added", "n"),
    ("changed", "n"),
    ("removed", "n"),
];

fn counts(document: &Value) -> [u64; 3] {
    ["added", "changed", "removed"].map(|name| document[name].as_u64().unwrap())
}

#[test]
fn snapshots_are_in_the_ring_or_have_a_name() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    let ring = folder.json(&["snapshot", "-m", "before"]);
    let named = folder.json(&["snapshot", "release-1"]);
    for info in [&ring, &named] {
        check_fields(
            info,
            &[
                ("index", "n?"),
                ("name", "s?"),
                ("root", "d"),
                ("commit", "d"),
                ("time", "t"),
            ],
        );
    }
    assert_eq!((ring["index"].as_u64(), ring["name"].as_str()), (Some(0), None));
    assert_eq!(
        (named["index"].as_u64(), named["name"].as_str()),
        (None, Some("release-1"))
    );
    folder.put("a", "two");
    folder.json(&["snapshot"]);
    let all = folder.stream(&["snapshots"]);
    assert_eq!(
        all.iter().map(|info| info["index"].as_u64()).collect::<Vec<_>>(),
        [Some(0), None, Some(1)]
    );
    assert_eq!(all[2]["reason"], "before");
    assert_eq!(folder.stream(&["snapshots", "--limit", "1"]).len(), 1);
    assert_eq!(folder.stream(&["snapshots", "--at", "@-1"]).len(), 2);
}

#[test]
fn a_snapshot_name_is_taken_once_and_can_be_deleted() {
    let folder = Folder::with_store();
    folder.json(&["snapshot", "here"]);
    folder.refused(1, &["snapshot", "here"]);
    folder.json(&["snapshot", "--delete", "here"]);
    assert_eq!(
        folder.refused(1, &["snapshot", "--delete", "here"])["code"],
        "not_found"
    );
    folder.json(&["snapshot", "here"]);
    for name in ["@", "seq:1", "snap:0", "deadbeef", "a b", "", &"x".repeat(65)] {
        folder.refused(1, &["snapshot", name]);
    }
}

#[test]
fn rollback_brings_the_root_back_and_can_be_undone() {
    let folder = Folder::with_store();
    folder.put("kept", "x");
    folder.put("changed", "old");
    folder.put("removed", "x");
    let snapshot = folder.json(&["snapshot"]);
    folder.put("changed", "new");
    folder.json(&["remove", "removed"]);
    folder.put("added", "x");
    let bad = folder.root();
    let preview = folder.json(&["rollback", "snap:0", "--dry-run"]);
    check_fields(&preview, &MOVED);
    assert_eq!(
        (counts(&preview), &preview["root"]),
        ([1, 1, 1], &snapshot["root"])
    );
    assert_eq!(folder.root(), bad, "a dry run changes nothing");
    let back = folder.json(&["rollback", "snap:0", "-m", "bad turn"]);
    check_fields(&back, &MOVED);
    assert_eq!((counts(&back), &back["root"]), ([1, 1, 1], &snapshot["root"]));
    assert_eq!(folder.root(), text(&snapshot["root"]));
    let undone = folder.json(&["undo"]);
    check_fields(&undone, &MOVED);
    assert_eq!(text(&undone["root"]), bad);
    let redone = folder.json(&["redo"]);
    check_fields(&redone, &MOVED);
    assert_eq!(redone["root"], snapshot["root"]);
    folder.refused(1, &["redo"]);
    assert_eq!(
        folder.json(&["rollback", "snap:0"])["root"],
        snapshot["root"],
        "twice is the same root"
    );
}

#[test]
fn rollback_over_other_lanes_is_refused_unless_told() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    folder.json(&["snapshot", "base"]);
    folder.json(&["put", "b", "--kind", "k", "--session", "other"]);
    let error = folder.refused(3, &["rollback", "base"]);
    assert_eq!(error["code"], "other_lanes", "{error}");
    let ran = folder.run(&["rollback", "base"]);
    assert!(
        ran.err.contains("other (1 commit)") && !ran.err.contains("\n  other\n"),
        "{ran:?}"
    );
    let would = folder.json(&["rollback", "base", "--dry-run"]);
    assert_eq!(
        (would["removed"].as_u64(), would["needs"].as_str()),
        (Some(1), Some("--all"))
    );
    assert_eq!(would["other_lanes"][0], "other");
    let would = folder.json(&["rollback", "base", "--dry-run", "--all"]);
    assert!(would["needs"].is_null() && would["other_lanes"].as_array().unwrap().is_empty());
    assert_eq!(
        folder.stream(&["list", "--prefix", "b"]).len(),
        1,
        "nothing was done yet"
    );
    folder.json(&["rollback", "base", "--all"]);
    assert!(folder.stream(&["list", "--prefix", "b"]).is_empty());
}

#[test]
fn undo_stays_in_its_lane_and_refuses_to_run_over_others() {
    let folder = Folder::with_store();
    folder.json(&["put", "mine", "--kind", "k", "--session", "me"]);
    folder.json(&["put", "theirs", "--kind", "k", "--session", "them"]);
    folder.json(&["undo", "--session", "me"]);
    assert_eq!(column(&folder.stream(&["list"]), "id"), ["theirs"]);
    folder.json(&["redo", "--session", "me"]);
    folder.json(&["put", "mine", "--kind", "other", "--session", "them"]);
    let error = folder.refused(3, &["undo", "--session", "me"]);
    assert_eq!(error["ids"][0], "mine");
    assert_eq!(
        folder.refused(1, &["undo", "--session", "nobody"])["code"],
        "nothing_to_undo"
    );
}

#[test]
fn a_rollback_to_the_present_is_nobodys_commit() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    let answer = folder.json(&["rollback", "@"]);
    assert!(answer["op"].is_null() && answer["target"].is_null(), "{answer}");
    assert_eq!(
        (
            &answer["added"],
            &answer["changed"],
            &answer["removed"],
            folder.seq()
        ),
        (&0.into(), &0.into(), &0.into(), 1)
    );
}

#[test]
fn every_reading_verb_reads_the_past_that_it_is_asked_for() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.json(&["snapshot", "first"]);
    folder.put("b", "two");
    folder.json(&["snapshot", "second"]);
    let stats = folder.json(&["stats", "--at", "first"]);
    assert_eq!(
        (&stats["objects"], &stats["commits"], &stats["snapshots"]),
        (&1.into(), &2.into(), &1.into())
    );
    for present in ["history", "log_bytes", "live_bytes", "segments", "orphans"] {
        assert!(
            stats[present].is_null(),
            "{present} describes the present, so it is null for a past state: {stats}"
        );
    }
    assert_eq!(folder.json(&["stats"])["commits"], 3);
    let names = column(&folder.stream(&["snapshots", "--at", "first"]), "name");
    assert_eq!(names, ["first"]);
    let report = folder.json(&["verify", "--at", "first"]);
    assert_eq!(
        (&report["at"]["seq"], &report["at"]["objects"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        report["at"]["root"],
        folder.json(&["head", "--at", "first"])["root"]
    );
    assert!(folder.json(&["verify"])["at"].is_null());
    for verb in [
        &["stats"][..],
        &["snapshots"],
        &["verify"],
        &["log"],
        &["list"],
        &["head"],
        &["export"],
    ] {
        let mut arguments = verb.to_vec();
        arguments.extend(["--at", "seq:99"]);
        assert_eq!(folder.refused(1, &arguments)["code"], "no_revision", "{verb:?}");
    }
}

#[test]
fn the_log_is_filtered_by_who_what_and_when() {
    let folder = Folder::with_store();
    folder.json(&["put", "a", "--kind", "k", "--actor", "ada"]);
    folder.json(&["put", "b", "--kind", "k", "--actor", "bob", "--session", "s"]);
    folder.json(&["undo", "--session", "s"]);
    let ops = |arguments: &[&str]| column(&folder.stream(&[&["log"][..], arguments].concat()), "op");
    assert_eq!(ops(&["--actor", "ada"]), ["put"]);
    assert_eq!(ops(&["--session", "s"]), ["undo", "put"]);
    assert_eq!(ops(&["--session", "s", "--op", "undo"]), ["undo"]);
    assert_eq!(ops(&["--op", "init"]), ["init"]);
    assert_eq!(ops(&["--since", "1h"]).len(), 4);
    assert!(ops(&["--until", "1h"]).is_empty() && ops(&["--since", "2100-01-01"]).is_empty());
    let second = text(&folder.json(&["head", "--at", "seq:2"])["time"]);
    assert_eq!(ops(&["--since", &second, "--until", &second]), ["put"]);
    folder.refused(1, &["log", "--since", "some day"]);
    folder.json(&["snapshot", "--session", "s"]);
    assert_eq!(folder.stream(&["log", "--refs", "--session", "s"]).len(), 1);
    folder.refused(1, &["log", "--refs", "--session", "t"]);
}

#[test]
fn the_ring_is_that_of_the_lane() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.json(&["snapshot", "--session", "s"]);
    folder.put("a", "two");
    folder.refused(1, &["get", "a", "--at", "snap:0"]);
    assert_eq!(
        folder.json(&["get", "a", "--at", "snap:0", "--session", "s"])["content"],
        "one"
    );
    assert_eq!(
        folder.json(&["--session", "s", "--at", "snap:0", "get", "a"])["content"],
        "one"
    );
}

#[test]
fn log_tells_who_what_and_why() {
    let folder = Folder::with_store();
    folder.json(&[
        "put",
        "a",
        "--kind",
        "k",
        "--actor",
        "ada",
        "--session",
        "s1",
        "--source",
        "chat 7",
        "-m",
        "because",
        "--trust",
        "untrusted",
    ]);
    folder.put("b", "x");
    let log = folder.stream(&["log"]);
    assert_eq!(
        log.iter()
            .map(|line| line["seq"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [2, 1, 0]
    );
    for line in &log {
        check_fields(
            line,
            &[
                ("commit", "d"),
                ("seq", "n"),
                ("parents", "l"),
                ("root", "d"),
                ("time", "t"),
                ("op", "s"),
                ("actor", "s?"),
                ("session", "s?"),
                ("source", "s?"),
                ("trust", "s"),
                ("reason", "s?"),
                ("added", "n"),
                ("changed", "n"),
                ("removed", "n"),
            ],
        );
    }
    let line = &log[1];
    let told = ["actor", "session", "source", "trust", "reason"].map(|name| text(&line[name]));
    assert_eq!(told, ["ada", "s1", "chat 7", "tool_external", "because"]);
    assert_eq!(counts(line), [1, 0, 0]);
    assert_eq!(log[0]["parents"][0], line["commit"]);
    assert_eq!(folder.stream(&["log", "--limit", "1"]).len(), 1);
    assert_eq!(folder.stream(&["log", "--at", "@-1"])[0]["seq"], 1);
}

#[test]
fn log_refs_lists_the_references() {
    let folder = Folder::with_store();
    folder.json(&["snapshot", "here", "-m", "why"]);
    let references = folder.stream(&["log", "--refs"]);
    assert_eq!(references[0]["name"], "snapshots/here");
    assert_eq!(references[0]["reason"], "why");
    check_fields(&references[0], &[("commit", "d"), ("time", "t")]);
}

#[test]
fn diff_tells_what_changed_in_both_directions() {
    let folder = Folder::with_store();
    folder.put("changed", "old");
    folder.put("removed", "x");
    folder.json(&["snapshot", "base"]);
    let old = folder.put("changed", "new");
    folder.json(&["remove", "removed"]);
    folder.put("added", "x");
    let changes = folder.stream(&["diff", "base"]);
    let expected = [("added", "added"), ("changed", "changed"), ("removed", "removed")];
    let found: Vec<_> = changes
        .iter()
        .map(|change| (text(&change["id"]), text(&change["change"])))
        .collect();
    assert_eq!(
        found,
        expected.map(|(id, change)| (id.to_owned(), change.to_owned()))
    );
    for change in &changes {
        check_fields(
            change,
            &[("id", "s"), ("change", "s"), ("old", "d?"), ("new", "d?")],
        );
    }
    assert!(changes[0]["old"].is_null() && changes[2]["new"].is_null());
    assert_eq!(changes[1]["new"], old["digest"]);
    let back = folder.stream(&["diff", "@", "base"]);
    assert_eq!(column(&back, "change"), ["removed", "changed", "added"]);
    assert_eq!(folder.stream(&["diff", "base", "--at", "@-2"]).len(), 1);
    assert_eq!(folder.stream(&["diff", "base", "--limit", "2"]).len(), 2);
    assert_eq!(folder.run(&["diff", "base", "--exit-code"]).code, 1);
    assert_eq!(folder.run(&["diff", "@", "--exit-code"]).code, 0);
    assert_eq!(
        folder.refused(2, &["diff", "base", "@", "--at", "@-1"])["code"],
        "usage"
    );
}

#[test]
fn at_takes_every_form_of_a_revision() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    let info = folder.json(&["snapshot"]);
    folder.json(&["snapshot", "named/one"]);
    let time = text(&folder.stream(&["log", "--limit", "1"])[0]["time"]);
    folder.put("a", "two");
    folder.put("a", "three");
    let (commit, root) = (text(&info["commit"]), text(&info["root"]));
    let offset = time.replace('Z', "+00:00");
    for at in [
        "@-2",
        "snap:0",
        "named/one",
        "seq:1",
        &commit,
        &commit[..8],
        &root,
        &root[..12],
        &time,
        &offset,
    ] {
        assert_eq!(
            folder.json(&["get", "a", "--at", at])["content"],
            "one",
            "--at {at}"
        );
        assert_eq!(
            folder.json(&["--at", at, "head"])["seq"],
            1,
            "--at {at} before the verb"
        );
        assert_eq!(folder.stream(&["list", "--at", at]).len(), 1);
        assert_eq!(folder.json(&["stats", "--at", at])["objects"], 1);
        assert_eq!(folder.json(&["prove", "a", "--at", at])["root"], root.as_str());
        assert_eq!(folder.stream(&["export", "--at", at])[0]["content"], "one");
    }
    assert_eq!(folder.json(&["get", "a", "--at", "@"])["content"], "three");
    for at in [
        "@-9",
        "snap:7",
        "seq:99",
        "no-such-name",
        "00000000",
        "1970-01-01T00:00:00Z",
    ] {
        assert_eq!(
            folder.refused(1, &["get", "a", "--at", at])["code"],
            "no_revision",
            "--at {at}"
        );
    }
    assert_eq!(
        folder.refused(1, &["get", "a", "--at", "@x"])["code"],
        "invalid_input"
    );
}

#[test]
fn lanes_tell_who_commits_and_where_each_is() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    for (id, lane) in [("b", "morning"), ("c", "night"), ("d", "morning")] {
        folder.json(&["put", id, "--kind", "k", "--session", lane]);
    }
    let lanes = folder.stream(&["lanes"]);
    let told: Vec<_> = lanes
        .iter()
        .map(|lane| {
            (
                text(&lane["lane"]),
                lane["seq"].as_u64().unwrap(),
                lane["commits"].as_u64().unwrap(),
            )
        })
        .collect();
    let wanted = [("morning", 4, 2), ("night", 3, 1), ("default", 1, 2)];
    assert_eq!(
        told,
        wanted.map(|(lane, seq, commits)| (lane.to_owned(), seq, commits))
    );
    let head = folder.json(&["head"]);
    assert_eq!(
        (&lanes[0]["head"], &lanes[0]["last"]),
        (&head["commit"], &head["time"])
    );
    assert_eq!(folder.stream(&["lanes", "--limit", "1"]).len(), 1);
    let earlier = folder.stream(&["lanes", "--at", "seq:2"]);
    assert_eq!((earlier.len(), &earlier[0]["commits"]), (2, &1.into()));
}
