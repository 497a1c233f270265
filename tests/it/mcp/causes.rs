//! Answers of tools that say what happened, and why not.

use serde_json::{Value, json};

use super::{Client, Folder};

/// An undo and a redo name what they change, also without a dry run.
#[test]
fn an_undo_names_what_it_changes() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    let id = client.remember("The pot is blue.");
    for (how, change) in [("undo", "removed"), ("redo", "added"), ("undo", "removed")] {
        let done = client.call("memory_undo", json!({ "action": how }));
        assert_eq!(
            done["changes"],
            json!([{ "id": id, "change": change }]),
            "{how}: {done}"
        );
    }
}

/// A snapshot has the name that other calls take.
#[test]
fn a_snapshot_names_itself() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    client.remember("The pot is blue.");
    let taken = client.call("memory_snapshot", json!({}));
    assert_eq!(taken["revision"], "snap:0", "{taken}");
    let named = client.call("memory_snapshot", json!({ "name": "tea" }));
    assert_eq!(named["revision"], "tea", "{named}");
}

/// A note that is not there is not deleted, and a false field is in no answer.
#[test]
fn a_note_that_is_not_there_is_absent() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    let gone = client.call("memory_note", json!({ "action": "delete", "id": "nope" }));
    assert_eq!(
        (&gone["absent"], &gone["deleted"]),
        (&json!(true), &Value::Null),
        "{gone}"
    );
}

/// A limit of zero asks for no row, as on the command line.
#[test]
fn a_limit_of_zero_gives_no_row_and_no_cursor() {
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    client.remember("The pot is blue.");
    client.remember("The pot is old.");
    for (tool, rows, arguments) in [
        ("memory_recall", "hits", json!({ "query": "pot", "limit": 0 })),
        ("memory_get", "items", json!({ "limit": 0 })),
    ] {
        let found = client.call(tool, arguments);
        assert_eq!(found[rows], json!([]), "{found}");
        assert!(
            found["cursor"].is_null() && found["truncated"] == false,
            "{found}"
        );
    }
}

/// What a call names and leaves has the cause: another scope, or a missing tag.
#[test]
fn what_a_call_does_not_forget_has_the_cause() {
    let folder = Folder::with_store();
    folder.json(&[
        "remember",
        "The pot is blue.",
        "--id",
        "facts/pot",
        "--scope",
        "global",
    ]);
    folder.json(&[
        "remember",
        "The cup is old.",
        "--id",
        "facts/cup",
        "--scope",
        "project:other",
    ]);
    let mut client = Client::start(&folder, &[]);
    let kept = client.told(
        "memory_forget",
        json!({ "ids": ["facts/pot", "facts/cup"], "tags": ["nope"] }),
    );
    let lines: Vec<&str> = kept.lines().collect();
    assert!(
        lines[0].contains("without these tags: 1") && lines[0].contains("not in these scopes: 1"),
        "{kept}"
    );
    let line = |id: &str| lines.iter().skip(1).find(|line| line.contains(id)).unwrap();
    assert!(line("facts/pot").contains("without these tags"), "{kept}");
    assert!(line("facts/cup").contains("not in these scopes"), "{kept}");
}
