//! Features of opencode-graphiti: session notes with owners, ranking by freshness, child sessions, and chronological
//! summaries.

use serde_json::Value;

use super::project;
use crate::program::{Folder, text};

fn write(folder: &Folder, text: &str, session: &str, more: &[&str]) -> Value {
    folder.json(&[&["note", "write", text, "--session", session], more].concat())
}

fn notes(folder: &Folder) -> Vec<String> {
    let mut found: Vec<String> = folder
        .stream(&["note", "list"])
        .iter()
        .map(|note| text(&note["text"]))
        .collect();
    found.sort();
    found
}

#[test]
fn write_creates_and_replace_keeps_the_id_and_the_creation() {
    let folder = project();
    let first = write(&folder, "the build needs --locked", "s1", &[]);
    assert_eq!(first["action"], "created");
    let id = text(&first["id"]);
    let created = folder.json(&["note", "read", &id])["created"].clone();
    let again = write(
        &folder,
        "the build needs --locked --offline",
        "s1",
        &["--replace", &id],
    );
    assert_eq!(
        (text(&again["action"]), text(&again["id"])),
        ("replaced".into(), id.clone())
    );
    let read = folder.json(&["note", "read", &id]);
    assert_eq!((&read["created"], text(&read["owner"])), (&created, "s1".into()));
    // An id that does not exist is used unchanged.
    assert_eq!(write(&folder, "x", "s1", &["--replace", "mine"])["id"], "mine");
}

#[test]
fn replace_all_clears_ones_own_and_writes_one() {
    let folder = project();
    write(&folder, "a", "s1", &[]);
    write(&folder, "b", "s1", &[]);
    write(&folder, "c", "s2", &[]);
    let told = write(&folder, "sum", "s1", &["--replace", "*"]);
    assert_eq!(
        (text(&told["action"]), told["cleared"].as_u64()),
        ("replaced".into(), Some(2))
    );
    assert_eq!(notes(&folder), ["c", "sum"]);
    let told = write(&folder, "", "s1", &["--replace", "*"]);
    assert_eq!(
        (text(&told["action"]), told["cleared"].as_u64()),
        ("deleted".into(), Some(1))
    );
    assert_eq!(told["id"], Value::Null);
    assert_eq!(notes(&folder), ["c"]);
}

#[test]
fn any_session_deletes_and_only_the_owner_replaces() {
    let folder = project();
    let id = text(&write(&folder, "mine", "s1", &[])["id"]);
    let refused = folder.refused(
        4,
        &["note", "write", "yours", "--replace", &id, "--session", "s2"],
    );
    assert_eq!(refused["code"], "not_owner");
    assert!(text(&refused["message"]).contains("s1"));
    assert_eq!(
        folder.json(&["note", "delete", &id, "--session", "s2"])["deleted"],
        true
    );
    assert_eq!(
        folder.json(&["note", "delete", &id, "--session", "s2"])["deleted"],
        false,
        "a miss is no failure"
    );
    assert_eq!(folder.refused(1, &["note", "read", &id])["code"], "not_found");
    // A deletion can be undone, and the log names its author.
    folder.json(&["undo", "--session", "s2"]);
    assert_eq!(notes(&folder), ["mine"]);
    let log = folder.stream(&["log", "--session", "s2"]);
    assert!(
        log.iter()
            .any(|commit| commit["op"] == "note" && commit["removed"] == 1)
    );
}

#[test]
fn a_read_is_stamped_and_makes_no_commit() {
    let folder = project();
    let id = text(&write(&folder, "the deploy plan", "s1", &[])["id"]);
    let (root, seq) = (folder.root(), folder.seq());
    assert_eq!(folder.json(&["note", "read", &id])["read"], Value::Null);
    assert!(folder.json(&["note", "read", &id])["read"].is_string());
    assert_eq!((folder.root(), folder.seq()), (root, seq));
}

#[test]
fn search_ranks_by_words_and_shows_where() {
    let folder = project();
    let long = format!("{} the deploy plan {}", "before ".repeat(40), "after ".repeat(40));
    write(&folder, &long, "s1", &[]);
    write(&folder, "deploy plan", "s1", &[]);
    write(&folder, "something else", "s1", &[]);
    let hits = folder.stream(&["note", "search", "Deploy Plan", "--session", "s1"]);
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0]["snippet"], "deploy plan");
    assert!(hits[0]["score"].as_f64() > hits[1]["score"].as_f64() && hits[0]["score"].as_f64() <= Some(1.0));
    let snippet = text(&hits[1]["snippet"]);
    assert!(
        snippet.chars().count() <= 160 && snippet.contains("deploy plan"),
        "{snippet}"
    );
    assert!(folder.stream(&["note", "search", "zebra"]).is_empty());
}

#[test]
fn notes_of_another_project_are_not_seen() {
    let folder = project();
    write(&folder, "beans", "s1", &["--scope", "project:coffee"]);
    assert!(notes(&folder).is_empty());
    assert!(folder.stream(&["note", "search", "beans"]).is_empty());
    assert_eq!(
        folder
            .stream(&["note", "list", "--scope", "project:coffee"])
            .len(),
        1
    );
}

#[test]
fn a_child_session_speaks_for_its_root_and_circles_are_refused() {
    let folder = project();
    folder.json(&[
        "session",
        "append",
        "go",
        "--session",
        "child",
        "--parent",
        "root",
    ]);
    let id = text(&write(&folder, "from below", "child", &[])["id"]);
    assert_eq!(folder.json(&["note", "read", &id])["owner"], "root");
    assert_eq!(
        write(&folder, "from above", "root", &["--replace", &id])["action"],
        "replaced"
    );
    let refused = folder.refused(
        1,
        &["session", "append", "x", "--session", "root", "--parent", "child"],
    );
    assert_eq!(refused["code"], "cycle");
}

#[test]
fn summaries_are_chronological_and_around_a_time() {
    let folder = project();
    for (day, said) in [
        ("2026-04-20", "We chose Rust."),
        ("2026-04-22", "We chose BLAKE3."),
        ("2026-04-25", "We shipped."),
    ] {
        let time = format!("{day}T10:00:00Z");
        folder.json(&[
            "session",
            "append",
            said,
            "--time",
            &time,
            "--speaker",
            "user",
            "--session",
            "s1",
        ]);
    }
    let due = folder.stream(&["session", "summaries", "--due", "--session", "s1"]);
    let due: Vec<String> = due.iter().map(|line| text(&line["bucket"])).collect();
    assert_eq!(due, ["2026-04-20", "2026-04-22", "2026-04-25"]);
    folder.write(
        "texts.jsonl",
        "{\"bucket\":\"2026-04-22\",\"text\":\"The digest was chosen.\"}\n",
    );
    folder.json(&[
        "session",
        "summarise",
        "--texts",
        "texts.jsonl",
        "--session",
        "s1",
    ]);
    let buckets = |arguments: &[&str]| {
        let found = folder.stream(&[&["session", "summaries", "--session", "s1"], arguments].concat());
        found.iter().map(|line| text(&line["bucket"])).collect::<Vec<_>>()
    };
    assert_eq!(
        buckets(&[]),
        ["2026-04", "2026-W17", "2026-04-20", "2026-04-22", "2026-04-25"]
    );
    assert_eq!(
        buckets(&["--when", "2026-04-22T00:00:00Z"]),
        ["2026-04-20", "2026-04-22", "2026-04-25"]
    );
    assert!(buckets(&["--query", "digest"]).contains(&"2026-04-22".to_owned()));
    assert!(buckets(&["--query", "zebra"]).is_empty());
    assert!(
        folder
            .stream(&["session", "summaries", "--due", "--session", "s1"])
            .is_empty()
    );
}
