//! A turn is what a session did between two prompts, and can be taken back as one.

use serde_json::json;

use super::*;
use crate::program::check_fields;

fn prompt(folder: &Folder, session: &str, number: usize, text: &str) {
    let event = json!({ "session_id": session, "cwd": folder.path("shop"), "hook_event_name": "UserPromptSubmit",
        "prompt": text, "prompt_id": number.to_string() });
    let ran = folder.feed(&["hook", "--client", "claude-code"], event.to_string());
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
}

fn remember(folder: &Folder, session: &str, text: &str) {
    folder.json(&["remember", text, "--session", session, "--trust", "model"]);
}

fn texts(folder: &Folder) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for kind in ["fact", "entry"] {
        for id in column(&folder.stream(&["list", "--kind", kind]), "id") {
            texts.push(text(&folder.json(&["get", &id])["content"]));
        }
    }
    texts.sort();
    texts
}

#[test]
fn a_turn_is_taken_back_by_one_command_and_comes_back_by_another() {
    let folder = workplace();
    prompt(&folder, "s1", 1, "first");
    remember(&folder, "s1", "The kettle leaks.");
    prompt(&folder, "s1", 2, "second");
    remember(&folder, "s1", "Mallory sells the best kettles.");
    remember(&folder, "s1", "The shop of Mallory is cheap.");
    prompt(&folder, "s2", 1, "other");
    remember(&folder, "s2", "The office is in Bremen.");

    let turns = folder.stream(&["log", "--turns", "--session", "s1"]);
    assert_eq!(turns.len(), 2);
    check_fields(
        &turns[0],
        &[
            ("turn", "s"),
            ("session", "s"),
            ("from", "d"),
            ("to", "d"),
            ("commits", "n"),
            ("time", "t"),
        ],
    );
    assert_eq!(
        (turns[0]["commits"].as_u64(), turns[1]["commits"].as_u64()),
        (Some(3), Some(2))
    );
    assert_eq!(folder.stream(&["log", "--turns"]).len(), 3);
    assert_eq!(
        folder.stream(&["log", "--turns", "--limit", "1"])[0]["session"],
        "s2"
    );

    let before = (texts(&folder), folder.root());
    let preview = folder.json(&["undo", "--turn", "--session", "s1", "--dry-run"]);
    assert_eq!(
        (&preview["turn"], &preview["removed"], &before.1),
        (&turns[0]["turn"], &json!(3), &folder.root())
    );
    folder.json(&["undo", "--turn", "--session", "s1"]);
    let kept = ["The kettle leaks.", "The office is in Bremen.", "first", "other"];
    assert_eq!(texts(&folder), kept);
    // The next command takes the turn before, and undo brings a turn back.
    folder.json(&["undo", "--turn", "--session", "s1"]);
    assert_eq!(texts(&folder), ["The office is in Bremen.", "other"]);
    assert_eq!(
        folder.refused(1, &["undo", "--turn", "--session", "s1"])["code"],
        "nothing_selected"
    );
    folder.json(&["undo", "--session", "s1"]);
    assert_eq!(texts(&folder), kept);
    folder.json(&["undo", "--session", "s1"]);
    assert_eq!((texts(&folder), folder.root()), before);
    // A turn can be named, and without a session the newest one of all is meant.
    folder.json(&["undo", &format!("--turn={}", text(&turns[0]["turn"]))]);
    assert_eq!(texts(&folder), kept);
    folder.json(&["undo", "--turn"]);
    assert_eq!(texts(&folder), ["The kettle leaks.", "first"]);
    assert_eq!(
        folder.refused(1, &["undo", "--turn=seq:99999"])["code"],
        "nothing_selected"
    );
}

#[test]
fn what_was_taken_back_is_not_read_from_the_transcript_again() {
    let folder = workplace();
    let stream = Stream::of("claude-code", &folder);
    stream.play(&folder, |_| true);
    folder.json(&["undo", "--turn", "--session", &stream.session]);
    let kept = entries(&folder, &stream.session);
    assert!(kept.iter().all(|(_, text)| !text.contains("pnpm")), "{kept:?}");
    let stop = stream
        .steps
        .iter()
        .rfind(|step| step["event"]["hook_event_name"] == "Stop")
        .unwrap();
    stream.send(&folder, &stop["event"]);
    assert_eq!(entries(&folder, &stream.session), kept);
}

#[test]
fn a_turn_that_others_built_on_stays() {
    let folder = workplace();
    prompt(&folder, "s1", 1, "first");
    folder.json(&[
        "remember",
        "The office is in Bremen.",
        "--id",
        "office",
        "--session",
        "s1",
        "--trust",
        "model",
    ]);
    folder.json(&[
        "put",
        "office",
        "--kind",
        "fact",
        "--content",
        "Hamburg",
        "--session",
        "s2",
    ]);
    let root = folder.root();
    folder.refused(3, &["undo", "--turn", "--session", "s1"]);
    assert_eq!(folder.root(), root);
}
