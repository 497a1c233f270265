//! `merge`, `conflicts` and `resolve` of the program, and how other verbs show an open conflict.

use serde_json::Value;

use crate::program::{Folder, column, text};

/// Returns a store in which main and the fork `task` both changed `office`.
fn conflicting() -> Folder {
    let folder = Folder::with_store();
    folder.json(&["put", "office", "--kind", "fact", "--content", "Bremen"]);
    folder.json(&["fork", "task"]);
    folder.json(&[
        "--fork",
        "task",
        "put",
        "office",
        "--kind",
        "fact",
        "--content",
        "Oslo",
        "--session",
        "s1",
    ]);
    folder.json(&[
        "--fork",
        "task",
        "put",
        "port",
        "--kind",
        "fact",
        "--content",
        "8080",
        "--session",
        "s1",
    ]);
    folder.json(&["put", "office", "--kind", "fact", "--content", "Bergen"]);
    folder
}

fn content(folder: &Folder, id: &str) -> Value {
    folder.json(&["get", id])["content"].clone()
}

#[test]
fn a_merge_brings_the_fork_in_and_says_what_it_left_open() {
    let folder = conflicting();
    let before = folder.json(&["head"]);
    let preview = folder.json(&["merge", "task", "--dry-run"]);
    assert_eq!(folder.json(&["head"])["commit"], before["commit"]);
    let merged = folder.json(&["merge", "task"]);
    for field in ["added", "changed", "removed", "conflicts", "base"] {
        assert_eq!(merged[field], preview[field], "{field}");
    }
    assert_eq!(merged["added"], 1);
    assert_eq!(merged["conflicts"][0]["id"], "office");
    assert_eq!(merged["conflicts"][0]["fields"][0], "content");
    let head = folder.stream(&["log", "--limit", "1"]).remove(0);
    assert_eq!(
        (&head["op"], &head["commit"]),
        (&Value::from("merge"), &merged["commit"])
    );
    assert_eq!(head["parents"].as_array().unwrap().len(), 2);
    assert_eq!(content(&folder, "port"), "8080");
    // Nothing new: no commit, and the values of the head.
    let again = folder.json(&["merge", "task"]);
    assert_eq!(
        (&again["commit"], &again["added"]),
        (&merged["commit"], &Value::from(0))
    );
    folder.json(&["fork", "--drop", "task"]);
    folder.json(&["undo"]);
    assert_eq!(folder.json(&["head"])["root"], before["root"]);
}

#[test]
fn an_open_conflict_is_listed_flagged_and_resolved() {
    let folder = conflicting();
    folder.json(&["merge", "task"]);
    let conflicts = folder.stream(&["conflicts"]);
    assert_eq!(conflicts.len(), 1);
    let sides = conflicts[0]["sides"].as_array().unwrap().clone();
    assert_eq!(sides.len(), 2);
    let theirs = sides.iter().find(|side| side["session"] == "s1").unwrap();
    assert_eq!(theirs["trust"], "direct_user");
    assert!(theirs["time"].is_string() && conflicts[0]["base"].is_string());
    assert_eq!(folder.json(&["get", "office"])["conflict"][0], "content");
    let listed = column(&folder.stream(&["list"]), "id");
    assert_eq!(listed, ["office", "port"]);
    let question = if content(&folder, "office") == "Oslo" {
        "Oslo"
    } else {
        "Bergen"
    };
    let found = folder.json(&["recall", question, "--all-scopes"]);
    assert_eq!(found["hits"][0]["flags"][0], "merge-conflict");
    let digest = theirs["digest"].as_str().unwrap();
    assert_eq!(
        folder.refused(1, &["resolve", "office", "--take", "00000000"])["code"],
        "invalid_input"
    );
    let undecided = folder.refused(2, &["resolve", "office"]);
    assert_eq!(undecided["code"], "usage");
    assert!(
        text(&undecided["message"]).contains("--take <DIGEST>|--remove|--content <TEXT>"),
        "{undecided}"
    );
    folder.json(&["resolve", "office", "--take", &digest[..12]]);
    assert_eq!(content(&folder, "office"), "Oslo");
    assert!(folder.json(&["get", "office"])["conflict"].is_null());
    assert!(folder.stream(&["conflicts"]).is_empty());
    assert_eq!(
        folder.refused(1, &["resolve", "office", "--remove"])["code"],
        "no_conflict"
    );
    folder.json(&["undo"]);
    assert_eq!(folder.stream(&["conflicts"]).len(), 1);
    folder.json(&["resolve", "office", "--content", "Both"]);
    assert_eq!(content(&folder, "office"), "Both");
}

#[test]
fn a_later_version_is_shown_taken_and_dropped_only_by_its_name() {
    let folder = conflicting();
    folder.json(&["merge", "task"]);
    assert!(folder.stream(&["conflicts"])[0]["present"].is_null());
    let put = folder.json(&["put", "office", "--kind", "fact", "--content", "Corrected"]);
    let present = text(&put["digest"]);
    let conflict = folder.stream(&["conflicts"]).remove(0);
    assert_eq!(conflict["present"]["digest"], present.as_str());
    assert_eq!(conflict["present"]["trust"], "direct_user");
    let shown = folder.run(&["conflicts"]).out;
    assert!(
        shown.contains(&format!("  {}  present", &present[..12])),
        "{shown}"
    );
    let side = text(&conflict["sides"][0]["digest"]);
    let refused = folder.refused(3, &["resolve", "office", "--take", &side]);
    assert_eq!(refused["code"], "changed");
    assert!(
        text(&refused["hint"]).contains(&format!("--expected {present}")),
        "{refused}"
    );
    assert_eq!(content(&folder, "office"), "Corrected");
    let head = folder.json(&["head"])["commit"].clone();
    for (take, change) in [(&side, "changed"), (&present, "null")] {
        let call = [
            "resolve",
            "office",
            "--take",
            take,
            "--expected",
            &present,
            "--dry-run",
        ];
        let preview = folder.json(&call);
        let found = preview["change"]["change"].as_str().unwrap_or("null");
        assert_eq!((found, &preview["dry_run"]), (change, &Value::from(true)));
    }
    let code = folder.refused(3, &["resolve", "office", "--take", &side, "--dry-run"])["code"].clone();
    assert_eq!(
        (text(&code).as_str(), &folder.json(&["head"])["commit"]),
        ("changed", &head)
    );
    let decide = |take: &str, expected: &str| {
        let done = folder.json(&["resolve", "office", "--take", take, "--expected", expected]);
        assert_eq!(
            (&done["id"], folder.stream(&["conflicts"]).len()),
            (&Value::from("office"), 0)
        );
        let decided = folder.json(&["get", "office"]);
        assert_eq!(decided["digest"], take);
        folder.json(&["undo"]);
    };
    decide(&present, &present);
    decide(&side, &present[..12]);
    folder.refused(3, &["resolve", "office", "--take", &side, "--expected", &side]);
    folder.json(&["resolve", "office", "--take", &present[..12]]);
    assert_eq!(content(&folder, "office"), "Corrected");
}

/// The state has the objects of conflicts, so `stats`, `diff` and `log` count them. Lists for people name them apart.
#[test]
fn a_conflict_is_counted_and_named_apart() {
    let folder = conflicting();
    assert_eq!(folder.json(&["stats"])["merge_conflicts"], 0);
    folder.json(&["merge", "task"]);
    let stats = folder.json(&["stats"]);
    assert_eq!(
        (&stats["objects"], &stats["merge_conflicts"]),
        (&3.into(), &1.into())
    );
    assert_eq!(folder.json(&["stats", "--at", "@-1"])["merge_conflicts"], 0);
    assert_eq!(column(&folder.stream(&["tree"]), "id"), ["office", "port"]);
    for call in [
        &["export", "--format", "dot"][..],
        &["diff", "@-1"],
        &["log", "--limit", "1"],
    ] {
        let out = folder.run(call).out;
        assert_eq!(out.contains("merge-conflict"), call[0] == "diff", "{out}");
        assert!(!out.contains("not drawn"), "{out}");
    }
    assert!(folder.run(&["diff", "@-1"]).out.contains("conflict about office"));
    assert!(folder.run(&["stats"]).out.contains("with 1 open conflict\n"));
}

#[test]
fn a_merge_lists_its_changes_and_what_waits_is_named() {
    let folder = conflicting();
    let is_port = |change: &&Value| change["id"] == "port";
    for call in [&["merge", "task", "--dry-run"][..], &["merge", "task"]] {
        let merged = folder.json(call);
        let change = merged["changes"]
            .as_array()
            .unwrap()
            .iter()
            .find(is_port)
            .unwrap()
            .clone();
        assert_eq!(
            (&change["change"], change["new"].is_string()),
            (&Value::from("added"), true)
        );
    }
    let problems = folder.json(&["doctor"])["problems"].clone();
    let problem = problems
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["code"] == "merge_conflicts");
    assert_eq!(problem.unwrap()["severity"], "notice");
    assert!(text(&problem.unwrap()["command"]).starts_with("treering conflicts"));
    let help = folder.run(&["help", "merge"]).out;
    assert!(
        help.contains("\n- No version") && help.contains("\n- A rule"),
        "{help}"
    );
}

#[test]
fn a_strategy_decides_and_a_fork_can_merge_main() {
    for (strategy, office) in [("ours", "Bergen"), ("theirs", "Oslo"), ("newer", "Bergen")] {
        let folder = conflicting();
        let merged = folder.json(&["merge", "task", "--strategy", strategy]);
        assert_eq!(merged["conflicts"].as_array().unwrap().len(), 0);
        assert_eq!(content(&folder, "office"), office, "{strategy}");
    }
    let folder = conflicting();
    folder.json(&["--fork", "task", "merge", "main", "--strategy", "ours"]);
    let theirs = folder.json(&["--fork", "task", "get", "office"]);
    assert_eq!(theirs["content"], "Oslo");
    assert_eq!(content(&folder, "office"), "Bergen");
    assert_eq!(folder.refused(1, &["merge", "main"])["code"], "invalid_input");
    assert_eq!(folder.refused(1, &["merge", "nobody"])["code"], "no_fork");
    assert_eq!(folder.refused(3, &["fork", "--drop", "task"])["code"], "unmerged");
}

#[test]
fn history_names_the_session_behind_a_merge_and_revert_takes_it_back() {
    let folder = conflicting();
    folder.json(&["merge", "task", "--strategy", "ours", "--session", "boss"]);
    let newest = folder.stream(&["history", "port"]).remove(0);
    assert_eq!(newest["session"], "s1");
    assert!(newest["from"].is_string());
    folder.json(&["revert", "--session", "s1"]);
    folder.refused(1, &["get", "port"]);
}
