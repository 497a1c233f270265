//! Tests of `fork`, `forks` and `--fork` with the built program.

use serde_json::json;

use crate::program::{Folder, text};

fn put(folder: &Folder, fork: Option<&str>, id: &str, content: &str) {
    let mut call = vec!["put", id, "--kind", "note", "--content", content];
    call.extend(fork.into_iter().flat_map(|fork| ["--fork", fork]));
    folder.json(&call);
}

#[test]
fn a_fork_is_a_line_of_its_own_for_every_verb_about_a_state() {
    let folder = Folder::with_store();
    put(&folder, None, "plan", "first");
    let base = folder.json(&["head"]);
    let made = folder.json(&["fork", "task-7", "--trust-cap", "model"]);
    assert_eq!(text(&made["name"]), "task-7");
    assert_eq!(text(&made["trust_cap"]), "model");
    assert_eq!(made["base"]["commit"], base["commit"]);
    assert_eq!(made["root"], base["root"]);
    put(&folder, Some("task-7"), "plan", "second");
    put(&folder, None, "other", "main");
    let content = |call: &[&str]| text(&folder.json(call)["content"]);
    assert_eq!(content(&["get", "plan"]), "first");
    assert_eq!(content(&["get", "plan", "--fork", "task-7"]), "second");
    assert_eq!(content(&["get", "plan", "--at", "fork:task-7"]), "second");
    assert_eq!(
        text(&folder.json(&["get", "plan", "--fork", "task-7"])["origin"]),
        "model"
    );
    let forks = folder.stream(&["forks"]);
    assert_eq!(forks.len(), 1);
    assert_eq!(
        (forks[0]["commits"].as_u64(), forks[0]["seq"].as_u64()),
        (Some(1), Some(2))
    );
    assert_eq!(
        (&forks[0]["base"], &forks[0]["merged"]),
        (&base["commit"], &false.into())
    );
    folder.json(&["merge", "task-7"]);
    assert_eq!(folder.stream(&["forks"])[0]["merged"], true);
    assert!(folder.run(&["forks"]).out.trim_end().ends_with("merged"));
    folder.json(&["undo"]);
    let changes = folder.stream(&["diff", "@", "fork:task-7"]);
    let ids: Vec<String> = changes.iter().map(|change| text(&change["id"])).collect();
    assert_eq!(ids, ["other", "plan"]);
    assert_eq!(folder.stream(&["log", "--fork", "task-7"]).len(), 3);
    folder.json(&["undo", "--fork", "task-7"]);
    assert_eq!(content(&["get", "plan", "--fork", "task-7"]), "first");
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

#[test]
fn what_no_fork_can_be_is_refused_by_its_code() {
    let folder = Folder::with_store();
    put(&folder, None, "plan", "first");
    folder.json(&["fork", "a"]);
    put(&folder, Some("a"), "plan", "second");
    let refused = |call: &[&str], exit: i32, code: &str| {
        assert_eq!(text(&folder.refused(exit, call)["code"]), code, "{call:?}");
    };
    refused(&["fork", "a"], 1, "name_taken");
    refused(&["fork", "--drop", "a", "--fork", "a"], 1, "whole_store");
    refused(&["forks", "--fork", "a"], 1, "whole_store");
    refused(&["install", "codex", "--yes", "--fork", "a"], 1, "whole_store");
    refused(&["fork", "main"], 1, "invalid_input");
    for bad in ["-x", "a b", "2026-01-01", ""] {
        let error = folder.refused(1, &["fork", "--", bad]);
        let message = text(&error["message"]);
        assert!(
            message.contains("fork name") && !message.contains("snapshot"),
            "{error}"
        );
    }
    // `main` is the main line, wherever a fork can be named.
    for call in [
        &["get", "plan", "--fork", "main"][..],
        &["get", "plan", "--at", "fork:main"],
        &["gc", "--dry-run", "--fork", "main"],
    ] {
        assert_eq!(folder.run(call).code, 0, "{call:?}");
    }
    refused(&["get", "plan", "--fork", "b"], 1, "no_fork");
    refused(&["gc", "--dry-run", "--fork", "a"], 1, "whole_store");
    let unmerged = folder.refused(3, &["fork", "--drop", "a"]);
    assert_eq!(unmerged["code"], "unmerged");
    assert!(
        text(&unmerged["message"]).contains("the 1 commit of"),
        "{unmerged}"
    );
    refused(&["fork", "--drop", "a", "--dry-run"], 3, "unmerged");
    let seen = folder.json(&["fork", "--drop", "a", "--unmerged", "--dry-run"]);
    assert_eq!((&seen["commits"], &seen["dry_run"]), (&1.into(), &true.into()));
    assert_eq!(folder.stream(&["forks"]).len(), 1);
    let dropped = folder.json(&["fork", "--drop", "a", "--unmerged"]);
    assert_eq!(
        (text(&dropped["dropped"]), dropped["commits"].as_u64()),
        ("a".to_owned(), Some(1))
    );
    refused(&["fork", "--drop", "a"], 1, "no_fork");
    assert!(folder.stream(&["forks"]).is_empty());
}

#[test]
fn a_way_back_names_the_fork_and_main_has_no_snapshot_of_a_fork() {
    let folder = Folder::with_store();
    put(&folder, None, "plan", "first");
    folder.json(&["fork", "a"]);
    let ran = folder.run(&[
        "put",
        "plan",
        "--kind",
        "note",
        "--content",
        "second",
        "--fork",
        "a",
    ]);
    assert!(ran.err.contains("undo --fork 'a'"), "{ran:?}");
    folder.json(&["snapshot", "of-fork", "--fork", "a"]);
    put(&folder, None, "other", "x");
    put(&folder, None, "other", "y");
    let names = |call: &[&str]| -> Vec<String> {
        let rows = folder.stream(call).into_iter();
        rows.filter_map(|row| row["name"].as_str().map(str::to_owned))
            .collect()
    };
    assert!(names(&["snapshots"]).is_empty());
    assert_eq!(names(&["snapshots", "--fork", "a"]), ["of-fork"]);
}

#[test]
fn a_mistyped_name_gets_the_nearest_ones() {
    let folder = Folder::with_store();
    put(&folder, None, "plan", "first");
    folder.json(&["fork", "task-7"]);
    folder.json(&["snapshot", "before-lunch"]);
    for (call, named) in [
        (&["merge", "tsk-7"][..], "'task-7'"),
        (&["fork", "--drop", "task7"], "'task-7'"),
        (&["get", "plan", "--fork", "task-8"], "'task-7'"),
        (&["get", "plan", "--at", "fork:task"], "'task-7'"),
        (&["get", "plan", "--at", "task-7"], "'fork:task-7'"),
        (&["get", "plan", "--at", "befor-lunch"], "'before-lunch'"),
        (&["diff", "main", "@"], "'fork:main'"),
        (&["merge", "fork:task-7"], "'task-7'"),
        (&["debug", "-c", ".fork tsk-7"], "'task-7'"),
        (&["debug", "--fork", "tsk-7", "-c", "head"], "'task-7'"),
    ] {
        let error = folder.refused(1, call);
        assert!(text(&error["hint"]).ends_with(named), "{call:?}: {error}");
        assert!(error["ids"].is_null(), "{call:?}");
    }
    assert_eq!(
        folder.refused(1, &["merge", "else"])["hint"],
        "`forks` lists the forks"
    );
}

/// A commit of another line has as many digits as elsewhere, and a way back inside of the shell names the fork.
#[test]
fn lines_of_a_fork_are_short_and_the_hints_of_the_shell_name_it() {
    let folder = Folder::with_store();
    put(&folder, None, "plan", "first");
    folder.json(&["fork", "a"]);
    put(&folder, Some("a"), "plan", "second");
    let log = folder.run(&["log", "--at", "fork:a"]).out;
    let is_long = |word: &str| word.len() > 20 && !word.contains(':');
    assert!(
        log.lines().count() == 3 && !log.split_whitespace().any(is_long),
        "{log}"
    );
    let script =
        "put plan --kind note --content third\nsnapshot x\n.fork main\nput plan --kind note --content x\n";
    let ran = folder.feed(&["debug", "--fork", "a", "--write"], script);
    assert!(ran.err.contains("undo --fork 'a'\n"), "{ran:?}");
    assert!(ran.err.trim_end().ends_with("treering undo"), "{ran:?}");
}

#[test]
fn the_log_draws_where_forks_left_and_came_back() {
    let folder = Folder::with_store();
    put(&folder, None, "plan", "first");
    folder.json(&["fork", "task-7"]);
    folder.json(&["fork", "idle"]);
    put(&folder, Some("task-7"), "found", "x");
    put(&folder, None, "other", "y");
    folder.json(&["merge", "task-7"]);
    let drawn = |call: &[&str]| -> Vec<String> {
        let ran = folder.run(call);
        assert_eq!(ran.code, 0, "{ran:?}");
        let line = |line: &str| line.split("  ").next().unwrap_or_default().trim_end().to_owned();
        ran.out.lines().map(line).collect()
    };
    let graph = folder.run(&["log", "--graph"]);
    assert!(graph.out.contains("merge of task-7"), "{graph:?}");
    let starts = ["o", "o", "|", "o-"];
    for (line, start) in drawn(&["log", "--graph"]).iter().zip(starts) {
        assert!(line.starts_with(start), "{graph:?}");
    }
    assert_eq!(
        folder
            .run(&["log", "--graph", "--limit", "2"])
            .out
            .lines()
            .count(),
        2
    );
    // JSON lists the same commits, each with its line, which the parents join.
    let rows = folder.stream(&["log", "--graph"]);
    let lines: Vec<String> = rows.iter().map(|row| text(&row["line"])).collect();
    assert_eq!(lines, ["main", "main", "task-7", "main", "main"]);
    assert_eq!(rows[0]["parents"], json!([rows[1]["commit"], rows[2]["commit"]]));
    assert_eq!(rows[2]["parents"], json!([rows[3]["commit"]]));
    // Before the merge, and before the forks.
    let at = |revision: &str| folder.stream(&["log", "--graph", "--at", revision]);
    assert_eq!(at(&text(&rows[1]["commit"])), rows[1..]);
    assert_eq!(at(&text(&rows[3]["commit"])), rows[3..]);
    let drawn_at = folder.run(&["log", "--graph", "--at", &text(&rows[1]["commit"])]);
    assert!(
        drawn_at.code == 0 && !drawn_at.out.contains("merge"),
        "{drawn_at:?}"
    );
    assert!(
        folder
            .run(&["log", "--graph", "--fork", "task-7"])
            .out
            .contains("task-7")
    );
}

/// The hint names a line that exists and that has the commits.
#[test]
fn a_log_without_the_work_of_a_merged_fork_names_the_fork() {
    let folder = Folder::with_store();
    folder.json(&["fork", "side"]);
    folder.json(&["--fork", "side", "remember", "Tea is green.", "--session", "c"]);
    folder.json(&["merge", "side"]);
    let ran = folder.run(&["log", "--session", "c"]);
    assert!(
        ran.err.contains("treering log --at fork:side") && !ran.err.contains("remote:"),
        "{ran:?}"
    );
    let found = folder.stream(&["log", "--at", "fork:side", "--session", "c"]);
    assert_eq!(found.len(), 1, "{found:?}");
    // Without such a line there is no hint.
    let ran = folder.run(&["log", "--session", "c", "--since", "2100-01-01"]);
    assert!(!ran.err.contains("NAME"), "{ran:?}");
}
